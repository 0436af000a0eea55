/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The handlers of messages that have come, by their wire type. in/handlers.c has the table. The
 * files of in/ that take messages out of active messages, rings and channels look into it, and know
 * few types by name. What a type is, and how it may travel, is in the table of wire/types.c: a type
 * that comes by a route that it may not take is refused before anybody looks here.
 *
 * A control message has one handler, `to_stream` or `to_conn`, whatever it has come by. A record
 * of a ring or a channel differs from an active message in two respects: its payload may change
 * while it is read, and it may have another form. Types for which that matters have a handler of
 * records.
 *
 * A handler may be called at any time, any number of times: what does not fit the state is
 * counted and ignored. It may call back into the application.
 */
#ifndef RI_HANDLER_H
#define RI_HANDLER_H

#include "types.h"

#include "../../wire/msg.h"
#include "../../../uct/ib/rc/rc_channel.h"
#include "../../../uct/shm/ring.h"

/* The arguments of an active message, besides its header and its data. */
typedef struct ri_with_am {
    void *data; /* the data, or the descriptor of data that is still at the sender */
    /* UCP_AM_RECV_ATTR_*: whether `data` may be kept, and what it is */
    uint64_t recv_attr;
    ucp_ep_h reply_ep; /* UCX's endpoint to the sender; NULL: there is none */
} ri_with_am_t;

/* The handlers of one type. */
typedef struct ri_handler {
    /**
     * Take an active message that needs what came with it, or has no other handler: messages in
     * sequence, their pieces, and CONN_REQ. NULL: the type has `to_stream` or `to_conn`.
     *
     * @param stream  The one that is addressed, by an id or a hello; NULL if the type is not
     *                addressed to a stream.
     *
     * @return UCS_INPROGRESS if with->data was kept, else UCS_OK.
     */
    ucs_status_t (*from_am)(ri_worker_t *worker, ri_stream_t *stream,
                            const ri_wire_msg_t *msg, const ri_with_am_t *with);

    /** Take a control message that is addressed to @a stream. */
    void (*to_stream)(ri_stream_t *stream, const ri_wire_msg_t *msg);

    /** Take a control message that is addressed to @a conn; NULL if that is gone, and the type is
     * RI_WIRE_TO_CONN_OR_NONE. */
    void (*to_conn)(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

    /**
     * Take a record of a ring of @a stream, whose busy is not 0. The record is still in the
     * ring; the ring may be gone afterwards. NULL: the type is a control message without fields,
     * which `to_stream` or `to_conn` takes.
     *
     * @param type    Of the record, read once.
     * @param length  Of its payload, read once.
     *
     * @return 0 if the record breaks the protocol.
     */
    int (*from_ring)(ri_stream_t *stream, const ri_ring_record_t *record, uint8_t type,
                     uint32_t length);

    /**
     * Take a record of the channel of @a stream, whose busy is not 0. NULL: the type is a control
     * message, whose fields are the payload, and which `to_stream` or `to_conn` takes.
     *
     * @param header  A copy of the record's header.
     *
     * @return 0 if the record breaks the protocol.
     */
    int (*from_channel)(ri_stream_t *stream, const ri_channel_record_t *header,
                        const void *payload);

    /** Take a NACK that is about a message of this type, which this side has sent by @a conn. NULL:
     * no NACK is about such messages (ri_wire_nack_type()). */
    void (*nacked)(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);
} ri_handler_t;

/* The handlers of all types, by ri_wire_type_t (in/handlers.c). */
extern const ri_handler_t ri_handlers[RI_WIRE_TYPE_LAST];

#endif
