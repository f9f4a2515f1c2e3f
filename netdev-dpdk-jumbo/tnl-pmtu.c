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

#include "tnl-pmtu.h"

#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip6.h>
#include <stdlib.h>
#include <string.h>

#include "cmap.h"
#include "coverage.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "hash.h"
#include "netdev.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-router.h"
#include "ovs-thread.h"
#include "packets.h"
#include "seq.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tnl_pmtu);

#define IP_LINK_MIN_MTU 68      /* Of an IPv4 link (RFC 791), in bytes. */

COVERAGE_DEFINE(tnl_pmtu_lowered);
COVERAGE_DEFINE(tnl_pmtu_table_full);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

struct tnl_pmtu_entry {
    struct cmap_node cmap_node;
    struct in6_addr dst;
    atomic_int mtu;             /* In bytes. */
    atomic_llong expires;       /* Expiration time in ms. */

    /* The route to 'dst' when the entry was inserted. */
    char dev[IFNAMSIZ];
    struct in6_addr gw;
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;

/* Written with 'mutex' held, but for 'expires' of an entry, and read by any
 * thread. */
static struct cmap table = CMAP_INITIALIZER;

static uint32_t
tnl_pmtu_hash(const struct in6_addr *dst)
{
    return hash_bytes(dst->s6_addr, sizeof dst->s6_addr, 0);
}

static int
tnl_pmtu_min(const struct in6_addr *dst)
{
    return IN6_IS_ADDR_V4MAPPED(dst) ? TNL_PMTU_MIN_V4 : TNL_PMTU_MIN_V6;
}

/* Returns for how many more milliseconds 'e' is valid, 0 or less if it has
 * expired. */
static long long int
tnl_pmtu_remaining(struct tnl_pmtu_entry *e)
{
    long long int expires;

    atomic_read_relaxed(&e->expires, &expires);
    return expires - time_msec();
}

static struct tnl_pmtu_entry *
tnl_pmtu_find(const struct in6_addr *dst)
{
    struct tnl_pmtu_entry *e;

    CMAP_FOR_EACH_WITH_HASH (e, cmap_node, tnl_pmtu_hash(dst), &table) {
        if (ipv6_addr_equals(&e->dst, dst)) {
            return e;
        }
    }
    return NULL;
}

/* Returns the MTU of the path to 'dst', in bytes of an outer IP packet, or 0
 * if none is known.  An IPv4 address is IPv4-mapped. */
int
tnl_pmtu_lookup(const struct in6_addr *dst)
{
    struct tnl_pmtu_entry *e;
    int mtu;

    if (OVS_LIKELY(cmap_is_empty(&table))) {
        return 0;
    }

    e = tnl_pmtu_find(dst);
    if (!e || tnl_pmtu_remaining(e) <= 0) {
        return 0;
    }
    atomic_read_relaxed(&e->mtu, &mtu);
    return mtu;
}

static void
tnl_pmtu_delete(struct tnl_pmtu_entry *e)
    OVS_REQUIRES(mutex)
{
    cmap_remove(&table, &e->cmap_node, tnl_pmtu_hash(&e->dst));
    ovsrcu_postpone(free, e);
}

static void
tnl_pmtu_get_route(const struct in6_addr *dst, char dev[IFNAMSIZ],
                   struct in6_addr *gw)
{
    memset(dev, 0, IFNAMSIZ);
    *gw = in6addr_any;
    ovs_router_lookup(0, dst, dev, NULL, gw);
}

static bool
tnl_pmtu_route_changed(const struct tnl_pmtu_entry *e)
{
    char dev[IFNAMSIZ];
    struct in6_addr gw;

    tnl_pmtu_get_route(&e->dst, dev, &gw);
    return strcmp(dev, e->dev) || !ipv6_addr_equals(&gw, &e->gw);
}

static void
tnl_pmtu_update(struct tnl_pmtu_entry *e, int mtu)
    OVS_REQUIRES(mutex)
{
    atomic_store_relaxed(&e->mtu, mtu);
    atomic_store_relaxed(&e->expires, time_msec() + TNL_PMTU_EXPIRES_MS);
}

/* Returns true if successful, false if the table is full. */
static bool
tnl_pmtu_insert(const struct in6_addr *dst, int mtu)
    OVS_REQUIRES(mutex)
{
    struct tnl_pmtu_entry *e;

    if (cmap_count(&table) >= TNL_PMTU_MAX_ENTRIES) {
        COVERAGE_INC(tnl_pmtu_table_full);
        return false;
    }

    e = xmalloc(sizeof *e);
    e->dst = *dst;
    atomic_init(&e->mtu, 0);
    atomic_init(&e->expires, 0);
    tnl_pmtu_get_route(dst, e->dev, &e->gw);
    tnl_pmtu_update(e, mtu);
    cmap_insert(&table, &e->cmap_node, tnl_pmtu_hash(dst));
    return true;
}

/* Makes 'mtu' that of the path to 'dst' from now on.  Returns true if
 * successful, false if the table is full. */
static bool
tnl_pmtu_put(const struct in6_addr *dst, int mtu)
    OVS_REQUIRES(mutex)
{
    struct tnl_pmtu_entry *e = tnl_pmtu_find(dst);

    if (!e) {
        return tnl_pmtu_insert(dst, mtu);
    }
    tnl_pmtu_update(e, mtu);
    return true;
}

/* Lowers the MTU of the path to 'dst' to 'mtu' bytes, but not below the
 * minimum of its IP version, or confirms it.  A larger MTU than the one that
 * is known is ignored. */
void
tnl_pmtu_lower(const struct in6_addr *dst, int mtu)
{
    struct tnl_pmtu_entry *e;
    bool changed = false;
    int old_mtu;

    mtu = MAX(mtu, tnl_pmtu_min(dst));

    /* Repeated messages, which are most, cost no lock. */
    old_mtu = tnl_pmtu_lookup(dst);
    if (old_mtu && mtu >= old_mtu) {
        e = mtu == old_mtu ? tnl_pmtu_find(dst) : NULL;
        if (e) {
            atomic_store_relaxed(&e->expires,
                                 time_msec() + TNL_PMTU_EXPIRES_MS);
        }
        return;
    }

    ovs_mutex_lock(&mutex);
    old_mtu = tnl_pmtu_lookup(dst);
    if (!old_mtu || mtu < old_mtu) {
        changed = tnl_pmtu_put(dst, mtu);
    }
    ovs_mutex_unlock(&mutex);

    if (changed) {
        COVERAGE_INC(tnl_pmtu_lowered);
        if (!VLOG_DROP_INFO(&rl)) {
            struct ds s = DS_EMPTY_INITIALIZER;

            ipv6_format_mapped(dst, &s);
            VLOG_INFO("the MTU of the path to tunnel endpoint %s is %d bytes",
                      ds_cstr(&s), mtu);
            ds_destroy(&s);
        }
    }
}

/* Removes entries that have expired or whose route has changed. */
void
tnl_pmtu_run(void)
{
    static uint64_t last_seq;
    struct tnl_pmtu_entry *e;
    bool check_routes;
    uint64_t seq;

    if (cmap_is_empty(&table)) {
        return;
    }

    ovs_mutex_lock(&mutex);
    seq = seq_read(tnl_conf_seq);
    check_routes = seq != last_seq;
    last_seq = seq;
    CMAP_FOR_EACH (e, cmap_node, &table) {
        if (tnl_pmtu_remaining(e) <= 0
            || (check_routes && tnl_pmtu_route_changed(e))) {
            tnl_pmtu_delete(e);
        }
    }
    ovs_mutex_unlock(&mutex);
}

/* Messages. */

/* Returns true if packets of 'flow' report the MTU of a path: ICMP
 * "fragmentation needed" or ICMPv6 "packet too big", whose code a receiver
 * ignores (RFC 4443).  Unwildcards what tells them from others in 'wc'. */
bool
tnl_pmtu_is_report(const struct flow *flow, struct flow_wildcards *wc)
{
    if (is_icmpv4(flow, wc)) {
        return (FLOW_WC_GET_AND_MASK_WC(flow, wc, tp_src)
                == htons(ICMP4_DST_UNREACH)
                && FLOW_WC_GET_AND_MASK_WC(flow, wc, tp_dst)
                == htons(ICMP4_FRAG_NEEDED));
    } else if (is_icmpv6(flow, wc)) {
        return (FLOW_WC_GET_AND_MASK_WC(flow, wc, tp_src)
                == htons(ICMP6_PACKET_TOO_BIG));
    }
    return false;
}

/* Parses the first 'size' bytes of what follows the IP header of a packet of
 * 'len' bytes.  Routers quote at least 8 of them. */
static bool
tnl_pmtu_parse_l4(const void *l4, size_t size, size_t len,
                  struct tnl_pmtu_report *r)
{
    if (size < 8 || len < 8) {
        return false;
    }

    if (r->nw_proto == IPPROTO_UDP) {
        const struct udp_header *udp = l4;

        r->tp_dst = udp->udp_dst;
        return ntohs(udp->udp_len) == len;
    } else if (r->nw_proto == IPPROTO_GRE) {
        const struct gre_base_hdr *greh = l4;
        const ovs_16aligned_be32 *options
            = ALIGNED_CAST(const ovs_16aligned_be32 *, greh + 1);

        r->gre_protocol = greh->protocol;
        r->gre_has_key = greh->flags & htons(GRE_KEY);
        if (r->gre_has_key) {
            /* A checksum precedes the key. */
            int i = greh->flags & htons(GRE_CSUM) ? 1 : 0;

            if (size >= sizeof *greh + (i + 1) * sizeof *options) {
                r->gre_key_is_quoted = true;
                r->gre_key = get_16aligned_be32(&options[i]);
            }
        }
        return true;
    }
    return false;
}

static bool
tnl_pmtu_parse_v4(const struct dp_packet *packet, const struct flow *flow,
                  struct tnl_pmtu_report *r)
{
    size_t size = dp_packet_l4_size(packet);
    const struct icmp_header *icmp = dp_packet_l4(packet);
    const struct ip_header *ip;
    size_t len;

    if (size < ICMP_HEADER_LEN + IP_HEADER_LEN) {
        return false;
    }
    size -= ICMP_HEADER_LEN + IP_HEADER_LEN;

    /* Tunnels send packets without options, and only those with DF set are
     * refused. */
    ip = ALIGNED_CAST(const struct ip_header *, icmp + 1);
    len = ntohs(ip->ip_tot_len);
    if (ip->ip_ihl_ver != IP_IHL_VER(5, 4)
        || ip->ip_frag_off != htons(IP_DONT_FRAGMENT)
        || len < IP_HEADER_LEN) {
        return false;
    }

    /* Routers from before RFC 1191 report 0.  That is ignored: what is learned
     * is passed on to senders as a fact, so that it can't be a guess from a
     * table of plateaus. */
    r->mtu = ntohs(icmp->icmp_fields.frag.mtu);
    if (r->mtu < IP_LINK_MIN_MTU || r->mtu >= len) {
        return false;
    }

    in6_addr_set_mapped_ipv4(&r->src, get_16aligned_be32(&ip->ip_src));
    in6_addr_set_mapped_ipv4(&r->dst, get_16aligned_be32(&ip->ip_dst));
    r->nw_proto = ip->ip_proto;
    return (get_16aligned_be32(&ip->ip_src) == flow->nw_dst
            && tnl_pmtu_parse_l4(ip + 1, size, len - IP_HEADER_LEN, r)
            && !csum(icmp, dp_packet_l4_size(packet)));
}

static bool
tnl_pmtu_parse_v6(const struct dp_packet *packet, const struct flow *flow,
                  struct tnl_pmtu_report *r)
{
    size_t size = dp_packet_l4_size(packet);
    const struct icmp6_data_header *icmp = dp_packet_l4(packet);
    const struct ovs_16aligned_ip6_hdr *ip6;
    size_t len;

    if (size < sizeof *icmp + IPV6_HEADER_LEN) {
        return false;
    }
    size -= sizeof *icmp + IPV6_HEADER_LEN;

    ip6 = ALIGNED_CAST(const struct ovs_16aligned_ip6_hdr *, icmp + 1);
    len = ntohs(ip6->ip6_plen);
    if (*(const uint8_t *) ip6 >> 4 != 6) {
        return false;
    }

    /* A smaller MTU is to be discarded (RFC 8201). */
    r->mtu = ntohl(get_16aligned_be32(icmp->icmp6_data.be32));
    if (r->mtu < TNL_PMTU_MIN_V6 || r->mtu >= IPV6_HEADER_LEN + len) {
        return false;
    }

    memcpy(&r->src, &ip6->ip6_src, sizeof r->src);
    memcpy(&r->dst, &ip6->ip6_dst, sizeof r->dst);
    r->nw_proto = ip6->ip6_nxt;
    return (ipv6_addr_equals(&r->src, &flow->ipv6_dst)
            && tnl_pmtu_parse_l4(ip6 + 1, size, len, r)
            && !packet_csum_upperlayer6(dp_packet_l3(packet), icmp,
                                        IPPROTO_ICMPV6,
                                        dp_packet_l4_size(packet)));
}

/* Parses 'packet', whose flow is 'flow', into '*r'.
 *
 * Returns true if it is a message about a packet that a tunnel could have
 * sent: addressed to the quoted packet's source, with an MTU that this packet
 * exceeds.  If it does, only the caller knows whether there is such a tunnel.
 * Returns false, with '*r' indeterminate, for any other packet. */
bool
tnl_pmtu_parse(const struct dp_packet *packet, const struct flow *flow,
               struct tnl_pmtu_report *r)
{
    memset(r, 0, sizeof *r);
    if (!dp_packet_l4(packet) || flow->nw_frag
        || !tnl_pmtu_is_report(flow, NULL)) {
        return false;
    }
    return (flow->dl_type == htons(ETH_TYPE_IP)
            ? tnl_pmtu_parse_v4(packet, flow, r)
            : tnl_pmtu_parse_v6(packet, flow, r));
}

/* Commands. */

static bool
tnl_pmtu_parse_ip(struct unixctl_conn *conn, const char *s,
                  struct in6_addr *dst)
{
    ovs_be32 ip4;

    if (ip_parse(s, &ip4)) {
        in6_addr_set_mapped_ipv4(dst, ip4);
        return true;
    } else if (ipv6_parse(s, dst)) {
        return true;
    }

    char *error = xasprintf("'%s' is not an IP address", s);
    unixctl_command_reply_error(conn, error);
    free(error);
    return false;
}

static void
tnl_pmtu_show(struct unixctl_conn *conn, int argc OVS_UNUSED,
              const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct tnl_pmtu_entry *e;

    ds_put_cstr(&s, "IP                                            "
                    "Path MTU   Expires in\n");
    ds_put_char_multiple(&s, '=', 67);
    ds_put_char(&s, '\n');
    CMAP_FOR_EACH (e, cmap_node, &table) {
        long long int remaining = tnl_pmtu_remaining(e);
        size_t start = s.length;
        int mtu;

        if (remaining <= 0) {
            continue;
        }
        atomic_read_relaxed(&e->mtu, &mtu);
        ipv6_format_mapped(&e->dst, &s);
        ds_put_char_multiple(&s, ' ', INET6_ADDRSTRLEN - (s.length - start));
        ds_put_format(&s, "%-11d%lld s\n", mtu,
                      DIV_ROUND_UP(remaining, 1000));
    }
    unixctl_command_reply(conn, ds_cstr(&s));
    ds_destroy(&s);
}

static void
tnl_pmtu_set(struct unixctl_conn *conn, int argc OVS_UNUSED,
             const char *argv[], void *aux OVS_UNUSED)
{
    struct in6_addr dst;
    bool ok;
    int mtu;

    if (!tnl_pmtu_parse_ip(conn, argv[1], &dst)) {
        return;
    }
    if (!str_to_int(argv[2], 10, &mtu) || mtu < tnl_pmtu_min(&dst)
        || mtu > UINT16_MAX) {
        char *error = xasprintf("'%s' is not a path MTU: for %s, it must be "
                                "from %d to %d bytes", argv[2],
                                IN6_IS_ADDR_V4MAPPED(&dst) ? "IPv4" : "IPv6",
                                tnl_pmtu_min(&dst), UINT16_MAX);
        unixctl_command_reply_error(conn, error);
        free(error);
        return;
    }

    ovs_mutex_lock(&mutex);
    ok = tnl_pmtu_put(&dst, mtu);
    ovs_mutex_unlock(&mutex);

    if (ok) {
        unixctl_command_reply(conn, "OK");
    } else {
        unixctl_command_reply_error(conn, "the table is full: flush entries "
                                          "with tnl/pmtu/flush");
    }
}

static void
tnl_pmtu_flush(struct unixctl_conn *conn, int argc,
               const char *argv[], void *aux OVS_UNUSED)
{
    struct tnl_pmtu_entry *e;
    bool found = argc == 1;
    struct in6_addr dst;

    if (argc > 1 && !tnl_pmtu_parse_ip(conn, argv[1], &dst)) {
        return;
    }

    ovs_mutex_lock(&mutex);
    CMAP_FOR_EACH (e, cmap_node, &table) {
        if (argc == 1 || ipv6_addr_equals(&e->dst, &dst)) {
            found |= tnl_pmtu_remaining(e) > 0;
            tnl_pmtu_delete(e);
        }
    }
    ovs_mutex_unlock(&mutex);

    if (found) {
        unixctl_command_reply(conn, "OK");
    } else {
        char *error = xasprintf("no path MTU is known for %s", argv[1]);
        unixctl_command_reply_error(conn, error);
        free(error);
    }
}

/* Registers the commands.  Must be called once, before the others. */
void
tnl_pmtu_init(void)
{
    unixctl_command_register("tnl/pmtu/show", "", 0, 0, tnl_pmtu_show, NULL);
    unixctl_command_register("tnl/pmtu/set", "IP MTU", 2, 2, tnl_pmtu_set,
                             NULL);
    unixctl_command_register("tnl/pmtu/flush", "[IP]", 0, 1, tnl_pmtu_flush,
                             NULL);
}
