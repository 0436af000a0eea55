/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions for a message that waits, or has met its receive, by its kind (ri_msg_kind_t). A
 * kind that is the matter of a protocol has its table at the end of a file of that; proto/msg_ops.c
 * lists the tables.
 *
 * A message arrives, is kept if it has to wait, and then starts its receive (`start`, then `done`
 * if it was kept) or is given up (`discard`).
 */
#ifndef RI_MSG_KIND_H
#define RI_MSG_KIND_H

#include "msg_types.h"

#include <stddef.h>

/* A message on its way to its receive, or to where it waits (order/arrival.h). */
typedef struct ri_arrival ri_arrival_t;

/* The table of a kind. */
typedef struct ri_msg_ops {
    /**
     * Get the data into its receive.
     *
     * @param stream   That the message came by; NULL: it is this worker's own, or its stream is of
     *                 no importance.
     * @param arrival  Its desc is to be set to NULL if UCP has taken that over.
     *
     * @return The status of the receive, or UCS_INPROGRESS if it ends later.
     */
    ucs_status_t (*start)(ri_recv_req_t *recv, ri_stream_t *stream,
                          ri_arrival_t *arrival);

    /** @return How many bytes of arrival->data a message gets that is kept. NULL: none. Not asked
     * of the kind COPY, whose messages get all of it. */
    size_t (*size)(const ri_arrival_t *arrival);

    /** A message is kept, with all that the arrival has: tell the send of this worker that waits
     * for its receive. NULL: no send of this worker waits for a message of this kind. */
    void (*keep)(ri_msg_t *msg, const ri_arrival_t *arrival);

    /** `start` has returned for a message that was kept, and whose memory is freed by now: tell the
     * send of this worker that waits for its receive. Calls back. NULL: no send of this worker
     * waits for a message of this kind. */
    void (*done)(const ri_arrival_t *arrival);

    /** Nobody will receive a message that was kept; its memory is the caller's to free. By this any
     * conn may end. NULL: its sender need not know. */
    void (*discard)(const ri_msg_t *msg);

    /* The data is in the memory of a receive, or on its way there, as the receive had promised that
     * memory to the sender (order/promises.h). `start` checks that it was promised to this
     * message. */
    uint8_t is_placed;

    /* The data is at the sender: the receive ends later, when it has been fetched. */
    uint8_t is_elsewhere;

    /* The payload is in this process while the message waits, and counts among the held bytes
     * (core/msg.h). */
    uint8_t is_held;

    /* The message has a descriptor of UCP's, which is kept, and released when the message ends. */
    uint8_t has_desc;

    /* `start` answers the sender, also if the receive is too short. */
    uint8_t answers;
} ri_msg_ops_t;

/* The tables of all kinds, by ri_msg_kind_t (proto/msg_ops.c). */
extern const ri_msg_ops_t *const ri_msg_ops[RI_MSG_KIND_LAST];

#endif
