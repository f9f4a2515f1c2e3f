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

/* What comes from outside: frames that are received, and requests for an MTU
 * with what a device says of itself.  For libFuzzer; a build of Open vSwitch
 * doesn't need it. */

#include <config.h>
#undef NDEBUG

#include <limits.h>
#include <string.h>

#include "netdev-dpdk-jumbo/jumbo-frame.h"
#include "netdev-dpdk-jumbo/jumbo-mtu.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Another way to say what jumbo_exceeds_mtu() does. */
static bool
exceeds(const uint8_t *frame, size_t len, int mtu)
{
    size_t l2_len = 14;

    while (l2_len < 22 && len > l2_len + mtu
           && ((frame[l2_len - 2] == 0x81 && frame[l2_len - 1] == 0x00)
               || (frame[l2_len - 2] == 0x88 && frame[l2_len - 1] == 0xa8))) {
        l2_len += 4;
    }
    return len > l2_len + mtu;
}

static void
fuzz_frame(const uint8_t *data, size_t size)
{
    uint16_t mtu;
    uint8_t *frame;
    size_t len;

    if (size < sizeof mtu) {
        return;
    }
    memcpy(&mtu, data, sizeof mtu);
    mtu = MAX(JUMBO_MIN_MTU, mtu % (JUMBO_MAX_MTU + 1));

    /* A copy of just its size: to read more is an error. */
    len = size - sizeof mtu;
    frame = xmemdup(data + sizeof mtu, len);
    ovs_assert(jumbo_exceeds_mtu(frame, len, mtu) == exceeds(frame, len, mtu));
    free(frame);
}

struct request {
    int64_t requested;
    int32_t in_force;
    uint16_t min_mtu;
    uint16_t max_mtu;
    uint32_t max_rx_pktlen;
    int32_t refused;
    int32_t error;
};

static void
fuzz_request(const uint8_t *data, size_t size)
{
    struct jumbo_mtu_refusal refusal = { .reason = NULL };
    struct jumbo_mtu_limits limits;
    struct request r;
    char *message;

    if (size < sizeof r) {
        return;
    }
    memcpy(&r, data, sizeof r);

    limits = jumbo_mtu_eth_limits(r.min_mtu, r.max_mtu, r.max_rx_pktlen);
    ovs_assert(limits.min >= JUMBO_MIN_MTU);
    ovs_assert(limits.max <= JUMBO_MAX_MTU);
    if (limits.max && jumbo_mtu_within(&limits, r.requested)) {
        ovs_assert(r.requested >= JUMBO_MIN_MTU);
        ovs_assert(r.requested + JUMBO_MAX_L2_LEN
                   <= jumbo_buffer_size(r.requested));
    }

    jumbo_mtu_refuse(&refusal, r.refused, abs(r.error % 200),
                     size > sizeof r
                     ? xmemdup0((const char *) data + sizeof r,
                                size - sizeof r)
                     : NULL);
    message = jumbo_mtu_error(r.requested, r.in_force, &limits, &refusal);
    ovs_assert(!strncmp(message, "MTU ", 4));
    ovs_assert(strstr(message, " was requested, but "));
    ovs_assert(limits.max == 0 || jumbo_mtu_within(&limits, r.requested)
               || strstr(message, "allows")
               || strstr(message, "does not control"));
    free(message);
    jumbo_mtu_refuse(&refusal, 0, 0, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] & 1) {
        fuzz_frame(data + 1, size - 1);
    } else if (size) {
        fuzz_request(data + 1, size - 1);
    }
    return 0;
}
