/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A protocol says in its table why it is chosen (core/types/send_proto.h). The two that are chosen
 * for want of a better one cannot: UCX where no plane moves the data, and rendezvous by the sender
 * where one does. There several facts may have decided. Each is changed in a copy, and the choice
 * is made once more: if it is another one, that fact is why. So no rule of the choice stands here a
 * second time.
 */
#include "select_why.h"

#include <stddef.h>
#include <stdint.h>

const char ri_select_why_no_plane[] = "there is no direct copy, and no RDMA";

const char *ri_select_why_name(ri_proto_t proto)
{
    return ri_send_protos[proto]->called;
}

const char *ri_select_why_mover(ri_choice_t choice)
{
    const ri_send_proto_t *proto = ri_send_protos[choice.proto];
    int net                      = !!(choice.plane & RI_PLANE_KEYS);

    return (net && (proto->moves_net != NULL)) ? proto->moves_net : proto->moves;
}

/* Whether the choice is another one with @a other facts. */
static int why_differs(const ri_select_param_t *other, ri_choice_t choice)
{
    return ri_select(other).proto != choice.proto;
}

/* Why no plane moves a message that is not short. */
static const char *why_no_plane(const ri_select_param_t *param, ri_choice_t choice)
{
    ri_select_param_t other = *param;

    if (!param->host_memory) {
        return "its memory is not the processor's";
    }
    if (param->peer_mode) {
        return "of error handling mode PEER";
    }
    other.sync = 0;
    if ((param->length <= param->eager_thresh) && why_differs(&other, choice)) {
        return "a synchronous send ends when matched";
    }
    if ((param->host_plane | param->net_plane) == 0) {
        return ri_select_why_no_plane;
    }
    other            = *param;
    other.pool_free  = 1;
    other.hybrid_net = SIZE_MAX;
    if (why_differs(&other, choice)) {
        return "in many pieces, the pool has no room";
    }
    return "only UCX moves data in such pieces";
}

/* Why the sender has to keep a message until it is matched. */
static const char *why_matched_first(const ri_select_param_t *param, ri_choice_t choice)
{
    ri_select_param_t other = *param;

    other.exchanges  = 0;
    other.peer_sends = 0;
    if (param->exchanges && why_differs(&other, choice)) {
        return "both send at once, each reads its own";
    }
    other.awaited      = 0;
    other.rtr_expected = 0;
    if (why_differs(&other, choice)) {
        return "the receiver waits, a copy costs time";
    }
    other.pool_free = 1;
    if (why_differs(&other, choice)) {
        return "the pool is full";
    }
    other.hybrid_thresh = SIZE_MAX;
    other.hybrid_net    = SIZE_MAX;
    if (why_differs(&other, choice)) {
        return ((param->host_plane ? param->hybrid_thresh : param->hybrid_net) == 0) ?
                       "HYBRID_THRESH is 0" :
               (param->hybrid_away > param->hybrid_thresh) ?
                       "it is too long for a receiver away" :
                       "it is longer than HYBRID_THRESH";
    }
    if (param->sync) {
        return "a synchronous send ends when matched";
    }
    return "no receive is known";
}

const char *ri_select_why(const ri_select_param_t *param, ri_choice_t choice)
{
    const ri_send_proto_t *proto = ri_send_protos[choice.proto];

    if (proto->because != NULL) {
        return proto->because;
    }
    if (proto->why != NULL) {
        return proto->why(param);
    }
    return (choice.plane != 0) ? why_matched_first(param, choice) :
                                 why_no_plane(param, choice);
}
