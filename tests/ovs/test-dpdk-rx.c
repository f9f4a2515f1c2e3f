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
#undef NDEBUG

#include "dpdk-rx.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "dp-packet.h"
#include "ovstest.h"
#include "test-dpdk-mempool.h"
#include "util.h"

/* "segments". */

/* Receives 'len' bytes, the first 'first' of them in an mbuf of 'mp' and the
 * rest in another one, by a port that accepts 'max_len', and returns whether
 * they arrive unchanged in one mbuf. */
static bool
receive_segments(struct rte_mempool *mp, uint32_t max_len, int first, int len)
{
    struct rte_mbuf *head = rte_pktmbuf_alloc(mp);
    struct rte_mbuf *tail = rte_pktmbuf_alloc(mp);
    uint8_t *data = (uint8_t *) rte_pktmbuf_append(head, first);
    uint8_t *rest = (uint8_t *) rte_pktmbuf_append(tail, len - first);
    struct dp_packet_batch batch;
    struct dp_packet *packet;
    bool arrives;

    for (int i = 0; i < len; i++) {
        *(i < first ? data + i : rest + i - first) = i % 251;
    }
    ovs_assert(!rte_pktmbuf_chain(head, tail));
    dp_packet_init_dpdk((struct dp_packet *) head);
    dp_packet_batch_init_packet(&batch, (struct dp_packet *) head);

    arrives = !dpdk_rx_drop_oversized(&batch, max_len, "p0");
    ovs_assert(dp_packet_batch_size(&batch) == arrives);
    DP_PACKET_BATCH_FOR_EACH (i, packet, &batch) {
        ovs_assert(packet->mbuf.nb_segs == 1);
        ovs_assert(dp_packet_size(packet) == len);
        for (int j = 0; j < len; j++) {
            ovs_assert(((uint8_t *) dp_packet_data(packet))[j] == j % 251);
        }
    }
    dp_packet_delete_batch(&batch, true);
    return arrives;
}

static void
test_segments(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mempool *mp;

    test_start_dpdk(64);
    mp = rte_pktmbuf_pool_create("rx", 63, 0,
                                 ROUND_UP(sizeof(struct dp_packet)
                                          - sizeof(struct rte_mbuf),
                                          RTE_MBUF_PRIV_ALIGN),
                                 9216 + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
    ovs_assert(mp);
    ovs_assert(receive_segments(mp, 9014, 8192, 9014));
    ovs_assert(receive_segments(mp, 9014, 1, 9014));
    ovs_assert(!receive_segments(mp, 9014, 8192, 9015));

    /* Without a request for the MTU, what fits in a buffer is received. */
    ovs_assert(receive_segments(mp, UINT32_MAX, 8192, 9216));
    ovs_assert(!receive_segments(mp, UINT32_MAX, 8192, 9217));
    ovs_assert(!receive_segments(mp, UINT32_MAX, 9216, 15014));
    ovs_assert(rte_mempool_full(mp));
}

/* "vhost". */

/* A ring of the vhost library. */
struct ring {
    struct dpdk_rx_vhost q;
    uint64_t seq;
    uint16_t next;
    bool packed;
};

static int
look(struct ring *ring)
{
    return dpdk_rx_vhost_count(&ring->q, ring->seq, ring->next, ring->packed);
}

/* Polls 'ring', of which the library reads 'n_entries' and returns 'n_rx'
 * packets.  Returns how many were dropped, if it is time to look. */
static int
poll(struct ring *ring, int n_entries, int n_rx)
{
    ring->next += n_entries;
    return dpdk_rx_vhost_is_due(&ring->q, n_rx) ? look(ring) : 0;
}

static void
test_vhost_split(void)
{
    struct ring ring = { .seq = 1, .next = 65000 };

    /* Drops before the first look aren't known. */
    ovs_assert(!poll(&ring, 7, 0));
    ovs_assert(!look(&ring));

    /* Nothing is looked at by polls, and no poll is missed. */
    for (int i = 0; i < 1000; i++) {
        ovs_assert(!poll(&ring, 0, 0));
        ovs_assert(!poll(&ring, 32, 32));
        ovs_assert(!poll(&ring, 32, i % 10 ? 32 : 31));
        ovs_assert(!poll(&ring, 1, i % 100 ? 1 : 0));
    }
    ovs_assert(look(&ring) == 110);
    ovs_assert(!look(&ring));

    /* A RARP packet of the library has no entry, and hides a drop; it must
     * not be taken for others. */
    ovs_assert(!poll(&ring, 0, 1));
    ovs_assert(!look(&ring));
    ovs_assert(!poll(&ring, 1, 0));
    ovs_assert(look(&ring) == 1);
    ovs_assert(!poll(&ring, 3, 3));
    ovs_assert(!look(&ring));

    /* Another guest, at another place in another ring. */
    ovs_assert(!poll(&ring, 5, 0));
    ring.seq++;
    ring.next = 3;
    ovs_assert(!look(&ring));
    ovs_assert(!poll(&ring, 33, 32));
    ovs_assert(look(&ring) == 1);
}

static void
test_vhost_packed(void)
{
    struct ring ring = { .seq = 1, .packed = true };
    int n_looks = 0;

    ovs_assert(!look(&ring));

    /* Idle: only looked at from time to time. */
    for (int i = 0; i < 1000; i++) {
        ovs_assert(!poll(&ring, 0, 0) && !ring.q.interval);
    }

    /* Of what was dropped until then, one packet is known. */
    ovs_assert(!poll(&ring, 2, 0) && !poll(&ring, 2, 0));
    ovs_assert(look(&ring) == 1);

    /* Then each poll that got nothing tells, whatever the entries that a
     * packet has; but not one that got packets, too. */
    ovs_assert(poll(&ring, 2, 0) == 1);
    ovs_assert(poll(&ring, 9, 0) == 1);
    ovs_assert(!poll(&ring, 64, 32));
    ovs_assert(!poll(&ring, 64, 31));
    ovs_assert(poll(&ring, 1, 0) == 1);

    /* Idle again, after a while. */
    for (int i = 0; i < 100000; i++) {
        uint16_t before = ring.q.n_left;

        ovs_assert(!poll(&ring, 0, 0));
        n_looks += ring.q.n_left > before;
    }
    ovs_assert(!ring.q.interval);
    ovs_assert(n_looks > 200 && n_looks <= 256);

    /* Another guest. */
    ring.seq++;
    ovs_assert(!poll(&ring, 2, 0));
    ovs_assert(!look(&ring));
    ovs_assert(poll(&ring, 2, 0) == 1);
}

static void
test_vhost(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    test_vhost_split();
    test_vhost_packed();
}

static const struct ovs_cmdl_command commands[] = {
    {"segments", NULL, 0, 0, test_segments, OVS_RO},
    {"vhost", NULL, 0, 0, test_vhost, OVS_RO},
    {NULL, NULL, 0, 0, NULL, OVS_RO},
};

static void
test_dpdk_rx_main(int argc, char *argv[])
{
    struct ovs_cmdl_context ctx = {
        .argc = argc - 1,
        .argv = argv + 1,
    };

    set_program_name(argv[0]);
    ovs_cmdl_run_command(&ctx, commands);
}

OVSTEST_REGISTER("test-dpdk-rx", test_dpdk_rx_main);
