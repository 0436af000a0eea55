/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where several facts may have decided, each is changed in a copy, and the choice is made once
 * more: if it is another one, that fact is why. So no rule of the choice stands here a second time.
 */
#include "select_why.h"

#include <stddef.h>
#include <stdint.h>

const char ri_select_why_no_plane[] = "there is no direct copy, and no RDMA";

const char *ri_select_name(ri_proto_t proto)
{
    return ri_send_protos[proto]->called;
}

const char *ri_select_what(ri_choice_t choice)
{
    int net = !!(choice.plane & RI_PLANE_KEYS);

    switch (choice.proto) {
    case RI_PROTO_SELF:
        return "one copy within the process";
    case RI_PROTO_EAGER_RING:
        return "a ring in shared memory";
    case RI_PROTO_EAGER_RDMA:
        return "a write into the channel";
    case RI_PROTO_EAGER_COPY:
    case RI_PROTO_EAGER_GATHER:
        return "one active message of UCX";
    case RI_PROTO_EAGER_FRAGS:
        return "short active messages of UCX";
    case RI_PROTO_POOL:
        return net ? "a copy to the pool, read by RDMA" :
                     "a copy to the pool, read there";
    case RI_PROTO_RTR_HOST:
        return "the sender writes into the receive";
    case RI_PROTO_RTR_NET:
        return "one RDMA write into the receive";
    case RI_PROTO_RTR_POOL:
        return "a copy, and an RDMA write of it";
    case RI_PROTO_RTR_UD:
    case RI_PROTO_RNDV_UD:
        return "datagrams into the receive";
    case RI_PROTO_RTR_COOP:
        return "both sides copy, with an RTR";
    case RI_PROTO_COOP:
        return "both sides copy";
    case RI_PROTO_RNDV_GET:
        return net ? "the receiver reads by RDMA" : "the receiver reads";
    case RI_PROTO_RNDV_PUT:
        return net ? "the sender writes by RDMA" : "the sender writes when told";
    default:
        return "UCX, as it chooses";
    }
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

/* Why nothing is known of a receive, of a message that does not wait for one. */
static const char *why_sender_goes_on(const ri_select_param_t *param)
{
    if ((param->host_plane != 0) && (param->length > param->hybrid_thresh)) {
        return "the receiver is away, as it has said";
    }
    if (ri_config.rtr == UCS_NO) {
        return "RTR is n, and the sender goes on";
    }
    if ((param->host_plane != 0) && !param->has_ring) {
        return "no ring for RTRs, the sender goes on";
    }
    return "no receive is known, the sender goes on";
}

static const char *why_active_message(const ri_select_param_t *param)
{
    if (param->has_ring) {
        return "it is too long for the pair's ring";
    }
    return "it is short, and there is no ring";
}

const char *ri_select_why(const ri_select_param_t *param, ri_choice_t choice)
{
    switch (choice.proto) {
    case RI_PROTO_SELF:
        return "it is to the own process";
    case RI_PROTO_EAGER_RING:
        return (param->length <= param->eager_thresh) ? "it is up to EAGER_THRESH" :
                                                        "two copies beat a system call";
    case RI_PROTO_EAGER_RDMA:
        return "it is up to IB_EAGER_MAX";
    case RI_PROTO_EAGER_COPY:
    case RI_PROTO_EAGER_GATHER:
        return why_active_message(param);
    case RI_PROTO_EAGER_FRAGS:
        return "UCX has not set its connection up";
    case RI_PROTO_POOL:
        return why_sender_goes_on(param);
    case RI_PROTO_RTR_POOL:
        return "it has an RTR, and the sender goes on";
    case RI_PROTO_RTR_HOST:
    case RI_PROTO_RTR_NET:
    case RI_PROTO_RTR_UD:
        return "it has an RTR";
    case RI_PROTO_RTR_COOP:
        return "the sender begins, two are faster";
    case RI_PROTO_COOP:
        return param->exchanges ? "both send at once, the first copies" :
                                  "two copy faster than one";
    case RI_PROTO_RNDV_GET:
        return why_matched_first(param, choice);
    case RI_PROTO_RNDV_PUT:
        return (param->scheme == RI_SENDER_SCHEME_PUT) ? "SENDER_SCHEME is put" :
                                                         "the receiver cannot read";
    case RI_PROTO_RNDV_UD:
        return "no receive is known: it is matched first";
    default:
        return why_no_plane(param, choice);
    }
}
