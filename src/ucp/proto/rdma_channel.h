/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The eager channel through a network, between the most active pairs: who has one
 * (uct/ib/channel.h), and what travels through it. (protocol.md section 6)
 *
 * As for rings, the receiver decides: after IB_EAGER_AFTER messages of a stream by active message
 * it makes a buffer, and offers it by its way to the peer; at most IB_EAGER_PEERS at a time. When
 * another stream deserves one, the least recently active is asked back. Unlike rings, a channel
 * carries EAGER alone, and nothing waits for room in it: what finds none goes by active message,
 * as do all other messages.
 *
 * A channel ends with the way by which it is written, whatever that ends for. Then the receiver
 * takes what is in the buffer, in which nothing changes any more. The sender sends what its device
 * has not acknowledged again, by active message (EAGER_AGAIN); the receiver gives up its own end
 * before it looks at such a message, and so knows which ones it has.
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
    ri_conn_t *conn;
    void *memory; /* the shadow, and behind it the word that the receiver writes */
    size_t size;  /* of the shadow */
    ri_plane_memory_t keys;
    uint64_t address; /* of the receiver's buffer */
    uint32_t key;     /* for it */
    uint32_t serial;
    uint32_t way; /* that it is written by */
    uint32_t max; /* longest payload that may go by it */
    unsigned under_way;
    uint8_t state;        /* ri_channel_state_t */
    uint8_t failed;       /* a write has */
    ucs_list_link_t list; /* in worker->channels_out */
};

/* The receiver's end. */
struct ri_channel_in {
    ri_channel_rx_t rx;
    ri_plane_op_t op; /* of each credit that is under way */
    ri_stream_t *stream;
    void *memory; /* the buffer, and behind it the word that is written to the sender */
    size_t size;  /* of the buffer */
    ri_plane_memory_t keys;
    uint64_t address; /* of the sender's word; 0: it has not accepted yet */
    uint32_t key;
    uint32_t serial;
    uint32_t way;
    uint32_t end; /* closed: the position behind the last record */
    unsigned under_way;
    unsigned busy;     /* records that are being delivered, one within another */
    uint8_t stopping;  /* the sender was asked to stop */
    uint8_t closed;    /* it has */
    uint8_t dead;      /* nobody can write it any more: it is taken, then freed */
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

/** This side's end of the way to a peer is gone: nothing is under way by it. */
void ri_rdma_channel_way_ended(ri_peer_t *peer);

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

/** Sender: close a channel that was asked back, if nothing is under way in it. */
void ri_rdma_channel_go_on(ri_channel_out_t *out);

/** Sender: go on with the channels that are not open. */
void ri_rdma_channel_progress_out(ri_worker_t *worker);

/** A message may have come by a channel already, whose way @a way has failed. @return Whether it
 * has. */
int ri_rdma_channel_has(ri_stream_t *stream, uint32_t sn, uint32_t way);

/** Receive from all channels of a worker, and go on with those that it sends by. @return Number
 * of records. */
unsigned ri_rdma_channel_progress(ri_worker_t *worker);

/** Receiver: free a channel that is dead or closed, and empty. */
void ri_rdma_channel_free(ri_channel_in_t *in);

/** Sender: free a channel of which nothing is under way. */
void ri_rdma_channel_free_out(ri_channel_out_t *out);

#endif
