/*
 * Copyright (c) 2026 netdev-dpdk-jumbo developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#include <config.h>

#include "netdev-mtu.h"

#include <errno.h>

#include "dpdk-frame.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_mtu);

/* Returns the limits of an Ethernet device, from the fields of the same names
 * in its 'struct rte_eth_dev_info'.
 *
 * 'max_rx_pktlen' bounds the frame, and so the MTU, where 'max_mtu' says
 * nothing: many drivers leave it at UINT16_MAX.  If a device reports both,
 * their difference is what it counts as L2 overhead.  rte_eth_dev_set_mtu()
 * decides in the same way (rte_ethdev.c, eth_dev_get_overhead_len() and
 * eth_dev_validate_mtu()), so that what is granted here isn't refused there.
 *
 * Open vSwitch adds its own bounds: a packet must fit into one buffer. */
struct netdev_mtu_limits
netdev_mtu_eth_limits(uint16_t min_mtu, uint16_t max_mtu,
                      uint32_t max_rx_pktlen)
{
    int64_t l2_len = (max_mtu != UINT16_MAX && max_rx_pktlen > max_mtu
                      ? max_rx_pktlen - max_mtu
                      : DPDK_L2_LEN);
    int64_t max = MIN(max_mtu, max_rx_pktlen - l2_len);

    return (struct netdev_mtu_limits) {
        .min = MAX(min_mtu, DPDK_MIN_MTU),
        .max = MIN(max, DPDK_MAX_MTU),
    };
}

/* Returns the limits that the size of a buffer sets.  They are those of a
 * vhost-user port, where there is no device to ask. */
struct netdev_mtu_limits
netdev_mtu_buffer_limits(void)
{
    return (struct netdev_mtu_limits) { DPDK_MIN_MTU, DPDK_MAX_MTU };
}

/* Returns true if 'mtu' is within 'limits', or if these are not known. */
bool
netdev_mtu_within(const struct netdev_mtu_limits *limits, int64_t mtu)
{
    return !limits->max || (mtu >= limits->min && mtu <= limits->max);
}

/* Returns the MTU that an interface is to have: the one requested for itself,
 * or else for its bridge, or else, if 'follow_guest', the one that its guest
 * was given, or else the default; 0 stands for no MTU.  'is_ours' is false if
 * others than Open vSwitch set the MTU, too: then only the interface's own
 * request counts. */
struct netdev_mtu_request
netdev_mtu_choose(int64_t iface, int64_t bridge, bool follow_guest, int guest,
                  bool is_ours)
{
    if (!is_ours) {
        bridge = 0;
        follow_guest = false;
    }
    if (iface) {
        return (struct netdev_mtu_request) {
            .mtu = iface, .source = NETDEV_MTU_INTERFACE, .fallback = bridge
        };
    } else if (bridge) {
        return (struct netdev_mtu_request) {
            .mtu = bridge, .source = NETDEV_MTU_BRIDGE
        };
    } else if (follow_guest && guest) {
        return (struct netdev_mtu_request) {
            .mtu = guest, .source = NETDEV_MTU_GUEST, .follow_guest = true
        };
    }
    return (struct netdev_mtu_request) {
        .mtu = is_ours ? ETH_PAYLOAD_MAX : 0,
        .source = NETDEV_MTU_DEFAULT,
        .follow_guest = follow_guest,
    };
}

/* Returns who requested the MTU 'in_effect' if 'request' was the last one. */
const char *
netdev_mtu_who(const struct netdev_mtu_request *request, int in_effect)
{
    static const char *const names[] = {
        [NETDEV_MTU_DEFAULT] = "default",
        [NETDEV_MTU_GUEST] = "guest",
        [NETDEV_MTU_BRIDGE] = "bridge",
        [NETDEV_MTU_INTERFACE] = "interface",
    };

    return (request->mtu == in_effect ? names[request->source]
            : request->fallback == in_effect ? names[NETDEV_MTU_BRIDGE]
            : in_effect == ETH_PAYLOAD_MAX ? names[NETDEV_MTU_DEFAULT]
            : "earlier request");
}

/* Makes '*outcome' that of 'request'.  Returns true if this is a new request,
 * which has no outcome yet. */
bool
netdev_mtu_set_request(struct netdev_mtu_outcome *outcome,
                       const struct netdev_mtu_request *request)
{
    bool is_new = (outcome->request.mtu != request->mtu
                   || outcome->request.fallback != request->fallback);

    if (is_new) {
        netdev_mtu_forget(outcome);
    }
    outcome->request = *request;
    return is_new;
}

/* Forgets that the last request was refused: the device may take it now. */
void
netdev_mtu_forget(struct netdev_mtu_outcome *outcome)
{
    outcome->error = 0;
    free(outcome->reason);
    outcome->reason = NULL;
    outcome->is_down = false;
}

static void
add_mtu(struct netdev_mtu_attempt *attempt, int mtu)
{
    if (!attempt->mtu) {
        attempt->mtu = mtu;
    } else if (mtu && mtu != attempt->mtu && mtu != attempt->next[0]) {
        attempt->next[attempt->next[0] ? 1 : 0] = mtu;
    }
}

/* Returns true if the MTU 'requested' failed and isn't tried again, unless
 * netdev_mtu_forget() is called. */
bool
netdev_mtu_has_failed(const struct netdev_mtu_outcome *outcome, int requested)
{
    return outcome->reason && requested == outcome->mtu;
}

/* Starts to reconfigure a device, whose MTU is 'in_effect', or 0 if it is new,
 * for the MTU 'requested'.  That is to be tried first, then the fall-back,
 * then the MTU in effect, or the default if the device is new.
 *
 * A device that has already tried the request isn't stopped for it again each
 * time something else changes. */
void
netdev_mtu_start(struct netdev_mtu_attempt *attempt,
                 struct netdev_mtu_outcome *outcome, int requested,
                 int in_effect)
{
    if (outcome->reason
        && (requested == in_effect
            || !netdev_mtu_has_failed(outcome, requested))) {
        netdev_mtu_forget(outcome);
    }
    memset(attempt, 0, sizeof *attempt);
    if (!outcome->reason || !in_effect) {
        add_mtu(attempt, requested);
        add_mtu(attempt, MIN(outcome->request.fallback, INT_MAX));
    }
    add_mtu(attempt, in_effect ? in_effect : ETH_PAYLOAD_MAX);
}

/* To be called when the device 'name' could not be set up with 'attempt->mtu'
 * because of 'error', a positive errno value, and 'reason', of which it takes
 * ownership.  If there is another MTU to try, sets 'attempt->mtu' to it and
 * returns true.
 *
 * Keeps the first reason in '*outcome', for the user, not that for which the
 * fall-back failed, too. */
bool
netdev_mtu_next(struct netdev_mtu_attempt *attempt,
                struct netdev_mtu_outcome *outcome,
                const char *name, int error, char *reason)
{
    int mtu = attempt->mtu;
    bool more = attempt->next[0] != 0;

    if (more) {
        attempt->mtu = attempt->next[0];
        attempt->next[0] = attempt->next[1];
        attempt->next[1] = 0;
        VLOG_WARN("%s: MTU %d was requested, but %s; falling back to MTU %d",
                  name, mtu, reason, attempt->mtu);
    } else {
        VLOG_ERR("%s: %s", name, reason);
    }
    if (outcome->reason) {
        free(reason);
    } else {
        outcome->mtu = mtu;
        outcome->error = error;
        outcome->reason = reason;
    }
    return more;
}

/* Returns NULL if 'request' is in effect on a device whose MTU is 'in_effect',
 * or 0 if it has none or doesn't work any more.  Otherwise, returns a sentence
 * for the user, without a full stop: what was requested, why it is not in
 * effect, what is allowed, what is in effect, and which MTU the device would
 * have after a restart.  The caller must free it.
 *
 * 'outcome' is ignored if it is that of another MTU. */
char *
netdev_mtu_explain(const struct netdev_mtu_request *request, int in_effect,
                   const struct netdev_mtu_limits *limits,
                   const struct netdev_mtu_outcome *outcome)
{
    bool refused = (outcome->error
                    && outcome->mtu == MIN(request->mtu, INT_MAX));
    int64_t new_mtu = request->fallback ? request->fallback : ETH_PAYLOAD_MAX;
    struct ds s = DS_EMPTY_INITIALIZER;

    if (outcome->is_down) {
        return xasprintf("%s; the interface is down until memory becomes "
                         "available", outcome->reason);
    }
    if (!request->mtu || in_effect == request->mtu
        || (in_effect && request->source == NETDEV_MTU_DEFAULT)
        || (!refused && request->source == NETDEV_MTU_GUEST)) {
        return NULL;
    }

    ds_put_format(&s, request->source == NETDEV_MTU_DEFAULT
                      ? "the default MTU is %"PRId64"%s, but "
                      : "MTU %"PRId64" was requested%s, but ", request->mtu,
                  request->source == NETDEV_MTU_BRIDGE ? " for the bridge"
                  : request->source == NETDEV_MTU_GUEST ? " by the guest"
                  : "");
    if (refused && outcome->error == EOPNOTSUPP && !outcome->reason) {
        ds_put_cstr(&s, "Open vSwitch does not control the MTU of this type "
                        "of interface");
    } else if (!netdev_mtu_within(limits, request->mtu)) {
        ds_put_format(&s, "this interface allows %d to %d",
                      limits->min, limits->max);
    } else if (refused) {
        if (outcome->reason) {
            ds_put_cstr(&s, outcome->reason);
        } else {
            ds_put_format(&s, "the device refused it (%s)",
                          ovs_strerror(outcome->error));
        }
    } else {
        ds_put_cstr(&s, "the device uses a different one");
    }

    if (!in_effect) {
        ds_put_cstr(&s, refused && outcome->reason
                        ? "; the interface is down"
                        : "; the request has no effect");
    } else if (in_effect == request->fallback) {
        ds_put_format(&s, "; MTU %d, requested for the bridge, is in effect",
                      in_effect);
    } else if (limits->max && new_mtu != in_effect
               && netdev_mtu_within(limits, new_mtu)) {
        ds_put_format(&s, "; MTU %d is in effect until ovs-vswitchd "
                      "restarts", in_effect);
        if (!refused || new_mtu != request->mtu) {
            ds_put_format(&s, ", then %"PRId64, new_mtu);
        }
    } else {
        ds_put_format(&s, "; MTU %d is in effect", in_effect);
    }
    return ds_steal_cstr(&s);
}
