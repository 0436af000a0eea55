/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of messages that go both ways at the same time (core/exchange.h). Each side has one of its
 * own to copy for each that it gets, so it helps nobody if both copy both: one side copies all of a
 * message, in as few calls as possible. Which side is better depends on where the data lies: what
 * the sender's application has just written is in the sender's cache, and a far receiver reads it
 * slowly. So a receiver has measured whether it reads faster or the sender writes (coop_methods.h),
 * and says in the slot who copies. If the other side does not come to it, both copy.
 */
#ifndef RI_COOP_EXCHANGE_H
#define RI_COOP_EXCHANGE_H

#include "coop_side.h"

/** Receiver: a message is matched that is copied by its slot. @return Whether one side copies all
 * of it (coop->exchanged), as the slot says now. */
int ri_coop_exchange_use(ri_coop_t *coop);

/** Receiver: the copy ends. @a is_done: all was copied, and how long that has taken counts for the
 * next ones. */
void ri_coop_exchange_leave(ri_coop_t *coop, int is_done);

#endif
