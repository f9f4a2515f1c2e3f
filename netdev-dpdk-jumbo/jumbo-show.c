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

#include "jumbo-show.h"

#include "compat.h"
#include "jumbo-frame.h"
#include "jumbo-mtu.h"
#include "jumbo-pool.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "smap.h"
#include "unixctl.h"
#include "util.h"

/* Text. */

static double
mb(size_t bytes)
{
    return bytes / 1e6;
}

static void
put_pool(struct ds *s, const struct jumbo_pool_info *info, bool plan)
{
    ds_put_format(s, "%-4d  %-6d  %5d..%-5d  %8"PRIu64"  ", info->numa_id,
                  info->buffer_size, jumbo_min_mtu(info->buffer_size),
                  jumbo_max_mtu(info->buffer_size), info->n_mbufs);
    if (plan) {
        ds_put_format(s, "%8"PRIu64"  %8.1f  ", info->n_missing,
                      mb(info->missing_size));
    } else {
        ds_put_format(s, "%8"PRIu64"  %8.1f  ", info->n_in_use,
                      mb(info->size));
    }
    ds_put_format(s, "%8"PRIu64" ", info->demand.total);
    for (size_t i = 0; i < info->ports.n; i++) {
        ds_put_format(s, " %s", info->ports.names[i]);
    }
    if (info->n_new_ports) {
        ds_put_format(s, " +%"PRIuSIZE, info->n_new_ports);
    }
    ds_put_format(s, "%s%s%s\n", info->own ? " (own pool)" : "",
                  info->growth == JUMBO_GROW_BY_RESTART ? " (grows by restart)"
                  : info->growth == JUMBO_GROW_NEVER ? " (can't grow)" : "",
                  info->replaced ? " (replaced)" : "");

    ds_put_cstr(s, "     ");
    for (int i = 0; i < JUMBO_DEMAND_N_TERMS; i++) {
        ds_put_format(s, " %s %"PRIu64"%s", jumbo_demand_term_name(i),
                      info->demand.terms[i],
                      i < JUMBO_DEMAND_N_TERMS - 1 ? "," : "\n");
    }
}

static void
put_pools(struct ds *s, const struct jumbo_pool_info *infos, size_t n,
          bool plan)
{
    if (!n) {
        ds_put_cstr(s, "There are no mempools.\n");
        return;
    }
    ds_put_format(s, "NUMA  buffer  MTU              mbufs  %s    demand  "
                  "ports\n",
                  plan ? "    more        MB" : "  in use        MB");
    for (size_t i = 0; i < n; i++) {
        put_pool(s, &infos[i], plan);
    }
}

/* JSON. */

static struct json *
pool_to_json(const struct jumbo_pool_info *info)
{
    struct json *json = json_object_create();
    struct json *demand = json_object_create();
    struct json *ports = json_array_create_empty();

    for (int i = 0; i < JUMBO_DEMAND_N_TERMS; i++) {
        json_object_put(demand, jumbo_demand_term_name(i),
                        json_integer_create(info->demand.terms[i]));
    }
    json_object_put(demand, "total", json_integer_create(info->demand.total));
    for (size_t i = 0; i < info->ports.n; i++) {
        json_array_add(ports, json_string_create(info->ports.names[i]));
    }

    json_object_put(json, "numa", json_integer_create(info->numa_id));
    json_object_put(json, "buffer-size",
                    json_integer_create(info->buffer_size));
    json_object_put(json, "min-mtu", json_integer_create(
                        jumbo_min_mtu(info->buffer_size)));
    json_object_put(json, "max-mtu", json_integer_create(
                        jumbo_max_mtu(info->buffer_size)));
    json_object_put(json, "own", json_boolean_create(info->own));
    json_object_put_string(
        json, "growth",
        info->growth == JUMBO_GROW_IN_PLACE ? "in-place"
        : info->growth == JUMBO_GROW_BY_RESTART ? "by-restart" : "never");
    json_object_put(json, "replaced", json_boolean_create(info->replaced));
    json_object_put(json, "mbufs", json_integer_create(info->n_mbufs));
    json_object_put(json, "in-use", json_integer_create(info->n_in_use));
    json_object_put(json, "bytes", json_integer_create(info->size));
    json_object_put(json, "more-mbufs", json_integer_create(info->n_missing));
    json_object_put(json, "more-bytes",
                    json_integer_create(info->missing_size));
    json_object_put(json, "free-bytes",
                    json_integer_create(info->free_memory));
    json_object_put(json, "demand", demand);
    json_object_put(json, "ports", ports);
    json_object_put(json, "new-ports",
                    json_integer_create(info->n_new_ports));
    return json;
}

static struct json *
pools_to_json(const struct jumbo_pool_info *infos, size_t n)
{
    struct json *pools = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        json_array_add(pools, pool_to_json(&infos[i]));
    }
    return pools;
}

/* Plans. */

/* Returns the bytes that 'infos' are missing on 'memory_node'. */
static size_t
missing_on(const struct jumbo_pool_info *infos, size_t n, int memory_node)
{
    size_t missing = 0;

    for (size_t i = 0; i < n; i++) {
        missing += infos[i].memory_node == memory_node
                   ? infos[i].missing_size : 0;
    }
    return missing;
}

static bool
fits(const struct jumbo_pool_info *infos, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (missing_on(infos, n, infos[i].memory_node)
            > infos[i].free_memory) {
            return false;
        }
    }
    return true;
}

static void
put_fit(struct ds *s, const struct jumbo_pool_info *infos, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t missing = missing_on(infos, n, infos[i].memory_node);

        /* Once for each node: at the first pool of it that needs more. */
        if (!infos[i].missing_size
            || missing_on(infos, i, infos[i].memory_node)) {
            continue;
        }
        ds_put_format(s, "NUMA node %d: %.1f MB more, %.1f MB are free: %s\n",
                      infos[i].memory_node, mb(missing),
                      mb(infos[i].free_memory),
                      missing > infos[i].free_memory ? "does not fit"
                                                     : "fits");
    }
}

/* Commands. */

static void
reply(struct unixctl_conn *conn, struct ds *s)
{
    unixctl_command_reply(conn, ds_cstr(s));
    ds_destroy(s);
}

/* "netdev-dpdk/mempool-show [format=json]". */
void
jumbo_show_pools(struct unixctl_conn *conn, int argc, const char *argv[],
                 void *aux OVS_UNUSED)
{
    struct jumbo_pool_info *infos;
    size_t n;

    if (argc > 1 && strcmp(argv[1], "format=json")) {
        unixctl_command_reply_error(conn,
                                    "the only argument is \"format=json\"");
        return;
    }

    n = jumbo_pools_get(&infos);
    if (argc > 1 || unixctl_wants_json(conn)) {
        struct json *json = json_object_create();

        json_object_put(json, "pools", pools_to_json(infos, n));
        unixctl_reply_json(conn, json);
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;

        put_pools(&s, infos, n, false);
        reply(conn, &s);
    }
    jumbo_pools_free(infos, n);
}

/* What a plan may say, with the default for a new port. */
struct plan_key {
    const char *name;
    int min;
    int max;
    int value;                  /* -1 if it wasn't given. */
};

enum {
    PLAN_MTU, PLAN_ADD, PLAN_NUMA, PLAN_N_RXQ, PLAN_N_RXQ_DESC,
    PLAN_N_TXQ_DESC, PLAN_PMDS, PLAN_N_KEYS
};

static int
plan_value(const struct plan_key *key, int default_value)
{
    return key->value >= 0 ? key->value : default_value;
}

/* Parses the arguments of a plan.  Returns NULL if successful, otherwise an
 * error message that the caller must free. */
static char *
parse_plan(int argc, const char *argv[], struct plan_key keys[],
           const char **portp, const char **driverp, bool *vhostp, bool *jsonp)
{
    for (int i = 1; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        size_t len = value ? value - argv[i] : 0;
        struct plan_key *key;

        if (!len) {
            return xasprintf("%s: not of the form key=value", argv[i]);
        }
        value++;
        if (!strncmp(argv[i], "port", len) && len == 4) {
            *portp = value;
            continue;
        } else if (!strncmp(argv[i], "driver", len) && len == 6) {
            *driverp = value;
            continue;
        } else if (!strncmp(argv[i], "format", len) && len == 6
                   && !strcmp(value, "json")) {
            *jsonp = true;
            continue;
        } else if (!strncmp(argv[i], "type", len) && len == 4
                   && (!strcmp(value, "dpdk") || !strcmp(value, "vhost"))) {
            *vhostp = !strcmp(value, "vhost");
            continue;
        }
        for (key = keys; key->name; key++) {
            if (!strncmp(argv[i], key->name, len) && !key->name[len]) {
                break;
            }
        }
        if (!key->name) {
            return xasprintf("%s: the keys are port, type (dpdk or vhost), "
                             "driver, mtu, add, numa, n_rxq, n_rxq_desc, "
                             "n_txq_desc, pmds and format (json)", argv[i]);
        }
        if (!str_to_int(value, 10, &key->value) || key->value < key->min
            || key->value > key->max) {
            return xasprintf("%s: not a number from %d to %d", argv[i],
                             key->min, key->max);
        }
    }
    return NULL;
}

/* "netdev-dpdk/mempool-plan [KEY=VALUE]...". */
void
jumbo_show_plan(struct unixctl_conn *conn, int argc, const char *argv[],
                jumbo_size_for_mtu *size_for_mtu)
{
    struct plan_key keys[] = {
        [PLAN_MTU] = { "mtu", JUMBO_MIN_MTU, JUMBO_MAX_MTU, -1 },
        [PLAN_ADD] = { "add", 0, 10000, -1 },
        [PLAN_NUMA] = { "numa", 0, 1024, -1 },
        [PLAN_N_RXQ] = { "n_rxq", 1, 1024, -1 },
        [PLAN_N_RXQ_DESC] = { "n_rxq_desc", 1, 32768, -1 },
        [PLAN_N_TXQ_DESC] = { "n_txq_desc", 1, 32768, -1 },
        [PLAN_PMDS] = { "pmds", 1, 1024, -1 },
        [PLAN_N_KEYS] = { NULL, 0, 0, 0 },
    };
    unsigned int n_threads = jumbo_n_threads();
    struct jumbo_plan plan = { .n_threads = MAX(n_threads, 2) };
    struct jumbo_needs *needs = &plan.needs;
    bool json = unixctl_wants_json(conn);
    const char *driver = NULL;
    bool vhost = false;
    struct jumbo_pool_info *infos;
    char *error;
    size_t n;

    error = parse_plan(argc, argv, keys, &plan.port, &driver, &vhost, &json);
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
        return;
    }
    if (keys[PLAN_PMDS].value > 0) {
        plan.n_threads = keys[PLAN_PMDS].value + 1;
    }

    if (plan.port) {
        if (keys[PLAN_ADD].value >= 0 || driver || vhost) {
            unixctl_command_reply_error(
                conn, "\"port\" changes a port, \"add\", \"type\" and "
                      "\"driver\" are about new ones");
            return;
        }
        if (!jumbo_port_get(plan.port, needs)) {
            error = xasprintf("there is no DPDK port \"%s\"", plan.port);
            unixctl_command_reply_error(conn, error);
            free(error);
            return;
        }
        vhost = !needs->rx_descs;
    } else {
        plan.n_add = plan_value(&keys[PLAN_ADD], 1);
        needs->growth = jumbo_growth_for(vhost ? NULL : driver);
        needs->n_rxq = 1;
        needs->rx_descs = needs->tx_descs = JUMBO_DEFAULT_DESCS;
        needs->n_txq = 1;
    }

    needs->numa_id = plan_value(&keys[PLAN_NUMA], needs->numa_id);
    if (!plan.port || keys[PLAN_MTU].value > 0) {
        size_for_mtu(needs, plan_value(&keys[PLAN_MTU], 1500));
    }
    if (vhost) {
        needs->n_rxq = needs->rx_descs = needs->n_txq = needs->tx_descs = 0;
    } else {
        uint64_t n_rxq_desc = plan_value(&keys[PLAN_N_RXQ_DESC],
                                         needs->rx_descs / needs->n_rxq);
        uint64_t n_txq_desc = plan_value(&keys[PLAN_N_TXQ_DESC],
                                         needs->tx_descs / needs->n_txq);

        needs->n_rxq = plan_value(&keys[PLAN_N_RXQ], needs->n_rxq);
        if (!plan.port || needs->n_txq == n_threads) {
            needs->n_txq = plan.n_threads;
        }
        needs->rx_descs = needs->n_rxq * n_rxq_desc;
        needs->tx_descs = needs->n_txq * n_txq_desc;
    }

    n = jumbo_pools_plan(&plan, &infos);
    if (json) {
        struct json *result = json_object_create();

        json_object_put(result, "pools", pools_to_json(infos, n));
        json_object_put(result, "fits", json_boolean_create(fits(infos, n)));
        unixctl_reply_json(conn, result);
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;

        put_pools(&s, infos, n, true);
        put_fit(&s, infos, n);
        reply(conn, &s);
    }
    jumbo_pools_free(infos, n);
}

/* Adds to 'status' what there is to say about 'mp', which may be NULL. */
void
jumbo_show_status(const struct rte_mempool *mp, struct smap *status)
{
    if (mp) {
        size_t n_mbufs, size;
        int buffer_size;

        jumbo_pool_sizes(mp, &buffer_size, &n_mbufs, &size);
        smap_add_format(status, "mempool_buffer_size", "%d", buffer_size);
        smap_add_format(status, "mempool_mbufs", "%"PRIuSIZE, n_mbufs);
        smap_add_format(status, "mempool_mb", "%.1f", mb(size));
    }
}
