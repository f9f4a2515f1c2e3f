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

#include "dpdk-mempool-grow.h"

#include "ovstest.h"
#include "test-dpdk-mempool.h"

/* The tests of mempools that grow in place. */
static void
test_dpdk_mempool_grow_main(int argc, char *argv[])
{
    mempool_grow_init();
    test_dpdk_mempool_main(argc, argv);
}

OVSTEST_REGISTER("test-dpdk-mempool-grow", test_dpdk_mempool_grow_main);
