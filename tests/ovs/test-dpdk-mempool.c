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

#include "dpdk-mempool.h"

#include <dlfcn.h>
#include <errno.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memzone.h>
#include <time.h>

#include "dp-packet.h"
#include "dpdk-driver.h"
#include "dpdk-frame.h"
#include "dpdk-memory.h"
#include "dpdk-mempool-grow.h"
#include "netdev-provider.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "ovstest.h"
#include "random.h"
#include "seq.h"
#include "smap.h"
#include "test-dpdk-mempool.h"
#include "timeval.h"

/* Returns the needs of an Ethernet port with one transmit queue, for which
 * pools grow. */
static struct mempool_needs
nic(int mtu, uint32_t n_rxq, uint32_t rxq_size, uint32_t txq_size)
{
    struct mempool_needs needs = {
        .mtu = mtu, .n_rxq = n_rxq, .rxq_size = rxq_size, .n_txq = 1,
        .txq_size = txq_size, .max_rxq = UINT16_MAX, .max_txq = UINT16_MAX,
    };

    dpdk_driver_apply("net_i40e", NULL, &needs);
    return needs;
}

/* The same for one for which they don't. */
static struct mempool_needs
fixed_nic(int mtu, uint32_t n_rxq, uint32_t rxq_size, uint32_t txq_size)
{
    struct mempool_needs needs = nic(mtu, n_rxq, rxq_size, txq_size);

    dpdk_driver_apply("mlx5_pci", NULL, &needs);
    return needs;
}

static struct mempool_needs
guest(int mtu, bool away)
{
    return (struct mempool_needs) { .mtu = mtu, .vhost = true, .away = away };
}

/* Switches that exist only in numbers. */

#define MAX_PORTS 48
#define N_NODES 2

struct test_port {
    struct mempool_needs needs;
    size_t old_size;            /* Bytes of mbufs that unpatched Open vSwitch
                                 * adds for it, and */
    bool was_up;                /* whether it comes up there, */
    bool is_up;                 /* and here. */
};

struct test_switch {
    int seed;
    struct mempools_model model;
    struct smap other_config;
    size_t memory[RTE_MAX_NUMA_NODES];
    bool per_port;
    bool grows;                 /* All drivers allow that. */
    struct test_port ports[MAX_PORTS];
    size_t n;
};

/* Brings up the ports of 's', one after the other, as unpatched Open vSwitch
 * does.  Written independently, from netdev-dpdk.c of Open vSwitch 4.0:
 * dpdk_mp_get(), dpdk_calculate_mbufs(), dpdk_mp_create(). */
static void
bring_up_unpatched(struct test_switch *s)
{
    struct {
        int buffer_size, numa_id;
        uint64_t n_mbufs, n_filled;
    } pools[MAX_PORTS], *pool;
    size_t used[N_NODES] = { 0 };
    size_t n = 0;

    for (struct test_port *port = s->ports; port < &s->ports[s->n]; port++) {
        const struct mempool_needs *needs = &port->needs;
        const uint64_t n_filled = mempool_needs_filled(needs);
        int buffer_size = ROUND_UP(needs->mtu + 26, 1024);
        uint64_t n_mbufs = s->per_port
            ? needs->n_rxq * needs->rxq_size + needs->n_txq * needs->txq_size
              + MIN(needs->n_rxq, 128) * 32 + 4096 * 4
            : buffer_size + 128 - 18 >= 1500 ? 4096 * 64 : 4096 * 4;

        port->old_size = 0;
        port->was_up = needs->away;
        if (needs->away) {
            continue;
        }
        for (pool = pools; pool < &pools[n]; pool++) {
            if (!s->per_port && pool->buffer_size == buffer_size
                && pool->numa_id == needs->numa_id) {
                break;
            }
        }
        if (pool == &pools[n]) {
            size_t *node = &used[needs->numa_id];

            pools[n++] = (typeof(*pool)) { buffer_size, needs->numa_id, 0, 0 };
            for (; n_mbufs >= 4096 * 4; n_mbufs /= 2) {
                size_t size = dpdk_mbufs_size_va(buffer_size, false, n_mbufs)
                              + DPDK_MEMPOOL_OVERHEAD;

                if (*node + size <= s->memory[needs->numa_id]) {
                    *node += size;
                    pool->n_mbufs = n_mbufs;
                    port->old_size = n_mbufs
                                     * dpdk_mbuf_element_size(buffer_size);
                    break;
                }
            }
        }

        /* It must be able to fill its rings beside the threads' caches. */
        if (pool->n_filled + n_filled + (s->model.n_threads - 1) * 768
            <= pool->n_mbufs) {
            port->was_up = true;
            pool->n_filled += n_filled;
        }
    }
}

/* Makes 's' a random switch with plenty of memory, or little. */
static void
random_switch(struct test_switch *s, bool plenty)
{
    static const char *const drivers[] = {
        NULL, "net_i40e", "net_pcap", "mlx5_pci", "net_bonding", "net_bnxt",
    };
    static const int descs[] = { 64, 256, 512, 1024, 2048, 4096 };
    static const int mtus[] = { 68, 999, 1500, 2000, 3000, 6000, 9000, 9702 };
    /* One kind of port in half of all cases, otherwise a mix. */
    int n_drivers = random_range(2) ? 1 : ARRAY_SIZE(drivers);
    int first_driver = random_range(ARRAY_SIZE(drivers));
    int n_numa = 1 + random_range(N_NODES);

    s->per_port = !random_range(3);
    s->grows = true;
    smap_init(&s->other_config);
    smap_add(&s->other_config, "per-port-memory",
             s->per_port ? "true" : "false");
    s->model = (struct mempools_model) {
        .other_config = &s->other_config,
        .mbufs_size = dpdk_mbufs_size_va,
        .grows = true,
        .memory = s->memory,
    };
    s->model.n_threads = 1 + (1 << random_range(6));
    s->model.tso = !random_range(4);
    s->model.flush_interval = random_range(4) ? 0 : random_range(1000);
    s->model.max_frags = random_range(2) ? 0 : random_range(5000);
    for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
        /* From 64 MB to 16 GB. */
        s->memory[i] = (size_t) (64 + random_range(64)) << 20;
        s->memory[i] = plenty ? SIZE_MAX / 4
                       : s->memory[i] << random_range(8);
    }
    s->n = random_range(MAX_PORTS);
    s->n = 1 + (s->n >> random_range(6));
    for (size_t i = 0; i < s->n; i++) {
        const char *driver = drivers[(first_driver + random_range(n_drivers))
                                     % ARRAY_SIZE(drivers)];
        struct mempool_needs needs = nic(1500, 1, 2048, 2048);

        needs.mtu = mtus[random_range(ARRAY_SIZE(mtus))];
        needs.n_rxq = 1 << random_range(5);
        needs.rxq_size = descs[random_range(ARRAY_SIZE(descs))];
        needs.n_txq = s->model.n_threads;
        needs.txq_size = descs[random_range(ARRAY_SIZE(descs))];
        /* Some devices have few queues. */
        needs.max_rxq = random_range(4) ? UINT16_MAX : 4;
        needs.max_txq = random_range(4) ? UINT16_MAX : 4;
        if (driver) {
            dpdk_driver_apply(driver, "mode=1,member=a,member=b", &needs);
        } else {
            needs = guest(needs.mtu, random_range(4) == 0);
            needs.n_rxq = needs.n_txq = 1 << random_range(4);
            needs.rxq_size = needs.txq_size = MEMPOOL_DEFAULT_DESCS;
        }
        needs.numa_id = random_range(n_numa);
        s->grows = s->grows && mempool_needs_grow(&needs);
        s->ports[i] = (struct test_port) { .needs = needs };
    }
}

/* Stores in '*n_to_start' how many mbufs the ports of 's' that share pools of
 * the given kind need to start, or if 'only' is nonnull, how many that one
 * does.  Returns the bytes of those that unpatched Open vSwitch has for
 * them. */
static size_t
kind_of(const struct test_switch *s, const struct test_port *only, int numa_id,
        int buffer_size, uint64_t *n_to_start)
{
    struct mempool_demand_input in = { .n_threads = s->model.n_threads };
    size_t old_size = 0;

    *n_to_start = 0;
    for (const struct test_port *p = s->ports; p < &s->ports[s->n]; p++) {
        if (p->is_up && !p->needs.away
            && (only ? p == only
                : p->needs.numa_id == numa_id
                  && dpdk_buffer_size(p->needs.mtu) == buffer_size)) {
            old_size += p->old_size;
            mempool_demand_add_rx(&in, NULL, &p->needs);
            *n_to_start = mempool_demand_to_start(&in);
        }
    }
    return old_size;
}

static uint64_t
n_mbufs(const struct mempool_info *pool)
{
    return pool->n_mbufs + pool->n_missing;
}

static size_t
size_of(const struct mempool_info *pool)
{
    return dpdk_mbufs_size_va(pool->buffer_size, pool->grows, n_mbufs(pool));
}

static bool
have_same_buffers(const struct mempool_info *a, const struct mempool_info *b)
{
    return a->numa_id == b->numa_id && a->buffer_size == b->buffer_size;
}

/* Returns true if there is a pool beside another one with the same buffers. */
static bool
any_beside(const struct mempools_info *info)
{
    for (size_t i = 1; i < info->n; i++) {
        if (have_same_buffers(&info->pools[i - 1], &info->pools[i])) {
            return true;
        }
    }
    return false;
}

static void
check(const struct test_switch *s, bool condition, const char *violation)
{
    if (!condition) {
        ovs_fatal(0, "switch %d: %s", s->seed, violation);
    }
}

/* Checks that pools of 's' that have grown since 'then', none of which is
 * beside another one, obey the rule for little memory. */
static void
check_growth(const struct test_switch *s, const struct mempools_info *then,
             const struct mempools_info *now)
{
    size_t grown[MAX_PORTS], free_then[N_NODES];

    memcpy(free_then, s->memory, sizeof free_then);
    for (size_t i = 0; i < now->n; i++) {
        const struct mempool_info *pool = &now->pools[i];
        size_t old_size = 0;

        for (size_t j = 0; j < then->n; j++) {
            if (have_same_buffers(&then->pools[j], pool)) {
                old_size = size_of(&then->pools[j]);
            }
        }
        grown[i] = size_of(pool) - old_size;
        free_then[pool->numa_id] -= DPDK_MEMPOOL_OVERHEAD + old_size;
    }
    for (size_t i = 0; i < now->n; i++) {
        const struct mempool_info *pool = &now->pools[i];
        uint64_t n_to_start;

        kind_of(s, NULL, pool->numa_id, pool->buffer_size, &n_to_start);
        check(s, n_mbufs(pool) <= pool->target,
              "a pool has more mbufs than its ports can hold");

        /* Others may have taken some of what it left free. */
        check(s, !grown[i] || n_mbufs(pool) <= n_to_start
              || size_of(pool) <= 2 * (free_then[pool->numa_id] - grown[i]),
              "a pool has more than twice what it leaves free");
    }
}

/* Switches with plenty of memory, unless unpatched has too few mbufs; those of
 * them that take less memory than unpatched, and those that take more, in
 * pools beside others; their pools that have less than the demand. */
static int n_plenty, n_less, n_beside, n_limited;

static void
check_plenty(const struct test_switch *s, const struct mempools_info *info)
{
    size_t size = 0, old_size = 0, beside_size = 0;
    bool exception = false;

    for (const struct test_port *p = s->ports; p < &s->ports[s->n]; p++) {
        int buffer_size = (s->per_port ? dpdk_own_buffer_size(p->needs.mtu)
                           : dpdk_buffer_size(p->needs.mtu));
        uint64_t n_to_start;
        size_t kind_size = kind_of(s, s->per_port ? p : NULL, p->needs.numa_id,
                                   buffer_size, &n_to_start);

        check(s, p->is_up, "a port doesn't come up");
        old_size += p->old_size;
        exception = exception || !p->was_up
                    || n_to_start * dpdk_mbuf_element_size(buffer_size)
                       > kind_size;
    }
    for (size_t i = 0; i < info->n; i++) {
        const struct mempool_info *pool = &info->pools[i];
        size_t element_size = dpdk_mbuf_element_size(pool->buffer_size);
        uint64_t n_to_start;
        size_t kind_size = kind_of(s, NULL, pool->numa_id, pool->buffer_size,
                                   &n_to_start);

        size += n_mbufs(pool) * element_size;
        n_limited += pool->target < pool->demand.total;
        if (!s->per_port && i && have_same_buffers(pool, pool - 1)) {
            beside_size += n_to_start * element_size;
        } else if (s->grows && (s->per_port || !any_beside(info))) {
            /* Its ring has room for the mbufs of one pool of unpatched. */
            check(s, n_mbufs(pool) >= MIN(pool->target, 4096 * 64 - 1),
                  "a pool that grows lacks mbufs");
            check(s, s->per_port || pool->target
                                    >= MIN(pool->demand.total,
                                           kind_size / element_size),
                  "a pool is to have fewer mbufs than unpatched has");
        }
    }
    if (!exception) {
        check(s, size <= old_size + (s->grows ? 0 : beside_size),
              "pools take more memory than those of unpatched Open vSwitch");
        n_plenty++;
        n_less += size < old_size;
        n_beside += size > old_size;
    }
}

/* Switches with little memory: all ports come up unpatched, and of these, not
 * all come up here; not all come up unpatched, and of these, fewer or more
 * come up here; pools that lack mbufs. */
static int n_complete, n_lost, n_incomplete, n_fewer, n_more, n_short;

static void
check_little(const struct test_switch *s, const struct mempools_info *info)
{
    size_t used[N_NODES] = { 0 };
    size_t n_was_up = 0, n_is_up = 0;

    for (size_t i = 0; i < s->n; i++) {
        n_was_up += s->ports[i].was_up;
        n_is_up += s->ports[i].is_up;
    }
    for (size_t i = 0; i < info->n; i++) {
        const struct mempool_info *pool = &info->pools[i];

        used[pool->numa_id] += DPDK_MEMPOOL_OVERHEAD + size_of(pool);
        check(s, used[pool->numa_id] <= s->memory[pool->numa_id],
              "pools take memory that isn't there");
        n_short += n_mbufs(pool) < pool->target;
    }
    if (n_was_up == s->n) {
        check(s, n_is_up == s->n || !s->grows,
              "not all ports come up, as they do unpatched");
        n_complete++;
        n_lost += n_is_up < s->n;
    } else {
        n_incomplete++;
        n_fewer += n_is_up < n_was_up;
        n_more += n_is_up > n_was_up;
    }
}

/* However a switch is configured, and however much memory it has:
 *
 *   - If its ports all come up with unpatched Open vSwitch, they come up,
 *     except in rare cases with drivers for which pools don't grow.  If they
 *     don't all come up with it, it is rare that fewer do.
 *
 *   - With plenty of memory, pools take no more than those of unpatched Open
 *     vSwitch, except where these would have too few mbufs, or where ports
 *     need a pool beside others to start.  Those that grow have all that ports
 *     can hold, or as much as unpatched.
 *
 *   - With little memory, no pool that grows has more than twice what it
 *     leaves free, unless its ports need that to start. */
static void
test_properties(struct ovs_cmdl_context *ctx)
{
    int first = ctx->argc > 1 ? atoi(ctx->argv[1]) : 20001;
    int last = ctx->argc > 1 ? first : 40000;
    struct test_switch *s = xmalloc(sizeof *s);

    for (int seed = first; seed <= last; seed++) {
        struct mempools_info info = { .n = 0 };
        struct mempools *mempools;

        random_set_seed(seed);
        s->seed = seed;
        random_switch(s, seed % 2);
        bring_up_unpatched(s);
        mempools = mempools_model_create(&s->model);
        for (size_t i = 0; i < s->n + 3; i++) {
            struct mempools_info then = info;

            if (i < s->n) {
                s->ports[i].is_up = !mempools_model_add(mempools,
                                                        &s->ports[i].needs);
            } else {
                mempools_model_run(mempools);
            }
            mempools_model_get_info(mempools, &info);
            if (s->grows && !s->per_port && !any_beside(&info)) {
                check_growth(s, &then, &info);
            }
            mempools_info_free(&then);
        }
        (seed % 2 ? check_plenty : check_little)(s, &info);
        mempools_info_free(&info);
        mempools_model_destroy(mempools);
        smap_destroy(&s->other_config);
    }
    free(s);

    printf("plenty of memory: %d, less taken: %d, more: %d, limited pools: %d"
           "\nlittle: complete unpatched: %d, not here: %d, incomplete "
           "unpatched: %d, fewer ports here: %d, more: %d, short pools: %d\n",
           n_plenty, n_less, n_beside, n_limited, n_complete, n_lost,
           n_incomplete, n_fewer, n_more, n_short);
    fflush(stdout);
    if (first < last) {
        ovs_assert(n_beside <= n_plenty / 200);
        ovs_assert(n_lost <= n_complete / 500);
        ovs_assert(n_fewer <= n_incomplete / 100);

        /* The cases that matter did occur. */
        ovs_assert(n_less > 5000 && n_limited > 5000 && n_short > 5000
                   && n_complete > 3000 && n_more > 3000);
    }
}

/* Prints the pools of 'n_ports' ports, and what they take. */
static void
print_example(const char *title, int n_ports, int mtu, int n_rxq, int n_pmds,
              const char *driver, const char *key, const char *value)
{
    struct smap other_config = SMAP_CONST1(&other_config, key, value);
    const struct mempools_model model = {
        .n_threads = n_pmds + 1,
        .other_config = &other_config,
        .mbufs_size = dpdk_mbufs_size_va,
        .grows = true,
    };
    struct mempool_needs needs = nic(mtu, n_rxq, 2048, 2048);
    struct mempools *mempools = mempools_model_create(&model);
    struct mempools_info info;
    size_t size = 0;

    needs.n_txq = n_pmds + 1;
    dpdk_driver_apply(driver, NULL, &needs);
    for (int i = 0; i < n_ports; i++) {
        ovs_assert(!mempools_model_add(mempools, &needs));
    }
    mempools_model_get_info(mempools, &info);
    printf("%s:", title);
    for (size_t i = 0; i < info.n; i++) {
        printf("%s %"PRIu64, i ? " +" : "", n_mbufs(&info.pools[i]));
        size += size_of(&info.pools[i]);
    }
    printf(" mbufs of %d bytes, %.1f MB\n", info.pools[0].buffer_size,
           size / 1e6);
    mempools_info_free(&info);
    mempools_model_destroy(mempools);
}

static void
test_examples(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    static const char i40e[] = "net_i40e", mlx5[] = "mlx5_pci";

    print_example("1 port", 1, 9000, 1, 1, i40e, "", "");
    print_example("4 ports", 4, 9000, 1, 1, i40e, "", "");
    print_example("12 ports", 12, 9000, 1, 1, i40e, "", "");
    print_example("7 ports, 4 rxq, 16 PMDs", 7, 9000, 4, 16, i40e, "", "");
    print_example("64 ports, 16 PMDs", 64, 1500, 1, 16, i40e, "", "");
    print_example("64 ports with more rings than mbufs unpatched", 64, 68, 1,
                  1, i40e, "", "");
    print_example("20 % headroom", 1, 9000, 1, 1, i40e,
                  "mempool-headroom", "20");
    print_example("64 ports, 16 PMDs, 20 % headroom", 64, 1500, 1, 16, i40e,
                  "mempool-headroom", "20");
    print_example("4 ports, per-port-memory", 4, 4500, 1, 8, i40e,
                  "per-port-memory", "true");
    print_example("MTU 1500, shared-mempool-config", 1, 1500, 1, 1, i40e,
                  "shared-mempool-config", "9000");
    print_example("1 port, mlx5", 1, 9000, 1, 1, mlx5, "", "");
    print_example("4 ports, mlx5", 4, 9000, 1, 1, mlx5, "", "");
    print_example("12 ports, mlx5", 12, 9000, 1, 1, mlx5, "", "");
    print_example("64 ports, 16 PMDs, mlx5", 64, 1500, 1, 16, mlx5, "", "");
    print_example("4 ports, per-port-memory, mlx5", 4, 4500, 1, 8, mlx5,
                  "per-port-memory", "true");
}

/* Known, stacked, and unknown drivers. */
static void
test_drivers(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    static const char *const tests[][2] = {
        { "net_null", NULL },
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
        const char *name = tests[i][0], *devargs = tests[i][1];
        struct mempool_needs needs = nic(9000, 1, 2048, 0);

        dpdk_driver_apply(name, devargs, &needs);
        printf("%s %s: %s, fills %"PRIu64"%s\n", name, devargs ? devargs : "",
               mempool_needs_grow(&needs) ? "grows" : "doesn't grow",
               mempool_needs_filled(&needs),
               !dpdk_driver_is_known(name) ? ", unknown"
               : dpdk_driver_changes_mtu(name) ? ", MTU while running" : "");
    }
}

/* DPDK's allocations for mempools pass through here, so that they can be made
 * to fail: these functions replace those of DPDK's shared libraries.  They are
 * weak, since those of static libraries replace them. */

static unsigned int fault;      /* Allocations up to the one to fail, or 0. */
static bool fault_lasts;        /* Later ones fail, too. */
static bool fault_hit;          /* One has failed. */
static bool interposed;         /* These functions are in use. */

static bool
must_fail(void)
{
    interposed = true;
    if (!fault || --fault) {
        return false;
    }
    fault = fault_lasts;
    fault_hit = true;
    rte_errno = ENOMEM;
    return true;
}

#define INTERPOSE(TYPE, FUNCTION, PARAMETERS, ...)                          \
    __attribute__((weak)) TYPE                                              \
    FUNCTION PARAMETERS                                                     \
    {                                                                       \
        TYPE (*real) PARAMETERS = dlsym(RTLD_NEXT, #FUNCTION);              \
                                                                            \
        return must_fail() ? NULL : real(__VA_ARGS__);                      \
    }

INTERPOSE(void *, rte_zmalloc,
          (const char *type, size_t size, unsigned int align),
          type, size, align)
INTERPOSE(void *, rte_malloc_socket,
          (const char *type, size_t size, unsigned int align, int numa_id),
          type, size, align, numa_id)
INTERPOSE(const struct rte_memzone *, rte_memzone_reserve,
          (const char *name, size_t len, int numa_id, unsigned int flags),
          name, len, numa_id, flags)
INTERPOSE(const struct rte_memzone *, rte_memzone_reserve_aligned,
          (const char *name, size_t len, int numa_id, unsigned int flags,
           unsigned int align),
          name, len, numa_id, flags, align)

/* Ports of a real switch. */

static char netdev_name[] = "port";
static struct netdev netdev = { .name = netdev_name }; /* Of all ports. */

/* Returns true if a port was asked to reconfigure since the last call. */
static bool
netdev_was_asked(void)
{
    uint64_t last = netdev.last_reconfigure_seq;

    netdev.last_reconfigure_seq = seq_read(netdev.reconfigure_seq);
    return netdev.last_reconfigure_seq != last;
}

/* Starts DPDK with 'mb' MB of memory, and with 'arg' unless that is NULL. */
static void
start_dpdk(int mb, const char *arg)
{
    test_start_dpdk_with(mb, arg);
    netdev.reconfigure_seq = seq_create();
    netdev_was_asked();
}

/* Returns the bytes that DPDK has free. */
static size_t
free_memory(void)
{
    struct rte_malloc_socket_stats stats;

    ovs_assert(!rte_malloc_get_socket_stats(0, &stats));
    return stats.heap_freesz_bytes;
}

/* Takes all memory but 'mb' MB of its greatest piece. */
static void *
leave_memory(int mb)
{
    struct rte_malloc_socket_stats stats;
    void *filler;

    ovs_assert(!rte_malloc_get_socket_stats(0, &stats));
    filler = rte_malloc(NULL, stats.greatest_free_size - (mb << 20), 0);
    ovs_assert(filler);
    return filler;
}

static struct rte_mempool *
prepare(struct mempool_port *port, struct mempool_needs needs)
{
    char *error;

    if (mempool_port_prepare(port, &netdev, &needs, &error)) {
        ovs_fatal(0, "%s", error);
    }
    return mempool_port_prepared(port);
}

/* Gives 'port' what it needs, and returns its mempool. */
static struct rte_mempool *
set_up(struct mempool_port *port, struct mempool_needs needs)
{
    struct rte_mempool *mp = prepare(port, needs);

    mempool_port_commit(port);
    ovs_assert(mempool_port_get(port) == mp);
    return mp;
}

/* 'port' can't get 'needs', for lack of memory, and nothing changes. */
static void
set_up_in_vain(struct mempool_port *port, struct mempool_needs needs)
{
    struct rte_mempool *mp = mempool_port_get(port);
    size_t memory = free_memory();
    char *available, *error;
    int needed;

    ovs_assert(mempool_port_prepare(port, &netdev, &needs, &error) == ENOBUFS);
    ovs_assert(mempool_port_prepared(port) == mp);
    ovs_assert(free_memory() == memory);

    available = xasprintf("where %.1f MB is free", memory / 1e6);
    ovs_assert(ovs_scan(error, "%d.%*d MB of memory for mbufs is needed on "
                        "NUMA node 0, ", &needed));
    ovs_assert(needed >= (int) (memory / 1000000));
    ovs_assert(strstr(error, available));
    free(available);
    free(error);
}

/* Destroys 'port', which gives back what it had and can be used again. */
static void
destroy(struct mempool_port *port)
{
    mempool_port_destroy(port);
    mempools_run();
    memset(port, 0, sizeof *port);
}

static size_t
n_pools(void)
{
    struct mempools_info info;
    size_t n;

    mempools_get_info(NULL, &info);
    n = info.n;
    mempools_info_free(&info);
    return n;
}

static struct mempool_info
info_of(const struct mempool_port *port)
{
    struct mempool_info info;

    ovs_assert(mempool_port_get_info(port, &info));
    return info;
}

/* Returns true if 'mp' has exactly what is demanded without IP fragments. */
static bool
has(const struct rte_mempool *mp, uint64_t n_rxq, uint64_t rx_descs,
    uint64_t tx_descs, uint64_t n_threads)
{
    const struct mempool_demand_input in = {
        .n_rxq = n_rxq, .rx_descs = rx_descs, .tx_descs = tx_descs,
        .n_threads = n_threads, .cache_max = dpdk_cache_max(),
    };

    return mp->populated_size == mempool_demand(&in).total;
}

/* Takes 'n' mbufs out of the ring of 'mp', bypassing any cache. */
static struct rte_mbuf **
take(struct rte_mempool *mp, unsigned int n)
{
    struct rte_mbuf **mbufs = xcalloc(n, sizeof *mbufs);

    ovs_assert(!n || !rte_mempool_generic_get(mp, (void **) mbufs, n, NULL));
    return mbufs;
}

static void
put(struct rte_mempool *mp, struct rte_mbuf **mbufs, unsigned int n)
{
    rte_mempool_generic_put(mp, (void **) mbufs, n, NULL);
    free(mbufs);
}

static unsigned int
in_ring(const struct rte_mempool *mp)
{
    return rte_mempool_get_ops(mp->ops_index)->get_count(mp);
}

/* Receives a burst, or fails to do so, like a thread that has no cache. */
static bool
can_receive(struct rte_mempool *mp)
{
    struct rte_mbuf *mbufs[MEMPOOL_BURST];

    ovs_assert(rte_lcore_id() == LCORE_ID_ANY);
    if (rte_pktmbuf_alloc_bulk(mp, mbufs, MEMPOOL_BURST)) {
        return false;
    }
    rte_pktmbuf_free_bulk(mbufs, MEMPOOL_BURST);
    return true;
}

/* "enough". */

#define N_LCORES 2

/* Makes the cache of 'mp' for 'lcore' as full as possible: with one more mbuf,
 * it would be flushed, from DPDK 26.07 on by half. */
static void
fill_cache(struct rte_mempool *mp, unsigned int lcore)
{
    RTE_PER_LCORE(_lcore_id) = lcore;
    for (unsigned int n = dpdk_cache_max() + 1; n >= dpdk_cache_max(); n--) {
        struct rte_mbuf **mbufs;

        rte_mempool_cache_flush(NULL, mp);
        mbufs = take(mp, n);
        for (int i = 0; i < n; i++) {
            rte_pktmbuf_free(mbufs[i]);
        }
        free(mbufs);
        ovs_assert(rte_mempool_default_cache(mp, lcore)->len
                   == (n == dpdk_cache_max() ? n
                       : n > DPDK_CACHE_SIZE + 1 ? 1
                       : DPDK_CACHE_SIZE / 2 + 1));
    }
    RTE_PER_LCORE(_lcore_id) = LCORE_ID_ANY;
}

/* Checks that with its caches full, 'mp' has just what is demanded. */
static void
check_enough(struct rte_mempool *mp, const struct mempool_demand_input *in)
{
    const struct mempool_demand d = mempool_demand(in);
    struct rte_mbuf **held[MEMPOOL_DEMAND_N_TERMS];
    unsigned int places[MEMPOOL_DEMAND_N_TERMS];
    struct rte_mbuf **more;

    for (int i = 0; i < N_LCORES; i++) {
        fill_cache(mp, i);
    }
    ovs_assert(mp->populated_size == d.total);
    ovs_assert(in_ring(mp) == d.total - d.terms[MEMPOOL_DEMAND_CACHES]);

    /* Besides caches, mbufs are wherever they can be, except for the burst
     * that is to be received. */
    for (int t = 0; t < MEMPOOL_DEMAND_N_TERMS; t++) {
        ovs_assert(d.terms[t] >= MEMPOOL_BURST);
        places[t] = t == MEMPOOL_DEMAND_CACHES ? 0
                    : t == MEMPOOL_DEMAND_BURSTS ? d.terms[t] - MEMPOOL_BURST
                    : d.terms[t];
        held[t] = take(mp, places[t]);
        ovs_assert(can_receive(mp));
    }

    /* With one mbuf more somewhere, it can't be received. */
    more = take(mp, 1);
    ovs_assert(!can_receive(mp));
    put(mp, more, 1);
    for (int t = 0; t < MEMPOOL_DEMAND_N_TERMS; t++) {
        put(mp, held[t], places[t]);
    }
}

/* A port can receive wherever the mbufs are. */
static void
test_enough(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_demand_input in = {
        .n_rxq = 1 + 2,
        .rx_descs = 512 + 2 * 256,
        .tx_descs = 512 + 128 + 64,
        .n_threads = 1 + N_LCORES,
        .cache_max = dpdk_cache_max(),
        .flush_interval = 3,
        .max_frags = 1000,
        .headroom = 20,
    };
    struct smap config = SMAP_CONST1(&config, "mempool-headroom", "20");
    struct mempool_port ports[4] = { { .netdev = NULL } };
    struct rte_mempool *mp, *other_mp;

    start_dpdk(96, NULL);
    mempools_configure(&config);
    mempool_set_flush_interval(3);
    set_up(&ports[0], nic(1500, 1, 512, 512));
    set_up(&ports[1], nic(1500, 2, 256, 128));
    mp = set_up(&ports[2], guest(1500, false));
    other_mp = set_up(&ports[3], nic(3000, 1, 64, 64));
    for (int i = 0; i < N_LCORES; i++) {
        mempool_thread_add();
    }

    /* With the first IP fragment, mempools_run() is called at once. */
    mempools_run();
    mempool_frags_in_use();
    time_alarm(10);
    mempools_wait(60);
    mempools_run();

    check_enough(mp, &in);
    in.n_rxq = 1;
    in.rx_descs = 64;
    check_enough(other_mp, &in);

    /* The caches of threads that are gone hold nothing. */
    for (int i = 0; i < N_LCORES; i++) {
        RTE_PER_LCORE(_lcore_id) = i;
        mempool_thread_remove();
    }
    ovs_assert(in_ring(mp) == mp->populated_size);
    ovs_assert(in_ring(other_mp) == other_mp->populated_size);
}

/* "grow". */

#define N_WORKERS 3
#ifdef __SANITIZE_THREAD__
#define GROW_PORTS 100
#else
#define GROW_PORTS 300
#endif
#define MAX_HELD (1 << 16)

/* Returns the owner of 'mbuf', 0 for none, which is a part of it that DPDK
 * doesn't use. */
static atomic_uint32_t *
owner(struct rte_mbuf *mbuf)
{
    return (atomic_uint32_t *) mbuf->dynfield1;
}

/* Returns the first or last bytes of the buffer of 'mbuf'. */
static const struct rte_mbuf **
buffer(struct rte_mbuf *mbuf, bool end)
{
    return RTE_PTR_ADD(mbuf->buf_addr, end ? mbuf->buf_len - sizeof mbuf : 0);
}

/* Makes 'id' the owner of 'mbuf', which must be as it was in 'mp'. */
static void
own(struct rte_mempool *mp, struct rte_mbuf *mbuf, uint32_t id)
{
    uint32_t nobody = 0;

    ovs_assert(atomic_compare_exchange_strong(owner(mbuf), &nobody, id));
    ovs_assert(mbuf->pool == mp);
    ovs_assert(mbuf->buf_addr == rte_mbuf_to_baddr(mbuf));
    ovs_assert(mbuf->priv_size == rte_pktmbuf_priv_size(mp));
    ovs_assert(mbuf->buf_len == dpdk_data_room(1500));
    ovs_assert(mbuf->data_off == RTE_PKTMBUF_HEADROOM);
    ovs_assert(rte_mbuf_refcnt_read(mbuf) == 1);
    ovs_assert(mbuf->nb_segs == 1 && !mbuf->next);
    ovs_assert(((struct dp_packet *) mbuf)->source == DPBUF_DPDK);
    *buffer(mbuf, false) = *buffer(mbuf, true) = mbuf;
}

static void
disown(struct rte_mbuf *mbuf, uint32_t id)
{
    ovs_assert(*buffer(mbuf, false) == mbuf && *buffer(mbuf, true) == mbuf);
    ovs_assert(atomic_compare_exchange_strong(owner(mbuf), &id, 0));
}

struct worker {
    pthread_t thread;
    uint32_t id;
    struct rte_mempool *mp;
    atomic_count n_bursts;
    atomic_bool stop;
};

/* Takes bursts from the pool as drivers do, as long as there are mbufs, frees
 * some of them, and so on. */
static void *
worker_main(void *w_)
{
    struct worker *w = w_;
    struct rte_mbuf **held = xcalloc(MAX_HELD, sizeof *held);
    int n_held = 0;
    bool stop;

    random_set_seed(w->id);
    ovs_assert(!rte_thread_register());
    do {
        int n_to_free = random_range(MAX_HELD);
        int n = 1 << random_range(7);

        atomic_read(&w->stop, &stop);
        while (n_held + n <= MAX_HELD
               && !rte_mempool_get_bulk(w->mp, (void **) &held[n_held], n)) {
            for (int i = 0; i < n; i++) {
                own(w->mp, held[n_held++], w->id);
            }
            atomic_count_inc(&w->n_bursts);

            /* A thread that loses its CPU while it uses the ring blocks all
             * others, so it had better lose it here. */
            sched_yield();
        }
        while (n_held && (stop || n_to_free-- > 0)) {
            disown(held[--n_held], w->id);
            rte_pktmbuf_free(held[n_held]);
            if (!(n_held % 64)) {
                sched_yield();
            }
        }
    } while (!stop);
    free(held);
    mempool_thread_remove();
    rte_thread_unregister();
    return NULL;
}

/* Checks that to DPDK's functions, the mempool of 'port', all of whose mbufs
 * are there, is one that has always had its size. */
static void
check_ordinary(const struct mempool_port *port)
{
    struct rte_mempool *mp = mempool_port_get(port);
    unsigned int n = mp->populated_size;
    char *sizes = xasprintf("  size=%u\n  populated_size=%u\n", n, n);
    struct rte_mbuf **all;
    char *dump;
    size_t size;
    FILE *file;

    ovs_assert(mp->size == n && in_ring(mp) == n);
    ovs_assert(rte_mempool_full(mp) && !rte_mempool_in_use_count(mp));
    ovs_assert(rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL) == n);
    all = take(mp, n);
    ovs_assert(rte_mempool_empty(mp) && rte_mempool_in_use_count(mp) == n);
    put(mp, all, n);
    rte_mempool_audit(mp);

    file = open_memstream(&dump, &size);
    mempools_dump(file, port);
    fclose(file);
    ovs_assert(strstr(dump, sizes));
    free(dump);
    free(sizes);
}

/* While a pool grows, every mbuf taken from it is initialized and has one
 * owner.  In the end, all mbufs are there. */
static void
test_grow(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_port *ports = xcalloc(GROW_PORTS, sizeof *ports);
    const struct mempool_needs needs = nic(1500, 1, 32, 0);
    struct worker workers[N_WORKERS];
    struct rte_mempool *mp;
    struct rte_mbuf **all;
    size_t memory;

    start_dpdk(256, NULL);
    memory = free_memory();
    mp = set_up(&ports[0], needs);
    for (int i = 0; i < N_WORKERS; i++) {
        struct worker *w = &workers[i];

        *w = (struct worker) { .id = 1 + i, .mp = mp };
        mempool_thread_add();
        /* ovs_thread_create() contends for OVS's mutexes.  ThreadSanitizer
         * reports that: where they were locked is read without a lock. */
        ovs_assert(!pthread_create(&w->thread, NULL, worker_main, w));
    }

    for (int i = 1; i < GROW_PORTS; i++) {
        uint32_t size = mp->populated_size;
        unsigned int n_bursts[N_WORKERS];

        for (int j = 0; j < N_WORKERS; j++) {
            n_bursts[j] = atomic_count_get(&workers[j].n_bursts);
        }
        ovs_assert(set_up(&ports[i], needs) == mp);
        ovs_assert(mp->populated_size > size);

        /* Workers go on, whether they had the CPU meanwhile or not. */
        for (int j = 0; j < N_WORKERS; j++) {
            while (atomic_count_get(&workers[j].n_bursts) == n_bursts[j]) {
                sched_yield();
            }
        }
    }
    ovs_assert(has(mp, GROW_PORTS, 32 * GROW_PORTS, 0, 1 + N_WORKERS));

    /* One after the other, since they take a mutex when they end. */
    for (int i = 0; i < N_WORKERS; i++) {
        atomic_store(&workers[i].stop, true);
        xpthread_join(workers[i].thread, NULL);
    }

    all = take(mp, mp->populated_size);
    for (int i = 0; i < mp->populated_size; i++) {
        own(mp, all[i], 1);
    }
    for (int i = 0; i < mp->populated_size; i++) {
        disown(all[i], 1);
    }
    put(mp, all, mp->populated_size);
    check_ordinary(&ports[0]);
    for (int i = 0; i < GROW_PORTS; i++) {
        destroy(&ports[i]);
    }
    ovs_assert(free_memory() == memory);
}

/* All memory comes back, whatever ports do. */
static void
test_leak(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port b = { .netdev = NULL };
    size_t memory;

    start_dpdk(64, NULL);
    memory = free_memory();
    for (int i = 0; i < 200; i++) {
        int mtu = DPDK_MIN_MTU + i * (9700 - DPDK_MIN_MTU) / 199;

        set_up(&a, nic(mtu, 1, 32, 32));
        prepare(&a, nic(9768 - mtu, 2, 64, 64));
        if (i % 3 == 1) {
            mempool_port_commit(&a);
        } else if (i % 3 == 2) {
            mempool_port_cancel(&a);
            ovs_assert(n_pools() == 1);
        }
        destroy(&a);
        ovs_assert(free_memory() == memory);
    }

    /* A port keeps what it has and what it was prepared for last. */
    set_up(&a, nic(1500, 1, 32, 32));
    set_up(&b, nic(1500, 1, 32, 32));
    prepare(&b, nic(3000, 1, 32, 32));
    prepare(&b, nic(9000, 1, 32, 32));
    ovs_assert(n_pools() == 2);
    ovs_assert(set_up(&b, nic(1500, 1, 32, 32)) == mempool_port_get(&a));
    ovs_assert(n_pools() == 1);
    destroy(&a);
    destroy(&b);
    ovs_assert(free_memory() == memory);

    /* Memory comes back when all mbufs are back, whether the port is destroyed
     * or changes. */
    for (int i = 0; i < 2; i++) {
        struct rte_mbuf **mbufs = take(set_up(&a, nic(1500, 1, 32, 32)), 1);

        if (i) {
            set_up(&a, nic(3000, 1, 32, 32));
        }
        destroy(&a);
        rte_pktmbuf_free(mbufs[0]);
        ovs_assert(free_memory() < memory);
        mempools_run();
        ovs_assert(free_memory() == memory);
        free(mbufs);
    }
}

/* A pool takes the memory that it is expected to take, also if its mbufs are
 * larger than a page. */
static void
test_size(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    static const int mtus[] = { 1500, 3000, 9000, 9702 };

    start_dpdk(512, NULL);
    for (int i = 0; i < 2 * ARRAY_SIZE(mtus); i++) {
        int mtu = mtus[i / 2];
        bool grows = i % 2;
        size_t memory = free_memory();
        struct mempool_port port = { .netdev = NULL };
        struct rte_mempool *mp;
        size_t expected, taken;

        mp = set_up(&port, (grows ? nic : fixed_nic)(mtu, 1, 2048, 2048));
        taken = memory - free_memory();
        expected = dpdk_mbufs_size(dpdk_buffer_size(mtu), grows,
                                   mp->populated_size);
        ovs_assert(info_of(&port).size == expected && taken >= expected);
        ovs_assert(taken <= expected + DPDK_MEMPOOL_OVERHEAD * 3 / 2);
        destroy(&port);
        ovs_assert(free_memory() == memory);
    }
}

/* DPDK takes no more from the system than the arguments of its EAL allow. */
static void
test_allowed(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct svec args = SVEC_EMPTY_INITIALIZER;

    svec_add(&args, "ovs");
    dpdk_memory_set_eal_args(&args);
    ovs_assert(dpdk_memory_allowed(0, 1000 << 20) == SIZE_MAX);

    svec_add(&args, "--socket-limit");
    svec_add(&args, "512,0");
    dpdk_memory_set_eal_args(&args);
    ovs_assert(dpdk_memory_allowed(0, 0) == 512 << 20);
    ovs_assert(dpdk_memory_allowed(0, 500 << 20) == 12 << 20);
    ovs_assert(dpdk_memory_allowed(0, 600 << 20) == 0);
    ovs_assert(dpdk_memory_allowed(1, 600 << 20) == SIZE_MAX);
    ovs_assert(dpdk_memory_allowed(2, 600 << 20) == SIZE_MAX);

    svec_add(&args, "--socket-limit=0,64");
    dpdk_memory_set_eal_args(&args);
    ovs_assert(dpdk_memory_allowed(0, 600 << 20) == SIZE_MAX);
    ovs_assert(dpdk_memory_allowed(1, 0) == 64 << 20);

    svec_add(&args, "--legacy-mem");
    dpdk_memory_set_eal_args(&args);
    ovs_assert(dpdk_memory_allowed(0, 0) == 0);
    ovs_assert(dpdk_memory_allowed(1, 0) == 0);
    svec_destroy(&args);
}

/* With too little memory, only what a port can't start without is refused;
 * otherwise it gets what there is, until there is more. */
static void
test_short(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const struct mempool_needs small = nic(1500, 1, 256, 256);
    const struct mempool_needs large = nic(9000, 1, 1024, 4096);
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port b = { .netdev = NULL };
    struct mempool_port c = { .netdev = NULL };
    struct mempool_port d = { .netdev = NULL };
    struct rte_mempool *mp, *large_mp;
    void *filler, *rest;

    start_dpdk(192, NULL);
    mp = set_up(&a, small);
    ovs_assert(has(mp, 1, 256, 256, 1));

    /* A request with which a port, new or not, couldn't start. */
    filler = leave_memory(64);
    set_up_in_vain(&c, nic(9000, 1, 8192, 256));
    set_up_in_vain(&c, nic(1500, 1, 32768, 256));
    ovs_assert(!c.netdev);
    set_up_in_vain(&a, nic(9000, 1, 8192, 256));
    set_up_in_vain(&a, nic(1500, 1, 32768, 256));
    ovs_assert(set_up(&a, small) == mp);

    /* A guest that is yet to connect has a promise. */
    ovs_assert(!set_up(&c, guest(9702, true)));

    /* A port that can start gets what there is, but no more than twice what it
     * leaves free. */
    large_mp = set_up(&b, large);
    ovs_assert(info_of(&b).n_missing && can_receive(large_mp));
    ovs_assert(info_of(&b).size >= free_memory());
    ovs_assert(info_of(&b).size <= 2 * free_memory());
    ovs_assert(set_up(&c, guest(9702, false)));
    ovs_assert(!set_up(&c, guest(3000, true)));

    /* Threads and fragments are never refused. */
    for (int i = 0; i < 20; i++) {
        mempool_thread_add();
    }
    ovs_assert(set_up(&a, small) == mp);
    ovs_assert(info_of(&a).n_missing && can_receive(mp));
    for (int i = 0; i < 20; i++) {
        mempool_thread_remove();
    }

    /* Without any memory, a guest that is yet to connect gets no promise, and
     * one that had one waits, unless it can share a pool. */
    rest = leave_memory(1);
    set_up_in_vain(&d, guest(9702, true));
    ovs_assert(!d.netdev);
    ovs_assert(!set_up(&d, guest(1500, true)));
    ovs_assert(set_up(&d, guest(1500, false)) == mp);
    set_up_in_vain(&c, guest(3000, false));
    mempools_run();
    ovs_assert(!netdev_was_asked());

    /* Another MTU may fail, but not a lower one that fills no more. */
    set_up_in_vain(&b, nic(9702, 1, 1024, 4096));
    set_up_in_vain(&b, nic(3000, 1, 8192, 4096));
    ovs_assert(set_up(&b, nic(3000, 1, 1024, 4096)) == large_mp);
    ovs_assert(can_receive(large_mp));
    set_up(&b, large);

    /* When there is memory again, all get what they need. */
    rte_free(filler);
    rte_free(rest);
    mempools_run();
    ovs_assert(!info_of(&a).n_missing && has(large_mp, 1, 1024, 4352, 1));
    ovs_assert(netdev_was_asked());
    ovs_assert(set_up(&c, guest(3000, false)));
}

/* How few mbufs were free is known, though they are back later. */
static void
test_lowest(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const unsigned int taken[] = { 100, 50, 1000, 999, 2113 };
    struct mempool_port port = { .netdev = NULL };
    unsigned int most = 0;
    struct rte_mempool *mp;

    start_dpdk(64, NULL);
    mp = set_up(&port, nic(1500, 1, 1024, 1024));
    for (int i = 0; i < ARRAY_SIZE(taken); i++) {
        struct rte_mbuf **mbufs = take(mp, taken[i]);

        /* The last time, a warning is logged, but only once. */
        mempools_run();
        mempools_run();
        put(mp, mbufs, taken[i]);
        most = MAX(most, taken[i]);
        ovs_assert(info_of(&port).lowest == mp->populated_size - most);
    }

    /* What was before a pool has grown doesn't count. */
    set_up(&port, nic(1500, 1, 2048, 1024));
    ovs_assert(info_of(&port).lowest == mp->populated_size);
}

/* With a driver for which pools don't grow. */
static void
test_fixed(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port b = { .netdev = NULL };
    struct mempool_port c = { .netdev = NULL };
    struct mempool_port d = { .netdev = NULL };
    struct mempool_port v = { .netdev = NULL };
    struct rte_mempool *growing, *fixed, *larger;

    start_dpdk(512, NULL);
    growing = set_up(&a, nic(1500, 1, 64, 64));
    ovs_assert(set_up(&v, guest(1500, false)) == growing);
    ovs_assert(has(growing, 1, 64, 64, 1));

    /* It gets a pool beside the first one.  A guest's port moves there while
     * it runs, since the first one is too small now. */
    fixed = set_up(&b, fixed_nic(1500, 1, 64, 2048));
    ovs_assert(fixed != growing && fixed->populated_size == 16384);
    ovs_assert(mempool_port_get(&a) == growing);
    ovs_assert(mempool_port_get(&v) == fixed);
    ovs_assert(has(growing, 1, 64, 64, 1) && info_of(&a).n_missing);
    ovs_assert(set_up(&c, nic(1500, 1, 64, 64)) == fixed);

    /* Another port gets another pool if that is too small, and so does the
     * guest's port, but no other. */
    larger = set_up(&d, fixed_nic(1500, 1, 64, 20000));
    ovs_assert(larger != fixed && larger->populated_size == 32768);
    ovs_assert(mempool_port_get(&a) == growing);
    ovs_assert(mempool_port_get(&b) == fixed);
    ovs_assert(mempool_port_get(&c) == fixed);
    ovs_assert(mempool_port_get(&v) == larger);

    /* Until it is reconfigured for a reason of its own. */
    ovs_assert(set_up(&c, nic(1500, 1, 128, 64)) == larger);
    ovs_assert(!netdev_was_asked());

    /* The first pool grows again when no port stands in its way. */
    destroy(&b);
    destroy(&d);
    ovs_assert(has(growing, 1, 64, 128, 1));

    /* What the guest's port has left stays for threads that may use it. */
    ovs_assert(n_pools() == 3);
    for (int i = 0; n_pools() != 2; i++) {
        ovs_assert(i < 10000);
        ovsrcu_quiesce();
        usleep(1000);
    }
    ovs_assert(mempool_port_get(&v) == larger);
}

/* Pools grow the same with any mempool operations that don't lay out mbufs,
 * however many there are. */
static void
test_ops(struct ovs_cmdl_context *ctx)
{
    const char *name = ctx->argv[1];
    char *arg = xasprintf("--mbuf-pool-ops-name=%s", name);
    struct mempool_port ports[8] = { { .netdev = NULL } };
    struct mempool_port port = { .netdev = NULL };
    struct rte_mempool_ops ops = { .name = "" };
    struct rte_mempool *mp;

    start_dpdk(128, !strcmp(name, "full") ? NULL : arg);
    free(arg);
    for (int i = 0; strcmp(ops.name, "ring_mp_mc"); i++) {
        ops = *rte_mempool_get_ops(i);
    }
    if (!strcmp(name, "layout")) {
        ovs_strlcpy(ops.name, name, sizeof ops.name);
        ops.populate = rte_mempool_op_populate_default;
        ovs_assert(rte_mempool_register_ops(&ops) >= 0);
    }
    for (int i = 0; !strcmp(name, "full"); i++) {
        snprintf(ops.name, sizeof ops.name, "dummy%d", i);
        if (rte_mempool_register_ops(&ops) < 0) {
            break;
        }
    }

    for (int i = 0; i < ARRAY_SIZE(ports); i++) {
        mp = set_up(&ports[i], nic(1500, 1, 128, 128));
        printf("%s%u", i ? " " : "", mp->populated_size);
        ovs_assert(mp == mempool_port_get(&ports[0]) && can_receive(mp));
    }
    printf(" %s\n", rte_mempool_get_ops(mp->ops_index)->name);
    check_ordinary(&ports[0]);
    set_up_in_vain(&port, nic(9000, 1, 32768, 128));
    for (int i = 0; i < ARRAY_SIZE(ports); i++) {
        destroy(&ports[i]);
    }
    ovs_assert(!n_pools());
}

/* Makes a port with 'needs' fail at its first allocation, at its second one,
 * and so on, until it makes no more.  If 'lasts', all later ones fail, too.
 * Returns how often it failed, or left pools incomplete. */
static int
check_faults(struct mempool_needs needs, bool lasts)
{
    const size_t start = free_memory();
    struct mempool_port port = { .netdev = NULL };
    struct mempool_port others[2] = { { .netdev = NULL } };
    int n_failed = 0;

    fault_lasts = lasts;
    fault_hit = true;
    for (int n = 1; fault_hit; n++) {
        struct rte_mempool *mps[2];
        bool incomplete = false;
        char *reason = NULL;
        size_t memory;
        int error;

        for (int i = 0; i < 2; i++) {
            mps[i] = set_up(&others[i], nic(1500 * (i + 1), 1, 64, 64));
        }
        memory = free_memory();
        fault_hit = false;
        fault = n;
        error = mempool_port_prepare(&port, &netdev, &needs, &reason);
        fault = 0;
        ovs_assert(fault_hit || !error);
        ovs_assert(!error == !reason);
        ovs_assert(!error == !!mempool_port_prepared(&port));
        ovs_assert(!error || free_memory() == memory);
        free(reason);
        for (int i = 0; i < 2; i++) {
            incomplete = incomplete || info_of(&others[i]).n_missing;
            ovs_assert(mempool_port_get(&others[i]) == mps[i]);
            ovs_assert(can_receive(mps[i]));
        }
        n_failed += error || incomplete;

        /* The same works later, and what is missing follows. */
        set_up(&port, needs);
        mempools_run();
        for (int i = 0; i < 2; i++) {
            ovs_assert(!info_of(&others[i]).n_missing
                       || !mempool_needs_grow(&needs));
            destroy(&others[i]);
        }
        destroy(&port);
        ovs_assert(free_memory() == start);
    }
    return n_failed;
}

/* A failed allocation fails what it is for, or leaves it incomplete until
 * there is memory. */
static void
test_fault(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const struct mempool_needs needs[] = {
        nic(9000, 1, 64, 64),       /* Gets a pool. */
        fixed_nic(1500, 1, 64, 64),
        nic(1500, 1, 64, 64),       /* Makes one pool grow. */
        nic(1500, 1, 64, 5000),     /* Makes all pools grow. */
    };
    struct mempool_port port = { .netdev = NULL };

    start_dpdk(160, NULL);
    set_up(&port, nic(1500, 0, 0, 0));
    destroy(&port);
    if (!interposed) {
        exit(77);       /* DPDK's libraries are static. */
    }
    for (int i = 0; i < ARRAY_SIZE(needs); i++) {
        check_faults(needs[i], false);
        ovs_assert(check_faults(needs[i], true) > 1);
    }
}

static void
test_headroom(struct ovs_cmdl_context *ctx)
{
    start_dpdk(64, NULL);
    for (int i = 1; i < ctx->argc; i++) {
        struct smap config = SMAP_CONST1(&config, "mempool-headroom",
                                         ctx->argv[i]);
        struct mempool_port port = { .netdev = NULL };

        mempools_configure(&config);
        printf("\"%s\": %"PRIu32" mbufs\n", ctx->argv[i],
               set_up(&port, nic(1500, 1, 64, 64))->populated_size);
        destroy(&port);
    }
}

/* "stall". */

#define STALL_MS 500            /* About what adding 100,000 mbufs takes. */

struct poller {
    struct rte_mempool *mp;
    int cpu;
    uint64_t longest;           /* In nanoseconds. */
    atomic_bool stop;
};

static void
pin_to(int cpu)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    ovs_assert(!pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus));
}

static uint64_t
thread_cpu_time(void)
{
    struct timespec now;

    ovs_assert(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* Takes bursts from the ring and puts them back, bypassing any cache.  Like a
 * PMD thread with a CPU to itself, it isn't preempted in between, but yields
 * now and then: the kernel preempts threads that don't.  What others do on its
 * CPU doesn't count. */
static void *
poller_main(void *poller_)
{
    const struct sched_param param = { .sched_priority = 1 };
    struct poller *p = poller_;
    bool stop = false;
    unsigned int n = 0;

    pin_to(p->cpu);
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param)) {
        ovs_fatal(0, "the right to use SCHED_FIFO is needed");
    }
    while (!stop) {
        void *mbufs[MEMPOOL_BURST];
        uint64_t start = thread_cpu_time();

        ovs_assert(!rte_mempool_ops_dequeue_bulk(p->mp, mbufs, MEMPOOL_BURST));
        rte_mempool_ops_enqueue_bulk(p->mp, mbufs, MEMPOOL_BURST);
        p->longest = MAX(p->longest, thread_cpu_time() - start);
        if (!(++n % 512)) {
            usleep(100);
        }
        atomic_read(&p->stop, &stop);
    }
    return NULL;
}

static void *
busy_main(void *cpu)
{
    pin_to(*(int *) cpu);
    for (;;) {
        continue;
    }
    return NULL;
}

/* Returns the longest time, in us, that a thread on 'cpu' that polls 'mp'
 * takes for an access while this thread adds 'n' mbufs or, if that is 0, is
 * busy for STALL_MS. */
static double
longest_access(struct rte_mempool *mp, int cpu, uint32_t n)
{
    struct poller poller = { .mp = mp, .cpu = cpu };
    pthread_t thread = ovs_thread_create("poller", poller_main, &poller);
    long long int end = time_msec() + STALL_MS;

    if (n) {
        ovs_assert(mempool_grow_add(mp, n, n) == n);
    } else {
        while (time_msec() < end) {
            continue;
        }
    }
    atomic_store(&poller.stop, true);
    xpthread_join(thread, NULL);
    return poller.longest / 1e3;
}

/* Shows how long a polling thread, with a CPU to itself, waits for the ring
 * while the main thread, which shares its CPU with two busy ones, adds mbufs,
 * and while it doesn't.  This depends on what else the machine does, so that
 * nothing is asserted. */
static void
test_stall(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_port port = { .netdev = NULL };
    struct rte_mempool *mp;
    int polling = -1;
    cpu_set_t set;
    int cpu = 0;

    ovs_assert(!pthread_getaffinity_np(pthread_self(), sizeof set, &set));
    if (CPU_COUNT(&set) < 2) {
        ovs_fatal(0, "two CPUs are needed");
    }
    for (; polling < 0 || !CPU_ISSET(cpu, &set); cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            polling = cpu;
        }
    }
    start_dpdk(512, NULL);
    mp = set_up(&port, nic(1500, 0, 0, 1024));
    ovs_thread_create("busy", busy_main, &cpu);
    ovs_thread_create("busy", busy_main, &cpu);
    pin_to(cpu);
    printf("the longest access took %.1f us", longest_access(mp, polling, 0));
    printf(", and %.1f us while mbufs were added\n",
           longest_access(mp, polling, 100000));
}

static const struct ovs_cmdl_command commands[] = {
    {"properties", "[seed]", 0, 1, test_properties, OVS_RO},
    {"examples", NULL, 0, 0, test_examples, OVS_RO},
    {"drivers", NULL, 0, 0, test_drivers, OVS_RO},
    {"enough", NULL, 0, 0, test_enough, OVS_RO},
    {"grow", NULL, 0, 0, test_grow, OVS_RO},
    {"leak", NULL, 0, 0, test_leak, OVS_RO},
    {"size", NULL, 0, 0, test_size, OVS_RO},
    {"allowed", NULL, 0, 0, test_allowed, OVS_RO},
    {"short", NULL, 0, 0, test_short, OVS_RO},
    {"lowest", NULL, 0, 0, test_lowest, OVS_RO},
    {"fixed", NULL, 0, 0, test_fixed, OVS_RO},
    {"ops", "name", 1, 1, test_ops, OVS_RO},
    {"fault", NULL, 0, 0, test_fault, OVS_RO},
    {"headroom", "value...", 1, INT_MAX, test_headroom, OVS_RO},
    {"stall", NULL, 0, 0, test_stall, OVS_RO},
    {NULL, NULL, 0, 0, NULL, OVS_RO},
};

static void
test_dpdk_mempool_main(int argc, char *argv[])
{
    struct ovs_cmdl_context ctx = {
        .argc = argc - 1,
        .argv = argv + 1,
    };

    set_program_name(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    mempool_grow_init();
    ovs_cmdl_run_command(&ctx, commands);
}

OVSTEST_REGISTER("test-dpdk-mempool", test_dpdk_mempool_main);
