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

#ifndef JUMBO_TUNNEL_H
#define JUMBO_TUNNEL_H 1

/* What the encapsulation of a tunnel takes of the MTU of the device that
 * carries it.
 *
 * Nothing here depends on DPDK, keeps state or takes locks. */

#include <stdbool.h>

struct smap;
struct tun_table;

int jumbo_geneve_options_len(const struct tun_table *);
int jumbo_tunnel_overhead(const char *type, const struct smap *options,
                          bool is_ipv6, int geneve_options_len, bool tagged);

#endif /* jumbo-tunnel.h */
