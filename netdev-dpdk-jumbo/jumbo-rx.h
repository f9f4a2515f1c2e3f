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

#ifndef JUMBO_RX_H
#define JUMBO_RX_H 1

/* Received packets that exceed the MTU, or a buffer.
 *
 * A packet is what the datapath gets: without CRC, its length in bytes.
 * Nothing here takes locks; a queue's state belongs to its polling thread. */

#include <stdbool.h>
#include <stdint.h>

#include "dp-packet.h"
#include "openvswitch/compiler.h"

int jumbo_rx_drop_oversized(struct dp_packet_batch *, uint32_t max_len,
                            const char *name);

/* A receive queue of a vhost port, from which the vhost library silently drops
 * packets that don't fit in a buffer.  Zeros at first. */
struct jumbo_rx_vhost {
    int vid;                    /* Of the device whose ring it was, plus 1. */
    uint16_t next;              /* Entry that the library was to read next. */
    uint16_t n_polls;           /* Polls since then. */
    uint16_t interval;          /* Polls until the ring is looked at again. */
    uint16_t n_rx;              /* Packets that these polls returned. */
};

int jumbo_rx_vhost_look(struct jumbo_rx_vhost *, int vid, int qid,
                        const char *name);

/* To be called after each poll of the ring 'qid' of 'vid', a queue of the port
 * 'name', that returned 'nb_rx' packets.  Returns how many packets the vhost
 * library has dropped since the ring was last looked at.  That doesn't happen
 * at each poll, since it costs an idle queue a third of its time. */
static inline int
jumbo_rx_vhost_drops(struct jumbo_rx_vhost *q, int vid, int qid,
                     uint16_t nb_rx, const char *name)
{
    q->n_rx += nb_rx;
    return (OVS_LIKELY(++q->n_polls < q->interval && q->vid == vid + 1)
            ? 0 : jumbo_rx_vhost_look(q, vid, qid, name));
}

#endif /* jumbo-rx.h */
