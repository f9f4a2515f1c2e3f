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

#include "jumbo-mtu.h"

#include <errno.h>

#include "jumbo-frame.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(jumbo_mtu);

/* Returns the limits of an Ethernet device, from the members of the same names
 * in its 'struct rte_eth_dev_info'.
 *
 * 'max_rx_pktlen' bounds the frame, and so the MTU, where 'max_mtu' says
 * nothing: many drivers leave it at UINT16_MAX.  A device that reports both
 * tells by their difference what it counts as L2 overhead.  This is how
 * rte_eth_dev_set_mtu() itself decides (rte_ethdev.c,
 * eth_dev_get_overhead_len() and eth_dev_validate_mtu()), so that what is
 * granted here isn't refused there.
 *
 * Open vSwitch adds its own bounds: a packet must fit into one buffer. */
struct jumbo_mtu_limits
jumbo_mtu_eth_limits(uint16_t min_mtu, uint16_t max_mtu,
                     uint32_t max_rx_pktlen)
{
    int64_t l2_len = (max_mtu != UINT16_MAX && max_rx_pktlen > max_mtu
                      ? max_rx_pktlen - max_mtu
                      : JUMBO_L2_LEN);
    int64_t max = MIN(max_mtu, max_rx_pktlen - l2_len);

    return (struct jumbo_mtu_limits) {
        .min = MAX(min_mtu, JUMBO_MIN_MTU),
        .max = MIN(max, JUMBO_MAX_MTU),
    };
}

/* Returns the limits that the size of a buffer sets.  They are those of a
 * vhost-user port, where there is no device to ask. */
struct jumbo_mtu_limits
jumbo_mtu_buffer_limits(void)
{
    return (struct jumbo_mtu_limits) { JUMBO_MIN_MTU, JUMBO_MAX_MTU };
}

/* Returns true if a device with 'limits' takes 'mtu', as far as they tell. */
bool
jumbo_mtu_within(const struct jumbo_mtu_limits *limits, int64_t mtu)
{
    return !limits->max || (mtu >= limits->min && mtu <= limits->max);
}

/* Returns which MTU an interface is to have: what is requested for itself, or
 * else for its bridge, or else what its guest was given, or else the default
 * one; 0 stands for none of these.  'is_ours' is false if others than Open
 * vSwitch set the MTU, too: then only the interface's own request counts. */
struct jumbo_mtu_request
jumbo_mtu_choose(int64_t iface, int64_t bridge, int guest, bool is_ours)
{
    const struct jumbo_mtu_request requests[] = {
        { iface, JUMBO_MTU_INTERFACE },
        { is_ours ? bridge : 0, JUMBO_MTU_BRIDGE },
        { is_ours ? guest : 0, JUMBO_MTU_GUEST },
        { is_ours ? ETH_PAYLOAD_MAX : 0, JUMBO_MTU_DEFAULT },
    };
    size_t i = 0;

    while (i < ARRAY_SIZE(requests) - 1 && !requests[i].mtu) {
        i++;
    }
    return requests[i];
}

/* Replaces '*refusal'.  Takes over 'reason'. */
void
jumbo_mtu_refuse(struct jumbo_mtu_refusal *refusal, int mtu, int error,
                 char *reason)
{
    free(refusal->reason);
    *refusal = (struct jumbo_mtu_refusal) {
        .mtu = mtu, .error = error, .reason = reason
    };
}

/* To be called when the device 'name' could not be reconfigured for MTU
 * '*mtup' because of 'error', a positive errno value, and 'reason', which is
 * taken over.  'old_mtu' is the MTU before, 0 if the device is new.  If the
 * MTU may be to blame, because it isn't the old one (the default one, if it is
 * new), then sets '*mtup' to that and returns true: it is worth another try.
 *
 * Keeps the first reason in '*refusal', for the user: not the one for which
 * the fall-back failed, too. */
bool
jumbo_mtu_fall_back(struct jumbo_mtu_refusal *refusal, const char *name,
                    int *mtup, int old_mtu, int error, char *reason)
{
    int mtu = *mtup;

    *mtup = old_mtu ? old_mtu : ETH_PAYLOAD_MAX;
    if (mtu != *mtup) {
        VLOG_WARN("%s: MTU %d was requested, but %s; falling back to MTU %d",
                  name, mtu, reason, *mtup);
        jumbo_mtu_refuse(refusal, mtu, error, reason);
        return true;
    }

    VLOG_ERR("%s: %s", name, reason);
    if (refusal->reason) {
        free(reason);
    } else {
        jumbo_mtu_refuse(refusal, mtu, error, reason);
    }
    return false;
}

/* To be called before a device is reset, which may then take what it has
 * tried and failed before: sets '*mtup' to that MTU, if there is one. */
void
jumbo_mtu_try_again(struct jumbo_mtu_refusal *refusal, int *mtup)
{
    if (refusal->reason) {
        *mtup = refusal->mtu;
        jumbo_mtu_refuse(refusal, 0, 0, NULL);
    }
}

/* Returns a sentence for the user, without a full stop, that says why
 * 'request' is not in force on a device whose MTU is 'in_force', or 0 if it
 * has none or doesn't work any more: what was asked, why it isn't so, what is
 * allowed, what is in force.  The caller must free it.
 *
 * 'refusal' is about the last request that the device saw, in the range of
 * int; it is ignored if that was another MTU. */
char *
jumbo_mtu_error(const struct jumbo_mtu_request *request, int in_force,
                const struct jumbo_mtu_limits *limits,
                const struct jumbo_mtu_refusal *refusal)
{
    bool refused = (refusal->error
                    && refusal->mtu == MIN(request->mtu, INT_MAX));
    struct ds s = DS_EMPTY_INITIALIZER;

    if (refusal->is_down) {
        return xasprintf("%s; the interface is down until there is memory",
                         refusal->reason);
    }

    ds_put_format(&s, "MTU %"PRId64" was requested%s, but ", request->mtu,
                  request->source == JUMBO_MTU_BRIDGE ? " for the bridge"
                  : request->source == JUMBO_MTU_GUEST ? " by the guest"
                  : "");
    if (refused && refusal->error == EOPNOTSUPP && !refusal->reason) {
        ds_put_cstr(&s, "Open vSwitch does not control the MTU of this type "
                        "of interface");
    } else if (!jumbo_mtu_within(limits, request->mtu)) {
        ds_put_format(&s, "this interface allows %d to %d",
                      limits->min, limits->max);
    } else if (refused) {
        if (refusal->reason) {
            ds_put_cstr(&s, refusal->reason);
        } else {
            ds_put_format(&s, "the device refused it (%s)",
                          ovs_strerror(refusal->error));
        }
    } else {
        ds_put_cstr(&s, "the device uses another");
    }

    if (in_force) {
        ds_put_format(&s, "; MTU %d is in force", in_force);
    } else if (refused && refusal->reason) {
        ds_put_cstr(&s, "; the interface is down");
    } else {
        ds_put_cstr(&s, "; the request has no effect");
    }
    return ds_steal_cstr(&s);
}
