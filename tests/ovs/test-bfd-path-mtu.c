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
#include "bfd-path-mtu.h"

#include "ovstest.h"
#include "random.h"
#include "util.h"

#define MULT 3

/* A search, and a path that it can't see. */
struct search {
    struct bfd_path_mtu pm;
    long long int now;
    long long int interval;
    long long int rtt;
    int mtu;                    /* Of the path. */
    int loss;                   /* Probability of a loss, in percent. */
    int n_probes;
};

/* Runs the search for 'ms' milliseconds, or until it finds 'until'.  Returns
 * true if it does. */
static bool
search(struct search *s, long long int ms, int until)
{
    long long int end = s->now + ms;
    long long int answer = LLONG_MAX;

    while (s->pm.mtu != until && s->now <= end) {
        int old_mtu = s->pm.mtu;
        bool changed = false;

        if (s->now >= answer) {
            changed = bfd_path_mtu_answered(&s->pm, s->interval, MULT, s->now);
            answer = LLONG_MAX;
        }
        changed |= bfd_path_mtu_run(&s->pm, s->interval, MULT, s->now);
        ovs_assert(changed == (s->pm.mtu != old_mtu));
        if (bfd_path_mtu_is_due(&s->pm, s->now)) {
            int size = bfd_path_mtu_send(&s->pm, s->interval, s->now);

            ovs_assert(size >= BFD_MIN_PDU_SIZE && size <= s->pm.max);
            s->n_probes++;
            if (size <= s->mtu && random_range(100) >= s->loss) {
                answer = s->now + s->rtt;
            }
        }
        s->now = MAX(s->now, MIN(bfd_path_mtu_wake_time(&s->pm), answer));
    }
    return s->pm.mtu == until;
}

/* All paths, with answers that come at once, and as late as they may. */
static void
test_sizes(int max, int step, long long int interval)
{
    long long int detection = MULT * interval;

    for (int mtu = BFD_MIN_PDU_SIZE; mtu <= max; mtu += step) {
        for (int late = 0; late < 2; late++) {
            struct search s = {
                .interval = interval, .rtt = late ? interval : 0, .mtu = mtu,
            };

            bfd_path_mtu_restart(&s.pm, max);
            ovs_assert(search(&s, 10 * detection, mtu));

            /* Nothing changes, and it is confirmed once in a detection time
             * or second. */
            s.n_probes = 0;
            ovs_assert(!search(&s, 100 * detection, 0));
            ovs_assert(s.pm.mtu == mtu);
            ovs_assert(s.n_probes <= 101);
        }
    }
}

/* A path that changes, and packets that are lost. */
static void
test_changes(int max, long long int interval, int loss)
{
    struct search s = { .interval = interval, .rtt = 1, .loss = loss };
    long long int detection = MULT * interval;
    long long int period = MAX(detection, 1000);
    int right = 0;

    bfd_path_mtu_restart(&s.pm, max);
    for (int i = 0; i < 1000; i++) {
        s.mtu = BFD_MIN_PDU_SIZE + random_range(max - BFD_MIN_PDU_SIZE + 200);
        if (!loss && s.mtu < s.pm.mtu) {
            /* Confirmed, but for when a larger size is tried; losses. */
            ovs_assert(search(&s, 2 * period + 2 * detection, 0));
        }
        if (!loss) {
            ovs_assert(search(&s, 11 * period + 10 * detection,
                              MIN(s.mtu, max)));
        } else {
            search(&s, 60 * period, -1);
            right += s.pm.mtu == MIN(s.mtu, max);
            ovs_assert(s.pm.mtu <= MIN(s.mtu, max));
        }
    }
    ovs_assert(!loss || right > 950);
}

/* One without a search, and one that is interrupted. */
static void
test_pause(void)
{
    struct bfd_path_mtu pm;

    bfd_path_mtu_restart(&pm, 0);
    ovs_assert(!bfd_path_mtu_is_due(&pm, 1000));
    ovs_assert(bfd_path_mtu_wake_time(&pm) == LLONG_MAX);
    ovs_assert(!bfd_path_mtu_answered(&pm, 100, MULT, 1000));
    ovs_assert(!bfd_path_mtu_run(&pm, 100, MULT, 1000));

    bfd_path_mtu_restart(&pm, 9000);
    ovs_assert(bfd_path_mtu_send(&pm, 100, 1000) == 9000);
    ovs_assert(!bfd_path_mtu_is_due(&pm, 2000));
    bfd_path_mtu_pause(&pm, 100, 1010);
    ovs_assert(!bfd_path_mtu_answered(&pm, 100, MULT, 1020));
    ovs_assert(!bfd_path_mtu_is_due(&pm, 1159));
    ovs_assert(bfd_path_mtu_is_due(&pm, 1160));
    ovs_assert(bfd_path_mtu_send(&pm, 100, 1160) == 9000);
    ovs_assert(bfd_path_mtu_answered(&pm, 100, MULT, 1170));
    ovs_assert(pm.mtu == 9000);
}

static void
test_bfd_path_mtu_main(int argc OVS_UNUSED, char *argv[] OVS_UNUSED)
{
    random_set_seed(1);
    test_sizes(9000, 1, 1000);
    test_sizes(9000, 7, 10);
    test_sizes(64000, 13, 300);
    test_sizes(1501, 1, 1000);
    test_sizes(BFD_MIN_PDU_SIZE + 1, 1, 1000);
    for (long long int interval = 10; interval <= 1000; interval *= 10) {
        test_changes(9000, interval, 0);
        test_changes(9000, interval, 2);
    }
    test_pause();
}

OVSTEST_REGISTER("test-bfd-path-mtu", test_bfd_path_mtu_main);
