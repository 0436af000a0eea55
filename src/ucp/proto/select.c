/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "select.h"

ri_proto_t ri_select(const ri_select_param_t *param)
{
    if (param->self) {
        return RI_PROTO_SELF;
    }

    /* In mode PEER the receiver may have no way to say that it has read the data. */
    if ((param->length > param->eager_thresh) && param->host_memory &&
        param->plane_read && !param->peer_mode) {
        return RI_PROTO_RNDV_GET;
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
