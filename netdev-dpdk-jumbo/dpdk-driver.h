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

#ifndef DPDK_DRIVER_H
#define DPDK_DRIVER_H 1

/* What is known about DPDK's drivers that matters for the mempools and the MTU
 * of their ports.  An unknown driver gets the ordinary treatment: its rings
 * are assumed to be full, its mempools don't grow while they are used, and its
 * devices are stopped for another MTU.
 *
 * Nothing here depends on DPDK, keeps state or takes locks. */

#include <stdbool.h>

struct mempool_needs;

void dpdk_driver_apply(const char *driver, const char *devargs,
                       struct mempool_needs *);
bool dpdk_driver_changes_mtu(const char *driver);
bool dpdk_driver_exists(const char *driver);

#endif /* dpdk-driver.h */
