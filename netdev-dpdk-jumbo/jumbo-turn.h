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

#ifndef JUMBO_TURN_H
#define JUMBO_TURN_H 1

/* The members of a bond that must be stopped for another MTU are stopped one
 * after the other, once other members have taken over their flows.
 *
 * This decides when a turn begins and what comes next; the caller chooses the
 * member.  It sees a bond only as the numbers in 'struct jumbo_turn_input',
 * and takes no locks. */

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds that the peer gets to move its flows, and that a member gets
 * beyond its updelay to be enabled again before the next one is stopped. */
#define JUMBO_TURN_LEAVE_MSEC 2000
#define JUMBO_TURN_RETURN_MSEC 30000

/* Dumps of datapath flows after which all flows have been revalidated: one may
 * end before revalidation begins, while another one is already under way. */
#define JUMBO_TURN_DUMPS 3

/* What is done to the member whose turn it is. */
enum jumbo_turn_step {
    JUMBO_TURN_NOBODYS,         /* It is nobody's turn. */
    JUMBO_TURN_MOVING,          /* Its flows move to other members. */
    JUMBO_TURN_LEAVING,         /* The peer, which is told, moves its flows. */
    JUMBO_TURN_STOPPED,         /* It is stopped, gets the MTU, and starts. */
    JUMBO_TURN_RETURNING,       /* It can be enabled again. */
};

/* State of a bond.  Zeros at first. */
struct jumbo_turn {
    bool is_on;                 /* Members are stopped, or have just been. */
    enum jumbo_turn_step step;
    long long expires;          /* When to go on in any case, in milliseconds,
                                 * or LLONG_MAX. */
    uint64_t dump_seq;          /* Tracks dumps of datapath flows. */
    int n_dumps;                /* Dumps that ended since there has been
                                 * something to move. */
};

/* A bond, and the member whose turn it is or would be next: preferably one
 * that isn't enabled, and the active one only if there is no other. */
struct jumbo_turn_input {
    long long now;              /* In milliseconds. */
    int updelay;                /* Of the bond, in milliseconds. */
    uint64_t dump_seq;          /* Changes when a dump of the flows ends. */
    bool is_waiting;            /* The member waits to be stopped. */
    bool is_enabled;            /* It carries traffic. */
    bool has_others;            /* Other members do, too. */
};

/* What the caller has to do. */
enum jumbo_turn_action {
    JUMBO_TURN_NOTHING,
    JUMBO_TURN_REVALIDATE,      /* Revalidate flows: 'is_on' has changed. */
    JUMBO_TURN_BEGIN,           /* The next member's turn begins: disable
                                 * it. */
    JUMBO_TURN_TELL_PEER,       /* Send learning packets. */
    JUMBO_TURN_STOP,            /* Stop the member. */
    JUMBO_TURN_STOP_ALONE,      /* The same, though no other is enabled. */
    JUMBO_TURN_END,             /* It is nobody's turn. */
};

enum jumbo_turn_action jumbo_turn_run(struct jumbo_turn *,
                                      const struct jumbo_turn_input *);
void jumbo_turn_end(struct jumbo_turn *, long long now);

/* Returns true if the member whose turn it is must not carry our flows.  It
 * still receives. */
static inline bool
jumbo_turn_is_draining(const struct jumbo_turn *turn)
{
    return (turn->step != JUMBO_TURN_NOBODYS
            && turn->step != JUMBO_TURN_RETURNING);
}

/* Returns true if the peer shouldn't use that member, either. */
static inline bool
jumbo_turn_is_leaving(const struct jumbo_turn *turn)
{
    return jumbo_turn_is_draining(turn) && turn->step != JUMBO_TURN_MOVING;
}

#endif /* jumbo-turn.h */
