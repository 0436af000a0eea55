/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sending side of a transfer (ud_transfer.h): which pieces are sent next, and when the receiver
 * is asked what it lacks.
 */
#ifndef RI_UD_TX_H
#define RI_UD_TX_H

#include "ud_transfer.h"

typedef struct ri_ud_tx ri_ud_tx_t;

/* The sending side of a transfer. next <= granted <= count, but that a restart may take both
 * back. */
struct ri_ud_tx {
    /* Set by the owner: */
    void (*tell)(ri_ud_tx_t *tx,
                 ri_ud_message_t *message); /* send a message, which may get lost */
    const ri_ud_times_t *times;
    ri_ud_counters_t *counters;
    uint32_t count;    /* pieces of the message */
    uint32_t granted;  /* pieces before this one may be sent */
    uint32_t sequence; /* number of piece 0 */
    uint32_t qkey;     /* Q_Key of the receiver's queue pair */
    int is_known; /* the receiver has answered before by this way; may change at any time */

    /* INPROGRESS until the end, which is told by ri_ud_tx_end(): OK by ACK, CANCELED by CANCEL,
     * UNREACHABLE by silence, or what the owner ends it with. */
    ucs_status_t status;
    uint32_t next;        /* pieces before this one were sent */
    uint32_t epoch;       /* of the latest RESTART */
    uint32_t round;       /* of the latest NACK that was heeded */
    uint32_t resend_next; /* pieces from here to resend_end may be wanted again */
    uint32_t resend_end;
    /* bit by piece modulo RI_UD_WINDOW_MAX: it is wanted */
    uint8_t resend[RI_UD_WINDOW_MAX / 8];
    uint64_t wait; /* how long the next question is put off; doubles each time */
    uint64_t due;  /* when the receiver is asked; 0: to be set when time goes by */
    /* since when nothing has come from the receiver; 0: to be set when time goes by */
    uint64_t heard;
    uint64_t looked; /* when time went by last */
};

/** Set up a sender. The owner has set its fields: granted, sequence and qkey as the receiver
 * says. */
void ri_ud_tx_init(ri_ud_tx_t *tx);

/** A sender has ended: it sends nothing any more. It must not have ended before. */
void ri_ud_tx_end(ri_ud_tx_t *tx, ucs_status_t status);

/** Take up to @a max pieces that are to be sent now, and count as sent: their numbers are put into
 * @a pieces. @return How many there are. */
unsigned ri_ud_tx_take(ri_ud_tx_t *tx, uint32_t *pieces, unsigned max);

/** @return Whether there is anything to send. */
static inline int ri_ud_tx_is_ready(const ri_ud_tx_t *tx)
{
    return (tx->status == UCS_INPROGRESS) &&
           ((tx->next < tx->granted) || (tx->resend_next < tx->resend_end));
}

/** A control message of the receiver has come: wire input. It may end the sender. @return
 * Whether the message made sense. */
int ri_ud_tx_message(ri_ud_tx_t *tx, const ri_ud_message_t *message);

/** Time goes by, and nothing that was taken is still on its way out of this process. That may
 * end the sender. @param now  In ns. */
void ri_ud_tx_time(ri_ud_tx_t *tx, uint64_t now);

#endif
