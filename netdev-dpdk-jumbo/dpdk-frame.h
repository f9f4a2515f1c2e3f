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

#ifndef DPDK_FRAME_H
#define DPDK_FRAME_H 1

/* MTU <-> frame <-> buffer sizes.
 *
 * Four quantities, all in bytes, that are easily confused:
 *
 *   - MTU: the L3 packet, Ethernet payload (RFC 894).  What users configure.
 *
 *   - Frame: MTU plus L2 header and CRC.  An untagged frame is 18 bytes more
 *     than its MTU (IEEE 802.3); each VLAN tag adds 4 (IEEE 802.1Q).
 *
 *   - Buffer: room for data in an mbuf, without its headroom.  Every frame
 *     must fit into one buffer: the datapath doesn't support chained mbufs.
 *
 *   - Data room: buffer plus headroom.  DPDK keeps it in 16 bits
 *     (rte_mbuf.h, 'buf_len'), which bounds all the others. */

#include <stdint.h>

#include "packets.h"
#include "util.h"

#define DPDK_CRC_LEN 4          /* Frame check sequence, IEEE 802.3. */
#define DPDK_MAX_VLAN_TAGS 2    /* QinQ, IEEE 802.1ad. */

/* Drivers set up receive buffers at a granularity of up to 1 kB, and don't use
 * all of a buffer that isn't a multiple of it. */
#define DPDK_BUFFER_ALIGN 1024

/* RTE_PKTMBUF_HEADROOM in DPDK's default configuration; netdev-dpdk.c asserts
 * that it is the one in use. */
#define DPDK_HEADROOM 128

/* L2 bytes of an untagged frame, and of one with all the tags that a port
 * passes. */
#define DPDK_L2_LEN (ETH_HEADER_LEN + DPDK_CRC_LEN)
#define DPDK_MAX_L2_LEN (DPDK_L2_LEN + DPDK_MAX_VLAN_TAGS * VLAN_HEADER_LEN)

/* Each internet module must forward 68-byte packets (RFC 791, section 3.2). */
#define DPDK_MIN_MTU 68

/* The largest buffer whose data room fits in 16 bits, and its MTU: 64512 and
 * 64486. */
#define DPDK_MAX_BUFFER ROUND_DOWN(UINT16_MAX - DPDK_HEADROOM, \
                                   DPDK_BUFFER_ALIGN)
#define DPDK_MAX_MTU (DPDK_MAX_BUFFER - DPDK_MAX_L2_LEN)

/* The buffer sizes of mempools that ports share.  Each has a mempool of its
 * own, which must be able to fill the transmit rings of all ports, so a few
 * sizes take less memory than buffers that fit every MTU closely.  The first
 * ones are for the usual MTUs: 1500 with room for a tunnel's headers, 3000 to
 * 4000, 9000, and 9710.  None is smaller, since drivers refuse smaller
 * buffers: net_vmxnet3 below 1646 bytes, net_af_packet below 2016. */
static const int dpdk_buffer_sizes[] = {
    2048, 4096, 9216, 10240, 16384, 32768, DPDK_MAX_BUFFER
};

/* Length, without CRC, of the longest packet without tags that a port of MTU
 * 'mtu' passes.  OVS doesn't count the CRC. */
#define MTU_TO_MAX_PACKET_LEN(mtu) ((mtu) + ETH_HEADER_LEN)

/* Returns the length of the VLAN tags that the Ethernet frame 'frame' starts
 * with, and that a port passes beyond its MTU: of up to two. */
static inline uint32_t
dpdk_tags_len(const void *frame)
{
    const ovs_be16 *type = frame;

    type += 2 * ETH_ADDR_LEN / sizeof *type;
    return (!eth_type_vlan(type[0]) ? 0
            : !eth_type_vlan(type[2]) ? VLAN_HEADER_LEN
            : 2 * VLAN_HEADER_LEN);
}

/* Returns the largest MTU whose frames fit in a buffer of 'size'. */
static inline int
dpdk_max_mtu(int size)
{
    return size - DPDK_MAX_L2_LEN;
}

/* Returns the buffer size for a port of MTU 'mtu': the smallest that holds its
 * longest frame. */
static inline int
dpdk_buffer_size(int mtu)
{
    const int *size = dpdk_buffer_sizes;

    while (*size < DPDK_MAX_BUFFER && mtu > dpdk_max_mtu(*size)) {
        size++;
    }
    return *size;
}

/* Returns the smallest MTU that gets a buffer of 'size'. */
static inline int
dpdk_min_mtu(int size)
{
    int min = DPDK_MIN_MTU;

    for (const int *s = dpdk_buffer_sizes; *s < size; s++) {
        min = dpdk_max_mtu(*s) + 1;
    }
    return min;
}

/* Returns the size of the smallest buffer, in steps of DPDK_BUFFER_ALIGN, that
 * holds the longest frame of MTU 'mtu': the buffer size of Open vSwitch up to
 * 4.0 (netdev-dpdk.c, dpdk_buf_size()). */
static inline int
dpdk_close_buffer_size(int mtu)
{
    return ROUND_UP(mtu + DPDK_MAX_L2_LEN, DPDK_BUFFER_ALIGN);
}

/* Returns the buffer size for a port of MTU 'mtu' that shares its mempool with
 * no other: a close one, but none that drivers refuse. */
static inline int
dpdk_own_buffer_size(int mtu)
{
    return MAX(dpdk_close_buffer_size(mtu), dpdk_buffer_sizes[0]);
}

/* Returns the smallest MTU that gets a buffer of 'size' in such a mempool. */
static inline int
dpdk_own_min_mtu(int size)
{
    return size > dpdk_buffer_sizes[0]
           ? dpdk_max_mtu(size - DPDK_BUFFER_ALIGN) + 1 : DPDK_MIN_MTU;
}

/* Returns the data room of the buffer for MTU 'mtu'. */
static inline int
dpdk_data_room(int mtu)
{
    return dpdk_buffer_size(mtu) + DPDK_HEADROOM;
}

#endif /* dpdk-frame.h */
