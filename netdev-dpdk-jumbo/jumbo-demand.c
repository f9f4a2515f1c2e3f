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
    case JUMBO_DEMAND_OUTPUT: return "output";
    case JUMBO_DEMAND_REASSEMBLY: return "reassembly";
    case JUMBO_DEMAND_HEADROOM: return "headroom";
    case JUMBO_DEMAND_N_TERMS:
    default: OVS_NOT_REACHED();
    }
}

/* Returns the demand for the mbufs of a pool. */
struct jumbo_demand
jumbo_demand(const struct jumbo_demand_input *in)
{
    struct jumbo_demand d = {
        .terms = {
            [JUMBO_DEMAND_RX_RINGS] = in->rx_descs,
            [JUMBO_DEMAND_TX_RINGS] = in->tx_descs,
            [JUMBO_DEMAND_CACHES] = (MAX(in->n_threads, 1) - 1)
                * DIV_ROUND_UP(in->cache_size * JUMBO_CACHE_PERCENT, 100),

            /* A thread has one burst that it received and one of copies that
             * it is about to send (netdev-dpdk.c, dpdk_copy_batch_to_mbuf()).
             * A driver that receives in bulk keeps up to one burst for each
             * queue that isn't in the ring any more (i40e, ixgbe: rx_stage).
             */
            [JUMBO_DEMAND_BURSTS]
                = (2 * in->n_threads + in->n_rxq) * JUMBO_BURST,

            [JUMBO_DEMAND_OUTPUT]
                = in->n_threads * in->n_ports * JUMBO_BURST,
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
