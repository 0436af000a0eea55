/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages that come, and what each type of them is for.
 */
#ifndef RI_UD_ARRIVE_H
#define RI_UD_ARRIVE_H

#include "ud_base.h"

#if HAVE_VERBS

/** Take the control messages that have come. Transfers may end, which progress tells. */
void ri_ud_arrive_progress(ri_ud_plane_t *plane);

#endif

#endif
