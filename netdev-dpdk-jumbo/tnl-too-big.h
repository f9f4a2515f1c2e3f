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

#ifndef TNL_TOO_BIG_H
#define TNL_TOO_BIG_H 1

#include <stdbool.h>
#include <stddef.h>

#include "dp-packet.h"
#include "tnl-pmtu.h"

/* Packets that are too big for a tunnel
 * =====================================
 *
 * A packet that exceeds, with the header of its tunnel, the MTU of the port by
 * which the tunnel leaves, or of the path to the tunnel's remote end, is lost.
 * This module tells its sender, as routers do, and as Linux does for its own
 * tunnels: IPv4 packets with DF and IPv6 packets are dropped, and answered
 * with ICMP "fragmentation needed" or ICMPv6 "packet too big", which come from
 * the packet's destination as if the tunnel had delivered them.
 *
 * Packets that can't be answered, because they are IPv4 without DF, or aren't
 * IP, or by the rules of RFC 1122 or RFC 4443, or because the answer would be
 * an MTU that senders ignore (less than TNL_PMTU_MIN_V4 or TNL_PMTU_MIN_V6),
 * are left alone.  So are those of BFD, which looks for the MTU of a path
 * itself, and those that go into several tunnels.  They go on as if they did
 * fit.
 *
 * A thread sends at most 1,000 answers a second, and 50 at once, to the port
 * by which the packets came: the numbers of Linux's net.ipv4.icmp_msgs_per_sec
 * and icmp_msgs_burst.  Ports are spread over 64 such limits, so that a port
 * that is flooded with large packets hardly leaves others without answers.
 *
 * tnl_too_big_set_enabled() is the main thread's.  All others are thread-safe,
 * and take no locks that other threads hold for more than an insertion into a
 * table, once for each tunnel and remote end. */

struct in6_addr;
struct netdev;
struct netdev_custom_stats;
struct nlattr;

/* Returns the MTU of 'port' in bytes, INT_MAX if it has none; of ODPP_NONE,
 * the largest MTU that a port has. */
typedef int tnl_too_big_mtu_cb(const void *aux, odp_port_t port);

void tnl_too_big_set_enabled(bool);
bool tnl_too_big_is_enabled(void);

void tnl_too_big_answer(const struct netdev *tunnel, const struct nlattr *push,
                        const struct nlattr *actions, size_t actions_len,
                        tnl_too_big_mtu_cb *, const void *aux,
                        struct dp_packet_batch *packets,
                        struct dp_packet_batch *answers);
void tnl_too_big_turn(struct dp_packet_batch *answers);

int tnl_too_big_get_stats(const char *tunnel, const struct in6_addr *remote,
                          struct netdev_custom_stats *);

/* Returns true if 'packets' has a packet for which tnl_too_big_answer()
 * is to be called.  Senders of all others would not be told. */
static inline bool
tnl_too_big_maybe(const struct dp_packet_batch *packets)
{
    const struct dp_packet *packet;
    uint32_t max_size = 0;

    DP_PACKET_BATCH_FOR_EACH (i, packet, packets) {
        max_size = MAX(max_size, dp_packet_size(packet));
    }
    return OVS_UNLIKELY(max_size > TNL_PMTU_MIN_V4);
}

#endif /* tnl-too-big.h */
