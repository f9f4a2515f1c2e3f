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

#ifndef NETDEV_MTU_H
#define NETDEV_MTU_H 1

/* A request for an MTU: which values a device takes, and what to tell the user
 * about one that is not in effect.
 *
 * MTUs are in bytes of the L3 packet.  Nothing here depends on DPDK, keeps
 * state of its own or takes locks. */

#include <stdbool.h>
#include <stdint.h>

struct smap;

/* The MTUs that a device accepts, both ends included.  All zeros if they are
 * not known, as for kernel devices. */
struct netdev_mtu_limits {
    int min;
    int max;
};

struct netdev_mtu_limits netdev_mtu_eth_limits(uint16_t min_mtu,
                                               uint16_t max_mtu,
                                               uint32_t max_rx_pktlen);
struct netdev_mtu_limits netdev_mtu_buffer_limits(void);
bool netdev_mtu_within(const struct netdev_mtu_limits *, int64_t mtu);

/* Who wants an MTU; from NETDEV_MTU_BRIDGE on, the user. */
enum netdev_mtu_source {
    NETDEV_MTU_DEFAULT,
    NETDEV_MTU_GUEST,           /* The guest got it from its hypervisor. */
    NETDEV_MTU_BRIDGE,          /* "mtu_request" of the bridge. */
    NETDEV_MTU_INTERFACE,       /* "mtu_request" of the interface. */
};

/* The MTU that an interface is to have, or 0 if it keeps its own. */
struct netdev_mtu_request {
    int64_t mtu;
    enum netdev_mtu_source source;
    bool follow_guest;          /* Guests that connect may change it. */
};

/* What is known about the MTU of a device. */
struct netdev_mtu_info {
    int mtu;                    /* The one in effect, or 0 if it has none. */
    struct netdev_mtu_request request;
    int error;                  /* What came of the request at once, 0 or a
                                 * positive errno value. */
    struct netdev_mtu_limits limits;
    char *refusal;              /* Why the device could not be set up with the
                                 * requested MTU, a part of a sentence for the
                                 * user, or NULL.  The receiver must free
                                 * it. */
    int foreign_mtu;            /* The one that somebody else gave the kernel's
                                 * device behind it, or 0. */
    int prepared_mtu;           /* What the device is prepared for, or 0. */
    int guest_mtu;              /* The one that the guest was given, or 0. */
};

struct netdev_mtu_request netdev_mtu_choose(int64_t iface, int64_t bridge,
                                            bool follow_guest, bool is_ours);
const char *netdev_mtu_who(const struct netdev_mtu_info *);
char *netdev_mtu_explain(const struct netdev_mtu_info *);
void netdev_mtu_to_smap(const struct netdev_mtu_info *, struct smap *);
int netdev_mtu_prepared(const struct smap *config, int default_mtu);

#endif /* netdev-mtu.h */
