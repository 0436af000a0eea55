/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The two ends of a channel through a network (channel_life.h, channel_out.h).
 */
#ifndef RI_CHANNEL_TYPES_H
#define RI_CHANNEL_TYPES_H

#include "../core/types/types.h"
#include "../../uct/api/plane.h"
#include "../../uct/ib/rc/rc_channel.h"

/*
 * The sender's end of a channel (ri_channel_out_t.state). Legal changes, which
 * ri_channel_out_set_state() asserts:
 *
 *   OPEN -> STOPPING                  CHANNEL_STOP has come
 *   OPEN, STOPPING, AGAIN -> AGAIN    a way to the peer has ended, and the conn goes on: the
 *                                     channel's own, or a later one before all was sent again
 *
 * A channel that has ended keeps its state while its memory is kept for credits
 * (worker->channels.kept).
 */
typedef enum ri_channel_state {
    RI_CHANNEL_OPEN,
    RI_CHANNEL_STOPPING, /* the receiver wants it back: nothing new goes by it */
    RI_CHANNEL_AGAIN,    /* its way is gone: what is in it is to be sent again */
    RI_CHANNEL_STATE_LAST
} ri_channel_state_t;

/* The sender's end. */
struct ri_channel_out {
    ri_channel_tx_t tx;
    ri_plane_op_t op; /* of each write that is under way: they end in order */
    ri_conn_t *conn;  /* NULL: the channel has ended, see worker->channels.kept */
    ri_peer_t *peer;
    void *memory; /* the shadow, and behind it the word that the receiver writes */
    size_t size;  /* of the shadow */
    ri_plane_memory_t keys;
    uint64_t address; /* of the receiver's buffer */
    uint32_t key;     /* for the receiver's buffer */
    uint32_t serial;
    uint32_t way;   /* number of the way by which the buffer is written */
    uint32_t end;   /* shorter messages may go by the channel; 0: none */
    uint32_t again; /* records that were sent again */
    unsigned under_way;
    uint8_t state;        /* ri_channel_state_t, changed by ri_channel_out_set_state() */
    uint8_t failed;       /* a write has failed */
    ucs_list_link_t list; /* in worker->channels.out or .kept */
};

/*
 * The receiver's end. Its flags are set one by one, and stay set. Wherever one is set, or the
 * memory goes, ri_channel_life_check_in() asserts:
 *
 *   closed, all_told   only one of the two: of a channel that is closed no record comes again, also
 *                      if it is dead later
 *   all_told           only with dead
 *   memory is NULL     only with dead, and not with closed: else nothing is waited for any more
 *
 * It may be stopping, or have failed, in each case.
 */
struct ri_channel_in {
    ri_channel_rx_t rx;
    ri_plane_op_t op; /* of each credit that is under way */
    ri_stream_t *stream;
    void *memory; /* the buffer, and behind it the word that is written to the sender; NULL:
                     it is read to its end, but what comes again is not all there */
    size_t size; /* of the buffer */
    ri_plane_memory_t keys;
    uint64_t address; /* of the sender's word; 0: the sender has not accepted yet */
    uint32_t key;     /* for the sender's word */
    uint32_t serial;
    uint32_t way;    /* number of the way by which the buffer is written */
    uint32_t looked; /* RTRs before this position have been taken; not before rx.pos */
    uint32_t end;    /* closed: the position behind the last record */
    uint32_t again;  /* records that were sent again */
    uint32_t all;    /* with all_told: records that are sent again, in all */
    unsigned under_way;
    unsigned busy;     /* records that are being delivered, one within another */
    uint8_t stopping;  /* the sender was asked to stop */
    uint8_t closed;    /* the sender has stopped: nothing is written behind `end` */
    uint8_t dead;      /* nobody can write the buffer any more: it is read, then freed */
    uint8_t all_told;  /* dead: the sender has said how many records it sends again */
    uint8_t failed;    /* a credit could not be written */
    uint64_t last_use; /* worker->rings.clock at its latest record */
};

#endif
