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

#ifndef DPDK_MEMPOOL_INFO_H
#define DPDK_MEMPOOL_INFO_H 1

/* What there is to know about mempools, and about the memory that they lack.
 *
 * As in dpdk-mempool.h, all functions take 'mempool_mutex', except for
 * mempools_info_sort(), mempools_info_free() and mempool_info(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpdk-mempool-demand.h"
#include "dpdk-mempool-layout.h"
#include "svec.h"

struct mempool_plan;
struct mempool_port;

/* A pool, as it is shown. */
struct mempool_info {
    int numa_id;
    int buffer_size;            /* In bytes, without headroom. */
    int min_mtu, max_mtu;       /* That get such buffers. */
    bool own;                   /* Of one port that doesn't share it. */
    bool grows_in_place;
    bool starts_once;           /* It stays as it is. */
    bool replaced;              /* By another one, which its ports are still to
                                 * get. */
    uint64_t n_mbufs;           /* That it has. */
    uint64_t n_in_use;
    uint64_t lowest;            /* Fewest that were free, apart from those in
                                 * threads' caches, since it has its size. */
    uint64_t n_failed;          /* Times that a thread got none. */
    size_t size;                /* Bytes that they take. */
    struct mempool_demand demand;
    uint64_t limit;             /* See 'struct mempool_layout_pool'. */
    uint64_t target;
    uint64_t n_missing;         /* Mbufs that it has to get. */
    size_t missing_size;        /* Bytes that they take. */
    struct svec ports;          /* That receive into it. */
    size_t n_new_ports;         /* That a plan adds to these. */
};

/* Memory of a NUMA node, in bytes. */
struct mempools_node_info {
    int node;
    size_t free;
    size_t missing;             /* For the pools that there are to be, with
                                 * their overhead. */
    size_t missing_all;         /* The same when all guests are there. */
    bool limited;               /* Pools may not have all of 'missing' in the
                                 * memory that there is. */
    bool limited_all;           /* The same of 'missing_all'. */
};

struct mempools_info {
    struct mempool_info *pools;
    size_t n;
    struct mempools_node_info *nodes; /* Where something is missing. */
    size_t n_nodes;
};

void mempools_info_get(const struct mempool_plan *, struct mempools_info *);
void mempools_info_sort(struct mempools_info *);
void mempools_info_free(struct mempools_info *);
struct mempool_info mempool_info(const struct mempool_layout_pool *);
bool mempool_port_get_needs(const char *name, struct mempool_needs *);
unsigned int mempool_n_threads(void);
bool mempool_port_get_use(const struct mempool_port *, uint64_t *lowest,
                          uint64_t *n_failed);
bool mempool_port_get_pool(const struct mempool_port *, int *buffer_size,
                           size_t *size, uint64_t *n_mbufs,
                           uint64_t *n_missing);

#endif /* dpdk-mempool-info.h */
