/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of messages in a row: their sender has several on their way (core/row.h). There is more
 * than one to copy, so each side copies whole messages, in as few calls as possible: the receiver
 * the oldest, the sender the newest. They meet in the middle, and share the last one. The receiver
 * matches all that has come before it copies, so that the sender has something to write meanwhile.
 *
 * Rejected: to share each message of a row, as one that comes alone is. That takes twice as many
 * calls, and one side waits for the other at the end of each. Windows of 64 messages of 64 KB went
 * at 0.94 of what one side alone moves, and go at 1.6 by whole messages.
 */
#ifndef RI_COOP_ROW_H
#define RI_COOP_ROW_H

#include "coop_side.h"

/** Receiver: the message of a copy has been matched. If @a rts says that it is one of a row, and
 * both sides can copy it, say in the slot that it is copied as such. @return Whether it is
 * (coop->in_row). */
int ri_coop_row_use(ri_coop_t *coop, const ri_wire_rts_t *rts);

/** @return How many units of a copy of a row this side claims at a time (ri_slot_claim()): many, or
 * RI_SLOT_SHARE if no other one of the same peer's row is left for the other side. */
uint32_t ri_coop_row_most(const ri_coop_t *coop);

#endif
