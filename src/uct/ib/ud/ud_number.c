/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_number.h"

#if HAVE_VERBS

#include "ud_control.h"

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

/* @return The place of a number; the number of all if it is not there. */
static size_t number_find_cancelled(const ri_ud_ep_t *ep, uint32_t number)
{
    size_t i;

    for (i = 0; (i < ep->num_cancelled) && (ep->cancelled[i] != number); ++i) {}
    return i;
}

int ri_ud_number_is_cancelled(const ri_ud_ep_t *ep, uint32_t number)
{
    return number_find_cancelled(ep, number) < ep->num_cancelled;
}

void ri_ud_number_forget(ri_plane_ep_t *super, uint32_t number)
{
    ri_ud_ep_t *ep = ri_container_of(super, ri_ud_ep_t, super);
    size_t i       = number_find_cancelled(ep, number);

    if (i < ep->num_cancelled) {
        ep->cancelled[i] = ep->cancelled[--ep->num_cancelled];
    }
}

#endif
