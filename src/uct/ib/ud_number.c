/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a receiver knows of transfers by their numbers: those that are under way, and those that were
 * cancelled; all others that were ever given out are complete. (protocol-ud.md, section 6)
 */
#include "ud_plane.h"

#if HAVE_VERBS

#include <stdlib.h>
#include <string.h>

ucs_status_t ri_ud_number_reserve(ri_ud_ep_t *ep)
{
    size_t needed = ep->num_cancelled + ucs_list_length(&ep->recvs) + 1;
    uint32_t *cancelled;

    if (needed > ep->max_cancelled) {
        cancelled = realloc(ep->cancelled, 2 * needed * sizeof(*cancelled));
        if (cancelled == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        ep->cancelled     = cancelled;
        ep->max_cancelled = 2 * needed;
    }
    return UCS_OK;
}

void ri_ud_number_cancel(ri_ud_ep_t *ep, uint32_t number)
{
    ep->cancelled[ep->num_cancelled++] = number;
}

void ri_ud_number_tell(ri_ud_ep_t *ep, uint32_t number, ri_ud_type_t type)
{
    ri_ud_message_t message;

    memset(&message, 0, sizeof(message));
    message.type   = type;
    message.number = number;
    ri_ud_control_send(ep, &message);
}

static ri_ud_recv_t *number_find(ri_ud_ep_t *ep, uint32_t number)
{
    ri_ud_recv_t *recv;

    ucs_list_for_each(recv, &ep->recvs, super.ep_list) {
        if (recv->super.number == number) {
            return recv;
        }
    }
    return NULL;
}

/* @return The place of a number; the number of all if it is not there. */
static size_t number_find_cancelled(const ri_ud_ep_t *ep, uint32_t number)
{
    size_t i;

    for (i = 0; (i < ep->num_cancelled) && (ep->cancelled[i] != number); ++i) {}
    return i;
}

void ri_ud_recv_probe(ri_ud_ep_t *ep, ri_ud_message_t *message)
{
    ri_ud_plane_t *plane = ri_ud_plane(ep);
    ri_ud_recv_t *recv   = number_find(ep, message->number);

    /* What came before the question is not missing, though nobody has looked since */
    if ((recv != NULL) && (recv->state == RI_UD_RECV_ACTIVE)) {
        ri_ud_recv_poll(plane, recv);
        recv = number_find(ep, message->number);
    }
    if (recv != NULL) {
        ri_ud_rx_probe(&recv->rx, message, plane->now);
        ri_ud_recv_flush(plane, recv);
        if (recv->state == RI_UD_RECV_ACTIVE) {
            ri_ud_recv_check(recv);
        }
    } else if (number_find_cancelled(ep, message->number) < ep->num_cancelled) {
        ri_ud_number_tell(ep, message->number, RI_UD_CANCEL);
    } else if ((int32_t)(ep->next_number - message->number) > 0) {
        ri_ud_number_tell(ep, message->number, RI_UD_ACK);
    } else {
        ++plane->counters.ud_dropped;
    }
}

void ri_ud_forget(ri_plane_ep_t *super, uint32_t number)
{
    ri_ud_ep_t *ep = ri_container_of(super, ri_ud_ep_t, super);
    size_t i       = number_find_cancelled(ep, number);

    if (i < ep->num_cancelled) {
        ep->cancelled[i] = ep->cancelled[--ep->num_cancelled];
    }
}

#endif
