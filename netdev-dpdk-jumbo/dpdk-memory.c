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

#include "dpdk-memory.h"

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <unistd.h>

#include "dp-packet.h"
#include "ovs-atomic.h"
#include "svec.h"
#include "util.h"

/* Sizes. */

/* Returns the bytes of an mbuf whose buffer has 'buffer_size': a dp_packet,
 * the data, and padding, so that what follows is aligned. */
static size_t
mbuf_size(int buffer_size)
{
    return ROUND_UP(sizeof(struct dp_packet) + RTE_PKTMBUF_HEADROOM
                    + buffer_size, RTE_CACHE_LINE_SIZE);
}

/* Returns the bytes of the pages whose ends no mbuf of 'mp' may cross, or 0 if
 * there are none.  Where devices use virtual addresses, as they do without
 * hugepages, an mbuf is contiguous anyhow.  DPDK still reserves whole pages of
 * 4 kB for each, but a pool that 'grows_in_place' doesn't: mbufs would take
 * more memory, and those smaller than a page would all have the same places in
 * the CPU's L1 cache. */
size_t
dpdk_memory_page_size(struct rte_mempool *mp, bool grows_in_place)
{
    size_t page;

    return (rte_mempool_get_page_size(mp, &page)
            || (grows_in_place && rte_eal_iova_mode() == RTE_IOVA_VA))
           ? 0 : page;
}

/* Returns the bytes that 'n' mbufs of 'mp' take where none may cross the end
 * of a page of 'page' bytes, unless that is 0, and stores in '*align' how that
 * memory must be aligned. */
size_t
dpdk_memory_chunk_size(struct rte_mempool *mp, size_t page, uint32_t n,
                       size_t *align)
{
    size_t min_chunk;

    return rte_mempool_op_calc_mem_size_default(
        mp, n, page ? rte_bsf64(page) : 0, &min_chunk, align);
}

/* Returns the bytes that 'n' mbufs take, which may be 0, by
 * dpdk_memory_chunk_size(). */
static size_t
mbufs_size(struct rte_mempool *mp, size_t page, uint32_t n)
{
    size_t align;

    return n ? dpdk_memory_chunk_size(mp, page, n, &align) : 0;
}

/* Returns a mempool on 'numa_id' that isn't really there, to calculate sizes
 * of mbufs whose buffers have 'buffer_size'. */
static struct rte_mempool
imaginary(int numa_id, int buffer_size)
{
    struct rte_mempool_objsz size;

    rte_mempool_calc_obj_size(mbuf_size(buffer_size), 0, &size);
    return (struct rte_mempool) {
        .socket_id = numa_id,
        .header_size = size.header_size,
        .elt_size = size.elt_size,
        .trailer_size = size.trailer_size,
    };
}

/* Returns the bytes that 'n' mbufs with buffers of 'buffer_size' take in the
 * memory for 'numa_id', in a pool that 'grows_in_place' or in an ordinary
 * one. */
size_t
dpdk_mbufs_size(int numa_id, int buffer_size, bool grows_in_place, uint64_t n)
{
    struct rte_mempool mp = imaginary(numa_id, buffer_size);

    return mbufs_size(&mp, dpdk_memory_page_size(&mp, grows_in_place), n);
}

/* Like dpdk_mbufs_size(), but without DPDK running: in hugepages of 2 MB,
 * where devices use virtual addresses. */
size_t
dpdk_mbufs_size_va(int numa_id, int buffer_size, bool grows_in_place,
                   uint64_t n)
{
    struct rte_mempool mp = imaginary(numa_id, buffer_size);

    return mbufs_size(&mp, grows_in_place ? 0 : 2 << 20, n);
}

/* The same where devices use physical addresses. */
size_t
dpdk_mbufs_size_pa(int numa_id, int buffer_size,
                   bool grows_in_place OVS_UNUSED, uint64_t n)
{
    return dpdk_mbufs_size_va(numa_id, buffer_size, false, n);
}

/* Returns the bytes of memory that 'mp' has for mbufs. */
size_t
dpdk_memory_size(const struct rte_mempool *mp)
{
    const struct rte_mempool_memhdr *memhdr;
    size_t size = 0;

    STAILQ_FOREACH (memhdr, &mp->mem_list, next) {
        size += memhdr->len;
    }
    return size;
}

/* Returns the bytes of memory that 'mp' takes besides: for its ring, and for
 * the caches of all possible threads. */
size_t
dpdk_memory_overhead(const struct rte_mempool *mp)
{
    return rte_ring_get_memsize(rte_align32pow2(mp->size + 1))
           + RTE_MEMPOOL_HEADER_SIZE(mp, mp->cache_size);
}

/* Returns the number of mbufs that are in the ring of 'mp', and then those in
 * caches.  While a cache is being filled or flushed, some count twice, so that
 * there may seem to be more than there are: rte_mempool_avail_count() hides
 * that. */
static unsigned int
count_free(const struct rte_mempool *mp)
{
    unsigned int n = rte_mempool_get_ops(mp->ops_index)->get_count(mp);

    for (int i = 0; mp->cache_size && i < RTE_MAX_LCORE; i++) {
        n += mp->local_cache[i].len;
    }
    return n;
}

/* Returns the number of mbufs in 'mp' that are not in use.  Unlike
 * rte_mempool_avail_count(), this is right for a pool that may still grow. */
unsigned int
dpdk_memory_avail(const struct rte_mempool *mp)
{
    unsigned int n = count_free(mp);

    return MIN(n, mp->populated_size);
}

/* Returns true if all mbufs of 'mp' are back.  Nobody may take any from it, so
 * that none moves from the ring to a cache.  While a cache is being flushed,
 * this is wrong if just as many mbufs are still in use as count twice. */
bool
dpdk_memory_is_full(const struct rte_mempool *mp)
{
    return count_free(mp) == mp->populated_size;
}

/* Mempool operations: those of the ring, except for keeping track of how a
 * pool is used, and for how one that grows in place is populated. */

#define RING_OPS_NAME "ring_mp_mc"
#define OPS_NAME "ovs_counting"

/* How a pool of these operations is used: its 'pool_config', which is in its
 * private data. */
struct use {
    struct rte_pktmbuf_pool_private mbufs;
    atomic_uint32_t lowest;     /* Fewest mbufs in its ring since last read. */
    atomic_uint64_t n_failed;   /* Times that a thread got no mbuf. */
    bool grows_in_place;
};

static const struct mempool_growth *growth; /* NULL if pools can't grow. */

static int
populate(struct rte_mempool *mp, unsigned int max, void *vaddr,
         rte_iova_t iova, size_t len, rte_mempool_populate_obj_cb_t *cb,
         void *aux)
{
    const struct use *use = mp->pool_config;

    return (use->grows_in_place ? growth->populate
            : rte_mempool_op_populate_default)(mp, max, vaddr, iova, len, cb,
                                               aux);
}

RTE_DEFINE_PER_LCORE(const struct rte_mempool *, dpdk_memory_failed);

static rte_mempool_dequeue_t ring_dequeue;

static int
dequeue(struct rte_mempool *mp, void **objs, unsigned int n)
{
    int error = ring_dequeue(mp, objs, n);
    uint32_t n_left = rte_ring_count(mp->pool_data);
    struct use *use = mp->pool_config;
    uint32_t lowest;

    atomic_read_relaxed(&use->lowest, &lowest);
    while (OVS_UNLIKELY(n_left < lowest)
           && !atomic_compare_exchange_weak_relaxed(&use->lowest, &lowest,
                                                    n_left)) {
        continue;
    }

    /* If DPDK can't fill the thread's cache, or from 26.07 on a half of it, it
     * tries again with less. */
    if (OVS_UNLIKELY(error) && n < mp->cache_size / 2) {
        uint64_t orig;

        atomic_add_relaxed(&use->n_failed, 1, &orig);
        RTE_PER_LCORE(dpdk_memory_failed) = mp;
    }
    return error;
}

/* Registers these operations unless that was tried before.  Returns true if
 * pools can have them: DPDK must have room for them in its table, and the
 * machine must not prefer others, such as those of mempools in hardware. */
static bool
ensure_ops(void)
{
    static bool tried, registered;
    struct rte_mempool_ops ops;

    for (uint32_t i = 0; !tried && i < rte_mempool_ops_table.num_ops; i++) {
        ops = *rte_mempool_get_ops(i);
        if (!strcmp(ops.name, RING_OPS_NAME)) {
            ovs_strlcpy(ops.name, OPS_NAME, sizeof ops.name);
            ops.populate = populate;
            ring_dequeue = ops.dequeue;
            ops.dequeue = dequeue;
            /* If there is no room, there never is: DPDK logs that. */
            registered = rte_mempool_register_ops(&ops) >= 0;
            tried = true;
        }
    }
    return registered && !strcmp(rte_mbuf_best_mempool_ops(), RING_OPS_NAME);
}

/* Has pools grow in place as 'growth_' does it, which must stay.  To be called
 * before there is one. */
void
dpdk_memory_set_growth(const struct mempool_growth *growth_)
{
    growth = growth_;
}

/* Returns true if pools can grow in place wherever they can have these
 * operations. */
bool
dpdk_memory_has_growth(void)
{
    return growth != NULL;
}

/* Returns true if pools can grow in place.  DPDK must be running. */
bool
dpdk_memory_can_grow(void)
{
    return growth && ensure_ops();
}

/* Creating. */

static void
init_packet(struct rte_mempool *mp OVS_UNUSED, void *aux OVS_UNUSED,
            void *mbuf, unsigned int i OVS_UNUSED)
{
    dp_packet_init_dpdk(mbuf);
}

static uint16_t
private_size(int buffer_size)
{
    return mbuf_size(buffer_size) - sizeof(struct rte_mbuf) - buffer_size
           - RTE_PKTMBUF_HEADROOM;
}

/* Returns a new mempool with these operations and 'n' mbufs, or if it
 * 'grows_in_place', with room for them instead.  Returns NULL and sets
 * rte_errno if that fails. */
static struct rte_mempool *
create(const char *name, int numa_id, int buffer_size, uint32_t n,
       bool grows_in_place)
{
    struct rte_pktmbuf_pool_private mbufs = {
        .mbuf_data_room_size = buffer_size + RTE_PKTMBUF_HEADROOM,
        .mbuf_priv_size = private_size(buffer_size),
    };
    struct rte_mempool *mp;
    struct use *use;
    int error;

    mp = rte_mempool_create_empty(name, n, mbuf_size(buffer_size),
                                  MEMPOOL_CACHE_SIZE, sizeof *use, numa_id, 0);
    if (!mp) {
        return NULL;
    }
    rte_pktmbuf_pool_init(mp, &mbufs);
    use = rte_mempool_get_priv(mp);
    atomic_init(&use->lowest, UINT32_MAX);
    atomic_init(&use->n_failed, 0);
    use->grows_in_place = grows_in_place;
    rte_mempool_set_ops_byname(mp, OPS_NAME, use);

    /* Without memory, this only creates the ring. */
    error = (grows_in_place
             ? rte_mempool_populate_iova(mp, NULL, RTE_BAD_IOVA, 0, NULL, NULL)
             : rte_mempool_populate_default(mp));
    if (error < 0) {
        rte_mempool_free(mp);
        rte_errno = -error;
        return NULL;
    }
    rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
    return mp;
}

/* Returns a new ordinary mempool with 'n' mbufs.  Returns NULL and sets
 * rte_errno if that fails. */
struct rte_mempool *
dpdk_memory_create(const char *name, int numa_id, int buffer_size, uint32_t n)
{
    struct rte_mempool *mp;

    mp = (ensure_ops()
          ? create(name, numa_id, buffer_size, n, false)
          : rte_pktmbuf_pool_create(name, n, MEMPOOL_CACHE_SIZE,
                                    private_size(buffer_size),
                                    buffer_size + RTE_PKTMBUF_HEADROOM,
                                    numa_id));
    if (mp) {
        rte_mempool_obj_iter(mp, init_packet, NULL);
    }
    return mp;
}

/* Returns a new mempool without mbufs, to which dpdk_memory_add() can add up
 * to 'capacity' while it is used.  Returns NULL and sets rte_errno if that
 * fails.  dpdk_memory_can_grow() must have returned true. */
struct rte_mempool *
dpdk_memory_create_empty(const char *name, int numa_id, int buffer_size,
                         uint32_t capacity)
{
    return create(name, numa_id, buffer_size, capacity, true);
}

/* Gives 'mp', which dpdk_memory_create_empty() returned, up to 'n' more mbufs
 * while it is used.  Returns how many it got, which is 0 if it can't get
 * 'at_least'. */
uint32_t
dpdk_memory_add(struct rte_mempool *mp, uint32_t n, uint32_t at_least)
{
    return growth->add(mp, n, at_least);
}

/* Use. */

/* Returns the lowest number of mbufs of 'mp' that were neither in use nor in a
 * thread's cache since the last call.  With DPDK's own operations, returns how
 * many are not in use now. */
uint32_t
dpdk_memory_take_lowest(struct rte_mempool *mp)
{
    struct use *use = mp->pool_config;
    uint32_t lowest, now;

    if (!use) {
        return dpdk_memory_avail(mp);
    }
    now = rte_ring_count(mp->pool_data);
    atomic_read_relaxed(&use->lowest, &lowest);
    while (!atomic_compare_exchange_weak_relaxed(&use->lowest, &lowest, now)) {
        continue;
    }
    return MIN(lowest, now);
}

/* Returns how often a thread got no mbuf of 'mp'.  With DPDK's own operations,
 * this isn't known, and 0. */
uint64_t
dpdk_memory_n_failed(const struct rte_mempool *mp)
{
    struct use *use = mp->pool_config;
    uint64_t n = 0;

    if (use) {
        atomic_read_relaxed(&use->n_failed, &n);
    }
    return n;
}

/* Returns true if 'mp' had no mbuf for the calling thread since the last call,
 * and no other pool after it. */
bool
dpdk_memory_take_failure(const struct rte_mempool *mp)
{
    bool has_failed = RTE_PER_LCORE(dpdk_memory_failed) == mp;

    RTE_PER_LCORE(dpdk_memory_failed) = NULL;
    return has_failed;
}

/* Free memory. */

/* Bytes that DPDK may take from the system on each node, or 0 for any. */
static size_t socket_limits[RTE_MAX_NUMA_NODES];

/* DPDK has all the memory that it will ever have. */
static bool legacy_mem;

/* Takes from 'args', those of DPDK's EAL, how much memory DPDK may take from
 * the system, since DPDK doesn't report it. */
void
dpdk_memory_set_eal_args(const struct svec *args)
{
    static const char limit[] = "--socket-limit";

    for (size_t i = 0; i < args->n; i++) {
        const char *arg = args->names[i];

        if (!strcmp(arg, "--legacy-mem")) {
            legacy_mem = true;
        } else if (!strncmp(arg, limit, strlen(limit))) {
            const char *mib = arg[strlen(limit)] ? arg + sizeof limit
                              : i + 1 < args->n ? args->names[i + 1] : "";

            for (int node = 0; *mib && node < RTE_MAX_NUMA_NODES; node++) {
                char *end;

                socket_limits[node] = (size_t) strtoul(mib, &end, 10) << 20;
                mib = *end ? end + 1 : end;
            }
        }
    }
}

/* Returns the bytes that DPDK may take from the system for 'memory_node', of
 * which it has 'taken' already: SIZE_MAX if there is no limit. */
size_t
dpdk_memory_allowed(int memory_node, size_t taken)
{
    size_t limit = socket_limits[memory_node];

    return legacy_mem ? 0
           : limit ? limit - MIN(limit, taken)
           : SIZE_MAX;
}

/* What DPDK could still take from the system as pages of one size. */
struct free_pages {
    int numa_id;
    size_t above;               /* The smallest pages larger than this, */
    size_t page_size;           /* which have this size, or 0 if none. */
    size_t size;                /* Altogether. */
};

static int
count_free_pages(const struct rte_memseg_list *msl, void *pages_)
{
    struct free_pages *pages = pages_;

    if (msl->external || msl->socket_id != pages->numa_id
        || msl->page_sz <= pages->above) {
        return 0;
    }
    if (!pages->page_size || msl->page_sz < pages->page_size) {
        pages->page_size = msl->page_sz;
        pages->size = 0;
    }
    if (msl->page_sz == pages->page_size) {
        pages->size += (msl->memseg_arr.len - msl->memseg_arr.count)
                       * msl->page_sz;
    }
    return 0;
}

#define NODES_DIR "/sys/devices/system/node"

#define ALL_NODES_DIR "/sys/kernel/mm"

/* Returns the number in the file 'name' about hugepages of 'page_size' below
 * 'dir', or 0. */
static unsigned long
read_hugepages(const char *dir, size_t page_size, const char *name)
{
    char *file_name = xasprintf("%s/hugepages/hugepages-%"PRIuSIZE"kB/%s",
                                dir, page_size / 1024, name);
    FILE *file = fopen(file_name, "r");
    unsigned long n;

    if (!file || fscanf(file, "%lu", &n) != 1) {
        n = 0;
    }
    if (file) {
        fclose(file);
    }
    free(file_name);
    return n;
}

/* Returns the bytes of the pages of 'page_size' that are free on 'node', and
 * of those that the kernel may make there on demand, which it limits only for
 * all nodes.  A kernel that knows no nodes (CONFIG_NUMA) has only a sum. */
static size_t
free_hugepages(int node, size_t page_size)
{
    char *of_node = xasprintf(NODES_DIR "/node%d", node);
    const char *dir = access(NODES_DIR, F_OK) ? ALL_NODES_DIR : of_node;
    unsigned long n = read_hugepages(dir, page_size, "free_hugepages");
    unsigned long most = read_hugepages(ALL_NODES_DIR, page_size,
                                        "nr_overcommit_hugepages");
    unsigned long made = read_hugepages(ALL_NODES_DIR, page_size,
                                        "surplus_hugepages");

    free(of_node);
    return (n + most - MIN(most, made)) * page_size;
}

/* Returns the node, less than RTE_MAX_NUMA_NODES, on which memory for mbufs of
 * node 'numa_id' is counted: without hugepages, all memory of DPDK is on the
 * first one.  A guest may be on a node that DPDK doesn't know, where there can
 * be no mempool: what it needs is counted on the first one, too. */
int
dpdk_memory_node(int numa_id)
{
    return rte_eal_has_hugepages() && numa_id < RTE_MAX_NUMA_NODES
           ? numa_id : 0;
}

/* Returns the bytes of 'memory_node' that are free for mbufs: what DPDK has,
 * and the hugepages that it can get from the system. */
size_t
dpdk_memory_free_bytes(int memory_node)
{
    struct rte_malloc_socket_stats stats = { .heap_freesz_bytes = 0 };
    struct free_pages pages = { .numa_id = memory_node };
    size_t size = 0;

    rte_malloc_get_socket_stats(memory_node, &stats);
    while (rte_eal_has_hugepages()
           && rte_memseg_list_walk(count_free_pages, &pages) >= 0
           && pages.page_size) {
        size_t free_ = free_hugepages(memory_node, pages.page_size);

        size += MIN(pages.size, free_);
        pages = (struct free_pages) {
            .numa_id = memory_node,
            .above = pages.page_size,
        };
    }
    return stats.heap_freesz_bytes
           + MIN(size, dpdk_memory_allowed(memory_node,
                                           stats.heap_totalsz_bytes));
}

/* Returns true if 'size' bytes are free for mbufs on another node than
 * 'memory_node'. */
bool
dpdk_memory_elsewhere(int memory_node, size_t size)
{
    for (unsigned int i = 0; i < rte_socket_count(); i++) {
        int node = rte_socket_id_by_idx(i);

        if (dpdk_memory_node(node) != memory_node
            && dpdk_memory_free_bytes(node) >= size) {
            return true;
        }
    }
    return false;
}
