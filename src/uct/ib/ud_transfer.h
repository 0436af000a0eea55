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
 * slots of a receive queue: a piece lands in the slot that is next, wherever it belongs. Its
 * number comes with it. The receiver posts no further than a window ahead of what is
 * complete, and the sender sends nothing whose place was not posted (a grant).
 *
 * What makes losses cheap to repair is one rule: slots that are posted and empty are exactly
 * as many as pieces of the window that are missing. A datagram that is none of these (of an
 * older transfer, a second copy) uses a slot up; that slot is posted again at once, behind
 * the others. Missing pieces are sent again and land in the slots that are left. Whenever
 * the first slots of the window hold the first pieces in any order, those are put in order,
 * each moved once, and the window moves on. When all is complete nothing is posted any more,
 * and what still arrives finds no memory of the user.
 *
 * Rejected: to post the missing places themselves. Receives cannot be taken back one by one, so
 * that would need a reset of the queue pair for each loss, and would not save the moves: what
 * was sent behind a lost piece has landed one place too early in any case.
 */
#ifndef RI_UD_TRANSFER_H
#define RI_UD_TRANSFER_H

#include "../../ucs/base.h"

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

/* No slot or piece; as an end of a move: memory for one piece, besides the message's */
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
    _c(ud_stale, "datagrams", "of an earlier transfer, or not from the peer") \
    _c(ud_nacks, "messages", "that asked for missing pieces") \
    _c(ud_probes, "messages", "that asked what the receiver lacks") \
    _c(ud_restarts, "times", "that a receiver emptied its window, which was sent again") \
    _c(ud_waits, "transfers", "that waited for a queue pair") \
    _c(ud_revoked, "transfers", "not begun yet, that had to give their queue pair to others") \
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
    RI_UD_NACK,      /* receiver: these are wanted again; also a grant */
    RI_UD_ACK,       /* receiver: all of it is there, and nothing is wanted any more */
    RI_UD_RESTART, /* receiver: all from base on is to be sent again, as of a new epoch */
    RI_UD_CANCEL,  /* receiver: there will be no end */
    RI_UD_PROBE,   /* sender: all up to sent is on its way; what is missing? */
    RI_UD_DONE,    /* sender: it knows of the end of these transfers */
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
    uint64_t quiet; /* pieces are known to be missing, and none has come for so long */
    uint64_t quiet_max; /* the longest wait then */
    uint64_t probe; /* the sender has sent all it may, and heard nothing for so long */
    uint64_t probe_max;
    uint64_t give_up; /* the sender has heard nothing at all; 0: it never gives up */
    uint64_t first;   /* likewise, if datagrams may not come through at all; 0: as that */
    uint64_t
            stall; /* others wait for the queue pair of a receiver that has heard nothing */
} ri_ud_times_t;

typedef enum ri_ud_rx_state {
    RI_UD_RX_ACTIVE,
    RI_UD_RX_DONE,
    RI_UD_RX_FAILED /* too many restarts */
} ri_ud_rx_state_t;

typedef struct ri_ud_rx ri_ud_rx_t;

/* What a receiver's owner does for it. None of these calls the receiver. */
typedef struct ri_ud_rx_ops {
    /** Post the memory of a slot behind all that is posted. */
    void (*post)(ri_ud_rx_t *rx, uint32_t slot);

    /** Copy @a piece from the memory of slot @a from to the place of piece @a to, either of
     * which may be RI_UD_NONE. */
    void (*move)(ri_ud_rx_t *rx, uint32_t from, uint32_t to, uint32_t piece);

    /** Send a control message. It may get lost. */
    void (*tell)(ri_ud_rx_t *rx, ri_ud_message_t *message);

    /** Take back all that is posted: when this returns nothing lands there any more. */
    void (*reset)(ri_ud_rx_t *rx);
} ri_ud_rx_ops_t;

/* The receiving side of a transfer. */
struct ri_ud_rx {
    const ri_ud_rx_ops_t *ops;
    const ri_ud_times_t *times;
    ri_ud_counters_t *counters;
    ri_ud_rx_state_t state;
    uint64_t length;         /* of the message */
    uint32_t piece_size;     /* of all but the last piece */
    uint32_t count;          /* pieces */
    uint32_t depth;          /* of the window */
    uint32_t first_indirect; /* slots from here on have memory that is not their place */
    int is_whole; /* what is missing is not asked for: the whole message is sent again */
    uint32_t sequence;  /* number of piece 0; that of the others follows */
    uint32_t base;      /* all before is at its place */
    uint32_t granted;   /* base to granted: the window; its slots are posted or filled */
    uint32_t scan;      /* base to scan: slots that are filled... */
    uint32_t scan_top;  /* ...with pieces before this one */
    uint32_t filled;    /* slots of the window that hold a piece */
    uint32_t top;       /* pieces before this one are known to have been sent */
    uint32_t asked_top; /* and before this one, what is missing was asked for */
    uint32_t unasked;   /* pieces between these two that are missing */
    uint32_t *held;     /* by slot modulo depth: its piece, or NONE: posted */
    uint32_t *where;    /* by piece modulo depth: its slot, or NONE: missing */
    uint32_t epoch;
    uint32_t round;
    uint32_t rounds;   /* since the window has moved */
    uint32_t restarts; /* likewise */
    int is_heard;      /* something has come from the sender since the last question */
    int has_news;      /* something has arrived since the last look at the time */
    int has_repair;    /* and something that was missing */
    int has_begun;     /* the sender has been heard of */
    int is_dirty;      /* datagrams may still come that it has no use for */
    uint64_t
            quiet; /* how long to wait before it is asked: times->quiet, or an answer's time */
    uint64_t asked; /* when, if no answer has come since; else 0 */
    uint64_t wait;
    uint64_t due;         /* to ask again */
    uint64_t due_unasked; /* to ask for what was not asked for */
};

/**
 * Set up a receiver, and post its first window. The caller has set ops, times, counters, length,
 * piece_size, depth, first_indirect, is_whole, sequence, held and where; length is not 0.
 */
void ri_ud_rx_init(ri_ud_rx_t *rx);

/**
 * A slot was filled.
 *
 * @param is_valid  It comes from the peer, and has a sequence number.
 * @param length    Of the data.
 */
void ri_ud_rx_arrive(ri_ud_rx_t *rx, uint32_t slot, int is_valid, uint32_t sequence,
                     uint32_t length);

/** A PROBE has come. */
void ri_ud_rx_probe(ri_ud_rx_t *rx, const ri_ud_message_t *message, uint64_t now);

/** Time goes by. To be called after pieces have arrived, and every now and then. */
void ri_ud_rx_time(ri_ud_rx_t *rx, uint64_t now);

/** Empty the window and have it sent again, or the whole message: something has gone wrong with
 * what is posted, or is missing. */
void ri_ud_rx_restart(ri_ud_rx_t *rx);

/** @return Bytes of a piece. */
static inline uint32_t ri_ud_piece_length(uint64_t length, uint32_t piece_size,
                                          uint32_t piece)
{
    uint64_t left = length - (uint64_t)piece * piece_size;

    return ri_min(left, piece_size);
}

/** @return The number of pieces; 0: there would be too many, or none. */
static inline uint32_t ri_ud_count_pieces(uint64_t length, uint32_t piece_size)
{
    uint64_t count = length / piece_size + ((length % piece_size) != 0);

    return (count <= RI_UD_PIECES_MAX) ? count : 0;
}

typedef struct ri_ud_tx ri_ud_tx_t;

/* The sending side of a transfer. */
struct ri_ud_tx {
    void (*tell)(ri_ud_tx_t *tx, ri_ud_message_t *message); /* sends it; may get lost */
    const ri_ud_times_t *times;
    ri_ud_counters_t *counters;
    ucs_status_t status; /* INPROGRESS; OK; CANCELED by the receiver; UNREACHABLE */
    uint32_t count;      /* pieces */
    uint32_t granted;    /* may be sent */
    uint32_t next;       /* were sent */
    uint32_t sequence;   /* number of piece 0 */
    uint32_t qkey;       /* that of the receiver's queue pair */
    uint32_t epoch;
    uint32_t round;       /* of the last NACK that was heeded */
    uint32_t resend_next; /* resend_next to resend_end: pieces that may be wanted again */
    uint32_t resend_end;
    uint8_t resend[RI_UD_WINDOW_MAX / 8]; /* by piece modulo the greatest window: it is */
    uint64_t wait;
    uint64_t due;    /* to probe; 0: to be set when time goes by */
    uint64_t heard;  /* since when nothing has come from the receiver; likewise */
    uint64_t looked; /* when time went by last */
    int is_known;    /* the receiver has answered before; set by the owner */
};

/** Set up a sender. The caller has set tell, times, counters, count, granted, sequence and
 * qkey: those that the receiver says. */
void ri_ud_tx_init(ri_ud_tx_t *tx);

/** @return Up to @a max pieces that are to be sent now, and count as sent. */
unsigned ri_ud_tx_take(ri_ud_tx_t *tx, uint32_t *pieces, unsigned max);

/** @return Whether there is anything to send. */
static inline int ri_ud_tx_is_ready(const ri_ud_tx_t *tx)
{
    return (tx->status == UCS_INPROGRESS) &&
           ((tx->next < tx->granted) || (tx->resend_next < tx->resend_end));
}

/** A control message of the receiver; wire input. May change the status. @return Whether it made
 * sense. */
int ri_ud_tx_message(ri_ud_tx_t *tx, const ri_ud_message_t *message);

/** Time goes by, and nothing that was taken is still on its way out of this process. May change
 * the status. */
void ri_ud_tx_time(ri_ud_tx_t *tx, uint64_t now);

#endif
