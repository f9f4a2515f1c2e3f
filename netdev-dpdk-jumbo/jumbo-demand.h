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

#ifndef JUMBO_DEMAND_H
#define JUMBO_DEMAND_H 1

/* How many mbufs of a mempool can be away from it at once.
 *
 * An mbuf is in one place at a time.  The places are the terms below.  Each is
 * the most that its place can hold, but for two that are estimates, since
 * nothing bounds them: JUMBO_DEMAND_COPIES with userspace TSO, and
 * JUMBO_DEMAND_OUTPUT.  While these are right, a port that wants an mbuf gets
 * it from a pool of the sum, whatever the others hold.
 *
 * Counts are of mbufs.  Nothing here depends on DPDK, keeps state or takes
 * locks. */

#include <stdint.h>

/* Mbufs that a mempool's cache for one lcore holds at most, in percent of the
 * cache's size: it is flushed only when it holds more (rte_mempool.c,
 * CACHE_FLUSHTHRESH_MULTIPLIER). */
#define JUMBO_CACHE_PERCENT 150

/* Packets that a thread takes from a port at a time, and that it collects for
 * one before it sends them (dp-packet.h, NETDEV_MAX_BURST). */
#define JUMBO_BURST 32

/* Segments of a packet of 65,535 bytes in packets of MTU 1500, whose TCP
 * segments have 1,448 bytes with timestamps (RFC 7323). */
#define JUMBO_GSO_SEGMENTS 46

/* Packets that a thread forwards in a microsecond at most: 10GBASE-R carries
 * 14.88 million frames of 64 bytes in a second. */
#define JUMBO_PACKETS_PER_US 15

/* What bears on the demand for the mbufs of one mempool. */
struct jumbo_demand_input {
    /* Of the Ethernet ports that receive into the pool: receive queues, and
     * their descriptors altogether, and those of them that the driver keeps
     * filled.  Vhost ports have none: they take mbufs only when there are
     * packets. */
    uint64_t n_rxq;
    uint64_t rx_descs;
    uint64_t rx_filled;

    /* Transmit descriptors of all Ethernet ports, whatever their pool: a
     * packet can leave anywhere, and a driver may free what it has sent only
     * when it needs the descriptor again (i40e, ixgbe, ice: tx_free_thresh;
     * virtio: vq_free_thresh). */
    uint64_t tx_descs;

    uint64_t n_threads;         /* PMD threads, and the main thread. */
    uint64_t cache_size;        /* Of the pool's cache for a PMD thread.  The
                                 * main thread, no DPDK lcore, has none. */
    uint64_t n_segments;        /* That a packet is sent as, at most: 1, or
                                 * JUMBO_GSO_SEGMENTS where Open vSwitch
                                 * segments whole batches. */
    uint64_t flush_interval;    /* For which output batches wait, in
                                 * microseconds (tx-flush-interval). */
    uint64_t max_frags;         /* That IP reassembly keeps (ipf.c, "ovs-appctl
                                 * dpctl/ipf-set-max-nfrags"), once it has kept
                                 * one. */
    uint64_t headroom;          /* The operator's own margin, in percent. */
};

/* The terms of a demand, in the order in which they are shown. */
enum jumbo_demand_term {
    JUMBO_DEMAND_RX_RINGS,      /* Posted for receiving. */
    JUMBO_DEMAND_TX_RINGS,      /* Sent, and not yet freed by the driver. */
    JUMBO_DEMAND_CACHES,        /* Free, but for one lcore only. */
    JUMBO_DEMAND_BURSTS,        /* Just received. */
    JUMBO_DEMAND_COPIES,        /* About to be sent, copied from elsewhere. */
    JUMBO_DEMAND_OUTPUT,        /* In output batches that wait. */
    JUMBO_DEMAND_REASSEMBLY,    /* Fragments that wait for others. */
    JUMBO_DEMAND_HEADROOM,      /* What the operator wants on top. */
    JUMBO_DEMAND_N_TERMS
};

struct jumbo_demand {
    uint64_t terms[JUMBO_DEMAND_N_TERMS];
    uint64_t total;
};

const char *jumbo_demand_term_name(enum jumbo_demand_term);
struct jumbo_demand jumbo_demand(const struct jumbo_demand_input *);
uint64_t jumbo_cache_max(const struct jumbo_demand_input *);
uint64_t jumbo_demand_to_start(const struct jumbo_demand_input *);

#endif /* jumbo-demand.h */
