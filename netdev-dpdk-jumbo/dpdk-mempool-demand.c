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

#include "util.h"

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

/* Returns the most mbufs that the pool's cache for one lcore holds. */
uint64_t
mempool_cache_max(const struct mempool_demand_input *in)
{
    return DIV_ROUND_UP(in->cache_size * MEMPOOL_CACHE_PERCENT, 100);
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
            [MEMPOOL_DEMAND_CACHES] = n_pmds * mempool_cache_max(in),

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

/* Returns the part of the demand without which ports don't start, or can't
 * receive as long as the caches are full. */
uint64_t
mempool_demand_to_start(const struct mempool_demand_input *in)
{
    struct mempool_demand d = mempool_demand(in);

    return in->rx_filled + d.terms[MEMPOOL_DEMAND_CACHES]
           + d.terms[MEMPOOL_DEMAND_BURSTS] + in->n_threads * MEMPOOL_BURST;
}
