/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "wire.h"

#include <string.h>

/* Header length of each type without hello; 0: no such type in an active message. */
static size_t wire_header_length(uint8_t type)
{
    switch (type) {
    case RI_WIRE_EAGER_SAME:
    case RI_WIRE_CONN_REQ:
    case RI_WIRE_SYNC_ACK:
    case RI_WIRE_RING_REFUSE:
    case RI_WIRE_BYE:
    case RI_WIRE_ORDER_REQ:
    case RI_WIRE_ORDER_ACK:
    case RI_WIRE_RESET:
    case RI_WIRE_FIN:
    case RI_WIRE_RNDV_DATA:
    case RI_WIRE_WRITTEN:
    case RI_WIRE_RING_REQ:
    case RI_WIRE_CLOSING:
        return sizeof(ri_wire_base_t);
    case RI_WIRE_EAGER:
    case RI_WIRE_BULK:
        return sizeof(ri_wire_eager_t);
    case RI_WIRE_EAGER_SYNC:
    case RI_WIRE_RTS:
    case RI_WIRE_POOL:
    case RI_WIRE_PLACED:
        return sizeof(ri_wire_eager_sync_t);
    case RI_WIRE_PLANE_REQ:
    case RI_WIRE_PLANE_ACK:
        return sizeof(ri_wire_plane_t);
    case RI_WIRE_NACK:
        return sizeof(ri_wire_nack_t);
    case RI_WIRE_RELEASE:
        return sizeof(ri_wire_release_t);
    case RI_WIRE_CTS:
        return sizeof(ri_wire_cts_t);
    case RI_WIRE_RTR:
        return sizeof(ri_wire_rtr_msg_t);
    case RI_WIRE_RTR_UD:
        return sizeof(ri_wire_rtr_ud_t);
    case RI_WIRE_REVOKE:
        return sizeof(ri_wire_revoke_t);
    case RI_WIRE_REVOKED:
        return sizeof(ri_wire_revoked_t);
    case RI_WIRE_USED:
        return sizeof(ri_wire_used_t);
    case RI_WIRE_TARGET:
        return sizeof(ri_wire_target_t);
    case RI_WIRE_ABANDON:
        return sizeof(ri_wire_abandon_t);
    case RI_WIRE_FIRST:
        return sizeof(ri_wire_first_t);
    case RI_WIRE_FRAG:
        return sizeof(ri_wire_frag_t);
    case RI_WIRE_CONN_ACK:
        return sizeof(ri_wire_conn_ack_t);
    case RI_WIRE_RING_STOP:
        return sizeof(ri_wire_ring_stop_t);
    case RI_WIRE_RING_OFFER:
        return sizeof(ri_wire_ring_offer_t);
    case RI_WIRE_CHANNEL_OFFER:
    case RI_WIRE_CHANNEL_ACCEPT:
    case RI_WIRE_CHANNEL_STOP:
    case RI_WIRE_CHANNEL_CLOSE:
        return sizeof(ri_wire_channel_t);
    case RI_WIRE_CHANNEL_AGAIN:
        return sizeof(ri_wire_channel_again_t);
    default:
        return 0;
    }
}

static ucs_status_t wire_parse_hello(const uint8_t *at, ri_wire_msg_t *msg)
{
    memcpy(&msg->hello, at, sizeof(msg->hello));
    if (msg->hello.magic != RI_WIRE_MAGIC) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (msg->hello.version != RI_WIRE_VERSION) {
        return UCS_ERR_UNSUPPORTED;
    }
    if (!ri_wire_id_is_valid(msg->hello.conn_id) ||
        !ri_wire_uid_is_valid(msg->hello.uid)) {
        return UCS_ERR_INVALID_PARAM;
    }
    msg->has_hello = 1;
    return UCS_OK;
}

static void wire_parse_rtr(const uint8_t *at, ri_wire_msg_t *msg)
{
    ri_wire_rtr_msg_t hdr;

    memcpy(&hdr, at, sizeof(hdr));
    msg->tag        = hdr.tag;
    msg->mask       = hdr.mask;
    msg->address    = hdr.address;
    msg->rtr_length = hdr.length;
    msg->key        = hdr.key;
    msg->way        = hdr.way;
    msg->seen       = hdr.seen;
    msg->generation = hdr.generation;
    msg->ahead      = hdr.ahead;
    msg->slot       = hdr.slot;
}

static void wire_parse_rtr_ud(const uint8_t *at, ri_wire_msg_t *msg)
{
    ri_wire_rtr_ud_t hdr;

    memcpy(&hdr, at, sizeof(hdr));
    msg->address    = 0; /* the target says it */
    msg->key        = 0;
    msg->tag        = hdr.tag;
    msg->mask       = hdr.mask;
    msg->way        = hdr.way;
    msg->seen       = hdr.seen;
    msg->generation = hdr.generation;
    msg->ahead      = hdr.ahead;
    msg->slot       = hdr.slot;
    memcpy(msg->target, hdr.target, sizeof(msg->target));
}

static void wire_parse_channel(const uint8_t *at, ri_wire_msg_t *msg)
{
    ri_wire_channel_t hdr;

    memcpy(&hdr, at, sizeof(hdr));
    msg->stream_id = hdr.stream_id;
    msg->serial    = hdr.serial;
    msg->uid       = hdr.uid;
    msg->address   = hdr.address;
    msg->number    = hdr.number;
    msg->key       = hdr.key;
    msg->way       = hdr.way;
}

static void wire_parse_channel_again(const uint8_t *at, ri_wire_msg_t *msg)
{
    ri_wire_channel_again_t hdr;

    memcpy(&hdr, at, sizeof(hdr));
    msg->serial       = hdr.serial;
    msg->way          = hdr.way;
    msg->tag          = hdr.tag;
    msg->record_type  = hdr.type;
    msg->record_value = hdr.value;
    msg->record_extra = hdr.extra;
}

static void wire_parse_fields(const uint8_t *at, ri_wire_msg_t *msg)
{
    switch (msg->type) {
    case RI_WIRE_EAGER:
    case RI_WIRE_BULK: {
        ri_wire_eager_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->tag = hdr.tag;
        break;
    }
    case RI_WIRE_EAGER_SYNC:
    case RI_WIRE_RTS:
    case RI_WIRE_POOL:
    case RI_WIRE_PLACED: {
        ri_wire_eager_sync_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->tag    = hdr.tag;
        msg->req_id = hdr.req_id;
        break;
    }
    case RI_WIRE_FIRST: {
        ri_wire_first_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->tag    = hdr.tag;
        msg->req_id = hdr.req_id;
        msg->total  = hdr.total;
        break;
    }
    case RI_WIRE_FRAG: {
        ri_wire_frag_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->uid = hdr.uid;
        break;
    }
    case RI_WIRE_CONN_ACK: {
        ri_wire_conn_ack_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->uid = hdr.uid;
        break;
    }
    case RI_WIRE_RING_STOP: {
        ri_wire_ring_stop_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->uid = hdr.uid;
        break;
    }
    case RI_WIRE_RING_OFFER: {
        ri_wire_ring_offer_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->ring_pid       = hdr.pid;
        msg->ring_fd        = hdr.fd;
        msg->ring_stream_id = hdr.stream_id;
        msg->ring_cookie    = hdr.cookie;
        msg->uid            = hdr.uid;
        break;
    }
    case RI_WIRE_PLANE_REQ:
    case RI_WIRE_PLANE_ACK: {
        ri_wire_plane_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->plane                = hdr.plane;
        msg->plane_address_length = hdr.length;
        msg->asked                = hdr.asked;
        msg->way                  = hdr.way;
        memcpy(msg->plane_address, hdr.address, sizeof(hdr.address));
        break;
    }
    case RI_WIRE_NACK: {
        ri_wire_nack_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->recv_id = hdr.recv_id;
        msg->flags   = hdr.flags;
        break;
    }
    case RI_WIRE_RELEASE: {
        ri_wire_release_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        memcpy(msg->release, hdr.ids, sizeof(msg->release));
        break;
    }
    case RI_WIRE_CTS: {
        ri_wire_cts_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->recv_id = hdr.recv_id;
        msg->address = hdr.address;
        msg->key     = hdr.key;
        break;
    }
    case RI_WIRE_RTR:
        wire_parse_rtr(at, msg);
        break;
    case RI_WIRE_RTR_UD:
        wire_parse_rtr_ud(at, msg);
        break;
    case RI_WIRE_CHANNEL_OFFER:
    case RI_WIRE_CHANNEL_ACCEPT:
    case RI_WIRE_CHANNEL_STOP:
    case RI_WIRE_CHANNEL_CLOSE:
        wire_parse_channel(at, msg);
        break;
    case RI_WIRE_CHANNEL_AGAIN:
        wire_parse_channel_again(at, msg);
        break;
    case RI_WIRE_REVOKE: {
        ri_wire_revoke_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->generation = hdr.base.value;
        msg->slot       = hdr.slot;
        msg->stream_id  = hdr.stream_id;
        msg->uid        = hdr.uid;
        break;
    }
    case RI_WIRE_REVOKED: {
        ri_wire_revoked_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->generation = hdr.base.value;
        msg->slot       = hdr.slot;
        msg->flags      = hdr.flags;
        break;
    }
    case RI_WIRE_USED: {
        ri_wire_used_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->used_count = hdr.count;
        memcpy(msg->used, hdr.rtrs, sizeof(msg->used));
        break;
    }
    case RI_WIRE_TARGET: {
        ri_wire_target_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->recv_id = hdr.recv_id;
        msg->sn      = hdr.sn;
        msg->way     = hdr.way;
        msg->flags   = hdr.flags;
        memcpy(msg->target, hdr.target, sizeof(msg->target));
        break;
    }
    case RI_WIRE_ABANDON: {
        ri_wire_abandon_t hdr;

        memcpy(&hdr, at, sizeof(hdr));
        msg->recv_id = hdr.recv_id;
        msg->sn      = hdr.sn;
        break;
    }
    default:
        break;
    }
}

ucs_status_t ri_wire_check_rts(const void *payload, size_t length, size_t *total)
{
    const ri_wire_rts_t *rts = payload;
    size_t sum               = 0;
    unsigned i;

    if ((length < sizeof(*rts)) || (rts->num_segments == 0) ||
        (rts->num_segments > RI_WIRE_SEGMENTS_MAX) ||
        (length != ri_wire_rts_length(rts))) {
        return UCS_ERR_INVALID_PARAM;
    }
    for (i = 0; i < rts->num_segments; ++i) {
        if ((rts->segments[i].length == 0) ||
            (rts->segments[i].length > RI_WIRE_LENGTH_MAX - sum)) {
            return UCS_ERR_INVALID_PARAM;
        }
        sum += rts->segments[i].length;
    }
    *total = sum;
    return UCS_OK;
}

ucs_status_t ri_wire_check_placed(const void *payload, size_t length, size_t *total)
{
    ri_wire_placed_t placed;

    if (length != sizeof(placed)) {
        return UCS_ERR_INVALID_PARAM;
    }
    memcpy(&placed, payload, sizeof(placed));
    if ((placed.length == 0) || (placed.length > RI_WIRE_LENGTH_MAX)) {
        return UCS_ERR_INVALID_PARAM;
    }
    *total = placed.length;
    return UCS_OK;
}

/* Whether the fields of an RTR, REVOKE or REVOKED make sense. */
static int wire_check_rtr(const ri_wire_msg_t *msg)
{
    return (msg->slot < RI_WIRE_RTR_SLOTS) &&
           ((msg->type != RI_WIRE_RTR) ||
            ((msg->rtr_length != 0) && (msg->rtr_length <= RI_WIRE_LENGTH_MAX))) &&
           ((msg->type != RI_WIRE_REVOKE) || ri_wire_id_is_valid(msg->stream_id));
}

static int wire_is_channel(ri_wire_type_t type)
{
    return (type >= RI_WIRE_CHANNEL_OFFER) && (type <= RI_WIRE_CHANNEL_CLOSE);
}

/* Whether the fields of a message about a channel make sense. */
static int wire_check_channel(const ri_wire_msg_t *msg)
{
    int to_conn = (msg->type == RI_WIRE_CHANNEL_OFFER) ||
                  (msg->type == RI_WIRE_CHANNEL_STOP);

    return !to_conn || ri_wire_id_is_valid(msg->stream_id);
}

/* What must hold between the fields, and between them and the payload. */
static ucs_status_t wire_check(const ri_wire_msg_t *msg, int data_elsewhere)
{
    size_t data_length;
    int may_have_payload = ri_wire_type_in_sequence(msg->type) ||
                           (msg->type == RI_WIRE_FRAG) ||
                           (msg->type == RI_WIRE_RNDV_DATA) ||
                           (msg->type == RI_WIRE_CHANNEL_AGAIN);

    if (!may_have_payload && ((msg->length != 0) || data_elsewhere)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (data_elsewhere && (msg->type != RI_WIRE_BULK) &&
        (msg->type != RI_WIRE_RNDV_DATA)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (((msg->type == RI_WIRE_RTS) || (msg->type == RI_WIRE_POOL)) &&
        (ri_wire_check_rts(msg->payload, msg->length, &data_length) != UCS_OK)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if ((msg->type == RI_WIRE_PLACED) &&
        (ri_wire_check_placed(msg->payload, msg->length, &data_length) != UCS_OK)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if ((msg->type == RI_WIRE_RELEASE) &&
        ((msg->value == 0) || (msg->value > RI_WIRE_RELEASE_MAX))) {
        return UCS_ERR_INVALID_PARAM;
    }
    if ((msg->type == RI_WIRE_USED) &&
        ((msg->used_count == 0) || (msg->used_count > RI_WIRE_USED_MAX))) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (((msg->type == RI_WIRE_RTR) || (msg->type == RI_WIRE_RTR_UD) ||
         (msg->type == RI_WIRE_REVOKE) || (msg->type == RI_WIRE_REVOKED)) &&
        !wire_check_rtr(msg)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if ((msg->type == RI_WIRE_CHANNEL_AGAIN) &&
        (msg->length > ((msg->record_type == RI_WIRE_CHANNEL_ALL) ? 0 : UINT16_MAX))) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (wire_is_channel(msg->type) && !wire_check_channel(msg)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (msg->type == RI_WIRE_FRAG) {
        /* names the sender's conn, not a stream of the receiver */
        return (!msg->has_hello && (msg->id != 0) && (msg->length != 0)) ?
                       UCS_OK :
                       UCS_ERR_INVALID_PARAM;
    }
    if ((msg->type == RI_WIRE_FIRST) && (!msg->has_hello || (msg->total <= msg->length) ||
                                         (msg->total > RI_WIRE_FIRST_MAX))) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (msg->has_hello != (msg->type == RI_WIRE_CONN_REQ) &&
        !ri_wire_type_in_sequence(msg->type)) {
        return UCS_ERR_INVALID_PARAM; /* of control messages, CONN_REQ alone has a hello */
    }
    return ((msg->id == 0) == msg->has_hello) ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

ucs_status_t ri_wire_parse(const void *header, size_t header_length, const void *data,
                           size_t length, int data_elsewhere, ri_wire_msg_t *msg)
{
    int apart         = (header_length != 0);
    const uint8_t *at = apart ? header : data;
    size_t avail      = apart ? header_length : length;
    ri_wire_base_t base;
    ucs_status_t status;
    size_t hdr_length, hello_length;
    uint8_t type;

    if ((avail < sizeof(base)) || (!apart && data_elsewhere)) {
        return UCS_ERR_INVALID_PARAM;
    }

    memcpy(&base, at, sizeof(base));
    type           = base.type & ~RI_WIRE_FLAG_HELLO;
    hdr_length     = wire_header_length(type);
    hello_length   = (base.type & RI_WIRE_FLAG_HELLO) ? sizeof(ri_wire_hello_t) : 0;
    msg->has_hello = 0;
    if ((hdr_length == 0) || (avail < hdr_length + hello_length) ||
        (apart && (avail != hdr_length + hello_length))) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (hello_length != 0) {
        status = wire_parse_hello(at + hdr_length, msg);
        if (status != UCS_OK) {
            return status;
        }
    }

    msg->type   = type;
    msg->id     = ri_wire_get_id(&base);
    msg->value  = base.value;
    msg->tag    = 0;
    msg->req_id = 0;
    wire_parse_fields(at, msg);

    hdr_length += hello_length;
    msg->payload = data_elsewhere ? NULL :
                   apart          ? data :
                                    (const uint8_t *)data + hdr_length;
    msg->length  = apart ? length : (length - hdr_length);

    return wire_check(msg, data_elsewhere);
}

void ri_wire_address_pack(ri_wire_address_t *prefix, const ri_wire_worker_t *worker)
{
    *prefix = (ri_wire_address_t){.stock_header = 0,
                                  .uid          = worker->uid,
                                  .stock_end    = 0xff,
                                  .magic        = RI_WIRE_ADDRESS_MAGIC,
                                  .version      = RI_WIRE_VERSION,
                                  .length       = sizeof(*prefix),
                                  .am_id        = worker->am_id};
}

/* What all versions have in common. */
#define WIRE_ADDRESS_HEAD (offsetof(ri_wire_address_t, length) + 1)

/* Read as much as there is of this library's part of an address, which begins as its part does. What
 * is not there is 0. */
static void wire_address_read(ri_wire_address_t *prefix, const void *address)
{
    memset(prefix, 0, sizeof(*prefix));
    memcpy(prefix, address, WIRE_ADDRESS_HEAD);
    if (prefix->length >= sizeof(*prefix)) {
        memcpy(prefix, address, sizeof(*prefix));
    }
}

ucs_status_t ri_wire_address_parse(const void *address, const void **stock,
                                   ri_wire_worker_t *worker)
{
    const uint8_t *bytes = address;
    ri_wire_address_t prefix;

    /* The shortest stock address has ten bytes, and one that looks like this so far ends
     * there: only then may more be read. */
    *stock = address;
    if ((bytes[0] != 0) || (bytes[offsetof(ri_wire_address_t, stock_end)] != 0xff)) {
        return UCS_ERR_NO_ELEM;
    }

    wire_address_read(&prefix, address);
    if (prefix.magic != RI_WIRE_ADDRESS_MAGIC) {
        return UCS_ERR_NO_ELEM;
    }

    *stock        = bytes + prefix.length;
    worker->uid   = prefix.uid;
    worker->am_id = 0;
    if (prefix.version != RI_WIRE_VERSION) {
        return UCS_ERR_UNSUPPORTED;
    }
    worker->am_id = prefix.am_id;
    return UCS_OK;
}

ri_host_process_t ri_wire_address_process(const void *address)
{
    ri_wire_address_t prefix;

    wire_address_read(&prefix, address);
    return prefix.process;
}
