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

#include "jumbo-rx.h"

#include <inttypes.h>
#include <linux/virtio_config.h>

#include <rte_mbuf.h>
#include <rte_vhost.h>

#include "compat.h"
#include "dp-packet.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(jumbo_rx);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Deletes the packets of 'batch', which the port 'name' has received, that are
 * longer than 'max_packet_len' or don't fit in one buffer, and returns their
 * number.  Packets that are to be segmented may have any length.
 *
 * A driver may use less than all of a buffer, and the next one for the rest:
 * net_e1000_em fills 8192 bytes of one of 10240 (em_rctl_bsize()).  What is
 * left of the first then takes the rest. */
int
jumbo_rx_drop_oversized(struct dp_packet_batch *batch, int max_packet_len,
                        const char *name)
{
    const size_t n_rx = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    size_t i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n_rx, packet, batch) {
        struct rte_mbuf *mbuf = &packet->mbuf;

        if (mbuf->nb_segs > 1 && mbuf->pkt_len <= max_packet_len) {
            rte_pktmbuf_linearize(mbuf);
        }
        if (mbuf->nb_segs > 1
            || (mbuf->pkt_len > max_packet_len && !mbuf_is_tso(mbuf))) {
            VLOG_WARN_RL(&rl, "%s: received %"PRIu32" bytes in %"PRIu16" "
                         "buffers, max_packet_len %d",
                         name, mbuf->pkt_len, mbuf->nb_segs, max_packet_len);
            dp_packet_delete(packet);
        } else {
            dp_packet_batch_add(batch, packet);
        }
    }
    return n_rx - dp_packet_batch_size(batch);
}

/* Returns the index of the entry of the ring 'qid' that the vhost library will
 * read next. */
uint16_t
jumbo_rx_vhost_next(int vid, int qid)
{
    uint16_t next = 0;
    uint16_t used;

    rte_vhost_get_vring_base(vid, qid, &next, &used);
    return next;
}

/* Returns how many packets the vhost library has dropped in a burst from the
 * ring 'qid', which it doesn't tell: those that don't fit in a buffer.  It has
 * returned 'nb_rx' packets, and 'first' was jumbo_rx_vhost_next() before. */
int
jumbo_rx_vhost_drops(int vid, int qid, uint16_t first, uint16_t nb_rx)
{
    int16_t n = jumbo_rx_vhost_next(vid, qid) - first - nb_rx;
    uint64_t features;

    if (OVS_LIKELY(!n) || rte_vhost_get_negotiated_features(vid, &features)) {
        return 0;
    }
    if (features & (1ULL << VIRTIO_F_RING_PACKED)) {
        /* Entries are descriptors, of which a packet may have several, so that
         * this can't be told but from a burst that got nothing: it ends with
         * the first packet that is dropped. */
        return !nb_rx;
    }
    return n > 0 && nb_rx + n <= NETDEV_MAX_BURST ? n : 0;
}
