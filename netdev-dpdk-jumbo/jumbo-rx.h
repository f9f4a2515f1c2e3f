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

/* Received packets that exceed the MTU.
 *
 * A packet here is what the datapath gets: without CRC, its length in bytes.
 * Nothing here keeps state or takes locks. */

#include <stdint.h>

struct dp_packet_batch;

int jumbo_rx_drop_oversized(struct dp_packet_batch *, int max_packet_len,
                            const char *name);

uint16_t jumbo_rx_vhost_next(int vid, int qid);
int jumbo_rx_vhost_drops(int vid, int qid, uint16_t first, uint16_t nb_rx);

#endif /* jumbo-rx.h */
