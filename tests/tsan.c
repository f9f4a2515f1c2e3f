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

/* A library to preload into a program that was built with ThreadSanitizer.
 * It tells that what a thread does with an mbuf before it puts it into a
 * mempool is done before another thread gets it from there: DPDK's libraries,
 * which order this, are built without ThreadSanitizer. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <rte_mempool.h>

/* Weak, as some programs have no ThreadSanitizer. */
void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));

static rte_mempool_enqueue_t enqueues[RTE_MEMPOOL_MAX_OPS_IDX];
static rte_mempool_dequeue_t dequeues[RTE_MEMPOOL_MAX_OPS_IDX];

static int
enqueue(struct rte_mempool *mp, void *const *objs, unsigned int n)
{
    __tsan_release(mp->pool_data);
    return enqueues[mp->ops_index](mp, objs, n);
}

static int
dequeue(struct rte_mempool *mp, void **objs, unsigned int n)
{
    int retval = dequeues[mp->ops_index](mp, objs, n);

    __tsan_acquire(mp->pool_data);
    return retval;
}

/* In place of DPDK's function, which each mempool is passed to before it is
 * used. */
int
rte_mempool_set_ops_byname(struct rte_mempool *mp, const char *name,
                           void *config)
{
    int (*real)(struct rte_mempool *, const char *, void *)
        = (int (*)(struct rte_mempool *, const char *, void *))
          dlsym(RTLD_NEXT, "rte_mempool_set_ops_byname");
    int error = real(mp, name, config);

    if (!error && __tsan_acquire) {
        struct rte_mempool_ops *ops = rte_mempool_get_ops(mp->ops_index);

        if (ops->enqueue != enqueue) {
            enqueues[mp->ops_index] = ops->enqueue;
            dequeues[mp->ops_index] = ops->dequeue;
            ops->enqueue = enqueue;
            ops->dequeue = dequeue;
        }
    }
    return error;
}
