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

#ifndef JUMBO_PATH_H
#define JUMBO_PATH_H 1

/* The MTUs along the paths that packets take through the switch:
 * "ovs-appctl mtu/show" and "mtu/check".
 *
 * Nothing here depends on DPDK.  To be used by the main thread only. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jumbo-mtu.h"

struct netdev;
struct smap;
struct unixctl_conn;

/* An interface of a bridge, as it is.  Zero or NULL is what it doesn't have or
 * what isn't known.  MTUs and sizes are in bytes. */
struct jumbo_hop {
    /* From the caller. */
    const char *bridge;
    const char *port;           /* A bond's, if the interface is a member. */
    const char *name;
    const char *type;           /* As in the Interface table. */
    const struct netdev *netdev;
    const struct smap *options; /* As in the Interface table. */
    int geneve_options_len;     /* That flows of its bridge can add. */
    int tag;                    /* The tag that its port adds; -1 if the port
                                 * has no "tag" column. */
    int64_t bridge_request;     /* "mtu_request" of the bridge. */
    struct jumbo_mtu_request request;
    bool is_ours;               /* Nobody else sets its MTU. */

    /* Filled in here. */
    int mtu;                    /* In force. */
    struct jumbo_mtu_limits limits;
    int guest_mtu;              /* That its guest was given. */
    int buffer_size;            /* Of its mempool. */
    uint64_t rx_drops;          /* Packets that were too large. */
    uint64_t tx_drops;
    char *error;                /* Why 'request' isn't in force; owned. */
    int overhead;               /* Of a tunnel's encapsulation. */
    char *carrier;              /* Device that the tunnel leaves by; owned. */
    int carrier_mtu;
    const char *peer;           /* Bridge at the other end of a patch port. */
};

void jumbo_path_show(struct unixctl_conn *, int argc, const char *argv[],
                     struct jumbo_hop *, size_t n);
void jumbo_path_check(struct unixctl_conn *, int argc, const char *argv[],
                      struct jumbo_hop *, size_t n);

#endif /* jumbo-path.h */
