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

#ifndef BFD_PATH_MTU_H
#define BFD_PATH_MTU_H 1

#include <stdbool.h>

#include "bfd.h"
#include "packets.h"

/* The search for the MTU of a path
 * ================================
 *
 * RFC 8899 (Packetization Layer Path MTU Discovery) by a BFD session.  A probe
 * is a BFD control packet that is padded to the size in question (RFC 9764),
 * must not be fragmented, and has the Poll bit set.  Every implementation of
 * BFD answers that with a small packet that has the Final bit set, so that the
 * other end need not know of the search.
 *
 * RFC 5880 has Polls in periodic packets.  But if one of these were large and
 * got lost, the other end would be closer to the end of its detection time.
 * So probes are sent in addition, one at a time.
 *
 * First the largest size of interest is tried, then what lies between known
 * sizes, once each; the smallest one that failed is tried again in the end.
 * When the path's MTU is known, it is confirmed once in a detection time, and
 * as many losses as take a session down make it unknown.  Sometimes, the next
 * larger size is tried instead.
 *
 * This module knows neither sessions nor packets.  Sizes are those of IP
 * packets, in bytes, times are in milliseconds.  'interval' is that in which
 * both ends send their periodic packets, 'mult' the session's detection
 * multiplier, so that 'interval * mult' is a detection time.
 *
 *
 * Thread-safety
 * =============
 *
 * Callers must not use the same struct concurrently. */

/* The size of a BFD control packet without padding. */
#define BFD_MIN_PDU_SIZE (IP_HEADER_LEN + UDP_HEADER_LEN + BFD_PACKET_LEN)

struct bfd_path_mtu {
    int max;                    /* The largest size to try, or 0: none. */
    int mtu;                    /* The path's MTU, or 0 if not known. */

    /* All else is private. */
    bool searching;
    int passes;                 /* The largest size that passes. */
    int fails;                  /* The smallest size that fails. */
    int probe;                  /* Size of the probe in flight, or 0. */
    int losses;                 /* In a row, of size 'passes'. */
    int confirmations;          /* Probes since a larger size was tried. */
    long long int next;         /* Time to send one, or to give up 'probe'. */
};

void bfd_path_mtu_restart(struct bfd_path_mtu *, int max);

bool bfd_path_mtu_is_due(const struct bfd_path_mtu *, long long int now);
int bfd_path_mtu_send(struct bfd_path_mtu *, long long int interval,
                      long long int now);
bool bfd_path_mtu_run(struct bfd_path_mtu *, long long int interval, int mult,
                      long long int now);
bool bfd_path_mtu_answered(struct bfd_path_mtu *, long long int interval,
                           int mult, long long int now);
void bfd_path_mtu_pause(struct bfd_path_mtu *, long long int interval,
                        long long int now);
long long int bfd_path_mtu_wake_time(const struct bfd_path_mtu *);

#endif /* bfd-path-mtu.h */
