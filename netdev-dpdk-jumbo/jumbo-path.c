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

#include "jumbo-path.h"

#include <net/if.h>

#include "compat.h"
#include "jumbo-frame.h"
#include "jumbo-tunnel.h"
#include "netdev.h"
#include "netdev-vport.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "ovs-router.h"
#include "packets.h"
#include "smap.h"
#include "table.h"
#include "unixctl.h"
#include "util.h"

/* MTU that is suggested for a port that gets larger frames, without knowing
 * how large. */
#define USUAL_JUMBO_MTU 9000

/* Fills in the device by which the tunnel 'hop' leaves, if it is known. */
static void
fill_carrier(struct jumbo_hop *hop, const struct netdev_tunnel_config *config)
{
    struct netdev *carrier;
    char name[IFNAMSIZ];
    struct in6_addr gw;

    if (config->ip_dst_flow
        || !ovs_router_lookup(config->egress_pkt_mark, &config->ipv6_dst, name,
                              NULL, &gw)
        || netdev_open(name, NULL, &carrier)) {
        return;
    }
    hop->carrier = xstrdup(name);
    netdev_get_mtu(carrier, &hop->carrier_mtu);
    netdev_close(carrier);
}

/* Returns true if packets with a VLAN tag can get to 'hop': a port of its
 * bridge, one of the 'n' in 'hops', adds tags, and its own doesn't say which
 * ones it has. */
static bool
is_tagged(const struct jumbo_hop *hop, const struct jumbo_hop *hops, size_t n)
{
    for (size_t i = 0; hop->tag < 0 && i < n; i++) {
        if (hops[i].tag > 0 && !strcmp(hops[i].bridge, hop->bridge)) {
            return true;
        }
    }
    return false;
}

/* Returns the bridge that the patch port 'netdev' leads to, of the 'n' in
 * 'hops', or NULL if there is none. */
static const char *
find_peer(const struct netdev *netdev, const struct jumbo_hop *hops, size_t n)
{
    char *peer_name = netdev_vport_patch_peer(netdev);
    const char *bridge = NULL;

    for (size_t i = 0; peer_name && !bridge && i < n; i++) {
        if (!strcmp(hops[i].name, peer_name)) {
            bridge = hops[i].bridge;
        }
    }
    free(peer_name);
    return bridge;
}

/* Fills in 'hop', one of the 'n' in 'hops'. */
static void
hop_fill(struct jumbo_hop *hop, const struct jumbo_hop *hops, size_t n)
{
    const struct netdev *netdev = hop->netdev;
    const struct netdev_tunnel_config *config
        = netdev_get_tunnel_config(netdev);
    struct netdev_custom_stats stats;
    struct smap status;

    netdev_get_mtu(netdev, &hop->mtu);
    netdev_get_mtu_limits(netdev, &hop->limits);
    hop->guest_mtu = netdev_get_guest_mtu(netdev);
    if (hop->request.source != JUMBO_MTU_DEFAULT) {
        hop->error = netdev_get_mtu_error(netdev, &hop->request);
    }
    hop->peer = find_peer(netdev, hops, n);

    smap_init(&status);
    if (!netdev_get_status(netdev, &status)) {
        hop->buffer_size = smap_get_int(&status, "mempool_buffer_size", 0);
    }
    smap_destroy(&status);

    if (!netdev_get_custom_stats(netdev, &stats)) {
        for (size_t i = 0; i < stats.size; i++) {
            const struct netdev_custom_counter *c = &stats.counters[i];

            if (!strcmp(c->name, "ovs_rx_mtu_exceeded_drops")) {
                hop->rx_drops = c->value;
            } else if (!strcmp(c->name, "ovs_tx_mtu_exceeded_drops")) {
                hop->tx_drops = c->value;
            }
        }
        netdev_free_custom_stats_counters(&stats);
    }

    if (config) {
        bool is_ipv6 = (!config->ip_dst_flow
                        && !IN6_IS_ADDR_V4MAPPED(&config->ipv6_dst));

        hop->overhead = jumbo_tunnel_overhead(hop->type, hop->options, is_ipv6,
                                              hop->geneve_options_len,
                                              is_tagged(hop, hops, n));
        fill_carrier(hop, config);
    }
}

static int
compare_hops(const void *a_, const void *b_)
{
    const struct jumbo_hop *a = a_;
    const struct jumbo_hop *b = b_;
    int cmp = strcmp(a->bridge, b->bridge);

    cmp = cmp ? cmp : strcmp(a->port, b->port);
    return cmp ? cmp : strcmp(a->name, b->name);
}

static void
hops_destroy(struct jumbo_hop *hops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(hops[i].error);
        free(hops[i].carrier);
    }
    free(hops);
}

/* Returns how many of 'hops' belong to the bridge (or the port, if 'in_port')
 * of the first one.  They are sorted. */
static size_t
n_together(const struct jumbo_hop *hops, size_t n, bool in_port)
{
    size_t i = 1;

    while (i < n && !strcmp(hops[i].bridge, hops[0].bridge)
           && (!in_port || !strcmp(hops[i].port, hops[0].port))) {
        i++;
    }
    return i;
}

/* Returns the hops of 'bridge', or NULL if there is no such bridge, and their
 * number in '*n_found'. */
static const struct jumbo_hop *
find_bridge(const struct jumbo_hop *hops, size_t n, const char *bridge,
            size_t *n_found)
{
    for (size_t i = 0, step; i < n; i += step) {
        step = n_together(&hops[i], n - i, false);
        if (!strcmp(hops[i].bridge, bridge)) {
            *n_found = step;
            return &hops[i];
        }
    }
    return NULL;
}

/* The arguments of a command: "[bridge] [format=json]". */
struct options {
    const char *bridge;
    bool json;
};

/* Sorts and fills in 'hops', and parses the arguments.  Returns false if these
 * are wrong, and has told so. */
static bool
start(struct unixctl_conn *conn, int argc, const char *argv[],
      struct jumbo_hop *hops, size_t n, struct options *options)
{
    char *error = NULL;

    *options = (struct options) { .json = unixctl_wants_json(conn) };
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "format=json")) {
            options->json = true;
        } else if (strchr(argv[i], '=') || options->bridge) {
            error = xasprintf("\"%s\" is wrong: the arguments are the name of "
                              "a bridge and \"format=json\", both optional",
                              argv[i]);
            break;
        } else {
            options->bridge = argv[i];
        }
    }
    qsort(hops, n, sizeof *hops, compare_hops);
    for (size_t i = 0; i < n; i++) {
        hop_fill(&hops[i], hops, n);
    }
    if (!error && options->bridge) {
        size_t n_found;

        if (!find_bridge(hops, n, options->bridge, &n_found)) {
            error = xasprintf("there is no bridge \"%s\"", options->bridge);
        }
    }
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
    }
    return !error;
}

static bool
is_wanted(const struct options *options, const struct jumbo_hop *hop)
{
    return !options->bridge || !strcmp(hop->bridge, options->bridge);
}

/* "mtu/show". */

static const char *
source_to_string(enum jumbo_mtu_source source)
{
    switch (source) {
    case JUMBO_MTU_GUEST: return "guest";
    case JUMBO_MTU_BRIDGE: return "bridge";
    case JUMBO_MTU_INTERFACE: return "interface";
    case JUMBO_MTU_DEFAULT: return "default";
    default: OVS_NOT_REACHED();
    }
}

static void
add_cell(struct table *table, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);

static void
add_cell(struct table *table, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    table_add_cell(table)->text = xvasprintf(format, args);
    va_end(args);
}

static void
add_number(struct table *table, int64_t number)
{
    if (number) {
        add_cell(table, "%"PRId64, number);
    } else {
        add_cell(table, "-");
    }
}

static void
show_row(struct table *table, const struct jumbo_hop *hop)
{
    table_add_row(table);
    add_cell(table, "%s", hop->bridge);
    add_cell(table, "%s", hop->port);
    add_cell(table, "%s", hop->name);
    add_cell(table, "%s", hop->type);
    add_number(table, hop->mtu);
    if (hop->request.source != JUMBO_MTU_DEFAULT) {
        add_cell(table, "%"PRId64" (%s)", hop->request.mtu,
                 source_to_string(hop->request.source));
    } else {
        add_cell(table, "-");
    }
    if (hop->limits.max) {
        add_cell(table, "%d..%d", hop->limits.min, hop->limits.max);
    } else {
        add_cell(table, "-");
    }
    add_number(table, hop->guest_mtu);
    add_number(table, hop->buffer_size);
    add_cell(table, "%"PRIu64, hop->rx_drops);
    add_cell(table, "%"PRIu64, hop->tx_drops);
    add_cell(table, "%s", hop->error ? hop->error : "-");
}

static void
put_integer(struct json *json, const char *name, int64_t value)
{
    if (value) {
        json_object_put(json, name, json_integer_create(value));
    }
}

static struct json *
hop_to_json(const struct jumbo_hop *hop)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "bridge", hop->bridge);
    json_object_put_string(json, "port", hop->port);
    json_object_put_string(json, "interface", hop->name);
    json_object_put_string(json, "type", hop->type);
    put_integer(json, "mtu", hop->mtu);
    if (hop->request.source != JUMBO_MTU_DEFAULT) {
        put_integer(json, "requested", hop->request.mtu);
        json_object_put_string(json, "requested_by",
                               source_to_string(hop->request.source));
    }
    put_integer(json, "min_mtu", hop->limits.min);
    put_integer(json, "max_mtu", hop->limits.max);
    put_integer(json, "guest_mtu", hop->guest_mtu);
    put_integer(json, "buffer_size", hop->buffer_size);
    json_object_put(json, "rx_drops", json_integer_create(hop->rx_drops));
    json_object_put(json, "tx_drops", json_integer_create(hop->tx_drops));
    if (hop->error) {
        json_object_put_string(json, "error", hop->error);
    }
    return json;
}

/* "mtu/show [bridge] [format=json]".  Takes over 'hops'. */
void
jumbo_path_show(struct unixctl_conn *conn, int argc, const char *argv[],
                struct jumbo_hop *hops, size_t n)
{
    static const char *const headings[] = {
        "bridge", "port", "interface", "type", "mtu", "requested", "limits",
        "guest", "buffer", "rx-drops", "tx-drops", "error",
    };
    struct table_style style = TABLE_STYLE_DEFAULT;
    struct options options;

    if (!start(conn, argc, argv, hops, n, &options)) {
        goto out;
    }
    if (options.json) {
        struct json *interfaces = json_array_create_empty();
        struct json *json = json_object_create();

        for (size_t i = 0; i < n; i++) {
            if (is_wanted(&options, &hops[i])) {
                json_array_add(interfaces, hop_to_json(&hops[i]));
            }
        }
        json_object_put(json, "interfaces", interfaces);
        unixctl_reply_json(conn, json);
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;
        struct table table;

        table_init(&table);
        for (size_t i = 0; i < ARRAY_SIZE(headings); i++) {
            table_add_column(&table, "%s", headings[i]);
        }
        for (size_t i = 0; i < n; i++) {
            if (is_wanted(&options, &hops[i])) {
                show_row(&table, &hops[i]);
            }
        }
        style.format = TF_TABLE;
        table_format_reset();
        table_format(&table, &style, &s);
        unixctl_command_reply(conn, ds_cstr(&s));
        ds_destroy(&s);
        table_destroy(&table);
    }

out:
    hops_destroy(hops, n);
}

/* "mtu/check". */

/* What is wrong, or will be. */
struct finding {
    const char *kind;
    const struct jumbo_hop *hop; /* The interface, or one of the bridge. */
    struct json *numbers;       /* An object. */
    struct ds text;
    struct ds command;          /* That mends it, or empty. */
};

struct findings {
    struct finding *list;
    size_t n, allocated;
};

/* The drops that checks have told of, by interface. */
struct drops {
    uint64_t rx, tx;
};
static struct shash told_drops = SHASH_INITIALIZER(&told_drops);

static struct finding *
add_finding(struct findings *findings, const char *kind,
            const struct jumbo_hop *hop)
{
    struct finding *f;

    if (findings->n >= findings->allocated) {
        findings->list = x2nrealloc(findings->list, &findings->allocated,
                                    sizeof *findings->list);
    }
    f = &findings->list[findings->n++];
    *f = (struct finding) {
        .kind = kind,
        .hop = hop,
        .numbers = json_object_create(),
        .text = DS_EMPTY_INITIALIZER,
        .command = DS_EMPTY_INITIALIZER,
    };
    return f;
}

static void
add_number_to(struct finding *f, const char *name, int64_t value)
{
    json_object_put(f->numbers, name, json_integer_create(value));
}

/* Appends to the command of 'f' one more of ovs-vsctl's. */
static void
put_command(struct finding *f, const char *verb, const char *table,
            const char *record, int mtu)
{
    bool plain = !record[strspn(record, "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@-")];

    ds_put_format(&f->command, "%s %s %s %s%s%s mtu_request",
                  f->command.length ? " --" : "ovs-vsctl", verb, table,
                  plain ? "" : "'", record, plain ? "" : "'");
    if (mtu) {
        ds_put_format(&f->command, "=%d", mtu);
    }
}

/* Returns true if 'hop' has an MTU that doesn't follow from others. */
static bool
is_member(const struct jumbo_hop *hop)
{
    return hop->mtu && !hop->overhead
           && (strcmp(hop->type, "internal")
               || hop->request.source == JUMBO_MTU_INTERFACE);
}

/* Returns the largest MTU of a packet that can come in by 'hop'. */
static int
usable_mtu(const struct jumbo_hop *hop)
{
    return hop->guest_mtu ? MIN(hop->mtu, hop->guest_mtu) : hop->mtu;
}

/* The MTUs of the members among some hops. */
struct mtu_range {
    int min, max;               /* 0 if there are no members. */
    int usable_max;
    int limit;                  /* Largest that all of them take. */
};

static struct mtu_range
get_range(const struct jumbo_hop *hops, size_t n)
{
    struct mtu_range range = { .limit = JUMBO_MAX_MTU };

    for (size_t i = 0; i < n; i++) {
        const struct jumbo_hop *hop = &hops[i];

        if (is_member(hop)) {
            range.min = range.min ? MIN(range.min, hop->mtu) : hop->mtu;
            range.max = MAX(range.max, hop->mtu);
            range.usable_max = MAX(range.usable_max, usable_mtu(hop));
            if (hop->limits.max) {
                range.limit = MIN(range.limit, hop->limits.max);
            }
        }
    }
    return range;
}

/* Returns true if the MTU of 'hop' is to become 'mtu': it has another, or only
 * a larger one if 'only_larger'. */
static bool
must_change(const struct jumbo_hop *hop, int mtu, bool only_larger)
{
    return is_member(hop) && (only_larger ? usable_mtu(hop) > mtu
                                          : hop->mtu != mtu);
}

/* Returns true if the request of its bridge decides the MTU of 'hop'. */
static bool
is_up_to_bridge(const struct jumbo_hop *hop)
{
    return hop->is_ours && hop->request.source != JUMBO_MTU_INTERFACE;
}

/* Appends commands that bring those of 'hops' to 'mtu' that must_change().
 * 'hops' are those of a bridge, or some of them if not 'whole_bridge'. */
static void
put_mtu_commands(struct finding *f, const struct jumbo_hop *hops, size_t n,
                 int mtu, bool only_larger, bool whole_bridge)
{
    bool by_bridge = whole_bridge && hops[0].bridge_request == mtu;

    for (size_t i = 0; i < n && whole_bridge && !by_bridge; i++) {
        if (must_change(&hops[i], mtu, only_larger)
            && is_up_to_bridge(&hops[i])) {
            put_command(f, "set", "Bridge", hops[i].bridge, mtu);
            by_bridge = true;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct jumbo_hop *hop = &hops[i];

        if (!must_change(hop, mtu, only_larger)
            || (by_bridge && is_up_to_bridge(hop))) {
            continue;
        } else if (by_bridge && hop->is_ours) {
            put_command(f, "clear", "Interface", hop->name, 0);
        } else {
            put_command(f, "set", "Interface", hop->name, mtu);
        }
    }
}

/* Appends "1500 (p0, p1), 9000 (p2)" for the members among 'hops'. */
static void
put_mtus(struct finding *f, const struct jumbo_hop *hops, size_t n)
{
    struct json *mtus = json_object_create();
    int mtu = 0;

    for (;;) {
        int next = INT_MAX;
        bool first = true;

        for (size_t i = 0; i < n; i++) {
            if (is_member(&hops[i]) && hops[i].mtu > mtu) {
                next = MIN(next, hops[i].mtu);
            }
        }
        if (next == INT_MAX) {
            break;
        }
        ds_put_format(&f->text, "%s%d", mtu ? ", " : "", next);
        for (size_t i = 0; i < n; i++) {
            if (is_member(&hops[i]) && hops[i].mtu == next) {
                ds_put_format(&f->text, "%s%s", first ? " (" : ", ",
                              hops[i].name);
                json_object_put(mtus, hops[i].name,
                                json_integer_create(next));
                first = false;
            }
        }
        ds_put_char(&f->text, ')');
        mtu = next;
    }
    json_object_put(f->numbers, "mtus", mtus);
}

/* The MTUs of a bridge's members, or of a bond's. */
static void
check_members(struct findings *findings, const struct jumbo_hop *hops,
              size_t n, bool bond)
{
    struct mtu_range range = get_range(hops, n);
    struct finding *f;
    int target;

    if (range.min == range.max) {
        return;
    }
    f = add_finding(findings, bond ? "bond" : "members", hops);
    if (bond) {
        ds_put_format(&f->text, "the members of bond %s have different MTUs: ",
                      hops->port);
    } else {
        ds_put_cstr(&f->text, "its interfaces have different MTUs: ");
    }
    put_mtus(f, hops, n);

    target = hops->bridge_request ? MIN(hops->bridge_request, JUMBO_MAX_MTU)
                                  : range.max;
    put_mtu_commands(f, hops, n, MIN(target, range.limit), false, !bond);
}

static void
check_request(struct findings *findings, const struct jumbo_hop *hop)
{
    struct finding *f;

    if (!hop->error) {
        return;
    }
    f = add_finding(findings, "request", hop);
    add_number_to(f, "requested", hop->request.mtu);
    add_number_to(f, "mtu", hop->mtu);
    ds_put_format(&f->text, "%s: %s", hop->name, hop->error);
    if (hop->limits.max && !jumbo_mtu_within(&hop->limits, hop->request.mtu)) {
        put_command(f, "set", "Interface", hop->name,
                    hop->request.mtu < hop->limits.min ? hop->limits.min
                                                       : hop->limits.max);
    } else if (hop->mtu) {
        put_command(f, "set", "Interface", hop->name, hop->mtu);
    } else {
        put_command(f, "clear", "Interface", hop->name, 0);
    }
}

static void
check_guest(struct findings *findings, const struct jumbo_hop *hop)
{
    struct finding *f;

    if (!hop->guest_mtu || hop->guest_mtu == hop->mtu
        || (hop->error && hop->request.source == JUMBO_MTU_GUEST)) {
        return;
    }
    f = add_finding(findings, "guest", hop);
    add_number_to(f, "mtu", hop->mtu);
    add_number_to(f, "guest_mtu", hop->guest_mtu);
    ds_put_format(&f->text, "%s: the guest was given MTU %d, but the port has "
                  "MTU %d, so that packets that %s sends may be dropped",
                  hop->name, hop->guest_mtu, hop->mtu,
                  hop->guest_mtu > hop->mtu ? "the guest" : "the switch");
    if (jumbo_mtu_within(&hop->limits, hop->guest_mtu)) {
        put_command(f, "set", "Interface", hop->name, hop->guest_mtu);
    }
}

/* 'hops' are those of the bridge, 'range' their MTUs. */
static void
check_tunnel(struct findings *findings, const struct jumbo_hop *tunnel,
             const struct jumbo_hop *hops, size_t n,
             const struct mtu_range *range)
{
    int fits = tunnel->carrier_mtu - tunnel->overhead;
    struct finding *f;

    if (!tunnel->overhead || !tunnel->carrier_mtu
        || range->usable_max <= fits) {
        return;
    }
    f = add_finding(findings, "tunnel", tunnel);
    add_number_to(f, "mtu", range->usable_max);
    add_number_to(f, "overhead", tunnel->overhead);
    add_number_to(f, "carrier_mtu", tunnel->carrier_mtu);
    add_number_to(f, "largest_inner_mtu", MAX(fits, 0));
    ds_put_format(&f->text, "%s: packets of MTU %d become up to %d bytes by "
                  "the %s headers (%d bytes), but %s, which carries them, has "
                  "MTU %d: up to MTU %d would fit", tunnel->name,
                  range->usable_max, range->usable_max + tunnel->overhead,
                  tunnel->type, tunnel->overhead, tunnel->carrier,
                  tunnel->carrier_mtu, MAX(fits, 0));
    if (fits >= JUMBO_MIN_MTU) {
        put_mtu_commands(f, hops, n, fits, true, true);
    }
}

static void
check_drops(struct findings *findings, const struct jumbo_hop *hop,
            const struct mtu_range *range)
{
    const struct drops *told = shash_find_data(&told_drops, hop->name);
    struct drops new = { hop->rx_drops, hop->tx_drops };
    struct finding *f;
    int target;

    /* Counters that have become smaller are those of a new port. */
    if (told && told->rx <= new.rx && told->tx <= new.tx) {
        new.rx -= told->rx;
        new.tx -= told->tx;
    }
    if (!new.rx && !new.tx) {
        return;
    }

    f = add_finding(findings, "drops", hop);
    add_number_to(f, "mtu", hop->mtu);
    add_number_to(f, "rx_drops", new.rx);
    add_number_to(f, "tx_drops", new.tx);
    ds_put_format(&f->text, "%s: dropped, because they were larger than MTU "
                  "%d, %"PRIu64" received packets and %"PRIu64" packets to "
                  "send since the last check", hop->name, hop->mtu, new.rx,
                  new.tx);
    target = MAX(range->max, new.rx ? USUAL_JUMBO_MTU : 0);
    if (hop->limits.max) {
        target = MIN(target, hop->limits.max);
    }
    if (target > hop->mtu) {
        put_command(f, "set", "Interface", hop->name, target);
    }
}

/* A patch port, from the bridge 'hops' with 'range' to the bridge 'others'
 * with 'other_range'. */
static void
check_patch(struct findings *findings, const struct jumbo_hop *patch,
            const struct jumbo_hop *hops, size_t n,
            const struct mtu_range *range, const struct jumbo_hop *others,
            size_t n_others, const struct mtu_range *other_range)
{
    int smaller = MIN(range->min, other_range->min);
    int larger = MAX(range->min, other_range->min);
    int mtu = larger <= MIN(range->limit, other_range->limit) ? larger
                                                              : smaller;
    struct finding *f;

    if (!smaller || smaller == larger) {
        return;
    }
    f = add_finding(findings, "patch", patch);
    add_number_to(f, "mtu", range->min);
    add_number_to(f, "peer_mtu", other_range->min);
    ds_put_format(&f->text, "%s: it leads from a bridge of MTU %d to bridge "
                  "%s of MTU %d", patch->name, range->min, others->bridge,
                  other_range->min);
    put_mtu_commands(f, hops, n, mtu, false, true);
    put_mtu_commands(f, others, n_others, mtu, false, true);
}

/* Checks the bridge whose 'n' interfaces 'hops' points to. */
static void
check_bridge(struct findings *findings, const struct jumbo_hop *hops, size_t n,
             const struct jumbo_hop *all, size_t n_all)
{
    struct mtu_range range = get_range(hops, n);

    check_members(findings, hops, n, false);
    for (size_t i = 0; i < n; i++) {
        const struct jumbo_hop *hop = &hops[i];

        if (!i || strcmp(hop->port, hops[i - 1].port)) {
            size_t n_members = n_together(hop, n - i, true);

            if (n_members > 1) {
                check_members(findings, hop, n_members, true);
            }
        }
        check_request(findings, hop);
        check_guest(findings, hop);
        check_tunnel(findings, hop, hops, n, &range);
        check_drops(findings, hop, &range);

        /* Both ends of a pair of patch ports tell the same. */
        if (hop->peer && strcmp(hop->bridge, hop->peer) < 0) {
            const struct jumbo_hop *others;
            struct mtu_range other_range;
            size_t n_others;

            others = find_bridge(all, n_all, hop->peer, &n_others);
            if (others) {
                other_range = get_range(others, n_others);
                check_patch(findings, hop, hops, n, &range, others, n_others,
                            &other_range);
            }
        }
    }
}

static struct json *
finding_to_json(const struct finding *f)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "kind", f->kind);
    json_object_put_string(json, "bridge", f->hop->bridge);
    if (!strcmp(f->kind, "bond")) {
        json_object_put_string(json, "port", f->hop->port);
    } else if (strcmp(f->kind, "members")) {
        json_object_put_string(json, "interface", f->hop->name);
    }
    json_object_put(json, "numbers", json_clone(f->numbers));
    json_object_put_string(json, "text", ds_cstr_ro(&f->text));
    if (f->command.length) {
        json_object_put_string(json, "command", ds_cstr_ro(&f->command));
    }
    return json;
}

static void
reply_findings(struct unixctl_conn *conn, const struct findings *findings,
               size_t n_checked, bool in_json)
{
    if (in_json) {
        struct json *list = json_array_create_empty();
        struct json *json = json_object_create();

        for (size_t i = 0; i < findings->n; i++) {
            json_array_add(list, finding_to_json(&findings->list[i]));
        }
        json_object_put(json, "problems", list);
        json_object_put(json, "checked", json_integer_create(n_checked));
        unixctl_reply_json(conn, json);
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;

        for (size_t i = 0; i < findings->n; i++) {
            const struct finding *f = &findings->list[i];

            ds_put_format(&s, "%s: %s.\n", f->hop->bridge,
                          ds_cstr_ro(&f->text));
            if (f->command.length) {
                ds_put_format(&s, "    %s\n", ds_cstr_ro(&f->command));
            }
        }
        ds_put_format(&s, "%"PRIuSIZE" interface%s checked: ", n_checked,
                      n_checked == 1 ? "" : "s");
        if (findings->n) {
            ds_put_format(&s, "%"PRIuSIZE" problem%s.\n", findings->n,
                          findings->n == 1 ? "" : "s");
        } else {
            ds_put_cstr(&s, "no problems.\n");
        }
        unixctl_command_reply(conn, ds_cstr(&s));
        ds_destroy(&s);
    }
}

/* Remembers what was told of 'hops', and forgets interfaces that are gone. */
static void
remember_drops(const struct options *options, const struct jumbo_hop *hops,
               size_t n)
{
    struct shash drops = SHASH_INITIALIZER(&drops);

    for (size_t i = 0; i < n; i++) {
        const struct jumbo_hop *hop = &hops[i];
        const struct drops now = { hop->rx_drops, hop->tx_drops };
        const struct drops *told
            = is_wanted(options, hop)
              ? &now : shash_find_data(&told_drops, hop->name);

        if (told) {
            shash_add(&drops, hop->name, xmemdup(told, sizeof *told));
        }
    }
    shash_swap(&told_drops, &drops);
    shash_destroy_free_data(&drops);
}

/* "mtu/check [bridge] [format=json]".  Takes over 'hops'. */
void
jumbo_path_check(struct unixctl_conn *conn, int argc, const char *argv[],
                 struct jumbo_hop *hops, size_t n)
{
    struct findings findings = { .list = NULL };
    struct options options;
    size_t n_checked = 0;

    if (!start(conn, argc, argv, hops, n, &options)) {
        goto out;
    }
    for (size_t i = 0, step; i < n; i += step) {
        step = n_together(&hops[i], n - i, false);
        if (is_wanted(&options, &hops[i])) {
            check_bridge(&findings, &hops[i], step, hops, n);
            n_checked += step;
        }
    }
    remember_drops(&options, hops, n);
    reply_findings(conn, &findings, n_checked, options.json);

    for (size_t i = 0; i < findings.n; i++) {
        json_destroy(findings.list[i].numbers);
        ds_destroy(&findings.list[i].text);
        ds_destroy(&findings.list[i].command);
    }
    free(findings.list);

out:
    hops_destroy(hops, n);
}
