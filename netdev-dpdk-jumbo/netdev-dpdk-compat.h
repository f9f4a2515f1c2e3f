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

#ifndef NETDEV_DPDK_COMPAT_H
#define NETDEV_DPDK_COMPAT_H 1

/* What Open vSwitch before 4.0, or DPDK before 24.07, lacks, or does in
 * another way.  4.0 with a newer DPDK does without this file, as do the mails
 * for it.
 *
 * To be included after the headers whose names its macros take.  These names
 * are enums there, which a macro of the same name can refer to. */

#ifdef DPDK_NETDEV
#include <rte_version.h>
#endif

#include "dp-packet.h"
#include "openvswitch/compiler.h"
#include "unixctl.h"
#include "util.h"

#ifdef DPDK_NETDEV
#if RTE_VERSION < RTE_VERSION_NUM(24, 7, 0, 0)
/* Open vSwitch calls this from 3.5 on, for VDUSE devices, which older releases
 * of DPDK don't support. */
static inline int
rte_vhost_driver_set_max_queue_num(const char *path OVS_UNUSED,
                                   uint32_t max_queue_pairs OVS_UNUSED)
{
    return -1;
}
#endif

/* Open vSwitch 4.0 segments the whole of a batch before sending it, since its
 * batches grow.  3.5 to 3.7 send the segments 32 packets at a time, and 3.1
 * does not segment. */
#define MEMPOOL_GSO_SEGMENTS                                    \
    (MEMBER_SIZEOF(struct dp_packet_batch, packets)             \
     == sizeof(struct dp_packet **) ? MEMPOOL_GSO_SEGMENTS : 1)
#endif /* DPDK_NETDEV */

#ifndef DP_PACKET_OL_SHIFT_COUNT /* In dp-packet.h, from 3.6 on. */
/* A packet that is to be segmented has a flag. */
#if defined(DPDK_NETDEV)
#define dp_packet_get_tso_segsz(PACKET)                                     \
    (dp_packet_hwol_is_tso(PACKET) ? MAX((PACKET)->mbuf.tso_segsz, 1) : 0)
#elif __has_include("dp-packet-gso.h")
#define dp_packet_get_tso_segsz(PACKET)                                     \
    (dp_packet_hwol_is_tso(PACKET) ? MAX((PACKET)->tso_segsz, 1) : 0)
#else
#define dp_packet_get_tso_segsz(PACKET) 0
#endif

#if !__has_include("dp-packet-gso.h") /* From 3.4 on. */
/* Tunnels don't take packets with offloads. */
#define dp_packet_inner_l4(PACKET) NULL
#define dp_packet_ol_send_prepare(PACKET, FLAGS)
#define dp_packet_set_tso_segsz(PACKET, SEGSZ)
#endif

/* For more descriptors than these, Open vSwitch takes its default, newer
 * releases take what the device has. */
#define MEMPOOL_MAX_DESCS 4096
#endif

/* "ovs-appctl --format=json" and this header came with Open vSwitch 3.4. */
#if !__has_include("ofproto/ofproto-dpif-lsample.h")
#define UNIXCTL_OUTPUT_FMT_JSON 1

/* Returns nonnull if the last argument of a command is "format=json", and
 * removes it. */
static inline void *
unixctl_take_json(int *argc, const char *argv[])
{
    int last = argc[0] - 1;

    if (last < 1 || strcmp(argv[last], "format=json")) {
        return NULL;
    }
    argc[0] = last;
    return argv;
}

static inline int
unixctl_command_get_output_format(struct unixctl_conn *conn OVS_UNUSED)
{
    return !UNIXCTL_OUTPUT_FMT_JSON;
}

struct json;

static inline void
unixctl_command_reply_json(struct unixctl_conn *conn OVS_UNUSED,
                           struct json *json OVS_UNUSED)
{
    OVS_NOT_REACHED();
}
#endif

#endif /* netdev-dpdk-compat.h */
