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

#ifndef DPDK_MEMPOOL_SHOW_H
#define DPDK_MEMPOOL_SHOW_H 1

/* What operators see of the mempools: as text and as JSON, and in the status
 * and statistics of an interface. */

#include <stdbool.h>

struct ds;
struct json;
struct mempool_plan;
struct mempool_port;
struct mempools_info;
struct netdev_custom_stats;
struct smap;
struct unixctl_conn;

void mempool_show(struct unixctl_conn *, int argc, const char *argv[],
                  void *aux);
void mempool_show_plan(struct unixctl_conn *, const struct mempool_plan *,
                       bool as_json);
void mempool_show_put_pools(struct ds *, const struct mempools_info *,
                            bool plan);
struct json *mempool_show_pools_to_json(const struct mempools_info *);
void mempool_show_status(const struct mempool_port *, struct smap *);
void mempool_show_use(const struct mempool_port *,
                      struct netdev_custom_stats *);

#endif /* dpdk-mempool-show.h */
