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

#include "dpdk-mempool-show.h"

#include "dpdk-mempool.h"
#include "netdev-dpdk-compat.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/netdev.h"
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
put_pool(struct ds *s, const struct mempool_info *info, bool plan)
{
    ds_put_format(s, "%-4d  %-6d  %5d..%-5d  %8"PRIu64"  ", info->numa_id,
                  info->buffer_size, info->min_mtu, info->max_mtu,
                  info->n_mbufs);
    if (plan) {
        ds_put_format(s, "%8"PRIu64"  %8.1f  ", info->n_missing,
                      mb(info->missing_size));
    } else {
        ds_put_format(s, "%8"PRIu64"  %10"PRIu64"  %8.1f  ", info->n_in_use,
                      info->lowest, mb(info->size));
    }
    ds_put_format(s, "%8"PRIu64" ", info->demand.total);
    for (size_t i = 0; i < info->ports.n; i++) {
        ds_put_format(s, " %s", info->ports.names[i]);
    }
    if (info->n_new_ports) {
        ds_put_format(s, " +%"PRIuSIZE, info->n_new_ports);
    }
    ds_put_format(s, "%s%s\n", info->own ? " (own pool)" : "",
                  info->grows ? "" : " (fixed size)");

    ds_put_cstr(s, "     ");
    for (int i = 0; i < MEMPOOL_DEMAND_N_TERMS; i++) {
        ds_put_format(s, " %s %"PRIu64"%s", mempool_demand_term_name(i),
                      info->demand.terms[i],
                      i < MEMPOOL_DEMAND_N_TERMS - 1 ? "," : "");
    }
    if (info->demand.total > info->target) {
        ds_put_format(s, ", limited to %"PRIu64, info->target);
    }
    if (info->n_missing && !plan) {
        ds_put_format(s, ", missing %"PRIu64, info->n_missing);
    }
    ds_put_char(s, '\n');
}

static void
put_fits(struct ds *s, size_t missing, size_t free_, bool fits)
{
    ds_put_format(s, "%.1f MB more, %.1f MB is free: %s\n", mb(missing),
                  mb(free_), fits ? "fits" : "does not fit");
}

/* Appends a table of the pools in 'info'; for a 'plan', with what they get. */
void
mempool_show_put_pools(struct ds *s, const struct mempools_info *info,
                       bool plan)
{
    if (info->n) {
        ds_put_format(s, "NUMA  buffer  MTU              mbufs  %s    demand  "
                      "ports\n",
                      plan ? "    more        MB"
                      : "  in use  least free        MB");
    } else {
        ds_put_cstr(s, "There are no mempools.\n");
    }
    for (size_t i = 0; i < info->n; i++) {
        put_pool(s, &info->pools[i], plan);
    }
}

static void
put_memory(struct ds *s, const struct mempools_info *info)
{
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct mempools_node_info *m = &info->nodes[i];

        if (m->missing) {
            ds_put_format(s, "NUMA node %d: ", m->node);
            put_fits(s, m->missing, m->free, m->fits);
        }
        if (m->missing_all > m->missing) {
            ds_put_format(s, "NUMA node %d, when all guests are up: ",
                          m->node);
            put_fits(s, m->missing_all, m->free, m->fits_all);
        }
    }
}

/* JSON. */

/* A term's key is its name in the text, such as "rx-rings", in the style of
 * all keys: "rx_rings". */
static void
put_term(struct json *demand, const char *name, uint64_t n_mbufs)
{
    char *key = xstrdup(name);

    for (char *c = key; *c; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    json_object_put_nocopy(demand, key, json_integer_create(n_mbufs));
}

static struct json *
pool_to_json(const struct mempool_info *info)
{
    struct json *json = json_object_create();
    struct json *demand = json_object_create();
    struct json *ports = json_array_create_empty();

    for (int i = 0; i < MEMPOOL_DEMAND_N_TERMS; i++) {
        put_term(demand, mempool_demand_term_name(i), info->demand.terms[i]);
    }
    json_object_put(demand, "total", json_integer_create(info->demand.total));
    for (size_t i = 0; i < info->ports.n; i++) {
        json_array_add(ports, json_string_create(info->ports.names[i]));
    }

    json_object_put(json, "numa", json_integer_create(info->numa_id));
    json_object_put(json, "buffer_size",
                    json_integer_create(info->buffer_size));
    json_object_put(json, "min_mtu", json_integer_create(info->min_mtu));
    json_object_put(json, "max_mtu", json_integer_create(info->max_mtu));
    json_object_put(json, "own", json_boolean_create(info->own));
    json_object_put(json, "grows", json_boolean_create(info->grows));
    json_object_put(json, "mbufs", json_integer_create(info->n_mbufs));
    json_object_put(json, "in_use", json_integer_create(info->n_in_use));
    json_object_put(json, "least_free", json_integer_create(info->lowest));
    json_object_put(json, "bytes", json_integer_create(info->size));
    json_object_put(json, "limit", json_integer_create(info->limit));
    json_object_put(json, "target", json_integer_create(info->target));
    json_object_put(json, "missing_mbufs",
                    json_integer_create(info->n_missing));
    json_object_put(json, "missing_bytes",
                    json_integer_create(info->missing_size));
    json_object_put(json, "demand", demand);
    json_object_put(json, "ports", ports);
    json_object_put(json, "new_ports",
                    json_integer_create(info->n_new_ports));
    return json;
}

/* Returns the pools in 'info' as an array. */
struct json *
mempool_show_pools_to_json(const struct mempools_info *info)
{
    struct json *pools = json_array_create_empty();

    for (size_t i = 0; i < info->n; i++) {
        json_array_add(pools, pool_to_json(&info->pools[i]));
    }
    return pools;
}

static struct json *
to_json(const struct mempools_info *info)
{
    struct json *json = json_object_create();
    struct json *nodes = json_array_create_empty();
    bool all_fit = true;

    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct mempools_node_info *m = &info->nodes[i];
        struct json *node = json_object_create();

        json_object_put(node, "node", json_integer_create(m->node));
        json_object_put(node, "free_bytes", json_integer_create(m->free));
        json_object_put(node, "missing_bytes",
                        json_integer_create(m->missing));
        json_object_put(node, "missing_bytes_all_guests",
                        json_integer_create(m->missing_all));
        json_array_add(nodes, node);
        all_fit = all_fit && m->fits && m->fits_all;
    }
    json_object_put(json, "pools", mempool_show_pools_to_json(info));
    json_object_put(json, "memory", nodes);
    json_object_put(json, "fits", json_boolean_create(all_fit));
    return json;
}

/* Commands. */

/* Replies with the pools that there are or, if 'plan' is nonnull, would be
 * after it, in JSON if 'as_json' is true or the user wants all replies in
 * JSON. */
void
mempool_show_plan(struct unixctl_conn *conn, const struct mempool_plan *plan,
                  bool as_json)
{
    struct mempools_info info;

    mempools_get_info(plan, &info);
    if (unixctl_command_get_output_format(conn) == UNIXCTL_OUTPUT_FMT_JSON) {
        unixctl_command_reply_json(conn, to_json(&info));
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;

        if (as_json) {
            struct json *json = to_json(&info);

            json_to_ds(json, JSSF_SORT, &s);
            json_destroy(json);
        } else {
            mempool_show_put_pools(&s, &info, plan != NULL);
            put_memory(&s, &info);
        }
        unixctl_command_reply(conn, ds_cstr(&s));
        ds_destroy(&s);
    }
    mempools_info_free(&info);
}

/* "netdev-dpdk/mempool-show".  If 'aux' is nonnull, replies in JSON. */
void
mempool_show(struct unixctl_conn *conn, int argc OVS_UNUSED,
             const char *argv[] OVS_UNUSED, void *aux)
{
    mempool_show_plan(conn, NULL, aux != NULL);
}

/* Adds to 'status' the properties of the mempool of 'port'. */
void
mempool_show_status(const struct mempool_port *port, struct smap *status)
{
    struct mempool_info info;

    if (mempool_port_get_info(port, &info)) {
        smap_add_format(status, "mempool_buffer_size", "%d", info.buffer_size);
        smap_add_format(status, "mempool_mbufs", "%"PRIu64, info.n_mbufs);
        smap_add_format(status, "mempool_mb", "%.1f", mb(info.size));
        if (info.n_missing) {
            smap_add_format(status, "mempool_missing_mbufs", "%"PRIu64,
                            info.n_missing);
        }
    }
}

/* Adds to 'stats' how few mbufs of the mempool of 'port' were free. */
void
mempool_show_use(const struct mempool_port *port,
                 struct netdev_custom_stats *stats)
{
    struct netdev_custom_counter *counter;
    struct mempool_info info;

    if (mempool_port_get_info(port, &info)) {
        stats->counters = xrealloc(stats->counters, (stats->size + 1)
                                                    * sizeof *stats->counters);
        counter = &stats->counters[stats->size++];
        ovs_strlcpy(counter->name, "ovs_mempool_least_free",
                    sizeof counter->name);
        counter->value = info.lowest;
    }
}
