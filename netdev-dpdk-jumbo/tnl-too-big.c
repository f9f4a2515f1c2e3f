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

#include "tnl-too-big.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>

#include "bfd.h"
#include "cmap.h"
#include "coverage.h"
#include "csum.h"
#include "flow.h"
#include "hash.h"
#include "netdev-dpdk-compat.h"
#include "netdev-native-tnl.h"
#include "netdev-provider.h"
#include "netdev-vport.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/token-bucket.h"
#include "ovs-thread.h"
#include "packets.h"
#include "util.h"

COVERAGE_DEFINE(datapath_drop_tunnel_too_big);

#define ANSWER_TTL 64

/* See tnl-too-big.h. */
#define ANSWERS_PER_SEC 1000
#define ANSWERS_BURST 50
#define N_BUCKETS 64            /* Ports are spread over these by a hash. */

struct limits {
    struct token_bucket ports[N_BUCKETS];
};
DEFINE_STATIC_PER_THREAD_DATA(struct limits, limits,
                              { { { .rate = 0 } } })

/* What becomes of a packet that is too big, the first of these that applies.
 * The sender is told, or not, for a reason.  Packets that are TOLD or
 * RATE_LIMITED are dropped. */
#define OUTCOMES                                                            \
    /* ICMP or ICMPv6 message sent. */                                      \
    OUTCOME(TOLD,            "ovs_tx_too_big_told")                         \
    /* Too many messages in a short time. */                                \
    OUTCOME(RATE_LIMITED,    "ovs_tx_too_big_rate_limited")                 \
    /* Neither IPv4 nor IPv6. */                                            \
    OUTCOME(NOT_IP,          "ovs_tx_too_big_not_ip")                       \
    /* IPv4 without DF. */                                                  \
    OUTCOME(NO_DF,           "ovs_tx_too_big_no_df")                        \
    /* A fragment, but not the first. */                                    \
    OUTCOME(LATER_FRAGMENT,  "ovs_tx_too_big_later_fragment")               \
    /* Source or destination isn't a single host, or malformed. */          \
    OUTCOME(NOT_UNICAST,     "ovs_tx_too_big_not_unicast")                  \
    /* The packet is an ICMP or ICMPv6 error message. */                    \
    OUTCOME(ICMP_ERROR,      "ovs_tx_too_big_icmp_error")                   \
    /* BFD between neighbors, such as the tunnel's own. */                  \
    OUTCOME(BFD,             "ovs_tx_too_big_bfd")                          \
    /* The MTU is less than TNL_PMTU_MIN_V4 or TNL_PMTU_MIN_V6. */          \
    OUTCOME(MTU_TOO_LOW,     "ovs_tx_too_big_mtu_too_low")                  \
    /* Several tunnels: the answer's source isn't behind each of them. */   \
    OUTCOME(FLOODED,         "ovs_tx_too_big_flooded")

enum outcome {
#define OUTCOME(NAME, STRING) NAME,
    OUTCOMES
#undef OUTCOME
    N_OUTCOMES
};

/* Counters of the packets that are too big for the tunnels of datapath port
 * 'tunnel' to 'remote'.  Never deleted: there are no more of them than remote
 * ends. */
struct counters {
    struct cmap_node node;      /* In 'all_counters', by 'remote'. */
    struct in6_addr remote;     /* IPv4-mapped for IPv4. */
    char tunnel[NETDEV_VPORT_NAME_BUFSIZE];
    atomic_uint64_t n[N_OUTCOMES];
};

static struct cmap all_counters = CMAP_INITIALIZER;
static struct ovs_mutex counters_mutex = OVS_MUTEX_INITIALIZER;

static atomic_bool enabled = true;

/* Answers senders from now on if 'enable' is true, which is the default.  To
 * be called by the main thread. */
void
tnl_too_big_set_enabled(bool enable)
{
    struct netdev **vports;
    size_t n;

    if (enable == tnl_too_big_is_enabled()) {
        return;
    }
    atomic_store_relaxed(&enabled, enable);

    /* The status of tunnels changes. */
    vports = netdev_get_vports(&n);
    for (size_t i = 0; i < n; i++) {
        netdev_change_seq_changed(vports[i]);
        netdev_close(vports[i]);
    }
    free(vports);
}

/* Returns whether senders are answered. */
bool
tnl_too_big_is_enabled(void)
{
    bool enable;

    atomic_read_relaxed(&enabled, &enable);
    return enable;
}

static uint32_t
counters_hash(const struct in6_addr *remote)
{
    return hash_bytes(remote, sizeof *remote, 0);
}

static struct counters *
counters_find(const char *tunnel, const struct in6_addr *remote)
{
    struct counters *c;

    CMAP_FOR_EACH_WITH_HASH (c, node, counters_hash(remote), &all_counters) {
        if (ipv6_addr_equals(&c->remote, remote)
            && !strcmp(c->tunnel, tunnel)) {
            return c;
        }
    }
    return NULL;
}

static struct counters *
counters_get(const char *tunnel, const struct in6_addr *remote)
{
    struct counters *c = counters_find(tunnel, remote);

    if (!c) {
        ovs_mutex_lock(&counters_mutex);
        c = counters_find(tunnel, remote);
        if (!c) {
            c = xzalloc(sizeof *c);
            c->remote = *remote;
            ovs_strlcpy(c->tunnel, tunnel, sizeof c->tunnel);
            cmap_insert(&all_counters, &c->node, counters_hash(remote));
        }
        ovs_mutex_unlock(&counters_mutex);
    }
    return c;
}

static void
counters_add(struct counters *c, struct netdev_custom_stats *stats)
{
    static const char *const names[] = {
#define OUTCOME(NAME, STRING) STRING,
        OUTCOMES
#undef OUTCOME
    };

    if (!stats->counters) {
        stats->size = N_OUTCOMES;
        stats->counters = xcalloc(N_OUTCOMES, sizeof *stats->counters);
    }
    for (size_t i = 0; i < N_OUTCOMES; i++) {
        uint64_t n;

        atomic_read_relaxed(&c->n[i], &n);
        stats->counters[i].value += n;
        ovs_strlcpy(stats->counters[i].name, names[i],
                    sizeof stats->counters[i].name);
    }
}

/* Stores in 'stats' the numbers of packets that were too big for the tunnels
 * of datapath port 'tunnel' to 'remote', or to all remote ends if that is
 * null.  Stores none, which is not an error, if there was no such packet.  The
 * caller frees 'stats->counters'.  Returns 0. */
int
tnl_too_big_get_stats(const char *tunnel, const struct in6_addr *remote,
                      struct netdev_custom_stats *stats)
{
    struct counters *c;

    memset(stats, 0, sizeof *stats);
    if (remote) {
        c = counters_find(tunnel, remote);
        if (c) {
            counters_add(c, stats);
        }
    } else {
        CMAP_FOR_EACH (c, node, &all_counters) {
            if (!strcmp(c->tunnel, tunnel)) {
                counters_add(c, stats);
            }
        }
    }
    return 0;
}

/* Returns the largest MTU of the ports to which 'actions' send packets; of all
 * ports, where another part of the datapath chooses the port later, e.g. a
 * member of a balance-tcp bond.  Returns INT_MAX if there is no limit, and 0
 * if there is no output. */
static int
outputs_mtu(const struct nlattr *actions, size_t actions_len,
            tnl_too_big_mtu_cb *get_mtu, const void *aux)
{
    const struct nlattr *a;
    size_t left;
    int mtu = 0;

    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions, actions_len) {
        const struct nlattr *nested = NULL;

        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_OUTPUT:
            mtu = MAX(mtu, get_mtu(aux, nl_attr_get_odp_port(a)));
            break;
        case OVS_ACTION_ATTR_LB_OUTPUT:
        case OVS_ACTION_ATTR_RECIRC:
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
        case OVS_ACTION_ATTR_TUNNEL_PUSH:
            mtu = MAX(mtu, get_mtu(aux, ODPP_NONE));
            break;
        case OVS_ACTION_ATTR_TUNNEL_POP:
        case OVS_ACTION_ATTR_TRUNC:
            return INT_MAX;
        case OVS_ACTION_ATTR_CLONE:
            nested = a;
            break;
        case OVS_ACTION_ATTR_SAMPLE:
            nested = nl_attr_find_nested(a, OVS_SAMPLE_ATTR_ACTIONS);
            break;
        }
        if (nested) {
            mtu = MAX(mtu, outputs_mtu(nl_attr_get(nested),
                                       nl_attr_get_size(nested),
                                       get_mtu, aux));
        }
    }
    return mtu;
}

/* Returns outputs_mtu() of the actions that follow 'push' in its list, which
 * is somewhere in 'actions'. */
static int
egress_mtu(const struct nlattr *push, const struct nlattr *actions,
           size_t actions_len, tnl_too_big_mtu_cb *get_mtu, const void *aux)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions, actions_len) {
        if (a == push) {
            return outputs_mtu(nl_attr_next(a), left - NLA_ALIGN(a->nla_len),
                               get_mtu, aux);
        } else if (nl_attr_next(a) > push) {
            return egress_mtu(push, nl_attr_get(a), nl_attr_get_size(a),
                              get_mtu, aux);
        }
    }
    OVS_NOT_REACHED();
}

static int count_tunnels(const struct nlattr *actions, size_t actions_len);

/* Returns count_tunnels() of the actions that are nested in 'a', which may be
 * null. */
static int
count_nested_tunnels(const struct nlattr *a)
{
    return a ? count_tunnels(nl_attr_get(a), nl_attr_get_size(a)) : 0;
}

/* Returns how many tunnels 'actions' send a packet into, each by a list of its
 * own, if it is not the last one.  A tunnel in a tunnel is one. */
static int
count_tunnels(const struct nlattr *actions, size_t actions_len)
{
    const struct nlattr *a;
    size_t left;
    int n = 0;

    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions, actions_len) {
        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_TUNNEL_PUSH:
            return n + 1;
        case OVS_ACTION_ATTR_CLONE:
            n += count_nested_tunnels(a);
            break;
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
            n += MAX(count_nested_tunnels(nl_attr_find_nested(
                         a, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER)),
                     count_nested_tunnels(nl_attr_find_nested(
                         a, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL)));
            break;
        }
    }
    return n;
}

/* Returns the size in bytes of the largest Ethernet frame, or other packet,
 * that 'packet' becomes: if it is to be segmented, that of a segment. */
static uint32_t
segment_size(const struct dp_packet *packet)
{
    uint32_t size = dp_packet_size(packet);
    uint32_t segsz = dp_packet_get_tso_segsz(packet);

    if (segsz) {
        const char *l4 = dp_packet_inner_l4(packet);
        const struct tcp_header *tcp;

        tcp = (const void *) (l4 ? l4 : dp_packet_l4(packet));
        if (tcp) {
            size = MIN(size, (const char *) tcp
                             - (const char *) dp_packet_data(packet)
                             + TCP_OFFSET(tcp->tcp_ctl) * 4 + segsz);
        }
    }
    return size;
}

/* Returns true if 'ip' may be a single host's. */
static bool
ip_is_host(ovs_be32 ip)
{
    uint8_t net = ntohl(ip) >> 24;

    return net != 0 && net != 127 && net < 224;
}

static bool
ipv6_is_host(const struct in6_addr *ip)
{
    return ipv6_addr_is_set(ip) && !ipv6_addr_is_multicast(ip)
           && !IN6_IS_ADDR_LOOPBACK(ip);
}

/* RFC 5881: BFD for neighbors, which no router forwards.  Open vSwitch itself
 * looks for a path's MTU with it. */
static bool
is_bfd(const struct flow *flow)
{
    return (flow->nw_proto == IPPROTO_UDP
            && flow->tp_dst == htons(BFD_DEST_PORT));
}

static bool
icmp_is_error(const struct flow *flow)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)
        && flow->nw_proto == IPPROTO_ICMP) {
        switch (ntohs(flow->tp_src)) {
        case ICMP4_DST_UNREACH:
        case ICMP4_SOURCEQUENCH:
        case ICMP4_REDIRECT:
        case ICMP4_TIME_EXCEEDED:
        case ICMP4_PARAM_PROB:
            return true;
        }
    } else if (flow->dl_type == htons(ETH_TYPE_IPV6)
               && flow->nw_proto == IPPROTO_ICMPV6) {
        return !(ntohs(flow->tp_src) & ICMP6_INFOMSG_MASK)
               || ntohs(flow->tp_src) == ND_REDIRECT;
    }
    return false;
}

/* Takes an answer to a packet that came from 'port' off this thread's
 * limit. */
static bool
within_limit(odp_port_t port)
{
    uint32_t hash = hash_int(odp_to_u32(port), 0);
    struct token_bucket *tb = &limits_get()->ports[hash % N_BUCKETS];

    if (!tb->rate) {
        token_bucket_init(tb, ANSWERS_PER_SEC, ANSWERS_BURST * 1000);
    }
    return token_bucket_withdraw(tb, 1000);
}

/* Returns what is to become of a packet like 'flow', with IP header 'l3', that
 * came from 'port', and whose sender would be told 'mtu'.  'flooded' is true
 * if it goes into several tunnels: if all of them answered, a bridge would
 * learn its destination at the last one, and send it nothing if it is behind
 * another. */
static enum outcome
judge(const struct flow *flow, const void *l3, int mtu, bool flooded,
      odp_port_t port)
{
    bool ipv4 = flow->dl_type == htons(ETH_TYPE_IP);
    const struct ip_header *ip = l3;

    if (!l3 || (!ipv4 && flow->dl_type != htons(ETH_TYPE_IPV6))) {
        return NOT_IP;
    } else if (ipv4 && !(ip->ip_frag_off & htons(IP_DF))) {
        return NO_DF;
    } else if (flow->nw_frag & FLOW_NW_FRAG_LATER) {
        return LATER_FRAGMENT;
    } else if (eth_addr_is_multicast(flow->dl_src)
               || eth_addr_is_multicast(flow->dl_dst)
               || (ipv4
                   ? !ip_is_host(flow->nw_src) || !ip_is_host(flow->nw_dst)
                   : !ipv6_is_host(&flow->ipv6_src)
                     || !ipv6_is_host(&flow->ipv6_dst))) {
        return NOT_UNICAST;
    } else if (icmp_is_error(flow)) {
        return ICMP_ERROR;
    } else if (is_bfd(flow)) {
        return BFD;
    } else if (mtu < (ipv4 ? TNL_PMTU_MIN_V4 : TNL_PMTU_MIN_V6)) {
        return MTU_TOO_LOW;
    } else if (flooded) {
        return FLOODED;
    } else if (!within_limit(port)) {
        return RATE_LIMITED;
    }
    return TOLD;
}

/* Returns a message that tells the sender of 'packet', which is like 'flow',
 * to send IP packets of at most 'mtu' bytes.  The caller takes ownership of
 * it, and has checked that there may be one. */
static struct dp_packet *
compose_answer(const struct dp_packet *packet, const struct flow *flow,
               int mtu)
{
    bool ipv4 = flow->dl_type == htons(ETH_TYPE_IP);
    size_t l2_len = packet->l3_ofs;
    size_t l3_len = ipv4 ? IP_HEADER_LEN : IPV6_HEADER_LEN;
    /* RFC 1812 and RFC 4443: so that it fits any path. */
    size_t max_size = ipv4 ? TNL_PMTU_MIN_V4 : TNL_PMTU_MIN_V6;
    size_t icmp_len = MIN(ICMP_HEADER_LEN + dp_packet_l3_size(packet),
                          max_size - l3_len);
    struct dp_packet *answer;

    BUILD_ASSERT_DECL(ICMP_HEADER_LEN == ICMP6_DATA_HEADER_LEN);

    answer = dp_packet_new_with_headroom(l2_len + l3_len + icmp_len,
                                         TNL_PUSH_HEADER_SIZE);
    answer->packet_type = packet->packet_type;
    pkt_metadata_init(&answer->md, packet->md.orig_in_port);

    dp_packet_put(answer, dp_packet_data(packet), l2_len);
    if (dp_packet_is_eth(answer)) {
        struct eth_header *eth = dp_packet_data(answer);

        eth->eth_dst = flow->dl_src;
        eth->eth_src = flow->dl_dst;
    }
    dp_packet_set_l3(answer, dp_packet_put_zeros(answer, l3_len));
    dp_packet_set_l4(answer, dp_packet_put_zeros(answer, ICMP_HEADER_LEN));
    dp_packet_put(answer, dp_packet_l3(packet), icmp_len - ICMP_HEADER_LEN);

    if (ipv4) {
        struct icmp_header *icmp = dp_packet_l4(answer);
        struct ip_header *ip = dp_packet_l3(answer);

        ip->ip_ihl_ver = IP_IHL_VER(5, 4);
        ip->ip_tot_len = htons(l3_len + icmp_len);
        ip->ip_frag_off = htons(IP_DF);
        ip->ip_ttl = ANSWER_TTL;
        ip->ip_proto = IPPROTO_ICMP;
        put_16aligned_be32(&ip->ip_src, flow->nw_dst);
        put_16aligned_be32(&ip->ip_dst, flow->nw_src);
        ip->ip_csum = csum(ip, l3_len);

        icmp->icmp_type = ICMP4_DST_UNREACH;
        icmp->icmp_code = ICMP4_FRAG_NEEDED;
        icmp->icmp_fields.frag.mtu = htons(mtu);
        icmp->icmp_csum = csum(icmp, icmp_len);
    } else {
        struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(answer);
        struct icmp6_data_header *icmp = dp_packet_l4(answer);

        ip6->ip6_vfc = 0x60;
        ip6->ip6_plen = htons(icmp_len);
        ip6->ip6_nxt = IPPROTO_ICMPV6;
        ip6->ip6_hlim = ANSWER_TTL;
        memcpy(&ip6->ip6_src, &flow->ipv6_dst, sizeof ip6->ip6_src);
        memcpy(&ip6->ip6_dst, &flow->ipv6_src, sizeof ip6->ip6_dst);

        icmp->icmp6_base.icmp6_type = ICMP6_PACKET_TOO_BIG;
        put_16aligned_be32(icmp->icmp6_data.be32, htonl(mtu));
        icmp->icmp6_base.icmp6_cksum = packet_csum_upperlayer6(
            ip6, icmp, IPPROTO_ICMPV6, icmp_len);
    }
    return answer;
}

/* Parses 'packet' into 'flow', and returns a copy of it that shares its data,
 * but has the offsets of its headers.  'packet' remains as it is: it may have
 * offloads that are known by its own offsets. */
static void
parse(const struct dp_packet *packet, struct dp_packet *copy,
      struct flow *flow)
{
    dp_packet_use_const(copy, dp_packet_data(packet), dp_packet_size(packet));
    copy->packet_type = packet->packet_type;
    copy->md.orig_in_port = packet->md.orig_in_port;
    flow_extract(copy, flow);
}

/* Moves packets out of 'packets' that the action 'push', which is somewhere in
 * 'actions', would make too big, and whose senders can be told: it deletes
 * them, and puts into 'answers', which should be empty, messages for them as
 * the tunnel's remote end would send them, not encapsulated.  'push' is an
 * OVS_ACTION_ATTR_TUNNEL_PUSH of 'tunnel', and 'get_mtu' is called with
 * 'aux'. */
void
tnl_too_big_answer(const struct netdev *tunnel, const struct nlattr *push,
                   const struct nlattr *actions, size_t actions_len,
                   tnl_too_big_mtu_cb *get_mtu, const void *aux,
                   struct dp_packet_batch *packets,
                   struct dp_packet_batch *answers)
{
    const struct ovs_action_push_tnl *data = nl_attr_get(push);
    int overhead = data->header_len - ETH_HEADER_LEN;
    struct counters *counters = NULL;
    bool df = true;
    struct in6_addr remote;
    struct dp_packet *packet;
    int port_mtu, path_mtu, mtu;
    size_t i, n;

    if (!tnl_too_big_is_enabled()) {
        return;
    }

    if (netdev_tnl_is_header_ipv6(data->header)) {
        memcpy(&remote, &netdev_tnl_ipv6_hdr((void *) data->header)->ip6_dst,
               sizeof remote);
    } else {
        const struct ip_header *ip = netdev_tnl_ip_hdr((void *) data->header);

        in6_addr_set_mapped_ipv4(&remote, get_16aligned_be32(&ip->ip_dst));
        df = ip->ip_frag_off & htons(IP_DF);
    }

    port_mtu = egress_mtu(push, actions, actions_len, get_mtu, aux);
    if (!port_mtu) {
        return;
    }
    /* Without DF, routers fragment. */
    path_mtu = df ? tnl_pmtu_lookup(&remote) : 0;
    mtu = path_mtu ? MIN(path_mtu, port_mtu) : port_mtu;

    n = dp_packet_batch_size(packets);
    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, packets) {
        enum outcome outcome;
        struct dp_packet copy;
        uint32_t size = overhead + segment_size(packet);
        struct flow flow;
        uint64_t orig;
        bool flooded;
        int told_mtu;

        if (OVS_LIKELY(size <= mtu)) {
            dp_packet_batch_add(packets, packet);
            continue;
        }

        parse(packet, &copy, &flow);
        told_mtu = mtu - overhead - copy.l3_ofs;
        flooded = count_tunnels(actions, actions_len) > 1;
        outcome = judge(&flow, dp_packet_l3(&copy), told_mtu, flooded,
                        packet->md.in_port.odp_port);
        if (outcome == MTU_TOO_LOW && size > port_mtu) {
            /* Not by the path: then by the port. */
            told_mtu += port_mtu - mtu;
            outcome = judge(&flow, dp_packet_l3(&copy), told_mtu, flooded,
                            packet->md.in_port.odp_port);
        }
        if (!counters) {
            counters = counters_get(netdev_get_name(tunnel), &remote);
        }
        atomic_add_relaxed(&counters->n[outcome], 1, &orig);

        if (outcome != TOLD && outcome != RATE_LIMITED) {
            dp_packet_batch_add(packets, packet);
            continue;
        }
        if (outcome == TOLD) {
            /* The quote is to have the checksums that the sender left to us,
             * not those of segments. */
            dp_packet_set_tso_segsz(packet, 0);
            dp_packet_ol_send_prepare(packet, 0);
            dp_packet_batch_add(answers,
                                compose_answer(&copy, &flow, told_mtu));
        }
        COVERAGE_INC(datapath_drop_tunnel_too_big);
        dp_packet_delete(packet);
    }
}

/* Swaps source and destination of the outer IP headers of 'answers', which
 * their tunnel has encapsulated.  They are then what arrives from its remote
 * end.  Checksums remain right. */
void
tnl_too_big_turn(struct dp_packet_batch *answers)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, answers) {
        void *eth = dp_packet_data(packet);

        /* No device fills in what the tunnel left to one. */
        dp_packet_ol_send_prepare(packet, 0);
        if (netdev_tnl_is_header_ipv6(eth)) {
            struct ovs_16aligned_ip6_hdr *ip6 = netdev_tnl_ipv6_hdr(eth);
            union ovs_16aligned_in6_addr src = ip6->ip6_src;

            ip6->ip6_src = ip6->ip6_dst;
            ip6->ip6_dst = src;
            if (ip6->ip6_nxt == IPPROTO_ROUTING) {
                /* SRv6: at the last segment, and with offsets as parsed. */
                struct ip6_rthdr *rt = (void *) (ip6 + 1);

                rt->ip6r_segleft = 0;
                packet->l4_ofs += (rt->ip6r_len + 1) * 8;
            }
        } else {
            struct ip_header *ip = netdev_tnl_ip_hdr(eth);
            ovs_16aligned_be32 src = ip->ip_src;

            ip->ip_src = ip->ip_dst;
            ip->ip_dst = src;
        }
    }
}
