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

/* A library to preload into ovs-vswitchd, for what few machines can show:
 *
 *   - In the middle of a change to MTU $JUMBO_RESET_MTU, a device fails and
 *     asks to be reset, and accepts no MTU until then.  Virtual functions do
 *     so when their physical function is reset; DPDK's virtual devices
 *     don't.
 *
 *   - The memory of a guest that connects is on the NUMA node whose number is
 *     in the file $JUMBO_GUEST_NODE, and node $JUMBO_FULL_NODE has no memory
 *     left for mbufs.  This needs a DPDK without hugepages, whose memory is
 *     the same for all nodes.
 *
 *   - As long as the file $JUMBO_FULL exists, no node has memory left for
 *     mbufs.
 *
 *   - The file $JUMBO_FAIL has the name of a function and two numbers.  After
 *     the first number of calls, the second number of calls fails; if that is
 *     -1, the process is killed instead.  Functions:
 *     rte_eth_dev_info_get, rte_eth_dev_configure, rte_eth_dev_set_mtu,
 *     rte_eth_rx_queue_setup, rte_eth_tx_queue_setup, rte_eth_dev_start and,
 *     for what Open vSwitch itself allocates, rte_zmalloc, for packets,
 *     rte_malloc, and for mempools, rte_malloc_socket.
 *
 *   - With $JUMBO_REPRESENTOR, every device reports that it is a representor,
 *     so that its MAC address can be configured.
 *
 * Works only where DPDK is a shared library. */

#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_memzone.h>
#include <rte_vhost.h>

static rte_eth_dev_cb_fn callback;
static bool has_failed;
static volatile bool must_be_reset;

/* Returns the function 'name' of DPDK. */
static void *
real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Returns true if this call of 'name' is to fail. */
static bool
must_fail(const char *name)
{
    const char *file_name = getenv("JUMBO_FAIL");
    FILE *file = file_name ? fopen(file_name, "r+") : NULL;
    bool fail = false;
    char which[64];
    int skip, n;

    if (file) {
        if (fscanf(file, "%63s %d %d", which, &skip, &n) == 3
            && !strcmp(which, name)) {
            if (skip <= 0 && n < 0) {
                raise(SIGKILL);
            }
            fail = skip <= 0 && n > 0;
            n -= fail;
            rewind(file);
            fprintf(file, "%s %d %d \n", which, skip - 1, n);
        }
        fclose(file);
    }
    return fail;
}

int
rte_eth_dev_configure(uint16_t port_id, uint16_t n_rxq, uint16_t n_txq,
                      const struct rte_eth_conf *conf)
{
    int (*f)(uint16_t, uint16_t, uint16_t, const struct rte_eth_conf *)
        = real("rte_eth_dev_configure");

    return must_fail("rte_eth_dev_configure")
           ? -EIO : f(port_id, n_rxq, n_txq, conf);
}

int
rte_eth_rx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t n_descs,
                       unsigned int socket, const struct rte_eth_rxconf *conf,
                       struct rte_mempool *mp)
{
    int (*f)(uint16_t, uint16_t, uint16_t, unsigned int,
             const struct rte_eth_rxconf *, struct rte_mempool *)
        = real("rte_eth_rx_queue_setup");

    return must_fail("rte_eth_rx_queue_setup")
           ? -EIO : f(port_id, queue, n_descs, socket, conf, mp);
}

int
rte_eth_tx_queue_setup(uint16_t port_id, uint16_t queue, uint16_t n_descs,
                       unsigned int socket, const struct rte_eth_txconf *conf)
{
    int (*f)(uint16_t, uint16_t, uint16_t, unsigned int,
             const struct rte_eth_txconf *) = real("rte_eth_tx_queue_setup");

    return must_fail("rte_eth_tx_queue_setup")
           ? -EIO : f(port_id, queue, n_descs, socket, conf);
}

int
rte_eth_dev_start(uint16_t port_id)
{
    int (*f)(uint16_t) = real("rte_eth_dev_start");

    return must_fail("rte_eth_dev_start") ? -EIO : f(port_id);
}

void *
rte_zmalloc(const char *type, size_t size, unsigned int align)
{
    void *(*f)(const char *, size_t, unsigned int) = real("rte_zmalloc");

    return type && !strcmp(type, "ovs_dpdk") && must_fail("rte_zmalloc")
           ? NULL : f(type, size, align);
}

void *
rte_malloc(const char *type, size_t size, unsigned int align)
{
    void *(*f)(const char *, size_t, unsigned int) = real("rte_malloc");

    return !type && must_fail("rte_malloc") ? NULL : f(type, size, align);
}

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
    static const uint32_t flags = RTE_ETH_DEV_REPRESENTOR;
    int (*f)(uint16_t, struct rte_eth_dev_info *)
        = real("rte_eth_dev_info_get");
    int retval = f(port_id, info);
    Dl_info caller;

    /* Only where Open vSwitch calls it, not where DPDK itself does. */
    if (dladdr(__builtin_return_address(0), &caller)
        && strstr(caller.dli_fname, "ovs-vswitchd")
        && must_fail("rte_eth_dev_info_get")) {
        memset(info, 0, sizeof *info);     /* As DPDK does then. */
        return -EIO;
    }
    if (!retval && getenv("JUMBO_REPRESENTOR")) {
        info->dev_flags = &flags;
    }
    return retval;
}

int
rte_eth_dev_callback_register(uint16_t port_id, enum rte_eth_event_type event,
                              rte_eth_dev_cb_fn cb, void *arg)
{
    int (*f)(uint16_t, enum rte_eth_event_type, rte_eth_dev_cb_fn, void *)
        = real("rte_eth_dev_callback_register");

    if (event == RTE_ETH_EVENT_INTR_RESET) {
        callback = cb;
    }
    return f(port_id, event, cb, arg);
}

/* DPDK calls the callback from a thread of its own, in which it may wait for
 * the end of the reconfiguration. */
static void *
request_reset(void *port_id)
{
    callback((uintptr_t) port_id, RTE_ETH_EVENT_INTR_RESET, NULL, NULL);
    return NULL;
}

int
rte_eth_dev_set_mtu(uint16_t port_id, uint16_t mtu)
{
    int (*f)(uint16_t, uint16_t) = real("rte_eth_dev_set_mtu");
    const char *at = getenv("JUMBO_RESET_MTU");
    pthread_t thread;

    if (!has_failed && at && mtu == atoi(at)) {
        has_failed = must_be_reset = true;
        pthread_create(&thread, NULL, request_reset,
                       (void *) (uintptr_t) port_id);
        pthread_detach(thread);
        usleep(50000);
    }
    return (must_be_reset || must_fail("rte_eth_dev_set_mtu")
            ? -EIO : f(port_id, mtu));
}

int
rte_eth_dev_reset(uint16_t port_id)
{
    must_be_reset = false;
    return rte_eth_dev_stop(port_id);
}

int
rte_eth_dev_close(uint16_t port_id)
{
    int (*f)(uint16_t) = real("rte_eth_dev_close");

    /* It is set up from the start when it is probed again. */
    must_be_reset = false;
    return f(port_id);
}

int
rte_vhost_get_numa_node(int vid)
{
    int (*f)(int) = real("rte_vhost_get_numa_node");
    const char *file_name = getenv("JUMBO_GUEST_NODE");
    FILE *file = file_name ? fopen(file_name, "r") : NULL;
    int node;

    if (!file) {
        return f(vid);
    }
    if (fscanf(file, "%d", &node) != 1) {
        node = -1;
    }
    fclose(file);
    return node;
}

/* DPDK's mempools call this for their node, and fail if the machine doesn't
 * have that node. */
int
rte_malloc_heap_socket_is_external(int socket)
{
    int (*f)(int) = real("rte_malloc_heap_socket_is_external");

    return getenv("JUMBO_GUEST_NODE") ? 0 : f(socket);
}

static bool
is_full(int node)
{
    const char *full_node = getenv("JUMBO_FULL_NODE");
    const char *file_name = getenv("JUMBO_FULL");

    return (full_node && node == atoi(full_node))
           || (file_name && !access(file_name, F_OK));
}

void *
rte_malloc_socket(const char *type, size_t size, unsigned int align,
                  int socket)
{
    void *(*f)(const char *, size_t, unsigned int, int)
        = real("rte_malloc_socket");

    return type && !strcmp(type, "ovs-mbufs")
           && (is_full(socket) || must_fail("rte_malloc_socket"))
           ? NULL : f(type, size, align, socket);
}

/* The elements of mempools that don't grow. */
const struct rte_memzone *
rte_memzone_reserve_aligned(const char *name, size_t len, int socket,
                            unsigned int flags, unsigned int align)
{
    const struct rte_memzone *(*f)(const char *, size_t, int, unsigned int,
                                   unsigned int)
        = real("rte_memzone_reserve_aligned");

    if (!strncmp(name, "MP_ovs", 6) && strchr(name + 6, '_')
        && is_full(socket)) {
        rte_errno = ENOMEM;
        return NULL;
    }
    return f(name, len, socket, flags, align);
}

int
rte_malloc_get_socket_stats(int socket, struct rte_malloc_socket_stats *stats)
{
    int (*f)(int, struct rte_malloc_socket_stats *)
        = real("rte_malloc_get_socket_stats");
    int retval = f(socket, stats);

    if (is_full(socket)) {
        stats->heap_freesz_bytes = 0;
    }
    return retval;
}
