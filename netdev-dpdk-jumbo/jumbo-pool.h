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

#ifndef JUMBO_POOL_H
#define JUMBO_POOL_H 1

/* The mempools that DPDK ports receive into.
 *
 * jumbo-layout.h calculates which ports share a pool, and how many mbufs it is
 * to have.  When that number rises, the pool grows in place, while ports use
 * it; where it can't, a larger one replaces it, and its ports are
 * reconfigured.  A pool never shrinks, but is freed when nothing needs it any
 * more and its mbufs are back; and where memory is short, a pool with more
 * than half again as many mbufs as it is to have is replaced by a smaller one,
 * if no port must be stopped just for that.
 *
 * A port that can't have the least that it needs is refused before anything
 * has changed.  Where there is memory for that, but not for all mbufs that
 * ports can hold, a pool gets what there is, the log reports what is missing,
 * and the pool is completed when there is memory.
 *
 * Functions that change or read pools or ports take the module's own lock, and
 * may be called with the locks of a netdev held.  They may block while memory
 * is reserved.  jumbo_frags_in_use(), jumbo_port_count_failure() and
 * jumbo_port_get_failures() take no lock: PMD threads may call them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compiler.h"
#include "jumbo-demand.h"
#include "jumbo-layout.h"
#include "openvswitch/list.h"
#include "ovs-atomic.h"
#include "svec.h"

struct netdev;
struct rte_mempool;

#define JUMBO_MAX_HEADROOM 1000 /* In percent. */

/* Receive queues of a vhost port (DPDK's lib/vhost/vhost.h,
 * VHOST_MAX_QUEUE_PAIRS). */
#define JUMBO_MAX_VHOST_QUEUES 128

/* A port.  Its owner, a netdev, initializes it with zeros. */
struct jumbo_port {
    struct ovs_list node;       /* In the list of all ports. */
    struct netdev *netdev;
    bool known;                 /* In that list. */
    bool waits;                 /* For memory for a pool, since it has none. */
    size_t tried;               /* Bytes of memory that were free when it
                                 * couldn't get another pool, otherwise 0. */
    bool failed;                /* To prepare, since it was committed or kept
                                 * last. */
    int lacks_node;             /* Where it then first lacked memory for what
                                 * it wanted, and */
    size_t lacks;               /* bytes that must be free there for that, or
                                 * 0. */
    bool switches;              /* Set by its owner: while it runs, it gets
                                 * other pools by jumbo_port_switch(). */
    struct jumbo_needs now;     /* What it has. */
    struct jumbo_pool *pool;    /* That it receives into, or NULL. */
    struct jumbo_needs next;    /* What it is going to have, */
    struct jumbo_pool *next_pool; /* and the pool for that, or NULL. */
    ATOMIC(atomic_ullong *) failures; /* See jumbo_port_count_failure(). */
};

/* A pool, as it is shown. */
struct jumbo_pool_info {
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
    struct jumbo_demand demand;
    uint64_t limit;             /* See 'struct jumbo_layout_pool'. */
    uint64_t target;
    uint64_t n_missing;         /* Mbufs that it has to get. */
    size_t missing_size;        /* Bytes that they take. */
    struct svec ports;          /* That receive into it. */
    size_t n_new_ports;         /* That a plan adds to these. */
};

/* Memory of a NUMA node, in bytes. */
struct jumbo_memory_info {
    int node;
    size_t free;
    size_t missing;             /* For the pools that there are to be, with
                                 * their overhead. */
    size_t missing_all;         /* The same when all guests are there. */
    bool limited;               /* Pools may not have all of 'missing' in the
                                 * memory that there is. */
    bool limited_all;           /* The same of 'missing_all'. */
};

struct jumbo_pools_info {
    struct jumbo_pool_info *pools;
    size_t n;
    struct jumbo_memory_info *nodes; /* Where something is missing. */
    size_t n_nodes;
};

/* A change, to be looked at before it is made. */
struct jumbo_plan {
    const char *port;           /* Which to change, or NULL to add some. */
    unsigned int n_add;         /* How many to add. */
    struct jumbo_needs needs;   /* What the port, or each new one, needs. */
    unsigned int n_threads;     /* How many threads there will be. */
};

#ifdef DPDK_NETDEV
int jumbo_port_prepare(struct jumbo_port *, struct netdev *,
                       const struct jumbo_needs *, bool stops,
                       struct rte_mempool **mpp, char **errorp);
void jumbo_port_commit(struct jumbo_port *);
void jumbo_port_keep(struct jumbo_port *);
void jumbo_port_switch(struct jumbo_port *);
bool jumbo_port_must_move(const struct jumbo_port *);
bool jumbo_port_may_retry(struct jumbo_port *);
void jumbo_port_destroy(struct jumbo_port *);

void jumbo_thread_add(void);
void jumbo_thread_remove(void);
void jumbo_set_max_frags(unsigned int max_frags);
void jumbo_frags_in_use(void);
void jumbo_set_flush_interval(unsigned int us);
void jumbo_set_headroom(const char *percent);

struct jumbo_demand_input jumbo_pools_demand(unsigned int n_threads, bool tso,
                                             unsigned int flush_interval,
                                             unsigned int max_frags,
                                             unsigned int headroom);
void jumbo_pools_run(void);
void jumbo_pools_get(const struct jumbo_plan *, struct jumbo_pools_info *);
void jumbo_pools_sort(struct jumbo_pools_info *);
void jumbo_pools_free(struct jumbo_pools_info *);
void jumbo_pools_dump(FILE *, struct rte_mempool *);
struct jumbo_pool_info jumbo_pool_info(const struct jumbo_layout_pool *);
bool jumbo_port_get_needs(const char *name, struct jumbo_needs *);
unsigned int jumbo_n_threads(void);
void jumbo_port_count_failure(struct jumbo_port *, int queue);
uint64_t jumbo_port_get_failures(const struct jumbo_port *, int queue);
bool jumbo_port_get_use(const struct jumbo_port *, uint64_t *lowest,
                        uint64_t *n_failed);
bool jumbo_port_get_pool(const struct jumbo_port *, int *buffer_size,
                         size_t *size, uint64_t *n_mbufs, uint64_t *n_missing);
#else
static inline void
jumbo_set_max_frags(unsigned int max_frags OVS_UNUSED)
{
}

static inline void
jumbo_frags_in_use(void)
{
}

static inline void
jumbo_set_flush_interval(unsigned int us OVS_UNUSED)
{
}
#endif

#endif /* jumbo-pool.h */
