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

/* Fuzzes what comes from outside: lengths of received packets, and requests
 * for an MTU with the limits that a device reports.  For libFuzzer; a build of
 * Open vSwitch doesn't need it. */

#include <config.h>
#undef NDEBUG

#include <limits.h>
#include <string.h>

#include "dpdk-frame.h"
#include "netdev-mtu.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* A packet that passes the check of its length fits in a buffer of the port,
 * with its CRC, and is no longer than the standard allows. */
static void
fuzz_length(const uint8_t *data, size_t size)
{
    struct {
        uint16_t mtu;
        uint32_t len;
    } packet;
    uint8_t frame[2 * ETH_ADDR_LEN + 3 * VLAN_HEADER_LEN] = { 0 };
    uint32_t tags_len;

    if (size < sizeof packet) {
        return;
    }
    memcpy(&packet, data, sizeof packet);
    memcpy(frame, data + sizeof packet, MIN(size - sizeof packet,
                                            sizeof frame));
    tags_len = dpdk_tags_len(frame);
    packet.mtu = MAX(DPDK_MIN_MTU, packet.mtu % (DPDK_MAX_MTU + 1));

    if (packet.len <= MTU_TO_MAX_PACKET_LEN(packet.mtu) + tags_len) {
        ovs_assert(packet.len + 4 <= dpdk_buffer_size(packet.mtu));
        ovs_assert(packet.len <= 14 + 4 + 4 + packet.mtu);
    } else {
        ovs_assert(packet.len > 14u + packet.mtu);
    }
}

struct request {
    int64_t requested;
    int32_t in_effect;
    uint16_t min_mtu;
    uint16_t max_mtu;
    uint32_t max_rx_pktlen;
    int32_t error;
};

static void
fuzz_request(const uint8_t *data, size_t size)
{
    struct netdev_mtu_info info = { .refusal = NULL };
    struct netdev_mtu_limits limits;
    struct request r;
    char *message;

    if (size < sizeof r) {
        return;
    }
    memcpy(&r, data, sizeof r);

    limits = netdev_mtu_eth_limits(r.min_mtu, r.max_mtu, r.max_rx_pktlen);
    ovs_assert(limits.min >= DPDK_MIN_MTU);
    ovs_assert(limits.max <= DPDK_MAX_MTU);
    if (limits.max && netdev_mtu_within(&limits, r.requested)) {
        ovs_assert(r.requested >= DPDK_MIN_MTU);
        ovs_assert(r.requested + DPDK_MAX_L2_LEN
                   <= dpdk_buffer_size(r.requested));
    }

    info.limits = limits;
    if (size > sizeof r) {
        info.refusal = xmemdup0((const char *) data + sizeof r,
                                size - sizeof r);
    }
    info.request = netdev_mtu_choose(r.requested, 0, r.error & 2, r.error & 1);
    info.mtu = r.in_effect;
    info.error = abs(r.error % 200);
    if (r.requested) {
        ovs_assert(info.request.mtu == r.requested);
    }
    message = netdev_mtu_explain(&info);
    if (r.requested && r.requested != r.in_effect) {
        ovs_assert(!strncmp(message, "MTU ", 4));
        ovs_assert(strstr(message, " was requested"));
        ovs_assert(limits.max == 0 || netdev_mtu_within(&limits, r.requested)
                   || strstr(message, "allows")
                   || strstr(message, "does not control"));
    }
    free(message);
    free(info.refusal);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] & 1) {
        fuzz_length(data + 1, size - 1);
    } else if (size) {
        fuzz_request(data + 1, size - 1);
    }
    return 0;
}
