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

#include "jumbo-demand.h"

#include "util.h"

/* Returns a name for 'term' that can also be a key in JSON. */
const char *
jumbo_demand_term_name(enum jumbo_demand_term term)
{
    switch (term) {
    case JUMBO_DEMAND_RX_RINGS: return "rx-rings";
    case JUMBO_DEMAND_TX_RINGS: return "tx-rings";
    case JUMBO_DEMAND_CACHES: return "caches";
    case JUMBO_DEMAND_BURSTS: return "bursts";
    case JUMBO_DEMAND_COPIES: return "copies";
    case JUMBO_DEMAND_OUTPUT: return "output";
    case JUMBO_DEMAND_REASSEMBLY: return "reassembly";
    case JUMBO_DEMAND_HEADROOM: return "headroom";
    case JUMBO_DEMAND_N_TERMS:
    default: OVS_NOT_REACHED();
    }
}

/* Returns the most mbufs that the pool's cache for one lcore holds. */
uint64_t
jumbo_cache_max(const struct jumbo_demand_input *in)
{
    return DIV_ROUND_UP(in->cache_size * JUMBO_CACHE_PERCENT, 100);
}

/* Returns the demand for the mbufs of a pool. */
struct jumbo_demand
jumbo_demand(const struct jumbo_demand_input *in)
{
    const uint64_t n_pmds = MAX(in->n_threads, 1) - 1;
    struct jumbo_demand d = {
        .terms = {
            [JUMBO_DEMAND_RX_RINGS] = in->rx_descs,
            [JUMBO_DEMAND_TX_RINGS] = in->tx_descs,
            [JUMBO_DEMAND_CACHES] = n_pmds * jumbo_cache_max(in),

            /* A driver that receives in bulk keeps up to one burst per queue
             * outside of the ring (i40e, ixgbe: rx_stage). */
            [JUMBO_DEMAND_BURSTS] = (in->n_threads + in->n_rxq) * JUMBO_BURST,

            /* netdev-dpdk.c, dpdk_copy_batch_to_mbuf(). */
            [JUMBO_DEMAND_COPIES]
                = in->n_threads * JUMBO_BURST * MAX(in->n_segments, 1),

            /* Without an interval, a thread sends what it received before it
             * receives more (dpif-netdev.c, dp_netdev_process_rxq_port()). */
            [JUMBO_DEMAND_OUTPUT]
                = n_pmds * in->flush_interval * JUMBO_PACKETS_PER_US,
            [JUMBO_DEMAND_REASSEMBLY] = in->max_frags,
        },
    };

    for (int i = 0; i < JUMBO_DEMAND_HEADROOM; i++) {
        d.total += d.terms[i];
    }
    d.terms[JUMBO_DEMAND_HEADROOM] = DIV_ROUND_UP(d.total * in->headroom, 100);
    d.total += d.terms[JUMBO_DEMAND_HEADROOM];
    return d;
}

/* Returns the part of the demand without which ports don't start, or can't
 * receive as long as the caches are full. */
uint64_t
jumbo_demand_to_start(const struct jumbo_demand_input *in)
{
    struct jumbo_demand d = jumbo_demand(in);

    return in->rx_filled + d.terms[JUMBO_DEMAND_CACHES]
           + d.terms[JUMBO_DEMAND_BURSTS] + in->n_threads * JUMBO_BURST;
}
