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

#include "dpdk-rx.h"

#include <inttypes.h>
#include <linux/virtio_config.h>

#include <rte_mbuf.h>
#include <rte_vhost.h>

#include "dpdk-frame.h"
#include "netdev-dpdk-compat.h"
#include "openvswitch/vlog.h"

VLOG_DEFINE_THIS_MODULE(dpdk_rx);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Polls of a vhost queue with a packed ring that may come between two looks at
 * it before it counts as idle. */
#define PACKED_INTERVAL 256

/* Deletes the packets of 'batch', received by the port 'name', that are longer
 * than 'max_len', not counting their VLAN tags (see dpdk_tags_len()), or don't
 * fit in one buffer, and returns their number.  If 'max_len' is UINT32_MAX,
 * any length will do.  Packets that are to be segmented may have any length.
 *
 * A driver may use only part of a buffer, and the next one for the rest of the
 * packet: net_e1000_em fills 8192 bytes of 9216 (em_rctl_bsize()).  The rest
 * is then moved into what is left of the first buffer. */
int
dpdk_rx_drop_oversized(struct dp_packet_batch *batch, uint32_t max_len,
                       const char *name)
{
    const size_t n_rx = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    size_t i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n_rx, packet, batch) {
        struct rte_mbuf *mbuf = &packet->mbuf;
        bool too_long = mbuf->pkt_len > max_len
                        && !dp_packet_get_tso_segsz(packet)
                        && (mbuf->pkt_len
                            - dpdk_tags_len(dp_packet_data(packet)) > max_len);

        if (!too_long) {
            rte_pktmbuf_linearize(mbuf);
        }
        if (too_long || mbuf->nb_segs > 1) {
            VLOG_WARN_RL(&rl, "%s: dropped a packet of %"PRIu32" bytes in "
                         "%"PRIu16" mbufs: it exceeds the MTU or the size of "
                         "a buffer", name, mbuf->pkt_len, mbuf->nb_segs);
            dp_packet_delete(packet);
        } else {
            dp_packet_batch_add(batch, packet);
        }
    }
    return n_rx - dp_packet_batch_size(batch);
}

/* Returns how many packets of 'q' the vhost library has dropped since the last
 * call, now that its ring, 'packed' or not, is at 'next', the entry to be read
 * next.  If 'seq', the port's netdev_get_change_seq(), has changed, the number
 * isn't known, and 0: there may be another guest, or another driver in it.  To
 * be called before INT16_MAX polls have passed.
 *
 * The library advances its index over the packets that it drops, too, of which
 * there is at most one in a poll: the last.  These don't fit in a buffer, or
 * aren't packets at all.  The index isn't advanced over a packet for which
 * there is no mbuf, nor for a RARP packet that the library makes itself, which
 * hides one that it drops.
 *
 * The index of a packed ring counts descriptors, of which a packet may have
 * several, so that drops show only in polls that got nothing.  A packed ring
 * is therefore looked at after each poll, and less and less often when it has
 * become idle. */
int
dpdk_rx_vhost_count(struct dpdk_rx_vhost *q, uint64_t seq, uint16_t next,
                    bool packed)
{
    struct dpdk_rx_vhost old = *q;
    int n;

    *q = (struct dpdk_rx_vhost) { .seq = seq, .next = next };
    if (packed) {
        n = next != old.next && !old.n_rx;
        if (next != old.next) {
            q->interval = 1;
        } else if (old.interval && old.interval < PACKED_INTERVAL) {
            q->interval = old.interval + 1;
        }
        q->n_left = q->interval;
    } else {
        n = (int16_t) (next - old.next - old.n_rx);
    }
    return old.seq == seq ? MAX(n, 0) : 0;
}

/* Does dpdk_rx_vhost_count(), and returns the same.  'q' is the ring 'qid' of
 * 'vid', a queue of the port 'name'. */
int
dpdk_rx_vhost_look(struct dpdk_rx_vhost *q, int vid, int qid, uint64_t seq,
                   const char *name)
{
    uint16_t next, used;
    uint64_t features;
    int n;

    if (rte_vhost_get_negotiated_features(vid, &features)
        || rte_vhost_get_vring_base(vid, qid, &next, &used)) {
        memset(q, 0, sizeof *q);
        return 0;
    }
    n = dpdk_rx_vhost_count(q, seq, next,
                            features & (1ULL << VIRTIO_F_RING_PACKED));
    if (n) {
        VLOG_WARN_RL(&rl, "%s: dropped %d packets that exceed a buffer",
                     name, n);
    }
    return n;
}
