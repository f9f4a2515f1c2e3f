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

#ifndef DPDK_MEMORY_H
#define DPDK_MEMORY_H 1

/* Mempools, and the memory that they take.
 *
 * There are two kinds.  An ordinary one has all mbufs from the beginning.  One
 * that grows in place gets them later, while ports use it.
 *
 * All sizes are in bytes, that of a buffer without headroom.  Functions that
 * create or change a pool must not run at the same time; no lock is taken. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>
#include <rte_per_lcore.h>

#include "dpdk-mempool-layout.h"

struct svec;

/* Mbufs that each lcore keeps for itself, so that it seldom needs the shared
 * ring.  The most that DPDK allows. */
#define MEMPOOL_CACHE_SIZE RTE_MEMPOOL_CACHE_MAX_SIZE

/* How pools get mbufs while ports use them (see dpdk-mempool-grow.h). */
struct mempool_growth {
    /* The mempool operation of this name (DPDK's lib/mempool/rte_mempool.h)
     * for a pool that grows in place. */
    rte_mempool_populate_t populate;
    uint32_t (*add)(struct rte_mempool *, uint32_t n, uint32_t at_least);
};

void dpdk_memory_set_growth(const struct mempool_growth *);
bool dpdk_memory_has_growth(void);
bool dpdk_memory_can_grow(void);
struct rte_mempool *dpdk_memory_create(const char *name, int numa_id,
                                       int buffer_size, uint32_t n);
struct rte_mempool *dpdk_memory_create_empty(const char *name, int numa_id,
                                             int buffer_size,
                                             uint32_t capacity);
uint32_t dpdk_memory_add(struct rte_mempool *, uint32_t n, uint32_t at_least);

dpdk_mbufs_size_func dpdk_mbufs_size;
dpdk_mbufs_size_func dpdk_mbufs_size_va;
dpdk_mbufs_size_func dpdk_mbufs_size_pa;
size_t dpdk_memory_page_size(struct rte_mempool *, bool grows_in_place);
size_t dpdk_memory_chunk_size(struct rte_mempool *, size_t page, uint32_t n,
                              size_t *align);
size_t dpdk_memory_size(const struct rte_mempool *);
size_t dpdk_memory_overhead(const struct rte_mempool *);
unsigned int dpdk_memory_avail(const struct rte_mempool *);
bool dpdk_memory_is_full(const struct rte_mempool *);

uint32_t dpdk_memory_take_lowest(struct rte_mempool *);
uint64_t dpdk_memory_n_failed(const struct rte_mempool *);

/* The last pool that had no mbuf for this thread since it last called
 * dpdk_memory_take_failure(), for any pool, or NULL.  The TLS model saves a
 * function call at each poll of an idle vhost queue, if this is in a shared
 * library. */
RTE_DECLARE_PER_LCORE(const struct rte_mempool *, dpdk_memory_failed)
    __attribute__((tls_model("initial-exec")));

bool dpdk_memory_take_failure(const struct rte_mempool *);

void dpdk_memory_set_eal_args(const struct svec *);
size_t dpdk_memory_allowed(int memory_node, size_t taken);
int dpdk_memory_node(int numa_id);
size_t dpdk_memory_free_bytes(int memory_node);
bool dpdk_memory_elsewhere(int memory_node, size_t size);

#endif /* dpdk-memory.h */
