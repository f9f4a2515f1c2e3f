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

#include "dpdk-mempool-host.h"

#include <errno.h>
#include <rte_config.h>

#include "dpdk-memory.h"
#include "dpdk-mempool-info.h"
#include "dpdk-mempool-layout.h"
#include "dpdk-mempool-show.h"
#include "dpdk-mempool.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "smap.h"
#include "svec.h"
#include "util.h"

enum {
    HOST_PMDS, HOST_FORMAT, HOST_SOCKET_MEM, HOST_HEADROOM, HOST_PER_PORT,
    HOST_SHARED, HOST_FLUSH_INTERVAL, HOST_TSO, HOST_MAX_NFRAGS,
    HOST_IOVA_MODE,
    HOST_N_KEYS
};

/* The keys of a host; its ports have those of ports. */
static const struct mempool_word_key host_keys[HOST_N_KEYS] = {
    [HOST_PMDS] = { "pmds", MEMPOOL_VALUE_NUMBER, 1, 1024, NULL },
    [HOST_FORMAT] = { "format", MEMPOOL_VALUE_CHOICE, 0, 0, "json" },

    /* From other_config of the table Open_vSwitch. */
    [HOST_SOCKET_MEM] = { "dpdk-socket-mem", MEMPOOL_VALUE_TEXT, 0, 0, NULL },
    [HOST_HEADROOM] = { "mempool-headroom", MEMPOOL_VALUE_NUMBER, 0,
                        MEMPOOL_MAX_HEADROOM, NULL },
    [HOST_PER_PORT] = { "per-port-memory", MEMPOOL_VALUE_CHOICE, 0, 0,
                        "true false" },
    [HOST_SHARED] = { "shared-mempool-config", MEMPOOL_VALUE_TEXT, 0, 0,
                      NULL },
    [HOST_FLUSH_INTERVAL] = { "tx-flush-interval", MEMPOOL_VALUE_NUMBER, 0,
                              1000000, NULL },
    [HOST_TSO] = { "userspace-tso-enable", MEMPOOL_VALUE_CHOICE, 0, 0,
                   "true false" },

    /* From "ovs-appctl dpctl/ipf-set-max-nfrags", and from DPDK. */
    [HOST_MAX_NFRAGS] = { "ipf-max-nfrags", MEMPOOL_VALUE_NUMBER, 0, 65535,
                          NULL },
    [HOST_IOVA_MODE] = { "iova-mode", MEMPOOL_VALUE_CHOICE, 0, 0, "va pa" },
};

/* Approximate bytes that DPDK takes of a node's memory besides mempools.  For
 * a queue of a NIC, its driver reserves a ring for as many descriptors as
 * there can be, and a record for each (ixgbe_rxtx.c, 8,192 of 16 bytes;
 * i40e_rxtx.c, 4,096 of 32 bytes).  The others as measured with "ovs-appctl
 * dpdk/get-malloc-stats". */
#define QUEUE_SIZE (192 << 10)
#define ETHERNET_PORT_SIZE (128 << 10)
#define VHOST_PORT_SIZE (96 << 10)
#define VHOST_QUEUE_SIZE (32 << 10) /* Of a guest, in both directions. */

/* Memory of a NUMA node. */
struct host_node {
    size_t mbufs;               /* Bytes of mbufs. */
    size_t pools;               /* Bytes that their mempools take besides. */
    size_t devices;             /* Bytes for devices and everything else. */
    size_t needed;              /* MiB, an even number. */
    int given;                  /* MiB. */
    bool fits;
};

struct host {
    struct mempool_word_value values[HOST_N_KEYS];
    unsigned int n_threads;
    struct mempool_layout_port *ports;
    size_t n_ports, allocated_ports;
    struct host_node nodes[RTE_MAX_NUMA_NODES];
    int n_nodes;
    struct mempool_layout_pool *pools; /* The pools that it is to have. */
    size_t n_pools;
};

static int
same_node(int numa_id)
{
    return numa_id;
}

/* Adds to 'host' the ports that 'values' describe. */
static void
host_add_ports(struct host *host, const struct mempool_word_value values[],
               mempool_set_buffers_func *set_buffers)
{
    int n = mempool_words_number(values, MEMPOOL_WORD_ADD, 1);
    struct mempool_needs needs = { .numa_id = 0 };
    size_t size;

    mempool_words_to_needs(values, &needs, host->n_threads, host->n_threads,
                           set_buffers);
    size = (needs.rx_descs
            ? ETHERNET_PORT_SIZE + (needs.n_rxq + needs.n_txq) * QUEUE_SIZE
            : VHOST_PORT_SIZE
              + (mempool_words_number(values, MEMPOOL_WORD_N_RXQ, 1)
                 * VHOST_QUEUE_SIZE));
    host->nodes[needs.numa_id].devices += n * size;
    host->n_nodes = MAX(host->n_nodes, needs.numa_id + 1);
    for (int i = 0; i < n; i++) {
        if (host->n_ports >= host->allocated_ports) {
            host->ports = x2nrealloc(host->ports, &host->allocated_ports,
                                     sizeof *host->ports);
        }
        host->ports[host->n_ports++] = (struct mempool_layout_port) {
            .next = needs,
        };
    }
}

static dpdk_mbufs_size_func *
host_mbufs_size(const struct host *host)
{
    return (mempool_words_is(host->values, HOST_IOVA_MODE, "pa")
            ? dpdk_mbufs_size_pa : dpdk_mbufs_size_va);
}

/* Stores in '*poolsp' the pools that 'host' is to have, with 'memory_sizes'
 * bytes on each node, or with enough memory if that is NULL.  Returns their
 * number. */
static size_t
host_layout(const struct host *host, const size_t memory_sizes[],
            struct mempool_layout_pool **poolsp)
{
    const struct mempool_word_value *values = host->values;
    struct mempool_layout_input in = {
        .ports = host->ports,
        .n_ports = host->n_ports,
        .can_grow = dpdk_memory_has_growth(),
        .demand = mempools_demand_input(
            host->n_threads, mempool_words_is(values, HOST_TSO, "true"),
            mempool_words_number(values, HOST_FLUSH_INTERVAL, 0),
            mempool_words_number(values, HOST_MAX_NFRAGS, 0),
            mempool_words_number(values, HOST_HEADROOM, 0)),
        .mbufs_size = host_mbufs_size(host),
        .memory_node = same_node,
        .memory_sizes = memory_sizes,
    };

    return mempool_layout(&in, poolsp);
}

static size_t
mbufs_size(const struct host *host, const struct mempool_layout_pool *pool,
           uint64_t n)
{
    return host_mbufs_size(host)(pool->key.numa_id, pool->key.buffer_size,
                                 pool->grows_in_place, n);
}

/* Adds to the nodes of 'host' what its pools take. */
static void
host_add_pools(struct host *host)
{
    for (size_t i = 0; i < host->n_pools; i++) {
        const struct mempool_layout_pool *pool = &host->pools[i];
        struct host_node *node = &host->nodes[pool->key.numa_id];

        node->mbufs += mbufs_size(host, pool, pool->new_size);
        node->pools += MEMPOOL_OVERHEAD;
        if (!pool->grows_in_place && !pool->key.starts_once) {
            /* The pool that it replaces is still there. */
            node->mbufs += mbufs_size(host, pool, pool->base);
            node->pools += MEMPOOL_OVERHEAD;
        }
    }
    for (int i = 0; i < host->n_nodes; i++) {
        if (host->nodes[i].pools) {
            host->nodes[i].devices += MEMPOOL_KEPT_MEMORY;
        }
    }
}

/* Returns true if all pools on node 'n' of 'host' are as large as they are to
 * be when that node has 'mib' MiB: they take no more than the old formulas do
 * with the same memory. */
static bool
host_fits(const struct host *host, int n, size_t mib)
{
    const struct host_node *node = &host->nodes[n];
    size_t memory_sizes[RTE_MAX_NUMA_NODES];
    struct mempool_layout_pool *pools;
    size_t n_pools;
    bool fits = true;

    if (node->mbufs + node->pools + node->devices > mib << 20) {
        return false;
    }
    for (int i = 0; i < host->n_nodes; i++) {
        memory_sizes[i] = (mib << 20) - node->devices;
    }
    n_pools = host_layout(host, memory_sizes, &pools);
    for (size_t i = 0; i < host->n_pools; i++) {
        const struct mempool_layout_pool *wanted = &host->pools[i];

        if (wanted->key.numa_id == n) {
            fits = fits && (mempool_layout_find(pools, n_pools, &wanted->key)
                            ->target >= wanted->target);
        }
    }
    free(pools);
    return fits;
}

/* Calculates what 'host', whose ports are known, needs.  Returns true if it
 * has that. */
static bool
host_calculate(struct host *host)
{
    bool all_fit = true;

    for (size_t i = 0; i < host->n_ports; i++) {
        host->ports[i].id = &host->ports[i];
    }
    host->n_pools = host_layout(host, NULL, &host->pools);
    host_add_pools(host);
    for (int i = 0; i < host->n_nodes; i++) {
        struct host_node *node = &host->nodes[i];

        node->needed = (node->mbufs + node->pools + node->devices) >> 21 << 1;
        while (!host_fits(host, i, node->needed)) {
            node->needed += 2;
        }
        node->fits = (!host->values[HOST_SOCKET_MEM].text
                      || host_fits(host, i, node->given));
        all_fit = all_fit && node->fits;
    }
    return all_fit;
}

/* Appends a list of how many times 'unit' MiB each node of 'host' needs. */
static void
put_needed(struct ds *s, const struct host *host, int unit)
{
    for (int i = 0; i < host->n_nodes; i++) {
        ds_put_format(s, "%s%"PRIuSIZE, i ? "," : "",
                      DIV_ROUND_UP(host->nodes[i].needed, unit));
    }
}

static void
put_host(struct ds *s, const struct host *host)
{
    for (int i = 0; i < host->n_nodes; i++) {
        const struct host_node *node = &host->nodes[i];

        ds_put_format(s, "NUMA node %d: %.1f MB for mbufs, %.1f MB for "
                      "mempools, %.1f MB for devices: %"PRIuSIZE" MiB", i,
                      node->mbufs / 1e6, node->pools / 1e6,
                      node->devices / 1e6, node->needed);
        if (host->values[HOST_SOCKET_MEM].text) {
            ds_put_format(s, "; %d MiB: %s", node->given,
                          node->fits ? "fits" : "does not fit");
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
        const struct host_node *node = &host->nodes[i];
        struct json *n = json_object_create();

        json_object_put(n, "node", json_integer_create(i));
        json_object_put(n, "mbuf_bytes", json_integer_create(node->mbufs));
        json_object_put(n, "mempool_bytes", json_integer_create(node->pools));
        json_object_put(n, "device_bytes", json_integer_create(node->devices));
        json_object_put(n, "needed_mib", json_integer_create(node->needed));
        if (host->values[HOST_SOCKET_MEM].text) {
            json_object_put(n, "given_mib", json_integer_create(node->given));
        }
        json_object_put(n, "fits", json_boolean_create(node->fits));
        json_array_add(nodes, n);
    }
    json_object_put(json, "pools", mempool_show_pools_to_json(info));
    json_object_put(json, "memory", nodes);
    json_object_put(json, "fits", json_boolean_create(all_fit));
    return json;
}

/* Prints what 'host' needs. */
static void
host_print(const struct host *host, bool all_fit)
{
    struct mempools_info info = {
        .pools = xcalloc(host->n_pools, sizeof *info.pools),
        .n = host->n_pools,
    };
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < host->n_pools; i++) {
        const struct mempool_layout_pool *pool = &host->pools[i];

        info.pools[i] = mempool_info(pool);
        info.pools[i].n_missing = pool->new_size;
        info.pools[i].missing_size = mbufs_size(host, pool, pool->new_size);
    }
    for (size_t i = 0; i < host->n_ports; i++) {
        struct mempool_key key = mempool_needs_key(&host->ports[i].next,
                                                   host->ports[i].id);

        info.pools[mempool_layout_find(host->pools, host->n_pools, &key)
                   - host->pools].n_new_ports++;
    }
    mempools_info_sort(&info);

    if (host->values[HOST_FORMAT].text) {
        struct json *json = host_to_json(host, &info, all_fit);

        json_to_ds(json, JSSF_SORT, &s);
        json_destroy(json);
        ds_put_char(&s, '\n');
    } else {
        mempool_show_put_pools(&s, &info, true);
        put_host(&s, host);
    }
    fputs(ds_cstr(&s), stdout);
    ds_destroy(&s);
    mempools_info_free(&info);
}

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

/* Ends what 'host' is but for its ports: passes it to 'configure', or sets it
 * in 'host'. */
static void
host_configure(struct host *host, mempool_configure_func *configure)
{
    static const int in_other_config[] = {
        HOST_HEADROOM, HOST_PER_PORT, HOST_SHARED,
    };
    struct smap config = SMAP_INITIALIZER(&config);

    for (int i = 0; i < ARRAY_SIZE(in_other_config); i++) {
        int key = in_other_config[i];

        if (host->values[key].text) {
            smap_add(&config, host_keys[key].name, host->values[key].text);
        }
    }
    configure(&config);
    smap_destroy(&config);
    host->n_threads = mempool_words_number(host->values, HOST_PMDS, 1) + 1;
}

/* Adds to 'host' what the 'n' 'words' describe, which isn't about ports and
 * must come before them.  Returns NULL if successful, otherwise an error
 * message that the caller must free. */
static char *
host_describe(struct host *host, const char *const words[], size_t n)
{
    const char *memory;
    char *error;

    if (host->n_threads) {
        return xasprintf("%s: settings of the host must precede the first "
                         "line with \"type=\"",
                         words[0]);
    }
    error = mempool_words_parse(words, n, host_keys, HOST_N_KEYS,
                                host->values);
    memory = host->values[HOST_SOCKET_MEM].text;
    return error || !memory ? error : host_set_memory(host, memory);
}

/* Adds to 'host' what 'words' describe: ports if one of the words is their
 * type, otherwise something else.  Returns NULL if successful, otherwise an
 * error message that the caller must free. */
static char *
host_add(struct host *host, const struct svec *words,
         mempool_configure_func *configure,
         mempool_set_buffers_func *set_buffers)
{
    const char *const *names = (const char *const *) words->names;
    struct mempool_word_value values[MEMPOOL_N_PORT_WORDS] = { { NULL, 0 } };
    bool ports = false;
    char *error;

    for (size_t i = 0; i < words->n; i++) {
        ports = ports || !strncmp(names[i], "type=", strlen("type="));
    }
    if (!ports) {
        return host_describe(host, names, words->n);
    }
    if (!host->n_threads) {
        host_configure(host, configure);
    }
    error = mempool_words_parse(names, words->n, mempool_change_keys,
                                MEMPOOL_N_PORT_WORDS, values);
    if (!error) {
        host_add_ports(host, values, set_buffers);
    }
    mempool_words_clear(values, MEMPOOL_N_PORT_WORDS);
    return error;
}

/* Reads the description of 'host' from 'stream'.  Returns NULL if successful,
 * otherwise an error message that the caller must free. */
static char *
host_read(struct host *host, FILE *stream, int *line_number,
          mempool_configure_func *configure,
          mempool_set_buffers_func *set_buffers)
{
    struct ds line = DS_EMPTY_INITIALIZER;
    char *error = NULL;

    while (!error && !ds_get_preprocessed_line(&line, stream, line_number)) {
        struct svec words = SVEC_EMPTY_INITIALIZER;

        svec_parse_words(&words, ds_cstr(&line));
        error = host_add(host, &words, configure, set_buffers);
        svec_destroy(&words);
    }
    if (!error && ferror(stream)) {
        error = xstrdup(ovs_strerror(errno));
    } else if (!error && !host->n_ports) {
        error = xstrdup("there are no ports");
    }
    ds_destroy(&line);
    return error;
}

/* Prints what the host that the file 'file_name' describes needs; "-" is
 * standard input.  Returns the exit status: 0 if the host has that or doesn't
 * say what it has, 1 if not, 2 if the description is invalid. */
int
mempool_host_plan(const char *file_name, mempool_configure_func *configure,
                  mempool_set_buffers_func *set_buffers)
{
    FILE *stream = strcmp(file_name, "-") ? fopen(file_name, "r") : stdin;
    struct host host = { .n_ports = 0 };
    int line_number = 0;
    int status = 2;
    char *error;

    if (!stream) {
        ovs_error(errno, "%s", file_name);
        return status;
    }
    error = host_read(&host, stream, &line_number, configure, set_buffers);
    if (error) {
        ovs_error(0, "%s:%d: %s", file_name, line_number, error);
        free(error);
    } else {
        bool fits = host_calculate(&host);

        host_print(&host, fits);
        status = fits ? 0 : 1;
    }
    mempool_words_clear(host.values, HOST_N_KEYS);
    free(host.ports);
    free(host.pools);
    if (stream != stdin) {
        fclose(stream);
    }
    return status;
}
