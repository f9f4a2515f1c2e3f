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

#include "dpdk-mempool-layout.h"

#include "dpdk-driver.h"
#include "dpdk-frame.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "util.h"

#define MAX_PORTS 64
#define N_NODES 2

/* The bytes of an mbuf besides its buffer, on x86_64. */
#define MBUF_OVERHEAD 960

static bool has_hugepages = true;

static size_t
mbufs_size(int numa_id OVS_UNUSED, int buffer_size, bool grows_in_place,
           uint64_t n)
{
    size_t size = buffer_size + MBUF_OVERHEAD;

    return n * (has_hugepages || grows_in_place ? size : ROUND_UP(size, 4096));
}

static int
memory_node(int numa_id)
{
    return numa_id;
}

/* A switch, and its ports as the old formulas see them. */
struct config {
    struct mempool_layout_port ports[MAX_PORTS];
    int mtus[MAX_PORTS];
    struct {
        uint64_t n_rxq, rxq_size, n_txq, txq_size;
    } requested[MAX_PORTS];     /* The members of 'struct netdev_dpdk'. */
    bool per_port;
    struct mempool_layout_input in;
    size_t memory_sizes[N_NODES];
};

/* Returns the bytes that the old formulas take for the mbufs of
 * 'c', and stores in 'has' how many the pool of each port has, 0 if it gets
 * none.  Written independently, from netdev-dpdk.c: dpdk_mp_get(),
 * dpdk_calculate_mbufs(), dpdk_mp_create(). */
static size_t
old_size(const struct config *c, uint64_t has[])
{
    struct {
        int frame_size;
        int numa_id;
        size_t size;
        uint64_t n_mbufs;
    } pools[MAX_PORTS];
    size_t used[N_NODES] = { 0 };
    size_t n = 0, total = 0;

    for (size_t i = 0; i < c->in.n_ports; i++) {
        const struct mempool_needs *needs = &c->ports[i].next;
        int frame_size = ROUND_UP(c->mtus[i] + 26, 1024);
        uint64_t n_mbufs = c->per_port
            ? c->requested[i].n_rxq * c->requested[i].rxq_size
              + c->requested[i].n_txq * c->requested[i].txq_size
              + MIN(c->requested[i].n_rxq, 128) * 32 + 4096 * 4
            : frame_size + 128 - 18 >= 1500 ? 4096 * 64 : 4096 * 4;
        size_t j = 0;

        has[i] = 0;
        if (needs->away) {
            continue;
        }
        while (j < n && (c->per_port || pools[j].frame_size != frame_size
                         || pools[j].numa_id != needs->numa_id)) {
            j++;
        }
        if (j >= n) {
            pools[j].frame_size = frame_size;
            pools[j].numa_id = needs->numa_id;
            pools[j].size = 0;
            pools[j].n_mbufs = 0;
            do {
                size_t size = mbufs_size(0, frame_size, false, n_mbufs);

                if (used[needs->numa_id] + size + (4 << 20)
                    <= c->memory_sizes[needs->numa_id]) {
                    pools[j].size = size;
                    pools[j].n_mbufs = n_mbufs;
                    break;
                }
            } while ((n_mbufs /= 2) >= 4096 * 4);
            used[needs->numa_id] += pools[j].size;
            total += pools[j].size;
            n++;
        }
        has[i] = pools[j].n_mbufs;
    }
    return total;
}

/* Sets what was requested for port 'i' of 'c'. */
static void
request(struct config *c, size_t i, uint64_t n_rxq, uint64_t rxq_size,
        uint64_t n_txq, uint64_t txq_size)
{
    struct mempool_needs *needs = &c->ports[i].next;

    c->requested[i].n_rxq = n_rxq;
    c->requested[i].rxq_size = rxq_size;
    c->requested[i].n_txq = n_txq;
    c->requested[i].txq_size = txq_size;
    needs->old_n_rxq = n_rxq;
    needs->old_rx_descs = n_rxq * rxq_size;
    needs->old_tx_descs = n_txq * txq_size;
}

static void
random_config(struct config *c, size_t memory)
{
    static const char *const drivers[] = {
        NULL, "net_i40e", "net_pcap", "mlx5_pci", "net_af_xdp", "net_bonding",
        "net_bnxt",
    };
    static const int descs[] = { 64, 256, 512, 1024, 2048, 4096 };
    static const int mtus[] = { 68, 999, 1500, 2000, 3000, 6000, 9000, 9702 };
    /* One kind of port in half of all cases, otherwise a mix. */
    int n_drivers = random_range(2) ? 1 : ARRAY_SIZE(drivers);
    int first_driver = random_range(ARRAY_SIZE(drivers));
    int n_numa = 1 + random_range(N_NODES);
    uint64_t n_threads = 1 + (1 << random_range(6));

    memset(c, 0, sizeof *c);
    c->per_port = !random_range(3);
    c->in = (struct mempool_layout_input) {
        .ports = c->ports,
        .can_grow = random_range(4),
        .n_ports = 1 + (random_range(MAX_PORTS) >> random_range(6)),
        .demand = {
            .n_threads = n_threads,
            .cache_size = 512,
            .n_segments = random_range(4) ? 1 : MEMPOOL_GSO_SEGMENTS,
            .flush_interval = random_range(4) ? 0 : random_range(1000),
            .max_frags = random_range(2) * random_range(5000),
        },
        .mbufs_size = mbufs_size,
        .memory_node = memory_node,
        .memory_sizes = c->memory_sizes,
    };
    for (int i = 0; i < N_NODES; i++) {
        c->memory_sizes[i] = memory;
    }
    for (size_t i = 0; i < c->in.n_ports; i++) {
        const char *driver = drivers[(first_driver + random_range(n_drivers))
                                     % ARRAY_SIZE(drivers)];
        struct mempool_needs *needs = &c->ports[i].next;

        c->ports[i].id = &c->ports[i];
        c->mtus[i] = mtus[random_range(ARRAY_SIZE(mtus))];
        needs->mtu = c->mtus[i];
        needs->numa_id = random_range(n_numa);
        if (driver) {
            uint64_t n_rxq = 1 << random_range(5);
            uint64_t rxq_size = descs[random_range(ARRAY_SIZE(descs))];
            uint64_t txq_size = descs[random_range(ARRAY_SIZE(descs))];

            request(c, i, n_rxq, rxq_size, n_threads, txq_size);
            /* Some devices have fewer queues. */
            needs->n_rxq = random_range(4) ? n_rxq : MIN(n_rxq, 4);
            needs->rx_descs = needs->n_rxq * rxq_size;
            needs->n_txq = random_range(4) ? n_threads : MIN(n_threads, 4);
            needs->tx_descs = needs->n_txq * txq_size;
        } else {
            uint64_t n_pairs = 1 << random_range(4);

            request(c, i, n_pairs, 2048, n_pairs, 2048);
            needs->away = !random_range(4);
        }
        mempool_needs_set_buffers(needs, c->mtus[i], c->per_port);
        dpdk_driver_apply(driver, "mode=1,member=a,member=b", needs);
        if (random_range(2)) {
            struct mempool_needs *now = &c->ports[i].now;

            *now = *needs;
            if (driver && random_range(2)) {
                /* It has fewer queues. */
                now->n_rxq = now->old_n_rxq = 1;
                now->rx_descs = needs->rx_descs / needs->n_rxq;
                now->old_rx_descs = now->rx_descs;
                mempool_needs_set_buffers(now, c->mtus[i], c->per_port);
                dpdk_driver_apply(driver, "mode=1,member=a,member=b", now);
            }
        }
    }
}

/* Returns the pool that port 'i' of 'c' is to receive into, or NULL. */
static const struct mempool_layout_pool *
pool_of(const struct config *c, size_t i,
        const struct mempool_layout_pool *pools, size_t n)
{
    struct mempool_key key = mempool_needs_key(&c->ports[i].next,
                                               c->ports[i].id);

    return mempool_layout_find(pools, n, &key);
}

/* Returns the mbufs that the receive rings of the ports of 'pool' hold. */
static uint64_t
rx_filled(const struct config *c, const struct mempool_layout_pool *pools,
          size_t n, const struct mempool_layout_pool *pool)
{
    uint64_t filled = 0;

    for (size_t i = 0; i < c->in.n_ports; i++) {
        const struct mempool_needs *needs = &c->ports[i].next;

        if (!needs->away && pool_of(c, i, pools, n) == pool) {
            uint64_t rings = needs->mtu > needs->rings_above
                             ? MAX(needs->n_rings, 1) : 1;

            filled += needs->rx_filled * rings * MAX(needs->n_devices, 1);
        }
    }
    return filled;
}

/* However a switch is configured, and however much memory it has:
 *
 *   - Pools take no more than by the old formulas, except where those
 *     don't fill the receive rings, or where larger mbufs would be too few
 *     for what ports need to start.
 *
 *   - Each port that has a pool by these formulas has one here, for which
 *     there is memory, with what it needs to start, or as many mbufs.
 *
 *   - A port that shares no pool has as many mbufs as by these formulas, or
 *     all that ports can hold, except where drivers refuse such buffers.
 *
 *   - No pool is larger than what ports can hold. */
static void
test_properties(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct config *c = xmalloc(sizeof *c);
    int n_less = 0, n_limited = 0, n_starved = 0, n_own_limited = 0;

    random_set_seed(262144);
    for (int i = 0; i < 20000; i++) {
        size_t memory = i % 2 ? SIZE_MAX / 2
                              : (size_t) random_range(8192) << 20;
        size_t sizes[N_NODES] = { 0 };
        struct mempool_layout_pool *pools;
        bool starved = false, starts_once = false;
        uint64_t has[MAX_PORTS];
        size_t theirs, ours = 0;
        size_t n;

        has_hugepages = random_range(2);
        random_config(c, memory);
        theirs = old_size(c, has);
        n = mempool_layout(&c->in, &pools);
        for (size_t j = 0; j < c->in.n_ports; j++) {
            starved = starved || (!has[j] && !c->ports[j].next.away);
            starts_once = starts_once || c->ports[j].next.starts_once;
        }
        for (size_t j = 0; j < n; j++) {
            const struct mempool_layout_pool *pool = &pools[j];
            uint64_t filled = rx_filled(c, pools, n, pool);
            size_t size = mbufs_size(0, pool->key.buffer_size,
                                     pool->grows_in_place, pool->new_size);

            ovs_assert(pool->minimum <= pool->target);
            ovs_assert(pool->target <= pool->demand.total);
            ovs_assert(pool->target <= pool->new_size);
            ovs_assert(pool->new_size <= pool->spare_size);
            ovs_assert(pool->target >= MIN(pool->demand.total, pool->limit));
            ovs_assert(pool->target >= filled);
            ovs_assert(pool->target > 0);
            n_limited += pool->target < pool->demand.total;
            ours += mbufs_size(0, pool->key.buffer_size,
                               pool->grows_in_place, pool->spare_size);
            sizes[pool->key.numa_id] += size;

            /* The old formulas don't fill the rings, or there is
             * too little memory for them. */
            starved = starved || pool->limit == pool->minimum;
        }
        if (!starved) {
            ovs_assert(ours <= theirs);
            n_less += ours < theirs;
            for (int j = 0; j < N_NODES; j++) {
                ovs_assert(sizes[j] <= memory);
            }
        }
        n_starved += starved;
        for (size_t j = 0; j < c->in.n_ports; j++) {
            const struct mempool_layout_pool *pool = pool_of(c, j, pools, n);

            ovs_assert(c->ports[j].next.away || pool);
            if (has[j] && !starts_once) {
                uint64_t to_start
                    = rx_filled(c, pools, n, pool)
                      + pool->demand.terms[MEMPOOL_DEMAND_CACHES]
                      + pool->demand.terms[MEMPOOL_DEMAND_BURSTS]
                      + c->in.demand.n_threads * 32;

                to_start = MIN(to_start, pool->demand.total);
                ovs_assert(pool->target >= MIN(to_start, has[j]));
            }
            if (c->per_port && c->mtus[j] > 998 && has[j]) {
                ovs_assert(pool->target >= MIN(pool->demand.total, has[j]));
                n_own_limited += has[j] < pool->demand.total;
            }
        }
        free(pools);
    }
    free(c);

    /* The cases that matter did occur. */
    ovs_assert(n_less > 5000 && n_limited > 5000 && n_starved < 10000
               && n_own_limited > 5000);
}

static void
print_layout(const char *title, int n_ports, int mtu, bool per_port,
             uint64_t n_rxq, uint64_t n_pmds, const char *driver)
{
    struct config *c = xzalloc(sizeof *c);
    struct mempool_layout_pool *pools;
    uint64_t has[MAX_PORTS];
    size_t ours = 0;
    size_t n;

    c->per_port = per_port;
    c->in = (struct mempool_layout_input) {
        .ports = c->ports,
        .n_ports = n_ports,
        .can_grow = true,
        .demand = { .n_threads = n_pmds + 1, .cache_size = 512 },
        .mbufs_size = mbufs_size,
        .memory_node = memory_node,
        .memory_sizes = c->memory_sizes,
    };
    c->memory_sizes[0] = SIZE_MAX / 2;
    for (int i = 0; i < n_ports; i++) {
        struct mempool_needs *needs = &c->ports[i].next;

        c->ports[i].id = &c->ports[i];
        c->mtus[i] = needs->mtu = mtu;
        request(c, i, n_rxq, 2048, n_pmds + 1, 2048);
        needs->n_rxq = n_rxq;
        needs->rx_descs = n_rxq * 2048;
        needs->n_txq = n_pmds + 1;
        needs->tx_descs = (n_pmds + 1) * 2048;
        mempool_needs_set_buffers(needs, mtu, per_port);
        dpdk_driver_apply(driver, NULL, needs);
    }
    n = mempool_layout(&c->in, &pools);
    for (size_t i = 0; i < n; i++) {
        ours += mbufs_size(0, pools[i].key.buffer_size,
                           pools[i].grows_in_place, pools[i].new_size);
    }
    printf("%s: demand %"PRIu64", limit %"PRIu64", %.0f MB of %.0f MB\n",
           title, pools[0].demand.total, pools[0].limit, ours / 1e6,
           old_size(c, has) / 1e6);
    free(pools);
    free(c);
}

static void
test_examples(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    print_layout("1 port, MTU 9000, 1 PMD", 1, 9000, false, 1, 1, "net_i40e");
    print_layout("7 ports, MTU 9000, 4 rxq, 16 PMDs", 7, 9000, false, 4, 16,
                 "net_i40e");
    print_layout("64 ports, MTU 1500, 16 PMDs", 64, 1500, false, 1, 16,
                 "net_i40e");
    print_layout("32 ports, MTU 1500, 4 PMDs, mlx5", 32, 1500, false, 1, 4,
                 "mlx5_pci");
    print_layout("4 ports, per-port-memory, 8 PMDs", 4, 1500, true, 1, 8,
                 "net_i40e");
    print_layout("4 ports, MTU 4500, per-port-memory, 8 PMDs", 4, 4500, true,
                 1, 8, "net_i40e");
    print_layout("16 ports, per-port-memory, 8 PMDs", 16, 1500, true, 1, 8,
                 "net_i40e");
    print_layout("40 ports, MTU 9000, 8 rxq: more rings than mbufs", 40, 9000,
                 false, 8, 1, "net_i40e");
}

/* Known, stacked, and unknown drivers. */
static void
test_drivers(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    static const char *const tests[][2] = {
        { NULL, NULL },
        { "net_null", "" },
        { "net_pcap", "iface=eth0" },
        { "net_pcap", "rx_pcap=a,infinite_rx=1" },
        { "net_memif", "role=server,zero-copy=yes" },
        { "net_tap", "" },
        { "net_virtio", "" },
        { "net_ice", NULL },
        { "net_e1000_em", NULL },
        { "mlx5_pci", "" },
        { "net_bnxt", "" },
        { "net_idpf", "" },
        { "net_vmxnet3", "" },
        { "net_af_xdp", "iface=eth0" },
        { "net_bonding", "mode=1,slave=0000:01:00.0,slave=0000:01:00.1" },
        { "net_bonding", "member=a,member=b,member=c,primary=a" },
        { "net_failsafe", "dev(net_tap0,iface=a),fd(3)" },
        { "net_netvsc", "" },
        { "unheard-of", "" },
    };

    for (int i = 0; i < ARRAY_SIZE(tests); i++) {
        struct mempool_needs needs = { .n_rxq = 2, .rx_descs = 1024 };

        dpdk_driver_apply(tests[i][0], tests[i][1], &needs);
        printf("%s %s: %s, %"PRIu64" filled in %u rings%s, %u devices%s\n",
               tests[i][0] ? tests[i][0] : "vhost",
               tests[i][1] ? tests[i][1] : "",
               needs.starts_once ? "starts once"
               : needs.grows_in_place ? "grows in place"
               : "grows by replacement",
               needs.rx_filled, MAX(needs.n_rings, 1),
               needs.rings_above ? " above MTU 1500" : "",
               MAX(needs.n_devices, 1),
               tests[i][0] && dpdk_driver_changes_mtu(tests[i][0])
               ? ", MTU while running" : "");
    }
}

static const struct ovs_cmdl_command commands[] = {
    {"properties", NULL, 0, 0, test_properties, OVS_RO},
    {"examples", NULL, 0, 0, test_examples, OVS_RO},
    {"drivers", NULL, 0, 0, test_drivers, OVS_RO},
    {NULL, NULL, 0, 0, NULL, OVS_RO},
};

static void
test_dpdk_mempool_layout_main(int argc, char *argv[])
{
    struct ovs_cmdl_context ctx = {
        .argc = argc - 1,
        .argv = argv + 1,
    };

    set_program_name(argv[0]);
    ovs_cmdl_run_command(&ctx, commands);
}

OVSTEST_REGISTER("test-dpdk-mempool-layout", test_dpdk_mempool_layout_main);
