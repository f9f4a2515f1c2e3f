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

#include "netdev-dpdk-jumbo/jumbo-grow.h"

#include "ovstest.h"
#include "test-jumbo-dpdk.h"

/* The tests of mempools that grow in place. */
static void
test_jumbo_grow_main(int argc, char *argv[])
{
    jumbo_grow_init();
    test_jumbo_pool_main(argc, argv);
}

OVSTEST_REGISTER("test-jumbo-grow", test_jumbo_grow_main);
