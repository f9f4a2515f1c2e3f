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

#ifndef TNL_PMTU_H
#define TNL_PMTU_H 1

#include <stdbool.h>
#include <sys/types.h>
#include <netinet/in.h>

#include "openvswitch/types.h"

/* Path MTUs of tunnels
 * ====================
 *
 * A router of the underlay that can't forward a packet of a userspace tunnel,
 * because it exceeds the MTU of the next link, sends an ICMP "fragmentation
 * needed" or ICMPv6 "packet too big" message to the tunnel's own address.
 * This module parses such messages and keeps, for each remote address, the
 * smallest MTU that was reported for the path towards it.
 *
 * An entry is only ever lowered by messages.  It is forgotten
 * TNL_PMTU_EXPIRES_MS after the last message that confirmed it, as the
 * kernel's (net.ipv4.route.mtu_expires), or when the route to the remote
 * changes.
 *
 * Which packets the tunnels send is ofproto's knowledge: the caller passes a
 * message on to tnl_pmtu_lower() only if tnl_pmtu_parse() shows a packet of
 * an existing tunnel.
 *
 *
 * Thread-safety
 * =============
 *
 * All functions may be called by any thread.  tnl_pmtu_lookup() takes no lock.
 * The value that it returns is in effect when the message, or the command,
 * that changed it has been processed: there is no cache to be refreshed, and
 * no flow to be revalidated.
 */

/* The minimum that a message may lower a path MTU to, in bytes, and that
 * senders are told: what every host must take (RFC 791), and the minimum of an
 * IPv6 link (RFC 8200).  Linux ignores less than 552 for IPv4
 * (net.ipv4.route.min_pmtu). */
#define TNL_PMTU_MIN_V4 576
#define TNL_PMTU_MIN_V6 1280

#define ICMP4_FRAG_NEEDED 4     /* Code of ICMP4_DST_UNREACH (RFC 792). */

#define TNL_PMTU_EXPIRES_MS (10 * 60 * 1000)

/* Maximum number of remotes. */
#define TNL_PMTU_MAX_ENTRIES 4096

struct dp_packet;
struct flow;
struct flow_wildcards;

/* A packet that a message quotes, and the MTU that it reports. */
struct tnl_pmtu_report {
    struct in6_addr src;        /* IPv4-mapped for IPv4. */
    struct in6_addr dst;        /* Likewise. */
    uint8_t nw_proto;           /* IPPROTO_UDP or IPPROTO_GRE. */
    ovs_be16 tp_dst;            /* UDP only. */
    ovs_be16 gre_protocol;      /* GRE only, as the next three. */
    bool gre_has_key;           /* The packet has a key. */
    bool gre_key_is_quoted;     /* The quote may end before it. */
    ovs_be32 gre_key;
    uint32_t mtu;               /* Bytes, IP header included. */
};

void tnl_pmtu_init(void);
void tnl_pmtu_run(void);

int tnl_pmtu_lookup(const struct in6_addr *dst);

bool tnl_pmtu_is_report(const struct flow *, struct flow_wildcards *);
bool tnl_pmtu_parse(const struct dp_packet *, const struct flow *,
                    struct tnl_pmtu_report *);
void tnl_pmtu_lower(const struct in6_addr *dst, int mtu);

#endif /* tnl-pmtu.h */
