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

#include "dpdk-mempool.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_mempool.h>
#include <string.h>

#include "dpdk-driver.h"
#include "dpdk-frame.h"
#include "dpdk-memory.h"
#include "netdev-dpdk-compat.h"
#include "netdev-mtu.h"
#include "netdev-provider.h"
#include "openvswitch/ofp-parse.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "packets.h"
#include "seq.h"
#include "smap.h"
#include "userspace-tso.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(dpdk_mempool);

/* The most and the fewest mbufs with which Open vSwitch up to 4.0 starts
 * (netdev-dpdk.c, MAX_NB_MBUF and MIN_NB_MBUF), and the smallest size of
 * buffers that ports share for which it starts with the most. */
#define OLD_MAX_MBUFS (4096 * 64)
#define OLD_MIN_MBUFS (4096 * 4)
#define OLD_LARGE_BUFFER 2048

/* The size of a pool's ring never changes: 8 bytes for each mbuf that the pool
 * can ever have, rounded up to a power of 2, as in any DPDK mempool.  If a
 * pool grows, its ring has room for all mbufs that the pool may have, for 4
 * times as many as it is to have, and if ports share it, at least for
 * these. */
#define MIN_SHARED_ROOM (1u << 18)

/* Bytes that are left to DPDK's devices, whose queues take memory, too, on
 * each node, unless a port needs them to start. */
#define KEPT_MEMORY (8 << 20)

/* Identifies the pools for a port: those with its port's key. */
struct mempool_key {
    int numa_id;
    int buffer_size;            /* Without headroom. */
    const struct mempool_port *owner; /* Its only port, with per-port-memory,
                                       * otherwise NULL. */
};

struct mempool {
    struct ovs_list node;       /* In its switch's list. */
    struct mempool_key key;
    bool grows;                 /* It was made for that, with */
    uint64_t room;              /* room for so many mbufs. */
    uint64_t n;                 /* Mbufs that it has. */
    uint64_t n_planned;         /* Of these, those that a plan adds. */
    struct rte_mempool *mp;     /* NULL in a model. */
    bool too_small;             /* Is to have more than it can have. */
    unsigned int n_left;        /* Ports that left it while they were polled:
                                 * threads may still be using it. */
    uint64_t n_shown;           /* Mbufs that its ports' status shows, */
    uint64_t n_missing;         /* and those that it lacks. */
    uint32_t lowest;            /* Fewest free mbufs at this size, and */
    bool is_low;                /* whether the log reports it as low. */
};

struct user_mtu {               /* Of shared-mempool-config. */
    int mtu;
    int numa_id;                /* INT_MAX for all. */
};

/* A switch: its pools, the ports that they are for, and what is configured. */
struct mempools {
    struct ovs_list pools;
    struct ovs_list ports;

    unsigned int n_threads;     /* That poll ports, and the main one. */
    unsigned int max_frags;     /* That IP reassembly may keep, */
    bool frags_count;           /* and whether they are in the demand. */
    unsigned int flush_interval; /* In us. */
    bool tso;

    unsigned int headroom;      /* In percent. */
    int prepared_mtu;           /* Of ports without such an MTU of their own,
                                 * or 0. */
    bool per_port;              /* No port shares its pool. */
    struct user_mtu *user_mtus;
    size_t n_user_mtus;

    /* Memory. */
    bool (*can_grow)(void);     /* NULL if pools don't grow. */
    int (*memory_node)(int numa_id);
    dpdk_mbufs_size_func *mbufs_size;
    size_t *free;               /* Bytes on each node that a model has left; */
    size_t *used;               /* and takes.  NULL if memory is real. */
};

static struct ovs_mutex mempool_mutex = OVS_MUTEX_INITIALIZER;
static struct mempools mempools OVS_GUARDED_BY(mempool_mutex) = {
    .pools = OVS_LIST_INITIALIZER(&mempools.pools),
    .ports = OVS_LIST_INITIALIZER(&mempools.ports),
    .n_threads = 1,             /* The main one. */
    .max_frags = 1000,          /* As in ipf.c. */
    .memory_node = dpdk_memory_node,
    .mbufs_size = dpdk_mbufs_size,
};
static const struct mempool_growth *growth; /* Set before any pool. */
static atomic_bool frags_in_use = false; /* There was a fragment. */
static uint64_t seen_wake_seq;  /* wake_seq() in the last mempools_run(). */

/* Which pool, and how many mbufs. */

/* Returns the MTU whose buffers a port with 'needs' gets. */
static int
buffer_mtu(const struct mempools *m, const struct mempool_needs *needs)
{
    int size = dpdk_close_buffer_size(needs->mtu);
    const struct user_mtu *best = NULL;

    if (m->per_port) {
        return needs->mtu;
    }
    for (size_t i = 0; i < m->n_user_mtus; i++) {
        const struct user_mtu *user = &m->user_mtus[i];

        if (size <= dpdk_close_buffer_size(user->mtu)
            && (user->numa_id == INT_MAX || user->numa_id == needs->numa_id)
            && (!best || user->mtu < best->mtu)) {
            best = user;
        }
    }
    return best ? best->mtu : needs->mtu;
}

static struct mempool_key
key_of(const struct mempools *m, const struct mempool_port *port,
       const struct mempool_needs *needs)
{
    int mtu = buffer_mtu(m, needs);

    return (struct mempool_key) {
        .numa_id = needs->numa_id,
        .buffer_size = (m->per_port ? dpdk_own_buffer_size(mtu)
                        : dpdk_buffer_size(mtu)),
        .owner = m->per_port ? port : NULL,
    };
}

static bool
key_equals(const struct mempool_key *a, const struct mempool_key *b)
{
    return a->numa_id == b->numa_id && a->buffer_size == b->buffer_size
           && a->owner == b->owner;
}

/* Returns true if a port other than 'except', which may be NULL, has 'pool' or
 * is going to have it. */
static bool
is_used(const struct mempools *m, const struct mempool *pool,
        const struct mempool_port *except)
{
    const struct mempool_port *port;

    LIST_FOR_EACH (port, node, &m->ports) {
        if (port != except
            && (port->pool == pool || port->next_pool == pool)) {
            return true;
        }
    }
    return false;
}

/* Returns true if pools of 'm' can grow now. */
static bool
pools_grow(const struct mempools *m)
{
    const struct mempool_port *port;

    LIST_FOR_EACH (port, node, &m->ports) {
        if (!mempool_needs_grow(&port->now)
            || !mempool_needs_grow(&port->next)) {
            return false;
        }
    }
    return m->can_grow && m->can_grow();
}

/* Returns what the demand for mbufs of 'pool' depends on.  'pool' may be NULL
 * for one that no Ethernet port receives into. */
static struct mempool_demand_input
demand_input(const struct mempools *m, const struct mempool *pool)
{
    struct mempool_demand_input in = {
        .n_threads = m->n_threads,
        .cache_max = dpdk_cache_max(),
        .n_segments = m->tso ? MEMPOOL_GSO_SEGMENTS : 1,
        .flush_interval = m->flush_interval,
        .max_frags = m->frags_count ? m->max_frags : 0,
        .headroom = m->headroom,
    };
    const struct mempool_port *port;

    LIST_FOR_EACH (port, node, &m->ports) {
        bool has = pool && port->pool == pool;
        bool gets = pool && port->next_pool == pool;

        mempool_demand_add_rx(&in, has ? &port->now : NULL,
                              gets ? &port->next : NULL);
        mempool_demand_add_tx(&in, &port->now, &port->next);

        /* A port has a transmit queue for each thread: threads that have been
         * started may not be known yet. */
        if (!port->next.vhost) {
            in.n_threads = MAX(in.n_threads, port->next.n_txq);
        }
    }
    return in;
}

static size_t
element_size(const struct mempool *pool)
{
    return dpdk_mbuf_element_size(pool->key.buffer_size);
}

/* Returns the bytes of the mbufs with which Open vSwitch up to 4.0 starts for
 * the ports that have pools with 'key' or are going to have them: for each
 * size of buffers, in steps of 1 kB, or with per-port-memory for the port
 * (netdev-dpdk.c, dpdk_calculate_mbufs()). */
static size_t
old_size(const struct mempools *m, const struct mempool_key *key)
{
    uint64_t sizes_seen = 0;
    size_t size = 0;
    const struct mempool_port *port;

    LIST_FOR_EACH (port, node, &m->ports) {
        const struct mempool_needs *needs[] = { &port->now, &port->next };
        const struct mempool *pools[] = { port->pool, port->next_pool };

        for (int i = 0; i < ARRAY_SIZE(needs); i++) {
            if (pools[i] && key_equals(&pools[i]->key, key)) {
                int buffer = dpdk_close_buffer_size(buffer_mtu(m, needs[i]));
                uint64_t bit = UINT64_C(1) << (buffer / DPDK_BUFFER_ALIGN
                                               % 64);
                size_t element = dpdk_mbuf_element_size(buffer);

                if (m->per_port) {
                    size = MAX(size, element
                                     * (mempool_needs_requested(needs[i])
                                        + OLD_MIN_MBUFS));
                } else if (!(sizes_seen & bit)) {
                    sizes_seen |= bit;
                    size += element * (buffer < OLD_LARGE_BUFFER
                                       ? OLD_MIN_MBUFS : OLD_MAX_MBUFS);
                }
            }
        }
    }
    return size;
}

/* How many mbufs a pool is to have. */
struct size {
    struct mempool_demand demand;
    uint64_t start;             /* With fewer, its ports can't start. */
    uint64_t limit;             /* It may have no more than these. */
    uint64_t target;            /* With enough memory. */
};

/* Returns the size that 'pool' is to have.  'except', which may be NULL, is
 * leaving the pool that it has. */
static struct size
size_of(const struct mempools *m, const struct mempool *pool,
        const struct mempool_port *except)
{
    struct mempool_demand_input in = demand_input(m, pool);
    struct size size = {
        .demand = mempool_demand(&in),
        .start = mempool_demand_to_start(&in),
    };
    size_t bytes = old_size(m, &pool->key);
    const struct mempool *other;

    LIST_FOR_EACH (other, node, &m->pools) {
        if (other != pool && key_equals(&other->key, &pool->key)
            && is_used(m, other, except)) {
            bytes -= MIN(bytes, other->n * element_size(other));
        }
    }
    size.limit = MAX(bytes / element_size(pool), size.start);
    size.limit += DIV_ROUND_UP(size.limit * m->headroom, 100);
    size.target = MIN(size.demand.total, size.limit);
    return size;
}

/* Memory. */

static size_t
bytes_of(const struct mempools *m, const struct mempool *pool, uint64_t n)
{
    return m->mbufs_size(pool->key.buffer_size, pool->grows, n);
}

/* Returns the bytes that 'pool', of the given 'size', lacks to let its ports
 * start. */
static size_t
bytes_to_start(const struct mempools *m, const struct mempool *pool,
               const struct size *size)
{
    return bytes_of(m, pool, size->start - MIN(size->start, pool->n));
}

/* Returns how many mbufs of 'pool' fit in 'size' bytes. */
static uint64_t
mbufs_in(const struct mempools *m, const struct mempool *pool, size_t size)
{
    uint64_t low = 0;
    uint64_t high = size / pool->key.buffer_size + 1;

    while (high - low > 1) {
        uint64_t n = (low + high) / 2;

        if (bytes_of(m, pool, n) <= size) {
            low = n;
        } else {
            high = n;
        }
    }
    return low;
}

static size_t
free_bytes(const struct mempools *m, int memory_node)
{
    return m->free ? m->free[memory_node]
           : dpdk_memory_free_bytes(memory_node);
}

static void
take_from_model(struct mempools *m, const struct mempool *pool, size_t bytes)
{
    int node = m->memory_node(pool->key.numa_id);

    m->free[node] -= MIN(m->free[node], bytes);
    m->used[node] += bytes;
}

/* Returns the bytes that a new pool with 'key' takes for guests to start. */
static size_t
guest_bytes(const struct mempools *m, const struct mempool_key *key)
{
    struct mempool_demand_input in = demand_input(m, NULL);

    return DPDK_MEMPOOL_OVERHEAD
           + m->mbufs_size(key->buffer_size, false,
                           mempool_demand_to_start(&in));
}

/* Returns the bytes on 'memory_node' that pools other than 'except', which may
 * be NULL, lack to let their ports start: those of guests that aren't there
 * included, as these have been promised. */
static size_t
promised_bytes(const struct mempools *m, int memory_node,
               const struct mempool *except)
{
    const struct mempool_port *port, *other;
    const struct mempool *pool;
    size_t size = 0;

    LIST_FOR_EACH (pool, node, &m->pools) {
        if (pool != except && pool->grows && is_used(m, pool, NULL)
            && m->memory_node(pool->key.numa_id) == memory_node) {
            struct size s = size_of(m, pool, NULL);

            size += bytes_to_start(m, pool, &s);
        }
    }
    LIST_FOR_EACH (port, node, &m->ports) {
        struct mempool_key key = key_of(m, port, &port->next);
        bool there = (!port->next.away || port->next_pool
                      || m->memory_node(key.numa_id) != memory_node
                      || (except && key_equals(&except->key, &key)));

        LIST_FOR_EACH (pool, node, &m->pools) {
            there = there || (key_equals(&pool->key, &key)
                              && is_used(m, pool, NULL));
        }
        LIST_FOR_EACH (other, node, &m->ports) {
            struct mempool_key other_key = key_of(m, other, &other->next);

            if (there || other == port) {
                break;
            }
            there = other->next.away && key_equals(&other_key, &key);
        }
        if (!there) {
            size += guest_bytes(m, &key);
        }
    }
    return size;
}

/* Returns how many mbufs 'pool', of the given 'size', may have, up to
 * 'wanted': what its ports need to start, and beyond that no more than twice
 * what it leaves free. */
static uint64_t
affordable(const struct mempools *m, const struct mempool *pool,
           const struct size *size, uint64_t wanted)
{
    int node = m->memory_node(pool->key.numa_id);
    size_t free_ = free_bytes(m, node);
    size_t kept = KEPT_MEMORY + promised_bytes(m, node, pool)
                  + (pool->n ? 0 : DPDK_MEMPOOL_OVERHEAD);
    size_t both = bytes_of(m, pool, pool->n) + free_ - MIN(free_, kept);
    uint64_t n = wanted;

    if (bytes_of(m, pool, n) > both / 3 * 2) {
        n = mbufs_in(m, pool, both / 3 * 2);
    }
    return MIN(wanted, MAX(n, size->start));
}

/* Returns a message about too little memory for a pool with 'key', for which
 * 'needed' bytes are needed.  The caller must free it. */
static char *
shortage(const struct mempools *m, const struct mempool_key *key,
         size_t needed)
{
    int node = m->memory_node(key->numa_id);
    size_t free_ = free_bytes(m, node);

    return xasprintf("%.1f MB of memory for mbufs is needed on NUMA node %d, "
                     "where %.1f MB is free%s", needed / 1e6, node,
                     free_ / 1e6,
                     free_ >= needed ? ", but too fragmented" : "");
}

/* Pools. */

/* Must be called when 'pool' has got mbufs. */
static void
pool_has_grown(struct mempool *pool)
{
    /* What it had before doesn't count. */
    pool->lowest = UINT32_MAX;
    pool->is_low = false;
    if (pool->mp) {
        pool->n = pool->mp->populated_size;
        VLOG_INFO("Mempool \"%s\" has %"PRIu64" mbufs now", pool->mp->name,
                  pool->n);
    }
}

/* Gives 'pool', which grows, up to 'n' mbufs, or none if it can't have
 * 'at_least'. */
static void
pool_grow(struct mempools *m, struct mempool *pool, uint64_t n,
          uint64_t at_least)
{
    if (n <= pool->n) {
        return;
    }
    if (m->free) {
        take_from_model(m, pool, bytes_of(m, pool, n)
                                 - bytes_of(m, pool, pool->n));
        pool->n_planned += n - pool->n;
        pool->n = n;
        pool_has_grown(pool);
    } else if (growth->add(pool->mp, n - pool->n,
                           at_least - MIN(at_least, pool->n))) {
        pool_has_grown(pool);
    }
}

static void
pool_destroy(struct mempool *pool)
{
    ovs_list_remove(&pool->node);
    rte_mempool_free(pool->mp);
    free(pool);
}

/* Makes 'pool', which has its key, with 'n' mbufs, or if there is too little
 * memory with fewer, but 'at_least'.  Returns false if that fails. */
static bool
pool_build(struct mempools *m, struct mempool *pool, uint64_t n,
           uint64_t at_least)
{
    static unsigned int serial;
    char name[RTE_MEMPOOL_NAMESIZE];

    if (m->free) {
        take_from_model(m, pool, DPDK_MEMPOOL_OVERHEAD);
        pool_grow(m, pool, n, at_least);
        return true;
    }
    snprintf(name, sizeof name, "ovs%d-%d-%u", pool->key.numa_id,
             pool->key.buffer_size, serial++);
    if (pool->grows) {
        pool->mp = growth->create(name, pool->key.numa_id,
                                  pool->key.buffer_size, pool->room);
        if (pool->mp) {
            pool_grow(m, pool, n, at_least);
        }
        return pool->mp && pool->n >= at_least;
    }
    for (;;) {
        pool->mp = dpdk_mempool_create(name, pool->key.numa_id,
                                       pool->key.buffer_size, n);
        if (pool->mp) {
            pool_has_grown(pool);
            return true;
        } else if (rte_errno != ENOMEM || n <= at_least) {
            return false;
        }
        n = MAX(n / 2, at_least);
    }
}

/* Returns how many mbufs 'pool' can have while its ports have it, if pools
 * 'grow' now. */
static uint64_t
capacity(const struct mempool *pool, bool grow)
{
    return pool->grows && grow ? pool->room : pool->n;
}

/* Gives 'pool', if pools 'grow' now, what it is to have according to 'size',
 * as far as there is memory. */
static void
pool_complete(struct mempools *m, struct mempool *pool,
              const struct size *size, bool grow)
{
    uint64_t most = capacity(pool, grow);

    if (pool->n < MIN(size->target, most) && size->start <= most
        && (bytes_to_start(m, pool, size)
            <= free_bytes(m, m->memory_node(pool->key.numa_id)))) {
        pool_grow(m, pool, MIN(affordable(m, pool, size, size->target), most),
                  size->start);
    }
}

/* No thread uses 'pool' any more because of a port that left it. */
static void
pool_was_left(struct mempool *pool)
{
    ovs_mutex_lock(&mempool_mutex);
    pool->n_left--;
    ovs_mutex_unlock(&mempool_mutex);
}

/* Frees the pools that no port has and whose mbufs are all back. */
static void
sweep(struct mempools *m)
{
    struct mempool *pool;

    LIST_FOR_EACH_SAFE (pool, node, &m->pools) {
        if (!is_used(m, pool, NULL) && !pool->n_left
            && (!pool->mp || rte_mempool_full(pool->mp))) {
            if (pool->mp) {
                VLOG_INFO("Freeing mempool \"%s\"", pool->mp->name);
            }
            pool_destroy(pool);
        }
    }
}

/* Ports. */

/* Returns true if 'port' can have 'pool', its next one, though that has fewer
 * mbufs than it needs to start: the port fills no more of them than before. */
static bool
port_may_share(const struct mempool_port *port, const struct mempool *pool)
{
    uint64_t filled = mempool_needs_filled(&port->next);

    return port->pool == pool ? filled <= mempool_needs_filled(&port->now)
           : !port->pool && !filled;
}

/* Makes a pool for 'port', whose key is 'key', that grows if pools 'grow' now;
 * if 'best' is nonnull, beside that, which the port can have as well.  Returns
 * true if successful, otherwise, and if 'best' is NULL, stores in '*errorp' a
 * message for the user, which the caller must free. */
static bool
port_make_pool(struct mempools *m, struct mempool_port *port,
               const struct mempool_key *key, bool grow,
               const struct mempool *best, char **errorp)
{
    struct mempool *pool = xzalloc(sizeof *pool);
    uint64_t n, least;
    struct size size;
    size_t needed;

    pool->key = *key;
    pool->grows = grow;
    ovs_list_push_back(&m->pools, &pool->node);
    port->next_pool = pool;
    size = size_of(m, pool, port);
    n = size.target;
    if (grow) {
        pool->room = MAX(size.limit + 1, 4 * size.target);
        pool->room = MAX(pool->room, key->owner ? 0 : MIN_SHARED_ROOM);
        pool->room = ROUND_UP_POW2(pool->room) - 1;
    } else {
        /* The last one within the limit gets all that is left. */
        n = MAX(ROUND_UP_POW2(n), OLD_MIN_MBUFS);
        n = n < size.limit / 2 ? n : size.limit;
    }
    n = affordable(m, pool, &size, n);
    needed = DPDK_MEMPOOL_OVERHEAD + bytes_of(m, pool, size.start);

    /* A pool beside another one isn't worth it for few mbufs, unless these do.
     * DPDK clears what is given back, so that no more is tried than there
     * is. */
    least = !best ? size.start
            : MAX(size.start, MIN(size.demand.total, best->n + best->n / 2));
    if (n >= least && needed <= free_bytes(m, m->memory_node(key->numa_id))
        && pool_build(m, pool, n, least)) {
        return true;
    }
    pool_destroy(pool);
    if (!best) {
        *errorp = shortage(m, key, needed);
    }
    return false;
}

/* Chooses the next pool of 'port', and makes it if necessary: the one that it
 * has if that can have what it is to have, otherwise the largest one.  Returns
 * 0 if successful, otherwise a positive errno value and, in '*errorp', a
 * message for the user, which the caller must free; then the next pool is the
 * one that the port has. */
static int
port_choose(struct mempools *m, struct mempool_port *port, char **errorp)
{
    struct mempool_key key = key_of(m, port, &port->next);
    bool grow = pools_grow(m);
    struct mempool *pool, *best = NULL;
    struct size size = { .start = 0 };
    uint64_t best_score = 0;
    bool holds, does;

    if (port->next.away) {
        port->next_pool = NULL;
        return 0;
    }

    LIST_FOR_EACH (pool, node, &m->pools) {
        if (key_equals(&pool->key, &key)
            && (!pool->grows || mempool_needs_grow(&port->next))) {
            uint64_t score = capacity(pool, grow) + 1;

            port->next_pool = pool;
            if (size_of(m, pool, port).target <= capacity(pool, grow)) {
                score += port->pool == pool ? UINT64_MAX / 2 : UINT32_MAX;
            }
            if (score > best_score) {
                best_score = score;
                best = pool;
            }
        }
    }
    holds = best_score > UINT32_MAX;
    if (best) {
        port->next_pool = best;
        size = size_of(m, best, port);
        pool_complete(m, best, &size, grow);
    }
    does = best && (best->n >= size.start || port_may_share(port, best));
    if (holds ? does : port_make_pool(m, port, &key, grow, does ? best : NULL,
                                      errorp)) {
        return 0;
    } else if (does) {
        port->next_pool = best;
        return 0;
    } else if (holds) {
        *errorp = shortage(m, &key, bytes_to_start(m, best, &size));
    }
    port->next_pool = port->pool;
    return ENOBUFS;
}

/* Makes what 'port' is going to have what it has. */
static void
port_commit(struct mempool_port *port)
{
    struct mempool *old = port->pool;

    port->now = port->next;
    port->pool = port->next_pool;
    if (old != port->pool) {
        ovsrcu_set(&port->mp, port->pool ? port->pool->mp : NULL);
        if (old && old->mp && port->now.vhost) {
            /* Threads may be polling the port. */
            old->n_left++;
            ovsrcu_postpone(pool_was_left, old);
        }
    }
}

/* Must be called when the demand, or the memory that is free, may have
 * changed: gives pools what they lack, and vhost ports larger pools. */
static void
settle(struct mempools *m)
{
    bool grow = pools_grow(m);
    struct mempool_port *port;
    struct mempool *pool;

    LIST_FOR_EACH (pool, node, &m->pools) {
        struct size size = size_of(m, pool, NULL);

        if (is_used(m, pool, NULL)) {
            pool_complete(m, pool, &size, grow);
        }
        pool->too_small = size.target > capacity(pool, grow);
    }
    LIST_FOR_EACH (port, node, &m->ports) {
        if (port->now.vhost && port->pool && port->next_pool == port->pool
            && (port->pool->too_small
                || port->pool->key.buffer_size
                   != key_of(m, port, &port->now).buffer_size)) {
            char *error = NULL;

            if (!port_choose(m, port, &error)) {
                port_commit(port);
            }
            free(error);
        }
    }
}

/* The switch. */

/* Returns the number of mbufs that 'pool' is to have and lacks. */
static uint64_t
n_missing(const struct mempools *m, const struct mempool *pool)
{
    uint64_t target = is_used(m, pool, NULL) ? size_of(m, pool, NULL).target
                      : 0;

    return target - MIN(target, pool->n);
}

/* Reports, in the log and in the ports' status, what pools lack. */
static void
report_sizes(void)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool *pool;

    LIST_FOR_EACH (pool, node, &mempools.pools) {
        uint64_t missing = n_missing(&mempools, pool);
        int memory_node = mempools.memory_node(pool->key.numa_id);
        struct mempool_port *port;

        if (pool->n_shown == pool->n && pool->n_missing == missing) {
            continue;
        }
        if (missing && !pool->n_missing && capacity(pool,
                                                    pools_grow(&mempools))
                                           > pool->n) {
            VLOG_WARN("Mempool \"%s\" has %"PRIu64" of the %"PRIu64" mbufs "
                      "that it should have, for lack of memory on NUMA node "
                      "%d; the others, %.1f MB, follow when memory becomes "
                      "available: beyond what its ports need to start, a "
                      "mempool takes no more than twice what it leaves free",
                      pool->mp->name, pool->n, pool->n + missing, memory_node,
                      bytes_of(&mempools, pool, missing) / 1e6);
        } else if (missing && !pool->n_missing) {
            VLOG_INFO("Mempool \"%s\" has %"PRIu64" of the %"PRIu64" mbufs "
                      "that it should have, and cannot grow; ports get a "
                      "larger one when they are reconfigured",
                      pool->mp->name, pool->n, pool->n + missing);
        } else if (!missing && pool->n_missing) {
            VLOG_INFO("Mempool \"%s\" has all its mbufs", pool->mp->name);
        }
        pool->n_shown = pool->n;
        pool->n_missing = missing;
        LIST_FOR_EACH (port, node, &mempools.ports) {
            if (port->pool == pool) {
                netdev_change_seq_changed(port->netdev);
            }
        }
    }
}

/* Must be called when the demand may have changed. */
static void
demand_changed(void)
    OVS_REQUIRES(mempool_mutex)
{
    settle(&mempools);
    report_sizes();
}

/* Returns 0 if there is memory for the guest of 'port', which isn't there, to
 * start; on any NUMA node, as long as it isn't known where that guest is.
 * Otherwise, returns a positive errno value and stores in '*errorp' a message
 * for the user, which the caller must free. */
static int
check_promise(const struct mempool_port *port, char **errorp)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool_key key = key_of(&mempools, port, &port->next);
    int node = mempools.memory_node(key.numa_id);
    size_t needed = promised_bytes(&mempools, node, NULL);

    if (needed > free_bytes(&mempools, node)
        && (port->pool
            || !dpdk_memory_elsewhere(node, guest_bytes(&mempools, &key)))) {
        *errorp = shortage(&mempools, &key, needed);
        return ENOBUFS;
    }
    return 0;
}

/* Logs which MTU of shared-mempool-config applies to 'needs'. */
static void
log_user_mtu(const struct mempool_needs *needs)
    OVS_REQUIRES(mempool_mutex)
{
    int mtu = buffer_mtu(&mempools, needs);

    if (mempools.per_port) {
        return;
    } else if (mtu != needs->mtu) {
        VLOG_DBG("Found user configured shared mempool with mbufs of size %d, "
                 "suitable for port with MTU %d, NUMA %d.",
                 dpdk_data_room(mtu), needs->mtu, needs->numa_id);
    } else {
        VLOG_DBG("No user configured shared mempool mbuf sizes found suitable "
                 "for port with MTU %d, NUMA %d.", needs->mtu, needs->numa_id);
    }
}

/* Prepares 'port' for 'needs': provides the pool that it will receive into.
 * Until mempool_port_commit(), the port may go on as it is, or prepare for
 * something else.  'netdev' is kept.
 *
 * Returns 0 if successful.  Otherwise, returns a positive errno value, ENOBUFS
 * if there is too little memory, and stores in '*errorp' a message for the
 * user, which the caller must free; then the port is prepared only for what it
 * has.  A port whose MTU is to be lower, and for which there is no memory,
 * keeps its larger buffers.  A port that has no pool although its guest is
 * there waits: 'netdev' is asked to reconfigure itself when there is
 * memory. */
int
mempool_port_prepare(struct mempool_port *port, struct netdev *netdev,
                     const struct mempool_needs *needs, char **errorp)
{
    struct mempool *prepared = port->next_pool;
    bool is_new = !port->netdev;
    int error;

    ovs_mutex_lock(&mempool_mutex);
    if (is_new) {
        port->netdev = netdev;
        ovs_list_push_back(&mempools.ports, &port->node);
    }
    sweep(&mempools);
    mempools.tso = userspace_tso_enabled();
    port->next = *needs;
    port->next_pool = port->pool;
    log_user_mtu(needs);

    error = port_choose(&mempools, port, errorp);
    if (error && port->pool && port->now.numa_id == needs->numa_id
        && mempool_needs_filled(needs) <= mempool_needs_filled(&port->now)
        && port->pool->key.buffer_size
           > key_of(&mempools, port, needs).buffer_size) {
        VLOG_INFO("Port %s: keeping buffers of %d bytes, for lack of memory "
                  "for smaller ones", netdev_get_name(netdev),
                  port->pool->key.buffer_size);
        free(*errorp);
        *errorp = NULL;
        error = 0;
    } else if (!error && needs->away
               && needs->mtu > (is_new ? ETH_PAYLOAD_MAX : port->now.mtu)) {
        error = check_promise(port, errorp);
    }

    if (!error) {
        const struct mempool *pool = port->next_pool;

        if (pool && pool != port->pool && pool != prepared) {
            if (pool->n_shown) {
                VLOG_INFO("Port %s: Reusing mempool \"%s\"",
                          netdev_get_name(netdev), pool->mp->name);
            } else {
                VLOG_INFO("Port %s: Requesting a mempool with buffers of %d "
                          "bytes on NUMA node %d", netdev_get_name(netdev),
                          pool->key.buffer_size, pool->key.numa_id);
            }
        }
        demand_changed();
    } else if (is_new) {
        port->netdev = NULL;
        ovs_list_remove(&port->node);
    } else if (port->pool || needs->away) {
        port->next = port->now;
        port->next_pool = port->pool;
    }
    sweep(&mempools);
    ovs_mutex_unlock(&mempool_mutex);
    return error;
}

/* Returns the mempool that 'port' is prepared for, or NULL if it needs none
 * yet. */
struct rte_mempool *
mempool_port_prepared(const struct mempool_port *port)
{
    struct rte_mempool *mp;

    ovs_mutex_lock(&mempool_mutex);
    mp = port->next_pool ? port->next_pool->mp : NULL;
    ovs_mutex_unlock(&mempool_mutex);
    return mp;
}

/* Must be called when 'port' has got what it prepared for last.  Its previous
 * pool is released, but not swept at once: the port may want it back. */
void
mempool_port_commit(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    port_commit(port);
    ovs_mutex_unlock(&mempool_mutex);
}

/* Must be called when 'port' goes on as it is, whatever it prepared for. */
void
mempool_port_cancel(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    if (port->pool) {
        port->next = port->now;
        port->next_pool = port->pool;
    }
    ovs_mutex_unlock(&mempool_mutex);
}

/* Must be called when 'port' is stopped for good.  Its pool stays until memory
 * is needed, or mempools_run() is called: DPDK clears what is given back,
 * for which a switch that exits has no time. */
void
mempool_port_destroy(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    if (port->netdev) {
        ovs_list_remove(&port->node);
        port->netdev = NULL;
    }
    ovs_mutex_unlock(&mempool_mutex);
}

/* Asks ports whose guests wait for memory to reconfigure themselves if there
 * is enough now. */
static void
wake_ports(void)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool_port *port;

    LIST_FOR_EACH (port, node, &mempools.ports) {
        struct mempool_key key = key_of(&mempools, port, &port->next);
        int node = mempools.memory_node(key.numa_id);

        if (port->next.vhost && !port->next.away && !port->pool
            && !port->next_pool
            && free_bytes(&mempools, node) >= guest_bytes(&mempools, &key)) {
            netdev_request_reconfigure(port->netdev);
        }
    }
}

/* Finds out how many mbufs of 'pool' are free, and warns the user if they are
 * fewer than all threads may take at once. */
static void
sample_free(struct mempool *pool)
    OVS_REQUIRES(mempool_mutex)
{
    uint32_t n = rte_mempool_get_ops(pool->mp->ops_index)->get_count(
        pool->mp);

    pool->lowest = MIN(pool->lowest, n);
    if (pool->lowest < MEMPOOL_BURST * mempools.n_threads && !pool->is_low) {
        pool->is_low = true;
        VLOG_WARN("Mempool \"%s\" is running low: only %"PRIu32" of its "
                  "%"PRIu64" mbufs were free",
                  pool->mp->name, pool->lowest, pool->n);
    }
}

/* Changes when mempools_run() shouldn't wait. */
static struct seq *
wake_seq(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    static struct seq *seq;

    if (ovsthread_once_start(&once)) {
        seq = seq_create();
        ovsthread_once_done(&once);
    }
    return seq;
}

/* Must be called from time to time, and after mempools_wait(), always by the
 * same thread.  Frees the pools that aren't used any more: when a pool goes
 * out of use, some of its mbufs are still on their way.  Samples how many
 * mbufs of the others are free.  Completes those that lacked memory if there
 * is some now. */
void
mempools_run(void)
{
    struct mempool *pool;

    seen_wake_seq = seq_read(wake_seq());
    ovs_mutex_lock(&mempool_mutex);
    sweep(&mempools);
    LIST_FOR_EACH (pool, node, &mempools.pools) {
        sample_free(pool);
    }
    atomic_read_relaxed(&frags_in_use, &mempools.frags_count);
    demand_changed();
    wake_ports();
    ovs_mutex_unlock(&mempool_mutex);
}

/* Waits for 'seconds', or until mempools_run() should be called earlier. */
void
mempools_wait(unsigned int seconds)
{
    seq_wait(wake_seq(), seen_wake_seq);
    poll_timer_wait(seconds * 1000LL);
    poll_block();
}

/* Must be called by a thread that is going to poll ports, before it becomes a
 * DPDK lcore. */
void
mempool_thread_add(void)
{
    ovs_mutex_lock(&mempool_mutex);
    mempools.n_threads++;
    demand_changed();
    ovs_mutex_unlock(&mempool_mutex);
}

/* Must be called by a thread that called mempool_thread_add(), before it
 * ceases to be a DPDK lcore: DPDK doesn't give its caches back, so what is in
 * them would be lost until another thread gets the same lcore. */
void
mempool_thread_remove(void)
{
    struct mempool *pool;

    ovs_mutex_lock(&mempool_mutex);
    LIST_FOR_EACH (pool, node, &mempools.pools) {
        rte_mempool_cache_flush(NULL, pool->mp);
    }
    mempools.n_threads--;
    ovs_mutex_unlock(&mempool_mutex);
}

/* Must be called before IP reassembly may keep up to 'n' fragments. */
void
mempool_set_max_frags(unsigned int n)
{
    ovs_mutex_lock(&mempool_mutex);
    mempools.max_frags = n;
    demand_changed();
    ovs_mutex_unlock(&mempool_mutex);
}

/* Must be called when IP reassembly keeps a fragment.  From the next
 * mempools_run() on, which follows the first one at once, the demand includes
 * as many as it may keep. */
void
mempool_frags_in_use(void)
{
    bool known;

    atomic_read_relaxed(&frags_in_use, &known);
    if (!known) {
        atomic_store_relaxed(&frags_in_use, true);
        seq_change(wake_seq());
    }
}

/* Must be called before output batches may wait for 'us' microseconds. */
void
mempool_set_flush_interval(unsigned int us)
{
    ovs_mutex_lock(&mempool_mutex);
    mempools.flush_interval = us;
    demand_changed();
    ovs_mutex_unlock(&mempool_mutex);
}

/* Enables growth of pools while ports use them, by the functions in 'growth_',
 * which must stay.  Must be called before there is a pool. */
void
mempools_set_growth(const struct mempool_growth *growth_)
{
    ovs_mutex_lock(&mempool_mutex);
    growth = growth_;
    mempools.can_grow = growth->is_possible;
    ovs_mutex_unlock(&mempool_mutex);
}

/* Writes to 'stream' what DPDK tells of the mempool of 'port' or, if that is
 * NULL, of all mempools, while none is made, freed or grows. */
void
mempools_dump(FILE *stream, const struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    if (port) {
        struct rte_mempool *mp = port->pool->mp;

        rte_mempool_dump(stream, mp);
        fprintf(stream, "    count: avail (%u), in use (%u)\n",
                rte_mempool_avail_count(mp), rte_mempool_in_use_count(mp));
    } else {
        rte_mempool_list_dump(stream);
    }
    ovs_mutex_unlock(&mempool_mutex);
}

/* Configuration. */

/* Sets the operator's own margin, in percent of all other demand. */
static void
set_headroom(struct mempools *m, const char *percent)
{
    if (!str_to_uint(percent, 10, &m->headroom)
        || m->headroom > MEMPOOL_MAX_HEADROOM) {
        VLOG_WARN("invalid mempool-headroom \"%s\" (expected 0 to %d "
                  "percent), using 0", percent, MEMPOOL_MAX_HEADROOM);
        m->headroom = 0;
    }
}

/* Adds the MTU in 'key', and the NUMA node in 'value', which may be empty, to
 * those whose mempools are shared.  Returns false if they are invalid. */
static bool
add_user_mtu(struct mempools *m, const char *key, const char *value)
{
    struct user_mtu user;

    if (!str_to_int(key, 0, &user.mtu) || user.mtu < 0
        || user.mtu > DPDK_MAX_MTU) {
        VLOG_WARN("Invalid user configured shared mempool MTU.");
        return false;
    }
    if (!str_to_int(value, 0, &user.numa_id)) {
        /* No socket specified.  It will apply for all numas. */
        user.numa_id = INT_MAX;
    } else if (user.numa_id < 0) {
        VLOG_WARN("Invalid user configured shared mempool NUMA.");
        return false;
    }

    m->user_mtus = xrealloc(m->user_mtus, (m->n_user_mtus + 1)
                                          * sizeof *m->user_mtus);
    m->user_mtus[m->n_user_mtus++] = user;
    VLOG_INFO("User configured shared mempool set for: MTU %d, NUMA %s.",
              user.mtu, user.numa_id == INT_MAX ? "ALL" : value);
    return true;
}

static void
configure(struct mempools *m, const struct smap *other_config)
{
    char *list, *copy, *key, *value;

    m->per_port = smap_get_bool(other_config, "per-port-memory", false);
    VLOG_INFO("Per port memory for DPDK devices %s.",
              m->per_port ? "enabled" : "disabled");
    set_headroom(m, smap_get_def(other_config, "mempool-headroom", "0"));
    m->prepared_mtu = netdev_mtu_prepared(other_config, 0);

    list = copy = xstrdup(smap_get_def(other_config, "shared-mempool-config",
                                       ""));
    while (ofputil_parse_key_value(&list, &key, &value)) {
        if (!add_user_mtu(m, key, value)) {
            VLOG_WARN("User configured shared mempools will not be used.");
            m->n_user_mtus = 0;
            break;
        }
    }
    free(copy);
}

/* Sets what is in 'other_config' of the table Open_vSwitch: per-port-memory,
 * shared-mempool-config, mempool-headroom, dpdk-prepared-mtu.  Must be called
 * once, before there is a port. */
void
mempools_configure(const struct smap *other_config)
{
    ovs_mutex_lock(&mempool_mutex);
    configure(&mempools, other_config);
    ovs_mutex_unlock(&mempool_mutex);
}

/* Returns the MTU that ports are prepared for that have no such MTU of their
 * own, or 0. */
int
mempools_prepared_mtu(void)
{
    int mtu;

    ovs_mutex_lock(&mempool_mutex);
    mtu = mempools.prepared_mtu;
    ovs_mutex_unlock(&mempool_mutex);
    return mtu;
}

/* Information. */

/* Returns information about 'pool', but not about its ports; about what it
 * takes of rte_mempools only if it isn't one of a model. */
static struct mempool_info
pool_info(const struct mempools *m, const struct mempool *pool)
{
    int buffer_size = pool->key.buffer_size;
    struct size size = size_of(m, pool, NULL);
    struct mempool_info info = {
        .numa_id = pool->key.numa_id,
        .buffer_size = buffer_size,
        .min_mtu = (pool->key.owner ? dpdk_own_min_mtu(buffer_size)
                    : dpdk_min_mtu(buffer_size)),
        .max_mtu = dpdk_max_mtu(buffer_size),
        .own = pool->key.owner != NULL,
        .grows = pool->grows,
        .n_mbufs = pool->n - pool->n_planned,
        .demand = size.demand,
        .limit = size.limit,
        .target = size.target,
        .ports = SVEC_EMPTY_INITIALIZER,
    };

    if (pool->mp) {
        info.n_in_use = rte_mempool_in_use_count(pool->mp);
        info.lowest = pool->lowest;
        info.size = bytes_of(m, pool, pool->n);
        info.n_missing = n_missing(m, pool);
    } else {
        info.n_missing = pool->n_planned;
    }
    info.missing_size = bytes_of(m, pool, info.n_missing);
    return info;
}

/* Adds to 'info' the ports of 'pool'. */
static void
add_ports(const struct mempools *m, const struct mempool *pool,
          struct mempool_info *info)
{
    const struct mempool_port *port;

    LIST_FOR_EACH (port, node, &m->ports) {
        if (port->next_pool != pool) {
            continue;
        } else if (port->netdev) {
            svec_add(&info->ports, netdev_get_name(port->netdev));
        } else {
            info->n_new_ports++;
        }
    }
}

/* Returns true if 'a' is shown before 'b', which is older. */
static bool
comes_before(const struct mempool_info *a, const struct mempool_info *b)
{
    return a->numa_id != b->numa_id ? a->numa_id < b->numa_id
           : a->buffer_size < b->buffer_size;
}

/* Stores in 'info' the pools of 'm', by node, size of buffers and age, and
 * nothing about memory. */
static void
get_pools(const struct mempools *m, struct mempools_info *info)
{
    const struct mempool *pool;

    info->n = 0;
    info->pools = xcalloc(ovs_list_size(&m->pools), sizeof *info->pools);
    LIST_FOR_EACH (pool, node, &m->pools) {
        struct mempool_info new = pool_info(m, pool);
        struct mempool_info *p = &info->pools[info->n++];

        add_ports(m, pool, &new);
        for (; p > info->pools && comes_before(&new, p - 1); p--) {
            *p = *(p - 1);
        }
        *p = new;
    }
}

void
mempools_info_free(struct mempools_info *info)
{
    for (size_t i = 0; i < info->n; i++) {
        svec_destroy(&info->pools[i].ports);
    }
    free(info->pools);
    free(info->nodes);
}

/* Stores in '*info' what there is to know about the pool that 'port' receives
 * into, but for its ports.  Returns false if it has none. */
bool
mempool_port_get_info(const struct mempool_port *port,
                      struct mempool_info *info)
{
    bool has_pool;

    ovs_mutex_lock(&mempool_mutex);
    has_pool = port->pool != NULL;
    if (has_pool) {
        sample_free(port->pool);
        *info = pool_info(&mempools, port->pool);
    }
    ovs_mutex_unlock(&mempool_mutex);
    return has_pool;
}

/* Stores in '*needs' what the port 'name' has.  Returns false if there is
 * no such port. */
bool
mempool_get_needs(const char *name, struct mempool_needs *needs)
{
    struct mempool_port *port;
    bool found = false;

    ovs_mutex_lock(&mempool_mutex);
    LIST_FOR_EACH (port, node, &mempools.ports) {
        if (!strcmp(netdev_get_name(port->netdev), name)) {
            *needs = port->now;
            found = true;
            break;
        }
    }
    ovs_mutex_unlock(&mempool_mutex);
    return found;
}

/* Returns the number of PMD threads, plus one for the main thread. */
unsigned int
mempool_n_threads(void)
{
    unsigned int n;

    ovs_mutex_lock(&mempool_mutex);
    n = mempools.n_threads;
    ovs_mutex_unlock(&mempool_mutex);
    return n;
}

/* Models. */

static int
same_node(int numa_id)
{
    return numa_id;
}

static bool
always(void)
{
    return true;
}

/* Gives 'm' the memory in 'memory', in bytes for each node, or enough if that
 * is NULL. */
static void
model_init_memory(struct mempools *m, const size_t memory[])
{
    m->free = xcalloc(RTE_MAX_NUMA_NODES, sizeof *m->free);
    m->used = xcalloc(RTE_MAX_NUMA_NODES, sizeof *m->used);
    for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
        m->free[i] = memory ? memory[i] : SIZE_MAX / 4;
    }
}

/* Returns a switch that exists only in numbers, without ports.  The caller
 * must destroy it with mempools_model_destroy(). */
struct mempools *
mempools_model_create(const struct mempools_model *model)
{
    struct mempools *m = xzalloc(sizeof *m);

    ovs_list_init(&m->pools);
    ovs_list_init(&m->ports);
    m->n_threads = model->n_threads;
    m->tso = model->tso;
    m->flush_interval = model->flush_interval;
    m->max_frags = model->max_frags;
    m->frags_count = true;
    m->can_grow = model->grows && growth ? always : NULL;
    m->memory_node = same_node;
    m->mbufs_size = model->mbufs_size;
    configure(m, model->other_config);
    model_init_memory(m, model->memory);
    return m;
}

/* Returns a copy of the switch, with enough memory. */
static struct mempools *
model_copy(void)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempools *m = xmemdup(&mempools, sizeof mempools);
    struct mempool_port *port;
    struct mempool *pool;

    ovs_list_init(&m->pools);
    ovs_list_init(&m->ports);
    m->user_mtus = xmemdup(m->user_mtus,
                           m->n_user_mtus * sizeof *m->user_mtus);
    model_init_memory(m, NULL);

    LIST_FOR_EACH (port, node, &mempools.ports) {
        struct mempool_port *copy = xmemdup(port, sizeof *port);

        ovs_list_push_back(&m->ports, &copy->node);
    }
    LIST_FOR_EACH (pool, node, &mempools.pools) {
        struct mempool *copy = xmemdup(pool, sizeof *pool);
        const struct mempool_port *owner = NULL;

        copy->mp = NULL;
        copy->n_left = 0;
        ovs_list_push_back(&m->pools, &copy->node);
        LIST_FOR_EACH (port, node, &m->ports) {
            if (port->pool == pool) {
                port->pool = copy;
            }
            if (port->next_pool == pool) {
                port->next_pool = copy;
                owner = port;
            }
        }
        copy->key.owner = pool->key.owner ? owner : NULL;
    }
    return m;
}

/* Adds to 'm' a port with 'needs'.  Returns 0 if successful, otherwise a
 * positive errno value. */
int
mempools_model_add(struct mempools *m, const struct mempool_needs *needs)
{
    struct mempool_port *port = xzalloc(sizeof *port);
    char *reason;
    int error;

    port->next = *needs;
    ovs_list_push_back(&m->ports, &port->node);
    error = port_choose(m, port, &reason);
    if (error) {
        free(reason);
        ovs_list_remove(&port->node);
        free(port);
    } else {
        settle(m);
        port_commit(port);
    }
    return error;
}

/* Does for 'm' what mempools_run() does. */
void
mempools_model_run(struct mempools *m)
{
    sweep(m);
    settle(m);
    sweep(m);
}

/* Stores in 'info' the pools of 'm', but nothing about memory.  The caller
 * must free it with mempools_info_free(). */
void
mempools_model_get_info(const struct mempools *m, struct mempools_info *info)
{
    memset(info, 0, sizeof *info);
    get_pools(m, info);
}

/* Returns the bytes of 'node' that must have been free before the mempools of
 * 'm' got their mbufs so that they get all of them, or 0 if they got none.
 * Stores in '*overhead' which of these aren't for mbufs: some are for the
 * mempools themselves, some are left for devices, and others are left because
 * a pool has no more than twice what it leaves free. */
size_t
mempools_model_needed(const struct mempools *m, int node, size_t *overhead)
{
    const struct mempool *pool;
    size_t mbufs = 0, left = 0;

    LIST_FOR_EACH (pool, node, &m->pools) {
        if (m->memory_node(pool->key.numa_id) == node && pool->n_planned) {
            mbufs += bytes_of(m, pool, pool->n_planned);
            if (pool->n > size_of(m, pool, NULL).start) {
                left = MAX(left, bytes_of(m, pool, pool->n) / 2 + 1);
            }
        }
    }
    *overhead = m->used[node] ? m->used[node] - mbufs + KEPT_MEMORY + left : 0;
    return m->used[node] ? mbufs + *overhead : 0;
}

void
mempools_model_destroy(struct mempools *m)
{
    struct mempool_port *port;
    struct mempool *pool;

    LIST_FOR_EACH_POP (port, node, &m->ports) {
        free(port);
    }
    LIST_FOR_EACH_POP (pool, node, &m->pools) {
        free(pool);
    }
    free(m->user_mtus);
    free(m->free);
    free(m->used);
    free(m);
}

/* Makes the change 'plan', which may be NULL, in 'm', a copy of the switch;
 * if 'all_guests' is true, all guests are there. */
static void
model_change(struct mempools *m, const struct mempool_plan *plan,
             bool all_guests)
{
    struct mempool_port *port;

    if (plan) {
        LIST_FOR_EACH (port, node, &m->ports) {
            if (!port->next.vhost && port->next.n_txq == m->n_threads) {
                port->now.n_txq = port->next.n_txq = plan->n_threads;
            }
        }
        m->n_threads = plan->n_threads;
    }
    LIST_FOR_EACH (port, node, &m->ports) {
        bool changes = plan && plan->port
                       && !strcmp(netdev_get_name(port->netdev), plan->port);

        if (changes) {
            port->next = plan->needs;
        }
        if (changes || (all_guests && port->next.away)) {
            char *reason;

            port->next.away = port->next.away && !all_guests;
            if (port_choose(m, port, &reason)) {
                free(reason);
            }
            settle(m);
            port_commit(port);
        }
    }
    for (unsigned int i = 0; plan && i < plan->n_add; i++) {
        mempools_model_add(m, &plan->needs);
    }
    mempools_model_run(m);
}

/* Stores in 'info' the pools that there are, or if 'plan' is nonnull, those
 * that there would be after it, as found out with a copy of the switch, and
 * what they are missing.  The caller must free it with mempools_info_free().
 * Nothing changes, except that pools that nobody needs any more are freed. */
void
mempools_get_info(const struct mempool_plan *plan, struct mempools_info *info)
{
    struct mempools *now, *all;
    struct mempool *pool;

    ovs_mutex_lock(&mempool_mutex);
    sweep(&mempools);
    LIST_FOR_EACH (pool, node, &mempools.pools) {
        sample_free(pool);
    }
    now = model_copy();
    model_change(now, plan, false);
    all = model_copy();
    model_change(all, plan, true);

    memset(info, 0, sizeof *info);
    get_pools(plan ? now : &mempools, info);
    info->nodes = xcalloc(RTE_MAX_NUMA_NODES, sizeof *info->nodes);
    for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
        if (now->used[i] || all->used[i]) {
            size_t free_ = free_bytes(&mempools, i);
            size_t overhead;

            info->nodes[info->n_nodes++] = (struct mempools_node_info) {
                .node = i,
                .free = free_,
                .missing = now->used[i],
                .fits = mempools_model_needed(now, i, &overhead) <= free_,
                .missing_all = all->used[i],
                .fits_all = mempools_model_needed(all, i, &overhead) <= free_,
            };
        }
    }
    mempools_model_destroy(now);
    mempools_model_destroy(all);
    ovs_mutex_unlock(&mempool_mutex);
}
