/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of messages that were received, until their sender has said that it knows.
 */
#include "ud_heard.h"

#if HAVE_VERBS

#include "ud_control.h"
#include "../../../ucs/clock.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of receives that are kept. With more, the sender has gone on for long without a word
 * on the first ones: it has lost its interest. */
#define HEARD_MAX 1024

/* Numbers that one DONE can tell, and how many are told at once if others are still being sent. */
#define HEARD_BITS  32
#define HEARD_BATCH 16

/* Before the first reminder, and the longest time between two, in ns. */
#define HEARD_WAIT     1000000u
#define HEARD_WAIT_MAX 64000000u

/* Reminders in a row without an answer, after which it is taken that nobody is there, or does not
 * look for long. */
#define HEARD_REMINDERS 10

static ri_ud_ep_t *heard_ep(ri_plane_ep_t *ep)
{
    return ri_container_of(ep, ri_ud_ep_t, super);
}

void ri_ud_heard_received(ri_ud_ep_t *ep, uint32_t number)
{
    size_t max = ri_min(2 * ep->max_unheard + RI_UD_UNHEARD_MIN, HEARD_MAX);
    uint32_t *unheard;

    if ((ep->num_unheard == ep->max_unheard) && (max > ep->max_unheard)) {
        unheard = realloc(ep->unheard, max * sizeof(*unheard));
        if (unheard != NULL) {
            ep->unheard     = unheard;
            ep->max_unheard = max;
        }
    }
    if (ep->num_unheard == ep->max_unheard) {
        if (ep->max_unheard == 0) {
            return;
        }
        --ep->num_unheard;
        memmove(ep->unheard, ep->unheard + 1, ep->num_unheard * sizeof(*ep->unheard));
    }
    ep->unheard[ep->num_unheard++] = number;
    ep->reminders                  = 0;
    ep->remind_at                  = 0;
}

/* @return Whether DONE tells of a number. */
static int heard_has(const ri_ud_message_t *message, uint32_t number)
{
    uint32_t bit = number - message->number;

    return (bit < message->num_bits) && (message->bits[bit / 8] & (1u << (bit % 8)));
}

void ri_ud_heard_done(ri_ud_ep_t *ep, const ri_ud_message_t *message)
{
    size_t i, left = 0;

    for (i = 0; i < ep->num_unheard; ++i) {
        if (!heard_has(message, ep->unheard[i])) {
            ep->unheard[left++] = ep->unheard[i];
        }
    }
    if (left < ep->num_unheard) {
        ep->num_unheard = left;
        ep->reminders   = 0; /* it is there */
    }
}

static void heard_tell(ri_ud_ep_t *ep, uint32_t first, uint32_t bits)
{
    ri_ud_message_t message;
    unsigned i;

    memset(&message, 0, sizeof(message));
    message.type     = RI_UD_DONE;
    message.number   = first;
    message.num_bits = HEARD_BITS;
    for (i = 0; i < HEARD_BITS; ++i) {
        message.bits[i / 8] |= ((bits >> i) & 1) << (i % 8);
    }
    ri_ud_control_send(ep, &message);
}

static void heard_flush(ri_ud_ep_t *ep)
{
    if (ep->done_bits != 0) {
        heard_tell(ep, ep->done_first, ep->done_bits);
        ep->done_bits = 0;
    }
}

static void heard_add(ri_ud_ep_t *ep, uint32_t number)
{
    if (number - ep->done_first >= HEARD_BITS) {
        heard_flush(ep);
    }
    if (ep->done_bits == 0) {
        ep->done_first = number;
    }
    ep->done_bits |= 1u << (number - ep->done_first);
}

void ri_ud_heard_sent(const ri_ud_send_t *send)
{
    ri_ud_ep_t *ep = send->super.ep;

    if (send->tx.status == UCS_OK) {
        heard_add(ep, send->super.number);
    }
    if (ucs_list_is_empty(&ep->sends) ||
        (__builtin_popcount(ep->done_bits) >= HEARD_BATCH)) {
        heard_flush(ep);
    }
}

void ri_ud_heard_again(ri_ud_ep_t *ep, uint32_t number)
{
    heard_tell(ep, number, 1);
}

unsigned ri_ud_heard_list(ri_plane_ep_t *super, uint32_t *numbers, unsigned max)
{
    const ri_ud_ep_t *ep = heard_ep(super);

    if (ri_min(max, ep->num_unheard) > 0) {
        memcpy(numbers, ep->unheard, ri_min(max, ep->num_unheard) * sizeof(*numbers));
    }
    return ep->num_unheard;
}

int ri_ud_heard_remind(ri_plane_ep_t *super)
{
    ri_ud_ep_t *ep = heard_ep(super);
    uint64_t now   = (uint64_t)(ri_clock_now() * 1e9);
    uint64_t wait  = HEARD_WAIT;
    ri_ud_message_t message;
    size_t i;

    if (ep->remind_at == 0) {
        ep->remind_at = now + wait; /* DONE may be on its way */
    }
    if ((ep->num_unheard == 0) || (now < ep->remind_at)) {
        return 1;
    }
    if (ep->reminders == HEARD_REMINDERS) {
        return 0;
    }
    for (i = 0; i < ep->num_unheard; ++i) {
        memset(&message, 0, sizeof(message));
        message.type   = RI_UD_ACK;
        message.number = ep->unheard[i];
        ri_ud_control_send(ep, &message);
    }
    wait          = ri_min(wait << ++ep->reminders, HEARD_WAIT_MAX);
    ep->remind_at = now + wait;
    return 1;
}

#endif
