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
#include "smap.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_mtu);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

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
 * or else for its bridge, or else the default, which a guest may change if
 * 'follow_guest'; 0 stands for no MTU.  'is_ours' is false if others than Open
 * vSwitch set the MTU, too: then only the interface's own request counts. */
struct netdev_mtu_request
netdev_mtu_choose(int64_t iface, int64_t bridge, bool follow_guest,
                  bool is_ours)
{
    if (iface) {
        return (struct netdev_mtu_request) {
            .mtu = iface, .source = NETDEV_MTU_INTERFACE
        };
    } else if (bridge && is_ours) {
        return (struct netdev_mtu_request) {
            .mtu = bridge, .source = NETDEV_MTU_BRIDGE
        };
    }
    return (struct netdev_mtu_request) {
        .mtu = is_ours ? ETH_PAYLOAD_MAX : 0,
        .source = NETDEV_MTU_DEFAULT,
        .follow_guest = is_ours && follow_guest,
    };
}

/* Returns who requested the MTU in effect, or NULL if nobody did, or if others
 * than Open vSwitch set it, too. */
const char *
netdev_mtu_who(const struct netdev_mtu_info *info)
{
    static const char *const names[] = {
        [NETDEV_MTU_GUEST] = "guest",
        [NETDEV_MTU_BRIDGE] = "bridge",
        [NETDEV_MTU_INTERFACE] = "interface",
    };

    if (info->request.source == NETDEV_MTU_DEFAULT || !info->limits.max
        || !info->mtu) {
        return NULL;
    }
    return (info->request.mtu == info->mtu ? names[info->request.source]
            : info->mtu == ETH_PAYLOAD_MAX ? "default"
            : "earlier request");
}

/* Adds to 'status', that of an interface, what it tells about 'info'. */
void
netdev_mtu_to_smap(const struct netdev_mtu_info *info, struct smap *status)
{
    const char *source = netdev_mtu_who(info);

    if (source) {
        smap_add(status, "mtu_source", source);
    }
    if (info->prepared_mtu) {
        smap_add_format(status, "prepared_mtu", "%d", info->prepared_mtu);
    }
    if (info->guest_mtu) {
        smap_add_format(status, "guest_mtu", "%d", info->guest_mtu);
    }
}

/* Returns the MTU that ports are to be prepared for, or 0 for none, according
 * to 'config', other_config of the table Open_vSwitch or options of an
 * interface; 'default_mtu' if that says nothing, or something invalid. */
int
netdev_mtu_prepared(const struct smap *config, int default_mtu)
{
    const char *text = smap_get(config, "dpdk-prepared-mtu");
    struct netdev_mtu_limits limits = netdev_mtu_buffer_limits();
    int mtu;

    if (!text) {
        return default_mtu;
    }
    if (!str_to_int(text, 10, &mtu)
        || (mtu && !netdev_mtu_within(&limits, mtu))) {
        VLOG_WARN_RL(&rl, "invalid dpdk-prepared-mtu \"%s\" (expected 0 for "
                     "none, or %d to %d), using %d", text, limits.min,
                     limits.max, default_mtu);
        return default_mtu;
    }
    return mtu;
}

/* Returns NULL if the request is in effect.  Otherwise, returns a sentence for
 * the user, without a full stop: what was requested, why it is not in effect,
 * what is in effect, and which MTU the device would have after a restart; or
 * that the kernel's device has another one.  The caller must free it. */
char *
netdev_mtu_explain(const struct netdev_mtu_info *info)
{
    const struct netdev_mtu_request *request = &info->request;
    bool is_allowed = netdev_mtu_within(&info->limits, request->mtu);
    const char *refusal = is_allowed && !info->error ? info->refusal : NULL;
    struct ds s = DS_EMPTY_INITIALIZER;

    if (request->source == NETDEV_MTU_DEFAULT || info->mtu == request->mtu
        || (request->source == NETDEV_MTU_GUEST && !refusal)
        || (!info->mtu && !info->error && is_allowed)) {
        /* In the last case, the device doesn't work at all. */
        return (info->foreign_mtu
                ? xasprintf("the kernel's device was given MTU %d by somebody "
                            "else; Open vSwitch goes on with MTU %d",
                            info->foreign_mtu, info->mtu)
                : NULL);
    }

    ds_put_format(&s, "MTU %"PRId64" was requested%s, but ", request->mtu,
                  request->source == NETDEV_MTU_BRIDGE ? " for the bridge"
                  : request->source == NETDEV_MTU_GUEST ? " by the guest"
                  : "");
    if (info->error == EOPNOTSUPP) {
        ds_put_cstr(&s, "Open vSwitch does not control the MTU of this type "
                        "of interface");
    } else if (!is_allowed) {
        ds_put_format(&s, "this interface allows %d to %d",
                      info->limits.min, info->limits.max);
    } else if (info->error) {
        ds_put_format(&s, "the device refused it (%s)",
                      ovs_strerror(info->error));
    } else {
        ds_put_cstr(&s, refusal ? refusal
                        : "the device uses a different one");
    }

    if (!info->mtu) {
        ds_put_cstr(&s, "; the request has no effect");
    } else if (info->limits.max && info->mtu != ETH_PAYLOAD_MAX
               && netdev_mtu_within(&info->limits, ETH_PAYLOAD_MAX)) {
        ds_put_format(&s, "; MTU %d is in effect until ovs-vswitchd restarts",
                      info->mtu);
        if (!refusal) {
            ds_put_format(&s, ", then %d", ETH_PAYLOAD_MAX);
        }
    } else {
        ds_put_format(&s, "; MTU %d is in effect", info->mtu);
    }
    return ds_steal_cstr(&s);
}
