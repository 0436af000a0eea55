/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "select.h"

/* What is above EAGER_THRESH and moved by a data plane. @return RI_PROTO_BULK if no plane
 * can. */
static ri_proto_t select_plane(const ri_select_param_t *param)
{
    int both = param->plane_read && param->plane_write && param->pieces;
    int put;

    if (both && param->has_slot && (param->length >= param->coop_thresh)) {
        return RI_PROTO_COOP;
    }
    if (param->receiver_early && param->plane_write && param->pieces) {
        return RI_PROTO_RECV_RNDV;
    }
    /* A synchronous send has to wait for its receive: there is nothing to be gained. */
    if (param->plane_read && param->has_pool && !param->sync &&
        (param->length <= param->hybrid_thresh)) {
        return RI_PROTO_HYBRID;
    }

    /* The scheme is a wish: the other one is still better than UCP. */
    put = param->plane_write &&
          ((param->scheme == RI_SENDER_SCHEME_PUT) || !param->plane_read);
    if (put && param->pieces) {
        return RI_PROTO_RNDV_PUT;
    }
    return (param->plane_read && param->pieces) ? RI_PROTO_RNDV_GET : RI_PROTO_BULK;
}

ri_proto_t ri_select(const ri_select_param_t *param)
{
    ri_proto_t proto;

    if (param->self) {
        return RI_PROTO_SELF;
    }

    /* In mode PEER the receiver may have no way to say that it has read the data. */
    if ((param->length > param->eager_thresh) && param->host_memory &&
        !param->peer_mode) {
        proto = select_plane(param);
        if (proto != RI_PROTO_BULK) {
            return proto;
        }
    }

    /* What is not host memory must not be touched by the processor: UCP moves it. */
    if ((param->length > param->eager_thresh) || !param->host_memory) {
        return param->sync ? RI_PROTO_BULK_RNDV : RI_PROTO_BULK;
    }

    /* A receiver that has no endpoint to this process may have none by the time that it
     * matches the message, see RI_WIRE_CONN_REQ_PEER. UCP's rendezvous needs none. */
    if (param->sync && param->peer_mode) {
        return RI_PROTO_BULK_RNDV;
    }

    if (param->has_ring && (param->length <= param->ring_max)) {
        return RI_PROTO_EAGER_RING;
    }

    /* The first messages of a connection must not wait for an answer of the peer: it may be
     * busy, and so may soon be the sender. UCP would wait for one before anything but the
     * shortest active message. */
    if (!param->am_ready &&
        (param->length >
         (param->has_hello ? (size_t)RI_SELECT_SHORT_HELLO : RI_SELECT_SHORT))) {
        return RI_PROTO_EAGER_FRAGS;
    }

    /* A synchronous header does not fit a short message's cache line anyway, and its
     * request exists already. */
    if (param->contig && (param->length > param->am_inline)) {
        return RI_PROTO_EAGER_GATHER;
    }
    return RI_PROTO_EAGER_COPY;
}
