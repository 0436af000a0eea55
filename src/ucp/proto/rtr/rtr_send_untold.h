/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes through a network that go on, and of which the receiver was not told: it learns of each by
 * its notification, when all data is there, or by USED. (protocol-rndv.md section 4)
 */
#ifndef RI_RTR_SEND_UNTOLD_H
#define RI_RTR_SEND_UNTOLD_H

#include "../../core/worker.h"
#include "../../match/rtr_table.h"

/** Note that the write for message @a sn goes on. The receiver does not know of it before all data
 * is there, so it is told before a message of another form is sent. conn->rtr.untold exists. */
void ri_rtr_send_untold_add(ri_conn_t *conn, uint32_t sn, const ri_rtr_t *rtr);

/** The write for message @a sn has ended, or the message is sent in another way: the receiver need
 * not be told of it any more. It may have been told already. */
void ri_rtr_send_untold_remove(ri_conn_t *conn, uint32_t sn);

/** A message of another form takes the next number: tell the receiver (USED) which of its receives
 * are being written for those before it, so that it need not wait for them. None is untold
 * afterwards. */
void ri_rtr_send_untold_tell(ri_conn_t *conn);

#endif
