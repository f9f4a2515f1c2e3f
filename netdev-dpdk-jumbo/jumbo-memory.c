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

#include "jumbo-memory.h"

#include <dirent.h>
#include <errno.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <sched.h>

#include "dp-packet.h"
#include "openvswitch/list.h"
#include "ovs-atomic.h"
#include "util.h"

/* Memory is reserved in as few pieces as possible, down to pieces for this
 * number of mbufs. */
#define MIN_CHUNK 64

/* Mbufs that are put into a pool at a time, which takes some microseconds. */
#define N_STAGED 4096

/* Memory for mbufs that a pool doesn't have yet. */
struct chunk {
    struct ovs_list node;
    char *memory;
    size_t size;
    uint32_t n;                 /* Mbufs. */
};

/* Sizes. */

/* Returns the bytes of an mbuf whose buffer has 'buffer_size': a dp_packet,
 * the data, and padding, so that what follows is aligned. */
static size_t
mbuf_size(int buffer_size)
{
    return ROUND_UP(sizeof(struct dp_packet) + RTE_PKTMBUF_HEADROOM
                    + buffer_size, RTE_CACHE_LINE_SIZE);
}

/* Returns the size of the pages whose ends no mbuf of 'mp' may cross, or 0 if
 * there are none.  Where devices use virtual addresses, as they do without
 * hugepages, an mbuf is contiguous anyhow.  DPDK still respects 4 kB pages if
 * an mbuf is smaller, but a pool that 'grows_in_place' doesn't: with one mbuf
 * in each page, mbufs would take more memory, and all would have the same
 * places in the CPU's L1 cache. */
static size_t
page_size(struct rte_mempool *mp, bool grows_in_place)
{
    size_t element = mp->header_size + mp->elt_size + mp->trailer_size;
    size_t page;

    return (rte_mempool_get_page_size(mp, &page)
            || ((grows_in_place || element > page)
                && rte_eal_iova_mode() == RTE_IOVA_VA))
           ? 0 : page;
}

/* Returns the bytes that 'n' mbufs of 'mp' take where none may cross the end
 * of a page of 'page' bytes, unless that is 0. */
static size_t
chunk_size(struct rte_mempool *mp, size_t page, uint32_t n, size_t *align)
{
    size_t min_chunk;

    return rte_mempool_op_calc_mem_size_default(
        mp, n, page ? rte_bsf64(page) : 0, &min_chunk, align);
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
jumbo_mbufs_size(int numa_id, int buffer_size, bool grows_in_place, uint64_t n)
{
    struct rte_mempool mp = imaginary(numa_id, buffer_size);
    size_t align;

    return n ? chunk_size(&mp, page_size(&mp, grows_in_place), n, &align) : 0;
}

/* Like jumbo_mbufs_size(), but without DPDK running: in hugepages of 2 MB,
 * where devices use virtual addresses. */
size_t
jumbo_mbufs_size_va(int numa_id, int buffer_size, bool grows_in_place,
                    uint64_t n)
{
    struct rte_mempool mp = imaginary(numa_id, buffer_size);
    size_t align;

    return n ? chunk_size(&mp, grows_in_place ? 0 : 2 << 20, n, &align) : 0;
}

/* The same where devices use physical addresses. */
size_t
jumbo_mbufs_size_pa(int numa_id, int buffer_size,
                    bool grows_in_place OVS_UNUSED, uint64_t n)
{
    return jumbo_mbufs_size_va(numa_id, buffer_size, false, n);
}

/* Returns the bytes of memory that 'mp' has for mbufs. */
size_t
jumbo_memory_size(const struct rte_mempool *mp)
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
jumbo_memory_overhead(const struct rte_mempool *mp)
{
    return rte_ring_get_memsize(rte_align32pow2(mp->size + 1))
           + RTE_MEMPOOL_HEADER_SIZE(mp, mp->cache_size);
}

/* Returns the number of mbufs in 'mp' that are not in use.  Unlike
 * rte_mempool_avail_count(), this is right for a pool that may still grow. */
unsigned int
jumbo_memory_avail(const struct rte_mempool *mp)
{
    return MIN(rte_mempool_avail_count(mp), mp->populated_size);
}

/* Mempool operations: those of the ring, except for populating, and for
 * keeping track of how a pool is used. */

#define RING_OPS_NAME "ring_mp_mc"
#define OPS_NAME "ovs_jumbo"

/* How a pool of these operations is used: its 'pool_config', which is in its
 * private data. */
struct use {
    struct rte_pktmbuf_pool_private mbufs;
    atomic_uint32_t lowest;     /* Fewest mbufs in its ring since last read. */
    atomic_uint64_t n_failed;   /* Times that a thread got no mbuf. */
    bool grows_in_place;
};

/* DPDK's own function that adds an element to a mempool's list. */
static rte_mempool_populate_obj_cb_t *add_element;

/* DPDK adds memory to a pool, and mbufs to its ring, in one step.  Here, if
 * the pool grows in place, it only adds the memory, which may fail and can be
 * undone.  chunk_populate() does the rest. */
static int
populate(struct rte_mempool *mp, unsigned int max, void *vaddr,
         rte_iova_t iova, size_t len, rte_mempool_populate_obj_cb_t *cb,
         void *aux)
{
    const struct use *use = mp->pool_config;

    if (!use->grows_in_place) {
        return rte_mempool_op_populate_default(mp, max, vaddr, iova, len, cb,
                                               aux);
    }
    add_element = cb;
    return len > 0;
}

RTE_DEFINE_PER_LCORE(const struct rte_mempool *, jumbo_memory_failed);

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

    /* If DPDK can't fill the thread's cache, it tries again with less. */
    if (OVS_UNLIKELY(error) && n <= mp->cache_size) {
        uint64_t orig;

        atomic_add_relaxed(&use->n_failed, 1, &orig);
        RTE_PER_LCORE(jumbo_memory_failed) = mp;
    }
    return error;
}

/* Returns true if pools can have these operations, without which they can't
 * grow in place: DPDK must have room for them in its table, and the machine
 * must not prefer others, such as those of mempools in hardware. */
bool
jumbo_memory_can_grow(void)
{
    static bool registered;
    struct rte_mempool_ops ops;

    for (uint32_t i = 0; !registered && i < rte_mempool_ops_table.num_ops;
         i++) {
        ops = *rte_mempool_get_ops(i);
        if (!strcmp(ops.name, RING_OPS_NAME)) {
            ovs_strlcpy(ops.name, OPS_NAME, sizeof ops.name);
            ops.populate = populate;
            ring_dequeue = ops.dequeue;
            ops.dequeue = dequeue;
            registered = rte_mempool_register_ops(&ops) >= 0;
            break;
        }
    }
    return registered && !strcmp(rte_mbuf_best_mempool_ops(), RING_OPS_NAME);
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
                                  JUMBO_CACHE_SIZE, sizeof *use, numa_id, 0);
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
jumbo_memory_create(const char *name, int numa_id, int buffer_size, uint32_t n)
{
    struct rte_mempool *mp;

    mp = (jumbo_memory_can_grow()
          ? create(name, numa_id, buffer_size, n, false)
          : rte_pktmbuf_pool_create(name, n, JUMBO_CACHE_SIZE,
                                    private_size(buffer_size),
                                    buffer_size + RTE_PKTMBUF_HEADROOM,
                                    numa_id));
    if (mp) {
        rte_mempool_obj_iter(mp, init_packet, NULL);
    }
    return mp;
}

/* Returns a new mempool without mbufs, to which jumbo_memory_add() can add up
 * to 'capacity' while it is used.  Returns NULL and sets rte_errno if that
 * fails.  jumbo_memory_can_grow() must have returned true. */
struct rte_mempool *
jumbo_memory_create_empty(const char *name, int numa_id, int buffer_size,
                          uint32_t capacity)
{
    return create(name, numa_id, buffer_size, capacity, true);
}

/* Use. */

/* Returns the lowest number of mbufs of 'mp' that were neither in use nor in a
 * thread's cache since the last call.  With DPDK's own operations, returns how
 * many are not in use now. */
uint32_t
jumbo_memory_lowest(struct rte_mempool *mp)
{
    struct use *use = mp->pool_config;
    uint32_t lowest, now;

    if (!use) {
        return jumbo_memory_avail(mp);
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
jumbo_memory_n_failed(const struct rte_mempool *mp)
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
jumbo_memory_has_failed(const struct rte_mempool *mp)
{
    bool has_failed = RTE_PER_LCORE(jumbo_memory_failed) == mp;

    RTE_PER_LCORE(jumbo_memory_failed) = NULL;
    return has_failed;
}

/* Growing. */

static void
free_memory_of(struct rte_mempool_memhdr *memhdr OVS_UNUSED, void *memory)
{
    rte_free(memory);
}

/* Returns memory for 'n' more mbufs of 'mp', to which it was already added.
 * Returns NULL and sets rte_errno if that fails. */
static struct chunk *
chunk_reserve(struct rte_mempool *mp, uint32_t n)
{
    size_t align;
    size_t size = chunk_size(mp, page_size(mp, true), n, &align);
    /* Not a memzone: there are too few of these altogether. */
    char *memory = rte_malloc_socket("ovs-mbufs", size, align, mp->socket_id);
    struct chunk *chunk;
    int error;

    if (!memory) {
        rte_errno = ENOMEM;
        return NULL;
    }

    error = rte_mempool_populate_iova(mp, memory, rte_mem_virt2iova(memory),
                                      size, free_memory_of, memory);
    if (error < 0) {
        rte_free(memory);
        rte_errno = -error;
        return NULL;
    }

    chunk = xmalloc(sizeof *chunk);
    chunk->memory = memory;
    chunk->size = size;
    chunk->n = n;
    return chunk;
}

/* Gives back the memory of 'chunk', in which there is no mbuf of 'mp'. */
static void
chunk_cancel(struct rte_mempool *mp, const struct chunk *chunk)
{
    struct rte_mempool_memhdr *memhdr;

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

/* Mbufs that are ready to be put into a pool. */
struct stage {
    void *mbufs[N_STAGED];
    unsigned int n;
    bool in_use;                /* Others use the pool. */
};

/* Puts the staged mbufs into the ring of 'mp'.  A thread that loses its CPU
 * meanwhile blocks all others that put mbufs there, so it yields right before,
 * and does this as seldom as it can. */
static void
flush(struct rte_mempool *mp, struct stage *stage)
{
    if (stage->n) {
        if (stage->in_use) {
            sched_yield();
        }
        rte_mempool_ops_enqueue_bulk(mp, stage->mbufs, stage->n);
        stage->n = 0;
    }
}

/* Makes up to 'n' mbufs of 'mp' in 'len' bytes at 'start', which devices find
 * at 'iova'.  Returns their number.  Like DPDK's own
 * rte_mempool_op_populate_helper(), but each mbuf is initialized before it
 * gets into the ring, since ports may be using the pool. */
static uint32_t
make_mbufs(struct rte_mempool *mp, char *start, rte_iova_t iova, size_t len,
           uint32_t n, struct stage *stage)
{
    size_t element = mp->header_size + mp->elt_size + mp->trailer_size;
    size_t page = page_size(mp, true);
    size_t off = 0;
    uint32_t i;

    for (i = 0; i < n; i++) {
        char *mbuf;

        if (page >= element) {
            char *end = RTE_PTR_ALIGN_FLOOR(start + off + element - 1, page);

            /* An mbuf doesn't cross the end of a page. */
            off = MAX(off, end - MIN(end, start));
        }
        if (off + element > len) {
            break;
        }
        mbuf = start + off + mp->header_size;
        add_element(mp, NULL, mbuf,
                    iova == RTE_BAD_IOVA ? iova : iova + (mbuf - start));
        rte_pktmbuf_init(mp, NULL, mbuf, 0);
        dp_packet_init_dpdk(ALIGNED_CAST(struct dp_packet *, mbuf));
        stage->mbufs[stage->n++] = mbuf;
        if (stage->n == N_STAGED) {
            flush(mp, stage);
        }
        off += element;
    }
    return i;
}

/* Fills the memory of 'chunk', which 'mp' already has, with mbufs, using
 * 'stage', which is empty. */
static void
chunk_populate(struct rte_mempool *mp, const struct chunk *chunk,
               struct stage *stage)
{
    size_t page = rte_mem_virt2memseg_list(chunk->memory)->page_sz;
    uint32_t n = 0;
    size_t len;

    for (size_t off = 0; off < chunk->size; off += len) {
        char *start = chunk->memory + off;
        rte_iova_t iova = rte_mem_virt2iova(start);

        /* As many pages as are contiguous for devices. */
        len = MIN(chunk->size - off,
                  (char *) RTE_PTR_ALIGN_CEIL(start + 1, page) - start);
        while (off + len < chunk->size
               && rte_mem_virt2iova(start + len) == iova + len) {
            len = MIN(len + page, chunk->size - off);
        }
        n += make_mbufs(mp, start, iova, len, chunk->n - n, stage);
    }
    flush(mp, stage);
}

/* Gives 'mp', which jumbo_memory_create_empty() returned, up to 'n' more mbufs
 * while it is used.  Returns how many it got, which is 0 if it can't get
 * 'at_least'. */
uint32_t
jumbo_memory_add(struct rte_mempool *mp, uint32_t n, uint32_t at_least)
{
    struct ovs_list chunks = OVS_LIST_INITIALIZER(&chunks);
    uint32_t before = mp->populated_size;
    struct stage stage = { .n = 0, .in_use = before > 0 };
    uint32_t piece = n;
    uint32_t reserved = 0;
    struct chunk *chunk;

    while (reserved < n) {
        chunk = chunk_reserve(mp, MIN(n - reserved, piece));
        if (chunk) {
            ovs_list_push_back(&chunks, &chunk->node);
            reserved += chunk->n;
        } else if (rte_errno == ENOMEM && piece > MIN_CHUNK) {
            piece = MAX(piece / 2, MIN_CHUNK);
        } else {
            break;
        }
    }
    LIST_FOR_EACH_POP (chunk, node, &chunks) {
        if (reserved >= at_least) {
            chunk_populate(mp, chunk, &stage);
        } else {
            chunk_cancel(mp, chunk);
        }
        free(chunk);
    }
    return mp->populated_size - before;
}

/* Free memory. */

/* What DPDK could still take from the system as pages of one size. */
struct free_pages {
    int numa_id;
    size_t page_size;
    size_t size;                /* Altogether. */
};

static int
count_free_pages(const struct rte_memseg_list *msl, void *pages_)
{
    struct free_pages *pages = pages_;

    if (!msl->external && msl->socket_id == pages->numa_id
        && msl->page_sz == pages->page_size) {
        pages->size += (msl->memseg_arr.len - msl->memseg_arr.count)
                       * msl->page_sz;
    }
    return 0;
}

/* Returns the node whose memory mbufs for node 'numa_id' take: without
 * hugepages, all memory of DPDK is on the first one. */
int
jumbo_memory_node(int numa_id)
{
    return rte_eal_has_hugepages() ? numa_id : 0;
}

#define NODE_DIR "/sys/devices/system/node/node"

/* Returns the bytes of 'memory_node' that are free for mbufs: what DPDK has,
 * and the hugepages that it can get from the system, including those that
 * dpdk-socket-limit forbids, since DPDK doesn't report its limit. */
size_t
jumbo_memory_free(int memory_node)
{
    struct rte_malloc_socket_stats stats = { .heap_freesz_bytes = 0 };
    char *dir_name = xasprintf(NODE_DIR "%d/hugepages", memory_node);
    DIR *dir = rte_eal_has_hugepages() ? opendir(dir_name) : NULL;
    struct dirent *entry;

    rte_malloc_get_socket_stats(memory_node, &stats);
    while (dir && (entry = readdir(dir))) {
        struct free_pages pages = { .numa_id = memory_node };
        char *file_name;
        unsigned long n_free;
        FILE *file;

        if (!ovs_scan(entry->d_name, "hugepages-%zukB", &pages.page_size)) {
            continue;
        }
        pages.page_size *= 1024;
        rte_memseg_list_walk(count_free_pages, &pages);

        file_name = xasprintf("%s/%s/free_hugepages", dir_name,
                              entry->d_name);
        file = fopen(file_name, "r");
        if (file && fscanf(file, "%lu", &n_free) == 1) {
            stats.heap_freesz_bytes += MIN(pages.size,
                                           n_free * pages.page_size);
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
