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

#include "dpdk-memory.h"

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_version.h>
#include <unistd.h>

#include "dp-packet.h"
#include "svec.h"
#include "util.h"

/* Mbufs. */

/* Returns the bytes of an mbuf whose buffer has 'buffer_size': a dp_packet,
 * the data, and padding, so that what follows is aligned. */
size_t
dpdk_mbuf_size(int buffer_size)
{
    return ROUND_UP(sizeof(struct dp_packet) + RTE_PKTMBUF_HEADROOM
                    + buffer_size, RTE_CACHE_LINE_SIZE);
}

/* Returns the bytes of such an mbuf as an element of a mempool. */
size_t
dpdk_mbuf_element_size(int buffer_size)
{
    return rte_mempool_calc_obj_size(dpdk_mbuf_size(buffer_size), 0, NULL);
}

/* Returns the bytes of the pages whose ends no mbuf of 'mp' may cross, or 0 if
 * there are none.  Where devices use virtual addresses, as they do without
 * hugepages, an mbuf is contiguous anyhow.  DPDK still reserves whole pages of
 * 4 kB for each, but a mempool that 'grows' doesn't: mbufs would take more
 * memory, and those smaller than a page would all have the same places in the
 * CPU's L1 cache. */
size_t
dpdk_memory_page_size(struct rte_mempool *mp, bool grows)
{
    size_t page;

    return (rte_mempool_get_page_size(mp, &page)
            || (grows && rte_eal_iova_mode() == RTE_IOVA_VA)) ? 0 : page;
}

static size_t
mbufs_size(int buffer_size, size_t page, uint64_t n)
{
    struct rte_mempool_objsz size;
    struct rte_mempool mp;
    size_t min_chunk, align;

    rte_mempool_calc_obj_size(dpdk_mbuf_size(buffer_size), 0, &size);
    mp = (struct rte_mempool) {
        .header_size = size.header_size,
        .elt_size = size.elt_size,
        .trailer_size = size.trailer_size,
    };
    return n ? rte_mempool_op_calc_mem_size_default(
                   &mp, n, page ? rte_bsf64(page) : 0, &min_chunk, &align)
           : 0;
}

/* For the memory that DPDK has.  DPDK must be running. */
size_t
dpdk_mbufs_size(int buffer_size, bool grows, uint64_t n)
{
    struct rte_mempool mp = { .socket_id = SOCKET_ID_ANY };

    return mbufs_size(buffer_size, dpdk_memory_page_size(&mp, grows), n);
}

/* For hugepages of 2 MB, where devices use virtual addresses. */
size_t
dpdk_mbufs_size_va(int buffer_size, bool grows, uint64_t n)
{
    return mbufs_size(buffer_size, grows ? 0 : 2 << 20, n);
}

/* The same where devices use physical addresses. */
size_t
dpdk_mbufs_size_pa(int buffer_size, bool grows OVS_UNUSED, uint64_t n)
{
    return mbufs_size(buffer_size, 2 << 20, n);
}

/* Mempools. */

/* Returns the most mbufs that a cache of DPDK_CACHE_SIZE holds.  Before DPDK
 * 26.07, it is flushed only when it holds half as many again (rte_mempool.c,
 * CACHE_FLUSHTHRESH_MULTIPLIER).  What counts is the DPDK that runs, which may
 * be newer than that of the build. */
unsigned int
dpdk_cache_max(void)
{
    unsigned int year, month;

    return (ovs_scan(rte_version(), "DPDK %u.%u", &year, &month)
            && year * 100 + month >= 2607
            ? DPDK_CACHE_SIZE : DPDK_CACHE_SIZE * 3 / 2);
}

static void
init_packet(struct rte_mempool *mp OVS_UNUSED, void *aux OVS_UNUSED,
            void *mbuf, unsigned int i OVS_UNUSED)
{
    dp_packet_init_dpdk(mbuf);
}

/* Returns a new mempool of DPDK's own making with 'n' mbufs.  Returns NULL and
 * sets rte_errno if that fails. */
struct rte_mempool *
dpdk_mempool_create(const char *name, int numa_id, int buffer_size, uint32_t n)
{
    int data_room = buffer_size + RTE_PKTMBUF_HEADROOM;
    struct rte_mempool *mp = rte_pktmbuf_pool_create(
        name, n, DPDK_CACHE_SIZE,
        dpdk_mbuf_size(buffer_size) - sizeof(struct rte_mbuf) - data_room,
        data_room, numa_id);

    if (mp) {
        rte_mempool_obj_iter(mp, init_packet, NULL);
    }
    return mp;
}

/* Free memory. */

/* Bytes that DPDK may take from the system on each node, or 0 for any. */
static size_t socket_limits[RTE_MAX_NUMA_NODES];

/* DPDK has all the memory that it will ever have. */
static bool legacy_mem;

/* Takes from 'args', those of DPDK's EAL, how much memory DPDK may take from
 * the system, since DPDK doesn't report it. */
void
dpdk_memory_set_eal_args(const struct svec *args)
{
    static const char limit[] = "--socket-limit";

    for (size_t i = 0; i < args->n; i++) {
        const char *arg = args->names[i];

        if (!strcmp(arg, "--legacy-mem")) {
            legacy_mem = true;
        } else if (!strncmp(arg, limit, strlen(limit))) {
            const char *mib = arg[strlen(limit)] ? arg + sizeof limit
                              : i + 1 < args->n ? args->names[i + 1] : "";

            for (int node = 0; *mib && node < RTE_MAX_NUMA_NODES; node++) {
                char *end;

                socket_limits[node] = (size_t) strtoul(mib, &end, 10) << 20;
                mib = *end ? end + 1 : end;
            }
        }
    }
}

/* Returns the bytes that DPDK may take from the system for 'memory_node', of
 * which it has 'taken' already: SIZE_MAX if there is no limit. */
size_t
dpdk_memory_allowed(int memory_node, size_t taken)
{
    size_t limit = socket_limits[memory_node];

    return legacy_mem ? 0
           : limit ? limit - MIN(limit, taken)
           : SIZE_MAX;
}

#define ALL_NODES "/sys/kernel/mm"
#define NODES "/sys/devices/system/node"

/* Returns the number in the file 'name' about hugepages of 'page_size' in
 * 'dir', or 0. */
static unsigned long
read_hugepages(const char *dir, size_t page_size, const char *name)
{
    char *file_name = xasprintf("%s/hugepages/hugepages-%"PRIuSIZE"kB/%s",
                                dir, page_size / 1024, name);
    FILE *file = fopen(file_name, "r");
    unsigned long n;

    if (!file || fscanf(file, "%lu", &n) != 1) {
        n = 0;
    }
    if (file) {
        fclose(file);
    }
    free(file_name);
    return n;
}

/* Free hugepages of the sizes that DPDK uses on a node. */
struct free_pages {
    int node;
    uint64_t page_sizes;        /* Counted so far. */
    size_t size;                /* In bytes. */
};

/* Adds to 'pages_' those of the size in 'msl': what is free on the node, and
 * what the kernel may make there on demand, which it limits only for all
 * nodes.  A kernel that knows no nodes (CONFIG_NUMA) has only a sum. */
static int
add_free_pages(const struct rte_memseg_list *msl, void *pages_)
{
    struct free_pages *pages = pages_;

    if (!msl->external && msl->socket_id == pages->node
        && !(pages->page_sizes & msl->page_sz)) {
        char *node = xasprintf(NODES "/node%d", pages->node);
        const char *dir = access(NODES, F_OK) ? ALL_NODES : node;
        unsigned long most = read_hugepages(ALL_NODES, msl->page_sz,
                                            "nr_overcommit_hugepages");
        unsigned long made = read_hugepages(ALL_NODES, msl->page_sz,
                                            "surplus_hugepages");

        pages->page_sizes |= msl->page_sz;
        pages->size += msl->page_sz
                       * (read_hugepages(dir, msl->page_sz, "free_hugepages")
                          + most - MIN(most, made));
        free(node);
    }
    return 0;
}

/* Returns the node, less than RTE_MAX_NUMA_NODES, on which memory for mbufs of
 * node 'numa_id' is counted: without hugepages, all memory of DPDK is on the
 * first one.  A guest may be on a node that DPDK doesn't know, where there can
 * be no mempool: what it needs is counted on the first one, too. */
int
dpdk_memory_node(int numa_id)
{
    return rte_eal_has_hugepages() && numa_id < RTE_MAX_NUMA_NODES
           ? numa_id : 0;
}

/* Returns the bytes of 'memory_node' that are free for mbufs: what DPDK has,
 * and the hugepages that it can get from the system, which it doesn't
 * report. */
size_t
dpdk_memory_free_bytes(int memory_node)
{
    struct rte_malloc_socket_stats stats = { .heap_freesz_bytes = 0 };
    struct free_pages pages = { .node = memory_node };

    rte_malloc_get_socket_stats(memory_node, &stats);
    if (rte_eal_has_hugepages()) {
        rte_memseg_list_walk(add_free_pages, &pages);
    }
    return stats.heap_freesz_bytes
           + MIN(pages.size, dpdk_memory_allowed(memory_node,
                                                 stats.heap_totalsz_bytes));
}

/* Returns true if 'size' bytes are free for mbufs on another node than
 * 'memory_node'. */
bool
dpdk_memory_elsewhere(int memory_node, size_t size)
{
    for (unsigned int i = 0; i < rte_socket_count(); i++) {
        int node = rte_socket_id_by_idx(i);

        if (dpdk_memory_node(node) != memory_node
            && dpdk_memory_free_bytes(node) >= size) {
            return true;
        }
    }
    return false;
}
