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

#include <errno.h>
#include <rte_common.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sched.h>

#include "dp-packet.h"
#include "dpdk-memory.h"
#include "openvswitch/list.h"
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

/* DPDK's own function that adds an element to a mempool's list. */
static rte_mempool_populate_obj_cb_t *add_element;

/* DPDK adds memory to a pool, and mbufs to its ring, in one step.  This only
 * adds the memory, which may fail and can be undone.  chunk_populate() does
 * the rest. */
static int
populate(struct rte_mempool *mp OVS_UNUSED, unsigned int max OVS_UNUSED,
         void *vaddr OVS_UNUSED, rte_iova_t iova OVS_UNUSED, size_t len,
         rte_mempool_populate_obj_cb_t *cb, void *aux OVS_UNUSED)
{
    add_element = cb;
    return len > 0;
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

/* Returns memory for 'n' more mbufs of 'mp', to which it was already added.
 * Returns NULL and sets rte_errno if that fails. */
static struct chunk *
chunk_reserve(struct rte_mempool *mp, uint32_t n)
{
    size_t align;
    size_t size = dpdk_memory_chunk_size(
        mp, dpdk_memory_page_size(mp, true), n, &align);
    /* Not a memzone: there are too few of these altogether. */
    char *memory = rte_malloc_socket("ovs-mbufs", size, align, mp->socket_id);
    struct chunk *chunk;
    int error;

    if (!memory) {
        rte_errno = ENOMEM;
        return NULL;
    }

    error = rte_mempool_populate_iova(mp, memory, iova_of(memory),
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
        rte_iova_t iova = iova_of(start);

        /* As many pages as are contiguous for devices. */
        len = MIN(chunk->size - off,
                  (char *) RTE_PTR_ALIGN_CEIL(start + 1, page) - start);
        while (off + len < chunk->size
               && iova_of(start + len) == iova + len) {
            len = MIN(len + page, chunk->size - off);
        }
        n += make_mbufs(mp, start, iova, len, chunk->n - n, stage);
    }
    flush(mp, stage);
}

/* Implements dpdk_memory_add(). */
static uint32_t
add(struct rte_mempool *mp, uint32_t n, uint32_t at_least)
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

/* Has mempools grow in place, those of ports whose drivers take that.  To be
 * called before there is one. */
void
mempool_grow_init(void)
{
    static const struct mempool_growth growth = {
        .populate = populate,
        .add = add,
    };

    dpdk_memory_set_growth(&growth);
}
