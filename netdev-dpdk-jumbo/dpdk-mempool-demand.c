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

#include <config.h>

#include "dpdk-mempool-demand.h"

#include "dpdk-driver.h"
#include "util.h"

/* Ports. */

/* Returns true if a port with 'needs' takes mbufs that its mempool gets while
 * it runs. */
bool
mempool_needs_grow(const struct mempool_needs *needs)
{
    return !needs->driver
           || (!needs->driver->keeps_record && !needs->keeps_mbufs);
}

static uint64_t
n_rxq(const struct mempool_needs *needs)
{
    return needs->vhost ? 0 : (uint64_t) MIN(needs->n_rxq, needs->max_rxq)
                              * MAX(needs->n_devices, 1);
}

static uint64_t
n_rings(const struct mempool_needs *needs)
{
    const struct dpdk_driver *driver = needs->driver;

    return driver && needs->mtu > driver->rings_above ? MAX(driver->n_rings, 1)
           : 1;
}

static uint64_t
rx_descs(const struct mempool_needs *needs)
{
    return n_rxq(needs) * n_rings(needs) * needs->rxq_size;
}

static uint64_t
tx_descs(const struct mempool_needs *needs)
{
    return needs->vhost ? 0 : (uint64_t) MIN(needs->n_txq, needs->max_txq)
                              * MAX(needs->n_devices, 1) * needs->txq_size;
}

/* Returns how many mbufs the receive rings of a port with 'needs' hold before
 * it receives anything. */
uint64_t
mempool_needs_filled(const struct mempool_needs *needs)
{
    const struct dpdk_driver *driver = needs->driver;
    uint32_t most = needs->rxq_size;

    if (driver && driver->most_filled) {
        most = MIN(most, driver->most_filled);
    }
    return driver && driver->per_burst && !needs->keeps_mbufs
           ? 0 : n_rxq(needs) * n_rings(needs) * most;
}

/* Returns how many mbufs all descriptors and bursts that were requested of a
 * port with 'needs' hold, whatever its device has. */
uint64_t
mempool_needs_requested(const struct mempool_needs *needs)
{
    return (uint64_t) needs->n_rxq * needs->rxq_size
           + (uint64_t) needs->n_txq * needs->txq_size
           + MIN(needs->n_rxq, 128) * MEMPOOL_BURST;
}

/* Demand. */

/* Adds to 'in' a port that receives into the pool, and is like 'now', or
 * 'next', or may be like either; the other one may be NULL. */
void
mempool_demand_add_rx(struct mempool_demand_input *in,
                      const struct mempool_needs *now,
                      const struct mempool_needs *next)
{
    static const struct mempool_needs none = { .vhost = true };

    now = now ? now : &none;
    next = next ? next : &none;
    in->n_rxq += MAX(n_rxq(now), n_rxq(next));
    in->rx_descs += MAX(rx_descs(now), rx_descs(next));
    in->rx_filled += MAX(mempool_needs_filled(now),
                         mempool_needs_filled(next));
}

/* Adds to 'in' a port that sends mbufs of the pool, and may be like 'now' or
 * 'next'. */
void
mempool_demand_add_tx(struct mempool_demand_input *in,
                      const struct mempool_needs *now,
                      const struct mempool_needs *next)
{
    in->tx_descs += MAX(tx_descs(now), tx_descs(next));
}

/* Returns a name for 'term' that can also be a key in JSON. */
const char *
mempool_demand_term_name(enum mempool_demand_term term)
{
    switch (term) {
    case MEMPOOL_DEMAND_RX_RINGS: return "rx-rings";
    case MEMPOOL_DEMAND_TX_RINGS: return "tx-rings";
    case MEMPOOL_DEMAND_CACHES: return "caches";
    case MEMPOOL_DEMAND_BURSTS: return "bursts";
    case MEMPOOL_DEMAND_COPIES: return "copies";
    case MEMPOOL_DEMAND_OUTPUT: return "output";
    case MEMPOOL_DEMAND_REASSEMBLY: return "reassembly";
    case MEMPOOL_DEMAND_HEADROOM: return "headroom";
    case MEMPOOL_DEMAND_N_TERMS:
    default: OVS_NOT_REACHED();
    }
}

/* Returns the demand for the mbufs of a pool. */
struct mempool_demand
mempool_demand(const struct mempool_demand_input *in)
{
    const uint64_t n_pmds = MAX(in->n_threads, 1) - 1;
    struct mempool_demand d = {
        .terms = {
            [MEMPOOL_DEMAND_RX_RINGS] = in->rx_descs,
            [MEMPOOL_DEMAND_TX_RINGS] = in->tx_descs,
            [MEMPOOL_DEMAND_CACHES] = n_pmds * in->cache_max,

            /* A driver that receives in bulk keeps up to one burst per queue
             * outside of the ring (i40e, ixgbe: rx_stage). */
            [MEMPOOL_DEMAND_BURSTS]
                = (in->n_threads + in->n_rxq) * MEMPOOL_BURST,

            /* netdev-dpdk.c, dpdk_copy_batch_to_mbuf(). */
            [MEMPOOL_DEMAND_COPIES]
                = in->n_threads * MEMPOOL_BURST * MAX(in->n_segments, 1),

            /* Without an interval, a thread sends what it received before it
             * receives more (dpif-netdev.c, dp_netdev_process_rxq_port()). */
            [MEMPOOL_DEMAND_OUTPUT]
                = n_pmds * in->flush_interval * MEMPOOL_PACKETS_PER_US,
            [MEMPOOL_DEMAND_REASSEMBLY] = in->max_frags,
        },
    };

    for (int i = 0; i < MEMPOOL_DEMAND_HEADROOM; i++) {
        d.total += d.terms[i];
    }
    d.terms[MEMPOOL_DEMAND_HEADROOM] = DIV_ROUND_UP(d.total * in->headroom,
                                                    100);
    d.total += d.terms[MEMPOOL_DEMAND_HEADROOM];
    return d;
}

/* Returns the part of the demand without which ports don't start: their
 * filled rings, and a burst and a copy of one for each thread.  Caches may
 * stay empty. */
uint64_t
mempool_demand_to_start(const struct mempool_demand_input *in)
{
    return in->rx_filled
           + (2 * in->n_threads + in->n_rxq) * MEMPOOL_BURST;
}
