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

#ifndef DPDK_MEMPOOL_PRIVATE_H
#define DPDK_MEMPOOL_PRIVATE_H 1

/* What the files that know the pools share: dpdk-mempool-wanted.c compares
 * those that there are with those that there are to be, dpdk-mempool.c makes,
 * replaces and frees them, and dpdk-mempool-info.c looks at them for others.
 *
 * All other files know only dpdk-mempool.h and dpdk-mempool-info.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpdk-mempool-layout.h"
#include "dpdk-mempool.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"

struct mempool {
    struct ovs_list node;           /* In 'mempool_all_pools'. */
    struct mempool_key key;         /* Its 'owner' is a struct mempool_port. */
    bool grows_in_place;            /* It was made for that. */
    struct rte_mempool *mp;
    bool replaced;                  /* By another pool, for the same ports. */
    unsigned int n_left;            /* Ports that left it while they were
                                     * polled: threads may still be using
                                     * it. */
    uint64_t n_mbufs;               /* As its ports' status shows, */
    uint64_t n_missing;             /* and those for which it has no memory. */
    size_t tried;                   /* Free bytes that didn't suffice to grow,
                                     * or to be replaced by a smaller one. */
    uint32_t lowest;                /* Fewest free mbufs at this size, and */
    bool is_low;                    /* whether the log reports it as low. */
};

/* The pools that there are to be, and the ports that they are for. */
struct mempool_wanted {
    struct mempool_layout_port *ports;
    size_t n_ports;
    struct mempool_layout_pool *pools;
    size_t n;
};

/* What it assumes. */
enum mempool_wanted_kind {
    WANTED_NOW = 0,             /* The memory that there is. */
    WANTED_COMPLETE = 1 << 0,   /* Enough memory. */
    WANTED_GUESTS = 1 << 1,     /* All guests there. */
    WANTED_AFTER = 1 << 2,      /* Ports have what they are going to have. */
    WANTED_ALL_GUESTS = WANTED_COMPLETE | WANTED_GUESTS,
};

/* What is configured for all pools. */
struct mempool_settings {
    unsigned int n_threads;     /* That poll ports, and the main one. */
    unsigned int max_frags;     /* That IP reassembly may keep, */
    bool frags_count;           /* and whether they are in the demand. */
    unsigned int flush_interval; /* In us. */
    unsigned int headroom;      /* In percent. */
};

/* The lock of mempools, and what it protects.  It is taken after dpdk_mutex
 * and the mutex of a device in netdev-dpdk.c.  While it is held, only the
 * locks of seq.c, of vlog.c and of DPDK's memory are taken. */
extern struct ovs_mutex mempool_mutex;
extern struct ovs_list mempool_all_pools OVS_GUARDED_BY(mempool_mutex);
extern struct ovs_list mempool_all_ports OVS_GUARDED_BY(mempool_mutex);
extern struct mempool_settings mempool_settings OVS_GUARDED_BY(mempool_mutex);

struct mempool_wanted mempool_wanted_create(enum mempool_wanted_kind,
                                            const struct mempool_plan *)
    OVS_REQUIRES(mempool_mutex);
void mempool_wanted_destroy(struct mempool_wanted *);
const struct mempool_layout_pool *mempool_wanted_find(
    const struct mempool_wanted *, const struct mempool_needs *,
    const struct mempool_port *);
size_t mempool_layout_pool_size(const struct mempool_layout_pool *,
                                uint64_t n);

struct mempool *mempool_find(const struct mempool_layout_pool *)
    OVS_REQUIRES(mempool_mutex);
uint64_t mempool_mbufs(const struct mempool *);
bool mempool_can_grow(const struct mempool *,
                      const struct mempool_layout_pool *);
uint64_t mempool_missing(const struct mempool *,
                         const struct mempool_layout_pool *);
size_t mempool_more_size(const struct mempool *,
                         const struct mempool_layout_pool *, uint64_t n);
size_t mempool_start_size(const struct mempool *,
                          const struct mempool_layout_pool *);

void mempools_sweep(void) OVS_REQUIRES(mempool_mutex);
void mempool_check_lowest(struct mempool *) OVS_REQUIRES(mempool_mutex);

#endif /* dpdk-mempool-private.h */
