/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The chooser: which protocol carries a message, and how a receiver gets the data that the sender
 * has only announced (table.h lists both). It is the only place that knows sizes, and which
 * protocol goes before which. It has no side effects: its callers find out the facts.
 */
#ifndef RI_SELECT_H
#define RI_SELECT_H

#include "table.h"
#include "../core/types/select_types.h"
#include "../../uct/api/plane.h"

/* The outcome of a choice. */
typedef struct ri_choice {
    ri_proto_t proto;
    unsigned plane; /* that it uses; 0: none */
} ri_choice_t;

/** @return Whether the RTR of a message may be used: there is one, its receive has room for the
 * message, and no earlier message waits for room in the ring. */
static inline int ri_select_is_early(const ri_select_param_t *param)
{
    /* A message that waits for room may be for a receive that depends on this RTR. The receiver
     * could not decide alone about a cancel of that receive, until the message is on its way. */
    return (param->rtr_room != 0) && (param->length <= param->rtr_room) &&
           !param->is_behind;
}

/** Choose how a message is sent, at the sender. There is a choice for any facts: what no other
 * protocol carries, goes by UCP. @return The protocol, and the plane that it uses. */
ri_choice_t ri_select(const ri_select_param_t *param);

/* Facts that may have changed since they were collected. */
typedef struct ri_select_now {
    unsigned host_plane;
    size_t hybrid_packed; /* hybrid_net of data that is packed into the pool */
} ri_select_now_t;

/** The protocol that was chosen lacks something: change the facts, so that the next choice does
 * without. @param lacks  RI_SEND_LACKS_*, any of them. */
void ri_select_without(ri_select_param_t *param, unsigned lacks,
                       const ri_select_now_t *now);

/* The facts by which a receiver chooses, when data was only announced. */
typedef struct ri_select_fetch {
    int is_pool;       /* POOL; else RTS */
    int wants_put;     /* the sender is to write the data */
    int sends;         /* RTS: the sender is to send the data to where this side says */
    int has_keys;      /* the data is registered, for the plane through the network */
    int slot_named;    /* RTS: the message has a slot */
    int slot_there;    /* the slot of the message is there */
    int slot_offered;  /* the sender may have written by the slot */
    int slot_is_other; /* the slot says that it is for another receive */
    int can_answer;  /* there is a usable conn that is not in error handling mode PEER */
    int contig;      /* the receive is contiguous */
    int spread;      /* the receive is in runs that are known */
    int shelf;       /* there is a shelf, for what has a slot */
    int sent_spread; /* the sender's data is in runs */
    int pieces;      /* the receive is in pieces that can be described */
    int has_address; /* the buffer of the receive is not NULL */
    int host_memory;
    unsigned host_plane; /* what this side can do: READ the sender's memory */
    unsigned net_plane;
    size_t length; /* of the message */
    size_t room;   /* of the receive */
} ri_select_fetch_t;

/** Choose how the data of an RTS or POOL is fetched, at the receiver. @return RI_FETCH_*. NOTHING,
 * LOST and BROKEN say that no data is fetched, and why (table.h). */
ri_fetch_t ri_select_fetch(const ri_select_fetch_t *param);

#endif
