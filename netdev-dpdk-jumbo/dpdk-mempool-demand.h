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

#ifndef DPDK_MEMPOOL_DEMAND_H
#define DPDK_MEMPOOL_DEMAND_H 1

/* How many mbufs ports can hold.
 *
 * What a port is like ('struct mempool_needs') adds up to what the demand of
 * its mempool depends on ('struct mempool_demand_input'), and that to the
 * demand: the most mbufs that can be outside of the mempool's ring at once.
 *
 * Each term of the demand is the most mbufs that one place can hold.  Two
 * terms are estimates, since nothing bounds them: MEMPOOL_DEMAND_COPIES with
 * userspace TSO, and MEMPOOL_DEMAND_OUTPUT.  As long as these are right, a
 * port always gets an mbuf from a pool as large as the sum, whatever other
 * ports hold.
 *
 * Counts are of mbufs or descriptors.  Nothing here depends on DPDK, keeps
 * state or takes locks. */

#include <stdbool.h>
#include <stdint.h>

struct dpdk_driver;

/* Descriptors of a receive or transmit queue: by default, and the most that a
 * user can request. */
enum { MEMPOOL_DEFAULT_DESCS = 2048, MEMPOOL_MAX_DESCS = 32768 };

/* Packets that a thread receives from a port at a time, or collects for a port
 * before it sends them (dp-packet.h, NETDEV_MAX_BURST). */
#define MEMPOOL_BURST 32

/* Segments of a packet of 65,535 bytes in packets of MTU 1500, whose TCP
 * segments have 1,448 bytes with timestamps (RFC 7323). */
enum { MEMPOOL_GSO_SEGMENTS = 46 };

/* The most packets that a thread forwards in a microsecond: 10GBASE-R carries
 * 14.88 million frames of 64 bytes in a second. */
#define MEMPOOL_PACKETS_PER_US 15

/* What a port is like. */
struct mempool_needs {
    int numa_id;                /* Where its buffers are. */
    int mtu;                    /* Of its buffers and its device, */
    int prepared_mtu;           /* no less than this, or 0. */
    bool vhost;                 /* Takes mbufs only when there are packets, and
                                 * another mempool while it runs. */
    bool away;                  /* Its guest isn't there, so it needs no
                                 * mempool yet. */

    /* As requested.  A vhost port has the queues of its guest. */
    uint32_t n_rxq, rxq_size;
    uint32_t n_txq, txq_size;
    uint32_t max_rxq, max_txq;  /* The most that its device has. */

    /* See dpdk-driver.h.  All zeros for a vhost port. */
    const struct dpdk_driver *driver;
    unsigned int n_devices;     /* That receive into its mempool. */
    bool keeps_mbufs;           /* Because of its devargs. */
};

bool mempool_needs_grow(const struct mempool_needs *);
uint64_t mempool_needs_filled(const struct mempool_needs *);
uint64_t mempool_needs_requested(const struct mempool_needs *);

/* What the demand for mbufs of one mempool depends on. */
struct mempool_demand_input {
    /* Of the Ethernet ports that receive into the pool: their receive queues,
     * all descriptors of these, and those descriptors that the driver keeps
     * filled. */
    uint64_t n_rxq;
    uint64_t rx_descs;
    uint64_t rx_filled;

    /* Transmit descriptors of all Ethernet ports, whatever their pool: a
     * packet can leave through any port, and a driver may free a sent mbuf
     * only when it needs the descriptor again (i40e, ixgbe, ice:
     * tx_free_thresh; virtio: vq_free_thresh). */
    uint64_t tx_descs;

    uint64_t n_threads;         /* PMD threads, and the main thread. */
    uint64_t cache_max;         /* The most that the pool's cache for a PMD
                                 * thread holds.  The main thread, not a DPDK
                                 * lcore, has none. */
    uint64_t n_segments;        /* The most that a packet is sent as: 1, or
                                 * MEMPOOL_GSO_SEGMENTS where Open vSwitch
                                 * segments whole batches. */
    uint64_t flush_interval;    /* How long output batches wait, in
                                 * microseconds (tx-flush-interval). */
    uint64_t max_frags;         /* The most that IP reassembly keeps, once it
                                 * has kept one (ipf.c, "ovs-appctl
                                 * dpctl/ipf-set-max-nfrags"). */
    uint64_t headroom;          /* The operator's own margin, in percent. */
};

void mempool_demand_add_rx(struct mempool_demand_input *,
                           const struct mempool_needs *now,
                           const struct mempool_needs *next);
void mempool_demand_add_tx(struct mempool_demand_input *,
                           const struct mempool_needs *now,
                           const struct mempool_needs *next);

/* The terms of a demand, in the order in which they are shown. */
enum mempool_demand_term {
    MEMPOOL_DEMAND_RX_RINGS,    /* Posted for receiving. */
    MEMPOOL_DEMAND_TX_RINGS,    /* Sent, and not yet freed by the driver. */
    MEMPOOL_DEMAND_CACHES,      /* Free, but for one lcore only. */
    MEMPOOL_DEMAND_BURSTS,      /* Just received. */
    MEMPOOL_DEMAND_COPIES,      /* About to be sent, copied from elsewhere. */
    MEMPOOL_DEMAND_OUTPUT,      /* In output batches that wait. */
    MEMPOOL_DEMAND_REASSEMBLY,  /* Fragments that wait for others. */
    MEMPOOL_DEMAND_HEADROOM,    /* The operator's own margin. */
    MEMPOOL_DEMAND_N_TERMS
};

struct mempool_demand {
    uint64_t terms[MEMPOOL_DEMAND_N_TERMS];
    uint64_t total;
};

const char *mempool_demand_term_name(enum mempool_demand_term);
struct mempool_demand mempool_demand(const struct mempool_demand_input *);
uint64_t mempool_demand_to_start(const struct mempool_demand_input *);

#endif /* dpdk-mempool-demand.h */
