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

#ifndef DPDK_DRIVER_H
#define DPDK_DRIVER_H 1

/* What is known about DPDK's drivers that matters for the mempools and the MTU
 * of their ports.
 *
 * A driver that isn't known gets the ordinary treatment: its rings are assumed
 * to be full, mempools don't grow while it has a port, and its devices are
 * stopped for another MTU.
 *
 * Nothing here depends on DPDK, keeps state or takes locks. */

#include <stdbool.h>
#include <stdint.h>

struct mempool_needs;

struct dpdk_driver {
    const char *name;           /* In 'struct rte_eth_dev_info'. */

    /* It keeps a record of a mempool's memory, so that it can't receive into,
     * or send, mbufs that the mempool gets while the port runs. */
    bool keeps_record;

    bool per_burst;             /* It takes mbufs only when there are
                                 * packets. */
    bool changes_mtu;           /* A running device takes another MTU, as long
                                 * as a frame fits into its buffers. */
    uint16_t max_mtu;           /* That it receives whole, if it reports more;
                                 * otherwise 0. */
    uint16_t most_filled;       /* Descriptors of a queue that it fills, or 0
                                 * for all of them. */
    uint8_t n_rings;            /* Receive rings that it fills for a queue if
                                 * the MTU is */
    uint16_t rings_above;       /* above this; otherwise one. */

    /* If it passes the mempool on to other devices, its members, each of which
     * has as many queues as the whole device: what the devargs have once for
     * each, and how many they don't show. */
    const char *member_keys[4];
    uint8_t n_other;
};

void dpdk_driver_apply(const char *name, const char *devargs,
                       struct mempool_needs *);
bool dpdk_driver_changes_mtu(const char *name);
int dpdk_driver_max_mtu(const char *name);
bool dpdk_driver_is_known(const char *name);

#endif /* dpdk-driver.h */
