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

#include "bond-turn.h"

#include <limits.h>

#include "ovstest.h"
#include "util.h"

/* Runs 'turn' again and again until there is something to do, in steps of
 * 'msec' milliseconds, in each of which a dump ends if 'dumps' is true.
 * Returns what is to be done, or BOND_TURN_NOTHING after an hour. */
static enum bond_turn_action
run(struct bond_turn *turn, struct bond_turn_input *in, int msec, bool dumps)
{
    long long start = in->now;

    while (in->now < start + 3600 * 1000) {
        enum bond_turn_action action = bond_turn_run(turn, in);

        if (action != BOND_TURN_NOTHING) {
            return action;
        }
        in->now += msec;
        in->dump_seq += dumps;
    }
    return BOND_TURN_NOTHING;
}

/* A member that others can take over from goes through all steps, and so does
 * the next one. */
static void
test_others(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct bond_turn_input in = { .now = 1000, .updelay = 500, };
    struct bond_turn turn = { .step = BOND_TURN_NOBODYS };
    long long start;

    /* A bond without waiting members is left alone. */
    in.is_enabled = in.has_others = true;
    ovs_assert(run(&turn, &in, 100, true) == BOND_TURN_NOTHING);
    ovs_assert(!turn.is_on);

    in.is_waiting = true;
    ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_REVALIDATE);
    for (int i = 0; i < 2; i++) {
        uint64_t dumps = in.dump_seq;

        /* The member keeps its traffic until all flows were revalidated. */
        ovs_assert(turn.is_on && !bond_turn_is_draining(&turn));
        ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_BEGIN);
        ovs_assert(i || in.dump_seq == dumps + BOND_TURN_DUMPS);
        ovs_assert(bond_turn_is_draining(&turn));
        ovs_assert(!bond_turn_is_leaving(&turn));

        /* The peer moves its flows, too, for which it gets some time. */
        in.is_enabled = false;
        ovs_assert(run(&turn, &in, 100, false) == BOND_TURN_NOTHING);
        dumps = in.dump_seq;
        ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_TELL_PEER);
        ovs_assert(in.dump_seq == dumps + BOND_TURN_DUMPS);
        ovs_assert(bond_turn_is_leaving(&turn));
        start = in.now;
        ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_STOP);
        ovs_assert(in.now == start + BOND_TURN_LEAVE_MSEC);
        ovs_assert(bond_turn_is_leaving(&turn));

        /* The member is stopped once, however long that takes. */
        ovs_assert(run(&turn, &in, 100, true) == BOND_TURN_NOTHING);
        in.is_waiting = false;
        ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_NOTHING);
        ovs_assert(!bond_turn_is_draining(&turn));

        /* It gets some time to be enabled, after which the others go on. */
        start = in.now;
        if (i) {
            in.is_enabled = true;
            ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_END);
        } else {
            ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_END);
            ovs_assert(in.now == start + 500 + BOND_TURN_RETURN_MSEC);
            in.is_waiting = in.is_enabled = true;
        }
    }

    /* What the peer sent before may still be on its way. */
    start = in.now;
    ovs_assert(turn.is_on);
    in.is_waiting = false;
    ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_REVALIDATE);
    ovs_assert(in.now == start + BOND_TURN_LEAVE_MSEC);
    ovs_assert(!turn.is_on);
}

/* A member that carries nothing is stopped at once; the only one that carries
 * traffic, once another one has had time to be enabled. */
static void
test_alone(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    struct bond_turn_input in = { .now = 1000, .is_waiting = true };
    struct bond_turn turn = { .step = BOND_TURN_NOBODYS };
    long long start;

    ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_STOP);
    ovs_assert(!turn.is_on && turn.step == BOND_TURN_NOBODYS);

    in.is_enabled = true;
    start = in.now;
    ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_REVALIDATE);
    ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_STOP_ALONE);
    ovs_assert(in.now == start + BOND_TURN_RETURN_MSEC);
    ovs_assert(turn.step == BOND_TURN_NOBODYS);

    /* It isn't if another one was enabled in time. */
    memset(&turn, 0, sizeof turn);
    ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_REVALIDATE);
    in.now += BOND_TURN_RETURN_MSEC - 1;
    ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_NOTHING);
    in.has_others = true;
    ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_BEGIN);

    /* It has as much time soon after somebody's turn. */
    bond_turn_end(&turn, in.now);
    in.has_others = false;
    in.now += BOND_TURN_LEAVE_MSEC / 2;
    ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_NOTHING);
    in.now += BOND_TURN_RETURN_MSEC - 1;
    ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_NOTHING);

    /* So it has whenever it is the last one again. */
    turn.n_dumps = 0;
    in.has_others = true;
    ovs_assert(bond_turn_run(&turn, &in) == BOND_TURN_NOTHING);
    in.has_others = false;
    start = in.now;
    ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_STOP_ALONE);
    ovs_assert(in.now == start + BOND_TURN_RETURN_MSEC);
}

/* A member that is removed, or is stopped for something else, in whatever
 * step, doesn't keep others from their turn. */
static void
test_goes(struct ovs_cmdl_context *ctx OVS_UNUSED)
{
    for (int step = BOND_TURN_MOVING; step <= BOND_TURN_RETURNING; step++) {
        for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
            struct bond_turn turn = {
                .is_on = true, .step = step, .expires = LLONG_MAX
            };
            struct bond_turn_input in = {
                .now = 1000, .is_enabled = true, .has_others = true
            };

            if (is_stopped) {
                ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_END);
            } else {
                bond_turn_end(&turn, in.now);
            }
            ovs_assert(!bond_turn_is_draining(&turn));
            in.is_waiting = true;
            ovs_assert(run(&turn, &in, 1, true) == BOND_TURN_BEGIN);
        }
    }
}

static const struct ovs_cmdl_command commands[] = {
    {"others", NULL, 0, 0, test_others, OVS_RO},
    {"alone", NULL, 0, 0, test_alone, OVS_RO},
    {"goes", NULL, 0, 0, test_goes, OVS_RO},
    {NULL, NULL, 0, 0, NULL, OVS_RO},
};

static void
test_bond_turn_main(int argc, char *argv[])
{
    struct ovs_cmdl_context ctx = {
        .argc = argc - 1,
        .argv = argv + 1,
    };

    set_program_name(argv[0]);
    ovs_cmdl_run_command(&ctx, commands);
}

OVSTEST_REGISTER("test-bond-turn", test_bond_turn_main);
