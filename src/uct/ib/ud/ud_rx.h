/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiving side of a transfer (ud_transfer.h): posts landings, knows which pieces are where,
 * asks for those that are missing, and puts them in order.
 *
 * What makes losses cheap to repair is one rule: landings that are posted and empty are exactly
 * as many as pieces of the window that are missing. A datagram that is no such piece (of an
 * older transfer, a second copy) uses a landing up; that landing is posted again at once, behind
 * the others. Missing pieces are sent again and land in the landings that are left. Whenever
 * the first landings of the window hold the first pieces in any order, those are put in order,
 * each moved once, and the window moves on. When all is complete nothing is posted any more,
 * and what still arrives finds no memory of the user.
 *
 * Rejected: to post the missing places themselves. Receives cannot be taken back one by one, so
 * that would need a reset of the queue pair for each loss, and would not save the moves: what
 * was sent behind a lost piece has landed one place too early in any case.
 */
#ifndef RI_UD_RX_H
#define RI_UD_RX_H

#include "ud_transfer.h"

/*
 * The end of a receiver (ri_ud_rx_t.state). Legal changes:
 *
 *   ACTIVE -> DONE      base is count: nothing is posted any more, and ACK was sent
 *   ACTIVE -> FAILED    RI_UD_RESTARTS_MAX restarts were in vain: nothing is posted any more
 */
typedef enum ri_ud_rx_state {
    RI_UD_RX_ACTIVE,
    RI_UD_RX_DONE,
    RI_UD_RX_FAILED
} ri_ud_rx_state_t;

typedef struct ri_ud_rx ri_ud_rx_t;

/* The calls of a receiver to its owner. No function of the table calls the receiver. */
typedef struct ri_ud_rx_ops {
    /** Post the memory of a landing behind all that is posted. */
    void (*post)(ri_ud_rx_t *rx, uint32_t landing);

    /** Copy @a piece from the memory of landing @a from to the place of piece @a to, either of
     * which may be RI_UD_NONE. */
    void (*move)(ri_ud_rx_t *rx, uint32_t from, uint32_t to, uint32_t piece);

    /** Send a control message. It may get lost. */
    void (*tell)(ri_ud_rx_t *rx, ri_ud_message_t *message);

    /** Take back all that is posted: when this returns nothing lands there any more. */
    void (*reset)(ri_ud_rx_t *rx);
} ri_ud_rx_ops_t;

/*
 * The receiving side of a transfer. Its numbers are ordered:
 *
 *   base <= scan <= granted <= count    scan_top and top are from base to granted, too
 *   granted - base <= depth
 *   filled <= granted - base
 */
struct ri_ud_rx {
    /* Set by the owner: */
    const ri_ud_rx_ops_t *ops;
    const ri_ud_times_t *times;
    ri_ud_counters_t *counters;
    uint64_t length;     /* of the message, in bytes */
    uint32_t piece_size; /* bytes of each piece but the last */
    uint32_t depth;      /* landings of the window at most: a power of two */
    /* landings from here on have memory that is not their place */
    uint32_t first_indirect;
    int is_whole;      /* pieces that are missing are not asked for: all is sent again */
    uint32_t sequence; /* number of piece 0; the numbers of the others follow */
    /* by landing modulo depth: its piece, or NONE if it is posted and empty */
    uint32_t *held;
    uint32_t *where; /* by piece modulo depth: its landing, or NONE if it is missing */

    ri_ud_rx_state_t state;
    uint32_t count; /* pieces of the message */
    uint32_t base;  /* all pieces before this one are at their places */
    /* landings from base to here are the window: each is posted or filled */
    uint32_t granted;
    uint32_t scan;      /* landings from base to here are filled */
    uint32_t scan_top;  /* pieces in the landings from base to scan are before this one */
    uint32_t filled;    /* landings of the window that hold a piece */
    uint32_t top;       /* pieces before this one are known to have been sent */
    uint32_t asked_top; /* pieces before this one were asked for if they were missing */
    uint32_t unasked;   /* pieces from asked_top to top that are missing */
    /* restarts so far: messages of an earlier epoch mean an earlier window */
    uint32_t epoch;
    uint32_t round;    /* of the latest NACK; counts up */
    uint32_t rounds;   /* questions for all missing pieces since base has moved */
    uint32_t restarts; /* restarts since base has moved */
    int is_heard;      /* something has come from the sender since the latest question */
    int has_news;      /* something has arrived since ri_ud_rx_time() was called */
    int has_repair; /* a piece that was asked for has arrived since ri_ud_rx_time() was called */
    int has_begun; /* the sender has been heard of */
    int is_dirty;  /* datagrams may still come that the transfer has no use for */
    /* how long to wait before a question: times->quiet, or what the latest answer took */
    uint64_t quiet;
    /* when the question was asked that has no answer yet; 0: there is none */
    uint64_t asked;
    /* the wait between the next question and the one behind it; doubles each time */
    uint64_t wait;
    uint64_t due;         /* when all missing pieces are asked for again */
    uint64_t due_unasked; /* when pieces are asked for that were not asked for yet */
};

/** Set up a receiver, and post its first window. The owner has set its fields; length is not 0. */
void ri_ud_rx_init(ri_ud_rx_t *rx);

/**
 * A landing was filled. What is no piece that is missing is counted, and its landing is posted
 * again. The last piece ends the receiver (RI_UD_RX_DONE).
 *
 * @param is_valid  It comes from the peer, and has a sequence number.
 * @param length    Of the data.
 */
void ri_ud_rx_arrive(ri_ud_rx_t *rx, uint32_t landing, int is_valid, uint32_t sequence,
                     uint32_t length);

/** A PROBE has come, after all pieces that came before it were told. It may end the receiver
 * (RI_UD_RX_FAILED). @param now  In ns. */
void ri_ud_rx_probe(ri_ud_rx_t *rx, const ri_ud_message_t *message, uint64_t now);

/** Time goes by, which may end the receiver (RI_UD_RX_FAILED). To be called after pieces have
 * arrived, and every now and then. @param now  In ns. */
void ri_ud_rx_time(ri_ud_rx_t *rx, uint64_t now);

/** Empty the window and have it sent again, or the whole message: something has gone wrong with
 * what is posted, or is missing. After RI_UD_RESTARTS_MAX in vain the receiver ends
 * (RI_UD_RX_FAILED), unless is_whole is set. */
void ri_ud_rx_restart(ri_ud_rx_t *rx);

#endif
