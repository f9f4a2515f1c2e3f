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
#include "bfd-path-mtu.h"

#include <limits.h>

#include "util.h"

/* Sizes that halve a range better than its middle: what Ethernet passes, and
 * somewhat less than it passes through a tunnel. */
static const int likely_sizes[] = {1400, 1500};

/* Confirms at most once in that time. */
#define MIN_PERIOD_MS 1000

/* After so many detection times, tries a larger size: RFC 8899 section 5.1.1
 * PMTU_RAISE_TIMER. */
#define RAISE_PERIODS 10

/* Begins a search for sizes up to 'max', which must be more than
 * BFD_MIN_PDU_SIZE, or 0 for no search.  Must be called whenever the session
 * goes down. */
void
bfd_path_mtu_restart(struct bfd_path_mtu *pm, int max)
{
    *pm = (struct bfd_path_mtu) {
        .max = max,
        .searching = true,
        .passes = BFD_MIN_PDU_SIZE,
        .fails = max + 1,
    };
}

static int
next_size(struct bfd_path_mtu *pm)
{
    if (!pm->searching) {
        if (pm->passes < pm->max && ++pm->confirmations >= RAISE_PERIODS) {
            pm->confirmations = 0;
            return pm->fails;
        }
        return pm->passes;
    }
    if (pm->fails > pm->max) {
        return pm->max;
    }
    if (pm->fails - pm->passes <= 1) {
        return pm->fails;
    }
    for (size_t i = 0; i < ARRAY_SIZE(likely_sizes); i++) {
        if (likely_sizes[i] > pm->passes && likely_sizes[i] < pm->fails) {
            return likely_sizes[i];
        }
    }
    return (pm->passes + pm->fails) / 2;
}

/* Returns how long to wait for an answer.  The other end may answer not before
 * it wakes up for its next periodic packet; Open vSwitch wakes up ten times a
 * second, too. */
static long long int
timeout(long long int interval)
{
    return interval + MIN((interval + 1) / 2, 100);
}

/* Ends the probe in flight. */
static void
finish(struct bfd_path_mtu *pm, long long int interval, int mult,
       long long int now)
{
    pm->probe = 0;
    if (!pm->searching || pm->passes == pm->max) {
        pm->searching = false;
        pm->mtu = pm->passes;
    }
    pm->next = now;
    if (!pm->searching && !pm->losses) {
        pm->next += MAX(interval * mult, MIN_PERIOD_MS);
    }
}

/* Returns true if a probe is to be sent. */
bool
bfd_path_mtu_is_due(const struct bfd_path_mtu *pm, long long int now)
{
    return pm->max && !pm->probe && now >= pm->next;
}

/* Returns the size of the probe that the caller must send now. */
int
bfd_path_mtu_send(struct bfd_path_mtu *pm, long long int interval,
                  long long int now)
{
    pm->probe = next_size(pm);
    pm->next = now + timeout(interval);
    return pm->probe;
}

/* Gives up a probe that was not answered in time.  Returns true if this
 * changed 'mtu'. */
bool
bfd_path_mtu_run(struct bfd_path_mtu *pm, long long int interval, int mult,
                 long long int now)
{
    int old_mtu = pm->mtu;

    if (!pm->probe || now < pm->next) {
        return false;
    }

    if (pm->probe >= pm->fails) {
        pm->searching = false;
    } else if (pm->probe > pm->passes) {
        pm->fails = pm->probe;
    } else if (pm->passes > BFD_MIN_PDU_SIZE && ++pm->losses >= mult) {
        pm->fails = pm->passes;
        pm->passes = BFD_MIN_PDU_SIZE;
        pm->losses = 0;
        pm->searching = true;
        pm->mtu = 0;
    }
    finish(pm, interval, mult, now);
    return pm->mtu != old_mtu;
}

/* Must be called when a packet with the Final bit is received while no poll
 * sequence is active.  Returns true if this changed 'mtu'. */
bool
bfd_path_mtu_answered(struct bfd_path_mtu *pm, long long int interval,
                      int mult, long long int now)
{
    int old_mtu = pm->mtu;

    if (!pm->probe) {
        return false;
    }

    pm->losses = 0;
    pm->passes = MAX(pm->probe, pm->passes);
    if (pm->passes >= pm->fails) {
        /* What seemed to fail was lost by chance, or the path has grown. */
        pm->fails = pm->max + 1;
        pm->searching = true;
    }
    finish(pm, interval, mult, now);
    return pm->mtu != old_mtu;
}

/* Forgets the probe in flight, if any, and sends none until a packet with the
 * Final bit can't be the answer to one that was sent before 'now'. */
void
bfd_path_mtu_pause(struct bfd_path_mtu *pm, long long int interval,
                   long long int now)
{
    pm->probe = 0;
    pm->next = MAX(pm->next, now + timeout(interval));
}

/* Returns the time at which bfd_path_mtu_is_due() or bfd_path_mtu_run() has
 * something to do. */
long long int
bfd_path_mtu_wake_time(const struct bfd_path_mtu *pm)
{
    return pm->max ? pm->next : LLONG_MAX;
}
