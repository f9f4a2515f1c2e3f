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

#ifndef JUMBO_MTU_H
#define JUMBO_MTU_H 1

/* A request for an MTU: which values a device takes, and what to tell the user
 * about one that is not in force.
 *
 * An MTU is in bytes of L3 packet throughout.  Nothing here depends on DPDK,
 * keeps state or takes locks. */

#include <stdbool.h>
#include <stdint.h>

/* The MTUs that a device takes, both ends included.  All zeros where they are
 * not known, as for kernel devices. */
struct jumbo_mtu_limits {
    int min;
    int max;
};

struct jumbo_mtu_limits jumbo_mtu_eth_limits(uint16_t min_mtu,
                                             uint16_t max_mtu,
                                             uint32_t max_rx_pktlen);
struct jumbo_mtu_limits jumbo_mtu_buffer_limits(void);
bool jumbo_mtu_within(const struct jumbo_mtu_limits *, int64_t mtu);

/* Who wants an MTU. */
enum jumbo_mtu_source {
    JUMBO_MTU_DEFAULT,
    JUMBO_MTU_GUEST,            /* Was given it by its hypervisor. */
    JUMBO_MTU_BRIDGE,           /* "mtu_request" of the bridge, */
    JUMBO_MTU_INTERFACE,        /* of the interface. */
};

/* The MTU that an interface is to have, or 0 if it keeps its own. */
struct jumbo_mtu_request {
    int64_t mtu;
    enum jumbo_mtu_source source;
};

struct jumbo_mtu_request jumbo_mtu_choose(int64_t iface, int64_t bridge,
                                          int guest, bool is_ours);

/* An MTU that a device didn't take.  All zeros if it took the last one. */
struct jumbo_mtu_refusal {
    int mtu;
    int error;                  /* Positive errno value. */
    char *reason;               /* As a part of a sentence for the user, owned;
                                 * NULL if the MTU was refused at once, before
                                 * it was tried. */
    bool is_down;               /* The interface waits for memory. */
};

void jumbo_mtu_refuse(struct jumbo_mtu_refusal *, int mtu, int error,
                      char *reason);
bool jumbo_mtu_fall_back(struct jumbo_mtu_refusal *, const char *name,
                         int *mtup, int old_mtu, int error, char *reason);
void jumbo_mtu_try_again(struct jumbo_mtu_refusal *, int *mtup);
char *jumbo_mtu_error(const struct jumbo_mtu_request *, int in_force,
                      const struct jumbo_mtu_limits *,
                      const struct jumbo_mtu_refusal *);

#endif /* jumbo-mtu.h */
