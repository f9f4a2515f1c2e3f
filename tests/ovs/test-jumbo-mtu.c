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

#include "netdev-dpdk-jumbo/jumbo-frame.h"
#include "netdev-dpdk-jumbo/jumbo-mtu.h"
#include "ovstest.h"
#include "util.h"

/* Every MTU that any device may have gets the smallest of the buffers that
 * hold its longest frame, and that fits a 16-bit data room. */
static void
test_frame(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    for (int mtu = JUMBO_MIN_MTU; mtu <= JUMBO_MAX_MTU; mtu++) {
        int buffer = jumbo_buffer_size(mtu);

        ovs_assert(MTU_TO_MAX_PACKET_LEN(mtu) == mtu + 14 + 2 * 4);
        ovs_assert(buffer >= MTU_TO_MAX_PACKET_LEN(mtu) + 4);
        ovs_assert(mtu >= jumbo_min_mtu(buffer));
        ovs_assert(mtu <= jumbo_max_mtu(buffer));
        ovs_assert(mtu == JUMBO_MIN_MTU
                   || buffer == jumbo_buffer_size(mtu - 1)
                   || mtu == jumbo_min_mtu(buffer));
        ovs_assert(buffer % 1024 == 0);
        ovs_assert(jumbo_data_room(mtu) == buffer + 128);
        ovs_assert(jumbo_data_room(mtu) <= UINT16_MAX);
    }
    ovs_assert(JUMBO_MAX_BUFFER + JUMBO_BUFFER_ALIGN + 128 > UINT16_MAX);

    printf("min %d, max %d\n", JUMBO_MIN_MTU, JUMBO_MAX_MTU);
    for (int mtu = JUMBO_MIN_MTU; mtu <= JUMBO_MAX_MTU; mtu++) {
        int buffer = jumbo_buffer_size(mtu);

        if (mtu == jumbo_min_mtu(buffer)) {
            printf("mtu %d..%d: frame ..%d, buffer %d\n",
                   mtu, jumbo_max_mtu(buffer),
                   jumbo_max_mtu(buffer) + JUMBO_L2_LEN, buffer);
        }
    }
}

static void
print_limits(const char *name, struct jumbo_mtu_limits limits)
{
    printf("%s: %d to %d\n", name, limits.min, limits.max);
}

/* What DPDK drivers report of themselves (DPDK 22.11). */
static void
test_limits(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    print_limits("net_null, net_pcap",
                 jumbo_mtu_eth_limits(68, UINT16_MAX, UINT32_MAX));
    print_limits("net_af_packet", jumbo_mtu_eth_limits(68, UINT16_MAX, 1518));
    print_limits("net_tap", jumbo_mtu_eth_limits(68, UINT16_MAX, 1522));
    print_limits("net_i40e", jumbo_mtu_eth_limits(68, 9702, 9728));
    print_limits("net_ixgbe", jumbo_mtu_eth_limits(68, 15854, 15872));
    print_limits("net_e1000_igb", jumbo_mtu_eth_limits(68, 16357, 16383));
    print_limits("net_vmxnet3", jumbo_mtu_eth_limits(60, 9000, 16384));
    print_limits("vhost-user", jumbo_mtu_buffer_limits());
}

/* Every int is either within the limits or refused, and the limits of every
 * device stay within those of the frame geometry. */
static void
test_range(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const struct jumbo_mtu_limits vhost = jumbo_mtu_buffer_limits();
    int64_t n_within = 0;

    for (int64_t mtu = INT_MIN; mtu <= INT_MAX; mtu++) {
        n_within += jumbo_mtu_within(&vhost, mtu);
    }
    ovs_assert(n_within == JUMBO_MAX_MTU - JUMBO_MIN_MTU + 1);
    ovs_assert(jumbo_mtu_within(&vhost, JUMBO_MIN_MTU));
    ovs_assert(jumbo_mtu_within(&vhost, JUMBO_MAX_MTU));
    ovs_assert(!jumbo_mtu_within(&vhost, INT64_MAX));
    ovs_assert(!jumbo_mtu_within(&vhost, INT64_MIN));

    for (int max_mtu = 68; max_mtu <= UINT16_MAX; max_mtu++) {
        for (int l2_len = 0; l2_len <= 64; l2_len++) {
            struct jumbo_mtu_limits limits
                = jumbo_mtu_eth_limits(68, max_mtu, max_mtu + l2_len);

            /* What is granted passes DPDK's own check. */
            ovs_assert(limits.min == 68);
            ovs_assert(limits.max <= max_mtu);
            ovs_assert(limits.max <= JUMBO_MAX_MTU);
            ovs_assert(max_mtu == UINT16_MAX || l2_len == 0
                       || limits.max == MIN(max_mtu, JUMBO_MAX_MTU));
        }
    }
}

static void
print_error_from(enum jumbo_mtu_source source, int64_t requested,
                 int in_force, struct jumbo_mtu_limits limits,
                 struct jumbo_mtu_refusal refusal)
{
    const struct jumbo_mtu_request request = { requested, source };
    char *error = jumbo_mtu_error(&request, in_force, &limits, &refusal);

    puts(error);
    free(error);
}

static void
print_error(int64_t requested, int in_force, struct jumbo_mtu_limits limits,
            struct jumbo_mtu_refusal refusal)
{
    print_error_from(JUMBO_MTU_INTERFACE, requested, in_force, limits,
                     refusal);
}

static struct jumbo_mtu_refusal
refused(int mtu, int error, char *reason)
{
    return (struct jumbo_mtu_refusal) {
        .mtu = mtu, .error = error, .reason = reason
    };
}

static void
test_error(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const struct jumbo_mtu_limits unknown = { 0, 0 };
    const struct jumbo_mtu_limits i40e = { 68, 9702 };
    const struct jumbo_mtu_refusal none = { .mtu = 0 };
    struct jumbo_mtu_refusal down;
    char reason[] = "there is no memory";

    /* Out of range: the limits say more than the errno value. */
    print_error(9710, 1500, i40e,
                refused(9710, EINVAL, NULL));
    print_error(67, 1500, i40e, none);
    print_error(INT64_MAX, 1500, i40e,
                refused(INT_MAX, EINVAL, NULL));

    /* Refused by a device. */
    print_error(9000, 1500, i40e, refused(9000, ENOMEM, reason));
    print_error(9000, 0, i40e, refused(9000, ENOMEM, reason));
    print_error(70000, 1500, unknown,
                refused(70000, EINVAL, NULL));
    print_error(INT64_MAX, 1500, unknown,
                refused(INT_MAX, EINVAL, NULL));

    /* Whoever requested it. */
    print_error_from(JUMBO_MTU_BRIDGE, 9710, 1500, i40e, none);
    print_error_from(JUMBO_MTU_GUEST, 9000, 1500, i40e,
                     refused(9000, ENOMEM, reason));

    /* No memory for any MTU. */
    down = refused(1500, ENOMEM, reason);
    down.is_down = true;
    print_error(1500, 1500, i40e, down);

    /* A refusal of another MTU says nothing. */
    print_error(9000, 1500, i40e, refused(8000, EINVAL, reason));

    /* Not ours to set. */
    print_error(9000, 0, unknown,
                refused(9000, EOPNOTSUPP, NULL));
    print_error(9000, 1500, unknown,
                refused(9000, EOPNOTSUPP, NULL));
}

static void
print_choice(int64_t iface, int64_t bridge, int guest, bool is_ours)
{
    static const char *const sources[] = {
        [JUMBO_MTU_DEFAULT] = "default",
        [JUMBO_MTU_GUEST] = "guest",
        [JUMBO_MTU_BRIDGE] = "bridge",
        [JUMBO_MTU_INTERFACE] = "interface",
    };
    struct jumbo_mtu_request request = jumbo_mtu_choose(iface, bridge, guest,
                                                        is_ours);

    printf("%"PRId64" (%s)\n", request.mtu, sources[request.source]);
}

/* The interface's own request comes first, then the bridge's, then the guest,
 * then the default. */
static void
test_choose(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    print_choice(2000, 3000, 4000, true);
    print_choice(0, 3000, 4000, true);
    print_choice(0, 0, 4000, true);
    print_choice(0, 0, 0, true);

    print_choice(2000, 3000, 4000, false);
    print_choice(0, 3000, 4000, false);
    print_choice(INT64_MAX, 3000, 0, true);
}

static void
print_fall_back(struct jumbo_mtu_refusal *refusal, int *mtup, int old_mtu,
                const char *reason)
{
    int mtu = *mtup;
    bool retry = jumbo_mtu_fall_back(refusal, "p0", mtup, old_mtu, ENOMEM,
                                     xstrdup(reason));

    printf("MTU %d, had %d: %s %d; kept: MTU %d, %s\n", mtu, old_mtu,
           retry ? "try" : "give up with", *mtup, refusal->mtu,
           refusal->reason);
}

/* A device goes back to the MTU that it had, once, and keeps the reason for
 * which it had to. */
static void
test_fall_back(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct jumbo_mtu_refusal refusal = { .mtu = 0 };
    int mtu = 9000;

    /* It worked with MTU 2000. */
    print_fall_back(&refusal, &mtu, 2000, "first reason");
    print_fall_back(&refusal, &mtu, 2000, "second reason");
    jumbo_mtu_try_again(&refusal, &mtu);
    printf("try again: MTU %d\n", mtu);
    mtu = 1400;
    jumbo_mtu_try_again(&refusal, &mtu);
    printf("nothing to try again: MTU %d\n", mtu);

    /* It is new. */
    mtu = 9000;
    print_fall_back(&refusal, &mtu, 0, "first reason");
    print_fall_back(&refusal, &mtu, 0, "second reason");

    /* Something else than the MTU was to change. */
    jumbo_mtu_refuse(&refusal, 0, 0, NULL);
    mtu = 2000;
    print_fall_back(&refusal, &mtu, 2000, "first reason");

    jumbo_mtu_refuse(&refusal, 0, 0, NULL);
}

static const struct ovs_cmdl_command commands[] = {
    {"frame", NULL, 0, 0, test_frame, OVS_RO},
    {"limits", NULL, 0, 0, test_limits, OVS_RO},
    {"range", NULL, 0, 0, test_range, OVS_RO},
    {"error", NULL, 0, 0, test_error, OVS_RO},
    {"choose", NULL, 0, 0, test_choose, OVS_RO},
    {"fall-back", NULL, 0, 0, test_fall_back, OVS_RO},
    {NULL, NULL, 0, 0, NULL, OVS_RO},
};

static void
test_jumbo_mtu_main(int argc, char *argv[])
{
    struct ovs_cmdl_context ctx = {
        .argc = argc - 1,
        .argv = argv + 1,
    };

    set_program_name(argv[0]);
    ovs_cmdl_run_command(&ctx, commands);
}

OVSTEST_REGISTER("test-jumbo-mtu", test_jumbo_mtu_main);
