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

#include "dpdk-mempool-info.h"

#include <rte_config.h>

#include "dpdk-frame.h"
#include "dpdk-memory.h"
#include "dpdk-mempool-private.h"
#include "netdev.h"
#include "svec.h"
#include "util.h"

/* Returns the bytes on 'memory_node' that pools of 'layout' are missing. */
static size_t
missing_memory(const struct mempool_wanted *layout, int memory_node)
    OVS_REQUIRES(mempool_mutex)
{
    size_t size = 0;

    for (size_t i = 0; i < layout->n; i++) {
        const struct mempool_layout_pool *wanted = &layout->pools[i];

        if (dpdk_memory_node(wanted->key.numa_id) == memory_node) {
            const struct mempool *pool = mempool_find(wanted);

            size += mempool_more_size(pool, wanted,
                                      mempool_missing(pool, wanted));
        }
    }
    return size;
}

/* Returns true if pools on 'memory_node' that are missing mbufs may not have
 * all of them in the memory that there is, as 'kind' assumes, and after 'plan'
 * if that is nonnull. */
static bool
is_limited(enum mempool_wanted_kind kind, const struct mempool_plan *plan,
           int memory_node)
    OVS_REQUIRES(mempool_mutex)
{
    /* The same pools in the same order. */
    struct mempool_wanted complete
        = mempool_wanted_create(kind | WANTED_COMPLETE, plan);
    struct mempool_wanted now = mempool_wanted_create(kind, plan);
    bool limited = false;

    for (size_t i = 0; i < complete.n; i++) {
        const struct mempool_layout_pool *wanted = &complete.pools[i];

        limited |= (dpdk_memory_node(wanted->key.numa_id) == memory_node
                    && mempool_missing(mempool_find(wanted), wanted)
                    && now.pools[i].target < wanted->target);
    }
    mempool_wanted_destroy(&now);
    mempool_wanted_destroy(&complete);
    return limited;
}

static int
compare_infos(const void *a_, const void *b_)
{
    const struct mempool_info *a = a_;
    const struct mempool_info *b = b_;

    return a->numa_id != b->numa_id ? a->numa_id - b->numa_id
           : a->buffer_size - b->buffer_size;
}

/* Puts the pools in 'info' into the order in which they are shown. */
void
mempools_info_sort(struct mempools_info *info)
{
    qsort(info->pools, info->n, sizeof *info->pools, compare_infos);
}

/* Returns information about what is 'wanted'. */
struct mempool_info
mempool_info(const struct mempool_layout_pool *wanted)
{
    return (struct mempool_info) {
        .numa_id = wanted->key.numa_id,
        .buffer_size = wanted->key.buffer_size,
        .min_mtu = wanted->key.own_size
                   ? dpdk_own_min_mtu(wanted->key.buffer_size)
                   : dpdk_min_mtu(wanted->key.buffer_size),
        .max_mtu = dpdk_max_mtu(wanted->key.buffer_size),
        .own = wanted->key.owner,
        .grows_in_place = wanted->grows_in_place,
        .starts_once = wanted->key.starts_once,
        .demand = wanted->demand,
        .limit = wanted->limit,
        .target = wanted->target,
        .ports = SVEC_EMPTY_INITIALIZER,
    };
}

/* Returns information about 'pool', which may be NULL, and about what it is to
 * be, 'wanted', which may be NULL if 'pool' isn't. */
static struct mempool_info
get_info(struct mempool *pool, const struct mempool_layout_pool *wanted)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool_layout_pool unwanted = { .limit = 0 };
    struct mempool_info info;

    if (!wanted) {
        unwanted.key = pool->key;
        unwanted.grows_in_place = pool->grows_in_place;
    }
    info = mempool_info(wanted ? wanted : &unwanted);
    if (wanted) {
        info.n_missing = mempool_missing(pool, wanted);
        info.missing_size = mempool_layout_pool_size(wanted, info.n_missing);
    }
    if (pool) {
        mempool_check_lowest(pool);
        info.replaced = pool->replaced;
        info.n_mbufs = mempool_mbufs(pool);
        info.n_in_use = info.n_mbufs - dpdk_memory_avail(pool->mp);
        info.lowest = pool->lowest;
        info.n_failed = dpdk_memory_n_failed(pool->mp);
        info.size = dpdk_memory_size(pool->mp);
    }
    return info;
}

/* Adds to 'info' the ports of 'layout' that are to receive into 'wanted'. */
static void
add_ports(struct mempool_info *info, const struct mempool_wanted *layout,
          const struct mempool_layout_pool *wanted)
    OVS_REQUIRES(mempool_mutex)
{
    size_t n_known = ovs_list_size(&mempool_all_ports);

    for (size_t i = 0; i < layout->n_ports; i++) {
        const struct mempool_layout_port *p = &layout->ports[i];

        if (p->next.away
            || mempool_wanted_find(layout, &p->next, p->id) != wanted) {
            continue;
        }
        if (i >= n_known) {
            info->n_new_ports++;
        } else {
            const struct mempool_port *port = p->id;

            svec_add(&info->ports, netdev_get_name(port->netdev));
        }
    }
}

/* Stores in 'info' the pools that there are, or if 'plan' is nonnull, those
 * that there would be after it.  The caller must free them with
 * mempools_info_free().  Nothing changes, except that pools that nobody needs
 * any more are freed. */
void
mempools_info_get(const struct mempool_plan *plan, struct mempools_info *info)
{
    struct mempool_wanted all_guests, layout;
    struct mempool *pool;
    size_t max;

    ovs_mutex_lock(&mempool_mutex);
    mempools_sweep();
    all_guests = mempool_wanted_create(WANTED_ALL_GUESTS, plan);
    layout = mempool_wanted_create(WANTED_COMPLETE, plan);
    max = layout.n + ovs_list_size(&mempool_all_pools);
    *info = (struct mempools_info) {
        .pools = xcalloc(max, sizeof *info->pools),
        .nodes = xcalloc(RTE_MAX_NUMA_NODES, sizeof *info->nodes),
    };

    for (size_t i = 0; i < layout.n; i++) {
        const struct mempool_layout_pool *wanted = &layout.pools[i];
        struct mempool_info *p = &info->pools[info->n++];

        *p = get_info(mempool_find(wanted), wanted);
        add_ports(p, &layout, wanted);
    }
    /* Pools that nobody is to have any more. */
    LIST_FOR_EACH (pool, node, &mempool_all_pools) {
        bool wanted = false;

        for (size_t i = 0; i < layout.n; i++) {
            wanted = wanted || mempool_find(&layout.pools[i]) == pool;
        }
        if (!wanted) {
            info->pools[info->n++] = get_info(pool, NULL);
        }
    }
    mempools_info_sort(info);

    for (int node = 0; node < RTE_MAX_NUMA_NODES; node++) {
        struct mempools_node_info m = {
            .node = node,
            .missing = missing_memory(&layout, node),
            .missing_all = missing_memory(&all_guests, node),
        };

        if (m.missing || m.missing_all) {
            size_t left;

            m.free = dpdk_memory_free_bytes(node);
            left = m.free - MIN(m.free, MEMPOOL_KEPT_MEMORY);
            m.limited = (m.missing > left
                         || is_limited(WANTED_AFTER, plan, node));
            m.limited_all = (m.missing_all > left
                             || is_limited(WANTED_AFTER | WANTED_GUESTS,
                                           plan, node));
            info->nodes[info->n_nodes++] = m;
        }
    }
    mempool_wanted_destroy(&layout);
    mempool_wanted_destroy(&all_guests);
    ovs_mutex_unlock(&mempool_mutex);
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

/* Stores in '*needs' what the port 'name' has.  Returns false if there is
 * no such port. */
bool
mempool_port_get_needs(const char *name, struct mempool_needs *needs)
{
    struct mempool_port *port;
    bool found = false;

    ovs_mutex_lock(&mempool_mutex);
    LIST_FOR_EACH (port, node, &mempool_all_ports) {
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
    n = mempool_settings.n_threads;
    ovs_mutex_unlock(&mempool_mutex);
    return n;
}

/* Stores in '*lowest' how few mbufs of the pool of 'port' were free, apart
 * from those in threads' caches, since it has its size, and in '*n_failed' how
 * often a thread got none.  Returns false if the port has no pool. */
bool
mempool_port_get_use(const struct mempool_port *port, uint64_t *lowest,
                     uint64_t *n_failed)
{
    struct mempool *pool;

    ovs_mutex_lock(&mempool_mutex);
    pool = port->pool;
    if (pool) {
        mempool_check_lowest(pool);
        *lowest = pool->lowest;
        *n_failed = dpdk_memory_n_failed(pool->mp);
    }
    ovs_mutex_unlock(&mempool_mutex);
    return pool != NULL;
}

/* Stores in '*buffer_size' the bytes of a buffer, in '*size' those of all
 * mbufs, and in '*n_mbufs' and '*n_missing' the numbers of mbufs that the pool
 * of 'port' has, and is to get when there is memory.  Returns false if the
 * port has no pool. */
bool
mempool_port_get_pool(const struct mempool_port *port, int *buffer_size,
                      size_t *size, uint64_t *n_mbufs, uint64_t *n_missing)
{
    const struct mempool *pool;

    ovs_mutex_lock(&mempool_mutex);
    pool = port->pool;
    if (pool) {
        *buffer_size = pool->key.buffer_size;
        *size = dpdk_memory_size(pool->mp);
        *n_mbufs = mempool_mbufs(pool);
        *n_missing = pool->n_missing;
    }
    ovs_mutex_unlock(&mempool_mutex);
    return pool != NULL;
}
