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

#include "jumbo-pool.h"

#include <dirent.h>
#include <errno.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "dp-packet.h"
#include "jumbo-demand.h"
#include "jumbo-frame.h"
#include "netdev-provider.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(jumbo_pool);

/* Mbufs that each lcore keeps for itself, so that it needs the others' ring
 * seldom.  The most that DPDK allows, as ever in Open vSwitch. */
#define CACHE_SIZE RTE_MEMPOOL_CACHE_MAX_SIZE

/* The ring of a pool has its size once and for all, 8 bytes for each mbuf that
 * the pool can ever have.  One that grows in place has room for 4 times what
 * it needs at first, and for no fewer than these. */
#define MIN_RING (1u << 18)

/* Memory is reserved in as few pieces as there are to be had, down to pieces
 * for this number of mbufs. */
#define MIN_CHUNK 64

struct jumbo_pool {
    struct ovs_list node;           /* In 'all_pools'. */
    int numa_id;
    int buffer_size;                /* In bytes, without headroom. */
    const struct jumbo_port *owner; /* The only port that it is for, or NULL if
                                     * it is shared.  Not dereferenced. */
    enum jumbo_growth growth;
    struct rte_mempool *mp;
    rte_mempool_populate_obj_cb_t *add_elem; /* DPDK's own. */
    bool imagined;                  /* Only to calculate with. */
    bool replaced;                  /* By another pool, for the same ports. */
};

/* Memory for mbufs that a pool doesn't have yet. */
struct chunk {
    struct ovs_list node;
    struct jumbo_pool *pool;
    void *memory;                   /* NULL if the pool has got it. */
    size_t size;                    /* In bytes. */
    uint32_t n;                     /* Mbufs. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list all_pools OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&all_pools);
static struct ovs_list all_ports OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&all_ports);

static unsigned int n_threads OVS_GUARDED_BY(mutex) = 1; /* The main one. */
static unsigned int max_frags OVS_GUARDED_BY(mutex) = 1000; /* As in ipf.c. */
static unsigned int headroom OVS_GUARDED_BY(mutex);

/* Mempool operations: those of the ring, but for populating. */

#define RING_OPS_NAME "ring_mp_mc"
#define OPS_NAME "ovs_jumbo"

/* DPDK adds memory to a pool, and mbufs to its ring, in one step.  Here it
 * only adds the memory, which may fail and can be undone.  chunk_populate()
 * does the rest. */
static int
populate(struct rte_mempool *mp, unsigned int max OVS_UNUSED,
         void *vaddr OVS_UNUSED, rte_iova_t iova OVS_UNUSED, size_t len,
         rte_mempool_populate_obj_cb_t *cb, void *aux OVS_UNUSED)
{
    struct jumbo_pool *pool = mp->pool_config;

    pool->add_elem = cb;
    return len > 0;
}

/* Returns 0 if successful, otherwise a positive errno value. */
static int
register_ops(void)
    OVS_REQUIRES(mutex)
{
    static bool registered;
    struct rte_mempool_ops ops;

    for (uint32_t i = 0; !registered && i < rte_mempool_ops_table.num_ops;
         i++) {
        ops = *rte_mempool_get_ops(i);
        if (!strcmp(ops.name, RING_OPS_NAME)) {
            ovs_strlcpy(ops.name, OPS_NAME, sizeof ops.name);
            ops.populate = populate;
            registered = rte_mempool_register_ops(&ops) >= 0;
            break;
        }
    }
    return registered ? 0 : ENOTSUP;
}

/* Returns how the pool of a port can grow whose device has 'driver', or that
 * has no device if that is NULL.  'driver' is the name in rte_eth_dev_info. */
enum jumbo_growth
jumbo_growth_for(const char *driver)
{
    /* Drivers that register the memory of a mempool when a port starts, or
     * when the mempool is complete, and receive into nothing else (mlx5_rx.h,
     * mlx5_rx_addr2mr(); sfc_nic_dma.c, sfc_mempool_event_cb()).  That of
     * AF_XDP, too, but it doesn't release a receive queue's socket before it
     * opens the next one (rte_eth_af_xdp.c, eth_rx_queue_setup()). */
    static const struct {
        const char *driver;
        enum jumbo_growth growth;
    } exceptions[] = {
        { "mlx5_pci", JUMBO_GROW_BY_RESTART },
        { "mlx5_auxiliary", JUMBO_GROW_BY_RESTART },
        { "net_sfc_efx", JUMBO_GROW_BY_RESTART },
        { "net_af_xdp", JUMBO_GROW_NEVER },
    };

    for (int i = 0; driver && i < ARRAY_SIZE(exceptions); i++) {
        if (!strcmp(driver, exceptions[i].driver)) {
            return exceptions[i].growth;
        }
    }

    /* Mempools of the machine's hardware, which its ports may insist on, or
     * that the user chose. */
    return strcmp(rte_mbuf_best_mempool_ops(), RING_OPS_NAME)
           ? JUMBO_GROW_BY_RESTART : JUMBO_GROW_IN_PLACE;
}

/* Demand. */

/* Returns the port that the pool for 'port' with 'needs' is for alone, or NULL
 * if it is shared. */
static const struct jumbo_port *
owner_of(const struct jumbo_needs *needs, const struct jumbo_port *port)
{
    return needs->own_pool || needs->growth == JUMBO_GROW_NEVER ? port : NULL;
}

/* Returns true if 'port' with 'needs' has, or is to have, 'pool'.  It has one
 * that was replaced until it has restarted. */
static bool
needs_pool(const struct jumbo_needs *needs, const struct jumbo_port *port,
           const struct jumbo_pool *pool)
{
    if (pool->replaced) {
        return port->pool == pool || port->next_pool == pool;
    }
    return needs->buffer_size == pool->buffer_size
           && needs->numa_id == pool->numa_id
           && needs->growth == pool->growth
           && owner_of(needs, port) == pool->owner;
}

static bool
pool_is_needed(const struct jumbo_pool *pool)
    OVS_REQUIRES(mutex)
{
    const struct jumbo_port *port;

    LIST_FOR_EACH (port, node, &all_ports) {
        if (needs_pool(&port->now, port, pool)
            || needs_pool(&port->next, port, pool)) {
            return true;
        }
    }
    return false;
}

/* Between jumbo_port_prepare() and jumbo_port_commit(), a port has and may go
 * on with what it had, or get what it is going to have. */
static struct jumbo_demand
pool_demand(const struct jumbo_pool *pool)
    OVS_REQUIRES(mutex)
{
    struct jumbo_demand_input in = {
        .n_threads = n_threads,
        .cache_size = CACHE_SIZE,
        .max_frags = max_frags,
        .headroom = headroom,
    };
    const struct jumbo_port *port;

    LIST_FOR_EACH (port, node, &all_ports) {
        bool now = needs_pool(&port->now, port, pool);
        bool next = needs_pool(&port->next, port, pool);

        in.n_rxq += MAX(now ? port->now.n_rxq : 0,
                        next ? port->next.n_rxq : 0);
        in.rx_descs += MAX(now ? port->now.rx_descs : 0,
                           next ? port->next.rx_descs : 0);
        in.tx_descs += MAX(port->now.tx_descs, port->next.tx_descs);
        in.n_ports++;
    }
    return jumbo_demand(&in);
}

/* Memory. */

/* Returns the bytes that 'n' mbufs of 'pool' take. */
static size_t
mbufs_size(const struct jumbo_pool *pool, uint32_t n, size_t *align)
{
    const struct rte_mempool *mp = pool->mp;
    size_t element = mp->header_size + mp->elt_size + mp->trailer_size;
    size_t page, min_chunk;

    /* Elements that are smaller than a page don't cross its end.  Larger ones
     * do, which costs nothing unless they need physical addresses. */
    if (rte_mempool_get_page_size(pool->mp, &page)
        || (element > page && rte_eal_iova_mode() == RTE_IOVA_VA)) {
        page = 0;
    }
    return rte_mempool_op_calc_mem_size_default(
        mp, n, page ? rte_bsf64(page) : 0, &min_chunk, align);
}

/* Returns the bytes of memory that 'mp' has for mbufs. */
static size_t
pool_size(const struct rte_mempool *mp)
{
    const struct rte_mempool_memhdr *memhdr;
    size_t size = 0;

    STAILQ_FOREACH (memhdr, &mp->mem_list, next) {
        size += memhdr->len;
    }
    return size;
}

static void
free_memory_of(struct rte_mempool_memhdr *memhdr OVS_UNUSED, void *memory)
{
    rte_free(memory);
}

static struct chunk *
chunk_reserve(struct jumbo_pool *pool, uint32_t n)
{
    size_t align;
    size_t size = mbufs_size(pool, n, &align);
    /* Not a memzone: there are too few of these, altogether. */
    void *memory = rte_malloc_socket("ovs-mbufs", size, align, pool->numa_id);
    struct chunk *chunk;
    int error;

    if (!memory) {
        rte_errno = ENOMEM;
        return NULL;
    }

    error = rte_mempool_populate_iova(pool->mp, memory,
                                      rte_mem_virt2iova(memory), size,
                                      free_memory_of, memory);
    if (error < 0) {
        rte_free(memory);
        rte_errno = -error;
        return NULL;
    }

    chunk = xmalloc(sizeof *chunk);
    chunk->pool = pool;
    chunk->memory = memory;
    chunk->size = size;
    chunk->n = n;
    return chunk;
}

/* Adds to 'chunks' memory for 'n' more mbufs of 'pool'.  Returns 0 if
 * successful, otherwise a positive errno value. */
static int
chunks_reserve(struct jumbo_pool *pool, uint32_t n, struct ovs_list *chunks)
{
    uint32_t piece = n;

    while (n) {
        struct chunk *chunk = chunk_reserve(pool, MIN(n, piece));

        if (chunk) {
            ovs_list_push_back(chunks, &chunk->node);
            n -= chunk->n;
        } else if (rte_errno == ENOMEM && piece > MIN_CHUNK) {
            piece = MAX(piece / 2, MIN_CHUNK);
        } else {
            return rte_errno;
        }
    }
    return 0;
}

/* Initializes an mbuf.  Ports may be using the pool: this must be done before
 * the mbuf gets into the ring, where DPDK's own rte_pktmbuf_pool_create() does
 * it after. */
static void
init_mbuf(struct rte_mempool *mp, void *pool_, void *mbuf, rte_iova_t iova)
{
    struct jumbo_pool *pool = pool_;

    pool->add_elem(mp, NULL, mbuf, iova);
    rte_pktmbuf_init(mp, NULL, mbuf, 0);
    dp_packet_init_dpdk(mbuf);
}

/* Fills the memory of 'chunk', which its pool already has, with mbufs.
 * Returns 0 if successful, otherwise a positive errno value. */
static int
chunk_populate(struct chunk *chunk)
{
    struct jumbo_pool *pool = chunk->pool;
    char *memory = chunk->memory;
    uint32_t target = pool->mp->populated_size + chunk->n;
    size_t page = rte_mem_virt2memseg_list(memory)->page_sz;
    size_t len;

    for (size_t off = 0; off < chunk->size; off += len) {
        char *start = memory + off;
        rte_iova_t iova = rte_mem_virt2iova(start);

        /* As many pages as the device finds next to each other. */
        len = MIN(chunk->size - off,
                  (char *) RTE_PTR_ALIGN_CEIL(start + 1, page) - start);
        while (off + len < chunk->size
               && rte_mem_virt2iova(start + len) == iova + len) {
            len = MIN(len + page, chunk->size - off);
        }
        rte_mempool_op_populate_helper(
            pool->mp, 0, target - pool->mp->populated_size, start, iova, len,
            init_mbuf, pool);
    }
    chunk->memory = NULL;
    return pool->mp->populated_size >= target ? 0 : ENOMEM;
}

static void
chunk_destroy(struct chunk *chunk)
{
    struct rte_mempool *mp = chunk->pool->mp;
    struct rte_mempool_memhdr *memhdr;

    if (chunk->memory) {
        STAILQ_FOREACH (memhdr, &mp->mem_list, next) {
            if (memhdr->addr == chunk->memory) {
                STAILQ_REMOVE(&mp->mem_list, memhdr, rte_mempool_memhdr, next);
                mp->nb_mem_chunks--;
                rte_free(memhdr);
                break;
            }
        }
        rte_free(chunk->memory);
    }
    ovs_list_remove(&chunk->node);
    free(chunk);
}

/* Counts in '*room' the bytes that DPDK could still take from the system, as
 * pages of 'page_size' bytes on node 'numa_id'. */
struct room {
    int numa_id;
    size_t page_size;
    size_t room;
};

static int
add_room(const struct rte_memseg_list *msl, void *room_)
{
    struct room *room = room_;

    if (!msl->external && msl->socket_id == room->numa_id
        && msl->page_sz == room->page_size) {
        room->room += (msl->memseg_arr.len - msl->memseg_arr.count)
                      * msl->page_sz;
    }
    return 0;
}

/* Returns the node whose memory mbufs for node 'numa_id' take: without
 * hugepages, DPDK has all its memory on the first one. */
static int
memory_node(int numa_id)
{
    return rte_eal_has_hugepages() ? numa_id : 0;
}

#define NODE_DIR "/sys/devices/system/node/node"

/* Returns the bytes of memory node 'numa_id' that are free for mbufs: what
 * DPDK has, and the hugepages that it can get from the system, also those that
 * dpdk-socket-limit forbids: DPDK doesn't tell its limit. */
static size_t
free_memory(int numa_id)
{
    struct rte_malloc_socket_stats stats = { .heap_freesz_bytes = 0 };
    char *dir_name = xasprintf(NODE_DIR "%d/hugepages", numa_id);
    DIR *dir = rte_eal_has_hugepages() ? opendir(dir_name) : NULL;
    struct dirent *entry;

    rte_malloc_get_socket_stats(numa_id, &stats);
    while (dir && (entry = readdir(dir))) {
        struct room room = { .numa_id = numa_id };
        char *file_name;
        unsigned long n_free;
        FILE *file;

        if (!ovs_scan(entry->d_name, "hugepages-%zukB",
                      &room.page_size)) {
            continue;
        }
        room.page_size *= 1024;
        rte_memseg_list_walk(add_room, &room);

        file_name = xasprintf("%s/%s/free_hugepages", dir_name,
                              entry->d_name);
        file = fopen(file_name, "r");
        if (file && fscanf(file, "%lu", &n_free) == 1) {
            stats.heap_freesz_bytes += MIN(room.room,
                                           n_free * room.page_size);
        }
        if (file) {
            fclose(file);
        }
        free(file_name);
    }
    if (dir) {
        closedir(dir);
    }
    free(dir_name);
    return stats.heap_freesz_bytes;
}

/* Pools. */

static void
pool_destroy(struct jumbo_pool *pool)
    OVS_REQUIRES(mutex)
{
    ovs_list_remove(&pool->node);
    if (pool->imagined) {
        free(pool->mp);
    } else {
        VLOG_INFO("Freeing mempool \"%s\"", pool->mp->name);
        rte_mempool_free(pool->mp);
    }
    free(pool);
}

/* Returns the bytes of an mbuf whose buffer has 'buffer_size': a dp_packet,
 * the data, and padding, so that what follows is aligned. */
static size_t
mbuf_size(int buffer_size)
{
    return ROUND_UP(sizeof(struct dp_packet) + RTE_PKTMBUF_HEADROOM
                    + buffer_size, RTE_CACHE_LINE_SIZE);
}

static void
log_size(const struct jumbo_pool *pool)
{
    VLOG_INFO("Mempool \"%s\" has %"PRIu32" mbufs now", pool->mp->name,
              pool->mp->populated_size);
}

/* Returns the number of mbufs that there must be room for in a new pool that
 * needs 'n' at first.  What doesn't grow in place has that many: enough for
 * ports to restart seldom, or never. */
static uint64_t
capacity(enum jumbo_growth growth, uint64_t n)
{
    switch (growth) {
    case JUMBO_GROW_IN_PLACE: return MAX(MIN_RING, ROUND_UP_POW2(4 * n)) - 1;
    case JUMBO_GROW_BY_RESTART: return n + n / 2;
    case JUMBO_GROW_NEVER: return 2 * n;
    default: OVS_NOT_REACHED();
    }
}

/* Adds to the pools one that isn't there, to calculate with. */
static void
pool_imagine(const struct jumbo_port *port)
    OVS_REQUIRES(mutex)
{
    const struct jumbo_needs *needs = &port->next;
    struct rte_mempool *mp = xzalloc(sizeof *mp);
    struct jumbo_pool *pool = xzalloc(sizeof *pool);
    struct rte_mempool_objsz size;

    rte_mempool_calc_obj_size(mbuf_size(needs->buffer_size), 0, &size);
    mp->header_size = size.header_size;
    mp->elt_size = size.elt_size;
    mp->trailer_size = size.trailer_size;
    mp->socket_id = needs->numa_id;

    pool->numa_id = needs->numa_id;
    pool->buffer_size = needs->buffer_size;
    pool->owner = owner_of(needs, port);
    pool->growth = needs->growth;
    pool->mp = mp;
    pool->imagined = true;
    ovs_list_push_back(&all_pools, &pool->node);
}

static void
init_packet(struct rte_mempool *mp OVS_UNUSED, void *aux OVS_UNUSED,
            void *mbuf, unsigned int i OVS_UNUSED)
{
    dp_packet_init_dpdk(mbuf);
}

/* Returns a mempool for 'pool', still without mbufs, that can get 'n' of them
 * while it is used.  Returns NULL and sets rte_errno if that fails. */
static struct rte_mempool *
create_empty(const char *name, struct jumbo_pool *pool, uint32_t n,
             struct rte_pktmbuf_pool_private *priv)
    OVS_REQUIRES(mutex)
{
    int error = register_ops();
    struct rte_mempool *mp;

    if (error) {
        rte_errno = error;
        return NULL;
    }
    mp = rte_mempool_create_empty(name, n, mbuf_size(pool->buffer_size),
                                  CACHE_SIZE, sizeof *priv, pool->numa_id, 0);
    if (!mp) {
        return NULL;
    }
    rte_mempool_set_ops_byname(mp, OPS_NAME, pool);
    rte_pktmbuf_pool_init(mp, priv);

    /* This is how to have the ring already now. */
    error = rte_mempool_populate_iova(mp, NULL, RTE_BAD_IOVA, 0, NULL, NULL);
    if (error < 0) {
        rte_mempool_free(mp);
        rte_errno = -error;
        return NULL;
    }
    return mp;
}

/* Returns a new pool to replace 'old', which needs 'n' mbufs at first.  It is
 * still without mbufs if it can grow in place, otherwise it has all that it
 * can have.  Returns NULL and sets rte_errno if that fails. */
static struct jumbo_pool *
pool_create(const struct jumbo_pool *old, uint64_t n)
    OVS_REQUIRES(mutex)
{
    static unsigned int serial;
    struct rte_pktmbuf_pool_private priv = {
        .mbuf_data_room_size = old->buffer_size + RTE_PKTMBUF_HEADROOM,
        .mbuf_priv_size = mbuf_size(old->buffer_size) - sizeof(struct rte_mbuf)
                          - old->buffer_size - RTE_PKTMBUF_HEADROOM,
    };
    struct jumbo_pool *pool = xmemdup(old, sizeof *old);
    char name[RTE_MEMPOOL_NAMESIZE];

    pool->imagined = false;
    n = capacity(pool->growth, n);
    snprintf(name, sizeof name, "ovs%d-%d-%u", pool->numa_id,
             pool->buffer_size, serial++);
    if (pool->growth == JUMBO_GROW_IN_PLACE) {
        pool->mp = create_empty(name, pool, n, &priv);
    } else {
        pool->mp = rte_pktmbuf_pool_create(name, n, CACHE_SIZE,
                                           priv.mbuf_priv_size,
                                           priv.mbuf_data_room_size,
                                           pool->numa_id);
        if (pool->mp) {
            rte_mempool_obj_iter(pool->mp, init_packet, NULL);
            log_size(pool);
        }
    }
    if (!pool->mp) {
        free(pool);
        return NULL;
    }
    return pool;
}

static struct jumbo_pool *
pool_find(const struct jumbo_port *port, const struct jumbo_needs *needs)
    OVS_REQUIRES(mutex)
{
    struct jumbo_pool *pool;

    LIST_FOR_EACH (pool, node, &all_pools) {
        if (!pool->replaced && needs_pool(needs, port, pool)) {
            return pool;
        }
    }
    return NULL;
}

/* Frees the pools that nobody needs and whose mbufs are all back.  Nobody
 * takes mbufs from these, so none moves from the ring to a cache, which
 * rte_mempool_avail_count() counts later.  But while a cache is being flushed,
 * its mbufs may count twice, and there seem to be too many. */
static void
sweep(void)
    OVS_REQUIRES(mutex)
{
    struct jumbo_pool *pool;

    LIST_FOR_EACH_SAFE (pool, node, &all_pools) {
        if (!pool_is_needed(pool)
            && (pool->imagined || rte_mempool_avail_count(pool->mp)
                                  == pool->mp->populated_size)) {
            pool_destroy(pool);
        }
    }
}

/* Returns the number of mbufs that 'pool' must have in addition, or all those
 * of the one that must replace it.  What doesn't grow in place uses up its
 * headroom first. */
static uint64_t
pool_missing(const struct jumbo_pool *pool)
    OVS_REQUIRES(mutex)
{
    const struct rte_mempool *mp = pool->mp;
    struct jumbo_demand demand;

    if (pool->replaced || !pool_is_needed(pool)
        || (pool->growth == JUMBO_GROW_NEVER && !pool->imagined)) {
        return 0;
    }
    demand = pool_demand(pool);
    if (pool->growth == JUMBO_GROW_IN_PLACE) {
        return demand.total <= mp->populated_size ? 0
               : demand.total <= mp->size ? demand.total - mp->populated_size
               : demand.total;
    }
    return demand.total - demand.terms[JUMBO_DEMAND_HEADROOM] <= mp->size
           ? 0 : capacity(pool->growth, demand.total);
}

/* Returns the bytes that are missing on memory node 'numa_id'. */
static size_t
needed_memory(int numa_id)
    OVS_REQUIRES(mutex)
{
    struct jumbo_pool *pool;
    size_t needed = 0;
    size_t align;

    LIST_FOR_EACH (pool, node, &all_pools) {
        uint64_t n = pool_missing(pool);

        if (n && memory_node(pool->numa_id) == numa_id) {
            needed += mbufs_size(pool, n, &align);
        }
    }
    return needed;
}

/* Returns a message about too little memory on memory node 'numa_id'. */
static char *
shortage(int numa_id)
    OVS_REQUIRES(mutex)
{
    size_t needed = needed_memory(numa_id);
    size_t free_ = free_memory(numa_id);

    return xasprintf("%.1f MB of memory for mbufs are needed on NUMA node %d, "
                     "where %.1f MB are free%s", needed / 1e6, numa_id,
                     free_ / 1e6,
                     free_ >= needed ? ", but in too small pieces or "
                                       "beyond dpdk-socket-limit" : "");
}

/* Reserves memory for the mbufs that 'pool' is missing: in 'chunks' for it, or
 * in a pool to replace it, which is added to 'new_pools', or in chunks for
 * that one.  Returns 0 if successful, otherwise a positive errno value. */
static int
pool_reserve(struct jumbo_pool *pool, struct ovs_list *chunks,
             struct ovs_list *new_pools)
    OVS_REQUIRES(mutex)
{
    uint64_t missing = pool_missing(pool);

    if (missing > pool->mp->size - pool->mp->populated_size) {
        pool = pool_create(pool, pool_demand(pool).total);
        if (!pool) {
            return rte_errno;
        }
        ovs_list_push_back(new_pools, &pool->node);
        missing -= pool->mp->populated_size;
    }
    return chunks_reserve(pool, missing, chunks);
}

/* Makes every pool as large as its demand, or replaces it.  Returns 0 if
 * successful, otherwise a positive errno value and, in '*errorp', a message
 * for the user, which the caller must free.  Then no pool has changed. */
static int
grow(char **errorp)
    OVS_REQUIRES(mutex)
{
    struct ovs_list chunks = OVS_LIST_INITIALIZER(&chunks);
    struct ovs_list new_pools = OVS_LIST_INITIALIZER(&new_pools);
    struct jumbo_pool *pool, *short_pool = NULL;
    struct chunk *chunk;
    int error = 0;

    /* Don't try in vain: DPDK clears what is given back to it. */
    for (int numa_id = 0; numa_id < RTE_MAX_NUMA_NODES; numa_id++) {
        size_t needed = needed_memory(numa_id);

        if (needed && needed > free_memory(numa_id)) {
            *errorp = shortage(numa_id);
            return ENOMEM;
        }
    }

    LIST_FOR_EACH (pool, node, &all_pools) {
        error = pool_reserve(pool, &chunks, &new_pools);
        if (error) {
            short_pool = pool;
            goto out;
        }
    }
    LIST_FOR_EACH (chunk, node, &chunks) {
        error = chunk_populate(chunk);
        if (error) {
            short_pool = chunk->pool;
            goto out;
        }
        log_size(chunk->pool);
    }

    /* Those that still don't have what they need are replaced. */
    LIST_FOR_EACH (pool, node, &all_pools) {
        pool->replaced = pool->replaced || pool_missing(pool);
    }
    ovs_list_push_back_all(&all_pools, &new_pools);

out:
    LIST_FOR_EACH_SAFE (chunk, node, &chunks) {
        chunk_destroy(chunk);
    }
    LIST_FOR_EACH_SAFE (pool, node, &new_pools) {
        pool_destroy(pool);
    }
    if (error == ENOMEM) {
        *errorp = shortage(memory_node(short_pool->numa_id));
    } else if (error) {
        *errorp = xasprintf("a mempool on NUMA node %d could not be created, "
                            "or grow (%s)", short_pool->numa_id,
                            rte_strerror(error));
    }
    return error;
}

/* Ports. */

/* Asks the ports that receive into a pool that was replaced to restart. */
static void
restart_ports(void)
    OVS_REQUIRES(mutex)
{
    struct jumbo_port *port;

    LIST_FOR_EACH (port, node, &all_ports) {
        if (port->next_pool && port->next_pool->replaced) {
            netdev_request_reconfigure(port->netdev);
        }
    }
}

/* Prepares for 'port' to get 'needs': has the pool that it will receive into,
 * with what it can hold.  Until jumbo_port_commit() the port may go on as it
 * is, or prepare for something else.  'netdev' is kept, and is asked to
 * reconfigure itself when it must restart (see jumbo_port_must_restart()).
 *
 * Returns 0 and stores the mempool in '*mpp', if there is to be one, if
 * successful.  Otherwise, returns a positive errno value and stores in
 * '*errorp' a message for the user, which the caller must free; then the port
 * is prepared for nothing but what it has. */
int
jumbo_port_prepare(struct jumbo_port *port, struct netdev *netdev,
                   const struct jumbo_needs *needs, struct rte_mempool **mpp,
                   char **errorp)
{
    const char *name = netdev_get_name(netdev);
    bool was_known = port->known;
    int error;

    ovs_mutex_lock(&mutex);
    if (!was_known) {
        port->netdev = netdev;
        port->known = true;
        ovs_list_push_back(&all_ports, &port->node);
    }
    port->next = *needs;
    sweep();

    if (needs->buffer_size) {
        struct jumbo_pool *pool = pool_find(port, needs);

        if (!pool) {
            VLOG_INFO("Port %s: Requesting a mempool with buffers of %d bytes "
                     "on NUMA node %d", name, needs->buffer_size,
                     needs->numa_id);
            pool_imagine(port);
        } else if (pool != port->pool) {
            VLOG_INFO("Port %s: Reusing mempool \"%s\"", name, pool->mp->name);
        }
    }
    error = grow(errorp);
    if (error) {
        port->next = port->now;
        port->next_pool = port->pool;
        if (!was_known) {
            port->known = false;
            ovs_list_remove(&port->node);
        }
    } else {
        port->next_pool = needs->buffer_size ? pool_find(port, needs) : NULL;
        if (port->next_pool) {
            *mpp = port->next_pool->mp;
        }
        restart_ports();
    }
    sweep();
    ovs_mutex_unlock(&mutex);
    return error;
}

/* To be called when 'port' has got what it prepared for last.  What it had
 * before is released, but not swept at once: it may want it back. */
void
jumbo_port_commit(struct jumbo_port *port)
{
    ovs_mutex_lock(&mutex);
    port->now = port->next;
    port->pool = port->next_pool;
    ovs_mutex_unlock(&mutex);
}

/* Returns true if 'port' receives into a pool that was replaced, so that it
 * must prepare for what it needs, and restart, to have the new one. */
bool
jumbo_port_must_restart(const struct jumbo_port *port)
{
    bool must;

    ovs_mutex_lock(&mutex);
    must = port->pool && port->pool->replaced;
    ovs_mutex_unlock(&mutex);
    return must;
}

/* To be called when 'port' is stopped for good. */
void
jumbo_port_destroy(struct jumbo_port *port)
{
    ovs_mutex_lock(&mutex);
    if (port->known) {
        ovs_list_remove(&port->node);
        port->known = false;
    }
    sweep();
    ovs_mutex_unlock(&mutex);
}

/* What isn't about one port. */

/* To be called by a thread that is going to poll ports, before it becomes a
 * DPDK lcore.  Returns false if there is too little memory for what it can
 * hold; without an lcore's caches, it holds less. */
bool
jumbo_thread_add(void)
{
    char *message;
    int error;

    ovs_mutex_lock(&mutex);
    n_threads++;
    error = grow(&message);
    if (error) {
        n_threads--;
        VLOG_WARN("No mempool caches for one more thread: %s", message);
        free(message);
    }
    restart_ports();
    ovs_mutex_unlock(&mutex);
    return !error;
}

/* To be called by a thread for which jumbo_thread_add() returned true, before
 * it ceases to be a DPDK lcore.  What its caches hold would be lost. */
void
jumbo_thread_remove(void)
{
    struct jumbo_pool *pool;

    ovs_mutex_lock(&mutex);
    LIST_FOR_EACH (pool, node, &all_pools) {
        rte_mempool_cache_flush(NULL, pool->mp);
    }
    n_threads--;
    ovs_mutex_unlock(&mutex);
}

/* To be called before IP reassembly may keep up to 'n' fragments.  Returns 0
 * if successful, otherwise a positive errno value: it must not. */
int
jumbo_set_max_frags(unsigned int n)
{
    unsigned int old;
    char *message;
    int error;

    ovs_mutex_lock(&mutex);
    old = max_frags;
    max_frags = n;
    error = grow(&message);
    if (error) {
        max_frags = old;
        VLOG_WARN("Too little memory for %u IP fragments: %s", n, message);
        free(message);
    }
    restart_ports();
    ovs_mutex_unlock(&mutex);
    return error;
}

/* Sets the operator's own margin, in percent of all other demand.  It counts
 * when a pool next grows. */
void
jumbo_set_headroom(const char *percent)
{
    unsigned int value;

    if (!str_to_uint(percent, 10, &value) || value > JUMBO_MAX_HEADROOM) {
        VLOG_WARN("mempool-headroom \"%s\" is not a number of percent from 0 "
                  "to %d; there is no headroom", percent, JUMBO_MAX_HEADROOM);
        value = 0;
    }

    ovs_mutex_lock(&mutex);
    headroom = value;
    ovs_mutex_unlock(&mutex);
}

/* Frees the pools that aren't used any more.  To be called from time to time:
 * when a pool goes out of use, some of its mbufs are still on their way. */
void
jumbo_pool_sweep(void)
{
    ovs_mutex_lock(&mutex);
    sweep();
    ovs_mutex_unlock(&mutex);
}

/* What is shown. */

static int
compare_infos(const void *a_, const void *b_)
{
    const struct jumbo_pool_info *a = a_;
    const struct jumbo_pool_info *b = b_;

    return a->numa_id != b->numa_id ? a->numa_id - b->numa_id
           : a->buffer_size != b->buffer_size ? a->buffer_size - b->buffer_size
           : (int) a->growth - (int) b->growth;
}

static size_t
get_pools(struct jumbo_pool_info **infosp)
    OVS_REQUIRES(mutex)
{
    struct jumbo_pool_info *infos = NULL;
    size_t n = 0, allocated = 0;
    struct jumbo_pool *pool;

    LIST_FOR_EACH (pool, node, &all_pools) {
        struct jumbo_pool_info *info;
        struct jumbo_port *port;
        size_t align;

        if (n >= allocated) {
            infos = x2nrealloc(infos, &allocated, sizeof *infos);
        }
        info = &infos[n++];
        *info = (struct jumbo_pool_info) {
            .numa_id = pool->numa_id,
            .buffer_size = pool->buffer_size,
            .own = pool->owner != NULL,
            .growth = pool->growth,
            .replaced = pool->replaced,
            .n_mbufs = pool->mp->populated_size,
            .size = pool_size(pool->mp),
            .n_missing = pool_missing(pool),
            .memory_node = memory_node(pool->numa_id),
            .free_memory = free_memory(memory_node(pool->numa_id)),
            .ports = SVEC_EMPTY_INITIALIZER,
        };
        if (!pool->imagined) {
            /* An imagined one has no ring to look into. */
            info->n_in_use = info->n_mbufs - jumbo_pool_avail(pool->mp);
        }
        if (pool_is_needed(pool)) {
            info->demand = pool_demand(pool);
        }
        if (info->n_missing) {
            info->missing_size = mbufs_size(pool, info->n_missing, &align);
        }
        LIST_FOR_EACH (port, node, &all_ports) {
            if (!needs_pool(&port->next, port, pool)) {
                continue;
            } else if (port->netdev) {
                svec_add(&info->ports, netdev_get_name(port->netdev));
            } else {
                info->n_new_ports++;
            }
        }
    }
    if (n) {
        qsort(infos, n, sizeof *infos, compare_infos);
    }
    *infosp = infos;
    return n;
}

/* Stores in '*infosp' the pools that there are, and returns their number.  The
 * caller must free them with jumbo_pools_free(). */
size_t
jumbo_pools_get(struct jumbo_pool_info **infosp)
{
    size_t n;

    ovs_mutex_lock(&mutex);
    sweep();
    n = get_pools(infosp);
    ovs_mutex_unlock(&mutex);
    return n;
}

void
jumbo_pools_free(struct jumbo_pool_info *infos, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        svec_destroy(&infos[i].ports);
    }
    free(infos);
}

/* Stores in '*infosp' the pools as they would be after 'plan', and returns
 * their number.  The caller must free them with jumbo_pools_free().  Nothing
 * changes. */
size_t
jumbo_pools_plan(const struct jumbo_plan *plan,
                 struct jumbo_pool_info **infosp)
{
    struct jumbo_port *new_ports = xcalloc(plan->n_add, sizeof *new_ports);
    unsigned int old_n_threads;
    struct jumbo_port *port;
    size_t n;

    ovs_mutex_lock(&mutex);
    sweep();

    /* Between prepare and commit, 'next' is free to use. */
    LIST_FOR_EACH (port, node, &all_ports) {
        struct jumbo_needs *next = &port->next;

        if (plan->port && !strcmp(netdev_get_name(port->netdev), plan->port)) {
            *next = plan->needs;
        } else if (next->n_txq == n_threads) {
            next->tx_descs = next->tx_descs / next->n_txq * plan->n_threads;
        }
    }
    for (unsigned int i = 0; i < plan->n_add; i++) {
        new_ports[i].next = plan->needs;
        ovs_list_push_back(&all_ports, &new_ports[i].node);
    }
    LIST_FOR_EACH (port, node, &all_ports) {
        if (port->next.buffer_size && !pool_find(port, &port->next)) {
            pool_imagine(port);
        }
    }
    old_n_threads = n_threads;
    n_threads = plan->n_threads;

    n = get_pools(infosp);

    n_threads = old_n_threads;
    for (unsigned int i = 0; i < plan->n_add; i++) {
        ovs_list_remove(&new_ports[i].node);
    }
    LIST_FOR_EACH (port, node, &all_ports) {
        port->next = port->now;
    }
    sweep();
    ovs_mutex_unlock(&mutex);

    free(new_ports);
    return n;
}

/* Stores in '*needs' what the port 'name' has.  Returns false if there is
 * no such port. */
bool
jumbo_port_get(const char *name, struct jumbo_needs *needs)
{
    struct jumbo_port *port;
    bool found = false;

    ovs_mutex_lock(&mutex);
    LIST_FOR_EACH (port, node, &all_ports) {
        if (!strcmp(netdev_get_name(port->netdev), name)) {
            *needs = port->now;
            found = true;
            break;
        }
    }
    ovs_mutex_unlock(&mutex);
    return found;
}

/* Returns the number of threads that poll ports. */
unsigned int
jumbo_n_threads(void)
{
    unsigned int n;

    ovs_mutex_lock(&mutex);
    n = n_threads;
    ovs_mutex_unlock(&mutex);
    return n;
}

/* Returns the number of mbufs in 'mp' that are not in use.  Unlike
 * rte_mempool_avail_count(), it is right for a pool that may still grow. */
unsigned int
jumbo_pool_avail(const struct rte_mempool *mp)
{
    return MIN(rte_mempool_avail_count(mp), mp->populated_size);
}

/* Stores the bytes of a buffer in '*buffer_size', the number of mbufs in
 * '*n_mbufs', and the bytes that these take in '*size'. */
void
jumbo_pool_sizes(const struct rte_mempool *mp, int *buffer_size,
                 size_t *n_mbufs, size_t *size)
{
    *buffer_size = rte_pktmbuf_data_room_size(CONST_CAST(struct rte_mempool *,
                                                         mp))
                   - RTE_PKTMBUF_HEADROOM;
    ovs_mutex_lock(&mutex);
    *n_mbufs = mp->populated_size;
    *size = pool_size(mp);
    ovs_mutex_unlock(&mutex);
}
