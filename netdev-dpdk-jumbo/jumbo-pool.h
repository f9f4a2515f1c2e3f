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

/* In jumbo-wanted.c.  Takes no lock. */
struct jumbo_demand_input jumbo_pools_demand(unsigned int n_threads, bool tso,
                                             unsigned int flush_interval,
                                             unsigned int max_frags,
                                             unsigned int headroom);
void jumbo_pools_run(void);
void jumbo_pools_dump(FILE *, struct rte_mempool *);
void jumbo_port_count_failure(struct jumbo_port *, int queue);
uint64_t jumbo_port_get_failures(const struct jumbo_port *, int queue);
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
