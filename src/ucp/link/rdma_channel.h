/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The eager channel through a network, between the most active pairs: who has one
 * (uct/ib/channel.h), and what travels through it. (protocol.md section 6)
 *
 * As for rings, the receiver decides: after IB_EAGER_AFTER messages of a stream by active message
 * it makes a buffer, and offers it by its way to the peer; at most IB_EAGER_PEERS at a time. When
 * another stream deserves one, the least recently active is asked back. A channel carries short
 * messages, what offers long ones (RTS, POOL), and those control messages that belong to a single
 * transfer. Unlike in rings nothing waits for room: what finds none goes by active message, as do
 * all other messages.
 *
 * A channel ends with the way by which it is written, whatever that ends for. Then the receiver
 * takes what is in the buffer, in which nothing changes any more. The sender sends each record
 * again, by active message, that its device has not acknowledged (CHANNEL_AGAIN), with its
 * position; the receiver gives up its own end before it looks at such a message, and drops what is
 * in front of the position up to which it has read. So each record is handled once, whatever it
 * is: the handlers know nothing of ways that fail. The receiver keeps the position until the sender
 * says that this was all, and offers no other channel before.
 * The word of the sender that credits are written to stays as long as one may come: until the
 * receiver has asked a second time for a channel that is closed, or the way is gone.
 * Rejected: to tell by the number what was there already. Only messages in sequence have one, and
 * a synchronous one would be answered twice.
 */
#ifndef RI_RDMA_CHANNEL_H
#define RI_RDMA_CHANNEL_H

#include "../core/worker.h"
#include "../../uct/ib/channel.h"

typedef enum ri_channel_state {
    RI_CHANNEL_OPEN,
    RI_CHANNEL_STOPPING, /* the receiver wants it back: nothing new goes by it */
    RI_CHANNEL_AGAIN     /* its way is gone: what is in it is to be sent again */
} ri_channel_state_t;

/* The sender's end. */
struct ri_channel_out {
    ri_channel_tx_t tx;
    ri_plane_op_t op; /* of each write that is under way: they end in order */
    ri_conn_t *conn;  /* NULL: the channel has ended, see worker->channels_kept */
    ri_peer_t *peer;
    void *memory; /* the shadow, and behind it the word that the receiver writes */
    size_t size;  /* of the shadow */
    ri_plane_memory_t keys;
    uint64_t address; /* of the receiver's buffer */
    uint32_t key;     /* for it */
    uint32_t serial;
    uint32_t way;   /* that it is written by */
    uint32_t end;   /* shorter messages may go by it; 0: none */
    uint32_t again; /* records that were sent again */
    unsigned under_way;
    uint8_t state;        /* ri_channel_state_t */
    uint8_t failed;       /* a write has */
    ucs_list_link_t list; /* in worker->channels_out or channels_kept */
};

/* The receiver's end. */
struct ri_channel_in {
    ri_channel_rx_t rx;
    ri_plane_op_t op; /* of each credit that is under way */
    ri_stream_t *stream;
    void *memory; /* the buffer, and behind it the word that is written to the sender; NULL:
                     it is read to its end, but what comes again is not all there */
    size_t size; /* of the buffer */
    ri_plane_memory_t keys;
    uint64_t address; /* of the sender's word; 0: it has not accepted yet */
    uint32_t key;
    uint32_t serial;
    uint32_t way;
    uint32_t looked; /* RTRs before that position have been taken; not before rx.pos */
    uint32_t end;    /* closed: the position behind the last record */
    uint32_t again;  /* records that were sent again */
    uint32_t all;    /* with all_told: so many there are in all */
    unsigned under_way;
    unsigned busy;     /* records that are being delivered, one within another */
    uint8_t stopping;  /* the sender was asked to stop */
    uint8_t closed;    /* it has */
    uint8_t dead;      /* nobody can write it any more: it is taken, then freed */
    uint8_t all_told;  /* dead: the sender has said how many it sends again */
    uint8_t failed;    /* a credit could not be written */
    uint64_t last_use; /* worker->ring_clock at its latest record */
};

/** No rings can be had for @a stream: think about a channel. */
void ri_rdma_channel_consider(ri_stream_t *stream);

/** Handlers of control messages. @a conn of OFFER and STOP may be NULL. */
void ri_rdma_channel_handle_offer(ri_worker_t *worker, ri_conn_t *conn,
                                  const ri_wire_msg_t *msg);
void ri_rdma_channel_handle_accept(ri_stream_t *stream, const ri_wire_msg_t *msg);
void ri_rdma_channel_handle_stop(ri_worker_t *worker, ri_conn_t *conn,
                                 const ri_wire_msg_t *msg);
void ri_rdma_channel_handle_close(ri_stream_t *stream, const ri_wire_msg_t *msg);
void ri_rdma_channel_handle_again(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** This side's end of the way to a peer is gone: nothing is under way by it. */
void ri_rdma_channel_way_ended(ri_worker_t *worker, ri_peer_t *peer);

/** Sender: the conn ends, or has failed: its channel, if it has one, is given up. */
void ri_rdma_channel_abandon(ri_conn_t *conn);

/** The worker ends: so do the ways that channels go by, and these. */
void ri_rdma_channel_end_all(ri_worker_t *worker);

/** @return Whether anything that was sent by the channel of a conn may still be lost with this
 * process. */
static inline int ri_rdma_channel_is_busy(const ri_conn_t *conn)
{
    return (conn->channel != NULL) && (conn->channel->tx.acked != conn->channel->tx.pos);
}

/** Likewise, of any conn of a worker. */
int ri_rdma_channel_is_any_busy(const ri_worker_t *worker);

/** @return Whether a message of that length could be sent by the channel of @a conn now. */
int ri_rdma_channel_can(const ri_conn_t *conn, size_t length);

/** Send a contiguous message without a request. @return 0: it has to go another way, and took no
 * number. */
int ri_rdma_channel_put(ri_conn_t *conn, const void *data, size_t length, uint64_t tag);

/** Send the message of a request, which has its number. @return 0 likewise. */
int ri_rdma_channel_send(ri_send_req_t *req);

/** Likewise, with @a payload in place of its data, and an id of whatever that is about. */
int ri_rdma_channel_send_payload(ri_send_req_t *req, uint32_t id, const void *payload,
                                 size_t length);

/**
 * Send a control message, if it is of a kind that may go by a channel.
 *
 * @param message  As it would go by active message: a base header and what follows it.
 *
 * @return 0: it has to go another way.
 */
int ri_rdma_channel_send_control(ri_conn_t *conn, const void *message, size_t length);

/** @return Whether control messages of that type may go by a channel. */
static inline int ri_rdma_channel_carries(ri_wire_type_t type)
{
    switch (type) {
    case RI_WIRE_SYNC_ACK:
    case RI_WIRE_FIN:
    case RI_WIRE_NACK:
    case RI_WIRE_RTR:
    case RI_WIRE_RELEASE:
    case RI_WIRE_CTS:
    case RI_WIRE_WRITTEN:
    case RI_WIRE_REVOKE:
    case RI_WIRE_REVOKED:
    case RI_WIRE_USED:
        return 1;
    default:
        return 0;
    }
}

/** Sender: close a channel that was asked back, if nothing is under way in it. */
void ri_rdma_channel_go_on(ri_channel_out_t *out);

/** Sender: go on with the channels that are not open. */
void ri_rdma_channel_progress_out(ri_worker_t *worker);

/** Receive from all channels of a worker, and go on with those that it sends by. @return Number
 * of records. */
unsigned ri_rdma_channel_progress(ri_worker_t *worker);

/** Take the RTRs that are in the channel of a stream, if it has one, wherever in it they are;
 * outside of progress. */
void ri_rdma_channel_take_rtrs(ri_stream_t *stream);

/** Take the offers of long messages that are first in channels and match no posted receive: a
 * receive that is posted now finds them. Outside of progress; no callback is called. */
void ri_rdma_channel_keep_offers(ri_worker_t *worker);

/** Receiver: take all that is in a dead channel. */
void ri_rdma_channel_drain(ri_channel_in_t *in);

/** Receiver: take a record that comes again, unless it was in the buffer. The channel is dead and
 * read to its end. */
void ri_rdma_channel_take_again(ri_channel_in_t *in, const ri_channel_record_t *record,
                                uint32_t position, const void *payload);

/** Receiver: let go of the memory of a channel that is dead or closed, and empty; and of the rest,
 * unless something is still to come again. */
void ri_rdma_channel_free(ri_channel_in_t *in);

/** Receiver: the stream ends, and nothing comes again. Its channel has no memory (any more). */
void ri_rdma_channel_forget(ri_stream_t *stream);

/** @return Whether a channel of a stream has anything that is to be read. */
static inline int ri_rdma_channel_is_there(const ri_stream_t *stream)
{
    return (stream->channel != NULL) && (stream->channel->memory != NULL);
}

/** Sender: free a channel of which nothing is under way. */
void ri_rdma_channel_free_out(ri_channel_out_t *out);

#endif
