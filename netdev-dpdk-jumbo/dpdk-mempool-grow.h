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

/* Growth of mempools in place: mbufs are added while ports use the pool.
 *
 * Memory is reserved first, in as few pieces as possible; only if there is
 * enough, mbufs are made of it.  Each is ready before it gets into the ring,
 * where a thread may take it at once.  Without a call to mempool_grow_init(),
 * pools are replaced by larger ones. */

void mempool_grow_init(void);

#endif /* dpdk-mempool-grow.h */
