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

#include "dpdk-mempool-private.h"

#include <rte_config.h>
#include <rte_mempool.h>

#include "dpdk-memory.h"
#include "dpdk-mempool-demand.h"
#include "netdev-dpdk-compat.h"
#include "netdev.h"
#include "userspace-tso.h"
#include "util.h"

struct ovs_mutex mempool_mutex = OVS_MUTEX_INITIALIZER;
struct ovs_list mempool_all_pools = OVS_LIST_INITIALIZER(&mempool_all_pools);
struct ovs_list mempool_all_ports = OVS_LIST_INITIALIZER(&mempool_all_ports);
struct mempool_settings mempool_settings = {
    .n_threads = 1,             /* The main one. */
    .max_frags = 1000,          /* As in ipf.c. */
};

/* Returns the bytes that 'memory_node' has for mempools, used or not. */
static size_t
memory_size(int memory_node)
    OVS_REQUIRES(mempool_mutex)
{
    size_t size = dpdk_memory_free_bytes(memory_node);
    const struct mempool *pool;

    LIST_FOR_EACH (pool, node, &mempool_all_pools) {
        if (dpdk_memory_node(pool->key.numa_id) == memory_node) {
            size += dpdk_memory_size(pool->mp)
                    + dpdk_memory_overhead(pool->mp);
        }
    }
    return size;
}

/* Returns what 'port' has and is going to have, after 'plan' if that is
 * nonnull. */
static struct mempool_layout_port
layout_port(const struct mempool_port *port, const struct mempool_plan *plan)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool_layout_port p = { port->now, port->next, port };

    if (plan && plan->port
        && !strcmp(netdev_get_name(port->netdev), plan->port)) {
        p.next = plan->needs;
    } else if (plan && p.next.n_txq) {
        uint64_t tx_descs = (p.next.tx_descs / p.next.n_txq
                             * plan->n_threads);

        if (p.next.own_pool) {
            p.next.old_mbufs += tx_descs - p.next.old_tx_descs;
        }
        if (p.next.n_txq == mempool_settings.n_threads) {
            p.next.tx_descs = tx_descs;
        }
    }
    return p;
}

/* Returns the input for the demand that all pools of a switch share. */
struct mempool_demand_input
mempools_demand_input(unsigned int n_threads, bool tso,
                      unsigned int flush_interval, unsigned int max_frags,
                      unsigned int headroom)
{
    return (struct mempool_demand_input) {
        .n_threads = n_threads,
        .cache_size = MEMPOOL_CACHE_SIZE,
        .n_segments = tso ? MEMPOOL_GSO_SEGMENTS : 1,
        .flush_interval = flush_interval,
        .max_frags = max_frags,
        .headroom = headroom,
    };
}

/* Returns the pools that the ports are to have, after 'plan' if that is
 * nonnull.  The caller must destroy it with mempool_wanted_destroy(). */
struct mempool_wanted
mempool_wanted_create(enum mempool_wanted_kind kind,
                      const struct mempool_plan *plan)
    OVS_REQUIRES(mempool_mutex)
{
    bool complete = kind & WANTED_COMPLETE;
    unsigned int n_add = plan ? plan->n_add : 0;
    size_t memory_sizes[RTE_MAX_NUMA_NODES] = { 0 };
    struct mempool_wanted layout = {
        .ports = xcalloc(ovs_list_size(&mempool_all_ports) + n_add,
                         sizeof *layout.ports),
    };
    struct mempool_layout_input in = {
        .ports = layout.ports,
        .all_guests = kind & WANTED_GUESTS,
        .can_grow = dpdk_memory_can_grow(),
        .demand = mempools_demand_input(
            plan ? plan->n_threads : mempool_settings.n_threads,
            userspace_tso_enabled(), mempool_settings.flush_interval,
            mempool_settings.frags_count ? mempool_settings.max_frags : 0,
            mempool_settings.headroom),
        .mbufs_size = dpdk_mbufs_size,
        .memory_node = dpdk_memory_node,
        .memory_sizes = complete ? NULL : memory_sizes,
    };
    const struct mempool_port *port;

    LIST_FOR_EACH (port, node, &mempool_all_ports) {
        layout.ports[layout.n_ports++] = layout_port(port, plan);
    }
    for (unsigned int i = 0; i < n_add; i++) {
        struct mempool_layout_port *p = &layout.ports[layout.n_ports++];

        p->next = plan->needs;
        p->id = p;
    }
    in.n_ports = layout.n_ports;
    for (size_t i = 0; kind & WANTED_AFTER && i < layout.n_ports; i++) {
        layout.ports[i].now = layout.ports[i].next;
    }
    for (size_t i = 0; !complete && i < layout.n_ports; i++) {
        const struct mempool_needs *needs[] = { &layout.ports[i].now,
                                                &layout.ports[i].next };

        for (int j = 0; j < ARRAY_SIZE(needs); j++) {
            int node = dpdk_memory_node(needs[j]->numa_id);

            if (!memory_sizes[node]) {
                memory_sizes[node] = memory_size(node);
            }
        }
    }
    layout.n = mempool_layout(&in, &layout.pools);
    return layout;
}

void
mempool_wanted_destroy(struct mempool_wanted *wanted)
{
    free(wanted->ports);
    free(wanted->pools);
}

/* Returns the pool for what is 'wanted', or NULL if there is none. */
struct mempool *
mempool_find(const struct mempool_layout_pool *wanted)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool *pool;

    LIST_FOR_EACH (pool, node, &mempool_all_pools) {
        if (!pool->replaced
            && mempool_key_equals(&pool->key, &wanted->key)) {
            return pool;
        }
    }
    return NULL;
}

/* Returns what the pool for 'port' with 'needs' is to be, or NULL if it needs
 * none. */
const struct mempool_layout_pool *
mempool_wanted_find(const struct mempool_wanted *wanted,
                    const struct mempool_needs *needs,
                    const struct mempool_port *port)
{
    struct mempool_key key = mempool_needs_key(needs, port);

    return mempool_layout_find(wanted->pools, wanted->n, &key);
}

/* Returns the mbufs that 'pool', which may be NULL, has. */
uint64_t
mempool_mbufs(const struct mempool *pool)
{
    return pool ? pool->mp->populated_size : 0;
}

/* Returns true if 'pool' can get mbufs while ports use it, up to what is
 * 'wanted'. */
bool
mempool_can_grow(const struct mempool *pool,
                 const struct mempool_layout_pool *wanted)
{
    return pool && pool->grows_in_place && wanted->grows_in_place
           && wanted->target <= pool->mp->size;
}

/* Returns the mbufs that 'pool', which may be NULL, must get for what is
 * 'wanted': in addition to its own if it can grow, otherwise all those of the
 * pool that replaces it.  One that grows in place is replaced, whatever it
 * has, if that isn't wanted any more, as soon as there is memory: a driver
 * that keeps a record of its memory may have one of only a part, or none. */
uint64_t
mempool_missing(const struct mempool *pool,
                const struct mempool_layout_pool *wanted)
{
    uint64_t n = mempool_mbufs(pool);

    return pool && pool->key.starts_once ? 0
           : mempool_can_grow(pool, wanted)
             ? wanted->target - MIN(n, wanted->target)
           : pool && n >= wanted->base
             && (wanted->grows_in_place || !pool->grows_in_place) ? 0
           : wanted->new_size;
}

/* Returns the bytes that 'n' mbufs of the pool for what is 'wanted' take. */
size_t
mempool_layout_pool_size(const struct mempool_layout_pool *wanted, uint64_t n)
{
    return dpdk_mbufs_size(wanted->key.numa_id, wanted->key.buffer_size,
                           wanted->grows_in_place, n);
}

/* Returns the bytes that the pool for what is 'wanted' takes for 'n' mbufs
 * more, or a new one with 'n', or 0 if 'n' is. */
size_t
mempool_more_size(const struct mempool *pool,
                  const struct mempool_layout_pool *wanted, uint64_t n)
{
    return !n ? 0
           : mempool_layout_pool_size(wanted, n)
             + (mempool_can_grow(pool, wanted) ? 0 : MEMPOOL_OVERHEAD);
}

/* Returns the bytes that the pool for what is 'wanted' takes to have its
 * minimum. */
size_t
mempool_start_size(const struct mempool *pool,
                   const struct mempool_layout_pool *wanted)
{
    uint64_t has = mempool_mbufs(pool);
    uint64_t kept = mempool_can_grow(pool, wanted) ? has : 0;

    return has >= wanted->minimum ? 0
           : mempool_more_size(pool, wanted, wanted->minimum - kept);
}
