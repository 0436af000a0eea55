/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A definition changes the tables of both sides in the order of the ring, or of an endpoint: the
 * receiver's when it is written, the sender's when it is read. A layout that the sender has no
 * memory for is not there, and RTRs that name it are as good as lost. The sender refuses it. Then
 * the receiver does not name it, as long as it has its slot.
 */
#include "rtr_layout.h"
#include "../../../ucs/settings.h"
#include "../../core/types/module.h"
#include "../../link/control.h"
#include "../../order/deliver.h"

#include <string.h>

/* @return As layout_find(), of a slot that was found, or is below 0. */
static ucs_status_t layout_found(const ri_layouts_out_t *out, int slot, unsigned *slot_p)
{
    if (slot < 0) {
        return UCS_ERR_NO_ELEM;
    }
    *slot_p = (unsigned)slot;
    return out->slot[slot].refused ? UCS_ERR_UNSUPPORTED : UCS_OK;
}

/* Find the slot of a layout in a table, which is made if need be. @return UCS_OK; UCS_ERR_NO_ELEM:
 * it may have to be defined; another error: it cannot be named. */
static ucs_status_t layout_find(ri_layouts_out_t **out_p, const ri_layout_t *layout,
                                unsigned *slot_p)
{
    if (*out_p == NULL) {
        *out_p = ri_layouts_out_make();
        if (*out_p == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
    }
    return layout_found(*out_p, ri_layouts_out_name(*out_p, layout), slot_p);
}

/* The room that the definition of a layout takes, if that is known, or may take. */
static size_t layout_room(const ri_layout_t *layout, size_t max)
{
    size_t length = ri_layout_wire_definition_length(layout);

    return (length == 0) ? max : length;
}

/* Write the definition of a layout that the table does not have, and look for a layout that is the
 * same. @return As layout_find(); UCS_ERR_NO_ELEM: it is to be sent. */
static ucs_status_t layout_write(ri_layouts_out_t *out, ri_layout_t *layout, size_t max,
                                 uint8_t *bytes, size_t *length_p, unsigned *slot_p)
{
    *length_p = ri_layout_wire_define(layout, bytes);
    if ((*length_p == 0) || (*length_p > max)) {
        return UCS_ERR_UNSUPPORTED;
    }
    return layout_found(out, ri_layouts_out_name_same(out, layout, bytes, *length_p),
                        slot_p);
}

/* Write a definition into a ring, and give a slot to the layout, unless the same one has a slot.
 * @return As ri_rtr_layout_name(). */
static ucs_status_t layout_send(ri_conn_t *conn, ri_layout_t *layout, unsigned *slot_p)
{
    ri_layouts_out_t *out = conn->rtr.ring_layouts_out;
    size_t max            = ri_min(RI_WIRE_LAYOUT_MAX, conn->ring->max_payload);
    size_t room           = layout_room(layout, max);
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    ri_ring_record_t *record;
    ucs_status_t status;
    size_t length;

    if (room > max) {
        return UCS_ERR_UNSUPPORTED;
    }
    if (ri_ring_tx_reserve(conn->ring, room) == NULL) {
        return UCS_ERR_NO_RESOURCE; /* the definition waits, and is not written again and again */
    }
    status = layout_write(out, layout, max, bytes, &length, slot_p);
    if (status != UCS_ERR_NO_ELEM) {
        return status;
    }
    record  = ri_ring_tx_reserve(conn->ring, length);
    *slot_p = ri_layouts_out_next(out);
    ri_layouts_out_set(out, *slot_p, layout);
    memcpy(ri_ring_payload(record, length), bytes, length);
    record->type  = RI_WIRE_LAYOUT;
    record->hint  = 0;
    record->value = out->slot[*slot_p].generation;
    record->extra = *slot_p;
    record->tag   = 0;
    ri_ring_tx_commit(conn->ring, record, length);
    ++conn->counters.tx_control;
    ri_trace(&conn->worker->trace, RI_TRACE_CONTROL_TX, RI_WIRE_LAYOUT, *slot_p);
    return UCS_OK;
}

ucs_status_t ri_rtr_layout_name(ri_conn_t *conn, ri_layout_t *layout,
                                ri_wire_rtr_layout_t *rtr)
{
    unsigned slot       = 0;
    ucs_status_t status = layout_find(&conn->rtr.ring_layouts_out, layout, &slot);

    if (status == UCS_ERR_NO_ELEM) {
        status = layout_send(conn, layout, &slot);
    }
    if (status == UCS_OK) {
        rtr->slot       = (uint16_t)slot;
        rtr->generation = conn->rtr.ring_layouts_out->slot[slot].generation;
    }
    return status;
}

/* Tell the receiver that a definition is not kept: RTRs that name it would be of no use. */
static void layout_refuse(ri_peer_t *peer, uint32_t id, uint32_t slot,
                          uint32_t generation, uint32_t flags)
{
    ri_wire_msg_t msg = {.type    = RI_WIRE_LAYOUT_REFUSED,
                         .id      = id,
                         .defined = generation,
                         .slot    = (uint16_t)slot,
                         .flags   = flags};

    ri_control_send_message(peer, &msg);
}

/* Keep a layout that was defined, or NULL if that is not possible, in a table that is made if need
 * be. @return UCS_OK; UCS_ERR_NO_MEMORY: it is not kept; UCS_ERR_INVALID_PARAM: it is stale. */
static ucs_status_t layout_keep(ri_layouts_in_t **in_p, uint32_t slot,
                                uint32_t generation, ri_layout_t *layout)
{
    if (*in_p == NULL) {
        *in_p = ri_layouts_in_make();
        if (*in_p == NULL) {
            ri_layout_put(layout);
            return UCS_ERR_NO_MEMORY;
        }
    }
    if (!ri_layouts_in_define(*in_p, slot, generation, layout)) {
        return UCS_ERR_INVALID_PARAM;
    }
    return (layout != NULL) ? UCS_OK : UCS_ERR_NO_MEMORY;
}

int ri_rtr_layout_receive(ri_stream_t *stream, const ri_ring_record_t *record,
                          uint32_t length)
{
    uint32_t slot       = __atomic_load_n(&record->extra, __ATOMIC_RELAXED);
    uint32_t generation = __atomic_load_n(&record->value, __ATOMIC_RELAXED);
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    ri_layout_t *layout;
    ucs_status_t status;
    int malformed;

    ++stream->worker->counters.rx_control;
    if ((slot >= RI_WIRE_LAYOUTS) || (length > sizeof(bytes))) {
        return 0;
    }
    memcpy(bytes, ri_ring_payload(record, length), length);
    layout = ri_layout_wire_parse(bytes, length, &malformed);
    if (malformed) {
        return 0;
    }
    status = layout_keep(&stream->rtr.ring_layouts_in, slot, generation, layout);
    if (status == UCS_ERR_NO_MEMORY) {
        layout_refuse(stream->peer, stream->remote_conn_id, slot, generation, 0);
    }
    stream->worker->counters.rx_stale += (status == UCS_ERR_INVALID_PARAM);
    return 1;
}

/* Send a definition by active message, and give a slot to the layout, unless the same one has a
 * slot. @return As ri_rtr_layout_name_net(). */
static ucs_status_t layout_send_net(ri_stream_t *stream, ri_conn_t *conn,
                                    ri_layout_t *layout, unsigned *slot_p)
{
    ri_layouts_out_t *out = stream->rtr.net_layouts_out;
    size_t max            = ri_min(RI_WIRE_LAYOUT_MAX, ri_config.eager_thresh);
    ri_wire_msg_t msg     = {.type = RI_WIRE_LAYOUT, .id = stream->remote_conn_id};
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    ucs_status_t status;
    size_t length;

    /* Instead of an endpoint that is left, another one may carry the RTR, and before that. */
    if ((layout_room(layout, max) > max) || (conn->flags & RI_CONN_LEFT) ||
        !ri_control_has_room(conn)) {
        return UCS_ERR_UNSUPPORTED;
    }
    status = layout_write(out, layout, max, bytes, &length, slot_p);
    if (status != UCS_ERR_NO_ELEM) {
        return status;
    }
    *slot_p = ri_layouts_out_next(out);
    ri_layouts_out_set(out, *slot_p, layout);
    msg.slot    = (uint16_t)*slot_p;
    msg.defined = out->slot[*slot_p].generation;
    status      = ri_control_send_payload(conn, &msg, bytes, length);
    if (status != UCS_OK) {
        ri_layouts_out_unset(out, *slot_p);
        return UCS_ERR_UNSUPPORTED;
    }
    return UCS_OK;
}

ucs_status_t ri_rtr_layout_name_net(ri_stream_t *stream, ri_conn_t *conn,
                                    ri_layout_t *layout, ri_wire_msg_t *rtr)
{
    unsigned slot       = 0;
    ucs_status_t status = layout_find(&stream->rtr.net_layouts_out, layout, &slot);

    if (status == UCS_ERR_NO_ELEM) {
        status = layout_send_net(stream, conn, layout, &slot);
    }
    if (status == UCS_OK) {
        rtr->slot    = (uint16_t)slot;
        rtr->defined = stream->rtr.net_layouts_out->slot[slot].generation;
    }
    return status;
}

void ri_rtr_layout_handle(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_layout_t *layout;
    ucs_status_t status;
    int malformed;

    if ((conn->status != UCS_OK) || (conn->rtr.words == NULL)) {
        ++worker->counters.rx_stale;
        return;
    }
    layout = ri_layout_wire_parse(msg->payload, msg->length, &malformed);
    if (malformed) {
        ri_deliver_malformed(worker, "by active message", RI_WIRE_LAYOUT, msg->length);
        return;
    }
    status = layout_keep(&conn->rtr.net_layouts_in, msg->slot, msg->defined, layout);
    if ((status == UCS_ERR_NO_MEMORY) && (conn->remote_id != 0)) {
        layout_refuse(conn->peer, conn->remote_id, msg->slot, msg->defined,
                      RI_WIRE_LAYOUT_REFUSED_AM);
    }
    worker->counters.rx_stale += (status == UCS_ERR_INVALID_PARAM);
}

void ri_rtr_layout_handle_refused(ri_worker_t *worker, const ri_wire_msg_t *msg)
{
    const ri_stream_t *stream = NULL;
    const ri_conn_t *conn     = NULL;
    ri_layouts_out_t *out;

    if (msg->flags & RI_WIRE_LAYOUT_REFUSED_AM) {
        stream = ri_id_get(&worker->ids.streams, msg->id);
    } else {
        conn = ri_id_get(&worker->ids.conns, msg->id);
    }
    out = (stream != NULL) ? stream->rtr.net_layouts_out :
          (conn != NULL)   ? conn->rtr.ring_layouts_out :
                             NULL;
    if ((out == NULL) || !ri_layouts_out_refuse(out, msg->slot, msg->defined)) {
        ++worker->counters.rx_stale;
    }
}

const ri_layout_use_t *ri_rtr_layout_find_net(ri_conn_t *conn, const ri_wire_msg_t *rtr)
{
    ri_layouts_in_t *in = conn->rtr.net_layouts_in;
    ri_layout_t *layout = (in != NULL) ? ri_layouts_in_find(in, rtr->slot, rtr->defined) :
                                         NULL;

    if ((layout == NULL) ||
        !ri_layout_wire_may_be_at(layout, rtr->count, rtr->address, rtr->rtr_length)) {
        ++conn->worker->counters.rx_stale;
        return NULL;
    }
    return ri_layouts_in_use(in, rtr->entry, layout, rtr->count);
}

int ri_rtr_layout_find(const ri_stream_t *stream, const ri_wire_rtr_layout_t *rtr,
                       ri_layout_t **layout_p)
{
    *layout_p = NULL;
    if (rtr->slot >= RI_WIRE_LAYOUTS) {
        return 0;
    }
    if (stream->rtr.ring_layouts_in != NULL) {
        *layout_p = ri_layouts_in_find(stream->rtr.ring_layouts_in, rtr->slot,
                                       rtr->generation);
    }
    return (*layout_p == NULL) ||
           ri_layout_wire_may_be_at(*layout_p, rtr->count, rtr->rtr.address,
                                    rtr->rtr.length);
}

static void layout_ring_tx_closes(ri_conn_t *conn)
{
    ri_layouts_out_free(conn->rtr.ring_layouts_out);
    conn->rtr.ring_layouts_out = NULL;
}

static void layout_ring_rx_closes(ri_stream_t *stream)
{
    ri_layouts_in_free(stream->rtr.ring_layouts_in);
    stream->rtr.ring_layouts_in = NULL;
}

static void layout_conn_freed(ri_conn_t *conn)
{
    ri_layouts_in_free(conn->rtr.net_layouts_in);
}

static void layout_stream_freed(ri_stream_t *stream)
{
    ri_layouts_out_free(stream->rtr.net_layouts_out);
}

/* RTRs that name them are gone by then (rtr_known.c). */
const ri_module_t ri_module_rtr_layout = {.name           = "rtr_layout",
                                          .conn_freed     = layout_conn_freed,
                                          .stream_freed   = layout_stream_freed,
                                          .ring_tx_closes = layout_ring_tx_closes,
                                          .ring_rx_closes = layout_ring_rx_closes};
