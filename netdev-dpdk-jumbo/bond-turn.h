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

#ifndef BOND_TURN_H
#define BOND_TURN_H 1

/* The members of a bond that must be stopped for another MTU are stopped one
 * after the other, once other members have taken over their flows.
 *
 * This decides when a turn begins and what comes next; the caller chooses the
 * member.  It sees a bond only as the numbers in 'struct bond_turn_input',
 * and takes no locks. */

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds that the peer gets to move its flows, and that a member gets
 * beyond its updelay to be enabled again before the next one is stopped. */
#define BOND_TURN_LEAVE_MSEC 2000
#define BOND_TURN_RETURN_MSEC 30000

/* Dumps of datapath flows after which all flows have been revalidated: one may
 * end before revalidation begins, while another one is already under way. */
#define BOND_TURN_DUMPS 3

/* What is done to the member whose turn it is. */
enum bond_turn_step {
    BOND_TURN_NOBODYS,          /* It is nobody's turn. */
    BOND_TURN_MOVING,           /* Its flows move to other members. */
    BOND_TURN_LEAVING,          /* The peer, which is told, moves its flows. */
    BOND_TURN_STOPPED,          /* It is stopped, gets the MTU, and starts. */
    BOND_TURN_RETURNING,        /* It can be enabled again. */
};

/* State of a bond.  Zeros at first. */
struct bond_turn {
    bool is_on;                 /* Members are stopped, or have just been. */
    bool is_alone;              /* The next one waits for others to be enabled,
                                 * so as not to be stopped alone. */
    enum bond_turn_step step;
    long long expires;          /* When to go on in any case, in milliseconds,
                                 * or LLONG_MAX. */
    uint64_t dump_seq;          /* Tracks dumps of datapath flows. */
    int n_dumps;                /* Dumps that ended since there has been
                                 * something to move. */
};

/* A bond, and the member whose turn it is or would be next: preferably one
 * that isn't enabled, and the active one only if there is no other. */
struct bond_turn_input {
    long long now;              /* In milliseconds. */
    int updelay;                /* Of the bond, in milliseconds. */
    uint64_t dump_seq;          /* Changes when a dump of the flows ends. */
    bool is_waiting;            /* The member waits to be stopped. */
    bool is_enabled;            /* It carries traffic. */
    bool has_others;            /* Other members do, too. */
};

/* What the caller has to do. */
enum bond_turn_action {
    BOND_TURN_NOTHING,
    BOND_TURN_REVALIDATE,       /* Revalidate flows: 'is_on' has changed. */
    BOND_TURN_BEGIN,            /* The next member's turn begins: disable
                                 * it. */
    BOND_TURN_TELL_PEER,        /* Send learning packets. */
    BOND_TURN_STOP,             /* Stop the member. */
    BOND_TURN_STOP_ALONE,       /* The same, though no other is enabled. */
    BOND_TURN_END,              /* It is nobody's turn. */
};

enum bond_turn_action bond_turn_run(struct bond_turn *,
                                    const struct bond_turn_input *);
void bond_turn_end(struct bond_turn *, long long now);

/* Returns true if the member whose turn it is must not carry our flows.  It
 * still receives. */
static inline bool
bond_turn_is_draining(const struct bond_turn *turn)
{
    return (turn->step != BOND_TURN_NOBODYS
            && turn->step != BOND_TURN_RETURNING);
}

/* Returns true if the peer shouldn't use that member, either. */
static inline bool
bond_turn_is_leaving(const struct bond_turn *turn)
{
    return bond_turn_is_draining(turn) && turn->step != BOND_TURN_MOVING;
}

#endif /* bond-turn.h */
