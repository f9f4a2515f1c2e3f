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

#include "dpdk-mempool-demand.h"

#include "dpdk-driver.h"
#include "ovstest.h"
#include "random.h"
#include "util.h"

#define N_FIELDS 10

/* An input, also as an array of its fields. */
union input {
    struct mempool_demand_input in;
    uint64_t fields[N_FIELDS];
};
BUILD_ASSERT_DECL(sizeof(union input) == sizeof(struct mempool_demand_input));

/* More than any switch has: 1024 ports with 256 queues of 8192 descriptors,
 * and 1024 threads. */
static const union input largest = {
    .in = {
        .n_rxq = 1024 * 256,
        .rx_descs = 1024ULL * 256 * 8192,
        .rx_filled = 1024ULL * 256 * 8192,
        .tx_descs = 1024ULL * 256 * 8192,
        .n_threads = 1024,
        .cache_max = 768,
        .n_segments = MEMPOOL_GSO_SEGMENTS,
        .flush_interval = 1000000,
        .max_frags = UINT32_MAX,
        .headroom = 1000,
    },
};

/* Returns a number up to 'max'; small ones are as frequent as large ones. */
static uint64_t
random_up_to(uint64_t max)
{
    return random_uint64() % (max + 1) >> random_range(40);
}

/* Whatever the input is, a demand is the sum of its terms, and more of
 * anything never makes a term smaller. */
static void
test_properties(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    random_set_seed(9000);
    for (int i = 0; i < 2000000; i++) {
        struct mempool_demand d;
        union input input;
        uint64_t sum = 0;

        for (int j = 0; j < N_FIELDS; j++) {
            input.fields[j] = random_up_to(largest.fields[j]);
        }
        input.in.rx_filled = MIN(input.in.rx_filled, input.in.rx_descs);
        d = mempool_demand(&input.in);
        ovs_assert(mempool_demand_to_start(&input.in) <= d.total);
        ovs_assert(mempool_demand_to_start(&input.in) >= MEMPOOL_BURST
                   || !input.in.n_threads);

        for (int t = 0; t < MEMPOOL_DEMAND_N_TERMS; t++) {
            ovs_assert(d.total >= d.terms[t]);
            sum += d.terms[t];
            ovs_assert(sum >= d.terms[t]);
        }
        ovs_assert(d.total == sum);
        ovs_assert(input.in.headroom || !d.terms[MEMPOOL_DEMAND_HEADROOM]);

        for (int j = 0; j < N_FIELDS; j++) {
            union input more = input;
            struct mempool_demand m;

            more.fields[j] += random_up_to(largest.fields[j] - more.fields[j]);
            m = mempool_demand(&more.in);
            for (int t = 0; t < MEMPOOL_DEMAND_N_TERMS; t++) {
                ovs_assert(m.terms[t] >= d.terms[t]);
            }
            ovs_assert(m.total >= d.total);
            ovs_assert(mempool_demand_to_start(&more.in)
                       >= mempool_demand_to_start(&input.in));
        }
    }
}

static void
print_demand(const char *title, const struct mempool_demand_input *in)
{
    struct mempool_demand d = mempool_demand(in);

    printf("%s:", title);
    for (int t = 0; t < MEMPOOL_DEMAND_N_TERMS; t++) {
        printf(" %s %"PRIu64",", mempool_demand_term_name(t), d.terms[t]);
    }
    printf(" total %"PRIu64", to start %"PRIu64"\n", d.total,
           mempool_demand_to_start(in));
}

static void
test_examples(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_demand_input in = {
        .n_rxq = 1,
        .rx_descs = 1 * 2048,
        .rx_filled = 1 * 2048,
        .tx_descs = 2 * 2048,
        .n_threads = 2,
        .cache_max = 768,
        .n_segments = 1,
    };

    print_demand("one Ethernet port, 2 threads", &in);
    in.headroom = 20;
    print_demand("with 20 % headroom", &in);
    in.headroom = 0;
    in.rx_filled = 0;
    print_demand("whose driver fills no ring", &in);
    in.max_frags = 1000;
    print_demand("with IP fragments", &in);
    in.n_segments = MEMPOOL_GSO_SEGMENTS;
    print_demand("and userspace TSO", &in);
    in.n_segments = 1;
    in.flush_interval = 50;
    print_demand("and tx-flush-interval=50 instead", &in);
    in.flush_interval = in.max_frags = 0;

    /* Each with 2 receive and 4 transmit queues. */
    in.n_rxq = 2 * 2;
    in.rx_descs = in.rx_filled = 2 * 2 * 2048;
    in.tx_descs = 2 * 4 * 2048;
    in.n_threads = 4;
    print_demand("two Ethernet ports, 4 threads", &in);

    /* Beside them, vhost ports that receive into another pool. */
    in.n_rxq = in.rx_descs = in.rx_filled = 0;
    print_demand("vhost ports beside them", &in);

    print_demand("largest", &largest.in);
}

/* Returns the needs of a port with 2 queues of 512 descriptors. */
static struct mempool_needs
needs_of(const char *driver, const char *devargs, int mtu)
{
    struct mempool_needs needs = {
        .mtu = mtu, .n_rxq = 2, .rxq_size = 512, .n_txq = 2, .txq_size = 512,
        .max_rxq = 16, .max_txq = 16,
    };

    dpdk_driver_apply(driver, devargs, &needs);
    return needs;
}

/* Checks that a port with 'needs' fills 'n_filled' mbufs, and has as many
 * descriptors as given, also while it may still be like before. */
static void
check_needs(struct mempool_needs needs, bool grows, uint64_t n_filled,
            uint64_t n_rxq, uint64_t rx_descs, uint64_t tx_descs)
{
    const struct mempool_needs small = needs_of("net_i40e", NULL, 1500);
    struct mempool_demand_input in = { .n_rxq = 1, .rx_descs = 1,
                                       .rx_filled = 1, .tx_descs = 1 };

    ovs_assert(mempool_needs_grow(&needs) == grows);
    ovs_assert(mempool_needs_filled(&needs) == n_filled);
    mempool_demand_add_rx(&in, NULL, &needs);
    mempool_demand_add_tx(&in, &needs, &needs);
    ovs_assert(in.n_rxq == 1 + n_rxq && in.rx_descs == 1 + rx_descs);
    ovs_assert(in.rx_filled == 1 + n_filled && in.tx_descs == 1 + tx_descs);

    mempool_demand_add_rx(&in, &small, &needs);
    mempool_demand_add_tx(&in, &needs, &small);
    ovs_assert(in.n_rxq == 1 + n_rxq + MAX(n_rxq, 2));
    ovs_assert(in.rx_descs == 1 + rx_descs + MAX(rx_descs, 1024));
    ovs_assert(in.rx_filled == 1 + n_filled + MAX(n_filled, 1024));
    ovs_assert(in.tx_descs == 1 + tx_descs + MAX(tx_descs, 1024));
}

/* What ports can hold, depending on their drivers. */
static void
test_needs(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_needs needs = needs_of("net_i40e", NULL, 9000);

    check_needs(needs, true, 1024, 2, 1024, 1024);
    ovs_assert(mempool_needs_requested(&needs) == 2 * 512 + 2 * 512 + 2 * 32);

    /* A device with fewer queues than requested. */
    needs.max_rxq = needs.max_txq = 1;
    check_needs(needs, true, 512, 1, 512, 512);
    ovs_assert(mempool_needs_requested(&needs) == 2 * 512 + 2 * 512 + 2 * 32);

    /* Other rings, above an MTU or for any. */
    check_needs(needs_of("net_bnxt", NULL, 1500), true, 1024, 2, 1024, 1024);
    check_needs(needs_of("net_bnxt", NULL, 1501), true, 5120, 2, 5120, 1024);
    check_needs(needs_of("net_idpf", NULL, 1500), true, 2048, 2, 2048, 1024);

    /* Rings that aren't filled. */
    check_needs(needs_of("net_virtio", "", 9000), true, 512, 2, 1024, 1024);
    needs = needs_of("net_tap", "", 1500);
    needs.rxq_size = 2048;
    check_needs(needs, true, 2 * 1023, 2, 4096, 1024);
    check_needs(needs_of("net_pcap", "iface=a", 9000), true, 0, 2, 1024, 1024);

    /* Mbufs that are kept. */
    check_needs(needs_of("net_memif", "zero-copy=yes", 9000), false, 1024,
                2, 1024, 1024);

    /* Devices that receive into the mempool of another one. */
    check_needs(needs_of("net_bonding", "mode=1,member=a,member=b", 9000),
                false, 2048, 4, 2048, 2048);
    check_needs(needs_of("net_bonding", NULL, 9000), false, 1024, 2, 1024,
                1024);

    /* Guests, and what isn't known. */
    check_needs(needs_of("unheard-of", NULL, 1500), false, 1024, 2, 1024,
                1024);
    needs = (struct mempool_needs) { .vhost = true, .n_rxq = 8, .n_txq = 8 };
    check_needs(needs, true, 0, 0, 0, 0);
}

static const struct ovs_cmdl_command commands[] = {
    {"properties", NULL, 0, 0, test_properties, OVS_RO},
    {"examples", NULL, 0, 0, test_examples, OVS_RO},
    {"needs", NULL, 0, 0, test_needs, OVS_RO},
    {NULL, NULL, 0, 0, NULL, OVS_RO},
};

static void
test_dpdk_mempool_demand_main(int argc, char *argv[])
{
    struct ovs_cmdl_context ctx = {
        .argc = argc - 1,
        .argv = argv + 1,
    };

    set_program_name(argv[0]);
    ovs_cmdl_run_command(&ctx, commands);
}

OVSTEST_REGISTER("test-dpdk-mempool-demand", test_dpdk_mempool_demand_main);
