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

#include "dpdk-mempool-layout.h"

#include "dpdk-frame.h"
#include "packets.h"
#include "util.h"

/* A pool by the old formulas. */
struct old_pool {
    int numa_id;
    int buffer_size;
    const void *owner;
    size_t layout_pool;         /* Index of the pool for its ports, except
                                 * those that start once, or SIZE_MAX. */
    uint64_t n_mbufs;           /* 0 if there is too little memory for it. */
    size_t size;                /* Bytes of these. */
    unsigned int n_shares;      /* Pools that share it: one for each port that
                                 * starts once, and one for all others. */
};

/* A pool in the making. */
struct draft {
    struct mempool_demand_input demand;
    size_t old_pool;            /* Index of that of its first port. */
};

/* A layout in the making. */
struct layout {
    const struct mempool_layout_input *in;
    struct mempool_layout_pool *pools;
    struct draft *drafts;       /* Of 'pools'. */
    struct old_pool *old_pools;
    size_t n, n_old, allocated, allocated_drafts, allocated_old;
};

/* Needs. */

/* Returns the key of the pool for a port with 'needs' and 'id'. */
struct mempool_key
mempool_needs_key(const struct mempool_needs *needs, const void *id)
{
    return (struct mempool_key) {
        .numa_id = needs->numa_id,
        .buffer_size = needs->buffer_size,
        .owner = needs->own_pool || needs->starts_once ? id : NULL,
        .own_size = needs->own_pool,
        .starts_once = needs->starts_once,
    };
}

bool
mempool_key_equals(const struct mempool_key *a,
                   const struct mempool_key *b)
{
    return a->numa_id == b->numa_id && a->buffer_size == b->buffer_size
           && a->owner == b->owner && a->starts_once == b->starts_once;
}

/* Sets in 'needs', whose requested queues must be set, the buffers for 'mtu',
 * whether they are in a pool of the port's own, and what the old formulas have
 * instead (netdev-dpdk.c of 4.0, dpdk_buf_size(), dpdk_calculate_mbufs()). */
void
mempool_needs_set_buffers(struct mempool_needs *needs, int mtu, bool own_pool)
{
    needs->buffer_size = own_pool ? dpdk_own_buffer_size(mtu)
                         : dpdk_buffer_size(mtu);
    needs->own_pool = own_pool;

    needs->old_buffer_size = dpdk_old_buffer_size(mtu);
    needs->old_mbufs
        = own_pool ? needs->old_rx_descs + needs->old_tx_descs
                     + MIN(needs->old_n_rxq, 128) * MEMPOOL_BURST
                     + MEMPOOL_OLD_MIN_MBUFS
          : needs->old_buffer_size < DPDK_OLD_LARGE_BUFFER
          ? MEMPOOL_OLD_MIN_MBUFS : MEMPOOL_OLD_MAX_MBUFS;
}

static unsigned int
n_devices(const struct mempool_needs *needs)
{
    return MAX(needs->n_devices, 1);
}

/* Returns how many receive rings there are for one of 'needs'. */
static unsigned int
n_rings(const struct mempool_needs *needs)
{
    return n_devices(needs) * (needs->mtu > needs->rings_above
                               ? MAX(needs->n_rings, 1) : 1);
}

/* Returns the mbufs that fill all receive rings of one of 'needs'. */
uint64_t
mempool_needs_filled(const struct mempool_needs *needs)
{
    return needs->rx_filled * n_rings(needs);
}

static uint64_t
tx_descs_of(const struct mempool_needs *needs)
{
    return needs->tx_descs * n_devices(needs);
}

/* Layout. */

static bool
takes_mbufs(const struct layout *l, const struct mempool_needs *needs)
{
    return needs->buffer_size && (!needs->away || l->in->all_guests);
}

/* Returns the one of 'pools' that has 'key', or NULL if there is none. */
const struct mempool_layout_pool *
mempool_layout_find(const struct mempool_layout_pool *pools, size_t n,
                    const struct mempool_key *key)
{
    for (size_t i = 0; i < n; i++) {
        if (mempool_key_equals(&pools[i].key, key)) {
            return &pools[i];
        }
    }
    return NULL;
}

static size_t
memory_size(const struct layout *l, int memory_node)
{
    return l->in->memory_sizes ? l->in->memory_sizes[memory_node] : SIZE_MAX;
}

/* Returns the index of the pool that a port with 'needs' and 'id' has by the
 * old formulas.  Adds it if there is none. */
static size_t
add_old_pool(struct layout *l, const struct mempool_needs *needs,
             const void *id)
{
    const void *owner = needs->own_pool ? id : NULL;
    int node = l->in->memory_node(needs->numa_id);
    size_t left = memory_size(l, node);
    struct old_pool *pool;

    for (size_t i = 0; i < l->n_old; i++) {
        pool = &l->old_pools[i];
        if (pool->numa_id == needs->numa_id && pool->owner == owner
            && pool->buffer_size == needs->old_buffer_size) {
            return i;
        }
        if (l->in->memory_node(pool->numa_id) == node) {
            left -= MIN(left, pool->size);
        }
    }

    if (l->n_old >= l->allocated_old) {
        l->old_pools = x2nrealloc(l->old_pools, &l->allocated_old,
                                  sizeof *l->old_pools);
    }
    pool = &l->old_pools[l->n_old];
    *pool = (struct old_pool) {
        .numa_id = needs->numa_id,
        .buffer_size = needs->old_buffer_size,
        .owner = owner,
        .layout_pool = SIZE_MAX,
        .n_shares = 1,
    };
    for (uint64_t n = needs->old_mbufs; n >= MEMPOOL_OLD_MIN_MBUFS; n /= 2) {
        size_t size = l->in->mbufs_size(needs->numa_id, needs->old_buffer_size,
                                        false, n);

        if (size + MEMPOOL_OVERHEAD <= left) {
            pool->n_mbufs = n;
            pool->size = size;
            break;
        }
    }
    return l->n_old++;
}

/* Returns the index of the pool for a port with 'needs' and 'id'.  Adds it if
 * there is none. */
static size_t
add_pool(struct layout *l, const struct mempool_needs *needs, const void *id)
{
    struct mempool_key key = mempool_needs_key(needs, id);
    size_t old_pool = add_old_pool(l, needs, id);
    const struct mempool_layout_pool *pool
        = mempool_layout_find(l->pools, l->n, &key);
    size_t i = pool ? pool - l->pools : l->n;

    if (!pool) {
        if (l->n >= l->allocated) {
            l->pools = x2nrealloc(l->pools, &l->allocated, sizeof *l->pools);
        }
        if (l->n >= l->allocated_drafts) {
            l->drafts = x2nrealloc(l->drafts, &l->allocated_drafts,
                                   sizeof *l->drafts);
        }
        l->n++;
        l->pools[i] = (struct mempool_layout_pool) { .key = key };
        l->drafts[i] = (struct draft) { l->in->demand, old_pool };
    }
    if (!needs->starts_once) {
        l->old_pools[old_pool].layout_pool = i;
    } else if (!pool && !needs->own_pool) {
        l->old_pools[old_pool].n_shares++;
    }
    return i;
}

/* Returns the most mbufs with buffers of 'buffer_size' on 'numa_id' that take
 * no more than 'size' bytes, by 'mbufs_size', in a pool that 'grows_in_place'
 * or in an ordinary one. */
uint64_t
mempool_mbufs_in(dpdk_mbufs_size_func *mbufs_size, int numa_id,
                 int buffer_size, bool grows_in_place, size_t size)
{
    uint64_t low = 0;
    uint64_t high = size / buffer_size + 1;

    while (high - low > 1) {
        uint64_t n = (low + high) / 2;

        if (mbufs_size(numa_id, buffer_size, grows_in_place, n) <= size) {
            low = n;
        } else {
            high = n;
        }
    }
    return low;
}

static uint64_t
with_headroom(const struct layout *l, uint64_t n)
{
    return n + DIV_ROUND_UP(n * l->in->demand.headroom, 100);
}

/* Returns the bytes that the pools sized so far, with what those that can't
 * grow may have in addition, leave on the node of 'pool'.  If the old formulas
 * leave enough for one more pool, for an ordinary port, keeps what that port
 * needs here. */
static size_t
left_memory(const struct layout *l, const struct mempool_layout_pool *pool)
{
    const int buffer_size = dpdk_buffer_size(ETH_PAYLOAD_MAX);
    int node = l->in->memory_node(pool->key.numa_id);
    struct mempool_demand_input in = l->in->demand;
    size_t left = memory_size(l, node);
    size_t old_left = left;

    for (size_t i = 0; i < l->n_old; i++) {
        if (l->in->memory_node(l->old_pools[i].numa_id) == node) {
            old_left -= MIN(old_left, l->old_pools[i].size);
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        if (l->in->memory_node(l->pools[i].key.numa_id) == node) {
            left -= MIN(left, MEMPOOL_OVERHEAD
                              + l->in->mbufs_size(l->pools[i].key.numa_id,
                                                  l->pools[i].key.buffer_size,
                                                  l->pools[i].grows_in_place,
                                                  l->pools[i].spare_size));
        }
    }
    if (old_left >= MEMPOOL_OVERHEAD
                    + l->in->mbufs_size(pool->key.numa_id, buffer_size, false,
                                        MEMPOOL_OLD_MIN_MBUFS)) {
        in.n_rxq = 1;
        in.rx_descs = in.rx_filled = MEMPOOL_DEFAULT_DESCS;
        left -= MIN(left, MEMPOOL_OVERHEAD
                          + l->in->mbufs_size(pool->key.numa_id, buffer_size,
                                              pool->grows_in_place,
                                              mempool_demand_to_start(&in)));
    }
    return left;
}

/* Calculates what the pool with index 'i' is to have.  The old formulas give
 * its ports 'old_mbufs' mbufs, which take 'old_size' bytes.  With none, the
 * ports don't start, for lack of memory. */
static void
size_pool(struct layout *l, size_t i, uint64_t old_mbufs, size_t old_size)
{
    const struct mempool_demand_input *in = &l->drafts[i].demand;
    struct mempool_layout_pool *pool = &l->pools[i];
    uint64_t to_start = mempool_demand_to_start(in);
    uint64_t in_use, frags;

    /* Nor do ports start there if the mbufs don't fill their rings.  Such
     * ports may have here what they need to start, as may those whose mbufs
     * are larger here, up to the number that they have there. */
    pool->limit = mempool_mbufs_in(l->in->mbufs_size, pool->key.numa_id,
                                   pool->key.buffer_size, pool->grows_in_place,
                                   old_mbufs ? old_size
                                             : left_memory(l, pool));
    pool->limit = MAX(pool->limit, old_mbufs > in->rx_filled
                                   ? MIN(to_start, old_mbufs) : to_start);

    pool->demand = mempool_demand(in);
    in_use = pool->demand.total - pool->demand.terms[MEMPOOL_DEMAND_HEADROOM];
    frags = (pool->grows_in_place
             ? 0 : pool->demand.terms[MEMPOOL_DEMAND_REASSEMBLY]);
    pool->base = MIN(in_use - frags, pool->limit);
    pool->target = with_headroom(l, MIN(in_use, pool->limit));
    pool->minimum = MIN(to_start, pool->base);
    pool->limit = with_headroom(l, pool->limit);

    /* A pool that can't grow gets more, so that it needn't be replaced soon,
     * or ever.  DPDK wants it to be no smaller than a cache. */
    pool->new_size = pool->spare_size = pool->target;
    if (!pool->grows_in_place) {
        uint64_t size = pool->key.starts_once ? 2 * pool->target
                        : pool->target + pool->target / 2;
        uint64_t most = MAX(pool->limit, pool->target);

        pool->new_size = MAX(MIN(size, most), mempool_cache_max(in));
        pool->spare_size = MAX(MIN(4 * pool->target, most), pool->new_size);
    }
}

/* Adds to 'l' what 'port' needs. */
static void
add_port(struct layout *l, const struct mempool_layout_port *port)
{
    struct mempool_needs now = port->now;
    const struct mempool_needs *needs[] = { &now, &port->next };
    size_t pools[2] = { SIZE_MAX, SIZE_MAX };

    /* The old formulas are for the larger of both, too. */
    if (now.own_pool && port->next.own_pool
        && now.old_buffer_size == port->next.old_buffer_size
        && now.numa_id == port->next.numa_id) {
        now.old_mbufs = MAX(now.old_mbufs, port->next.old_mbufs);
    }

    for (int i = 0; i < 2; i++) {
        if (takes_mbufs(l, needs[i])) {
            pools[i] = add_pool(l, needs[i], port->id);
        }
    }
    for (int i = 0; i < 2; i++) {
        bool same = pools[0] == pools[1];
        /* A port that keeps its pool holds no more than the larger of both. */
        const struct mempool_needs *other = same ? needs[!i] : needs[i];
        struct mempool_demand_input *demand;

        if (pools[i] == SIZE_MAX || (i && same)) {
            continue;
        }
        demand = &l->drafts[pools[i]].demand;
        demand->n_rxq += MAX(needs[i]->n_rxq * n_devices(needs[i]),
                             other->n_rxq * n_devices(other));
        demand->rx_descs += MAX(needs[i]->rx_descs * n_rings(needs[i]),
                                other->rx_descs * n_rings(other));
        demand->rx_filled += MAX(mempool_needs_filled(needs[i]),
                                 mempool_needs_filled(other));
    }
}

/* Stores in '*poolsp' the pools that the ports of 'in' are to have, and
 * returns their number.  The caller must free() them. */
size_t
mempool_layout(const struct mempool_layout_input *in,
               struct mempool_layout_pool **poolsp)
{
    struct layout l = { .in = in };
    bool grows_in_place = in->can_grow;
    uint64_t tx_descs = 0;

    for (size_t i = 0; i < in->n_ports; i++) {
        const struct mempool_layout_port *port = &in->ports[i];

        add_port(&l, port);
        tx_descs += MAX(tx_descs_of(&port->now), tx_descs_of(&port->next));
        grows_in_place &= ((!port->now.buffer_size
                            || port->now.grows_in_place)
                           && (!port->next.buffer_size
                               || port->next.grows_in_place));
    }
    for (size_t i = 0; i < l.n; i++) {
        l.drafts[i].demand.tx_descs = tx_descs;
        l.pools[i].grows_in_place = (grows_in_place
                                     && !l.pools[i].key.starts_once);
    }

    for (size_t i = 0; i < l.n; i++) {
        uint64_t old_mbufs = 0;
        size_t old_size = 0;

        for (size_t j = 0; j < l.n_old; j++) {
            const struct old_pool *old = &l.old_pools[j];

            if (old->layout_pool == i
                || (l.pools[i].key.starts_once && l.drafts[i].old_pool == j)) {
                /* What denser packing saves isn't used for more mbufs. */
                old_size += in->mbufs_size(old->numa_id, old->buffer_size,
                                           l.pools[i].grows_in_place,
                                           old->n_mbufs) / old->n_shares;
                old_mbufs += old->n_mbufs / old->n_shares;
            }
        }
        if (old_mbufs) {
            size_pool(&l, i, old_mbufs, old_size);
        }
    }
    for (size_t i = 0; i < l.n; i++) {
        if (!l.pools[i].new_size) {
            size_pool(&l, i, 0, 0);
        }
    }
    free(l.drafts);
    free(l.old_pools);
    *poolsp = l.pools;
    return l.n;
}
