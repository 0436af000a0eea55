/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of wire types. test/check/protocol.test compares it with the tables of protocol.md,
 * sections 3 and 6.
 */
#include "types.h"
#include "check.h"

#include <stdio.h>

#define SIZE_OF(_form, _name) sizeof(((_form *)0)->_name)

/* 1; does not compile if the member of ri_wire_msg_t has no room for the field. */
#define HAS_ROOM(_form, _name, _member) \
    sizeof(char[(SIZE_OF(ri_wire_msg_t, _member) >= SIZE_OF(_form, _name)) ? 1 : -1])

/* A field whose values are from _min to _max; _max 0: all values are well. */
#define FIELD_WITHIN(_form, _name, _member, _min, _max) \
    { \
#_name, offsetof(_form, _name), \
                SIZE_OF(_form, _name) * HAS_ROOM(_form, _name, _member), \
                offsetof(ri_wire_msg_t, _member), _min, _max \
    }

#define FIELD(_form, _name, _member) FIELD_WITHIN(_form, _name, _member, 0, 0)

#define RESERVED(_form) \
    { \
        "reserved", offsetof(_form, reserved), SIZE_OF(_form, reserved), \
                RI_WIRE_RESERVED, 0, 0 \
    }

static const ri_wire_field_t eager_fields[] = {FIELD(ri_wire_eager_t, tag, tag)};

static const ri_wire_field_t eager_sync_fields[] = {
        FIELD(ri_wire_eager_sync_t, tag, tag),
        FIELD(ri_wire_eager_sync_t, req_id, req_id), RESERVED(ri_wire_eager_sync_t)};

static const ri_wire_field_t first_fields[] = {
        FIELD(ri_wire_first_t, tag, tag), FIELD(ri_wire_first_t, req_id, req_id),
        FIELD_WITHIN(ri_wire_first_t, total, total, 1, RI_WIRE_FIRST_MAX)};

static const ri_wire_field_t frag_fields[] = {FIELD(ri_wire_frag_t, uid, uid)};

static const ri_wire_field_t conn_ack_fields[] = {FIELD(ri_wire_conn_ack_t, uid, uid)};

static const ri_wire_field_t ring_offer_fields[] = {
        FIELD(ri_wire_ring_offer_t, pid, ring_pid),
        FIELD(ri_wire_ring_offer_t, fd, ring_fd),
        FIELD(ri_wire_ring_offer_t, stream_id, ring_stream_id),
        RESERVED(ri_wire_ring_offer_t),
        FIELD(ri_wire_ring_offer_t, cookie, ring_cookie),
        FIELD(ri_wire_ring_offer_t, uid, uid)};

static const ri_wire_field_t ring_stop_fields[] = {FIELD(ri_wire_ring_stop_t, uid, uid)};

static const ri_wire_field_t plane_fields[] = {
        FIELD(ri_wire_plane_t, plane, plane),
        FIELD(ri_wire_plane_t, length, plane_address_length),
        FIELD(ri_wire_plane_t, asked, asked), FIELD(ri_wire_plane_t, way, way),
        FIELD(ri_wire_plane_t, address, plane_address)};

static const ri_wire_field_t nack_fields[] = {FIELD(ri_wire_nack_t, recv_id, recv_id),
                                              FIELD(ri_wire_nack_t, flags, flags)};

/* Of RTR, RTR_GRID and RTR_LAYOUT */
#define RTR_FIELDS(_form) \
    FIELD(_form, tag, tag), FIELD(_form, mask, mask), FIELD(_form, address, address), \
            FIELD_WITHIN(_form, length, rtr_length, 1, RI_WIRE_LENGTH_MAX), \
            FIELD(_form, key, key), FIELD(_form, way, way), FIELD(_form, seen, seen), \
            FIELD(_form, generation, generation), FIELD(_form, ahead, ahead), \
            FIELD_WITHIN(_form, entry, entry, 0, RI_WIRE_RTR_ENTRIES - 1)

static const ri_wire_field_t rtr_fields[] = {RTR_FIELDS(ri_wire_rtr_msg_t)};

static const ri_wire_field_t rtr_grid_fields[] = {RTR_FIELDS(ri_wire_rtr_grid_t),
                                                  FIELD(ri_wire_rtr_grid_t, grid, grid)};

static const ri_wire_field_t rtr_layout_fields[] = {
        RTR_FIELDS(ri_wire_rtr_layout_msg_t),
        FIELD(ri_wire_rtr_layout_msg_t, count, count),
        FIELD(ri_wire_rtr_layout_msg_t, defined, defined),
        FIELD_WITHIN(ri_wire_rtr_layout_msg_t, slot, slot, 0, RI_WIRE_LAYOUTS - 1),
        RESERVED(ri_wire_rtr_layout_msg_t)};

static const ri_wire_field_t layout_fields[] = {
        FIELD(ri_wire_layout_t, base.value, defined),
        FIELD_WITHIN(ri_wire_layout_t, slot, slot, 0, RI_WIRE_LAYOUTS - 1),
        RESERVED(ri_wire_layout_t)};

static const ri_wire_field_t layout_refused_fields[] = {
        FIELD(ri_wire_layout_refused_t, base.value, defined),
        FIELD_WITHIN(ri_wire_layout_refused_t, slot, slot, 0, RI_WIRE_LAYOUTS - 1),
        FIELD(ri_wire_layout_refused_t, flags, flags)};

static const ri_wire_field_t rtr_ud_fields[] = {
        FIELD(ri_wire_rtr_ud_t, tag, tag),
        FIELD(ri_wire_rtr_ud_t, mask, mask),
        FIELD(ri_wire_rtr_ud_t, way, way),
        FIELD(ri_wire_rtr_ud_t, seen, seen),
        FIELD(ri_wire_rtr_ud_t, generation, generation),
        FIELD(ri_wire_rtr_ud_t, ahead, ahead),
        FIELD_WITHIN(ri_wire_rtr_ud_t, entry, entry, 0, RI_WIRE_RTR_ENTRIES - 1),
        FIELD(ri_wire_rtr_ud_t, target, target)};

static const ri_wire_field_t release_fields[] = {
        FIELD_WITHIN(ri_wire_release_t, base.value, value, 1, RI_WIRE_RELEASE_MAX),
        FIELD(ri_wire_release_t, ids, release)};

static const ri_wire_field_t cts_fields[] = {FIELD(ri_wire_cts_t, recv_id, recv_id),
                                             FIELD(ri_wire_cts_t, key, key),
                                             FIELD(ri_wire_cts_t, address, address)};

static const ri_wire_field_t revoke_fields[] = {
        FIELD(ri_wire_revoke_t, base.value, generation),
        FIELD_WITHIN(ri_wire_revoke_t, entry, entry, 0, RI_WIRE_RTR_ENTRIES - 1),
        RESERVED(ri_wire_revoke_t),
        FIELD_WITHIN(ri_wire_revoke_t, stream_id, stream_id, 1, RI_WIRE_ID_MAX),
        FIELD(ri_wire_revoke_t, uid, uid)};

static const ri_wire_field_t revoked_fields[] = {
        FIELD(ri_wire_revoked_t, base.value, generation),
        FIELD_WITHIN(ri_wire_revoked_t, entry, entry, 0, RI_WIRE_RTR_ENTRIES - 1),
        FIELD(ri_wire_revoked_t, flags, flags), RESERVED(ri_wire_revoked_t)};

static const ri_wire_field_t used_fields[] = {
        FIELD_WITHIN(ri_wire_used_t, count, used_count, 1, RI_WIRE_USED_MAX),
        FIELD(ri_wire_used_t, rtrs, used)};

static const ri_wire_field_t target_fields[] = {
        FIELD(ri_wire_target_t, recv_id, recv_id), FIELD(ri_wire_target_t, sn, sn),
        FIELD(ri_wire_target_t, way, way), FIELD(ri_wire_target_t, flags, flags),
        FIELD(ri_wire_target_t, target, target)};

static const ri_wire_field_t abandon_fields[] = {
        FIELD(ri_wire_abandon_t, recv_id, recv_id), FIELD(ri_wire_abandon_t, sn, sn)};

/* Between the stream_id and the last field. */
#define CHANNEL_FIELDS \
    FIELD(ri_wire_channel_t, serial, serial), FIELD(ri_wire_channel_t, uid, uid), \
            FIELD(ri_wire_channel_t, address, address), \
            FIELD(ri_wire_channel_t, number, number), FIELD(ri_wire_channel_t, key, key)

/* CHANNEL_OFFER, CHANNEL_STOP: they are answered. */
static const ri_wire_field_t channel_to_conn_fields[] = {
        FIELD_WITHIN(ri_wire_channel_t, stream_id, stream_id, 1, RI_WIRE_ID_MAX),
        CHANNEL_FIELDS, FIELD(ri_wire_channel_t, way, way)};

static const ri_wire_field_t channel_accept_fields[] = {
        FIELD(ri_wire_channel_t, stream_id, stream_id), CHANNEL_FIELDS,
        FIELD(ri_wire_channel_t, way, way)};

static const ri_wire_field_t channel_close_fields[] = {
        FIELD(ri_wire_channel_t, stream_id, stream_id), CHANNEL_FIELDS,
        FIELD(ri_wire_channel_t, reason, reason)};

static const ri_wire_field_t channel_again_fields[] = {
        FIELD(ri_wire_channel_again_t, serial, serial),
        FIELD(ri_wire_channel_again_t, way, way),
        FIELD(ri_wire_channel_again_t, tag, tag),
        FIELD(ri_wire_channel_again_t, value, record_value),
        FIELD(ri_wire_channel_again_t, extra, record_extra),
        FIELD(ri_wire_channel_again_t, type, record_type),
        RESERVED(ri_wire_channel_again_t)};

/* A type that consists of the base header. */
#define BASE(_name, _to, _routes) \
    .name = #_name, .to = RI_WIRE_TO_##_to, .routes = (_routes), \
    .length = sizeof(ri_wire_base_t)

/* A type whose header is a structure. */
#define FORM(_name, _to, _routes, _form, _fields) \
    .name = #_name, .to = RI_WIRE_TO_##_to, .routes = (_routes), \
    .length = sizeof(_form), .num_fields = sizeof(_fields) / sizeof((_fields)[0]), \
    .fields = (_fields)

/* The fields that most messages in sequence have in common. */
#define IN_SEQUENCE \
    .in_sequence = 1, .greets = RI_WIRE_GREETS_FIRST, .payload = RI_WIRE_PAYLOAD_HERE

#define AM      RI_WIRE_BY_AM
#define RING    RI_WIRE_BY_RING
#define CHANNEL RI_WIRE_BY_CHANNEL
#define ALL     (AM | RING | CHANNEL)

const ri_wire_row_t ri_wire_rows[RI_WIRE_TYPE_LAST] = {
        [RI_WIRE_EAGER]      = {FORM(EAGER, STREAM, ALL, ri_wire_eager_t, eager_fields),
                                IN_SEQUENCE, .is_eager = 1},
        [RI_WIRE_EAGER_SAME] = {BASE(EAGER_SAME, STREAM, AM), IN_SEQUENCE, .is_eager = 1},
        [RI_WIRE_EAGER_SYNC] = {FORM(EAGER_SYNC, STREAM, ALL, ri_wire_eager_sync_t,
                                     eager_sync_fields),
                                IN_SEQUENCE, .is_eager = 1},
        [RI_WIRE_BULK]       = {FORM(BULK, STREAM, AM, ri_wire_eager_t, eager_fields),
                                .in_sequence = 1, .greets = RI_WIRE_GREETS_FIRST,
                                .payload = RI_WIRE_PAYLOAD_ANYWHERE},
        [RI_WIRE_FIRST]      = {FORM(FIRST, STREAM, AM, ri_wire_first_t, first_fields),
                                .in_sequence = 1, .greets = RI_WIRE_GREETS_ALWAYS,
                                .payload = RI_WIRE_PAYLOAD_HERE,
                                .check   = ri_wire_check_first_msg},
        [RI_WIRE_RTS]  = {FORM(RTS, STREAM, ALL, ri_wire_eager_sync_t, eager_sync_fields),
                          IN_SEQUENCE, .announces = 1, .hints = 1, .lends = 1,
                          .check = ri_wire_check_rts_msg},
        [RI_WIRE_POOL] = {FORM(POOL, STREAM, ALL, ri_wire_eager_sync_t,
                               eager_sync_fields),
                          IN_SEQUENCE, .announces = 1, .hints = 1,
                          .check = ri_wire_check_rts_msg},
        [RI_WIRE_PLACED] = {FORM(PLACED, STREAM, AM | RING, ri_wire_eager_sync_t,
                                 eager_sync_fields),
                            IN_SEQUENCE, .hints = 1, .check = ri_wire_check_placed_msg},
        [RI_WIRE_FRAG]   = {FORM(FRAG, SENDER, AM, ri_wire_frag_t, frag_fields),
                            .payload = RI_WIRE_PAYLOAD_SOME},

        [RI_WIRE_CONN_REQ]    = {BASE(CONN_REQ, STREAM, AM), .is_bound = 1,
                                 .greets = RI_WIRE_GREETS_ALWAYS},
        [RI_WIRE_CONN_ACK]    = {FORM(CONN_ACK, CONN, AM, ri_wire_conn_ack_t,
                                      conn_ack_fields)},
        [RI_WIRE_SYNC_ACK]    = {BASE(SYNC_ACK, CONN, ALL)},
        [RI_WIRE_RING_OFFER]  = {FORM(RING_OFFER, CONN_OR_NONE, AM, ri_wire_ring_offer_t,
                                      ring_offer_fields)},
        [RI_WIRE_RING_REFUSE] = {BASE(RING_REFUSE, STREAM, AM)},
        [RI_WIRE_RING_STOP]   = {FORM(RING_STOP, CONN_OR_NONE, AM, ri_wire_ring_stop_t,
                                      ring_stop_fields)},
        [RI_WIRE_RING_CLOSE]  = {BASE(RING_CLOSE, STREAM, RING)},
        [RI_WIRE_BYE]         = {BASE(BYE, STREAM, AM)},
        [RI_WIRE_ORDER_REQ]   = {BASE(ORDER_REQ, STREAM, AM), .is_bound = 1},
        [RI_WIRE_ORDER_ACK]   = {BASE(ORDER_ACK, CONN, AM)},
        [RI_WIRE_RESET]       = {BASE(RESET, CONN, AM)},
        [RI_WIRE_PLANE_REQ]   = {FORM(PLANE_REQ, STREAM, AM, ri_wire_plane_t,
                                      plane_fields)},
        [RI_WIRE_PLANE_ACK] = {FORM(PLANE_ACK, CONN, AM, ri_wire_plane_t, plane_fields)},
        [RI_WIRE_FIN]       = {BASE(FIN, CONN, ALL), .hints = 1},
        [RI_WIRE_NACK] = {FORM(NACK, CONN, AM | CHANNEL, ri_wire_nack_t, nack_fields)},
        [RI_WIRE_RNDV_DATA] = {BASE(RNDV_DATA, STREAM, AM), .lends = 1,
                               .payload = RI_WIRE_PAYLOAD_ANYWHERE},
        [RI_WIRE_RTR] = {FORM(RTR, CONN, ALL, ri_wire_rtr_msg_t, rtr_fields), .hints = 1,
                         .is_ahead = 1},
        [RI_WIRE_RELEASE]  = {FORM(RELEASE, CONN, ALL, ri_wire_release_t, release_fields),
                              .hints = 1},
        [RI_WIRE_CTS]      = {FORM(CTS, CONN, AM | CHANNEL, ri_wire_cts_t, cts_fields)},
        [RI_WIRE_WRITTEN]  = {BASE(WRITTEN, STREAM, ALL)},
        [RI_WIRE_RING_REQ] = {BASE(RING_REQ, STREAM, AM), .is_bound = 1},
        [RI_WIRE_REVOKE]   = {FORM(REVOKE, CONN_OR_NONE, AM | CHANNEL, ri_wire_revoke_t,
                                   revoke_fields)},
        [RI_WIRE_REVOKED]  = {FORM(REVOKED, STREAM, AM | CHANNEL, ri_wire_revoked_t,
                                   revoked_fields)},
        [RI_WIRE_USED] = {FORM(USED, STREAM, AM | CHANNEL, ri_wire_used_t, used_fields)},
        [RI_WIRE_TARGET]  = {FORM(TARGET, CONN, AM, ri_wire_target_t, target_fields)},
        [RI_WIRE_ABANDON] = {FORM(ABANDON, STREAM, AM, ri_wire_abandon_t,
                                  abandon_fields)},
        [RI_WIRE_CHANNEL_OFFER]  = {FORM(CHANNEL_OFFER, CONN_OR_NONE, AM,
                                         ri_wire_channel_t, channel_to_conn_fields)},
        [RI_WIRE_CHANNEL_ACCEPT] = {FORM(CHANNEL_ACCEPT, STREAM, AM, ri_wire_channel_t,
                                         channel_accept_fields)},
        [RI_WIRE_CHANNEL_STOP]  = {FORM(CHANNEL_STOP, CONN_OR_NONE, AM, ri_wire_channel_t,
                                        channel_to_conn_fields)},
        [RI_WIRE_CHANNEL_CLOSE] = {FORM(CHANNEL_CLOSE, STREAM, AM, ri_wire_channel_t,
                                        channel_close_fields)},
        [RI_WIRE_CHANNEL_AGAIN] = {FORM(CHANNEL_AGAIN, STREAM, AM,
                                        ri_wire_channel_again_t, channel_again_fields),
                                   .payload = RI_WIRE_PAYLOAD_HERE,
                                   .check   = ri_wire_check_again_msg},
        [RI_WIRE_RTR_UD]     = {FORM(RTR_UD, CONN, AM, ri_wire_rtr_ud_t, rtr_ud_fields)},
        [RI_WIRE_CLOSING]    = {BASE(CLOSING, CONN, AM | RING)},
        [RI_WIRE_RTR_GRID]   = {FORM(RTR_GRID, CONN, AM | CHANNEL, ri_wire_rtr_grid_t,
                                     rtr_grid_fields),
                                .check = ri_wire_check_grid_msg},
        [RI_WIRE_LAYOUT]     = {FORM(LAYOUT, CONN, AM | RING, ri_wire_layout_t,
                                     layout_fields),
                                .is_ahead = 1, .payload = RI_WIRE_PAYLOAD_SOME},
        [RI_WIRE_RTR_LAYOUT] = {FORM(RTR_LAYOUT, CONN, AM, ri_wire_rtr_layout_msg_t,
                                     rtr_layout_fields)},
        [RI_WIRE_LAYOUT_REFUSED] = {FORM(LAYOUT_REFUSED, CONN_OR_NONE, AM,
                                         ri_wire_layout_refused_t,
                                         layout_refused_fields)}};

const char *ri_wire_type_text(unsigned type, char text[RI_WIRE_TYPE_TEXT_MAX])
{
    const ri_wire_row_t *row = (type <= UINT8_MAX) ?
                                       ri_wire_type_row(type & ~RI_WIRE_FLAG_HELLO) :
                                       NULL;

    if (row != NULL) {
        return row->name;
    }
    snprintf(text, RI_WIRE_TYPE_TEXT_MAX, "%u", type);
    return text;
}
