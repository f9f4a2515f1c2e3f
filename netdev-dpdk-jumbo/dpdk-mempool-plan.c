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

#include "dpdk-mempool-plan.h"

#include <errno.h>
#include <rte_config.h>

#include "dpdk-driver.h"
#include "dpdk-frame.h"
#include "dpdk-memory.h"
#include "dpdk-mempool-show.h"
#include "dpdk-mempool.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "smap.h"
#include "svec.h"
#include "unixctl.h"
#include "util.h"

/* Words. */

/* All keys.  Those of ports come first. */
enum key {
    TYPE, DRIVER, DEVARGS, ADD, MTU, PREPARED, NUMA, N_RXQ, N_RXQ_DESC,
    N_TXQ_DESC, PORT, PMDS, FORMAT, SOCKET_MEM, HEADROOM, PER_PORT, SHARED,
    FLUSH_INTERVAL, TSO, MAX_NFRAGS, IOVA_MODE,
    N_KEYS
};

/* Where a key is valid. */
enum {
    NEW_PORT = 1 << 0,          /* For a new port, */
    CHANGE = 1 << 1,            /* in a change, */
    HOST = 1 << 2,              /* and for a host, apart from its ports. */
};

/* What a value may be: any text, or else one of these. */
enum value_type { TEXT, CHOICE, DRIVER_NAME, NUMBER, NUMBER_OR_0, DESCS };

static const struct {
    const char *name;
    int where;
    enum value_type type;
    int min, max;               /* Of numbers. */
    const char *choices;        /* Separated by spaces. */
} keys[N_KEYS] = {
    [TYPE] = { "type", NEW_PORT | CHANGE, CHOICE, .choices = "dpdk vhost" },
    [DRIVER] = { "driver", NEW_PORT | CHANGE, .type = DRIVER_NAME },
    [DEVARGS] = { "devargs", NEW_PORT | CHANGE, .type = TEXT },
    [ADD] = { "add", NEW_PORT | CHANGE, NUMBER, .max = 1024 },
    [MTU] = { "mtu", NEW_PORT | CHANGE, NUMBER,
              .min = DPDK_MIN_MTU, .max = DPDK_MAX_MTU },
    [PREPARED] = { "dpdk-prepared-mtu", NEW_PORT | CHANGE | HOST, NUMBER_OR_0,
                   .min = DPDK_MIN_MTU, .max = DPDK_MAX_MTU },
    [NUMA] = { "numa", NEW_PORT | CHANGE, NUMBER,
               .max = RTE_MAX_NUMA_NODES - 1 },
    [N_RXQ] = { "n_rxq", NEW_PORT | CHANGE, NUMBER, .min = 1, .max = 1024 },
    [N_RXQ_DESC] = { "n_rxq_desc", NEW_PORT | CHANGE, DESCS, .min = 1,
                     .max = MEMPOOL_MAX_DESCS },
    [N_TXQ_DESC] = { "n_txq_desc", NEW_PORT | CHANGE, DESCS, .min = 1,
                     .max = MEMPOOL_MAX_DESCS },
    [PORT] = { "port", CHANGE, .type = TEXT },
    [PMDS] = { "pmds", CHANGE | HOST, NUMBER, .min = 1, .max = 1024 },
    [FORMAT] = { "format", HOST, CHOICE, .choices = "json" },

    /* From other_config of the table Open_vSwitch. */
    [SOCKET_MEM] = { "dpdk-socket-mem", HOST, .type = TEXT },
    [HEADROOM] = { "mempool-headroom", HOST, NUMBER,
                   .max = MEMPOOL_MAX_HEADROOM },
    [PER_PORT] = { "per-port-memory", HOST, CHOICE, .choices = "true false" },
    [SHARED] = { "shared-mempool-config", HOST, .type = TEXT },
    [FLUSH_INTERVAL] = { "tx-flush-interval", HOST, NUMBER, .max = 1000000 },
    [TSO] = { "userspace-tso-enable", HOST, CHOICE, .choices = "true false" },

    /* From "ovs-appctl dpctl/ipf-set-max-nfrags", and from DPDK. */
    [MAX_NFRAGS] = { "ipf-max-nfrags", HOST, NUMBER, .max = 65535 },
    [IOVA_MODE] = { "iova-mode", HOST, CHOICE, .choices = "va pa" },
};

/* The values of some of these keys. */
struct words {
    char *text[N_KEYS];         /* NULL if it wasn't given. */
    int number[N_KEYS];         /* If the key's type is a number. */
};

static int
get_number(const struct words *words, enum key key, int default_number)
{
    return words->text[key] ? words->number[key] : default_number;
}

static bool
is(const struct words *words, enum key key, const char *text)
{
    return words->text[key] && !strcmp(words->text[key], text);
}

static void
words_clear(struct words *words)
{
    for (int i = 0; i < N_KEYS; i++) {
        free(words->text[i]);
        words->text[i] = NULL;
    }
}

/* Returns the key of 'len' bytes that 'word' starts with if it is valid at
 * 'where', otherwise N_KEYS, and stores in '*errorp' an error message that the
 * caller must free. */
static enum key
parse_key(const char *word, size_t len, int where, char **errorp)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "%s: unknown key, expected one of", word);
    for (int i = 0; i < N_KEYS; i++) {
        if (keys[i].where & where) {
            if (!strncmp(word, keys[i].name, len) && !keys[i].name[len]) {
                ds_destroy(&s);
                return i;
            }
            ds_put_format(&s, " %s,", keys[i].name);
        }
    }
    ds_chomp(&s, ',');
    *errorp = ds_steal_cstr(&s);
    return N_KEYS;
}

static bool
is_choice(const char *text, const char *choices)
{
    struct svec words = SVEC_EMPTY_INITIALIZER;
    bool found;

    svec_parse_words(&words, choices);
    found = svec_contains_unsorted(&words, text);
    svec_destroy(&words);
    return found;
}

/* Checks whether 'text' is valid for 'key', and stores its number if it is to
 * be one.  Returns NULL if it is valid, otherwise an error message that the
 * caller must free. */
static char *
parse_value(enum key key, const char *text, int *number, const char *word)
{
    switch (keys[key].type) {
    case TEXT:
        break;
    case CHOICE:
        if (!is_choice(text, keys[key].choices)) {
            return xasprintf("%s: not one of these: %s", word,
                             keys[key].choices);
        }
        break;
    case DRIVER_NAME:
        if (!dpdk_driver_is_known(text)) {
            return xasprintf("%s: not a driver of DPDK 22.11 to 25.11; an "
                             "interface shows its own in status:driver_name",
                             word);
        }
        break;
    case NUMBER:
    case NUMBER_OR_0:
    case DESCS:
        if (!str_to_int(text, 10, number)
            || ((*number || keys[key].type != NUMBER_OR_0)
                && (*number < keys[key].min || *number > keys[key].max))) {
            return xasprintf("%s: not %sa number from %d to %d", word,
                             keys[key].type == NUMBER_OR_0 ? "0 or " : "",
                             keys[key].min, keys[key].max);
        }
        if (keys[key].type == DESCS && !is_pow2(*number)) {
            return xasprintf("%s: not a power of 2, so Open vSwitch would "
                             "use %d", word, MEMPOOL_DEFAULT_DESCS);
        }
        break;
    }
    return NULL;
}

/* Parses 'n' words of the form KEY=VALUE, with keys that are valid at 'where',
 * into 'words', which must be zeroed before the first call, keep what earlier
 * calls parsed, and must be cleared by the caller, after an error, too.
 * Returns NULL if successful, otherwise an error message that the caller must
 * free. */
static char *
words_parse(struct words *words, const char *const argv[], size_t n, int where)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = strchr(argv[i], '=');
        size_t len = text ? text - argv[i] : 0;
        char *error;
        enum key key;

        if (!len) {
            return xasprintf("%s: not of the form key=value", argv[i]);
        }
        key = parse_key(argv[i], len, where, &error);
        if (key == N_KEYS) {
            return error;
        }
        if (words->text[key]) {
            return xasprintf("%s: duplicate key %s, already %s", argv[i],
                             keys[key].name, words->text[key]);
        }
        words->text[key] = xstrdup(text + 1);
        error = parse_value(key, text + 1, &words->number[key], argv[i]);
        if (error) {
            return error;
        }
    }
    return NULL;
}

/* Changes 'needs', those of a port, as 'words' say.  If they are all zeros,
 * they are those of a new port, on a switch with 'n_threads' threads whose
 * ports are prepared for 'prepared_mtu'. */
static void
words_apply(const struct words *words, struct mempool_needs *needs,
            unsigned int n_threads, int prepared_mtu)
{
    if (!needs->mtu) {
        *needs = (struct mempool_needs) {
            .mtu = MAX(ETH_PAYLOAD_MAX, prepared_mtu),
            .prepared_mtu = prepared_mtu,
            .vhost = is(words, TYPE, "vhost"),
            .n_rxq = 1,
            .rxq_size = MEMPOOL_DEFAULT_DESCS,
            .n_txq = is(words, TYPE, "vhost") ? 1 : n_threads,
            .txq_size = MEMPOOL_DEFAULT_DESCS,
            .max_rxq = UINT32_MAX,
            .max_txq = UINT32_MAX,
        };
        if (!needs->vhost && words->text[DRIVER]) {
            dpdk_driver_apply(words->text[DRIVER], words->text[DEVARGS],
                              needs);
        }
    }
    needs->numa_id = get_number(words, NUMA, needs->numa_id);
    if (words->text[PREPARED]) {
        needs->prepared_mtu = get_number(words, PREPARED, 0);
        needs->mtu = MAX(get_number(words, MTU, ETH_PAYLOAD_MAX),
                         needs->prepared_mtu);
    } else if (get_number(words, MTU, 0) > needs->prepared_mtu) {
        needs->mtu = get_number(words, MTU, 0);
    }
    if (!needs->vhost) {
        needs->n_rxq = get_number(words, N_RXQ, needs->n_rxq);
        needs->rxq_size = get_number(words, N_RXQ_DESC, needs->rxq_size);
        needs->txq_size = get_number(words, N_TXQ_DESC, needs->txq_size);
    }
}

/* A change. */

/* Stores in '*plan' the change that 'words' describe.  Returns NULL if
 * successful, otherwise an error message that the caller must free. */
static char *
plan_from_words(const struct words *words, struct mempool_plan *plan)
{
    unsigned int n_threads = mempool_n_threads();

    *plan = (struct mempool_plan) {
        .port = words->text[PORT],
        .n_threads = get_number(words, PMDS, MAX(n_threads, 2) - 1) + 1,
    };
    if (!plan->port) {
        plan->n_add = get_number(words, ADD, 1);
    } else if (words->text[ADD] || words->text[TYPE] || words->text[DRIVER]
               || words->text[DEVARGS]) {
        return xasprintf("\"port\" cannot be combined with \"add\", "
                         "\"type\", \"driver\" or \"devargs\"");
    } else if (words->text[PREPARED] && !words->text[MTU]) {
        return xasprintf("\"dpdk-prepared-mtu\" of a \"port\" requires "
                         "\"mtu\"");
    } else if (!mempool_get_needs(plan->port, &plan->needs)) {
        return xasprintf("there is no DPDK port \"%s\"", plan->port);
    } else if (!plan->needs.vhost && plan->needs.n_txq == n_threads) {
        plan->needs.n_txq = plan->n_threads;
    }
    words_apply(words, &plan->needs, plan->n_threads,
                mempools_prepared_mtu());
    return NULL;
}

/* "netdev-dpdk/mempool-plan [KEY=VALUE]...".  If 'aux' is nonnull, replies in
 * JSON. */
void
mempool_plan_change(struct unixctl_conn *conn, int argc, const char *argv[],
                    void *aux)
{
    struct words words = { .text = { NULL } };
    struct mempool_plan plan;
    char *error;

    error = words_parse(&words, &argv[1], argc - 1, CHANGE);
    if (!error) {
        error = plan_from_words(&words, &plan);
    }
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
    } else {
        mempool_show_plan(conn, &plan, aux != NULL);
    }
    words_clear(&words);
}

/* A host. */

/* Approximate bytes that DPDK takes of a node's memory besides mempools.  For
 * a queue of a NIC, its driver reserves a ring for as many descriptors as
 * there can be, and a record for each (ixgbe_rxtx.c, 8,192 of 16 bytes;
 * i40e_rxtx.c, 4,096 of 32 bytes).  The others as measured with "ovs-appctl
 * dpdk/get-malloc-stats". */
#define QUEUE_SIZE (192 << 10)
#define ETHERNET_PORT_SIZE (128 << 10)
#define VHOST_PORT_SIZE (96 << 10)
#define VHOST_QUEUE_SIZE (32 << 10) /* Of a guest, in both directions. */

struct host {
    struct words words;
    unsigned int n_threads;     /* 0 until the host is known but for its
                                 * ports. */
    struct mempools *mempools;
    struct {                    /* Memory of a NUMA node. */
        int given;              /* MiB. */
        size_t devices;         /* Bytes for them. */
    } nodes[RTE_MAX_NUMA_NODES];
    int n_nodes;
};

/* What a NUMA node of a host needs. */
struct host_node {
    size_t mbufs;               /* Bytes. */
    size_t other;               /* Bytes for the mempools and besides. */
    size_t devices;             /* Bytes. */
    size_t mib;                 /* Altogether, an even number of MiB. */
    bool fits;
};

/* Sets the memory of the nodes of 'host' to 'list'.  Returns NULL if
 * successful, otherwise an error message that the caller must free. */
static char *
host_set_memory(struct host *host, const char *list)
{
    char *copy = xstrdup(list);
    char *rest = copy;
    int i = 0;

    for (char *s = strsep(&rest, ","); s; s = strsep(&rest, ",")) {
        if (i >= RTE_MAX_NUMA_NODES
            || !str_to_int(s, 10, &host->nodes[i].given)
            || host->nodes[i].given < 0) {
            free(copy);
            return xasprintf("dpdk-socket-mem=%s: not a list of MiB for each "
                             "NUMA node", list);
        }
        i++;
    }
    free(copy);
    return NULL;
}

/* Makes the mempools of 'host', which is known but for its ports. */
static void
host_create_mempools(struct host *host)
{
    static const enum key in_other_config[] = { HEADROOM, PER_PORT, SHARED };
    struct smap other_config = SMAP_INITIALIZER(&other_config);
    const struct words *words = &host->words;
    struct mempools_model model = {
        .n_threads = get_number(words, PMDS, 1) + 1,
        .tso = is(words, TSO, "true"),
        .flush_interval = get_number(words, FLUSH_INTERVAL, 0),
        .max_frags = get_number(words, MAX_NFRAGS, 0),
        .other_config = &other_config,
        .mbufs_size = (is(words, IOVA_MODE, "pa") ? dpdk_mbufs_size_pa
                       : dpdk_mbufs_size_va),
        .grows = true,
    };

    for (int i = 0; i < ARRAY_SIZE(in_other_config); i++) {
        enum key key = in_other_config[i];

        if (words->text[key]) {
            smap_add(&other_config, keys[key].name, words->text[key]);
        }
    }
    host->n_threads = model.n_threads;
    host->mempools = mempools_model_create(&model);
    smap_destroy(&other_config);
}

/* Adds to 'host' the ports that 'words' describe. */
static void
host_add_ports(struct host *host, const struct words *words)
{
    int n = get_number(words, ADD, 1);
    struct mempool_needs needs = { .mtu = 0 };
    size_t size;

    words_apply(words, &needs, host->n_threads,
                get_number(&host->words, PREPARED, 0));
    size = (needs.vhost
            ? VHOST_PORT_SIZE + (get_number(words, N_RXQ, 1)
                                 * VHOST_QUEUE_SIZE)
            : ETHERNET_PORT_SIZE + (needs.n_rxq + needs.n_txq) * QUEUE_SIZE);
    host->nodes[needs.numa_id].devices += n * size;
    host->n_nodes = MAX(host->n_nodes, needs.numa_id + 1);
    for (int i = 0; i < n; i++) {
        mempools_model_add(host->mempools, &needs);
    }
}

/* Adds to 'host' what 'line' describes: ports if one of the words is their
 * type, otherwise something else.  Returns NULL if successful, otherwise an
 * error message that the caller must free. */
static char *
host_add_line(struct host *host, const struct svec *line)
{
    const char *const *names = (const char *const *) line->names;
    struct words words = { .text = { NULL } };
    bool ports = false;
    char *error;

    for (size_t i = 0; i < line->n; i++) {
        ports = ports || !strncmp(names[i], "type=", strlen("type="));
    }
    if (!ports) {
        const char *memory;

        if (host->n_threads) {
            return xasprintf("%s: settings of the host must precede the first "
                             "line with \"type=\"", names[0]);
        }
        error = words_parse(&host->words, names, line->n, HOST);
        memory = host->words.text[SOCKET_MEM];
        return error || !memory ? error : host_set_memory(host, memory);
    }
    if (!host->n_threads) {
        host_create_mempools(host);
    }
    error = words_parse(&words, names, line->n, NEW_PORT);
    if (!error) {
        host_add_ports(host, &words);
    }
    words_clear(&words);
    return error;
}

/* Reads the description of 'host' from 'stream'.  Returns NULL if successful,
 * otherwise an error message that the caller must free. */
static char *
host_read(struct host *host, FILE *stream, int *line_number)
{
    struct ds line = DS_EMPTY_INITIALIZER;
    char *error = NULL;

    while (!error && !ds_get_preprocessed_line(&line, stream, line_number)) {
        struct svec words = SVEC_EMPTY_INITIALIZER;

        svec_parse_words(&words, ds_cstr(&line));
        error = host_add_line(host, &words);
        svec_destroy(&words);
    }
    if (!error && ferror(stream)) {
        error = xstrdup(ovs_strerror(errno));
    } else if (!error && !host->n_nodes) {
        error = xstrdup("there are no ports");
    }
    ds_destroy(&line);
    return error;
}

/* Returns what node 'i' of 'host' needs. */
static struct host_node
host_get_node(const struct host *host, int i)
{
    struct host_node node = { .devices = host->nodes[i].devices };
    size_t size = mempools_model_needed(host->mempools, i, &node.other);

    node.mbufs = size - node.other;
    node.mib = DIV_ROUND_UP(size + node.devices, 2 << 20) * 2;
    node.fits = (!host->words.text[SOCKET_MEM]
                 || host->nodes[i].given >= node.mib);
    return node;
}

/* Appends a list of how many times 'unit' MiB each node of 'host' needs. */
static void
put_needed(struct ds *s, const struct host *host, int unit)
{
    for (int i = 0; i < host->n_nodes; i++) {
        ds_put_format(s, "%s%"PRIuSIZE, i ? "," : "",
                      DIV_ROUND_UP(host_get_node(host, i).mib, unit));
    }
}

static void
put_host(struct ds *s, const struct host *host)
{
    for (int i = 0; i < host->n_nodes; i++) {
        struct host_node node = host_get_node(host, i);

        ds_put_format(s, "NUMA node %d: %.1f MB for mbufs, %.1f MB for "
                      "devices, %.1f MB besides: %"PRIuSIZE" MiB", i,
                      node.mbufs / 1e6, node.devices / 1e6, node.other / 1e6,
                      node.mib);
        if (host->words.text[SOCKET_MEM]) {
            ds_put_format(s, "; %d MiB: %s", host->nodes[i].given,
                          node.fits ? "fits" : "does not fit");
        }
        ds_put_char(s, '\n');
    }
    ds_put_cstr(s, "other_config:dpdk-socket-mem=");
    put_needed(s, host, 1);
    ds_put_cstr(s, "\nhugepages of 2 MB: ");
    put_needed(s, host, 2);
    ds_put_cstr(s, "; or of 1 GB: ");
    put_needed(s, host, 1024);
    ds_put_char(s, '\n');
}

static struct json *
host_to_json(const struct host *host, const struct mempools_info *info,
             bool all_fit)
{
    struct json *nodes = json_array_create_empty();
    struct json *json = json_object_create();

    for (int i = 0; i < host->n_nodes; i++) {
        struct host_node node = host_get_node(host, i);
        struct json *n = json_object_create();

        json_object_put(n, "node", json_integer_create(i));
        json_object_put(n, "mbuf_bytes", json_integer_create(node.mbufs));
        json_object_put(n, "device_bytes", json_integer_create(node.devices));
        json_object_put(n, "other_bytes", json_integer_create(node.other));
        json_object_put(n, "needed_mib", json_integer_create(node.mib));
        if (host->words.text[SOCKET_MEM]) {
            json_object_put(n, "given_mib",
                            json_integer_create(host->nodes[i].given));
        }
        json_object_put(n, "fits", json_boolean_create(node.fits));
        json_array_add(nodes, n);
    }
    json_object_put(json, "pools", mempool_show_pools_to_json(info));
    json_object_put(json, "memory", nodes);
    json_object_put(json, "fits", json_boolean_create(all_fit));
    return json;
}

/* Prints what 'host' needs.  Returns true if it has that. */
static bool
host_print(const struct host *host)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct mempools_info info;
    bool all_fit = true;

    for (int i = 0; i < host->n_nodes; i++) {
        all_fit = all_fit && host_get_node(host, i).fits;
    }
    mempools_model_get_info(host->mempools, &info);
    if (host->words.text[FORMAT]) {
        struct json *json = host_to_json(host, &info, all_fit);

        json_to_ds(json, JSSF_SORT, &s);
        json_destroy(json);
        ds_put_char(&s, '\n');
    } else {
        mempool_show_put_pools(&s, &info, true);
        put_host(&s, host);
    }
    mempools_info_free(&info);
    fputs(ds_cstr(&s), stdout);
    ds_destroy(&s);
    return all_fit;
}

/* Prints what the host that the file 'file_name' describes needs; "-" is
 * standard input.  Returns the exit status: 0 if the host has that or doesn't
 * say what it has, 1 if not, 2 if the description is invalid. */
int
mempool_plan_host(const char *file_name)
{
    FILE *stream = strcmp(file_name, "-") ? fopen(file_name, "r") : stdin;
    struct host host = { .n_threads = 0 };
    int line_number = 0;
    int status = 2;
    char *error;

    if (!stream) {
        ovs_error(errno, "%s", file_name);
        return status;
    }
    error = host_read(&host, stream, &line_number);
    if (error) {
        ovs_error(0, "%s:%d: %s", file_name, line_number, error);
        free(error);
    } else {
        status = host_print(&host) ? 0 : 1;
    }
    words_clear(&host.words);
    if (host.mempools) {
        mempools_model_destroy(host.mempools);
    }
    if (stream != stdin) {
        fclose(stream);
    }
    return status;
}
