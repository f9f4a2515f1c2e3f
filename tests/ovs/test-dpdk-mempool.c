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
#undef NDEBUG

#include "dpdk-mempool.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <rte_ring.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "dp-packet.h"
#include "dpdk-frame.h"
#include "dpdk-memory.h"
#include "dpdk-mempool-demand.h"
#include "dpdk-mempool-info.h"
#include "netdev-provider.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "ovstest.h"
#include "random.h"
#include "seq.h"
#include "svec.h"
#include "test-dpdk-mempool.h"
#include "timeval.h"
#include "util.h"

/* DPDK's allocations for mempools pass through here, so that they can be made
 * to fail: these functions replace those of DPDK's shared libraries.  They are
 * weak, since those of static libraries replace them. */

static unsigned int fault;      /* Allocations up to the one to fail, or 0. */
static bool fault_lasts;        /* Later ones fail, too. */
static bool fault_hit;          /* One has failed. */
static bool interposed;         /* These functions are in use. */

static bool
must_fail(void)
{
    if (!fault || --fault) {
        return false;
    }
    fault = fault_lasts;
    fault_hit = true;
    rte_errno = ENOMEM;
    return true;
}

static void *
real(const char *function)
{
    void *address = dlsym(RTLD_NEXT, function);

    ovs_assert(address);
    return address;
}

__attribute__((weak)) void *
rte_zmalloc(const char *type, size_t size, unsigned int align)
{
    void *(*f)(const char *, size_t, unsigned int) = real(__func__);

    return must_fail() ? NULL : f(type, size, align);
}

__attribute__((weak)) void *
rte_malloc_socket(const char *type, size_t size, unsigned int align,
                  int numa_id)
{
    void *(*f)(const char *, size_t, unsigned int, int) = real(__func__);

    return must_fail() ? NULL : f(type, size, align, numa_id);
}

__attribute__((weak)) const struct rte_memzone *
rte_memzone_reserve(const char *name, size_t len, int numa_id,
                    unsigned int flags)
{
    const struct rte_memzone *(*f)(const char *, size_t, int, unsigned int)
        = real(__func__);

    return must_fail() ? NULL : f(name, len, numa_id, flags);
}

__attribute__((weak)) const struct rte_memzone *
rte_memzone_reserve_aligned(const char *name, size_t len, int numa_id,
                            unsigned int flags, unsigned int align)
{
    const struct rte_memzone *(*f)(const char *, size_t, int, unsigned int,
                                   unsigned int) = real(__func__);

    interposed = true;
    return must_fail() ? NULL : f(name, len, numa_id, flags, align);
}

/* The netdev of all ports. */
static char netdev_name[] = "port";
static struct netdev netdev = { .name = netdev_name };

/* Returns true if 'netdev_' was asked to reconfigure since the last call. */
static bool
netdev_was_asked(struct netdev *netdev_)
{
    uint64_t last = netdev_->last_reconfigure_seq;

    netdev_->last_reconfigure_seq = seq_read(netdev_->reconfigure_seq);
    return netdev_->last_reconfigure_seq != last;
}

/* Returns true if a port was asked to reconfigure since the last call. */
static bool
reconf_requested(void)
{
    return netdev_was_asked(&netdev);
}

/* Starts DPDK with 'mb' MB of memory, and the netdev of all ports. */
static void
start_dpdk(int mb)
{
    test_start_dpdk(mb);
    netdev.reconfigure_seq = seq_create();
    reconf_requested();
}

/* DPDK's memory. */
struct memory {
    size_t free;                /* In bytes. */
    size_t greatest;            /* Of its free pieces. */
    unsigned int n_memzones;
};

static void
count_memzone(const struct rte_memzone *mz OVS_UNUSED, void *n_)
{
    unsigned int *n = n_;

    (*n)++;
}

static struct memory
memory_now(void)
{
    struct rte_malloc_socket_stats stats;
    struct memory m = { .n_memzones = 0 };

    ovs_assert(!rte_malloc_get_socket_stats(0, &stats));
    m.free = stats.heap_freesz_bytes;
    m.greatest = stats.greatest_free_size;
    rte_memzone_walk(count_memzone, &m.n_memzones);
    return m;
}

static bool
memory_is(struct memory m)
{
    struct memory now = memory_now();

    return m.free == now.free && m.greatest == now.greatest
           && m.n_memzones == now.n_memzones;
}

static struct mempool_needs
needs_of(int buffer_size, uint64_t n_rxq, uint64_t rx_descs, uint64_t tx_descs)
{
    return (struct mempool_needs) {
        .mtu = buffer_size,
        .buffer_size = buffer_size,
        .n_rxq = n_rxq,
        .rx_descs = rx_descs,
        .rx_filled = rx_descs,
        .tx_descs = tx_descs,
        .grows_in_place = true,
        .old_buffer_size = buffer_size,
        .old_mbufs = MEMPOOL_OLD_MIN_MBUFS,
    };
}

static struct rte_mempool *
prepare_netdev(struct mempool_port *port, struct netdev *netdev_,
               struct mempool_needs needs)
{
    struct rte_mempool *mp = NULL;
    char *error;

    if (mempool_port_prepare(port, netdev_, &needs, true, &mp, &error)) {
        ovs_fatal(0, "%s", error);
    }
    return mp;
}

static struct rte_mempool *
prepare(struct mempool_port *port, struct mempool_needs needs)
{
    return prepare_netdev(port, &netdev, needs);
}

static struct rte_mempool *
prepare_and_commit(struct mempool_port *port, struct mempool_needs needs)
{
    struct rte_mempool *mp = prepare(port, needs);

    mempool_port_commit(port);
    return mp;
}

static size_t
n_pools(void)
{
    struct mempools_info info;
    size_t n;

    mempools_info_get(NULL, &info);
    n = info.n;
    mempools_info_free(&info);
    return n;
}

/* Destroys 'port', which gives back what it had. */
static void
destroy(struct mempool_port *port)
{
    mempool_port_destroy(port);
    mempools_run();
}

/* 'port' can't get 'needs', for lack of memory, and nothing changes. */
static void
prepare_in_vain(struct mempool_port *port, struct mempool_needs needs)
{
    struct memory memory = memory_now();
    struct rte_mempool *mp;
    int needed, available;
    char *error;

    ovs_assert(mempool_port_prepare(port, &netdev, &needs, true, &mp, &error)
               == ENOMEM);
    ovs_assert(!!mp == !!port->pool);
    ovs_assert(memory_is(memory));
    ovs_assert(ovs_scan(error, "%d.%*d MB of memory for mbufs is needed on "
                        "NUMA node 0, where %d.%*d MB is free",
                        &needed, &available));
    ovs_assert(needed >= available);
    free(error);
}

static struct mempool_demand_input
demand_input(uint64_t n_rxq, uint64_t rx_descs, uint64_t tx_descs,
             uint64_t n_threads)
{
    return (struct mempool_demand_input) {
        .n_rxq = n_rxq,
        .rx_descs = rx_descs,
        .rx_filled = rx_descs,
        .tx_descs = tx_descs,
        .n_threads = n_threads,
        .cache_size = 512,
    };
}

/* Returns the demand, without IP fragments. */
static uint64_t
demand_of(uint64_t n_rxq, uint64_t rx_descs, uint64_t tx_descs,
          uint64_t n_threads)
{
    struct mempool_demand_input in = demand_input(n_rxq, rx_descs, tx_descs,
                                                  n_threads);

    return mempool_demand(&in).total;
}

/* Makes a port that receives nothing hold up to 'n' mbufs to be sent. */
static void
set_tx_descs(struct mempool_port *sender, uint64_t n)
{
    struct mempool_needs needs = needs_of(128, 0, 0, n);

    needs.away = true;
    prepare_and_commit(sender, needs);
}

/* Makes up to 'n' IP fragments a part of the demand. */
static void
count_frags(unsigned int n)
{
    mempool_frags_in_use();
    mempool_set_max_frags(n);
    mempools_run();
}

/* Returns true if 'mp' has exactly that demand. */
static bool
has(const struct rte_mempool *mp, uint64_t n_rxq, uint64_t rx_descs,
    uint64_t tx_descs, uint64_t n_threads)
{
    return mp->populated_size == demand_of(n_rxq, rx_descs, tx_descs,
                                           n_threads);
}

/* Takes 'n' mbufs out of the ring of 'mp', bypassing any cache. */
static struct rte_mbuf **
take(struct rte_mempool *mp, unsigned int n)
{
    struct rte_mbuf **mbufs = xcalloc(n, sizeof *mbufs);

    ovs_assert(!n || !rte_mempool_generic_get(mp, (void **) mbufs, n, NULL));
    return mbufs;
}

static void
put(struct rte_mempool *mp, struct rte_mbuf **mbufs, unsigned int n)
{
    rte_mempool_generic_put(mp, (void **) mbufs, n, NULL);
    free(mbufs);
}

static unsigned int
in_ring(const struct rte_mempool *mp)
{
    return rte_ring_count(mp->pool_data);
}

/* Receives a burst, or fails to do so, in a thread that has no cache. */
static void *
receive_main(void *mp)
{
    struct rte_mbuf *mbufs[MEMPOOL_BURST];

    ovs_assert(rte_lcore_id() == LCORE_ID_ANY);
    if (rte_pktmbuf_alloc_bulk(mp, mbufs, MEMPOOL_BURST)) {
        return NULL;
    }
    rte_pktmbuf_free_bulk(mbufs, MEMPOOL_BURST);
    return mp;
}

static bool
can_receive(struct rte_mempool *mp)
{
    void *received;

    xpthread_join(ovs_thread_create("receive", receive_main, mp), &received);
    return received != NULL;
}

/* "enough". */

/* Makes the calling lcore's cache of 'mp' as full as possible: with one more
 * mbuf, it would be flushed. */
static void
fill_cache(struct rte_mempool *mp)
{
    const unsigned int max = mp->cache_size * MEMPOOL_CACHE_PERCENT / 100;

    for (unsigned int n = max + 1; n >= max; n--) {
        struct rte_mbuf **mbufs;

        rte_mempool_cache_flush(NULL, mp);
        mbufs = take(mp, n);
        for (int i = 0; i < n; i++) {
            rte_pktmbuf_free(mbufs[i]);
        }
        free(mbufs);
        ovs_assert(rte_mempool_default_cache(mp, rte_lcore_id())->len
                   == (n > max ? 1 : max));
    }
}

struct filler {
    struct ovs_barrier barrier;
    struct rte_mempool *mps[2];
};

static void *
filler_main(void *filler_)
{
    struct filler *filler = filler_;

    mempool_thread_add();
    ovs_assert(!rte_thread_register());
    ovs_barrier_block(&filler->barrier);    /* All threads are known. */
    ovs_barrier_block(&filler->barrier);    /* The pools exist. */
    for (int i = 0; i < ARRAY_SIZE(filler->mps); i++) {
        fill_cache(filler->mps[i]);
    }
    ovs_barrier_block(&filler->barrier);    /* All caches are full. */
    ovs_barrier_block(&filler->barrier);    /* The checks are done. */
    mempool_thread_remove();
    rte_thread_unregister();
    return NULL;
}

/* Checks that with its caches full, 'mp' has just what is demanded.  If it
 * can't grow, it may have extra mbufs; these are put aside. */
static void
check_enough(struct rte_mempool *mp, const struct mempool_demand_input *in)
{
    const struct mempool_demand d = mempool_demand(in);
    const unsigned int headroom = d.terms[MEMPOOL_DEMAND_HEADROOM];
    unsigned int places[MEMPOOL_DEMAND_HEADROOM];
    struct rte_mbuf **held[MEMPOOL_DEMAND_N_TERMS];
    struct rte_mbuf **extra;
    struct rte_mbuf **more;
    unsigned int n_extra;

    ovs_assert(mp->populated_size >= d.total);
    n_extra = mp->populated_size - d.total;
    ovs_assert(!n_extra || !dpdk_memory_can_grow());
    extra = take(mp, n_extra);
    ovs_assert(in_ring(mp) == d.total - d.terms[MEMPOOL_DEMAND_CACHES]);

    /* Besides caches, mbufs are wherever they can be, except for the burst
     * that is to be received. */
    for (int t = 0; t < MEMPOOL_DEMAND_HEADROOM; t++) {
        ovs_assert(d.terms[t] >= MEMPOOL_BURST);
        places[t] = t == MEMPOOL_DEMAND_CACHES ? 0
                    : t == MEMPOOL_DEMAND_BURSTS ? d.terms[t] - MEMPOOL_BURST
                    : d.terms[t];
        held[t] = take(mp, places[t]);
        ovs_assert(can_receive(mp));
    }

    /* What is left is the operator's headroom.  Without it, that burst can
     * still be received. */
    ovs_assert(in_ring(mp) == headroom + MEMPOOL_BURST);
    held[MEMPOOL_DEMAND_HEADROOM] = take(mp, headroom);
    ovs_assert(can_receive(mp));

    /* In a smaller pool, it can't. */
    more = take(mp, MEMPOOL_BURST);
    ovs_assert(!can_receive(mp));
    put(mp, more, MEMPOOL_BURST);

    put(mp, held[MEMPOOL_DEMAND_HEADROOM], headroom);
    for (int t = 0; t < MEMPOOL_DEMAND_HEADROOM; t++) {
        put(mp, held[t], places[t]);
    }

    /* Nor can it in a pool that is smaller by any one of the terms, if a
     * single mbuf is where that term doesn't expect it, and all others are
     * where they can be, as far as there are that many. */
    for (int t = 0; t < MEMPOOL_DEMAND_HEADROOM; t++) {
        unsigned int n_missing = headroom + MIN(d.terms[t],
                                                in_ring(mp) - headroom);
        struct rte_mbuf **missing = take(mp, n_missing);
        unsigned int n = 1;

        for (int u = 0; u < MEMPOOL_DEMAND_HEADROOM; u++) {
            n += u == t ? 0 : places[u];
        }
        n = MIN(n, in_ring(mp));
        more = take(mp, n);
        ovs_assert(!can_receive(mp));
        put(mp, more, n);
        put(mp, missing, n_missing);
    }
    put(mp, extra, n_extra);
}

/* A port can receive wherever the mbufs are. */
static void
test_enough(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_demand_input in = {
        .n_rxq = 1 + 2,
        .rx_descs = 512 + 2 * 256,
        .rx_filled = 512 + 2 * 256,
        .tx_descs = 3 * 512 + 3 * 128 + 3 * 64,
        .n_threads = 1 + 2,
        .cache_size = 512,
        .flush_interval = 3,
        .max_frags = 1000,
        .headroom = 20,
    };
    struct mempool_port ports[4] = { { .netdev = NULL } };
    struct rte_mempool **mps;
    struct filler filler;
    pthread_t threads[2];

    start_dpdk(64);
    mps = filler.mps;
    ovs_barrier_init(&filler.barrier, 1 + ARRAY_SIZE(threads));
    for (int i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = ovs_thread_create("filler", filler_main, &filler);
    }
    ovs_barrier_block(&filler.barrier);

    mempool_set_headroom("20");
    mempool_set_flush_interval(3);
    count_frags(1000);
    prepare_and_commit(&ports[0], needs_of(128, 1, 512, 3 * 512));
    prepare_and_commit(&ports[1], needs_of(128, 2, 2 * 256, 3 * 128));
    mps[0] = prepare_and_commit(&ports[2], needs_of(128, 0, 0, 0));
    mps[1] = prepare_and_commit(&ports[3], needs_of(256, 1, 64, 3 * 64));
    ovs_barrier_block(&filler.barrier);
    ovs_barrier_block(&filler.barrier);

    check_enough(mps[0], &in);
    in.n_rxq = 1;
    in.rx_descs = in.rx_filled = 64;
    check_enough(mps[1], &in);

    /* The caches of threads that are gone hold nothing. */
    ovs_barrier_block(&filler.barrier);
    for (int i = 0; i < ARRAY_SIZE(threads); i++) {
        xpthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        ovs_assert(in_ring(mps[i]) == mps[i]->populated_size);
    }
}

/* "grow". */

#define N_WORKERS 3
#ifdef __SANITIZE_THREAD__
#define GROW_PORTS 200
#else
#define GROW_PORTS 600
#endif
#define GROW_BUFFER 128
#define MAX_HELD (1 << 17)

/* Owner of the mbuf at an address, 0 for none, by cache lines from
 * 'owners_base'. */
static atomic_uint32_t *owners;
static char *owners_base;
static size_t n_owners;

static atomic_uint32_t *
owner(const struct rte_mbuf *mbuf)
{
    size_t i = ((char *) mbuf - owners_base) / RTE_CACHE_LINE_SIZE;

    ovs_assert(i < n_owners);
    return &owners[i];
}

/* Fills the buffer of 'mbuf', or checks that nobody else did. */
static void
fill_buffer(struct rte_mbuf *mbuf)
{
    struct rte_mbuf **p = mbuf->buf_addr;

    for (int i = 0; i < mbuf->buf_len / sizeof *p; i++) {
        p[i] = mbuf;
    }
}

static void
check_buffer(const struct rte_mbuf *mbuf)
{
    struct rte_mbuf **p = mbuf->buf_addr;

    for (int i = 0; i < mbuf->buf_len / sizeof *p; i++) {
        ovs_assert(p[i] == mbuf);
    }
}

/* Makes 'id' the owner of 'mbuf', which must be as it was in 'mp'. */
static void
own(struct rte_mempool *mp, struct rte_mbuf *mbuf, uint32_t id)
{
    uint32_t nobody = 0;

    ovs_assert(atomic_compare_exchange_strong(owner(mbuf), &nobody, id));
    ovs_assert(mbuf->pool == mp);
    ovs_assert(mbuf->buf_addr == rte_mbuf_to_baddr(mbuf));
    ovs_assert(mbuf->priv_size == rte_pktmbuf_priv_size(mp));
    ovs_assert(mbuf->buf_len == GROW_BUFFER + RTE_PKTMBUF_HEADROOM);
    ovs_assert(mbuf->data_off == RTE_PKTMBUF_HEADROOM);
    ovs_assert(rte_mbuf_refcnt_read(mbuf) == 1);
    ovs_assert(mbuf->nb_segs == 1);
    ovs_assert(!mbuf->next);
    ovs_assert(((struct dp_packet *) mbuf)->source == DPBUF_DPDK);
    fill_buffer(mbuf);
}

static void
disown(struct rte_mbuf *mbuf, uint32_t id)
{
    uint32_t was = id;

    check_buffer(mbuf);
    ovs_assert(atomic_compare_exchange_strong(owner(mbuf), &was, 0));
}

struct worker {
    pthread_t thread;
    uint32_t id;
    struct rte_mempool *mp;
    atomic_count n_bursts;
    atomic_bool stop;
};

/* Takes bursts from the pool as drivers do, as long as there are mbufs, frees
 * some of them, and so on. */
static void *
worker_main(void *w_)
{
    struct worker *w = w_;
    struct rte_mbuf **held = xcalloc(MAX_HELD, sizeof *held);
    int n_held = 0;
    int n_to_hold = MAX_HELD;
    bool stop = false;

    random_set_seed(w->id);
    ovs_assert(!rte_thread_register());
    do {
        int n = 1 << random_range(7);

        atomic_read(&w->stop, &stop);
        if (stop) {
            n_to_hold = 0;
        }
        if (n_held + n <= n_to_hold
            && !rte_mempool_get_bulk(w->mp, (void **) &held[n_held], n)) {
            for (int i = 0; i < n; i++) {
                own(w->mp, held[n_held++], w->id);
            }
            atomic_count_inc(&w->n_bursts);
        } else if (n_held > n_to_hold) {
            n = MIN(n, n_held - n_to_hold);
            n_held -= n;
            for (int i = 0; i < n; i++) {
                disown(held[n_held + i], w->id);
            }
            rte_pktmbuf_free_bulk(&held[n_held], n);
        } else {
            n_to_hold = n_to_hold < MAX_HELD ? MAX_HELD
                                             : random_range(n_held + 1);
        }

        /* A thread that loses its CPU while it uses the ring blocks all
         * others, so it had better lose it here. */
        sched_yield();
    } while (!stop || n_held);
    free(held);
    mempool_thread_remove();
    rte_thread_unregister();
    return NULL;
}

/* ThreadSanitizer doesn't recognize what orders accesses in DPDK's ring. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *);
void __tsan_release(void *);

static rte_mempool_enqueue_t enqueue;
static rte_mempool_dequeue_t dequeue;

static int
tsan_enqueue(struct rte_mempool *mp, void *const *objs, unsigned int n)
{
    __tsan_release(mp->pool_data);
    return enqueue(mp, objs, n);
}

static int
tsan_dequeue(struct rte_mempool *mp, void **objs, unsigned int n)
{
    int retval = dequeue(mp, objs, n);

    __tsan_acquire(mp->pool_data);
    return retval;
}

static void
tsan_ring(const struct rte_mempool *mp)
{
    struct rte_mempool_ops *ops = rte_mempool_get_ops(mp->ops_index);

    enqueue = ops->enqueue;
    ops->enqueue = tsan_enqueue;
    dequeue = ops->dequeue;
    ops->dequeue = tsan_dequeue;
}
#else
static void
tsan_ring(const struct rte_mempool *mp OVS_UNUSED)
{
}
#endif

/* While a pool grows, every mbuf taken from it is initialized and has one
 * owner.  In the end, all mbufs are there. */
static void
test_grow(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_port *ports = xcalloc(GROW_PORTS, sizeof *ports);
    struct mempool_needs needs = needs_of(GROW_BUFFER, 1, 32, 0);
    struct worker workers[N_WORKERS];
    struct rte_memseg_list *msl;
    struct rte_mempool *mp;
    struct rte_mbuf **all;

    needs.old_mbufs = MEMPOOL_OLD_MAX_MBUFS;
    start_dpdk(256);
    tsan_ring(prepare(&ports[0], needs_of(64, 0, 0, 0)));
    mp = prepare_and_commit(&ports[0], needs);

    msl = rte_mem_virt2memseg_list(mp);
    owners_base = msl->base_va;
    n_owners = msl->len / RTE_CACHE_LINE_SIZE;
    owners = xcalloc(n_owners, sizeof *owners);

    for (int i = 0; i < N_WORKERS; i++) {
        struct worker *w = &workers[i];

        w->id = 1 + i;
        w->mp = mp;
        atomic_count_init(&w->n_bursts, 0);
        atomic_init(&w->stop, false);
        mempool_thread_add();
        /* ovs_thread_create() contends for OVS's mutexes.  ThreadSanitizer
         * reports that: where they were locked is read without a lock. */
        ovs_assert(!pthread_create(&w->thread, NULL, worker_main, w));
    }

    for (int i = 1; i < GROW_PORTS; i++) {
        uint32_t size = mp->populated_size;
        unsigned int n_bursts[N_WORKERS];

        for (int j = 0; j < N_WORKERS; j++) {
            n_bursts[j] = atomic_count_get(&workers[j].n_bursts);
        }
        ovs_assert(prepare_and_commit(&ports[i], needs) == mp);
        ovs_assert(mp->populated_size > size);

        /* Workers go on, whether they had the CPU meanwhile or not. */
        for (int j = 0; j < N_WORKERS; j++) {
            while (atomic_count_get(&workers[j].n_bursts) == n_bursts[j]) {
                sched_yield();
            }
        }
    }
    ovs_assert(has(mp, GROW_PORTS, 32 * GROW_PORTS, 0, 1 + N_WORKERS));

    /* One after the other, since they take a mutex when they end. */
    for (int i = 0; i < N_WORKERS; i++) {
        atomic_store(&workers[i].stop, true);
        xpthread_join(workers[i].thread, NULL);
    }

    ovs_assert(in_ring(mp) == mp->populated_size);
    all = take(mp, mp->populated_size);
    for (int i = 0; i < mp->populated_size; i++) {
        own(mp, all[i], 1);
    }
    for (int i = 0; i < mp->populated_size; i++) {
        disown(all[i], 1);
    }
    put(mp, all, mp->populated_size);
}

/* "leak". */

/* All memory comes back, whatever ports do. */
static void
test_leak(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct memory memory;

    start_dpdk(128);
    memory = memory_now();
    for (int i = 0; i < 1000; i++) {
        int mtu = DPDK_MIN_MTU + i * (9710 - DPDK_MIN_MTU) / 999;
        struct mempool_port port = { .netdev = NULL };

        prepare_and_commit(&port, needs_of(dpdk_buffer_size(mtu), 1, 32, 32));
        prepare(&port, needs_of(dpdk_buffer_size(9778 - mtu), 2, 64, 64));
        if (i % 2) {
            mempool_port_commit(&port);
        }
        destroy(&port);
        ovs_assert(memory_is(memory));
    }

    /* Memory comes back as soon as all mbufs are back, whether the port is
     * destroyed or changes. */
    for (int i = 0; i < 2; i++) {
        struct mempool_port port = { .netdev = NULL };
        struct rte_mempool_cache *cache;
        struct rte_mbuf **mbufs;
        struct rte_mempool *mp;

        mp = prepare_and_commit(&port, needs_of(1024, 1, 32, 32));
        cache = &mp->local_cache[0];
        mbufs = take(mp, 2);
        if (i) {
            prepare_and_commit(&port, needs_of(2048, 1, 32, 32));
        }
        destroy(&port);
        ovs_assert(!memory_is(memory));

        rte_pktmbuf_free(mbufs[0]);
        mempools_run();
        ovs_assert(!memory_is(memory));
        ovs_assert(dpdk_memory_avail(mp) == mp->populated_size - 1);

        /* While the cache is being flushed: its mbufs are in the ring, too. */
        cache->len += 100;
        mempools_run();
        ovs_assert(!memory_is(memory));
        cache->len -= 100;

        rte_pktmbuf_free(mbufs[1]);
        ovs_assert(!memory_is(memory));
        mempools_run();
        ovs_assert(memory_is(memory));
        free(mbufs);
    }
}

/* "share". */

/* Which ports share which pool, and that pools have what is demanded. */
/* Six ports, and the pools that four of them have. */
struct share_test {
    struct mempool_port ports[6];
    struct mempool_needs needs;     /* Of ports[1]. */
    struct mempool_needs own_needs; /* Of ports[3] and ports[4]. */
    struct rte_mempool *a, *b, *c, *d;
};

static void
share_pools(struct share_test *t)
{
    /* One size of buffers, one pool. */
    t->a = prepare_and_commit(&t->ports[0], needs_of(128, 1, 256, 512));
    ovs_assert(has(t->a, 1, 256, 512, 1));
    ovs_assert(prepare_and_commit(&t->ports[1], t->needs) == t->a);
    ovs_assert(has(t->a, 3, 768, 1536, 1));

    /* Packets can go to all ports, whatever pool they are from. */
    t->b = prepare_and_commit(&t->ports[2], needs_of(256, 1, 128, 64));
    ovs_assert(t->b != t->a);
    ovs_assert(has(t->a, 3, 768, 1600, 1));
    ovs_assert(has(t->b, 1, 128, 1600, 1));

    /* Pools that aren't shared. */
    t->own_needs.own_pool = true;
    t->c = prepare_and_commit(&t->ports[3], t->own_needs);
    t->d = prepare_and_commit(&t->ports[4], t->own_needs);
    ovs_assert(t->c != t->a && t->c != t->b);
    ovs_assert(t->d != t->a && t->d != t->b && t->d != t->c);
    ovs_assert(has(t->a, 3, 768, 1600, 1));
    ovs_assert(has(t->b, 1, 128, 1600, 1));
    ovs_assert(has(t->c, 1, 128, 1600, 1));
    ovs_assert(has(t->d, 1, 128, 1600, 1));
}

static void
share_next_pool(struct share_test *t)
{
    struct mempool_needs needs_128 = needs_of(128, 0, 0, 0);
    struct mempool_needs needs_512 = needs_of(512, 0, 0, 0);
    struct mempool_port *port = &t->ports[5];
    struct memory memory;
    char *name;

    /* A port that doesn't receive yet, then one without rings. */
    ovs_assert(!prepare_and_commit(port, needs_of(0, 0, 0, 0)));
    ovs_assert(has(t->a, 3, 768, 1600, 1));
    ovs_assert(has(t->d, 1, 128, 1600, 1));
    memory = memory_now();
    ovs_assert(prepare_and_commit(port, needs_128) == t->a);

    /* One pool after the other, which it can have back until it is swept. */
    name = xstrdup(prepare_and_commit(port, needs_512)->name);
    ovs_assert(memory_now().free < memory.free);
    ovs_assert(prepare_and_commit(port, needs_128) == t->a);
    ovs_assert(!strcmp(prepare_and_commit(port, needs_512)->name, name));
    ovs_assert(prepare_and_commit(port, needs_128) == t->a);
    mempools_run();
    ovs_assert(memory_is(memory));
    ovs_assert(strcmp(prepare_and_commit(port, needs_512)->name, name));
    ovs_assert(prepare_and_commit(port, needs_128) == t->a);
    mempools_run();
    free(name);
}

static void
share_same_pool(struct share_test *t)
{
    struct memory memory = memory_now();
    size_t n = n_pools();

    /* What the port already has. */
    ovs_assert(prepare(&t->ports[1], t->needs) == t->a);
    mempool_port_commit(&t->ports[1]);
    ovs_assert(prepare_and_commit(&t->ports[3], t->own_needs) == t->c);
    ovs_assert(memory_is(memory));

    /* Something else, given up for a third thing, given up for what the port
     * has, of which it loses nothing.  Until it has that, the queues of its
     * device may have either pool. */
    t->own_needs.buffer_size = 256;
    prepare(&t->ports[3], t->own_needs);
    prepare(&t->ports[3], needs_of(512, 1, 128, 0));
    t->own_needs.buffer_size = 128;
    ovs_assert(prepare(&t->ports[3], t->own_needs) == t->c);
    mempools_run();
    ovs_assert(n_pools() == n + 2);
    mempool_port_lose(&t->ports[3]);
    mempools_run();
    ovs_assert(n_pools() == n + 2);
    mempool_port_commit(&t->ports[3]);
    mempools_run();
    ovs_assert(n_pools() == n);
    ovs_assert(memory_is(memory));
}

static void
share_larger_pools(struct share_test *t)
{
    uint32_t size;

    /* As long as the port can have either, there is enough for either. */
    ovs_assert(prepare(&t->ports[2], needs_of(256, 2, 64, 256)) == t->b);
    ovs_assert(has(t->a, 3, 768, 1792, 1));
    ovs_assert(has(t->b, 2, 128, 1792, 1));
    mempool_port_commit(&t->ports[2]);
    ovs_assert(prepare(&t->ports[2], needs_of(256, 1, 512, 0)) == t->b);
    ovs_assert(has(t->b, 2, 512, 1792, 1));
    mempool_port_commit(&t->ports[2]);

    /* One more thread, for which the second time no mbufs are added. */
    for (int i = 0; i < 2; i++) {
        ovs_assert(prepare_and_commit(&t->ports[2], needs_of(256, 2, 512, 256))
                   == t->b);
        mempool_thread_add();
        ovs_assert(has(t->a, 3, 768, 1792, 2));
        ovs_assert(has(t->b, 2, 512, 1792, 2));
        ovs_assert(has(t->c, 1, 128, 1792, 2));
        ovs_assert(has(t->d, 1, 128, 1792, 2));
        mempool_thread_remove();
    }

    /* Fragments count once there was one. */
    size = t->d->populated_size;
    mempool_thread_add();
    mempool_set_max_frags(2000);
    mempools_run();
    ovs_assert(t->d->populated_size == size);
    mempool_frags_in_use();
    mempools_run();
    ovs_assert(t->d->populated_size == size + 2000);
    ovs_assert(dpdk_memory_avail(t->d) == t->d->populated_size);
    mempool_thread_remove();
}

static void
test_share(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct share_test t = {
        .needs = needs_of(128, 2, 512, 1024),
        .own_needs = needs_of(128, 1, 128, 0),
    };
    struct memory start;

    start_dpdk(256);
    start = memory_now();
    share_pools(&t);
    share_next_pool(&t);
    share_same_pool(&t);
    share_larger_pools(&t);
    for (int i = 0; i < ARRAY_SIZE(t.ports); i++) {
        destroy(&t.ports[i]);
    }
    ovs_assert(memory_is(start));
}

/* "allowed". */

/* DPDK takes no more from the system than the arguments of its EAL allow. */
static void
test_allowed(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct svec args = SVEC_EMPTY_INITIALIZER;

    svec_add(&args, "ovs");
    dpdk_memory_set_eal_args(&args);
    ovs_assert(dpdk_memory_allowed(0, 1000 << 20) == SIZE_MAX);

    svec_add(&args, "--socket-limit");
    svec_add(&args, "512,0");
    dpdk_memory_set_eal_args(&args);
    ovs_assert(dpdk_memory_allowed(0, 0) == 512 << 20);
    ovs_assert(dpdk_memory_allowed(0, 500 << 20) == 12 << 20);
    ovs_assert(dpdk_memory_allowed(0, 600 << 20) == 0);
    ovs_assert(dpdk_memory_allowed(1, 600 << 20) == SIZE_MAX);
    ovs_assert(dpdk_memory_allowed(2, 600 << 20) == SIZE_MAX);

    svec_add(&args, "--socket-limit=0,64");
    dpdk_memory_set_eal_args(&args);
    ovs_assert(dpdk_memory_allowed(0, 600 << 20) == SIZE_MAX);
    ovs_assert(dpdk_memory_allowed(1, 0) == 64 << 20);

    svec_add(&args, "--legacy-mem");
    dpdk_memory_set_eal_args(&args);
    ovs_assert(dpdk_memory_allowed(0, 0) == 0);
    ovs_assert(dpdk_memory_allowed(1, 0) == 0);
    svec_destroy(&args);
}

/* "limit". */

/* A pool grows in place, port by port, to all that the old formulas allow. */
static void
test_limit(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_needs needs = needs_of(128, 1, 1024, 32768);
    struct mempool_port ports[8] = { { .netdev = NULL } };
    struct rte_mempool *mp = NULL;

    start_dpdk(400);
    needs.old_mbufs = MEMPOOL_OLD_MAX_MBUFS;
    for (int i = 0; i < ARRAY_SIZE(ports); i++) {
        struct rte_mempool *old = mp;

        mp = prepare_and_commit(&ports[i], needs);
        ovs_assert(!i || mp == old);
        ovs_assert(!reconf_requested());
        ovs_assert(i == ARRAY_SIZE(ports) - 1
                   ? mp->populated_size == MEMPOOL_OLD_MAX_MBUFS
                   : mp->populated_size < MEMPOOL_OLD_MAX_MBUFS);
    }
    ovs_assert(in_ring(mp) == MEMPOOL_OLD_MAX_MBUFS);
}

/* "short". */

/* Returns the mbufs that the pool of 'port' is to get when there is memory. */
static uint64_t
missing_of(const struct mempool_port *port)
{
    uint64_t n_mbufs, n_missing = 0;
    int buffer_size;
    size_t size;

    ovs_assert(mempool_port_get_pool(port, &buffer_size, &size, &n_mbufs,
                                     &n_missing));
    return n_missing;
}

/* With too little memory, only what a port can't start without is refused;
 * otherwise a port gets what there is, until there is more. */
/* Ports 'a' and 'b' have pools, 'c' and 'd' are added, in little memory. */
struct short_test {
    struct mempool_port a, b, c, d;
    struct mempool_needs needs;         /* Of 'a'. */
    struct mempool_needs away;          /* Of 'c', a guest's. */
    struct rte_mempool *mp, *large_mp;  /* Of 'a' and 'b'. */
};

static void
short_refuse(struct short_test *t)
{
    const struct mempool_needs too_many = needs_of(1024, 1, 32768, 256);
    const struct mempool_needs too_large = needs_of(9216, 1, 4096, 256);
    struct memory memory = memory_now();
    struct rte_mempool *none = NULL;
    char *error;

    /* A request with which a port, new or not, couldn't start. */
    prepare_in_vain(&t->c, too_large);
    prepare_in_vain(&t->c, too_many);
    ovs_assert(!t->c.known);
    prepare_in_vain(&t->a, too_large);
    prepare_in_vain(&t->a, too_many);
    ovs_assert(prepare_and_commit(&t->a, t->needs) == t->mp);
    ovs_assert(memory_is(memory));

    /* What it was prepared for before is void. */
    prepare(&t->a, needs_of(512, 1, 256, 256));
    ovs_assert(mempool_port_prepare(&t->a, &netdev, &too_large, true, &none,
                                    &error) == ENOMEM);
    free(error);
    mempool_port_commit(&t->a);
    mempools_run();
    ovs_assert(memory_is(memory));
    ovs_assert(prepare_and_commit(&t->a, t->needs) == t->mp);
}

static void
short_guest(struct short_test *t, int n_threads)
{
    struct mempool_needs fewer = needs_of(1024, 0, 0, 0);
    struct mempool_demand_input in = demand_input(1, 256, 0, n_threads);
    struct rte_mempool *none = NULL;
    char *error;

    /* For a guest that is yet to connect, a lack of memory is reported now. */
    t->away.away = true;
    prepare_in_vain(&t->c, t->away);
    ovs_assert(!t->c.known);
    t->away.mtu = 1500;
    ovs_assert(!prepare_and_commit(&t->c, t->away));

    /* If it connects and there is no memory, it waits. */
    t->away.away = false;
    reconf_requested();
    ovs_assert(mempool_port_prepare(&t->c, &netdev, &t->away, true, &none,
                                    &error) == ENOMEM);
    free(error);
    ovs_assert(t->c.waits);
    mempools_run();
    ovs_assert(t->c.waits && !reconf_requested());

    /* If others use such a pool, it shares that, whatever it is missing. */
    fewer.away = true;
    prepare_and_commit(&t->d, fewer);
    fewer.away = false;
    ovs_assert(t->mp->populated_size < MIN(mempool_demand_to_start(&in),
                                           MEMPOOL_OLD_MIN_MBUFS));
    ovs_assert(prepare_and_commit(&t->d, fewer) == t->mp);

    /* But it doesn't leave a better one for that. */
    ovs_assert(prepare(&t->b, fewer) == t->large_mp);
    mempool_port_keep(&t->b);
    destroy(&t->d);
}

/* A pool that is too small gets what it needs when there is memory. */
static void
short_grow(struct mempool_needs large)
{
    struct mempool_port b = { .netdev = NULL };
    struct rte_mempool *large_mp;
    void *filler;

    filler = rte_malloc(NULL, memory_now().greatest - (17 << 20), 0);
    ovs_assert(filler);
    large_mp = prepare_and_commit(&b, large);
    ovs_assert(missing_of(&b));
    rte_free(filler);
    mempools_run();
    ovs_assert(!missing_of(&b));
    ovs_assert(has(large_mp, 1, 1024, 4096, 1));
    destroy(&b);
}

static void
test_short(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const struct mempool_needs large = needs_of(2048, 1, 1024, 4096);
    struct mempool_demand_input in = demand_input(1, 1024, 256 + 4096, 1);
    struct short_test t = {
        .needs = needs_of(1024, 1, 256, 256),
        .away = needs_of(9216, 0, 0, 0),
    };
    int n_threads = 1;

    start_dpdk(29);
    t.mp = prepare_and_commit(&t.a, t.needs);
    ovs_assert(has(t.mp, 1, 256, 256, 1));
    short_refuse(&t);

    /* A port that can start gets what there is. */
    t.large_mp = prepare_and_commit(&t.b, large);
    ovs_assert(t.large_mp->populated_size >= mempool_demand_to_start(&in));
    ovs_assert(t.large_mp->populated_size < mempool_demand(&in).total);
    ovs_assert(missing_of(&t.b));
    ovs_assert(can_receive(t.large_mp));

    /* Threads and fragments are never refused. */
    for (; n_threads < 20; n_threads++) {
        mempool_thread_add();
    }
    count_frags(20000);
    ovs_assert(prepare_and_commit(&t.a, t.needs) == t.mp);
    ovs_assert(missing_of(&t.a) && missing_of(&t.b));
    ovs_assert(can_receive(t.mp));

    short_guest(&t, n_threads);

    /* When others are gone, it gets what it needs, and is asked to take it. */
    for (; n_threads > 1; n_threads--) {
        mempool_thread_remove();
    }
    count_frags(0);
    destroy(&t.b);
    mempools_run();
    ovs_assert(!missing_of(&t.a));
    ovs_assert(!t.c.waits && reconf_requested());
    ovs_assert(prepare_and_commit(&t.c, t.away));
    destroy(&t.c);
    mempools_run();
    destroy(&t.a);

    short_grow(large);
}

/* "shrink". */

/* Gives 'port' the pool for 'needs' while threads use it. */
static struct rte_mempool *
switch_pool(struct mempool_port *port, struct mempool_needs needs)
{
    struct rte_mempool *mp;
    char *error;

    ovs_assert(!mempool_port_prepare(port, &netdev, &needs, false, &mp,
                                     &error));
    mempool_port_switch(port);
    return mp;
}

/* Waits until there are 'n' pools: after ports have switched to another pool,
 * the old one is freed only after a grace period. */
static void
wait_for_pools(size_t n)
{
    for (int i = 0; n_pools() != n; i++) {
        ovs_assert(i < 10000);
        ovsrcu_quiesce();
        usleep(1000);
    }
}

/* Pools that are too large for their ports give memory back when others lack
 * it, not before, and stop no port for that. */
static void
test_shrink(struct ovs_cmdl_context *ctx)
{
    const struct mempool_needs guest = needs_of(8192, 0, 0, 0);
    const struct mempool_needs nic = needs_of(8192, 1, 4096, 1024);
    struct mempool_needs more = needs_of(2048, 1, 12000, 1024);
    const struct mempool_needs most = needs_of(2048, 1, 16000, 1024);
    struct mempool_port v = { .switches = true };
    struct mempool_port w = { .switches = true };
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port b = { .netdev = NULL };
    struct mempool_port c = { .netdev = NULL };
    struct rte_mempool *old, *mp, *small;
    struct rte_mbuf **mbufs;
    const uint64_t lent = 1000;

    /* Guests' ports get another pool while they run, as soon as memory is
     * short; it starts with as many mbufs as the old one ever lent at once. */
    start_dpdk(atoi(ctx->argv[1]));
    more.rx_filled = 256;
    prepare_and_commit(&a, nic);
    old = prepare_and_commit(&v, guest);
    ovs_assert(prepare_and_commit(&w, guest) == old);
    ovs_assert(has(old, 1, 4096, 1024, 1));
    mbufs = take(old, lent);
    destroy(&a);
    mempools_run();
    ovs_assert(n_pools() == 1 && !mempool_port_must_move(&v));
    reconf_requested();
    mp = prepare_and_commit(&b, more);
    mempools_run();
    ovs_assert(missing_of(&b) && n_pools() == 3);
    ovs_assert(!reconf_requested());
    ovs_assert(mempool_port_must_move(&v) && mempool_port_must_move(&w));
    small = switch_pool(&v, guest);
    ovs_assert(small != old && small->populated_size >= lent);
    ovs_assert(small->populated_size < old->populated_size / 2);
    ovs_assert(can_receive(small));
    ovs_assert(switch_pool(&w, guest) == small);
    ovs_assert(!mempool_port_must_move(&v));

    /* When all mbufs of the old one are back, others have its memory. */
    mempools_run();
    ovs_assert(missing_of(&b) && n_pools() == 3);
    put(old, mbufs, lent);
    wait_for_pools(2);
    mempools_run();
    ovs_assert(!missing_of(&b) && has(mp, 1, 12000, 1024, 1));
    mempools_run();
    ovs_assert(!missing_of(&v) && !mempool_port_must_move(&v));
    destroy(&v);
    destroy(&w);
    destroy(&b);
    ovs_assert(!n_pools());

    /* A device's port gets it when it is stopped anyway, but not while another
     * port that would have to be stopped uses the pool, too. */
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&v, 0, sizeof v);
    prepare_and_commit(&a, nic);
    old = prepare_and_commit(&b, needs_of(8192, 1, 512, 512));
    prepare_and_commit(&c, needs_of(8192, 1, 512, 512));
    destroy(&a);
    prepare_in_vain(&v, most);
    mempools_run();
    ovs_assert(n_pools() == 1 && !mempool_port_must_move(&b));
    ovs_assert(prepare_and_commit(&b, needs_of(8192, 1, 400, 512)) == old);
    destroy(&c);
    ovs_assert(switch_pool(&b, needs_of(8192, 1, 500, 512)) == old);
    ovs_assert(n_pools() == 1);
    ovs_assert(prepare_and_commit(&b, needs_of(8192, 1, 512, 512)) != old);
    mempools_run();
    ovs_assert(n_pools() == 1 && !missing_of(&b));
    ovs_assert(prepare_and_commit(&v, most)->populated_size
               == MEMPOOL_OLD_MIN_MBUFS);
}

/* "lowest". */

/* How few mbufs were free is known, though they are back when it is asked. */
static void
test_lowest(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const unsigned int taken[] = { 100, 50, 1000, 999 };
    struct mempool_port port = { .netdev = NULL };
    unsigned int most = 0;
    struct rte_mempool *mp;

    start_dpdk(64);
    mp = prepare_and_commit(&port, needs_of(128, 1, 1024, 1024));
    for (int i = 0; i < ARRAY_SIZE(taken); i++) {
        uint64_t lowest, n_failed;

        put(mp, take(mp, taken[i]), taken[i]);
        most = MAX(most, taken[i]);
        ovs_assert(mempool_port_get_use(&port, &lowest, &n_failed));
        ovs_assert(lowest == mp->populated_size - most);
    }
}

/* "lower". */

/* A port whose MTU is lowered never fails for lack of memory. */
static void
test_lower(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_port port = { .netdev = NULL };
    struct rte_mempool *mp;
    void *all;

    start_dpdk(256);
    mp = prepare_and_commit(&port, needs_of(8192, 1, 1024, 1024));
    ovs_assert(!missing_of(&port));
    while ((all = rte_malloc(NULL, 1 << 20, 0))) {
        continue;
    }
    ovs_assert(prepare_and_commit(&port, needs_of(2048, 1, 1024, 1024)) == mp);
    ovs_assert(can_receive(mp));

    /* A request that doesn't lower it may fail. */
    prepare_in_vain(&port, needs_of(9216, 1, 1024, 1024));
}

/* "retry". */

/* Leaves 17 MB free, and 127 MB once 'fillers[0]' is freed. */
static void
fill_memory(void *fillers[2])
{
    fillers[0] = rte_malloc(NULL, 110 << 20, 0);
    fillers[1] = rte_malloc(NULL, memory_now().greatest - (17 << 20), 0);
    ovs_assert(fillers[0] && fillers[1]);
}

/* A port may retry when there is memory for what it wanted, and not because of
 * the memory that its fall-back would have needed. */
static void
test_retry(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const struct mempool_needs small = needs_of(2048, 1, 1024, 1024);
    const struct mempool_needs large = needs_of(9216, 1, 8192, 1024);
    const struct mempool_needs larger = needs_of(16384, 1, 10000, 1024);
    struct mempool_port port = { .netdev = NULL };
    void *fillers[2];

    start_dpdk(256);
    prepare_and_commit(&port, small);
    ovs_assert(!mempool_port_may_retry(&port));

    fill_memory(fillers);
    prepare_in_vain(&port, large);
    prepare_in_vain(&port, larger);
    prepare_and_commit(&port, small);
    ovs_assert(!mempool_port_may_retry(&port));
    prepare_and_commit(&port, small);       /* For another reason. */
    rte_free(fillers[0]);
    ovs_assert(mempool_port_may_retry(&port));
    ovs_assert(!mempool_port_may_retry(&port));

    prepare_in_vain(&port, larger);
    prepare_and_commit(&port, small);
    rte_free(fillers[1]);
    ovs_assert(mempool_port_may_retry(&port));

    /* Not if there was memory for the last request, and its device refused
     * it. */
    fill_memory(fillers);
    prepare_in_vain(&port, large);
    prepare_and_commit(&port, small);
    prepare(&port, needs_of(1024, 1, 1024, 1024));
    prepare_and_commit(&port, small);
    rte_free(fillers[0]);
    rte_free(fillers[1]);
    ovs_assert(!mempool_port_may_retry(&port));

    /* If it goes on as it is, what it wants next counts. */
    fill_memory(fillers);
    prepare_in_vain(&port, larger);
    mempool_port_keep(&port);
    prepare_in_vain(&port, large);
    mempool_port_keep(&port);
    rte_free(fillers[0]);
    ovs_assert(mempool_port_may_retry(&port));
}

/* "replace". */

static bool
has_ops(const struct rte_mempool *mp, const char *name)
{
    return !strcmp(rte_mempool_get_ops(mp->ops_index)->name, name);
}

/* A pool that can't grow is replaced, and its ports reconfigure. */
/* Three ports whose mempools are replaced, and one that only sends. */
struct replace_test {
    struct mempool_port a, b, c, sender;
    struct mempool_needs needs; /* What 'a' and 'c' need. */
    struct mempool_needs more;  /* What 'b' needs in the end. */
};

static void
replace_mempools(struct replace_test *t)
{
    struct rte_mempool *growing, *old, *new;
    struct rte_mbuf **mbufs;

    /* As long as all ports take mbufs that a pool gets while they run, it
     * grows. */
    growing = prepare_and_commit(&t->c, t->needs);
    ovs_assert(has_ops(growing, "ovs_counting"));
    ovs_assert(has(growing, 1, 64, 64, 1));
    ovs_assert(prepare_and_commit(&t->a, t->needs) == growing);
    ovs_assert(has(growing, 2, 128, 128, 1));

    /* When one port doesn't, existing pools are replaced: that port can send
     * from any of them. */
    t->needs.grows_in_place = t->more.grows_in_place = false;
    old = prepare(&t->b, t->needs);
    ovs_assert(old != growing);
    ovs_assert(has_ops(old, "ovs_counting"));
    ovs_assert(old->size == demand_of(3, 192, 192, 1) * 4);
    ovs_assert(old->populated_size == old->size);
    ovs_assert(reconf_requested());
    ovs_assert(mempool_port_must_move(&t->a) && mempool_port_must_move(&t->c));
    mempool_port_commit(&t->b);
    ovs_assert(prepare_and_commit(&t->a, t->needs) == old);
    ovs_assert(prepare_and_commit(&t->c, t->needs) == old);
    ovs_assert(!mempool_port_must_move(&t->a));
    ovs_assert(n_pools() == 1);
    ovs_assert(can_receive(old));
    ovs_assert(((struct dp_packet *) *(mbufs = take(old, 1)))->source
               == DPBUF_DPDK);

    /* The old pool stays until its ports have the new one. */
    reconf_requested();
    new = prepare(&t->b, t->more);
    ovs_assert(new != old);
    ovs_assert(new->populated_size == demand_of(3, 2128, 192, 1) * 4);
    ovs_assert(reconf_requested());
    ovs_assert(mempool_port_must_move(&t->a) && mempool_port_must_move(&t->b));
    mempool_port_commit(&t->b);
    ovs_assert(mempool_port_must_move(&t->a)
               && !mempool_port_must_move(&t->b));
    ovs_assert(n_pools() == 2);
    ovs_assert(prepare_and_commit(&t->a, t->needs) == new);
    ovs_assert(prepare_and_commit(&t->c, t->needs) == new);
    reconf_requested();

    /* It also stays until its last mbuf is back. */
    ovs_assert(n_pools() == 2);
    put(old, mbufs, 1);
    ovs_assert(n_pools() == 1);
    ovs_assert(can_receive(new));
}

static void
replace_in_vain(struct replace_test *t)
{
    struct rte_mempool *mp = prepare_and_commit(&t->b, t->more);
    struct memory memory = memory_now();

    /* If a pool can't be replaced, its ports go on. */
    prepare_in_vain(&t->b, needs_of(128, 1, 1 << 20, 64));
    ovs_assert(!mempool_port_must_move(&t->a)
               && !mempool_port_must_move(&t->b));
    ovs_assert(!reconf_requested());
    ovs_assert(prepare_and_commit(&t->b, t->more) == mp);
    ovs_assert(memory_is(memory));

    /* Not replaced for the sake of fragments, which anybody may send. */
    count_frags(3000);
    ovs_assert(!reconf_requested());
    ovs_assert(prepare_and_commit(&t->a, t->needs) == mp);
    count_frags(0);
}

static void
replace_for_sender(struct replace_test *t)
{
    struct rte_mempool *new = prepare_and_commit(&t->b, t->more);
    struct rte_mempool *old;

    /* Replaced for another port, and once more before a port has it; with less
     * in addition, since a port was refused. */
    set_tx_descs(&t->sender, 10000);
    ovs_assert(reconf_requested());
    old = prepare(&t->a, t->needs);
    ovs_assert(old != new);
    ovs_assert(old->populated_size
               == (10000 + demand_of(3, 2128, 192, 1)) * 3 / 2);
    set_tx_descs(&t->sender, 51000);
    ovs_assert(reconf_requested());
    mempool_port_commit(&t->a);
    ovs_assert(mempool_port_must_move(&t->a));
    ovs_assert(can_receive(old));
    new = prepare_and_commit(&t->a, t->needs);
    ovs_assert(new != old);
    ovs_assert(new->populated_size
               == (51000 + demand_of(3, 2128, 192, 1)) * 3 / 2);
    ovs_assert(prepare_and_commit(&t->b, t->more) == new);
    ovs_assert(prepare_and_commit(&t->c, t->needs) == new);
    ovs_assert(n_pools() == 1);

    /* Up to what the old formulas would take, which is that many mbufs. */
    set_tx_descs(&t->sender, 220000);
    new = prepare_and_commit(&t->a, t->needs);
    ovs_assert(new->populated_size == MEMPOOL_OLD_MAX_MBUFS);
    set_tx_descs(&t->sender, 500000);
    ovs_assert(prepare_and_commit(&t->a, t->needs) == new);
    ovs_assert(prepare_and_commit(&t->b, t->more) == new);
    ovs_assert(prepare_and_commit(&t->c, t->needs) == new);

    /* A headroom comes on top of that. */
    mempool_set_headroom("50");
    ovs_assert(prepare_and_commit(&t->a, t->needs) == new);
    destroy(&t->a);
    destroy(&t->b);
    destroy(&t->c);
    new = prepare_and_commit(&t->a, t->needs);
    ovs_assert(new->populated_size == MEMPOOL_OLD_MAX_MBUFS * 3 / 2);
    mempool_set_headroom("0");
    destroy(&t->sender);
    destroy(&t->a);
}

/* A pool that can't be replaced has a port to itself, and stays; others grow
 * beside it. */
static void
replace_others(void)
{
    struct mempool_needs needs = needs_of(128, 1, 64, 64);
    struct mempool_needs once = needs_of(128, 1, 640, 64);
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port d = { .netdev = NULL };
    struct rte_mempool *growing, *old;

    once.starts_once = true;
    old = prepare_and_commit(&d, once);
    ovs_assert(old->size == 2 * demand_of(1, 640, 64, 1));
    ovs_assert(old->populated_size == old->size);
    growing = prepare_and_commit(&a, needs);
    ovs_assert(growing != old && has_ops(growing, "ovs_counting"));
    prepare_and_commit(&a, needs_of(128, 1, 64, 1 << 12));
    ovs_assert(!mempool_port_must_move(&a) && !mempool_port_must_move(&d));
    ovs_assert(prepare_and_commit(&d, once) == old);
    destroy(&a);
    destroy(&d);
}

/* A guest's port is asked, too, unless it switches. */
static void
replace_for_guest(void)
{
    struct mempool_needs needs = needs_of(128, 0, 0, 0);
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port sender = { .netdev = NULL };

    needs.old_mbufs = MEMPOOL_OLD_MAX_MBUFS;
    needs.grows_in_place = false;
    prepare_and_commit(&a, needs);
    reconf_requested();
    set_tx_descs(&sender, 10000);
    ovs_assert(mempool_port_must_move(&a) && reconf_requested());
    prepare_and_commit(&a, needs);
    a.switches = true;
    set_tx_descs(&sender, 51000);
    ovs_assert(mempool_port_must_move(&a) && !reconf_requested());
    prepare_and_commit(&a, needs);
    destroy(&sender);
    destroy(&a);
}

/* A port that can't be reconfigured is asked again when there is another
 * amount of memory. */
static void
replace_at_new_memory(void)
{
    struct mempool_needs needs = needs_of(128, 1, 64, 64);
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port b = { .netdev = NULL };
    struct mempool_port sender = { .netdev = NULL };

    needs.grows_in_place = false;
    prepare_and_commit(&a, needs);
    reconf_requested();
    set_tx_descs(&sender, 10000);
    ovs_assert(reconf_requested());
    prepare_in_vain(&a, needs_of(128, 1, 1 << 20, 64));
    mempools_run();
    ovs_assert(mempool_port_must_move(&a) && !reconf_requested());
    prepare_and_commit(&b, needs_of(256, 1, 64, 64));
    ovs_assert(reconf_requested());
    prepare_and_commit(&a, needs);
    ovs_assert(!mempool_port_must_move(&a));
    destroy(&sender);
    destroy(&a);
    destroy(&b);
}

/* One that may have grown is replaced for a driver that keeps a record of
 * memory, even if it is large enough: the driver may know a part of it. */
static void
replace_grown(void)
{
    struct mempool_needs needs = needs_of(128, 1, 64, 64);
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port b = { .netdev = NULL };
    struct rte_mempool *growing, *new;

    growing = prepare_and_commit(&a, needs_of(128, 1, 4000, 64));
    ovs_assert(prepare_and_commit(&a, needs) == growing);
    needs.grows_in_place = false;
    new = prepare_and_commit(&b, needs);
    ovs_assert(new != growing && new->populated_size == new->size);
    ovs_assert(mempool_port_must_move(&a));
    needs.grows_in_place = true;
    ovs_assert(prepare_and_commit(&a, needs) == new);
    destroy(&a);
    destroy(&b);
}

static void
test_replace(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct replace_test t = {
        .needs = needs_of(128, 1, 64, 64),
        .more = needs_of(128, 1, 2000, 64),
    };
    struct memory start;

    t.needs.old_mbufs = t.more.old_mbufs = MEMPOOL_OLD_MAX_MBUFS;
    start_dpdk(800);
    start = memory_now();

    replace_mempools(&t);
    replace_in_vain(&t);
    replace_for_sender(&t);
    replace_others();
    replace_for_guest();
    replace_at_new_memory();
    replace_grown();
    ovs_assert(memory_is(start));
}

/* "size". */

/* An ordinary pool takes the memory that it is expected to take, also if its
 * mbufs are larger than a page. */
static void
test_size(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    static const int sizes[] = { 1024, 2048, 4096, 9216, 16384 };

    start_dpdk(128);
    for (int i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct rte_mempool *mp = dpdk_memory_create("size", 0, sizes[i],
                                                    1000);

        ovs_assert(dpdk_memory_size(mp)
                   == ROUND_UP(dpdk_mbufs_size(0, sizes[i], false, 1000),
                               RTE_CACHE_LINE_SIZE));
        rte_mempool_free(mp);
    }
}

/* "spare". */

/* 'port' is refused 'needs', for which there is memory afterwards. */
static void
refuse(struct mempool_port *port, struct mempool_needs needs)
{
    void *filler = rte_malloc(NULL, 100 << 20, 0);

    prepare_in_vain(port, needs);
    rte_free(filler);
}

/* What a pool that can't grow gets in addition leaves what others need. */
static void
test_spare(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    const struct mempool_needs needs = needs_of(4096, 1, 512, 512);
    const struct mempool_needs too_much = needs_of(16384, 1, 11000, 1024);
    struct mempool_needs own_needs = needs;
    struct mempool_port a = { .netdev = NULL };
    struct mempool_port b = { .netdev = NULL };
    struct mempool_port c = { .netdev = NULL };
    struct rte_mempool *mp;

    start_dpdk(256);

    /* Where the old formulas would have no memory for 'b', but some for
     * 'c'. */
    mp = prepare_and_commit(&a, needs);
    ovs_assert(mp->populated_size == demand_of(1, 512, 512, 1) * 4);
    prepare_and_commit(&b, needs_of(16384, 1, 8192, 1024));
    ovs_assert(missing_of(&b));
    prepare_and_commit(&c, needs_of(2048, 1, 2048, 2048));
    destroy(&a);
    destroy(&b);
    destroy(&c);

    /* For a port that was refused. */
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    refuse(&b, too_much);
    mp = prepare_and_commit(&a, needs);
    ovs_assert(mp->populated_size == demand_of(1, 512, 512, 1) * 3 / 2);
    prepare_and_commit(&b, too_much);
    destroy(&a);
    destroy(&b);

    /* That isn't for ever, if the port isn't there any more. */
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    refuse(&b, too_much);
    for (int i = 0; i < 12; i++) {
        mempools_run();
    }
    mp = prepare_and_commit(&a, needs);
    ovs_assert(mp->populated_size == demand_of(1, 512, 512, 1) * 3 / 2);

    /* One that waits counts until it is asked for something else. */
    own_needs.own_pool = true;
    refuse(&a, too_much);
    mempool_port_keep(&a);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 20; j++) {
            mempools_run();
        }
        memset(&c, 0, sizeof c);
        mp = prepare_and_commit(&c, own_needs);
        ovs_assert(mp->populated_size
                   == demand_of(1, 512, 1024, 1) * (i ? 8 : 3) / 2);
        destroy(&c);
        mempool_port_withdraw(&a);
    }
    destroy(&a);
    mempools_run();
    memset(&a, 0, sizeof a);
    mp = prepare_and_commit(&a, needs);
    ovs_assert(mp->populated_size == demand_of(1, 512, 512, 1) * 4);
}

/* "turns". */

/* Returns the index of the only one of 'netdevs' that was asked to reconfigure
 * since the last call, or -1 if none was. */
static int
whose_turn(struct netdev netdevs[], size_t n)
{
    int turn = -1;

    for (size_t i = 0; i < n; i++) {
        if (netdev_was_asked(&netdevs[i])) {
            ovs_assert(turn < 0);
            turn = i;
        }
    }
    return turn;
}

/* Ports whose pool was replaced are reconfigured one at a time. */
static void
test_turns(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    enum { N = 3 };
    struct mempool_needs needs = needs_of(128, 1, 64, 64);
    struct mempool_port sender = { .netdev = NULL };
    struct mempool_port ports[N];
    struct netdev netdevs[N];

    start_dpdk(512);
    needs.old_mbufs = MEMPOOL_OLD_MAX_MBUFS;
    needs.grows_in_place = false;
    memset(ports, 0, sizeof ports);
    for (int i = 0; i < N; i++) {
        netdevs[i] = (struct netdev) { .name = netdev_name };
        netdevs[i].reconfigure_seq = seq_create();
        netdev_was_asked(&netdevs[i]);
        prepare_netdev(&ports[i], &netdevs[i], needs);
        mempool_port_commit(&ports[i]);
    }
    ovs_assert(whose_turn(netdevs, N) == -1);

    set_tx_descs(&sender, 10000);
    for (int i = 0; i < N; i++) {
        ovs_assert(whose_turn(netdevs, N) == i);
        prepare_netdev(&ports[i], &netdevs[i], needs);
        mempool_port_commit(&ports[i]);
        mempools_run();
    }
    ovs_assert(whose_turn(netdevs, N) == -1);
    ovs_assert(n_pools() == 1);

    /* One that doesn't move doesn't keep others from it. */
    set_tx_descs(&sender, 51000);
    for (int i = 0; i < 2 * N; i++) {
        ovs_assert(whose_turn(netdevs, N) == (i ? (i - 1) % N : 0));
        mempools_run();
    }
}

/* "frags". */

/* With the first IP fragment, mempools_run() is called at once: a small pool
 * may be empty before its time. */
static void
test_frags(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct mempool_port port = { .netdev = NULL };
    struct rte_mempool *mp;
    uint32_t n;

    start_dpdk(512);
    mp = prepare_and_commit(&port, needs_of(128, 0, 0, 0));
    n = mp->populated_size;
    mempools_run();
    mempool_frags_in_use();
    time_alarm(10);
    mempools_wait(60);
    mempools_run();
    ovs_assert(mp->populated_size == n + 1000);
}

/* "add" and "ops". */

/* Ports that are added one by one, with pools of the operations 'ops_name'
 * that can't grow, are seldom reconfigured. */
static void
add_ports(const char *ops_name)
{
    struct mempool_port ports[64];
    struct rte_mempool *mp = NULL;
    int n_reconfigured = 0;

    memset(ports, 0, sizeof ports);
    for (int i = 0; i < ARRAY_SIZE(ports); i++) {
        struct mempool_needs needs = needs_of(128, 1, 128, 128);

        needs.old_mbufs = MEMPOOL_OLD_MAX_MBUFS;
        mp = prepare_and_commit(&ports[i], needs);
        ovs_assert(has_ops(mp, ops_name));
        n_reconfigured += reconf_requested();
        for (int j = 0; j < i; j++) {
            if (mempool_port_must_move(&ports[j])) {
                ovs_assert(prepare_and_commit(&ports[j], needs) == mp);
            }
        }
        ovs_assert(mp->populated_size
                   >= demand_of(1 + i, 128 * (1 + i), 128 * (1 + i), 1));
        ovs_assert(n_pools() == 1);
    }
    ovs_assert(can_receive(mp));
    printf("64 ports: reconfigured %d times\n", n_reconfigured);
}

static void
test_add(struct ovs_cmdl_context *ctx)
{
    start_dpdk(400);
    if (ctx->argc > 1) {
        /* After a refusal, pools have less in addition. */
        struct mempool_port port = { .netdev = NULL };

        prepare_in_vain(&port, needs_of(9216, 1, 1 << 20, 64));
    }
    add_ports("ovs_counting");
}

/* Without room in DPDK's table of mempool operations, pools are ordinary ones,
 * and all else is the same. */
static void
test_ops(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mempool_ops ops = { .name = "" };

    start_dpdk(400);
    ops = *rte_mempool_get_ops(0);
    do {
        snprintf(ops.name, sizeof ops.name, "dummy%"PRIu32,
                 rte_mempool_ops_table.num_ops);
    } while (rte_mempool_register_ops(&ops) >= 0);
    add_ports("ring_mp_mc");
}

/* "fault". */

static struct mempool_port fault_ports[4];

static int
fault_prepare(const struct mempool_needs *needs)
{
    struct rte_mempool *mp = NULL;
    char *error;
    int retval;

    retval = mempool_port_prepare(&fault_ports[2], &netdev, needs, true, &mp,
                                  &error);
    ovs_assert(!retval == !!mp);
    if (retval) {
        ovs_assert(error[0]);
        free(error);
    }
    return retval;
}

static int
fault_new_pool(void)
{
    const struct mempool_needs needs = needs_of(512, 1, 64, 64);

    return fault_prepare(&needs);
}

static int
fault_new_port(void)
{
    const struct mempool_needs needs = needs_of(128, 1, 64, 64);

    return fault_prepare(&needs);
}

static int
fault_thread(void)
{
    mempool_thread_add();
    return 0;
}

static int
fault_sender(void)
{
    set_tx_descs(&fault_ports[3], 5000);
    return 0;
}

/* Makes 'f' fail at its first allocation, at its second one, and so on, until
 * it makes no more.  If 'lasts', all later ones fail, too.  Returns how often
 * it failed, or left incomplete what it was for. */
static int
check_faults(int (*f)(void), bool in_place, bool lasts)
{
    const struct memory start = memory_now();
    int n_failed = 0;

    fault_lasts = lasts;
    fault_hit = true;
    memset(fault_ports, 0, sizeof fault_ports);
    for (int n = 1; fault_hit; n++) {
        struct mempool_needs needs[2];
        struct rte_mempool *mps[2];
        uint32_t sizes[2];
        struct memory memory;
        bool short_ = false;
        int error;

        for (int i = 0; i < 2; i++) {
            needs[i] = needs_of(128 << i, 1, 64, 64);
            needs[i].grows_in_place = in_place;
            mps[i] = prepare_and_commit(&fault_ports[i], needs[i]);
        }
        for (int i = 0; i < 2; i++) {
            /* The first port was the only one at first. */
            mps[i] = prepare_and_commit(&fault_ports[i], needs[i]);
            sizes[i] = mps[i]->populated_size;
        }
        mempools_run();
        memory = memory_now();

        fault_hit = false;
        fault = n;
        error = f();
        fault = 0;

        ovs_assert(fault_hit || !error);
        if (error) {
            ovs_assert(memory_is(memory));
        }
        for (int i = 0; i < 2; i++) {
            short_ = short_ || missing_of(&fault_ports[i]);
            ovs_assert(mps[i]->populated_size >= sizes[i]);
            ovs_assert(can_receive(mps[i]));
        }
        ovs_assert(fault_hit || !short_);
        n_failed += error || short_;

        /* What is missing comes later. */
        set_tx_descs(&fault_ports[3], f == fault_sender ? 5000 : 0);
        for (int i = 0; i < 2; i++) {
            ovs_assert(!missing_of(&fault_ports[i])
                       || mempool_port_must_move(&fault_ports[i]));
            prepare_and_commit(&fault_ports[i], needs[i]);
            ovs_assert(!missing_of(&fault_ports[i]));
        }

        for (int i = 0; i < ARRAY_SIZE(fault_ports); i++) {
            destroy(&fault_ports[i]);
        }
        memset(fault_ports, 0, sizeof fault_ports);
        if (f == fault_thread) {
            mempool_thread_remove();
        }
        ovs_assert(memory_is(start));
    }
    return n_failed;
}

/* A failed allocation fails what it is for, or leaves it incomplete until
 * there is memory. */
static void
test_fault(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    int (*const functions[])(void) = {
        fault_new_pool, fault_new_port, fault_thread, fault_sender
    };

    start_dpdk(128);
    prepare_and_commit(&fault_ports[0], needs_of(128, 0, 0, 0));
    destroy(&fault_ports[0]);
    if (!interposed) {
        exit(77);       /* DPDK's libraries are static. */
    }
    for (int i = 0;
         dpdk_memory_has_growth() && i < ARRAY_SIZE(functions); i++) {
        check_faults(functions[i], true, false);
        ovs_assert(check_faults(functions[i], true, true) > 1);
    }
    check_faults(fault_new_pool, false, false);
    ovs_assert(check_faults(fault_new_pool, false, true) > 1);

    /* 'fault_sender' needs more than there is room for. */
    check_faults(fault_sender, false, false);
    ovs_assert(check_faults(fault_sender, false, true) > 1);
}

/* "headroom". */

static void
test_headroom(struct ovs_cmdl_context *ctx)
{
    start_dpdk(256);
    for (int i = 1; i < ctx->argc; i++) {
        struct mempool_port port = { .netdev = NULL };
        struct rte_mempool *mp;

        mempool_set_headroom(ctx->argv[i]);
        mp = prepare_and_commit(&port, needs_of(128, 1, 64, 64));
        printf("\"%s\": %"PRIu32" mbufs\n", ctx->argv[i], mp->populated_size);
        destroy(&port);
    }
}

/* "stall". */

#define STALL_MBUFS 100000
#define STALL_POLLED 1024
#define STALL_MAX_SAMPLES (1 << 22)
#define STALL_N_BUSY 2
#define STALL_PAUSE 512

/* How long one kind of access to a ring took, in nanoseconds of the thread's
 * CPU time, so that others on its CPU don't count. */
struct waits {
    uint64_t *samples;
    size_t n;
};

struct poller {
    struct rte_mempool *mp;
    int cpu;
    struct ovs_barrier barrier;
    atomic_bool stop;
    struct waits enqueue;
    struct waits dequeue;
};

static void
pin_to(int cpu)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    ovs_assert(!pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus));
}

static uint64_t
thread_cpu_time(void)
{
    struct timespec now;

    ovs_assert(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static void
add_sample(struct waits *waits, uint64_t ns)
{
    if (waits->n < STALL_MAX_SAMPLES) {
        waits->samples[waits->n++] = ns;
    }
}

/* Takes bursts from the ring and puts them back, bypassing any cache.  Like a
 * PMD thread with a CPU to itself, it isn't preempted in between, but yields
 * now and then: the kernel preempts threads that don't. */
static void *
poller_main(void *poller_)
{
    const struct sched_param param = { .sched_priority = 1 };
    struct poller *p = poller_;
    bool stop = false;

    pin_to(p->cpu);
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param)) {
        ovs_fatal(0, "the right to use SCHED_FIFO is needed");
    }
    ovs_barrier_block(&p->barrier);
    for (int i = 1; !stop; i++) {
        void *mbufs[MEMPOOL_BURST];
        uint64_t start = thread_cpu_time();
        uint64_t taken, end;

        ovs_assert(!rte_mempool_ops_dequeue_bulk(p->mp, mbufs, MEMPOOL_BURST));
        taken = thread_cpu_time();
        rte_mempool_ops_enqueue_bulk(p->mp, mbufs, MEMPOOL_BURST);
        end = thread_cpu_time();

        add_sample(&p->dequeue, taken - start);
        add_sample(&p->enqueue, end - taken);
        if (!(i % STALL_PAUSE)) {
            usleep(100);
        }
        atomic_read(&p->stop, &stop);
    }
    return NULL;
}

struct busy {
    pthread_t thread;
    int cpu;
    atomic_bool stop;
};

static void *
busy_main(void *busy_)
{
    struct busy *busy = busy_;
    bool stop = false;

    pin_to(busy->cpu);
    while (!stop) {
        atomic_read(&busy->stop, &stop);
    }
    return NULL;
}

static int
compare_ns(const void *a_, const void *b_)
{
    const uint64_t *a = a_;
    const uint64_t *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static void
print_waits(const char *name, struct waits *waits)
{
    ovs_assert(waits->n);
    qsort(waits->samples, waits->n, sizeof *waits->samples, compare_ns);
    printf(", %s p99.99 %.1f us max %.1f us", name,
           waits->samples[waits->n - 1 - waits->n / 10000] / 1e3,
           waits->samples[waits->n - 1] / 1e3);
}

/* As dpdk_memory_add(), but with DPDK's own function, which puts mbufs into
 * the ring one by one. */
static void
add_one_by_one(struct rte_mempool *mp, uint32_t n)
{
    size_t min_chunk, align;
    size_t size = rte_mempool_op_calc_mem_size_default(mp, n, 0, &min_chunk,
                                                       &align);
    char *memory = rte_malloc_socket(NULL, size, align, mp->socket_id);

    ovs_assert(memory);
    ovs_assert(rte_mempool_populate_iova(mp, memory, RTE_BAD_IOVA, size, NULL,
                                         NULL) == n);
}

/* Measures how long a polling thread, with a CPU to itself, waits for the ring
 * while the main thread, which shares its CPU with two busy ones, adds mbufs
 * with 'add_mbufs'. */
static void
measure_stall(const char *name, struct rte_mempool *mp, const int cpus[2],
              void (*add_mbufs)(struct rte_mempool *, uint32_t n))
{
    struct poller poller = {
        .mp = mp,
        .cpu = cpus[0],
        .enqueue.samples = xcalloc(STALL_MAX_SAMPLES, sizeof(uint64_t)),
        .dequeue.samples = xcalloc(STALL_MAX_SAMPLES, sizeof(uint64_t)),
    };
    struct busy busy[STALL_N_BUSY];
    pthread_t thread;
    uint64_t start, end;

    add_mbufs(mp, STALL_POLLED);
    atomic_init(&poller.stop, false);
    ovs_barrier_init(&poller.barrier, 2);
    thread = ovs_thread_create("poller", poller_main, &poller);
    for (int i = 0; i < STALL_N_BUSY; i++) {
        busy[i].cpu = cpus[1];
        atomic_init(&busy[i].stop, false);
        busy[i].thread = ovs_thread_create("busy", busy_main, &busy[i]);
    }
    pin_to(cpus[1]);
    ovs_barrier_block(&poller.barrier);

    start = rte_rdtsc();
    add_mbufs(mp, STALL_MBUFS);
    end = rte_rdtsc();

    atomic_store(&poller.stop, true);
    xpthread_join(thread, NULL);
    for (int i = 0; i < STALL_N_BUSY; i++) {
        atomic_store(&busy[i].stop, true);
        xpthread_join(busy[i].thread, NULL);
    }
    ovs_assert(mp->populated_size == STALL_POLLED + STALL_MBUFS);
    ovs_assert(in_ring(mp) == mp->populated_size);

    printf("%s: %.0f ms, %"PRIuSIZE" accesses", name,
           (end - start) * 1e3 / rte_get_tsc_hz(), poller.enqueue.n);
    print_waits("enqueue", &poller.enqueue);
    print_waits("dequeue", &poller.dequeue);
    putchar('\n');
    ovs_barrier_destroy(&poller.barrier);
    free(poller.enqueue.samples);
    free(poller.dequeue.samples);
    rte_mempool_free(mp);
}

static void
add_as_we_do(struct rte_mempool *mp, uint32_t n)
{
    ovs_assert(dpdk_memory_add(mp, n, n) == n);
}

/* Shows how long a growing mempool keeps threads waiting.  This depends on
 * what else the machine does, so nothing is asserted about it. */
static void
test_stall(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct rte_mempool *mp;
    uint32_t mbuf_size;
    cpu_set_t set;
    int cpus[2];
    int n = 0;

    ovs_assert(!pthread_getaffinity_np(pthread_self(), sizeof set, &set));
    for (int cpu = 0; cpu < CPU_SETSIZE && n < ARRAY_SIZE(cpus); cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            cpus[n++] = cpu;
        }
    }
    if (n < ARRAY_SIZE(cpus)) {
        ovs_fatal(0, "two CPUs are needed");
    }
    start_dpdk(512);
    ovs_assert(dpdk_memory_can_grow());

    mp = dpdk_memory_create_empty("ours", 0, GROW_BUFFER,
                                  STALL_POLLED + STALL_MBUFS);
    ovs_assert(mp);
    mbuf_size = mp->elt_size;
    measure_stall("dpdk_memory_add()", mp, cpus, add_as_we_do);

    mp = rte_mempool_create_empty("dpdk", STALL_POLLED + STALL_MBUFS,
                                  mbuf_size, 0, 0, 0,
                                  RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    ovs_assert(mp);
    measure_stall("rte_mempool_populate_iova()", mp, cpus, add_one_by_one);
}

static const struct ovs_cmdl_command commands[] = {
    {"enough", NULL, 0, 0, test_enough, OVS_RO},
    {"grow", NULL, 0, 0, test_grow, OVS_RO},
    {"leak", NULL, 0, 0, test_leak, OVS_RO},
    {"share", NULL, 0, 0, test_share, OVS_RO},
    {"allowed", NULL, 0, 0, test_allowed, OVS_RO},
    {"limit", NULL, 0, 0, test_limit, OVS_RO},
    {"short", NULL, 0, 0, test_short, OVS_RO},
    {"shrink", NULL, 1, 1, test_shrink, OVS_RO},
    {"lowest", NULL, 0, 0, test_lowest, OVS_RO},
    {"lower", NULL, 0, 0, test_lower, OVS_RO},
    {"size", NULL, 0, 0, test_size, OVS_RO},
    {"spare", NULL, 0, 0, test_spare, OVS_RO},
    {"turns", NULL, 0, 0, test_turns, OVS_RO},
    {"frags", NULL, 0, 0, test_frags, OVS_RO},
    {"add", NULL, 0, 1, test_add, OVS_RO},
    {"replace", NULL, 0, 0, test_replace, OVS_RO},
    {"ops", NULL, 0, 0, test_ops, OVS_RO},
    {"fault", NULL, 0, 0, test_fault, OVS_RO},
    {"retry", NULL, 0, 0, test_retry, OVS_RO},
    {"headroom", NULL, 1, INT_MAX, test_headroom, OVS_RO},
    {"stall", NULL, 0, 0, test_stall, OVS_RO},
    {NULL, NULL, 0, 0, NULL, OVS_RO},
};

void
test_dpdk_mempool_main(int argc, char *argv[])
{
    struct ovs_cmdl_context ctx = {
        .argc = argc - 1,
        .argv = argv + 1,
    };

    set_program_name(argv[0]);
    ovs_cmdl_run_command(&ctx, commands);
}

OVSTEST_REGISTER("test-dpdk-mempool", test_dpdk_mempool_main);
