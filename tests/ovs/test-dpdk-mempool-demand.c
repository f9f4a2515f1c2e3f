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
        .cache_size = 512,
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
        .cache_size = 512,
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

static const struct ovs_cmdl_command commands[] = {
    {"properties", NULL, 0, 0, test_properties, OVS_RO},
    {"examples", NULL, 0, 0, test_examples, OVS_RO},
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
