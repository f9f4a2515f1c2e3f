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

#ifndef NETDEV_DPDK_JUMBO_COMPAT_H
#define NETDEV_DPDK_JUMBO_COMPAT_H 1

/* All differences between the Open vSwitch and DPDK releases that the module
 * supports. */

#ifdef DPDK_NETDEV
#include <rte_mbuf.h>
#include <rte_version.h>
#endif

#include "dp-packet.h"
#include "openvswitch/compiler.h"
#include "openvswitch/json.h"
#include "unixctl.h"
#include "util.h"

#ifdef DPDK_NETDEV
#if RTE_VERSION < RTE_VERSION_NUM(24, 7, 0, 0)
/* Open vSwitch 4.0 calls this for VDUSE devices, which older releases of DPDK
 * don't support. */
static inline int
rte_vhost_driver_set_max_queue_num(const char *path OVS_UNUSED,
                                   uint32_t max_queue_pairs OVS_UNUSED)
{
    return -1;
}
#endif

/* Returns true if 'mbuf' is a packet that is to be segmented. */
static inline bool
mbuf_is_tso(const struct rte_mbuf *mbuf)
{
#ifdef DP_PACKET_OL_SHIFT_COUNT /* In dp-packet.h, from 3.6 on. */
    return mbuf->tso_segsz;
#else
    return mbuf->ol_flags & RTE_MBUF_F_TX_TCP_SEG;
#endif
}

/* True if Open vSwitch segments the whole of a batch before sending it, as 4.0
 * does, whose batches grow.  3.5 to 3.7 send the segments 32 packets at a
 * time, and 3.1 does not segment. */
#define SEGMENTS_WHOLE_BATCHES                                  \
    (MEMBER_SIZEOF(struct dp_packet_batch, packets)             \
     == sizeof(struct dp_packet **))
#endif /* DPDK_NETDEV */

/* The most descriptors that a user can request for a queue.  For more, Open
 * vSwitch before 3.6 uses its default, newer ones what the device has. */
#ifdef DP_PACKET_OL_SHIFT_COUNT /* In dp-packet.h, from 3.6 on. */
#define MAX_QUEUE_DESCS 32768
#else
#define MAX_QUEUE_DESCS 4096
#endif

/* "ovs-appctl --format=json" and this header came with Open vSwitch 3.4. */
#if __has_include("ofproto/ofproto-dpif-lsample.h")
static inline bool
unixctl_wants_json(struct unixctl_conn *conn)
{
    return unixctl_command_get_output_format(conn) == UNIXCTL_OUTPUT_FMT_JSON;
}
#else
static inline bool
unixctl_wants_json(struct unixctl_conn *conn OVS_UNUSED)
{
    return false;
}

static inline void
unixctl_command_reply_json(struct unixctl_conn *conn OVS_UNUSED,
                           struct json *json OVS_UNUSED)
{
    OVS_NOT_REACHED();
}
#endif

/* Replies with 'json', as text if need be, and takes ownership of it. */
static inline void
unixctl_reply_json(struct unixctl_conn *conn, struct json *json)
{
    if (unixctl_wants_json(conn)) {
        unixctl_command_reply_json(conn, json);
    } else {
        char *s = json_to_string(json, JSSF_SORT);

        unixctl_command_reply(conn, s);
        free(s);
        json_destroy(json);
    }
}

#endif /* compat.h */
