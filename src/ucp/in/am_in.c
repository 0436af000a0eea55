/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The two most frequent short messages are tried first (am_in_fast). All others are parsed by the
 * table of wire/types.c and handed over by that of in/handlers.c.
 */
#include "am_in.h"
#include "control_in.h"
#include "sequence_in.h"
#include "../core/types/handler.h"
#include "../link/ring_life.h"
#include "../order/deliver.h"
#include "../../ucs/log.h"

/* The most frequent message: of a stream that knows its sender, header and payload
 * together, and its receive is posted or it is short. The same checks as ri_wire_parse()
 * makes for these types, and no more work. @return 0 if this is anything else. */
static inline int am_in_fast(ri_worker_t *worker, const void *data, size_t length)
{
    const ri_wire_eager_t *header = data;
    size_t header_length;
    ri_stream_t *stream;
    uint64_t base, tag = 0;
    uint32_t sn;
    uint8_t type;
    int done;

    if (length < sizeof(base)) {
        return 0;
    }
    memcpy(&base, data, sizeof(base)); /* a ri_wire_base_t, by one load */
    type = (uint8_t)base;
    sn   = base >> 32;
    if (type == RI_WIRE_EAGER_SAME) {
        header_length = sizeof(header->base);
    } else if ((type == RI_WIRE_EAGER) && (length >= sizeof(*header))) {
        header_length = sizeof(*header);
        tag           = header->tag;
    } else {
        return 0;
    }

    stream = ri_id_get(&worker->ids.streams, (uint32_t)base >> 8);
    if (ri_unlikely(stream == NULL)) {
        return 0;
    }
    data = (const uint8_t *)data + header_length;
    length -= header_length;
    ++stream->busy;
    done = ri_deliver_fast(stream, type, sn, tag, data, length);
    if (ri_unlikely(!done && (length <= RI_SEQUENCE_IN_COPY_MAX))) {
        ri_deliver_plain(stream, type, sn, tag, data, length);
        done = 1;
    }
    if (ri_likely(done)) {
        ri_ring_life_note_am(stream);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
    return done;
}

/* A message that is none. */
static void am_in_malformed(ri_worker_t *worker, const ri_wire_msg_t *msg,
                            ucs_status_t status, uint8_t type, size_t length)
{
    if ((status == UCS_ERR_UNSUPPORTED) && !worker->version_reported) {
        worker->version_reported = 1;
        ri_error("a peer speaks wire version %u of ucxri, this process version %u: "
                 "all processes of a job must load the same libucxri.so",
                 msg->hello.version, RI_WIRE_VERSION);
    }
    ri_deliver_malformed(worker, "by active message", type, length);
}

/* The stream that a message belongs to: named by id, or introduced by a hello. @return NULL: there
 * is none (any more). */
static ri_stream_t *am_in_stream(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    ri_stream_t *stream = ri_unlikely(msg->has_hello) ?
                                  ri_stream_get(worker, &msg->hello) :
                                  ri_id_get(&worker->ids.streams, msg->id);

    if (ri_unlikely(stream == NULL)) {
        ++worker->counters.rx_stale;
        ri_trace(&worker->trace, RI_TRACE_DROPPED, msg->type, msg->id);
    }
    return stream;
}

static ucs_status_t am_in(ri_worker_t *worker, const void *header, size_t header_length,
                          void *data, size_t length, const ucp_am_recv_param_t *param)
{
    int is_elsewhere    = !!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV);
    ri_with_am_t with   = {.data = data, .recv_attr = param->recv_attr};
    ri_stream_t *stream = NULL;
    const ri_handler_t *handler;
    ri_wire_msg_t msg;
    ucs_status_t status;

    status = ri_wire_parse(header, header_length, data, length, is_elsewhere, &msg);
    if (ri_unlikely(status != UCS_OK)) {
        am_in_malformed(worker, &msg, status,
                        (header_length > 0) ? *(const uint8_t *)header : 0, length);
        return UCS_OK;
    }

    handler = &ri_handlers[msg.type];
    if (handler->from_am == NULL) {
        ri_control_in(worker, &msg);
        return UCS_OK;
    }
    if (ri_wire_rows[msg.type].to == RI_WIRE_TO_STREAM) {
        stream = am_in_stream(worker, &msg);
        if (ri_unlikely(stream == NULL)) {
            return UCS_OK;
        }
    }
    if (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) {
        with.reply_ep = param->reply_ep;
    }
    return handler->from_am(worker, stream, &msg, &with);
}

ucs_status_t ri_am_in(void *arg, const void *header, size_t header_length, void *data,
                      size_t length, const ucp_am_recv_param_t *param)
{
    ri_worker_t *worker = arg;
    ucs_status_t status = UCS_OK;

    if (ri_unlikely(worker->destroyed)) {
        return UCS_OK;
    }

    ri_worker_lock(worker);
    if (ri_unlikely((header_length != 0) ||
                    (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) ||
                    !am_in_fast(worker, data, length))) {
        status = am_in(worker, header, header_length, data, length, param);
    }
    ri_worker_unlock(worker);
    return status;
}
