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
#undef NDEBUG

#include <errno.h>
#include <limits.h>

#include "dpdk-frame.h"
#include "netdev-mtu.h"
#include "ovstest.h"
#include "util.h"

/* Every MTU that a device may have gets the smallest of the buffers that hold
 * its longest frame and fit a 16-bit data room. */
static void
test_frame(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    for (int mtu = DPDK_MIN_MTU; mtu <= DPDK_MAX_MTU; mtu++) {
        int buffer = dpdk_buffer_size(mtu);

        ovs_assert(MTU_TO_MAX_PACKET_LEN(mtu) == mtu + 14);
        ovs_assert(buffer >= MTU_TO_MAX_PACKET_LEN(mtu) + 2 * 4 + 4);
        ovs_assert(mtu >= dpdk_min_mtu(buffer));
        ovs_assert(mtu <= dpdk_max_mtu(buffer));
        ovs_assert(mtu == DPDK_MIN_MTU
                   || buffer == dpdk_buffer_size(mtu - 1)
                   || mtu == dpdk_min_mtu(buffer));
        ovs_assert(buffer % 1024 == 0);
        ovs_assert(dpdk_own_buffer_size(mtu) <= buffer);
        ovs_assert(mtu >= dpdk_own_min_mtu(dpdk_own_buffer_size(mtu)));
        ovs_assert(mtu <= dpdk_max_mtu(dpdk_own_buffer_size(mtu)));
        ovs_assert(dpdk_data_room(mtu) == buffer + 128);
        ovs_assert(dpdk_data_room(mtu) <= UINT16_MAX);
    }
    ovs_assert(DPDK_MAX_BUFFER + DPDK_BUFFER_ALIGN + 128 > UINT16_MAX);

    printf("min %d, max %d\n", DPDK_MIN_MTU, DPDK_MAX_MTU);
    for (int mtu = DPDK_MIN_MTU; mtu <= DPDK_MAX_MTU; mtu++) {
        int buffer = dpdk_buffer_size(mtu);

        if (mtu == dpdk_min_mtu(buffer)) {
            printf("mtu %d..%d: frame ..%d, buffer %d\n",
                   mtu, dpdk_max_mtu(buffer),
                   dpdk_max_mtu(buffer) + DPDK_L2_LEN, buffer);
        }
    }
}

static void
print_limits(const char *name, struct netdev_mtu_limits limits)
{
    printf("%s: %d to %d\n", name, limits.min, limits.max);
}

/* Limits that DPDK drivers report (DPDK 22.11). */
static void
test_limits(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    print_limits("net_null, net_pcap",
                 netdev_mtu_eth_limits(68, UINT16_MAX, UINT32_MAX));
    print_limits("net_af_packet", netdev_mtu_eth_limits(68, UINT16_MAX, 1518));
    print_limits("net_tap", netdev_mtu_eth_limits(68, UINT16_MAX, 1522));
    print_limits("net_i40e", netdev_mtu_eth_limits(68, 9702, 9728));
    print_limits("net_ixgbe", netdev_mtu_eth_limits(68, 15854, 15872));
    print_limits("net_e1000_igb", netdev_mtu_eth_limits(68, 16357, 16383));
    print_limits("net_vmxnet3", netdev_mtu_eth_limits(60, 9000, 16384));
    print_limits("vhost-user", netdev_mtu_buffer_limits());
}

/* Every int is either within the limits or refused, and the limits of every
 * device stay within those of the frame geometry. */
static void
test_range(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const struct netdev_mtu_limits vhost = netdev_mtu_buffer_limits();
    int64_t n_within = 0;

    for (int64_t mtu = INT_MIN; mtu <= INT_MAX; mtu++) {
        n_within += netdev_mtu_within(&vhost, mtu);
    }
    ovs_assert(n_within == DPDK_MAX_MTU - DPDK_MIN_MTU + 1);
    ovs_assert(netdev_mtu_within(&vhost, DPDK_MIN_MTU));
    ovs_assert(netdev_mtu_within(&vhost, DPDK_MAX_MTU));
    ovs_assert(!netdev_mtu_within(&vhost, INT64_MAX));
    ovs_assert(!netdev_mtu_within(&vhost, INT64_MIN));

    for (int max_mtu = 68; max_mtu <= UINT16_MAX; max_mtu++) {
        for (int l2_len = 0; l2_len <= 64; l2_len++) {
            struct netdev_mtu_limits limits
                = netdev_mtu_eth_limits(68, max_mtu, max_mtu + l2_len);

            /* What is granted passes DPDK's own check. */
            ovs_assert(limits.min == 68);
            ovs_assert(limits.max <= max_mtu);
            ovs_assert(limits.max <= DPDK_MAX_MTU);
            ovs_assert(max_mtu == UINT16_MAX || l2_len == 0
                       || limits.max == MIN(max_mtu, DPDK_MAX_MTU));
        }
    }
}

static int foreign_mtu;

static void
print_error(enum netdev_mtu_source source, int64_t requested, int in_effect,
            struct netdev_mtu_limits limits, int error, char *refusal)
{
    const struct netdev_mtu_info info = {
        .request = { .mtu = requested, .source = source },
        .mtu = in_effect,
        .limits = limits,
        .error = error,
        .refusal = refusal,
        .foreign_mtu = foreign_mtu,
    };
    char *message = netdev_mtu_explain(&info);

    puts(message ? message : "(none)");
    free(message);
}

static void
test_error(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const enum netdev_mtu_source iface = NETDEV_MTU_INTERFACE;
    const enum netdev_mtu_source bridge = NETDEV_MTU_BRIDGE;
    const enum netdev_mtu_source guest = NETDEV_MTU_GUEST;
    const enum netdev_mtu_source none = NETDEV_MTU_DEFAULT;
    const struct netdev_mtu_limits unknown = { 0, 0 };
    const struct netdev_mtu_limits i40e = { 68, 9702 };
    const struct netdev_mtu_limits small = { 68, 1450 };
    char refusal[] = "there is no memory";

    puts("out of range: the limits say more than the errno value");
    print_error(iface, 9710, 1500, i40e, EINVAL, NULL);
    print_error(iface, 67, 1500, i40e, 0, NULL);
    print_error(iface, INT64_MAX, 1500, i40e, EINVAL, NULL);

    puts("refused by a device");
    print_error(iface, 9000, 1500, i40e, 0, refusal);
    print_error(iface, 70000, 1500, unknown, EINVAL, NULL);
    print_error(iface, INT64_MAX, 1500, unknown, EINVAL, NULL);
    print_error(iface, 9000, 1500, i40e, 0, NULL);

    puts("what a restart would change");
    print_error(iface, 9710, 3000, i40e, EINVAL, NULL);
    print_error(iface, 9000, 3000, i40e, 0, refusal);
    print_error(iface, 9000, 1450, small, 0, NULL);

    puts("whoever requested it");
    print_error(bridge, 9710, 1500, i40e, 0, NULL);
    print_error(guest, 9000, 1500, i40e, 0, refusal);

    puts("not ours to set");
    print_error(iface, 9000, 0, unknown, EOPNOTSUPP, NULL);
    print_error(iface, 9000, 1500, unknown, EOPNOTSUPP, NULL);

    puts("changed by somebody else");
    foreign_mtu = 1400;
    print_error(iface, 1500, 1500, i40e, 0, NULL);
    print_error(none, 1500, 1500, i40e, 0, NULL);
    print_error(iface, 9000, 1500, i40e, 0, refusal);
    foreign_mtu = 0;

    puts("nothing to tell");
    print_error(none, 0, 1500, unknown, 0, NULL);
    print_error(none, 1500, 1450, i40e, EINVAL, refusal);
    print_error(iface, 9000, 9000, i40e, 0, NULL);
    print_error(iface, 9000, 9000, i40e, 0, refusal);
    print_error(guest, 9000, 1500, i40e, 0, NULL);
}

static const char *
who(struct netdev_mtu_info *info, int in_effect)
{
    const char *source;

    info->mtu = in_effect;
    source = netdev_mtu_who(info);
    return source ? source : "none";
}

static void
print_choice(int64_t iface, int64_t bridge, bool follow_guest, bool is_ours)
{
    struct netdev_mtu_info info = {
        .request = netdev_mtu_choose(iface, bridge, follow_guest, is_ours),
        .limits = netdev_mtu_buffer_limits(),
    };
    int64_t mtu = info.request.mtu;

    printf("%"PRId64" (%s)%s", mtu, who(&info, MIN(mtu, INT_MAX)),
           info.request.follow_guest ? ", follows" : "");
    printf(", else 1500 (%s) or 1600 (%s)\n", who(&info, 1500),
           who(&info, 1600));
}

/* The interface's own request comes first, then the bridge's, then the
 * default. */
static void
test_choose(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    print_choice(2000, 3000, true, true);
    print_choice(0, 3000, true, true);
    print_choice(0, 0, true, true);
    print_choice(0, 0, false, true);

    print_choice(2000, 3000, true, false);
    print_choice(0, 3000, true, false);
    print_choice(INT64_MAX, 3000, false, true);
}

static const struct ovs_cmdl_command commands[] = {
    {"frame", NULL, 0, 0, test_frame, OVS_RO},
    {"limits", NULL, 0, 0, test_limits, OVS_RO},
    {"range", NULL, 0, 0, test_range, OVS_RO},
    {"error", NULL, 0, 0, test_error, OVS_RO},
    {"choose", NULL, 0, 0, test_choose, OVS_RO},
    {NULL, NULL, 0, 0, NULL, OVS_RO},
};

static void
test_netdev_mtu_main(int argc, char *argv[])
{
    struct ovs_cmdl_context ctx = {
        .argc = argc - 1,
        .argv = argv + 1,
    };

    set_program_name(argv[0]);
    ovs_cmdl_run_command(&ctx, commands);
}

OVSTEST_REGISTER("test-netdev-mtu", test_netdev_mtu_main);
