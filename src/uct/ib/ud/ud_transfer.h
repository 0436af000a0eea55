/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of the ud plane as state machines (protocol-ud.md): what either side does about
 * pieces that arrive, get lost, overtake one another or come twice. They know neither verbs nor
 * memory nor clocks: events and times come in by calls, and what is to be done goes out by
 * functions of their owner, so that tests can run thousands of transfers, and all orders of
 * events of small ones.
 *
 * A message is cut into pieces. The receiver posts the places of the pieces in order, as
 * landings of a receive queue: a piece lands in the landing that is next, wherever it belongs. Its
 * number comes with it. The receiver posts no further than a window ahead of what is
 * complete, and the sender sends nothing whose place was not posted (a grant).
 *
 * The receiving side is in ud_rx.h, the sending side in ud_tx.h; here is what both have in common.
 */
#ifndef RI_UD_TRANSFER_H
#define RI_UD_TRANSFER_H

#include "../../../ucs/base.h"

/* Pieces of a window: a power of two. All that are missing fit a NACK in the least MTU. */
#define RI_UD_WINDOW_MIN 4
#define RI_UD_WINDOW_MAX 1024

/* Pieces of a message; sequence numbers have 32 bits. */
#define RI_UD_PIECES_MAX (1u << 30)

/* Questions for all missing pieces, without that the window moves, until it starts again. Those
 * that a sender does not react to in any way do not count. */
#define RI_UD_ROUNDS_MAX 16

/* Starts again, without that the window moves, until a transfer fails. */
#define RI_UD_RESTARTS_MAX 8

/* No landing or piece; as an end of a move: memory for one piece, besides the message's */
#define RI_UD_NONE UINT32_MAX

/* name, unit, what it counts */
/* clang-format off */
#define RI_UD_COUNTERS(_c) \
    _c(ud_sends, "transfers", "that this side began to send") \
    _c(ud_recvs, "transfers", "that this side began to receive") \
    _c(ud_sent, "pieces", "sent the first time") \
    _c(ud_resent, "pieces", "sent again, because the receiver lacked them") \
    _c(ud_received, "pieces", "that were missing when they arrived") \
    _c(ud_moved, "pieces", "that had landed where others belong") \
    _c(ud_duplicates, "datagrams", "with a piece that had been received already") \
    _c(ud_stale, "datagrams", "of an earlier transfer, or from another sender") \
    _c(ud_nacks, "messages", "that asked for missing pieces") \
    _c(ud_probes, "messages", "that asked what the receiver lacks") \
    _c(ud_restarts, "times", "that a receiver emptied its window, sent again") \
    _c(ud_waits, "transfers", "that waited for a queue pair") \
    _c(ud_reclaimed, "transfers", "not begun, whose queue pair others had to get") \
    _c(ud_dropped, "messages", "from nobody known, or malformed") \
    _c(ud_unsent, "messages", "for which there was no room") \
    _c(ud_pool_bytes, "bytes", "that the queue pairs of the pool take, now")
/* clang-format on */

typedef struct ri_ud_counters {
#define RI_UD_COUNTER_MEMBER(_name, _unit, _doc) uint64_t _name;
    RI_UD_COUNTERS(RI_UD_COUNTER_MEMBER)
#undef RI_UD_COUNTER_MEMBER
} ri_ud_counters_t;

/* Control messages. On the wire. */
typedef enum ri_ud_type {
    RI_UD_GRANT = 1, /* receiver: pieces up to granted may be sent */
    RI_UD_NACK,      /* receiver: the pieces of the bits are wanted again; also a grant */
    RI_UD_ACK, /* receiver: all of the message is there, and nothing is wanted any more */
    RI_UD_RESTART, /* receiver: all from base on is to be sent again, as of a new epoch */
    RI_UD_CANCEL,  /* receiver: there will be no end */
    RI_UD_PROBE,   /* sender: all up to sent is on its way; what is missing? */
    RI_UD_DONE,    /* sender: it knows that the transfers of the bits have ended */
    RI_UD_TYPE_LAST
} ri_ud_type_t;

typedef struct ri_ud_message {
    ri_ud_type_t type;
    uint32_t number;   /* of the transfer; set by the owner */
    uint32_t epoch;    /* how many restarts the sender of the message knows of */
    uint32_t round;    /* NACK: counts up */
    uint32_t base;     /* NACK: the receiver's, the piece of the first bit; RESTART */
    uint32_t pieces;   /* granted, or PROBE: sent */
    uint32_t sequence; /* RESTART: number of the first piece */
    uint32_t qkey;     /* RESTART; set by the owner */
    uint32_t num_bits; /* NACK, DONE */
    uint8_t bits[RI_UD_WINDOW_MAX / 8]; /* NACK: 1: wanted. DONE: number and later ones */
} ri_ud_message_t;

/* In ns. Each wait without an answer is twice as long as the one before. */
typedef struct ri_ud_times {
    /* Receiver: pieces are known to be missing, and none has come for so long, so it asks. */
    uint64_t quiet;
    uint64_t quiet_max; /* the longest wait between two questions of the receiver */

    /* Sender: it has sent all that it may, and has heard nothing for so long, so it asks. */
    uint64_t probe;
    uint64_t probe_max; /* the longest wait between two questions of the sender */

    /* sender: it has heard nothing for so long, and fails; 0: it never does */
    uint64_t give_up;
    /* sender: in place of give_up as long as the receiver has never answered by this
     * way, as datagrams may not come through at all; 0: give_up holds */
    uint64_t first;
    /* owner of receivers: others wait for the queue pair of one whose sender has been
     * silent for so long, which gives it up */
    uint64_t stall;
} ri_ud_times_t;

/** @return Bytes of a piece. */
static inline uint32_t ri_ud_transfer_piece_length(uint64_t length, uint32_t piece_size,
                                                   uint32_t piece)
{
    uint64_t left = length - (uint64_t)piece * piece_size;

    return ri_min(left, piece_size);
}

/** @return The number of pieces; 0: there would be too many, or none. */
static inline uint32_t ri_ud_transfer_count_pieces(uint64_t length, uint32_t piece_size)
{
    uint64_t count = length / piece_size + ((length % piece_size) != 0);

    return (count <= RI_UD_PIECES_MAX) ? count : 0;
}

#endif
