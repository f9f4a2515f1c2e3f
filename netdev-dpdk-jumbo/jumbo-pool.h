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
 * Ports on one NUMA node whose packets need buffers of one size share a pool,
 * unless they want one of their own.  A pool has as many mbufs as all ports of
 * the switch together can hold of it (see jumbo-demand.h).  When that rises,
 * the pool grows in place, while ports use it; where that can't be, a larger
 * one replaces it.  It never shrinks, but when nothing needs it any more and
 * its mbufs are back, it is freed.
 *
 * A pool is never smaller than its demand, unless it was replaced and its
 * ports are still to follow, or can't be started again.  What would need more
 * memory than there is fails before anything has changed.
 *
 * All functions take the module's own lock, and may be called with the locks
 * of a netdev held.  They may block while memory is reserved. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"
#include "jumbo-demand.h"
#include "openvswitch/list.h"
#include "svec.h"

struct netdev;
struct rte_mempool;

#define JUMBO_MAX_HEADROOM 1000 /* In percent. */
#define JUMBO_DEFAULT_DESCS 2048 /* Of a receive or transmit queue. */

/* How the pool of a port can grow, which depends on the port's driver.  A pool
 * is for ports of one kind. */
enum jumbo_growth {
    JUMBO_GROW_IN_PLACE,        /* While ports use it. */
    JUMBO_GROW_BY_RESTART,      /* A larger one replaces it, for which its
                                 * ports must be started again. */
    JUMBO_GROW_NEVER,           /* It is for one port, which can't be started
                                 * again. */
};

/* What a port needs, and what it can hold. */
struct jumbo_needs {
    int numa_id;                /* Where its buffers are. */
    int buffer_size;            /* In bytes, without headroom.  0 if it doesn't
                                 * receive yet. */
    enum jumbo_growth growth;   /* From jumbo_growth_for(). */
    bool own_pool;              /* Doesn't share its pool. */
    uint64_t n_rxq;             /* Like 'struct jumbo_demand_input', */
    uint64_t rx_descs;          /* for this port alone. */
    uint64_t n_txq;             /* One for each thread, unless the device */
    uint64_t tx_descs;          /* has fewer. */
};

/* A port.  Its owner, a netdev, initializes it with zeros. */
struct jumbo_port {
    struct ovs_list node;       /* In the list of all ports. */
    struct netdev *netdev;
    bool known;                 /* In that list. */
    struct jumbo_needs now;     /* What it has. */
    struct jumbo_pool *pool;    /* That it receives into, or NULL. */
    struct jumbo_needs next;    /* What it is going to have, */
    struct jumbo_pool *next_pool; /* and into which. */
};

/* A pool, as it is shown. */
struct jumbo_pool_info {
    int numa_id;
    int buffer_size;            /* In bytes, without headroom. */
    bool own;                   /* Of one port that doesn't share it. */
    enum jumbo_growth growth;
    bool replaced;              /* By another one, which its ports are still to
                                 * get. */
    uint64_t n_mbufs;           /* That it has. */
    uint64_t n_in_use;
    size_t size;                /* Bytes that they take. */
    struct jumbo_demand demand;
    uint64_t n_missing;         /* Mbufs that it has to get. */
    size_t missing_size;        /* Bytes that they take. */
    int memory_node;            /* NUMA node whose memory these are. */
    size_t free_memory;         /* Bytes that are free there. */
    struct svec ports;          /* That receive into it. */
    size_t n_new_ports;         /* That a plan adds to these. */
};

/* A change, to be looked at before it is made. */
struct jumbo_plan {
    const char *port;           /* Which to change, or NULL to add some. */
    unsigned int n_add;         /* How many to add. */
    struct jumbo_needs needs;   /* What the port, or each new one, needs. */
    unsigned int n_threads;     /* How many threads there will be. */
};

#ifdef DPDK_NETDEV
enum jumbo_growth jumbo_growth_for(const char *driver);
int jumbo_port_prepare(struct jumbo_port *, struct netdev *,
                       const struct jumbo_needs *, struct rte_mempool **mpp,
                       char **errorp);
void jumbo_port_commit(struct jumbo_port *);
bool jumbo_port_must_restart(const struct jumbo_port *);
void jumbo_port_destroy(struct jumbo_port *);

bool jumbo_thread_add(void);
void jumbo_thread_remove(void);
int jumbo_set_max_frags(unsigned int max_frags);
void jumbo_set_headroom(const char *percent);

void jumbo_pool_sweep(void);
size_t jumbo_pools_get(struct jumbo_pool_info **);
size_t jumbo_pools_plan(const struct jumbo_plan *, struct jumbo_pool_info **);
void jumbo_pools_free(struct jumbo_pool_info *, size_t n);
bool jumbo_port_get(const char *name, struct jumbo_needs *);
unsigned int jumbo_n_threads(void);
unsigned int jumbo_pool_avail(const struct rte_mempool *);
void jumbo_pool_sizes(const struct rte_mempool *, int *buffer_size,
                      size_t *n_mbufs, size_t *size);
#else
static inline int
jumbo_set_max_frags(unsigned int max_frags OVS_UNUSED)
{
    return 0;
}
#endif

#endif /* jumbo-pool.h */
