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
 * Sharing
 * -------
 *
 * Ports on a NUMA node whose MTUs need buffers of the same size share a pool.
 * It is to have what its ports can hold (see dpdk-mempool-demand.h), but never
 * more bytes than the mbufs with which Open vSwitch up to 4.0 starts for the
 * same ports.
 *
 * Growth
 * ------
 *
 * When that number rises, a pool gets more mbufs while ports use it, if the
 * drivers of all ports of the switch allow that: any of them may have to send
 * the pool's mbufs.  As long as one doesn't, no pool grows, and new ones are
 * of DPDK's own making.  A port for which a pool is too small then gets
 * another pool beside it.  The ports that have the first pool keep it until
 * they are reconfigured for a reason of their own, except for vhost ports,
 * which get the largest pool while they run.  No port is ever stopped or
 * reconfigured because of another.
 *
 * A pool never shrinks, but is freed when no port has it any more and its
 * mbufs are back.
 *
 * Too little memory
 * -----------------
 *
 * A port that can't have what it needs to start is refused before anything has
 * changed.  Beyond what its ports need to start, a pool never has more than
 * twice what it leaves free.  That holds when a pool is made, when the demand
 * for it rises, and every few seconds, so what a pool lacks follows when there
 * is memory.
 *
 * A port's life
 * -------------
 *
 *     error = mempool_port_prepare(port, netdev, &needs, &reason);
 *     if (!error) {
 *         set up the device with mempool_port_prepared(port);
 *         mempool_port_commit(port);   or, if that fails,
 *         mempool_port_cancel(port);
 *     }
 *     ...
 *     mempool_port_destroy(port);
 *
 * Thread safety
 * -------------
 *
 * Functions without a 'struct mempools' take 'mempool_mutex', and may be
 * called with the locks of a netdev held: dpdk_mutex and a device's mutex come
 * before it, those of seq.c, vlog.c, ovs-rcu.c and of DPDK's memory after it.
 * They may block while memory is reserved.  mempool_frags_in_use() and
 * mempool_port_get() don't take it, so PMD threads may call them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compiler.h"
#include "dpdk-mempool-demand.h"
#include "openvswitch/list.h"
#include "ovs-rcu.h"
#include "svec.h"

struct mempool;
struct mempools;
struct netdev;
struct rte_mempool;
struct smap;

#define MEMPOOL_MAX_HEADROOM 1000 /* In percent. */

/* A port.  Its owner, a netdev, initializes it with zeros. */
struct mempool_port {
    OVSRCU_TYPE(struct rte_mempool *) mp; /* That of 'pool', for threads. */

    /* What it has, and the pool that it receives into, or NULL. */
    struct mempool_needs now;
    struct mempool *pool;

    /* What it is going to have. */
    struct mempool_needs next;
    struct mempool *next_pool;

    struct ovs_list node;       /* In the list of all ports, */
    struct netdev *netdev;      /* if this is nonnull. */
};

#ifdef DPDK_NETDEV
void mempools_configure(const struct smap *other_config);
int mempools_prepared_mtu(void);
void mempools_run(void);
void mempools_wait(unsigned int seconds);
void mempools_dump(FILE *, const struct mempool_port *);

int mempool_port_prepare(struct mempool_port *, struct netdev *,
                         const struct mempool_needs *, char **errorp);
struct rte_mempool *mempool_port_prepared(const struct mempool_port *);
void mempool_port_commit(struct mempool_port *);
void mempool_port_cancel(struct mempool_port *);
void mempool_port_destroy(struct mempool_port *);

/* Returns the mempool that 'port' receives into, or NULL.  It stays until the
 * calling thread is quiescent, or as long as that holds the port's mutex. */
static inline struct rte_mempool *
mempool_port_get(const struct mempool_port *port)
{
    return ovsrcu_get(struct rte_mempool *, &port->mp);
}

void mempool_thread_add(void);
void mempool_thread_remove(void);
void mempool_set_max_frags(unsigned int max_frags);
void mempool_frags_in_use(void);
void mempool_set_flush_interval(unsigned int us);

/* How pools get mbufs while ports use them (see dpdk-mempool-grow.h). */
struct mempool_growth {
    bool (*is_possible)(void);
    struct rte_mempool *(*create)(const char *name, int numa_id,
                                  int buffer_size, uint32_t room);
    uint32_t (*add)(struct rte_mempool *, uint32_t n, uint32_t at_least);
};
void mempools_set_growth(const struct mempool_growth *);
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

/* What there is to know about a pool. */
struct mempool_info {
    int numa_id;
    int buffer_size;            /* In bytes, without headroom. */
    int min_mtu, max_mtu;       /* That get such buffers. */
    bool own;                   /* Of one port that doesn't share it. */
    bool grows;
    uint64_t n_mbufs;           /* That it has, and */
    uint64_t n_missing;         /* is to get.  Mbufs that a plan adds are */
    size_t missing_size;        /* missing; the bytes that these take. */
    uint64_t n_in_use;
    uint64_t lowest;            /* Fewest that were found free, apart from
                                 * those in threads' caches, since it has its
                                 * size. */
    size_t size;                /* Bytes of its mbufs. */
    struct mempool_demand demand;
    uint64_t limit;             /* The most that it may have, and */
    uint64_t target;            /* what it is to have. */
    struct svec ports;          /* That receive into it. */
    size_t n_new_ports;         /* That a plan adds to these. */
};

/* Memory of a NUMA node that pools are missing, in bytes. */
struct mempools_node_info {
    int node;
    size_t free;
    size_t missing;             /* With the pools' overhead. */
    bool fits;                  /* They would get all of it. */
    size_t missing_all;         /* The same when all guests are there. */
    bool fits_all;
};

struct mempools_info {
    struct mempool_info *pools; /* By node and size of buffers. */
    size_t n;
    struct mempools_node_info *nodes; /* Where something is missing. */
    size_t n_nodes;
};

/* A change, to be looked at before it is made. */
struct mempool_plan {
    const char *port;           /* Which to change, or NULL to add some. */
    unsigned int n_add;         /* How many to add. */
    struct mempool_needs needs; /* What the port, or each new one, is like. */
    unsigned int n_threads;     /* How many threads there will be. */
};

#ifdef DPDK_NETDEV
void mempools_get_info(const struct mempool_plan *, struct mempools_info *);
void mempools_info_free(struct mempools_info *);
bool mempool_get_needs(const char *port_name, struct mempool_needs *);
unsigned int mempool_n_threads(void);
bool mempool_port_get_info(const struct mempool_port *,
                           struct mempool_info *);
#endif

/* A switch that exists only in numbers, for plans of hosts and for tests.  No
 * lock is taken. */
struct mempools_model {
    unsigned int n_threads;     /* PMD threads, and the main one. */
    bool tso;
    unsigned int flush_interval;
    unsigned int max_frags;
    const struct smap *other_config; /* See mempools_configure(). */
    size_t (*mbufs_size)(int buffer_size, bool grows, uint64_t n);
    bool grows;                 /* Mempool operations allow that. */
    const size_t *memory;       /* Bytes on each node, or NULL for enough. */
};

#ifdef DPDK_NETDEV
struct mempools *mempools_model_create(const struct mempools_model *);
int mempools_model_add(struct mempools *, const struct mempool_needs *);
void mempools_model_run(struct mempools *);
void mempools_model_get_info(const struct mempools *, struct mempools_info *);
size_t mempools_model_needed(const struct mempools *, int node,
                             size_t *overhead);
void mempools_model_destroy(struct mempools *);
#endif

#endif /* dpdk-mempool.h */
