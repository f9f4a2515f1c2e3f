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

#include <errno.h>
#include <rte_errno.h>
#include <rte_mempool.h>
#include <string.h>

#include "dpdk-memory.h"
#include "dpdk-mempool-demand.h"
#include "dpdk-mempool-layout.h"
#include "netdev-provider.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "seq.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(dpdk_mempool);

/* The size of a pool's ring never changes: 8 bytes for each mbuf that the pool
 * can ever have, rounded up to a power of 2, as in any DPDK mempool.  If a
 * pool grows in place, its ring has room for all mbufs that its limit
 * allows, for 4 times its first target, since there may be more memory later,
 * and if ports share it, at least for MIN_SHARED_RING. */
#define MIN_SHARED_RING (1u << 18)

static atomic_bool frags_in_use = false; /* There was a fragment. */
static uint64_t seen_wake_seq;  /* wake_seq() in the last mempools_run(). */

/* Bytes on each node with which the last port refused there might have been
 * granted.  A port that was refused when it was added isn't known any more,
 * and is added again when Open vSwitch is configured next; it counts up to so
 * many mempools_run(), which is a minute. */
#define REFUSED_RUNS 12
static size_t refused[RTE_MAX_NUMA_NODES] OVS_GUARDED_BY(mempool_mutex);
static unsigned int refused_runs[RTE_MAX_NUMA_NODES]
    OVS_GUARDED_BY(mempool_mutex);

/* Pools. */

/* Returns true if 'port' with 'needs' is to have 'pool'. */
static bool
needs_pool(const struct mempool_needs *needs, const struct mempool_port *port,
           const struct mempool *pool)
{
    struct mempool_key key = mempool_needs_key(needs, port);

    return !pool->replaced && !needs->away
           && mempool_key_equals(&pool->key, &key);
}

static bool
pool_is_needed(const struct mempool *pool)
    OVS_REQUIRES(mempool_mutex)
{
    const struct mempool_port *port;

    if (pool->n_left) {
        return true;
    }
    LIST_FOR_EACH (port, node, &mempool_all_ports) {
        if (port->pool == pool || port->next_pool == pool
            || port->tried_pools[0] == pool || port->tried_pools[1] == pool
            || needs_pool(&port->now, port, pool)
            || needs_pool(&port->next, port, pool)) {
            return true;
        }
    }
    return false;
}

static void
pool_destroy(struct mempool *pool)
    OVS_REQUIRES(mempool_mutex)
{
    VLOG_INFO("Freeing mempool \"%s\"", pool->mp->name);
    ovs_list_remove(&pool->node);
    rte_mempool_free(pool->mp);
    free(pool);
}

/* Frees the pools that nobody needs and whose mbufs are all back. */
void
mempools_sweep(void)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool *pool;

    LIST_FOR_EACH_SAFE (pool, node, &mempool_all_pools) {
        if (!pool_is_needed(pool) && dpdk_memory_is_full(pool->mp)) {
            pool_destroy(pool);
        }
    }
}

/* To be called when 'pool' has got mbufs: what it had before doesn't count. */
static void
forget_lowest(struct mempool *pool)
    OVS_REQUIRES(mempool_mutex)
{
    dpdk_memory_take_lowest(pool->mp);
    pool->lowest = UINT32_MAX;
    pool->is_low = false;
}

/* Finds out how few mbufs of 'pool' were free, and warns the user if they were
 * fewer than all threads may take at once. */
void
mempool_check_lowest(struct mempool *pool)
    OVS_REQUIRES(mempool_mutex)
{
    uint32_t lowest = dpdk_memory_take_lowest(pool->mp);

    pool->lowest = MIN(pool->lowest, lowest);
    if (pool->lowest < MEMPOOL_BURST * mempool_settings.n_threads
        && !pool->is_low) {
        pool->is_low = true;
        VLOG_WARN("Mempool \"%s\" is running low: only %"PRIu32" of its "
                  "%"PRIu64" mbufs were free",
                  pool->mp->name, pool->lowest, mempool_mbufs(pool));
    }
}

/* Returns a new mempool for what is 'wanted', with at most 'n' and at least
 * 'at_least' mbufs, or NULL. */
static struct rte_mempool *
create_mempool(const struct mempool_layout_pool *wanted, uint64_t n,
               uint64_t at_least)
{
    static unsigned int serial;
    struct rte_mempool *mp;
    char name[RTE_MEMPOOL_NAMESIZE];

    snprintf(name, sizeof name, "ovs%d-%d-%u", wanted->key.numa_id,
             wanted->key.buffer_size, serial++);
    if (wanted->grows_in_place) {
        uint64_t ring = MAX(wanted->limit + 1, 4 * wanted->target);

        ring = MAX(ring, wanted->key.owner ? 0 : MIN_SHARED_RING);
        mp = dpdk_memory_create_empty(name, wanted->key.numa_id,
                                      wanted->key.buffer_size,
                                      ROUND_UP_POW2(ring) - 1);
        if (mp && (!dpdk_memory_add(mp, n, at_least)
                   || mp->populated_size < at_least)) {
            rte_mempool_free(mp);
            rte_errno = ENOMEM;
            mp = NULL;
        }
        return mp;
    }

    for (;;) {
        mp = dpdk_memory_create(name, wanted->key.numa_id,
                                wanted->key.buffer_size, n);
        if (mp || rte_errno != ENOMEM || n <= at_least) {
            return mp;
        }
        n = MAX(n / 2, at_least);
    }
}

/* Returns a new pool for what is 'wanted', with at most 'n' and at least
 * 'at_least' mbufs.  Returns NULL and sets rte_errno if that fails. */
static struct mempool *
pool_create(const struct mempool_layout_pool *wanted, uint64_t n,
            uint64_t at_least)
    OVS_REQUIRES(mempool_mutex)
{
    struct rte_mempool *mp = create_mempool(wanted, n, at_least);
    struct mempool *pool;

    if (!mp) {
        return NULL;
    }
    pool = xzalloc(sizeof *pool);
    pool->key = wanted->key;
    pool->grows_in_place = wanted->grows_in_place;
    pool->mp = mp;
    pool->lowest = UINT32_MAX;
    ovs_list_push_back(&mempool_all_pools, &pool->node);
    return pool;
}

/* Gives the pool for what is 'wanted' up to 'n' more mbufs, or replaces it by
 * one with up to 'n'.  If it has fewer than 'at_least' afterwards, returns a
 * positive errno value, otherwise 0. */
static int
pool_complete(const struct mempool_layout_pool *wanted, uint64_t n,
              uint64_t at_least)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool *old = mempool_find(wanted);
    struct mempool *pool = old;
    uint64_t has = mempool_mbufs(old);

    if (mempool_can_grow(old, wanted)) {
        dpdk_memory_add(old->mp, n, at_least - MIN(has, at_least));
    } else {
        /* Replacing a pool isn't worth it for few mbufs, unless its own are
         * the wrong ones. */
        uint64_t least = !has || has < at_least
                         || old->grows_in_place > wanted->grows_in_place
                         ? at_least : MIN(wanted->base, has + has / 2);

        pool = n >= least ? pool_create(wanted, n, least) : NULL;
        if (!pool) {
            return has < at_least ? ENOMEM : 0;
        }
        if (old) {
            old->replaced = true;
            /* What was reported to be missing holds for the new one, so that
             * it is reported when it is there. */
            pool->n_missing = old->n_missing;
        }
    }
    if (mempool_mbufs(pool) != has) {
        forget_lowest(pool);
        VLOG_INFO("Mempool \"%s\" has %"PRIu64" mbufs now", pool->mp->name,
                  mempool_mbufs(pool));
    }
    return mempool_mbufs(pool) < at_least ? ENOMEM : 0;
}

/* Reports, in the log and in the ports' status, what the pool for 'wanted',
 * which assumes that there is enough memory, has and is missing.  'now' is the
 * same with the memory that there is, or NULL. */
static void
tell_size(const struct mempool_layout_pool *wanted,
          const struct mempool_layout_pool *now)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool *pool = mempool_find(wanted);
    bool enough = mempool_mbufs(pool) >= (mempool_can_grow(pool, wanted)
                                          ? wanted->target : wanted->base);
    uint64_t n_missing = enough ? 0 : mempool_missing(pool, wanted);
    struct mempool_port *port;

    if (!pool
        || (pool->n_mbufs == mempool_mbufs(pool)
            && pool->n_missing == n_missing)) {
        return;
    }
    if (n_missing && !pool->n_missing) {
        int node = dpdk_memory_node(wanted->key.numa_id);
        size_t size = mempool_layout_pool_size(wanted, n_missing);

        VLOG_WARN("Mempool \"%s\" has %"PRIu64" of the %"PRIu64" mbufs that "
                  "it should have, %s memory on NUMA node %d; the others, "
                  "%.1f MB, follow when memory becomes available",
                  pool->mp->name, mempool_mbufs(pool), wanted->target,
                  now && !mempool_missing(pool, now)
                  && dpdk_memory_free_bytes(node) >= size + MEMPOOL_KEPT_MEMORY
                  ? "the most that Open vSwitch's old formulas allow with the"
                  : "for lack of",
                  node, size / 1e6);
    } else if (!n_missing && pool->n_missing) {
        VLOG_INFO("Mempool \"%s\" has all its mbufs", pool->mp->name);
    }
    pool->n_mbufs = mempool_mbufs(pool);
    pool->n_missing = n_missing;
    LIST_FOR_EACH (port, node, &mempool_all_ports) {
        if (port->pool == pool) {
            netdev_change_seq_changed(port->netdev);
        }
    }
}

/* Returns a message about too little memory on 'memory_node' for a port that
 * needs 'needed' bytes and is refused, and remembers the refusal. */
static char *
shortage(int memory_node, size_t needed)
    OVS_REQUIRES(mempool_mutex)
{
    size_t free_ = dpdk_memory_free_bytes(memory_node);

    refused[memory_node] = MAX(needed, free_ + 1);
    refused_runs[memory_node] = 0;
    return xasprintf("%.1f MB of memory for mbufs is needed on NUMA node %d, "
                     "where %.1f MB is free%s", needed / 1e6, memory_node,
                     free_ / 1e6,
                     free_ >= needed ? ", but too fragmented" : "");
}

/* Forgets refusals that no port waits for any more. */
static void
forget_refusals(void)
    OVS_REQUIRES(mempool_mutex)
{
    const struct mempool_port *port;

    LIST_FOR_EACH (port, node, &mempool_all_ports) {
        if (port->lacks) {
            refused_runs[port->lacks_node] = 0;
        }
    }
    for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
        if (++refused_runs[i] > REFUSED_RUNS) {
            refused[i] = 0;
        }
    }
}

/* Returns true if all ports that receive into 'pool', except for 'stops',
 * which may be NULL, can get another pool while they run. */
static bool
can_be_left(const struct mempool *pool, const struct mempool_port *stops)
    OVS_REQUIRES(mempool_mutex)
{
    const struct mempool_port *port;

    LIST_FOR_EACH (port, node, &mempool_all_ports) {
        if ((port->pool == pool || port->next_pool == pool)
            && port != stops && !port->switches) {
            return false;
        }
    }
    return true;
}

/* Returns the pool for 'wanted' if it has more than half again as many mbufs
 * as it is to have when all guests are there, and a smaller one may replace it
 * when the port 'stops', which may be NULL, is stopped; otherwise NULL. */
static struct mempool *
find_too_large(const struct mempool_layout_pool *wanted,
               const struct mempool_wanted *all_guests,
               const struct mempool_port *stops)
    OVS_REQUIRES(mempool_mutex)
{
    const struct mempool_layout_pool *most
        = mempool_layout_find(all_guests->pools, all_guests->n, &wanted->key);
    struct mempool *pool = mempool_find(wanted);

    return pool && most && !pool->key.starts_once
           && mempool_mbufs(pool) > MAX(most->new_size,
                                        most->target + most->target / 2)
           && can_be_left(pool, stops) ? pool : NULL;
}

/* Returns 'wanted' for a pool that is to replace 'pool' while that is in use:
 * it must start with as many mbufs as were ever taken from 'pool' at once. */
static struct mempool_layout_pool
smaller_pool(const struct mempool_layout_pool *wanted, struct mempool *pool)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool_layout_pool smaller = *wanted;
    uint64_t n = mempool_mbufs(pool);

    mempool_check_lowest(pool);
    smaller.minimum = MIN(MAX(wanted->minimum, n - MIN(n, pool->lowest)),
                          wanted->target);
    smaller.spare_size = smaller.new_size;
    return smaller;
}

/* Returns the bytes on 'memory_node', of which 'free_' are free, that it takes
 * to replace pools that are too large, except for the one like 'except'. */
static size_t
replacing_memory(const struct mempool_wanted *all_guests, int memory_node,
                 size_t free_, const struct mempool_layout_pool *except)
    OVS_REQUIRES(mempool_mutex)
{
    size_t size = 0;

    for (size_t i = 0; i < all_guests->n; i++) {
        const struct mempool_layout_pool *wanted = &all_guests->pools[i];
        struct mempool *pool = find_too_large(wanted, all_guests, NULL);

        if (pool && pool->tried != free_
            && dpdk_memory_node(wanted->key.numa_id) == memory_node
            && !mempool_key_equals(&wanted->key, &except->key)) {
            struct mempool_layout_pool smaller = smaller_pool(wanted, pool);

            size += mempool_more_size(NULL, &smaller, smaller.minimum);
        }
    }
    return size;
}

/* Returns the bytes on 'memory_node' that pools of 'layout' are missing for
 * their minimum, except for the one like 'except', which may be NULL. */
static size_t
reserved_memory(const struct mempool_wanted *layout, int memory_node,
                const struct mempool_layout_pool *except)
    OVS_REQUIRES(mempool_mutex)
{
    size_t size = 0;

    for (size_t i = 0; i < layout->n; i++) {
        const struct mempool_layout_pool *wanted = &layout->pools[i];

        if (dpdk_memory_node(wanted->key.numa_id) == memory_node
            && !(except && mempool_key_equals(&wanted->key,
                                              &except->key))) {
            size += mempool_start_size(mempool_find(wanted), wanted);
        }
    }
    return size;
}

/* Makes the pool for what is 'wanted' as large as it is to be, or as large as
 * it can be while it leaves memory for devices, for replacing pools that are
 * too large, and for the minimum of other pools, including those that are
 * needed only when all guests are there.  One that can't grow gets more if
 * that takes no more than a quarter of this memory, and leaves enough for the
 * port that was refused last for lack of it.  Returns 0 if the pool has its
 * minimum, otherwise a positive errno value and, if 'errorp' is nonnull, a
 * message for the user, which the caller must free. */
static int
grow_one(const struct mempool_layout_pool *wanted,
         const struct mempool_wanted *all_guests, char **errorp)
    OVS_REQUIRES(mempool_mutex)
{
    int node = dpdk_memory_node(wanted->key.numa_id);
    struct mempool *pool = mempool_find(wanted);
    uint64_t n = mempool_missing(pool, wanted);
    uint64_t has = mempool_mbufs(pool);
    size_t overhead = mempool_can_grow(pool, wanted) ? 0
                      : MEMPOOL_OVERHEAD;
    size_t needed = mempool_start_size(pool, wanted);
    size_t free_, left, replacing;
    int error = 0;

    if (!n) {
        return 0;
    }
    free_ = dpdk_memory_free_bytes(node);
    if (pool && pool->tried == free_ && has >= wanted->minimum) {
        return 0;
    }

    left = reserved_memory(all_guests, node, wanted) + MEMPOOL_KEPT_MEMORY;
    left = MAX(free_ - MIN(left, free_), MIN(needed, free_));
    replacing = replacing_memory(all_guests, node, free_, wanted);
    left -= left >= needed + replacing ? replacing : 0;
    left -= MIN(left, overhead);
    if (mempool_layout_pool_size(wanted, n) > left) {
        n = mempool_mbufs_in(dpdk_mbufs_size, wanted->key.numa_id,
                             wanted->key.buffer_size, wanted->grows_in_place,
                             left);
    } else if (overhead) {
        size_t size = mempool_layout_pool_size(wanted, wanted->spare_size);

        if (size <= left / 4 && size + overhead + refused[node] <= free_) {
            n = wanted->spare_size;
        }
    }

    /* Don't try in vain: DPDK clears memory that is given back. */
    if (needed > free_) {
        error = ENOMEM;
    } else if (n) {
        error = pool_complete(wanted, n, wanted->minimum);
    }
    pool = mempool_find(wanted);
    if (pool) {
        pool->tried = mempool_missing(pool, wanted)
                      ? dpdk_memory_free_bytes(node) : 0;
    }
    if (error && errorp) {
        *errorp = shortage(node, needed);
    }
    return error;
}

/* Returns true if a port or a pool of 'now' needs more memory of 'memory_node'
 * than it could get with 'free_' bytes free.  A pool that is missing mbufs and
 * hasn't tried to get them may be about to grow. */
static bool
memory_is_short(const struct mempool_wanted *now, int memory_node,
                size_t free_)
    OVS_REQUIRES(mempool_mutex)
{
    for (size_t i = 0; i < now->n; i++) {
        const struct mempool_layout_pool *wanted = &now->pools[i];
        const struct mempool *pool = mempool_find(wanted);

        if (dpdk_memory_node(wanted->key.numa_id) == memory_node
            && pool && pool->tried >= free_
            && mempool_missing(pool, wanted)) {
            return true;
        }
    }
    return refused[memory_node] > free_;
}

/* Replaces the pool for 'wanted', one of 'now', if it is too large and memory
 * is short, by a smaller one, which gets the rest of its mbufs when the old
 * one is freed.  Its ports get it while they run, except for 'stops', which
 * may be NULL. */
static void
shrink_one(const struct mempool_layout_pool *wanted,
           const struct mempool_wanted *now,
           const struct mempool_wanted *all_guests,
           const struct mempool_port *stops)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool *pool = find_too_large(wanted, all_guests, stops);
    int node = dpdk_memory_node(wanted->key.numa_id);
    struct mempool_layout_pool smaller;
    size_t free_;

    if (!pool) {
        return;
    }
    free_ = dpdk_memory_free_bytes(node);
    if (pool->tried == free_ || !memory_is_short(now, node, free_)) {
        return;
    }
    smaller = smaller_pool(wanted, pool);
    pool->replaced = true;
    if (grow_one(&smaller, all_guests, NULL)) {
        pool->replaced = false;
        pool->tried = dpdk_memory_free_bytes(node);
    } else {
        VLOG_INFO("Mempool \"%s\" with %"PRIu64" mbufs is larger than needed; "
                  "replacing it, since NUMA node %d is short of memory",
                  pool->mp->name, mempool_mbufs(pool), node);
    }
}

/* Makes all pools as large as they are to be, as far as there is memory, or
 * replaces them. */
static void
grow(void)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool_wanted all_guests
        = mempool_wanted_create(WANTED_ALL_GUESTS, NULL);
    struct mempool_wanted complete
        = mempool_wanted_create(WANTED_COMPLETE, NULL);
    struct mempool_wanted now = mempool_wanted_create(WANTED_NOW, NULL);

    for (size_t i = 0; i < now.n; i++) {
        grow_one(&now.pools[i], &all_guests, NULL);
    }
    for (size_t i = 0; i < now.n; i++) {
        shrink_one(&now.pools[i], &now, &all_guests, NULL);
    }
    for (size_t i = 0; i < complete.n; i++) {
        tell_size(&complete.pools[i],
                  mempool_layout_find(now.pools, now.n,
                                      &complete.pools[i].key));
    }
    mempool_wanted_destroy(&now);
    mempool_wanted_destroy(&complete);
    mempool_wanted_destroy(&all_guests);
}

/* Ports. */

/* Returns the bytes of memory that are free where the pool of 'port' is, or 1
 * if there are none. */
static size_t
free_memory(const struct mempool_port *port)
{
    return MAX(dpdk_memory_free_bytes(dpdk_memory_node(port->now.numa_id)), 1);
}

/* Requests reconfiguration of the ports that wait for a pool that is there
 * now, and of a port that receives into a replaced pool and doesn't get the
 * new one while it runs.  Returns that port, or NULL.
 *
 * Ports that are reconfigured together all stop until the last one has its
 * pool, so the next one is asked when this one has it.  A port that couldn't
 * be reconfigured for lack of memory is asked again when there is more or less
 * of it. */
static struct mempool_port *
reconfigure_ports(void)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool_port *to_move = NULL;
    struct mempool_port *port;

    LIST_FOR_EACH (port, node, &mempool_all_ports) {
        if (port->next_pool && port->next_pool->replaced && !port->switches
            && port->tried != free_memory(port)
            && (!to_move || port->n_asked < to_move->n_asked)) {
            to_move = port;
        }
        if (port->waits) {
            struct mempool *pool;

            LIST_FOR_EACH (pool, node, &mempool_all_pools) {
                if (needs_pool(&port->next, port, pool)) {
                    port->waits = false;
                    netdev_request_reconfigure(port->netdev);
                }
            }
        }
    }
    if (to_move) {
        netdev_request_reconfigure(to_move->netdev);
    }
    return to_move;
}

/* To be called when the demand has changed. */
static void
demand_changed(void)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool *pool;

    LIST_FOR_EACH (pool, node, &mempool_all_pools) {
        pool->tried = 0;
    }
    grow();
    reconfigure_ports();
}

/* Provides the pool that 'port', which stops for it if 'stops', is to receive
 * into next, with at least its minimum.  'prepared' is the pool that was
 * prepared before, or NULL.  Returns 0 if successful, otherwise a positive
 * errno value and, in '*errorp', a message for the user, which the caller must
 * free. */
static int
prepare_pool(struct mempool_port *port, bool stops,
             const struct mempool *prepared, char **errorp)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool *found;
    struct mempool_wanted all_guests
        = mempool_wanted_create(WANTED_ALL_GUESTS, NULL);
    struct mempool_wanted layout = mempool_wanted_create(WANTED_NOW, NULL);
    const struct mempool_layout_pool *wanted;
    bool may_share;
    int error = 0;

    wanted = mempool_wanted_find(&layout, &port->next, port);
    if (wanted && !port->next.away) {
        if (stops) {
            shrink_one(wanted, &layout, &all_guests, port);
        }
        found = mempool_find(wanted);
        if (!found) {
            VLOG_INFO("Port %s: Requesting a mempool with buffers of %d bytes "
                      "on NUMA node %d", netdev_get_name(port->netdev),
                      wanted->key.buffer_size, wanted->key.numa_id);
        } else if (found != port->pool && found != prepared) {
            VLOG_INFO("Port %s: Reusing mempool \"%s\"",
                      netdev_get_name(port->netdev), found->mp->name);
        }
        /* If it holds no more than before, it may share what there is. */
        may_share = found
                    && (found == port->pool
                        ? mempool_needs_filled(&port->next)
                          <= mempool_needs_filled(&port->now)
                        : !port->pool && !mempool_needs_filled(&port->next));
        error = grow_one(wanted, &all_guests, may_share ? NULL : errorp);
        if (may_share) {
            error = 0;
        }
        found = mempool_find(wanted);
        port->next_pool = error ? NULL : found;
    } else {
        port->next_pool = NULL;
    }
    mempool_wanted_destroy(&layout);
    mempool_wanted_destroy(&all_guests);
    return error;
}

/* Returns 0 if there is memory for the minimum of the pool that 'port' needs
 * when all guests are there; on any NUMA node, as long as it isn't known where
 * its own guest is.  Otherwise, returns a positive errno value and stores in
 * '*errorp' a message for the user, which the caller must free. */
static int
check_promise(const struct mempool_port *port, char **errorp)
    OVS_REQUIRES(mempool_mutex)
{
    struct mempool_wanted all_guests
        = mempool_wanted_create(WANTED_ALL_GUESTS, NULL);
    const struct mempool_layout_pool *wanted
        = mempool_wanted_find(&all_guests, &port->next, port);
    int error = 0;

    if (wanted
        && mempool_mbufs(mempool_find(wanted)) < wanted->minimum) {
        int node = dpdk_memory_node(wanted->key.numa_id);
        size_t needed = reserved_memory(&all_guests, node, NULL);
        size_t own = mempool_start_size(NULL, wanted);

        if (needed > dpdk_memory_free_bytes(node)
            && (port->pool || !dpdk_memory_elsewhere(node, own))) {
            *errorp = shortage(node, needed);
            error = ENOMEM;
        }
    }
    mempool_wanted_destroy(&all_guests);
    return error;
}

/* Prepares 'port' for 'needs': provides the pool that it will receive into.
 * Until mempool_port_commit(), the port may go on as it is, or prepare for
 * something else.  'netdev' is kept, and is asked to reconfigure itself when
 * its pool was replaced, unless the port switches.
 *
 * If 'stops' is true, the port is going to be stopped, or isn't running, so it
 * may get a smaller pool where its own is too large.  A port whose MTU is to
 * be lower, and for which there is no memory, keeps its larger buffers.
 *
 * If successful, returns 0 and stores in '*mpp' the mempool, NULL if the port
 * needs none yet.  Otherwise, returns a positive errno value and stores in
 * '*errorp' a message for the user, which the caller must free; then the port
 * is prepared only for what it has, and '*mpp' is the mempool of that.  A port
 * that has no pool although its guest is there waits: 'netdev' is asked to
 * reconfigure itself when there is memory. */
int
mempool_port_prepare(struct mempool_port *port, struct netdev *netdev,
                     const struct mempool_needs *needs, bool stops,
                     struct rte_mempool **mpp, char **errorp)
{
    struct mempool *prepared;
    bool was_known, waited;
    int error;

    ovs_mutex_lock(&mempool_mutex);
    was_known = port->known;
    waited = port->waits;
    if (!was_known) {
        port->netdev = netdev;
        port->known = true;
        ovs_list_push_back(&mempool_all_ports, &port->node);
    }
    prepared = port->next_pool;
    if (stops && prepared != port->pool) {
        port->tried_pools[1] = port->tried_pools[0];
        port->tried_pools[0] = prepared;
    }
    port->next = *needs;
    port->next_pool = port->pool;
    mempools_sweep();

    error = prepare_pool(port, stops, prepared, errorp);
    if (error && port->pool && !port->pool->replaced
        && port->now.numa_id == needs->numa_id
        && port->now.buffer_size > needs->buffer_size) {
        port->next.buffer_size = port->now.buffer_size;
        free(*errorp);
        error = prepare_pool(port, stops, prepared, errorp);
        if (!error) {
            VLOG_INFO("Port %s: keeping buffers of %d bytes, for lack of "
                      "memory for smaller ones", netdev_get_name(netdev),
                      port->next.buffer_size);
        }
    } else if (!error && needs->away
               && needs->mtu > (was_known ? port->now.mtu : ETH_PAYLOAD_MAX)) {
        error = check_promise(port, errorp);
    }

    port->waits = error && was_known && !port->pool && !needs->away;
    if (error) {
        if (!port->failed) {
            port->failed = true;
            port->lacks_node = dpdk_memory_node(needs->numa_id);
            port->lacks = refused[port->lacks_node];
        }
        port->next_pool = port->pool;
        if (!was_known) {
            port->known = false;
            ovs_list_remove(&port->node);
        } else if (!port->waits) {
            port->next = port->now;
        }
    } else {
        if (waited || (!port->failed && needs->mtu != port->now.mtu)) {
            /* What it wants last isn't refused for lack of memory. */
            port->lacks = 0;
        }
        demand_changed();
    }
    *mpp = port->next_pool ? port->next_pool->mp : NULL;
    mempools_sweep();
    port->tried = error ? free_memory(port) : 0;
    ovs_mutex_unlock(&mempool_mutex);
    return error;
}

/* Makes what 'port' prepared for last what it has. */
static void
take_next(struct mempool_port *port)
    OVS_REQUIRES(mempool_mutex)
{
    port->now = port->next;
    port->pool = port->next_pool;
    port->n_asked = 0;
    port->failed = false;
}

/* To be called when 'port' has got what it prepared for last.  Its previous
 * pool is released, but not swept at once: the port may want it back. */
void
mempool_port_commit(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    take_next(port);
    memset(port->tried_pools, 0, sizeof port->tried_pools);
    ovs_mutex_unlock(&mempool_mutex);
}

/* Like mempool_port_commit(), when the device of 'port' could not be set up,
 * so that its queues may still have the pools of earlier attempts. */
void
mempool_port_lose(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    take_next(port);
    ovs_mutex_unlock(&mempool_mutex);
}

/* To be called when 'port' goes on as it is, whatever it prepared for. */
void
mempool_port_keep(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    if (port->pool) {
        port->next = port->now;
        port->next_pool = port->pool;
    }
    memset(port->tried_pools, 0, sizeof port->tried_pools);
    port->failed = false;
    ovs_mutex_unlock(&mempool_mutex);
}

/* No thread uses 'pool' any more because of a port that left it. */
static void
pool_was_left(struct mempool *pool)
{
    ovs_mutex_lock(&mempool_mutex);
    pool->n_left--;
    ovs_mutex_unlock(&mempool_mutex);
}

/* Like mempool_port_commit(), while threads go on using 'port', which already
 * has the mempool that it prepared for.  Its previous mempool is kept until
 * all of them have been quiescent. */
void
mempool_port_switch(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    if (port->pool && port->pool != port->next_pool) {
        port->pool->n_left++;
        ovsrcu_postpone(pool_was_left, port->pool);
    }
    ovs_mutex_unlock(&mempool_mutex);
    mempool_port_commit(port);
}

/* Returns true if 'port' receives into a pool that was replaced, so that it
 * must prepare again to get the new one. */
bool
mempool_port_must_move(const struct mempool_port *port)
{
    bool must;

    ovs_mutex_lock(&mempool_mutex);
    must = port->pool && port->pool->replaced;
    ovs_mutex_unlock(&mempool_mutex);
    return must;
}

/* To be called when 'port' is asked for another MTU: it doesn't wait any more
 * for the memory that an earlier one lacked. */
void
mempool_port_withdraw(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    port->lacks = 0;
    ovs_mutex_unlock(&mempool_mutex);
}

/* Returns true, once, if there is memory now for what 'port' was refused last
 * for lack of it, even if it has prepared for less since. */
bool
mempool_port_may_retry(struct mempool_port *port)
{
    bool may;

    ovs_mutex_lock(&mempool_mutex);
    mempools_sweep();
    may = (port->lacks
           && dpdk_memory_free_bytes(port->lacks_node) >= port->lacks);
    if (may) {
        port->lacks = 0;
    }
    ovs_mutex_unlock(&mempool_mutex);
    return may;
}

static atomic_ullong *
get_failures(const struct mempool_port *port)
{
    struct mempool_port *p = CONST_CAST(struct mempool_port *, port);
    atomic_ullong *counts;

    atomic_read(&p->failures, &counts);
    return counts;
}

/* To be called when 'port' is stopped for good.  Its pool stays until memory
 * is needed, or mempools_run() is called: DPDK clears what is given back,
 * for which a switch that exits has no time. */
void
mempool_port_destroy(struct mempool_port *port)
{
    ovs_mutex_lock(&mempool_mutex);
    if (port->known) {
        ovs_list_remove(&port->node);
        port->known = false;
    }
    ovs_mutex_unlock(&mempool_mutex);
    free(get_failures(port));
    atomic_init(&port->failures, NULL);
}

/* To be called by the thread that polls 'queue' of 'port', a vhost port, when
 * it got nothing for lack of an mbuf.  This is rare, so the counts, one for
 * each queue, are allocated the first time. */
void
mempool_port_count_failure(struct mempool_port *port, int queue)
{
    atomic_ullong *counts = get_failures(port);
    unsigned long long n;

    if (!counts) {
        atomic_ullong *new = xcalloc(MEMPOOL_MAX_VHOST_QUEUES, sizeof *new);

        if (atomic_compare_exchange_strong(&port->failures, &counts, new)) {
            counts = new;
        } else {
            free(new);
        }
    }
    atomic_read_relaxed(&counts[queue], &n);
    atomic_store_relaxed(&counts[queue], n + 1);
}

/* Returns how often this was counted for 'queue' of 'port'. */
uint64_t
mempool_port_get_failures(const struct mempool_port *port, int queue)
{
    atomic_ullong *counts = get_failures(port);
    unsigned long long n = 0;

    if (counts) {
        atomic_read_relaxed(&counts[queue], &n);
    }
    return n;
}

/* What isn't about one port. */

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

/* To be called from time to time, and after mempools_wait(), always by the
 * same thread.  Frees the pools that aren't used any more: when a pool goes
 * out of use, some of its mbufs are still on their way.  Checks how few mbufs
 * of the others were free.  Completes those that lacked memory if there is
 * some now. */
void
mempools_run(void)
{
    struct mempool_port *asked;
    struct mempool *pool;

    seen_wake_seq = seq_read(wake_seq());
    ovs_mutex_lock(&mempool_mutex);
    mempools_sweep();
    LIST_FOR_EACH (pool, node, &mempool_all_pools) {
        mempool_check_lowest(pool);
    }
    atomic_read_relaxed(&frags_in_use, &mempool_settings.frags_count);
    forget_refusals();
    grow();
    asked = reconfigure_ports();
    if (asked) {
        /* If it can't be reconfigured, it is another one's turn. */
        asked->n_asked++;
    }
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

/* To be called by a thread that is going to poll ports, before it becomes a
 * DPDK lcore. */
void
mempool_thread_add(void)
{
    ovs_mutex_lock(&mempool_mutex);
    mempool_settings.n_threads++;
    demand_changed();
    ovs_mutex_unlock(&mempool_mutex);
}

/* To be called by a thread that called mempool_thread_add(), before it ceases
 * to be a DPDK lcore.  Otherwise, the mbufs in its caches would be lost. */
void
mempool_thread_remove(void)
{
    struct mempool *pool;

    ovs_mutex_lock(&mempool_mutex);
    LIST_FOR_EACH (pool, node, &mempool_all_pools) {
        rte_mempool_cache_flush(NULL, pool->mp);
    }
    mempool_settings.n_threads--;
    ovs_mutex_unlock(&mempool_mutex);
}

/* To be called before IP reassembly may keep up to 'n' fragments. */
void
mempool_set_max_frags(unsigned int n)
{
    ovs_mutex_lock(&mempool_mutex);
    mempool_settings.max_frags = n;
    demand_changed();
    ovs_mutex_unlock(&mempool_mutex);
}

/* To be called when IP reassembly keeps a fragment.  From the next
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

/* To be called before output batches may wait for 'us' microseconds. */
void
mempool_set_flush_interval(unsigned int us)
{
    ovs_mutex_lock(&mempool_mutex);
    mempool_settings.flush_interval = us;
    demand_changed();
    ovs_mutex_unlock(&mempool_mutex);
}

/* Sets the operator's own margin, in percent of all other demand.  It takes
 * effect when a pool next grows. */
void
mempool_set_headroom(const char *percent)
{
    unsigned int value;

    if (!str_to_uint(percent, 10, &value) || value > MEMPOOL_MAX_HEADROOM) {
        VLOG_WARN("invalid mempool-headroom \"%s\" (expected 0 to %d "
                  "percent), using 0", percent, MEMPOOL_MAX_HEADROOM);
        value = 0;
    }

    ovs_mutex_lock(&mempool_mutex);
    mempool_settings.headroom = value;
    ovs_mutex_unlock(&mempool_mutex);
}

/* Writes to 'stream' what DPDK tells of 'mp' or, if that is NULL, of all
 * mempools, while none is made, freed or grows. */
void
mempools_dump(FILE *stream, struct rte_mempool *mp)
{
    ovs_mutex_lock(&mempool_mutex);
    if (mp) {
        unsigned int avail = dpdk_memory_avail(mp);

        rte_mempool_dump(stream, mp);
        fprintf(stream, "    count: avail (%u), in use (%u)\n",
                avail, mp->populated_size - avail);
    } else {
        rte_mempool_list_dump(stream);
    }
    ovs_mutex_unlock(&mempool_mutex);
}
