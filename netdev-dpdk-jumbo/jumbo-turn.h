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

/* The members of a bond that must be stopped for another MTU do so one after
 * the other, when others have taken over what they carry.
 *
 * This decides whose turn it is and what comes next.  It sees a bond only as
 * the numbers in 'struct jumbo_turn_input', and takes no locks. */

#include <stdbool.h>
#include <stdint.h>

/* How many milliseconds the peer has to move its flows, and how many more than
 * its updelay a member has to be enabled, until the next one is stopped. */
#define JUMBO_TURN_LEAVE_MSEC 2000
#define JUMBO_TURN_RETURN_MSEC 30000

/* After how many dumps of datapath flows all of them were revalidated: one may
 * end before revalidation begins, and another one is under way then. */
#define JUMBO_TURN_DUMPS 3

/* What is done to the member whose turn it is. */
enum jumbo_turn_step {
    JUMBO_TURN_NOBODYS,         /* There is none. */
    JUMBO_TURN_MOVING,          /* Its flows move to other members. */
    JUMBO_TURN_LEAVING,         /* The peer, which is told, does the same. */
    JUMBO_TURN_STOPPED,         /* It is stopped, gets the MTU, and starts. */
    JUMBO_TURN_RETURNING,       /* It can be enabled again. */
};

/* Of a bond.  Zeros at first. */
struct jumbo_turn {
    bool is_on;                 /* Members are stopped, or were just now. */
    enum jumbo_turn_step step;
    long long expires;          /* When to go on in any case, in milliseconds,
                                 * or LLONG_MAX. */
    uint64_t dump_seq;          /* Tracks dumps of datapath flows. */
    int n_dumps;                /* How many of them ended since there is
                                 * something to move. */
};

/* A bond, and the member whose turn it is, or would be next.  The best one to
 * be next is one that isn't enabled, the worst one the active one. */
struct jumbo_turn_input {
    long long now;              /* In milliseconds. */
    int updelay;                /* Of the bond, in milliseconds. */
    uint64_t dump_seq;          /* Changes when a dump of the flows ends. */
    bool is_waiting;            /* The member waits to be stopped. */
    bool is_enabled;            /* It carries traffic. */
    bool has_others;            /* So do others. */
};

/* What the caller has to do. */
enum jumbo_turn_action {
    JUMBO_TURN_NOTHING,
    JUMBO_TURN_REVALIDATE,      /* Flows, for 'is_on' has changed. */
    JUMBO_TURN_BEGIN,           /* It is the turn of the next one: disable
                                 * it. */
    JUMBO_TURN_TELL_PEER,       /* Send learning packets. */
    JUMBO_TURN_STOP,            /* Have the member be stopped. */
    JUMBO_TURN_STOP_ALONE,      /* The same, though no other is enabled. */
    JUMBO_TURN_END,             /* It is nobody's turn. */
};

enum jumbo_turn_action jumbo_turn_run(struct jumbo_turn *,
                                      const struct jumbo_turn_input *);
void jumbo_turn_end(struct jumbo_turn *, long long now);

/* Returns true if the member whose turn it is must carry no flows of ours.  It
 * still receives. */
static inline bool
jumbo_turn_is_draining(const struct jumbo_turn *turn)
{
    return (turn->step != JUMBO_TURN_NOBODYS
            && turn->step != JUMBO_TURN_RETURNING);
}

/* Returns true if the peer shouldn't use it, either. */
static inline bool
jumbo_turn_is_leaving(const struct jumbo_turn *turn)
{
    return jumbo_turn_is_draining(turn) && turn->step != JUMBO_TURN_MOVING;
}

#endif /* jumbo-turn.h */
