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

#ifndef TEST_DPDK_MEMPOOL_H
#define TEST_DPDK_MEMPOOL_H 1

#include <pthread.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <sched.h>
#include <unistd.h>

#include "openvswitch/vlog.h"
#include "util.h"

/* Starts DPDK with 'mb' MB of ordinary memory and nothing else, and with 'arg'
 * for its EAL, unless that is NULL. */
static inline void
test_start_dpdk_with(int mb, const char *arg)
{
    char *argv[] = {
        CONST_CAST(char *, program_name), "--no-huge", "--legacy-mem",
        "--no-shconf", "--no-pci", "--no-telemetry", "--log-level=*:error",
        "--lcores", NULL, "-m", xasprintf("%d", mb),
        xasprintf("--file-prefix=ovstest-%ld", (long) getpid()),
        CONST_CAST(char *, arg), NULL
    };
    int argc = ARRAY_SIZE(argv) - (arg ? 1 : 2);
    cpu_set_t cpus;
    int cpu = 0;

    /* DPDK pins the thread that starts it to a CPU. */
    ovs_assert(!pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus));
    while (!CPU_ISSET(cpu, &cpus)) {
        cpu++;
    }
    argv[8] = xasprintf("0@%d", cpu);
    ovs_assert(rte_eal_init(argc, argv) >= 0);
    ovs_assert(!pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus));
    ovs_assert(rte_mp_disable());

    /* As in Open vSwitch's main thread. */
    RTE_PER_LCORE(_lcore_id) = LCORE_ID_ANY;

    /* Everything below a warning is for logs. */
    vlog_set_levels(NULL, VLF_CONSOLE, VLL_WARN);
}

static inline void
test_start_dpdk(int mb)
{
    test_start_dpdk_with(mb, NULL);
}

#endif /* test-dpdk-mempool.h */
