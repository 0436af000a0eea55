/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a sender has several long messages on their way to one receiver: a row. There is more
 * than one copy to make then, so both sides can copy at the same time without sharing any
 * (proto/coop/coop_row.h). And a message that goes through a ring would hold up those behind it.
 *
 * A message follows in a row if an earlier one of its conn was announced of late, and has not
 * ended. Applications repeat themselves: the first message of a row is taken for one of it if the
 * row before was long. Where as many long messages come from the receiver as go to it, each side
 * has its own ones to read, and is no help to the other.
 */
#ifndef RI_ROW_H
#define RI_ROW_H

#include "types/conn_types.h"

/* Long messages of one direction that are counted; then the count is halved. */
#define RI_ROW_COUNTED 256

/** A long message is about to be sent to a peer on this host: before ri_row_ask(). */
void ri_row_note_send(ri_peer_t *peer);

/** @return Whether of late about as many long messages have come from a peer on this host as went
 * to it. */
int ri_row_is_mutual(const ri_peer_t *peer);

/** Ask whether a long message, which is about to be sent within the host, is one of a row. Each
 * call is a message of it. @return Whether it is. Until the next call, conn->row.on says whether
 * both sides can copy messages of the row: the receiver has few of its own to read. */
int ri_row_ask(const ri_send_req_t *req);

/** A long message of a peer on this host has met its receive, with its first part at least. */
void ri_row_note_receive(ri_peer_t *peer);

#endif
