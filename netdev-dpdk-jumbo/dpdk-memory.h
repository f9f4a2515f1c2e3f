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

/* Mbufs, the memory that they take, and how much there is.
 *
 * Sizes are in bytes; that of a buffer is without headroom.  No lock is
 * taken. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_config.h>
#include <rte_mempool.h>

struct svec;

/* Mbufs that each lcore keeps for itself, so that it seldom needs the shared
 * ring: the most that DPDK allows. */
#define DPDK_CACHE_SIZE RTE_MEMPOOL_CACHE_MAX_SIZE

/* Approximate bytes that a mempool takes besides its mbufs: for its ring, and
 * for the caches of all possible threads. */
#define DPDK_MEMPOOL_OVERHEAD                                               \
    ROUND_UP((2 << 20) + RTE_MAX_LCORE * sizeof(struct rte_mempool_cache),  \
             4 << 20)

/* Returns the bytes of 'n' mbufs with buffers of 'buffer_size', in a mempool
 * that 'grows' (see dpdk-mempool-grow.h) or in one of DPDK's own making. */
typedef size_t dpdk_mbufs_size_func(int buffer_size, bool grows, uint64_t n);

dpdk_mbufs_size_func dpdk_mbufs_size;
dpdk_mbufs_size_func dpdk_mbufs_size_va;
dpdk_mbufs_size_func dpdk_mbufs_size_pa;
size_t dpdk_mbuf_size(int buffer_size);
size_t dpdk_mbuf_element_size(int buffer_size);
size_t dpdk_memory_page_size(struct rte_mempool *, bool grows);

unsigned int dpdk_cache_max(void);
struct rte_mempool *dpdk_mempool_create(const char *name, int numa_id,
                                        int buffer_size, uint32_t n);

void dpdk_memory_set_eal_args(const struct svec *);
int dpdk_memory_node(int numa_id);
size_t dpdk_memory_free_bytes(int memory_node);
size_t dpdk_memory_allowed(int memory_node, size_t taken);
bool dpdk_memory_elsewhere(int memory_node, size_t size);

#endif /* dpdk-memory.h */
