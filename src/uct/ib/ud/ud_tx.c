/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In the order of a transfer: what may be sent, what the receiver says (grants, missing pieces),
 * and the clock, which probes a receiver that is silent.
 */
#include "ud_tx.h"

#include <assert.h>
#include <string.h>

static uint8_t *tx_resend_byte(ri_ud_tx_t *tx, uint32_t piece, uint8_t *bit)
{
    *bit = 1u << (piece % 8);
    return &tx->resend[(piece % RI_UD_WINDOW_MAX) / 8];
}

static void tx_forget_resend(ri_ud_tx_t *tx)
{
    memset(tx->resend, 0, sizeof(tx->resend));
    tx->resend_next = 0;
    tx->resend_end  = 0;
}

/* @return Whether the next one of those that may be wanted again is; it is not from now on. */
static int tx_take_resend(ri_ud_tx_t *tx)
{
    uint8_t bit, *byte = tx_resend_byte(tx, tx->resend_next++, &bit);
    int is_wanted = (*byte & bit) != 0;

    *byte &= ~bit;
    return is_wanted;
}

/* The receiver has said something new. */
static void tx_news(ri_ud_tx_t *tx)
{
    tx->wait = tx->times->probe;
    tx->due  = 0;
}

void ri_ud_tx_init(ri_ud_tx_t *tx)
{
    tx->status = UCS_INPROGRESS;
    tx->next   = 0;
    tx->epoch  = 0;
    tx->round  = 0;
    tx->heard  = 0;
    tx->looked = 0;
    tx_forget_resend(tx);
    tx_news(tx);
}

void ri_ud_tx_end(ri_ud_tx_t *tx, ucs_status_t status)
{
    assert((tx->status == UCS_INPROGRESS) && (status != UCS_INPROGRESS));
    tx->status = status;
}

unsigned ri_ud_tx_take(ri_ud_tx_t *tx, uint32_t *pieces, unsigned max)
{
    unsigned count = 0;

    if (tx->status != UCS_INPROGRESS) {
        return 0;
    }
    while ((count < max) && (tx->resend_next < tx->resend_end)) {
        if (tx_take_resend(tx)) {
            pieces[count++] = tx->resend_next - 1;
            ++tx->counters->ud_resent;
        }
    }
    for (; (count < max) && (tx->next < tx->granted); ++tx->next) {
        pieces[count++] = tx->next;
        ++tx->counters->ud_sent;
    }
    if (count > 0) {
        tx->due = 0;
    }
    return count;
}

static void tx_grant(ri_ud_tx_t *tx, uint32_t granted)
{
    if (granted > tx->granted) {
        tx->granted = granted;
        tx_news(tx);
    }
}

/* Note the pieces that a NACK asks for, besides those that were asked for before and have not been
 * sent yet. */
static void tx_nack(ri_ud_tx_t *tx, const ri_ud_message_t *message)
{
    uint8_t *byte, bit;
    uint32_t i;

    tx_grant(tx, message->pieces);
    if ((int32_t)(message->round - tx->round) <= 0) {
        return; /* repeated or overtaken */
    }
    tx->round = message->round;
    if ((tx->resend_end < message->base) ||
        (tx->resend_end - message->base > RI_UD_WINDOW_MAX)) {
        /* All of it is there, or no receiver has such a window */
        tx_forget_resend(tx);
        tx->resend_next = message->base;
        tx->resend_end  = message->base;
    }
    while (tx->resend_next < message->base) {
        tx_take_resend(tx); /* it has arrived */
    }
    for (i = 0; i < message->num_bits; ++i) {
        if (message->bits[i / 8] & (1u << (i % 8))) {
            byte = tx_resend_byte(tx, message->base + i, &bit);
            *byte |= bit;
        }
    }
    tx->resend_next = message->base;
    tx->resend_end  = ri_max(tx->resend_end, message->base + message->num_bits);
    tx_news(tx);
}

static void tx_restart(ri_ud_tx_t *tx, const ri_ud_message_t *message)
{
    tx->epoch    = message->epoch;
    tx->next     = message->base;
    tx->granted  = message->pieces;
    tx->sequence = message->sequence;
    tx->qkey     = message->qkey;
    tx_forget_resend(tx);
    tx_news(tx);
}

/* @return Whether the numbers of a message can be those of a receiver. */
static int tx_message_check(const ri_ud_tx_t *tx, const ri_ud_message_t *message)
{
    if (message->pieces > tx->count) {
        return 0;
    }
    switch (message->type) {
    case RI_UD_NACK:
        return (message->num_bits <= RI_UD_WINDOW_MAX) &&
               ((message->epoch != tx->epoch) ||
                ((message->base <= tx->next) &&
                 (message->num_bits <= tx->next - message->base)));
    case RI_UD_RESTART:
        return (message->base <= message->pieces) &&
               (message->pieces - message->base <= RI_UD_WINDOW_MAX) &&
               ((int32_t)(message->epoch - tx->epoch) <= RI_UD_RESTARTS_MAX);
    case RI_UD_GRANT:
    case RI_UD_ACK:
    case RI_UD_CANCEL:
        return 1;
    default:
        return 0; /* it is no receiver's */
    }
}

int ri_ud_tx_message(ri_ud_tx_t *tx, const ri_ud_message_t *message)
{
    if (!tx_message_check(tx, message)) {
        return 0;
    }
    if (tx->status != UCS_INPROGRESS) {
        return 1;
    }
    tx->heard = 0;
    switch (message->type) {
    case RI_UD_ACK:
        ri_ud_tx_end(tx, UCS_OK);
        break;
    case RI_UD_CANCEL:
        ri_ud_tx_end(tx, UCS_ERR_CANCELED);
        break;
    case RI_UD_RESTART:
        if ((int32_t)(message->epoch - tx->epoch) > 0) {
            tx_restart(tx, message);
        }
        break;
    default:
        if (message->epoch != tx->epoch) {
            break; /* of before a restart, or RESTART itself is on its way */
        }
        if (message->type == RI_UD_NACK) {
            tx_nack(tx, message);
        } else {
            tx_grant(tx, message->pieces);
        }
    }
    return 1;
}

static void tx_probe(ri_ud_tx_t *tx)
{
    ri_ud_message_t message;

    memset(&message, 0, sizeof(message));
    message.type   = RI_UD_PROBE;
    message.epoch  = tx->epoch;
    message.pieces = tx->next;
    ++tx->counters->ud_probes;
    tx->tell(tx, &message);
}

/* Note the time. What was nobody's, because this process was stopped or computed, does not count
 * as silence: the answer may be waiting, or the question that it would answer not be asked. */
static void tx_look(ri_ud_tx_t *tx, uint64_t now)
{
    uint64_t longest = tx->times->probe_max;

    if (tx->heard == 0) {
        tx->heard = now;
    } else if (now - tx->looked > longest) {
        tx->heard += now - tx->looked - longest;
    }
    tx->looked = now;
}

/* @return How long nothing may be heard; 0: for ever. */
static uint64_t tx_patience(const ri_ud_tx_t *tx)
{
    return (tx->is_known || (tx->times->first == 0)) ?
                   tx->times->give_up :
                   ri_min(tx->times->give_up, tx->times->first);
}

void ri_ud_tx_time(ri_ud_tx_t *tx, uint64_t now)
{
    uint64_t patience = tx_patience(tx);

    if ((tx->status != UCS_INPROGRESS) || ri_ud_tx_is_ready(tx)) {
        return;
    }
    tx_look(tx, now);
    if (tx->due == 0) {
        tx->due = now + tx->wait;
    }
    if ((patience > 0) && (now - tx->heard >= patience)) {
        ri_ud_tx_end(tx, UCS_ERR_UNREACHABLE);
        return;
    }
    if (ri_likely(now < tx->due)) {
        return;
    }
    tx_probe(tx);
    tx->wait = ri_min(2 * tx->wait, tx->times->probe_max);
    tx->due  = now + tx->wait;
}
