/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A definition changes the tables of both sides in the order of the ring: the receiver's when it is
 * written, the sender's when it is read. A layout that the sender has no memory for is not there,
 * and RTRs that name it are as good as lost.
 */
#include "rtr_layout.h"
#include "../../core/module.h"
#include "../../link/control.h"
#include "../../order/deliver.h"

#include <string.h>

/* Write a definition into a ring, and give its slot to the layout. */
static ucs_status_t layout_send(ri_conn_t *conn, ri_layout_t *layout, unsigned slot)
{
    ri_layouts_out_t *out = conn->rtr.layouts;
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    size_t length = ri_layout_define(layout, bytes);
    ri_ring_record_t *record;

    if ((length == 0) || (length > conn->ring->max_payload)) {
        return UCS_ERR_UNSUPPORTED;
    }
    record = ri_ring_tx_reserve(conn->ring, length);
    if (record == NULL) {
        return UCS_ERR_NO_RESOURCE;
    }
    ri_layouts_out_set(out, slot, layout);
    memcpy(ri_ring_payload(record, length), bytes, length);
    record->type  = RI_WIRE_LAYOUT;
    record->hint  = 0;
    record->value = out->slot[slot].generation;
    record->extra = slot;
    record->tag   = 0;
    ri_ring_tx_commit(conn->ring, record, length);
    ++conn->counters.tx_control;
    ri_trace(&conn->worker->trace, RI_TRACE_CONTROL_TX, RI_WIRE_LAYOUT, slot);
    return UCS_OK;
}

ucs_status_t ri_rtr_layout_name(ri_conn_t *conn, ri_layout_t *layout,
                                ri_wire_rtr_layout_t *rtr)
{
    ucs_status_t status;
    int slot;

    if (conn->rtr.layouts == NULL) {
        conn->rtr.layouts = ri_layouts_out_make();
        if (conn->rtr.layouts == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
    }
    slot = ri_layouts_out_name(conn->rtr.layouts, layout);
    if (slot < 0) {
        slot   = (int)ri_layouts_out_next(conn->rtr.layouts);
        status = layout_send(conn, layout, (unsigned)slot);
        if (status != UCS_OK) {
            return status;
        }
    }
    rtr->slot       = (uint16_t)slot;
    rtr->generation = conn->rtr.layouts->slot[slot].generation;
    return UCS_OK;
}

int ri_rtr_layout_receive(ri_stream_t *stream, const ri_ring_record_t *record,
                          uint32_t length)
{
    uint32_t slot       = __atomic_load_n(&record->extra, __ATOMIC_RELAXED);
    uint32_t generation = __atomic_load_n(&record->value, __ATOMIC_RELAXED);
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    ri_layout_t *layout;
    int malformed;

    ++stream->worker->counters.rx_control;
    if ((slot >= RI_WIRE_LAYOUTS) || (length > sizeof(bytes))) {
        return 0;
    }
    memcpy(bytes, ri_ring_payload(record, length), length);
    layout = ri_layout_parse(bytes, length, &malformed);
    if (malformed) {
        return 0;
    }
    if (stream->rtr.layouts == NULL) {
        stream->rtr.layouts = ri_layouts_in_make();
    }
    if (stream->rtr.layouts == NULL) {
        ri_layout_put(layout);
    } else if (!ri_layouts_in_define(stream->rtr.layouts, slot, generation, layout)) {
        ++stream->worker->counters.rx_stale;
    }
    return 1;
}

/* Find the slot of a layout in a table, which is made if need be.
 *
 * @param defined_p  Set to whether the layout has the slot; else it is the one that it gets.
 *
 * @return The slot; below 0: there is no memory. */
static int layout_find_slot(ri_layouts_out_t **out_p, const ri_layout_t *layout,
                            int *defined_p)
{
    int slot;

    if (*out_p == NULL) {
        *out_p = ri_layouts_out_make();
        if (*out_p == NULL) {
            return -1;
        }
    }
    slot       = ri_layouts_out_name(*out_p, layout);
    *defined_p = (slot >= 0);
    return (slot >= 0) ? slot : (int)ri_layouts_out_next(*out_p);
}

ucs_status_t ri_rtr_layout_name_net(ri_stream_t *stream, ri_conn_t *conn,
                                    ri_layout_t *layout, ri_wire_msg_t *rtr)
{
    ri_wire_msg_t msg = {.type = RI_WIRE_LAYOUT, .id = stream->remote_conn_id};
    uint8_t bytes[RI_WIRE_LAYOUT_MAX];
    ucs_status_t status;
    size_t length;
    int defined;
    int slot = layout_find_slot(&stream->rtr.layouts_out, layout, &defined);

    if (slot < 0) {
        return UCS_ERR_NO_MEMORY;
    }
    if (conn->flags & RI_CONN_LEFT) {
        return UCS_ERR_UNSUPPORTED; /* another one may carry the RTR before */
    }
    if (!defined) {
        length = ri_layout_define(layout, bytes);
        if (length == 0) {
            return UCS_ERR_UNSUPPORTED;
        }
        msg.slot    = (uint16_t)slot;
        msg.defined = stream->rtr.layouts_out->slot[slot].generation + 1;
        ri_layouts_out_set(stream->rtr.layouts_out, (unsigned)slot, layout);
        status = ri_control_send_payload(conn, &msg, bytes, length);
        if (status != UCS_OK) {
            ri_layouts_out_unset(stream->rtr.layouts_out, (unsigned)slot);
            return UCS_ERR_UNSUPPORTED;
        }
    }
    rtr->slot    = (uint16_t)slot;
    rtr->defined = stream->rtr.layouts_out->slot[slot].generation;
    return UCS_OK;
}

void ri_rtr_layout_handle(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_layout_t *layout;
    int malformed;

    if ((conn->status != UCS_OK) || (conn->rtr.words == NULL)) {
        ++worker->counters.rx_stale;
        return;
    }
    layout = ri_layout_parse(msg->payload, msg->length, &malformed);
    if (malformed) {
        ri_deliver_malformed(worker, "by active message", RI_WIRE_LAYOUT, msg->length);
        return;
    }
    if (conn->rtr.layouts_in == NULL) {
        conn->rtr.layouts_in = ri_layouts_in_make();
    }
    if (conn->rtr.layouts_in == NULL) {
        ri_layout_put(layout);
    } else if (!ri_layouts_in_define(conn->rtr.layouts_in, msg->slot, msg->defined,
                                     layout)) {
        ++worker->counters.rx_stale;
    }
}

const ri_layout_use_t *ri_rtr_layout_find_net(ri_conn_t *conn, const ri_wire_msg_t *rtr)
{
    ri_layouts_in_t *in = conn->rtr.layouts_in;
    ri_layout_t *layout = (in != NULL) ? ri_layouts_in_find(in, rtr->slot, rtr->defined) :
                                         NULL;

    if ((layout == NULL) ||
        !ri_layout_may_be_at(layout, rtr->count, rtr->address, rtr->rtr_length)) {
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
    if (stream->rtr.layouts != NULL) {
        *layout_p = ri_layouts_in_find(stream->rtr.layouts, rtr->slot, rtr->generation);
    }
    return (*layout_p == NULL) ||
           ri_layout_may_be_at(*layout_p, rtr->count, rtr->rtr.address, rtr->rtr.length);
}

static void layout_ring_tx_closes(ri_conn_t *conn)
{
    ri_layouts_out_free(conn->rtr.layouts);
    conn->rtr.layouts = NULL;
}

static void layout_ring_rx_closes(ri_stream_t *stream)
{
    ri_layouts_in_free(stream->rtr.layouts);
    stream->rtr.layouts = NULL;
}

static void layout_conn_freed(ri_conn_t *conn)
{
    ri_layouts_in_free(conn->rtr.layouts_in);
}

static void layout_stream_freed(ri_stream_t *stream)
{
    ri_layouts_out_free(stream->rtr.layouts_out);
}

/* RTRs that name them are gone by then (rtr_known.c). */
const ri_module_t ri_module_rtr_layout = {.name           = "rtr_layout",
                                          .conn_freed     = layout_conn_freed,
                                          .stream_freed   = layout_stream_freed,
                                          .ring_tx_closes = layout_ring_tx_closes,
                                          .ring_rx_closes = layout_ring_rx_closes};
