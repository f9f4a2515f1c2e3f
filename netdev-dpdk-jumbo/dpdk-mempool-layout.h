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

#ifndef DPDK_MEMPOOL_LAYOUT_H
#define DPDK_MEMPOOL_LAYOUT_H 1

/* Which ports share a mempool, and how many mbufs each mempool is to have.
 *
 * A pool is to have its ports' demand (see dpdk-mempool-demand.h), but never
 * more bytes than the old formulas take for the same ports, with the same
 * memory.  These are those of Open vSwitch up to 4.0, and are calculated here,
 * too: a pool of MAX_NB_MBUF mbufs for each 1 kB step of buffer sizes, or with
 * per-port-memory, one of a port's descriptors plus MIN_NB_MBUF; halved until
 * it fits into the memory that earlier pools left.
 *
 * Counts are of mbufs, sizes are bytes.  Nothing here depends on DPDK, keeps
 * state or takes locks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpdk-mempool-demand.h"

/* Descriptors of a receive or transmit queue: by default, and the most that a
 * user can request. */
enum { MEMPOOL_DEFAULT_DESCS = 2048, MEMPOOL_MAX_DESCS = 32768 };

/* Approximate bytes that a mempool takes besides its mbufs: for its ring, and
 * for the caches of all possible threads. */
#define MEMPOOL_OVERHEAD (4 << 20)

/* Bytes that are left to DPDK's devices, whose queues take memory, too, on
 * each node, unless a port needs them to start. */
#define MEMPOOL_KEPT_MEMORY (8 << 20)

/* What the old formulas start with and end at, in mbufs. */
#define MEMPOOL_OLD_MAX_MBUFS (4096 * 64)
#define MEMPOOL_OLD_MIN_MBUFS (4096 * 4)

/* What a port needs, and what it can hold. */
struct mempool_needs {
    int numa_id;                /* Where its buffers are. */
    int mtu;
    int buffer_size;            /* Without headroom.  0 if the port has, or
                                 * will have, no pool. */
    bool own_pool;              /* Doesn't share its pool. */
    bool away;                  /* Its guest isn't there, so it needs no pool
                                 * yet. */

    /* Of its device, as in 'struct mempool_demand_input'.  There is one
     * transmit queue for each thread, unless the device has fewer. */
    uint64_t n_rxq;
    uint64_t rx_descs;
    uint64_t rx_filled;
    uint64_t n_txq;
    uint64_t tx_descs;
    unsigned int n_devices;     /* Devices with as many queues that receive in
                                 * its place; 0 or 1 if it receives itself. */

    /* Of its driver. */
    unsigned int n_rings;       /* Receive rings of that many descriptors that
                                 * a queue fills if 'mtu' is larger than */
    int rings_above;            /* this, otherwise one; 0 or 1 is one. */
    bool grows_in_place;        /* It takes mbufs that its pool gets while the
                                 * port runs. */
    bool starts_once;           /* It can't be started again, so it keeps its
                                 * first pool, which it doesn't share. */

    /* For the old formulas: the queues and descriptors that were requested,
     * whatever the device has.  A vhost port has those of its guest. */
    uint64_t old_n_rxq;
    uint64_t old_rx_descs;
    uint64_t old_tx_descs;

    /* What the old formulas give it. */
    int old_buffer_size;        /* Without headroom. */
    uint64_t old_mbufs;         /* Before they are halved. */
};

void mempool_needs_set_buffers(struct mempool_needs *, int mtu, bool own_pool);
uint64_t mempool_needs_filled(const struct mempool_needs *);

/* A port has what is 'now', and may get what is 'next'. */
struct mempool_layout_port {
    struct mempool_needs now;
    struct mempool_needs next;
    const void *id;             /* Unique to each port. */
};

/* Returns the bytes of 'n' mbufs with buffers of 'buffer_size' on 'numa_id',
 * in a pool that 'grows_in_place' or in an ordinary one. */
typedef size_t dpdk_mbufs_size_func(int numa_id, int buffer_size,
                                    bool grows_in_place, uint64_t n);

struct mempool_layout_input {
    const struct mempool_layout_port *ports; /* In the order in which they were
                                              * added, which matters for the
                                              * old formulas. */
    size_t n_ports;
    bool all_guests;            /* Assume that all guests are there. */
    bool can_grow;              /* Pools that grow in place are possible. */
    struct mempool_demand_input demand; /* The part that isn't about ports. */

    dpdk_mbufs_size_func *mbufs_size;

    /* Returns the node whose memory mbufs for 'numa_id' take. */
    int (*memory_node)(int numa_id);

    /* The bytes that each such node has for mempools, used or not, or NULL for
     * what pools are to have when there is enough memory. */
    const size_t *memory_sizes;
};

/* Identifies the pool for a port: ports with equal keys share one. */
struct mempool_key {
    int numa_id;
    int buffer_size;            /* Without headroom. */
    const void *owner;          /* The 'id' of its only port, or NULL if it is
                                 * shared.  Not dereferenced. */
    bool own_size;              /* See dpdk_own_buffer_size(). */
    bool starts_once;           /* It can't be replaced. */
};

struct mempool_key mempool_needs_key(const struct mempool_needs *,
                                     const void *id);
bool mempool_key_equals(const struct mempool_key *,
                        const struct mempool_key *);

/* A pool as it is to be. */
struct mempool_layout_pool {
    struct mempool_key key;
    bool grows_in_place;        /* All ports of the switch allow that: any of
                                 * them may send the pool's mbufs. */
    struct mempool_demand demand;
    uint64_t limit;             /* Mbufs that take what the old formulas give
                                 * its ports. */
    uint64_t minimum;           /* With fewer, its ports can't start. */
    uint64_t base;              /* Without the operator's headroom.  One that
                                 * can't grow is replaced if it has fewer: also
                                 * without IP fragments, which anybody may
                                 * send. */
    uint64_t target;            /* With both. */
    uint64_t new_size;          /* What a new one gets, and */
    uint64_t spare_size;        /* what it gets where memory is plentiful. */
};

size_t mempool_layout(const struct mempool_layout_input *,
                      struct mempool_layout_pool **);
uint64_t mempool_mbufs_in(dpdk_mbufs_size_func *, int numa_id, int buffer_size,
                          bool grows_in_place, size_t size);
const struct mempool_layout_pool *mempool_layout_find(
    const struct mempool_layout_pool *, size_t n, const struct mempool_key *);

#endif /* dpdk-mempool-layout.h */
