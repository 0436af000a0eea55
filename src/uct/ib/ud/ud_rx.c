/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In the order of a transfer: posting, arrival, putting pieces in order, asking for those that are
 * missing, and the clock.
 */
#include "ud_rx.h"

#include <assert.h>
#include <string.h>

/* If more pieces are missing than this share of those that were sent, of at least this number,
 * they are not worth to be told one by one. */
#define RX_LOSS_PIECES 32
#define RX_LOSS_SHARE  (3. / 4)

/* At the end of a window, the receiver waits for the next piece for 1 / RX_QUICK of the usual
 * time. */
#define RX_QUICK 4

static uint32_t *rx_held(const ri_ud_rx_t *rx, uint32_t landing)
{
    return &rx->held[landing & (rx->depth - 1)];
}

static uint32_t *rx_where(const ri_ud_rx_t *rx, uint32_t piece)
{
    return &rx->where[piece & (rx->depth - 1)];
}

/* Pieces that are missing although later ones have come, or the sender says they were sent */
static uint32_t rx_holes(const ri_ud_rx_t *rx)
{
    return rx->top - rx->base - rx->filled;
}

static void rx_message_init(const ri_ud_rx_t *rx, ri_ud_message_t *message,
                            ri_ud_type_t type)
{
    memset(message, 0, sizeof(*message));
    message->type   = type;
    message->epoch  = rx->epoch;
    message->pieces = rx->granted;
}

static void rx_tell(ri_ud_rx_t *rx, ri_ud_type_t type)
{
    ri_ud_message_t message;

    rx_message_init(rx, &message, type);
    if (type == RI_UD_RESTART) {
        message.base     = rx->base;
        message.sequence = rx->sequence;
    }
    rx->ops->tell(rx, &message);
}

/* Ask for the pieces from @a from on that are missing. */
static void rx_tell_missing(ri_ud_rx_t *rx, uint32_t from, uint64_t now)
{
    ri_ud_message_t message;
    uint32_t piece;

    rx_message_init(rx, &message, RI_UD_NACK);
    rx->is_dirty     = 1;
    message.round    = ++rx->round;
    message.base     = rx->base;
    message.num_bits = rx->top - rx->base;
    for (piece = ri_max(from, rx->base); piece < rx->top; ++piece) {
        if (*rx_where(rx, piece) == RI_UD_NONE) {
            message.bits[(piece - rx->base) / 8] |= 1u << ((piece - rx->base) % 8);
        }
    }
    rx->asked_top = rx->top;
    rx->unasked   = 0;
    rx->asked     = (rx->asked == 0) ? now : rx->asked;
    rx->is_heard  = 0;
    ++rx->counters->ud_nacks;
    rx->ops->tell(rx, &message);
}

/* Pieces before @a top are known to have been sent now. */
static void rx_raise(ri_ud_rx_t *rx, uint32_t top)
{
    rx->unasked += top - rx->top;
    rx->top = top;
}

/* Post landings up to @a end, which are new, or empty again. */
static void rx_post(ri_ud_rx_t *rx, uint32_t from, uint32_t end)
{
    for (; from < end; ++from) {
        *rx_held(rx, from)  = RI_UD_NONE;
        *rx_where(rx, from) = RI_UD_NONE;
        rx->ops->post(rx, from);
    }
}

/* Move the window's end on, in steps that are worth a message. */
static void rx_extend(ri_ud_rx_t *rx)
{
    uint32_t end = ri_min(rx->count - rx->base, rx->depth) + rx->base;

    if ((end == rx->granted) || ((end < rx->count) && (rx->base < rx->granted) &&
                                 (end - rx->granted < rx->depth / 4))) {
        return;
    }
    rx_post(rx, rx->granted, end);
    rx->granted = end;
    rx_tell(rx, RI_UD_GRANT);
}

/* Bring the piece of landing @a start and all in its cycle to their places. */
static void rx_move_cycle(ri_ud_rx_t *rx, uint32_t start)
{
    uint32_t place = start, from;

    rx->ops->move(rx, start, RI_UD_NONE, *rx_held(rx, start));
    while ((from = *rx_where(rx, place)) != start) {
        rx->ops->move(rx, from, place, place);
        *rx_held(rx, place) = place;
        ++rx->counters->ud_moved;
        place = from;
    }
    rx->ops->move(rx, RI_UD_NONE, place, place);
    *rx_held(rx, place) = place;
    ++rx->counters->ud_moved;
}

/* Landings base to scan hold the pieces base to scan. */
static void rx_close(ri_ud_rx_t *rx)
{
    uint32_t landing;

    for (landing = rx->base; landing < rx->scan; ++landing) {
        if (ri_unlikely(*rx_held(rx, landing) != landing)) {
            rx_move_cycle(rx, landing);
        } else if ((landing >= rx->first_indirect) &&
                   (*rx_where(rx, landing) == landing)) {
            rx->ops->move(rx, landing, landing, landing);
        }
    }
    rx->filled -= rx->scan - rx->base;
    rx->base     = rx->scan;
    rx->rounds   = 0;
    rx->restarts = 0;
}

/* Change the state, as ri_ud_rx_state_t allows it. */
static void rx_end(ri_ud_rx_t *rx, ri_ud_rx_state_t state)
{
    assert(rx->state == RI_UD_RX_ACTIVE);
    assert((state == RI_UD_RX_FAILED) ||
           ((state == RI_UD_RX_DONE) && (rx->base == rx->count)));
    rx->state = state;
}

static void rx_advance(ri_ud_rx_t *rx)
{
    uint32_t piece;

    while ((rx->scan < rx->granted) && ((piece = *rx_held(rx, rx->scan)) != RI_UD_NONE)) {
        rx->scan_top = ri_max(rx->scan_top, piece + 1);
        ++rx->scan;
        if (rx->scan_top == rx->scan) {
            rx_close(rx);
        }
    }
    if (rx->base == rx->count) {
        rx_end(rx, RI_UD_RX_DONE);
        rx_tell(rx, RI_UD_ACK);
    } else {
        rx_extend(rx);
    }
}

void ri_ud_rx_init(ri_ud_rx_t *rx)
{
    rx->state       = RI_UD_RX_ACTIVE;
    rx->count       = ri_ud_transfer_count_pieces(rx->length, rx->piece_size);
    rx->base        = 0;
    rx->granted     = ri_min(rx->count, rx->depth);
    rx->scan        = 0;
    rx->scan_top    = 0;
    rx->filled      = 0;
    rx->top         = 0;
    rx->asked_top   = 0;
    rx->unasked     = 0;
    rx->epoch       = 0;
    rx->round       = 0;
    rx->rounds      = 0;
    rx->restarts    = 0;
    rx->is_heard    = 0;
    rx->has_news    = 0;
    rx->has_begun   = 0;
    rx->has_repair  = 0;
    rx->is_dirty    = 0;
    rx->quiet       = rx->times->quiet;
    rx->wait        = rx->quiet;
    rx->asked       = 0;
    rx->due         = 0;
    rx->due_unasked = 0;
    rx_post(rx, 0, rx->granted);
}

void ri_ud_rx_arrive(ri_ud_rx_t *rx, uint32_t landing, int is_valid, uint32_t sequence,
                     uint32_t length)
{
    uint32_t piece = sequence - rx->sequence;

    if (rx->state != RI_UD_RX_ACTIVE) {
        return;
    }
    assert((landing - rx->base < rx->granted - rx->base) &&
           (*rx_held(rx, landing) == RI_UD_NONE));
    if (ri_unlikely(!is_valid || (piece >= rx->granted) ||
                    (length !=
                     ri_ud_transfer_piece_length(rx->length, rx->piece_size, piece)))) {
        rx->is_dirty = 1;
        ++rx->counters->ud_stale;
        rx->ops->post(rx, landing);
        return;
    }
    rx->has_news  = 1;
    rx->has_begun = 1;
    if (ri_unlikely((piece < rx->base) || (*rx_where(rx, piece) != RI_UD_NONE))) {
        rx->is_dirty = 1;
        ++rx->counters->ud_duplicates;
        rx->ops->post(rx, landing);
        return;
    }
    ++rx->counters->ud_received;
    ++rx->filled;
    rx->has_repair |= piece < rx->asked_top;
    *rx_held(rx, landing) = piece;
    *rx_where(rx, piece)  = landing;
    if (ri_likely(piece >= rx->top)) {
        rx_raise(rx, piece + 1);
        --rx->unasked;
    } else {
        rx->unasked -= piece >= rx->asked_top;
    }
    if (landing == rx->scan) {
        rx_advance(rx);
    }
}

void ri_ud_rx_restart(ri_ud_rx_t *rx)
{
    if (rx->state != RI_UD_RX_ACTIVE) {
        return;
    }
    rx->ops->reset(rx);
    if (rx->is_whole) {
        rx->base    = 0;
        rx->granted = ri_min(rx->count, rx->depth);
    } else if (rx->restarts == RI_UD_RESTARTS_MAX) {
        rx_end(rx, RI_UD_RX_FAILED);
        return;
    }
    ++rx->restarts;
    ++rx->epoch;
    ++rx->counters->ud_restarts;
    rx->sequence += rx->count; /* none that was used before */
    rx->scan      = rx->base;
    rx->scan_top  = rx->base;
    rx->filled    = 0;
    rx->top       = rx->base;
    rx->asked_top = rx->base;
    rx->unasked   = 0;
    rx->rounds    = 0;
    rx->wait      = rx->quiet;
    rx->asked     = 0;
    rx_post(rx, rx->base, rx->granted);
    rx_tell(rx, RI_UD_RESTART);
}

/* Whether to start anew, rather than to ask for the missing pieces once more. */
static int rx_is_hopeless(const ri_ud_rx_t *rx)
{
    uint32_t sent = rx->top - rx->base;

    return rx->is_whole || (rx->rounds == RI_UD_ROUNDS_MAX) ||
           ((rx->asked_top <= rx->base) && (sent >= RX_LOSS_PIECES) &&
            (rx_holes(rx) > sent * RX_LOSS_SHARE));
}

/* Ask for what is missing and was not asked for. What was may be on its way. */
static void rx_ask(ri_ud_rx_t *rx, uint64_t now)
{
    if (rx_is_hopeless(rx)) {
        ri_ud_rx_restart(rx);
    } else {
        rx_tell_missing(rx, rx->asked_top, now);
    }
    rx->due = now + rx->wait;
}

/* Ask for all that is missing. */
static void rx_ask_again(ri_ud_rx_t *rx, uint64_t now)
{
    if (rx_is_hopeless(rx)) {
        ri_ud_rx_restart(rx);
    } else {
        /* A sender that is silent is somewhere else, and has not tried in vain */
        rx->rounds += rx->is_heard;
        rx_tell_missing(rx, rx->base, now);
    }
    rx->wait = ri_min(2 * rx->wait, rx->times->quiet_max);
    rx->due  = now + rx->wait;
}

void ri_ud_rx_probe(ri_ud_rx_t *rx, const ri_ud_message_t *message, uint64_t now)
{
    if (rx->state != RI_UD_RX_ACTIVE) {
        return;
    }
    rx->has_begun = 1;
    rx->is_heard  = 1;
    if (message->epoch != rx->epoch) {
        rx_tell(rx, RI_UD_RESTART);
        return;
    }
    rx_raise(rx, ri_max(rx->top, ri_min(message->pieces, rx->granted)));
    if (rx_holes(rx) == 0) {
        rx_tell(rx, RI_UD_GRANT);
    } else if (rx->unasked > 0) {
        rx_ask(rx, now);
    }
}

/* Pieces that follow say nothing about those that were asked for: on a slow network the answer
 * is behind a window of them, and to ask again meanwhile makes it still slower. So that waits
 * for as long as the last answer took. */
static void rx_learn(ri_ud_rx_t *rx, uint64_t now)
{
    if (rx->has_repair && (rx->asked != 0)) {
        rx->quiet = ri_min(ri_max(now - rx->asked, rx->times->quiet),
                           rx->times->quiet_max);
        rx->asked = 0;
    }
    if (rx->has_repair || (rx_holes(rx) == 0)) {
        rx->has_repair = 0;
        rx->wait       = rx->quiet;
    }
}

/* How long no piece must have come until one that is missing is taken for lost. Behind the last
 * one of the window no others follow that could overtake it. */
static uint64_t rx_patience(const ri_ud_rx_t *rx)
{
    return ((rx->top == rx->granted) && !rx->is_whole) ? rx->times->quiet / RX_QUICK :
                                                         rx->times->quiet;
}

void ri_ud_rx_time(ri_ud_rx_t *rx, uint64_t now)
{
    if (rx->state != RI_UD_RX_ACTIVE) {
        return;
    }
    if (rx->has_news) {
        rx->has_news = 0;
        rx->is_heard = 1;
        rx_learn(rx, now);
        rx->due         = now + rx->wait;
        rx->due_unasked = now + rx_patience(rx);
    }
    if (ri_likely(rx_holes(rx) == 0)) {
        return;
    }
    if ((rx->unasked > 0) && (now >= rx->due_unasked)) {
        rx_ask(rx, now);
    } else if (now >= rx->due) {
        rx_ask_again(rx, now);
    }
}
