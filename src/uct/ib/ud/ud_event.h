/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the device tells of the ud plane's queues without having been asked.
 */
#ifndef RI_UD_EVENT_H
#define RI_UD_EVENT_H

#include "ud_base.h"

#if HAVE_VERBS

/** The device tells of a failure, or of another address. Transfers and ways may end; progress tells
 * the protocols of transfers, and check() says which ways have.
 * @param arg  The plane. */
void ri_ud_event(void *arg, const ri_ib_event_t *event);

#endif

#endif
