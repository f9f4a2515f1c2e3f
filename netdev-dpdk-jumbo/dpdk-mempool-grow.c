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

#include "dpdk-mempool-grow.h"

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include "dp-packet.h"
#include "dpdk-memory.h"
#include "dpdk-mempool.h"
#include "openvswitch/list.h"
#include "util.h"

/* Memory is reserved in as few pieces as possible, down to pieces for this
 * number of mbufs. */
#define MIN_CHUNK 64

/* Mbufs that are put into a mempool's ring at a time, which takes some
 * microseconds. */
#define N_STAGED 4096

/* Memory for mbufs that a mempool doesn't have yet. */
struct chunk {
    struct ovs_list node;
    struct rte_mempool_memhdr *memhdr;
    uint32_t n;                 /* Mbufs. */
};

/* Returns true if mempools can grow: the mempool operations that the machine
 * prefers don't lay out elements themselves, as those of hardware do.  DPDK
 * must be running. */
static bool
is_possible(void)
{
    for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; i++) {
        const struct rte_mempool_ops *ops = rte_mempool_get_ops(i);

        if (!strcmp(ops->name, rte_mbuf_best_mempool_ops())) {
            return !ops->populate && !ops->calc_mem_size;
        }
    }
    return false;
}

/* Returns a new mempool without mbufs, to which mempool_grow_add() can add up
 * to 'room'.  Returns NULL and sets rte_errno if that fails. */
static struct rte_mempool *
create(const char *name, int numa_id, int buffer_size, uint32_t room)
{
    size_t size = dpdk_mbuf_size(buffer_size);
    int data_room = buffer_size + RTE_PKTMBUF_HEADROOM;
    struct rte_pktmbuf_pool_private mbufs = {
        .mbuf_data_room_size = data_room,
        .mbuf_priv_size = size - sizeof(struct rte_mbuf) - data_room,
    };
    struct rte_mempool *mp = rte_mempool_create_empty(
        name, room, size, DPDK_CACHE_SIZE, sizeof mbufs, numa_id, 0);
    int error;

    if (!mp) {
        return NULL;
    }
    error = rte_mempool_set_ops_byname(mp, rte_mbuf_best_mempool_ops(), NULL);
    if (!error) {
        rte_pktmbuf_pool_init(mp, &mbufs);
        /* Without memory, this only creates the ring, which is never
         * larger. */
        error = rte_mempool_populate_iova(mp, NULL, RTE_BAD_IOVA, 0, NULL,
                                          NULL);
    }
    if (error < 0) {
        rte_mempool_free(mp);
        rte_errno = -error;
        return NULL;
    }
    mp->size = 0;
    return mp;
}

static void
free_memory_of(struct rte_mempool_memhdr *memhdr OVS_UNUSED, void *memory)
{
    rte_free(memory);
}

/* Returns where devices find 'addr', which is in DPDK's memory.  For physical
 * addresses, rte_mem_virt2iova() would ask the kernel, which is slow for each
 * page. */
static rte_iova_t
iova_of(const char *addr)
{
    const struct rte_memseg *page = rte_mem_virt2memseg(addr, NULL);

    return (page->iova == RTE_BAD_IOVA
            ? RTE_BAD_IOVA : page->iova + (addr - (char *) page->addr));
}

/* Returns memory for 'n' more mbufs of 'mp', or NULL. */
static struct chunk *
chunk_reserve(struct rte_mempool *mp, uint32_t n)
{
    size_t page = dpdk_memory_page_size(mp, true);
    size_t min_chunk, align;
    size_t size = rte_mempool_op_calc_mem_size_default(
        mp, n, page ? rte_bsf64(page) : 0, &min_chunk, &align);
    struct rte_mempool_memhdr *memhdr = rte_zmalloc("ovs-memhdr",
                                                    sizeof *memhdr, 0);
    /* Not a memzone: there are only 2,560 of these altogether. */
    char *memory = rte_malloc_socket("ovs-mbufs", size, align, mp->socket_id);
    struct chunk *chunk;

    if (!memory || !memhdr) {
        rte_free(memory);
        rte_free(memhdr);
        return NULL;
    }
    memhdr->mp = mp;
    memhdr->addr = memory;
    memhdr->iova = iova_of(memory);
    memhdr->len = size;
    memhdr->free_cb = free_memory_of;
    memhdr->opaque = memory;

    chunk = xmalloc(sizeof *chunk);
    chunk->memhdr = memhdr;
    chunk->n = n;
    return chunk;
}

/* Mbufs that are ready to be put into a mempool's ring. */
struct stage {
    void *mbufs[N_STAGED];
    unsigned int n;
};

/* Puts the staged mbufs into the ring of 'mp'.  A thread that loses its CPU
 * meanwhile blocks all others that put mbufs there, so this is done as seldom
 * as possible. */
static void
flush(struct rte_mempool *mp, struct stage *stage)
{
    if (stage->n) {
        rte_mempool_ops_enqueue_bulk(mp, stage->mbufs, stage->n);
        stage->n = 0;
    }
}

/* Adds the element 'mbuf' to the lists of 'mp', but not yet to its ring, as
 * DPDK does it (rte_mempool.c, mempool_add_elem()), and initializes it. */
static void
add_mbuf(struct rte_mempool *mp, char *mbuf, rte_iova_t iova)
{
    struct rte_mempool_objhdr *header = rte_mempool_get_header(mbuf);

    header->mp = mp;
    header->iova = iova;
    STAILQ_INSERT_TAIL(&mp->elt_list, header, next);
    mp->size = ++mp->populated_size;
#ifdef RTE_LIBRTE_MEMPOOL_DEBUG
    header->cookie = RTE_MEMPOOL_HEADER_COOKIE2;
    ALIGNED_CAST(struct rte_mempool_objtlr *, mbuf + mp->elt_size)->cookie
        = RTE_MEMPOOL_TRAILER_COOKIE;
#endif
    rte_pktmbuf_init(mp, NULL, mbuf, 0);
    dp_packet_init_dpdk(ALIGNED_CAST(struct dp_packet *, mbuf));
}

/* Makes up to 'n' mbufs of 'mp' in 'len' bytes at 'start', which devices find
 * at 'iova'.  Returns their number. */
static uint32_t
make_mbufs(struct rte_mempool *mp, char *start, rte_iova_t iova, size_t len,
           uint32_t n, struct stage *stage)
{
    size_t element = mp->header_size + mp->elt_size + mp->trailer_size;
    size_t page = dpdk_memory_page_size(mp, true);
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
        add_mbuf(mp, mbuf,
                 iova == RTE_BAD_IOVA ? iova : iova + (mbuf - start));
        stage->mbufs[stage->n++] = mbuf;
        if (stage->n == N_STAGED) {
            flush(mp, stage);
        }
        off += element;
    }
    return i;
}

/* Gives the memory of 'chunk' to 'mp' and fills it with mbufs, using 'stage',
 * which is empty. */
static void
chunk_populate(struct rte_mempool *mp, const struct chunk *chunk,
               struct stage *stage)
{
    char *memory = chunk->memhdr->addr;
    size_t size = chunk->memhdr->len;
    size_t page = rte_mem_virt2memseg_list(memory)->page_sz;
    uint32_t n = 0;
    size_t len;

    STAILQ_INSERT_TAIL(&mp->mem_list, chunk->memhdr, next);
    mp->nb_mem_chunks++;
    for (size_t off = 0; off < size; off += len) {
        char *start = memory + off;
        rte_iova_t iova = iova_of(start);

        /* As many pages as are contiguous for devices. */
        len = MIN(size - off,
                  (char *) RTE_PTR_ALIGN_CEIL(start + 1, page) - start);
        while (off + len < size && iova_of(start + len) == iova + len) {
            len = MIN(len + page, size - off);
        }
        n += make_mbufs(mp, start, iova, len, chunk->n - n, stage);
    }
    flush(mp, stage);
}

/* Gives 'mp', which create() returned, up to 'n' more mbufs while
 * it is used.  Returns how many it got, which is 0 if it can't get
 * 'at_least'. */
uint32_t
mempool_grow_add(struct rte_mempool *mp, uint32_t n, uint32_t at_least)
{
    struct ovs_list chunks = OVS_LIST_INITIALIZER(&chunks);
    uint32_t before = mp->populated_size;
    struct stage stage = { .n = 0 };
    uint32_t piece = n;
    uint32_t reserved = 0;
    struct chunk *chunk;

    while (reserved < n) {
        chunk = chunk_reserve(mp, MIN(n - reserved, piece));
        if (chunk) {
            ovs_list_push_back(&chunks, &chunk->node);
            reserved += chunk->n;
        } else if (piece > MIN_CHUNK) {
            piece = MAX(piece / 2, MIN_CHUNK);
        } else {
            break;
        }
    }
    LIST_FOR_EACH_POP (chunk, node, &chunks) {
        if (reserved >= at_least) {
            chunk_populate(mp, chunk, &stage);
        } else {
            rte_free(chunk->memhdr->addr);
            rte_free(chunk->memhdr);
        }
        free(chunk);
    }
    return mp->populated_size - before;
}

/* Enables in-place growth of mempools.  Must be called before there is
 * one. */
void
mempool_grow_init(void)
{
    static const struct mempool_growth growth = {
        .is_possible = is_possible,
        .create = create,
        .add = mempool_grow_add,
    };

    mempools_set_growth(&growth);
}
