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

#ifndef DPDK_MEMPOOL_H
#define DPDK_MEMPOOL_H 1

/* The mempools that DPDK ports receive into.
 *
 * dpdk-mempool-layout.h calculates which ports share a pool, and how many
 * mbufs it is to have.  When that number rises, the pool grows in place, while
 * ports use it; where it can't, a larger one replaces it, and its ports are
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
 * Functions that change or read pools or ports take 'mempool_mutex', and
 * may be called with the locks of a netdev held.  They may block while memory
 * is reserved.  mempool_frags_in_use(), mempool_port_count_failure() and
 * mempool_port_get_failures() don't, so PMD threads may call them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compiler.h"
#include "dpdk-mempool-demand.h"
#include "dpdk-mempool-layout.h"
#include "openvswitch/list.h"
#include "ovs-atomic.h"

struct netdev;
struct rte_mempool;

#define MEMPOOL_MAX_HEADROOM 1000 /* In percent. */

/* Receive queues of a vhost port (DPDK's lib/vhost/vhost.h,
 * VHOST_MAX_QUEUE_PAIRS). */
#define MEMPOOL_MAX_VHOST_QUEUES 128

/* A port.  Its owner, a netdev, initializes it with zeros. */
struct mempool_port {
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
    unsigned int n_asked;       /* mempools_run() calls in which it was asked
                                 * to get a new pool, and hasn't. */
    bool switches;              /* Set by its owner: while it runs, it gets
                                 * other pools by mempool_port_switch(). */
    struct mempool_needs now;   /* What it has. */
    struct mempool *pool;       /* That it receives into, or NULL. */
    struct mempool_needs next;  /* What it is going to have, */
    struct mempool *next_pool;  /* and the pool for that, or NULL. */
    struct mempool *tried_pools[2]; /* That it prepared for before, since it
                                     * was committed or kept last: the queues
                                     * of its device may have them. */
    ATOMIC(atomic_ullong *) failures; /* See mempool_port_count_failure(). */
};

/* A change, to be looked at before it is made. */
struct mempool_plan {
    const char *port;           /* Which to change, or NULL to add some. */
    unsigned int n_add;         /* How many to add. */
    struct mempool_needs needs; /* What the port, or each new one, needs. */
    unsigned int n_threads;     /* How many threads there will be. */
};

#ifdef DPDK_NETDEV
int mempool_port_prepare(struct mempool_port *, struct netdev *,
                         const struct mempool_needs *, bool stops,
                         struct rte_mempool **mpp, char **errorp);
void mempool_port_commit(struct mempool_port *);
void mempool_port_lose(struct mempool_port *);
void mempool_port_keep(struct mempool_port *);
void mempool_port_switch(struct mempool_port *);
bool mempool_port_must_move(const struct mempool_port *);
void mempool_port_withdraw(struct mempool_port *);
bool mempool_port_may_retry(struct mempool_port *);
void mempool_port_destroy(struct mempool_port *);

void mempool_thread_add(void);
void mempool_thread_remove(void);
void mempool_set_max_frags(unsigned int max_frags);
void mempool_frags_in_use(void);
void mempool_set_flush_interval(unsigned int us);
void mempool_set_headroom(const char *percent);

/* In dpdk-mempool-wanted.c.  Takes no lock. */
struct mempool_demand_input mempools_demand_input(unsigned int n_threads,
                                                  bool tso,
                                                  unsigned int flush_interval,
                                                  unsigned int max_frags,
                                                  unsigned int headroom);
void mempools_run(void);
void mempools_wait(unsigned int seconds);
void mempools_dump(FILE *, struct rte_mempool *);
void mempool_port_count_failure(struct mempool_port *, int queue);
uint64_t mempool_port_get_failures(const struct mempool_port *, int queue);
#else
static inline void
mempool_set_max_frags(unsigned int max_frags OVS_UNUSED)
{
}

static inline void
mempool_frags_in_use(void)
{
}

static inline void
mempool_set_flush_interval(unsigned int us OVS_UNUSED)
{
}
#endif

#endif /* dpdk-mempool.h */
