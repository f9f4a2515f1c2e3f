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

#include "jumbo-info.h"

#include <rte_config.h>

#include "jumbo-frame.h"
#include "jumbo-memory.h"
#include "jumbo-pool-private.h"
#include "netdev.h"
#include "svec.h"
#include "util.h"

/* Returns the bytes on 'memory_node' that pools of 'layout' are missing. */
static size_t
missing_memory(const struct jumbo_wanted *layout, int memory_node)
    OVS_REQUIRES(jumbo_mutex)
{
    size_t size = 0;

    for (size_t i = 0; i < layout->n; i++) {
        const struct jumbo_layout_pool *wanted = &layout->pools[i];

        if (jumbo_memory_node(wanted->key.numa_id) == memory_node) {
            const struct jumbo_pool *pool = jumbo_pool_find(wanted);

            size += jumbo_pool_more_size(pool, wanted,
                                         jumbo_pool_missing(pool, wanted));
        }
    }
    return size;
}

/* Returns true if pools on 'memory_node' that are missing mbufs may not have
 * all of them in the memory that there is, as 'kind' assumes, and after 'plan'
 * if that is nonnull. */
static bool
is_limited(enum jumbo_wanted_kind kind, const struct jumbo_plan *plan,
           int memory_node)
    OVS_REQUIRES(jumbo_mutex)
{
    /* The same pools in the same order. */
    struct jumbo_wanted complete = jumbo_wanted_create(kind | JUMBO_COMPLETE,
                                                       plan);
    struct jumbo_wanted now = jumbo_wanted_create(kind, plan);
    bool limited = false;

    for (size_t i = 0; i < complete.n; i++) {
        const struct jumbo_layout_pool *wanted = &complete.pools[i];

        limited |= (jumbo_memory_node(wanted->key.numa_id) == memory_node
                    && jumbo_pool_missing(jumbo_pool_find(wanted), wanted)
                    && now.pools[i].target < wanted->target);
    }
    jumbo_wanted_destroy(&now);
    jumbo_wanted_destroy(&complete);
    return limited;
}

static int
compare_infos(const void *a_, const void *b_)
{
    const struct jumbo_pool_info *a = a_;
    const struct jumbo_pool_info *b = b_;

    return a->numa_id != b->numa_id ? a->numa_id - b->numa_id
           : a->buffer_size - b->buffer_size;
}

/* Puts the pools in 'info' into the order in which they are shown. */
void
jumbo_pools_sort(struct jumbo_pools_info *info)
{
    qsort(info->pools, info->n, sizeof *info->pools, compare_infos);
}

/* Returns information about what is 'wanted'. */
struct jumbo_pool_info
jumbo_pool_info(const struct jumbo_layout_pool *wanted)
{
    return (struct jumbo_pool_info) {
        .numa_id = wanted->key.numa_id,
        .buffer_size = wanted->key.buffer_size,
        .min_mtu = wanted->key.own_size
                   ? jumbo_own_min_mtu(wanted->key.buffer_size)
                   : jumbo_min_mtu(wanted->key.buffer_size),
        .max_mtu = jumbo_max_mtu(wanted->key.buffer_size),
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
static struct jumbo_pool_info
get_info(struct jumbo_pool *pool, const struct jumbo_layout_pool *wanted)
    OVS_REQUIRES(jumbo_mutex)
{
    struct jumbo_layout_pool unwanted = { .limit = 0 };
    struct jumbo_pool_info info;

    if (!wanted) {
        unwanted.key = pool->key;
        unwanted.grows_in_place = pool->grows_in_place;
    }
    info = jumbo_pool_info(wanted ? wanted : &unwanted);
    if (wanted) {
        info.n_missing = jumbo_pool_missing(pool, wanted);
        info.missing_size = jumbo_layout_pool_size(wanted, info.n_missing);
    }
    if (pool) {
        jumbo_pool_check_lowest(pool);
        info.replaced = pool->replaced;
        info.n_mbufs = jumbo_pool_mbufs(pool);
        info.n_in_use = info.n_mbufs - jumbo_memory_avail(pool->mp);
        info.lowest = pool->lowest;
        info.n_failed = jumbo_memory_n_failed(pool->mp);
        info.size = jumbo_memory_size(pool->mp);
    }
    return info;
}

/* Adds to 'info' the ports of 'layout' that are to receive into 'wanted'. */
static void
add_ports(struct jumbo_pool_info *info, const struct jumbo_wanted *layout,
          const struct jumbo_layout_pool *wanted)
    OVS_REQUIRES(jumbo_mutex)
{
    size_t n_known = ovs_list_size(&jumbo_all_ports);

    for (size_t i = 0; i < layout->n_ports; i++) {
        const struct jumbo_layout_port *p = &layout->ports[i];

        if (p->next.away
            || jumbo_wanted_find(layout, &p->next, p->id) != wanted) {
            continue;
        }
        if (i >= n_known) {
            info->n_new_ports++;
        } else {
            const struct jumbo_port *port = p->id;

            svec_add(&info->ports, netdev_get_name(port->netdev));
        }
    }
}

/* Stores in 'info' the pools that there are, or if 'plan' is nonnull, those
 * that there would be after it.  The caller must free them with
 * jumbo_pools_free().  Nothing changes, except that pools that nobody needs
 * any more are freed. */
void
jumbo_pools_get(const struct jumbo_plan *plan, struct jumbo_pools_info *info)
{
    struct jumbo_wanted all_guests, layout;
    struct jumbo_pool *pool;
    size_t max;

    ovs_mutex_lock(&jumbo_mutex);
    jumbo_pools_sweep();
    all_guests = jumbo_wanted_create(JUMBO_ALL_GUESTS, plan);
    layout = jumbo_wanted_create(JUMBO_COMPLETE, plan);
    max = layout.n + ovs_list_size(&jumbo_all_pools);
    *info = (struct jumbo_pools_info) {
        .pools = xcalloc(max, sizeof *info->pools),
        .nodes = xcalloc(RTE_MAX_NUMA_NODES, sizeof *info->nodes),
    };

    for (size_t i = 0; i < layout.n; i++) {
        const struct jumbo_layout_pool *wanted = &layout.pools[i];
        struct jumbo_pool_info *p = &info->pools[info->n++];

        *p = get_info(jumbo_pool_find(wanted), wanted);
        add_ports(p, &layout, wanted);
    }
    /* Pools that nobody is to have any more. */
    LIST_FOR_EACH (pool, node, &jumbo_all_pools) {
        bool wanted = false;

        for (size_t i = 0; i < layout.n; i++) {
            wanted = wanted || jumbo_pool_find(&layout.pools[i]) == pool;
        }
        if (!wanted) {
            info->pools[info->n++] = get_info(pool, NULL);
        }
    }
    jumbo_pools_sort(info);

    for (int node = 0; node < RTE_MAX_NUMA_NODES; node++) {
        struct jumbo_memory_info m = {
            .node = node,
            .missing = missing_memory(&layout, node),
            .missing_all = missing_memory(&all_guests, node),
        };

        if (m.missing || m.missing_all) {
            size_t left;

            m.free = jumbo_memory_free(node);
            left = m.free - MIN(m.free, JUMBO_KEPT_MEMORY);
            m.limited = (m.missing > left
                         || is_limited(JUMBO_AFTER, plan, node));
            m.limited_all = (m.missing_all > left
                             || is_limited(JUMBO_AFTER | JUMBO_GUESTS, plan,
                                           node));
            info->nodes[info->n_nodes++] = m;
        }
    }
    jumbo_wanted_destroy(&layout);
    jumbo_wanted_destroy(&all_guests);
    ovs_mutex_unlock(&jumbo_mutex);
}

void
jumbo_pools_free(struct jumbo_pools_info *info)
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
jumbo_port_get_needs(const char *name, struct jumbo_needs *needs)
{
    struct jumbo_port *port;
    bool found = false;

    ovs_mutex_lock(&jumbo_mutex);
    LIST_FOR_EACH (port, node, &jumbo_all_ports) {
        if (!strcmp(netdev_get_name(port->netdev), name)) {
            *needs = port->now;
            found = true;
            break;
        }
    }
    ovs_mutex_unlock(&jumbo_mutex);
    return found;
}

/* Returns the number of PMD threads, plus one for the main thread. */
unsigned int
jumbo_n_threads(void)
{
    unsigned int n;

    ovs_mutex_lock(&jumbo_mutex);
    n = jumbo_settings.n_threads;
    ovs_mutex_unlock(&jumbo_mutex);
    return n;
}

/* Stores in '*lowest' how few mbufs of the pool of 'port' were free, apart
 * from those in threads' caches, since it has its size, and in '*n_failed' how
 * often a thread got none.  Returns false if the port has no pool. */
bool
jumbo_port_get_use(const struct jumbo_port *port, uint64_t *lowest,
                   uint64_t *n_failed)
{
    struct jumbo_pool *pool;

    ovs_mutex_lock(&jumbo_mutex);
    pool = port->pool;
    if (pool) {
        jumbo_pool_check_lowest(pool);
        *lowest = pool->lowest;
        *n_failed = jumbo_memory_n_failed(pool->mp);
    }
    ovs_mutex_unlock(&jumbo_mutex);
    return pool != NULL;
}

/* Stores in '*buffer_size' the bytes of a buffer, in '*size' those of all
 * mbufs, and in '*n_mbufs' and '*n_missing' the numbers of mbufs that the pool
 * of 'port' has, and is to get when there is memory.  Returns false if the
 * port has no pool. */
bool
jumbo_port_get_pool(const struct jumbo_port *port, int *buffer_size,
                    size_t *size, uint64_t *n_mbufs, uint64_t *n_missing)
{
    const struct jumbo_pool *pool;

    ovs_mutex_lock(&jumbo_mutex);
    pool = port->pool;
    if (pool) {
        *buffer_size = pool->key.buffer_size;
        *size = jumbo_memory_size(pool->mp);
        *n_mbufs = jumbo_pool_mbufs(pool);
        *n_missing = pool->n_missing;
    }
    ovs_mutex_unlock(&jumbo_mutex);
    return pool != NULL;
}
