/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_transfer.h"

#include <string.h>

static void tx_forget_resend(ri_ud_tx_t *tx)
{
    tx->resend_count = 0;
    tx->resend_next  = 0;
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

unsigned ri_ud_tx_take(ri_ud_tx_t *tx, uint32_t *pieces, unsigned max)
{
    unsigned count = 0;
    uint32_t bit;

    if (tx->status != UCS_INPROGRESS) {
        return 0;
    }
    while ((count < max) && (tx->resend_next < tx->resend_count)) {
        bit = tx->resend_next++;
        if (tx->resend[bit / 8] & (1u << (bit % 8))) {
            pieces[count++] = tx->resend_base + bit;
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

static void tx_nack(ri_ud_tx_t *tx, const ri_ud_message_t *message)
{
    tx_grant(tx, message->pieces);
    if ((int32_t)(message->round - tx->round) <= 0) {
        return; /* repeated or overtaken */
    }
    tx->round        = message->round;
    tx->resend_base  = message->base;
    tx->resend_next  = 0;
    tx->resend_count = message->num_bits;
    memcpy(tx->resend, message->bits, sizeof(tx->resend));
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
    default:
        return (message->type > 0) && (message->type < RI_UD_PROBE);
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
        tx->status = UCS_OK;
        break;
    case RI_UD_CANCEL:
        tx->status = UCS_ERR_CANCELED;
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
        tx->status = UCS_ERR_UNREACHABLE;
        return;
    }
    if (ri_likely(now < tx->due)) {
        return;
    }
    tx_probe(tx);
    tx->wait = ri_min(2 * tx->wait, tx->times->probe_max);
    tx->due  = now + tx->wait;
}
