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

#include "bond-turn.h"

#include <limits.h>

/* To be called when the member whose turn it is has gone, at the time 'now' in
 * milliseconds. */
void
bond_turn_end(struct bond_turn *turn, long long now)
{
    turn->step = BOND_TURN_NOBODYS;
    turn->expires = now + BOND_TURN_LEAVE_MSEC;
}

/* Goes on to 'step', for at most 'msec' milliseconds, or without a limit if
 * 'msec' is negative. */
static void
go_on(struct bond_turn *turn, const struct bond_turn_input *in,
      enum bond_turn_step step, int msec)
{
    turn->step = step;
    turn->expires = msec < 0 ? LLONG_MAX : in->now + msec;
}

/* Goes on to 'step', in which a member gets time to be enabled. */
static void
wait_for_member(struct bond_turn *turn, const struct bond_turn_input *in,
                enum bond_turn_step step)
{
    go_on(turn, in, step, in->updelay + BOND_TURN_RETURN_MSEC);
}

/* Returns what is to be done when it is nobody's turn.  A member that carries
 * no traffic needs no turn.  For any other, other members must be enabled, but
 * if that takes too long, it is stopped anyway. */
static enum bond_turn_action
find_turn(struct bond_turn *turn, const struct bond_turn_input *in)
{
    bool was_alone = turn->is_alone;

    turn->is_alone = in->is_waiting && in->is_enabled && !in->has_others;
    if (!in->is_waiting) {
        if (turn->is_on && in->now >= turn->expires) {
            turn->is_on = false;
            return BOND_TURN_REVALIDATE;
        }
    } else if (!in->is_enabled) {
        return BOND_TURN_STOP;
    } else if (!turn->is_on) {
        turn->is_on = true;
        turn->n_dumps = 0;
        wait_for_member(turn, in, BOND_TURN_NOBODYS);
        return BOND_TURN_REVALIDATE;
    } else if (turn->is_alone) {
        if (!was_alone) {
            wait_for_member(turn, in, BOND_TURN_NOBODYS);
        } else if (in->now >= turn->expires) {
            return BOND_TURN_STOP_ALONE;
        }
    } else if (turn->n_dumps >= BOND_TURN_DUMPS) {
        turn->n_dumps = 0;
        go_on(turn, in, BOND_TURN_MOVING, -1);
        return BOND_TURN_BEGIN;
    }
    return BOND_TURN_NOTHING;
}

/* Returns what is to be done to the members of the bond of 'turn'.  To be
 * called whenever something in 'in' may have changed, and at the time
 * 'turn->expires'. */
enum bond_turn_action
bond_turn_run(struct bond_turn *turn, const struct bond_turn_input *in)
{
    if (turn->dump_seq != in->dump_seq) {
        turn->dump_seq = in->dump_seq;
        turn->n_dumps++;
    }

    if (turn->step == BOND_TURN_NOBODYS) {
        return find_turn(turn, in);
    } else if (turn->step == BOND_TURN_RETURNING) {
        if (in->is_enabled || in->now >= turn->expires) {
            bond_turn_end(turn, in->now);
            return BOND_TURN_END;
        }
    } else if (!in->is_waiting) {
        /* It was stopped, for this or another reason. */
        wait_for_member(turn, in, BOND_TURN_RETURNING);
    } else if (turn->step == BOND_TURN_MOVING
               && turn->n_dumps >= BOND_TURN_DUMPS) {
        go_on(turn, in, BOND_TURN_LEAVING, BOND_TURN_LEAVE_MSEC);
        return BOND_TURN_TELL_PEER;
    } else if (turn->step == BOND_TURN_LEAVING && in->now >= turn->expires) {
        go_on(turn, in, BOND_TURN_STOPPED, -1);
        return BOND_TURN_STOP;
    }
    return BOND_TURN_NOTHING;
}
