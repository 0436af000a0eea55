/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends by channels through a network. (channel_life.h)
 */
#ifndef RI_CHANNEL_SEND_H
#define RI_CHANNEL_SEND_H

#include "channel_types.h"
#include "../core/types/conn_types.h"
#include "../core/types/request.h"

/** @return Whether anything that was sent by the channel of a conn may still be lost with this
 * process. */
static inline int ri_channel_send_is_busy(const ri_conn_t *conn)
{
    return (conn->channel != NULL) && (conn->channel->tx.acked != conn->channel->tx.pos);
}

/** @return Whether anything that was sent by any channel of a worker may still be lost with this
 * process. */
int ri_channel_send_is_any_busy(const ri_worker_t *worker);

/** @return Whether an eager message of that length may go by the channel of @a conn, if it has
 * one, and finds room there now. */
int ri_channel_send_can(const ri_conn_t *conn, size_t length);

/** Send a contiguous message, whose data is copied, without a request: it takes the next number.
 * @return 1: it is sent, and if the write fails it is sent again. 0: it has to go another way,
 * and took no number. */
int ri_channel_send_put(ri_conn_t *conn, const void *data, size_t length, uint64_t tag);

/** Send the message of a request, which has its number and its wire_type. Its data is copied:
 * nothing is waited for. @return 1: it is sent. 0: it has to go another way. */
int ri_channel_send(ri_send_req_t *req);

/** Send the message of a request, which has its number and its wire_type, with a copy of @a
 * payload in place of its data, and with @a id, of the request or of its pool buffer. @return 1:
 * it is sent. 0: it has to go another way. */
int ri_channel_send_payload(ri_send_req_t *req, uint32_t id, const void *payload,
                            size_t length);

/**
 * Send a control message, if it is of a kind that may go by a channel and @a conn has one.
 *
 * @param message  As it would go by active message: a base header and what follows it. It is
 *                 copied.
 * @param length   Of the message, in bytes.
 *
 * @return 1: it is sent. 0: it has to go another way.
 */
int ri_channel_send_control(ri_conn_t *conn, const void *message, size_t length);

#endif
