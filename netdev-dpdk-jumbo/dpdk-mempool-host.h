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

#ifndef DPDK_MEMPOOL_HOST_H
#define DPDK_MEMPOOL_HOST_H 1

/* What mempools would take on a host that is described in a file, where
 * neither a switch nor DPDK runs ("ovs-vswitchd --mempool-plan"). */

#include "dpdk-mempool-words.h"

struct smap;

/* Makes mempool_set_buffers_func() respect 'other_config'. */
typedef void mempool_configure_func(const struct smap *other_config);

int mempool_host_plan(const char *file_name, mempool_configure_func *,
                      mempool_set_buffers_func *);

#endif /* dpdk-mempool-host.h */
