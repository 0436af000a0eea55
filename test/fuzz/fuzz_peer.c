/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The other side, as the fuzz target plays it: active messages with any bytes, records and any
 * bytes in the shared memory of rings, and ways through a network. */

#include "fuzz_state.h"
#include "ucp/core/settings/config.h"
#include "ucp/link/planes.h"
#include "ucp/link/way_open.h"
#include "ucp/in/am_in.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Flags of OP_AM. */
enum {
    AM_RNDV  = 1 << 0,
    AM_DATA  = 1 << 1,
    AM_REPLY = 1 << 2,
    AM_HELLO = 1 << 3, /* make a hello at the header's end a valid one */
    AM_ORDER = 1 << 4  /* the value becomes the next number of the first stream, plus the
                          low bits that were there */
};

static void fix_header(uint8_t *at, size_t length, unsigned flags)
{
    ri_wire_hello_t hello;
    ri_stream_t *stream;
    uint32_t value;

    if ((flags & AM_HELLO) && (length >= sizeof(hello) + sizeof(ri_wire_base_t))) {
        memcpy(&hello, at + length - sizeof(hello), sizeof(hello));
        at[0] |= RI_WIRE_FLAG_HELLO;
        at[1] = at[2] = at[3] = 0;
        hello.magic           = RI_WIRE_MAGIC;
        hello.version         = RI_WIRE_VERSION;
        hello.uid             = PEER_UID + (hello.uid & 3);
        hello.host            = (hello.host & 1) ? g.worker->self.host : 0;
        hello.conn_id         = 1 + (hello.conn_id & 3);
        memcpy(at + length - sizeof(hello), &hello, sizeof(hello));
    }
    if ((flags & AM_ORDER) && (length >= sizeof(ri_wire_base_t)) &&
        !ucs_list_is_empty(&g.worker->streams)) {
        stream = ucs_list_head(&g.worker->streams, ri_stream_t, list);
        memcpy(&value, at + 4, sizeof(value));
        value = stream->next_sn + (value & 3);
        memcpy(at + 4, &value, sizeof(value));
    }
}

void fuzz_op_am(input_t *in)
{
    unsigned flags            = take(in);
    size_t header_length      = take(in) % 128;
    size_t length             = take16(in) % MAX_LENGTH;
    uint8_t *header           = fuzz_take_bytes(in, header_length);
    uint8_t *data             = fuzz_take_bytes(in, length);
    ucp_am_recv_param_t param = {0};
    ucs_status_t status;
    void *arg = data;
    desc_t *desc;

    if (header_length > 0) {
        fix_header(header, header_length, flags);
    } else {
        fix_header(data, length, flags);
    }

    desc = fuzz_desc_find(NULL);
    if (desc == NULL) {
        flags &= ~(AM_RNDV | AM_DATA);
    }
    if (flags & (AM_RNDV | AM_DATA)) {
        desc->rndv        = !!(flags & AM_RNDV);
        desc->length      = length;
        desc->in_callback = 1;
        if (desc->rndv) {
            /* What it points to is nobody's business */
            desc->source          = data;
            desc->memory          = malloc(1);
            *(char *)desc->memory = 0;
            arg                   = desc->memory;
            param.recv_attr |= UCP_AM_RECV_ATTR_FLAG_RNDV;
        } else {
            if (data == NULL) {
                data = malloc(1);
            }
            desc->memory = data;
            arg          = data;
            param.recv_attr |= UCP_AM_RECV_ATTR_FLAG_DATA;
        }
    }
    if (flags & AM_REPLY) {
        param.recv_attr |= UCP_AM_RECV_ATTR_FIELD_REPLY_EP;
        param.reply_ep = (ucp_ep_h)&g.eps[length % MAX_CONNS];
    }

    status = ri_am_in(g.worker, header, header_length, arg, length, &param);
    if (flags & (AM_RNDV | AM_DATA)) {
        desc              = fuzz_desc_find(arg);
        desc->in_callback = 0;
        CHECK(!desc->used || (status == UCS_INPROGRESS));
        if (desc->used || (status == UCS_OK)) {
            fuzz_desc_free(desc);
        }
    } else {
        CHECK(status == UCS_OK);
        free(data);
    }
    free(header);
}

/* The ring that the peer writes into, if the worker has made one. */
static ri_ring_rx_t *pick_ring(uint8_t which)
{
    return (g.worker->num_rings == 0) ?
                   NULL :
                   g.worker->rings_in[which % g.worker->num_rings]->ring;
}

void fuzz_op_record(input_t *in)
{
    uint8_t which           = take(in);
    ri_ring_rx_t *ring      = pick_ring(which);
    ri_ring_record_t record = {0};
    size_t copied, room;
    ri_ring_record_t *at;
    uint8_t *payload;

    record.type   = take(in);
    record.length = take16(in);
    record.value  = take(in);
    record.extra  = take16(in);
    record.tag    = take(in);
    copied        = take(in);
    payload       = fuzz_take_bytes(in, copied);
    if (ring != NULL) {
        if (which & 0x80) {
            record.value += g.worker->rings_in[(which % g.worker->num_rings)]->next_sn;
        }
        at   = &ring->lines[ring->pos & ring->mask];
        room = (char *)(ring->lines + ring->mask + 1) - (char *)at->payload;
        memcpy(&at->length, &record.length,
               offsetof(ri_ring_record_t, payload) - offsetof(ri_ring_record_t, length));
        if (copied > 0) {
            memcpy(at->payload, payload, ri_min(copied, room));
        }
        atomic_store_explicit(&at->seq, ri_ring_stamp(ring->pos), memory_order_release);
        ri_worker_progress(g.worker);
    }
    free(payload);
}

void fuzz_op_smash(input_t *in)
{
    ri_ring_rx_t *ring = pick_ring(take(in));
    size_t offset      = take16(in);
    size_t length      = take(in);
    uint8_t *bytes     = fuzz_take_bytes(in, length);

    if ((ring != NULL) && (length > 0)) {
        offset %= ring->map_size - length;
        memcpy((char *)ring->control + offset, bytes, length);
        ri_worker_progress(g.worker);
    }
    free(bytes);
}

void fuzz_op_offer(input_t *in)
{
    ri_conn_t *conn            = fuzz_pick_conn(take(in));
    ri_wire_ring_offer_t offer = {.base.type  = RI_WIRE_RING_OFFER,
                                  .base.value = RING_SIZE,
                                  .pid        = getpid(),
                                  .stream_id  = 1 + take(in),
                                  .cookie     = 0x5eed,
                                  .uid        = PEER_UID};
    ucp_am_recv_param_t param  = {0};

    if (conn == NULL) {
        return;
    }
    if (g.ring.control == NULL) {
        CHECK(ri_ring_create(&g.ring, RING_SIZE, offer.cookie) == UCS_OK);
    }
    offer.fd = g.ring.fd;
    ri_wire_set_id(&offer.base, conn->id);
    ri_am_in(g.worker, &offer, sizeof(offer), &offer, 0, &param);
}

void fuzz_op_drain(input_t *in)
{
    unsigned count = take(in) % 16;
    const ri_ring_record_t *record;
    uint32_t lines;

    for (; (count > 0) && (g.ring.control != NULL); --count) {
        record = ri_ring_rx_peek(&g.ring);
        if (record == NULL) {
            break;
        }
        /* Two conns may have mapped it, so anything may stand there */
        lines = ri_ring_rx_lines(&g.ring, record->type, record->length);
        if (lines == 0) {
            break;
        }
        ri_ring_rx_advance(&g.ring, lines);
    }
}

/* What comes again is handled as what is in the buffer, of which nothing is left here. */
void fuzz_op_channel(input_t *in)
{
    ri_stream_t *stream = ri_id_get(&g.worker->ids.streams, 1 + take(in));

    if ((stream == NULL) || (stream->channel != NULL)) {
        return;
    }
    stream->channel = calloc(1, sizeof(*stream->channel));
    CHECK(stream->channel != NULL);
    stream->channel->stream = stream;
    stream->channel->serial = 1;
    stream->channel->way    = 1;
    stream->channel->dead   = 1;
    stream->channel->rx.pos = take(in);
}

/* A good peer: a way through the network comes about, as both sides want it. */
static void net_way(uint8_t which)
{
    ri_conn_t *conn           = fuzz_pick_conn(which & 0x0f);
    ucp_am_recv_param_t param = {0};
    ri_wire_plane_t msg       = {.base.value = RI_WIRE_PLANE_REACHED, .length = 8};
    ri_wire_conn_ack_t ack    = {.base.type = RI_WIRE_CONN_ACK, .base.value = 1};
    ri_stream_t *stream;
    ri_peer_t *peer;

    if ((conn == NULL) || (conn->peer == NULL)) {
        return;
    }
    peer                   = conn->peer;
    ri_config.rc_max_peers = (which & 0x40) ? 8 : 0;
    if (conn->remote_id == 0) {
        ack.uid = peer->uid;
        ri_wire_set_id(&ack.base, conn->id);
        ri_am_in(g.worker, &ack, sizeof(ack), &ack, 0, &param);
    }
    ri_way_open_ask(conn);
    if (peer->way.ep == NULL) {
        return;
    }
    msg.plane     = peer->way.kind;
    msg.asked     = (uint16_t)peer->way.number;
    msg.way       = peer->way.number;
    msg.base.type = RI_WIRE_PLANE_ACK;
    ri_wire_set_id(&msg.base, conn->id);
    ri_am_in(g.worker, &msg, sizeof(msg), &msg, 0, &param);
    if (!ucs_list_is_empty(&peer->streams)) {
        stream         = ucs_list_head(&peer->streams, ri_stream_t, peer_list);
        msg.base.type  = RI_WIRE_PLANE_REQ;
        msg.base.value = RI_WIRE_PLANE_WRITES;
        ri_wire_set_id(&msg.base, stream->id);
        ri_am_in(g.worker, &msg, sizeof(msg), &msg, 0, &param);
    }
}

void fuzz_op_net(input_t *in)
{
    uint8_t what  = take(in);
    uint8_t which = take(in);
    uint32_t immediate;

    switch (what % 7) {
    case 0:
        net_way(which);
        break;
    case 1:
        fuzz_net_end(which & 0x0f, which >> 4);
        break;
    case 2:
        fuzz_net_hear(which);
        break;
    case 3:
        immediate = take16(in);
        immediate |= (uint32_t)take16(in) << 16;
        fuzz_net_notify(which & 3, immediate, take16(in));
        break;
    case 4:
        fuzz_net_break(which & 3);
        break;
    case 5:
        fuzz_net_mode(which);
        break;
    default: /* the plane within the host is there, or not */
        if (g.num_plane_eps == 0) {
            g.worker->plane = (which & 1) ? NULL : &g.plane;
        }
    }
}
