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

#include <config.h>
#undef NDEBUG
#include "tnl-pmtu.h"

#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "flow.h"
#include "ovstest.h"
#include "packets.h"
#include "random.h"
#include "util.h"

/* Parses the 'n' bytes at 'data', as they are and with the length in their IP
 * header set to what is there, from a block of exactly this size, so that
 * AddressSanitizer sees a byte read beyond it. */
static bool
parse(const uint8_t *data, size_t n, struct tnl_pmtu_report *r)
{
    bool found = false;

    for (int fix = 0; fix < 2; fix++) {
        uint8_t *copy = xmemdup(data, n);
        struct dp_packet packet;
        struct flow flow;

        if (fix && n >= ETH_HEADER_LEN + IPV6_HEADER_LEN) {
            bool v4 = data[12] == 0x08;
            uint8_t *len = copy + ETH_HEADER_LEN + (v4 ? 2 : 4);
            size_t l3_len = n - ETH_HEADER_LEN - (v4 ? 0 : IPV6_HEADER_LEN);

            len[0] = l3_len >> 8;
            len[1] = l3_len;
        }

        dp_packet_use_const(&packet, copy, n);
        flow_extract(&packet, &flow);
        found |= tnl_pmtu_parse(&packet, &flow, r);
        free(copy);
    }
    return found;
}

/* Each argument is a packet in hexadecimal digits with a report.  Truncates it
 * to each length, and changes random bytes of it. */
static void
test_tnl_pmtu_main(int argc, char *argv[])
{
    set_program_name(argv[0]);
    random_set_seed(1);

    for (int i = 1; i < argc; i++) {
        struct dp_packet packet;
        struct tnl_pmtu_report r;
        const uint8_t *data;
        size_t n;

        dp_packet_init(&packet, 0);
        ovs_assert(dp_packet_put_hex(&packet, argv[i], NULL)[0] == '\0');
        data = dp_packet_data(&packet);
        n = dp_packet_size(&packet);
        ovs_assert(parse(data, n, &r));

        /* A shortened one has a wrong checksum. */
        for (size_t len = 0; len < n; len++) {
            ovs_assert(!parse(data, len, &r));
        }

        for (int j = 0; j < 50000; j++) {
            uint8_t *copy = xmemdup(data, n);

            for (int k = random_range(4); k >= 0; k--) {
                copy[random_range(n)] = random_uint8();
            }
            parse(copy, random_range(n) + 1, &r);
            parse(copy, n, &r);
            free(copy);
        }
        dp_packet_uninit(&packet);
    }
}

OVSTEST_REGISTER("test-tnl-pmtu", test_tnl_pmtu_main);
