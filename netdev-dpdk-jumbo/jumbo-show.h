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

#ifndef JUMBO_SHOW_H
#define JUMBO_SHOW_H 1

/* What operators see of the mempools: as text and as JSON, and in the status
 * and statistics of an interface. */

#include <stdbool.h>

struct ds;
struct jumbo_plan;
struct jumbo_pools_info;
struct jumbo_port;
struct json;
struct netdev_custom_stats;
struct smap;
struct unixctl_conn;

void jumbo_show_pools(struct unixctl_conn *, int argc, const char *argv[],
                      void *aux);
void jumbo_show_plan(struct unixctl_conn *, const struct jumbo_plan *,
                     bool json);
void jumbo_show_put_pools(struct ds *, const struct jumbo_pools_info *,
                          bool plan);
struct json *jumbo_show_pools_to_json(const struct jumbo_pools_info *);
void jumbo_show_status(const struct jumbo_port *, struct smap *);
void jumbo_show_use(const struct jumbo_port *, bool is_vhost,
                    struct netdev_custom_stats *);

#endif /* jumbo-show.h */
