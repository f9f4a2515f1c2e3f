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

#ifndef DPDK_MEMPOOL_PLAN_H
#define DPDK_MEMPOOL_PLAN_H 1

/* What mempools would take: after a change of the switch that runs
 * ("netdev-dpdk/mempool-plan"), and on a host that is described in a file,
 * where neither a switch nor DPDK runs ("ovs-vswitchd --mempool-plan").  Both
 * are described in words of the form KEY=VALUE. */

struct unixctl_conn;

void mempool_plan_change(struct unixctl_conn *, int argc, const char *argv[],
                         void *aux);
int mempool_plan_host(const char *file_name);

#endif /* dpdk-mempool-plan.h */
