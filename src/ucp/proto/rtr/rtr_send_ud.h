/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiver-initiated rendezvous by datagrams, the sender's side. The RTR has the plane's target,
 * so a message is sent at once, and with it, in sequence, an RTS that names the RTR. If nothing
 * comes of that, as the receiver has withdrawn the RTR meanwhile, the RTS is answered as any
 * other (rndv_ud.h). (protocol-rndv.md section 8; the receiver's side is rtr_ud.h)
 */
#ifndef RI_RTR_SEND_UD_H
#define RI_RTR_SEND_UD_H

#include "../../core/worker.h"
#include "../../match/rtr_table.h"

/** Handler of RTR_UD: keep it for the message that it is for, as ri_rtr_send_words_handle_rtr()
 * does. Without memory for its target it is never used, but can be withdrawn. */
void ri_rtr_send_ud_handle_rtr(ri_worker_t *worker, ri_conn_t *conn,
                               const ri_wire_msg_t *msg);

#endif
