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

#ifndef JUMBO_POOL_PRIVATE_H
#define JUMBO_POOL_PRIVATE_H 1

/* What the files that know the pools share: jumbo-wanted.c compares those that
 * there are with those that there are to be, jumbo-pool.c makes, replaces and
 * frees them, and jumbo-info.c looks at them for others.
 *
 * All other files know only jumbo-pool.h and jumbo-info.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jumbo-layout.h"
#include "jumbo-pool.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"

struct jumbo_pool {
    struct ovs_list node;           /* In 'jumbo_all_pools'. */
    struct jumbo_pool_key key;      /* Its 'owner' is a struct jumbo_port. */
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
struct jumbo_wanted {
    struct jumbo_layout_port *ports;
    size_t n_ports;
    struct jumbo_layout_pool *pools;
    size_t n;
};

/* What it assumes. */
enum jumbo_wanted_kind {
    JUMBO_NOW = 0,              /* The memory that there is. */
    JUMBO_COMPLETE = 1 << 0,    /* Enough memory. */
    JUMBO_GUESTS = 1 << 1,      /* All guests there. */
    JUMBO_AFTER = 1 << 2,       /* Ports have what they are going to have. */
    JUMBO_ALL_GUESTS = JUMBO_COMPLETE | JUMBO_GUESTS,
};

/* What is configured for all pools. */
struct jumbo_settings {
    unsigned int n_threads;     /* That poll ports, and the main one. */
    unsigned int max_frags;     /* That IP reassembly may keep, */
    bool frags_count;           /* and whether they are in the demand. */
    unsigned int flush_interval; /* In us. */
    unsigned int headroom;      /* In percent. */
};

/* The module's own lock, and what it protects.  It is taken after dpdk_mutex
 * and the mutex of a device in netdev-dpdk.c.  While it is held, only the
 * locks of seq.c, of vlog.c and of DPDK's memory are taken. */
extern struct ovs_mutex jumbo_mutex;
extern struct ovs_list jumbo_all_pools OVS_GUARDED_BY(jumbo_mutex);
extern struct ovs_list jumbo_all_ports OVS_GUARDED_BY(jumbo_mutex);
extern struct jumbo_settings jumbo_settings OVS_GUARDED_BY(jumbo_mutex);

struct jumbo_wanted jumbo_wanted_create(enum jumbo_wanted_kind,
                                        const struct jumbo_plan *)
    OVS_REQUIRES(jumbo_mutex);
void jumbo_wanted_destroy(struct jumbo_wanted *);
const struct jumbo_layout_pool *jumbo_wanted_find(const struct jumbo_wanted *,
                                                  const struct jumbo_needs *,
                                                  const struct jumbo_port *);
size_t jumbo_layout_pool_size(const struct jumbo_layout_pool *, uint64_t n);

struct jumbo_pool *jumbo_pool_find(const struct jumbo_layout_pool *)
    OVS_REQUIRES(jumbo_mutex);
uint64_t jumbo_pool_mbufs(const struct jumbo_pool *);
bool jumbo_pool_can_grow(const struct jumbo_pool *,
                         const struct jumbo_layout_pool *);
uint64_t jumbo_pool_missing(const struct jumbo_pool *,
                            const struct jumbo_layout_pool *);
size_t jumbo_pool_more_size(const struct jumbo_pool *,
                            const struct jumbo_layout_pool *, uint64_t n);
size_t jumbo_pool_start_size(const struct jumbo_pool *,
                             const struct jumbo_layout_pool *);

void jumbo_pools_sweep(void) OVS_REQUIRES(jumbo_mutex);
void jumbo_pool_check_lowest(struct jumbo_pool *) OVS_REQUIRES(jumbo_mutex);

#endif /* jumbo-pool-private.h */
