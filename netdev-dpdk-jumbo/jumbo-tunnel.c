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

#include "jumbo-tunnel.h"

#include <string.h>

#include "openvswitch/ofp-match.h"
#include "packets.h"
#include "smap.h"
#include "tun-metadata.h"
#include "util.h"

/* Returns the bytes of all Geneve options that flows can add by 'table', each
 * with its header of 4 bytes. */
int
jumbo_geneve_options_len(const struct tun_table *table)
{
    struct ofputil_tlv_table_reply reply;
    struct ofputil_tlv_map *map;
    int len = 0;

    tun_metadata_table_request(table, &reply);
    LIST_FOR_EACH (map, list_node, &reply.mappings) {
        len += 4 + map->option_len;
    }
    ofputil_uninit_tlv_table(&reply.mappings);
    return len;
}

static bool
option_is(const struct smap *options, const char *key, const char *value)
{
    return !strcmp(smap_get_def(options, key, ""), value);
}

/* Returns the length of a GRE header (RFC 2784, RFC 2890). */
static int
gre_len(const struct smap *options)
{
    int n = 1;

    n += smap_get_bool(options, "csum", false);
    n += smap_get(options, "key") || smap_get(options, "out_key");
    n += smap_get_bool(options, "seq", false);
    return 4 * n;
}

/* Returns by how many bytes an L3 packet in a tunnel becomes a larger L3
 * packet, on the device that carries the tunnel: the inner Ethernet header,
 * the tunnel's own header, UDP and IP.  Returns 0 if 'type' isn't that of a
 * tunnel whose packets have headers of a known length.
 *
 * 'options' are those of the Interface table; what they leave to the flows
 * counts with the most that it can be.  'geneve_options_len' are the bytes of
 * the Geneve options that flows can add.  'tagged' is true if the inner frames
 * can have a VLAN tag. */
int
jumbo_tunnel_overhead(const char *type, const struct smap *options,
                      bool is_ipv6, int geneve_options_len, bool tagged)
{
    int ip_len = is_ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN;
    bool l3 = option_is(options, "packet_type", "legacy_l3");
    int tunnel_len;

    if (!strcmp(type, "vxlan")) {
        tunnel_len = UDP_HEADER_LEN + 8;        /* RFC 7348. */
    } else if (!strcmp(type, "geneve")) {
        tunnel_len = UDP_HEADER_LEN + 8 + geneve_options_len; /* RFC 8926. */
    } else if (!strcmp(type, "gre") || !strcmp(type, "ip6gre")) {
        tunnel_len = gre_len(options);
    } else if (!strcmp(type, "erspan") || !strcmp(type, "ip6erspan")) {
        /* GRE with a sequence number, and a header of two or three words
         * (draft-foschiano-erspan-03). */
        tunnel_len = 8 + (option_is(options, "erspan_ver", "1") ? 8 : 12);
    } else if (!strcmp(type, "gtpu")) {
        /* 3GPP TS 29.281, section 5.1. */
        tunnel_len = UDP_HEADER_LEN
                     + (smap_get_bool(options, "seq", false) ? 12 : 8);
        l3 = true;
    } else if (!strcmp(type, "bareudp")) {
        tunnel_len = UDP_HEADER_LEN;            /* RFC 7510. */
        l3 = true;
    } else if (!strcmp(type, "lisp")) {
        tunnel_len = UDP_HEADER_LEN + 8;        /* RFC 9300. */
        l3 = true;
    } else if (!strcmp(type, "srv6")) {
        /* RFC 8754; without segments, the remote end is the only one. */
        const char *segments = smap_get_def(options, "srv6_segs", "");
        int n = 1;

        for (const char *s = segments; *s; s++) {
            n += *s == ',';
        }
        tunnel_len = 8 + 16 * n;
        l3 = true;
    } else {
        return 0;
    }
    return (ip_len + tunnel_len
            + (l3 ? 0 : ETH_HEADER_LEN + (tagged ? VLAN_HEADER_LEN : 0)));
}
