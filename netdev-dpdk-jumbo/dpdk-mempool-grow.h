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

#ifndef DPDK_MEMPOOL_GROW_H
#define DPDK_MEMPOOL_GROW_H 1

/* Mempools that get mbufs while ports use them.
 *
 * DPDK's own functions add elements to a mempool's ring before they are
 * initialized as mbufs and, on a failure, free the memory of the whole
 * mempool.  Here, memory is reserved first, which may fail and can be undone;
 * then it is filled with mbufs, which can't fail; and only then do these get
 * into the ring.  To all other functions of DPDK, the result is a mempool that
 * has always had this size, with the ring that the machine prefers.
 *
 * Calls for one mempool must not run at the same time; no lock is taken. */

#include <stdint.h>

struct rte_mempool;

void mempool_grow_init(void);
uint32_t mempool_grow_add(struct rte_mempool *, uint32_t n, uint32_t at_least);

#endif /* dpdk-mempool-grow.h */
