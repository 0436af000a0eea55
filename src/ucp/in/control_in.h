/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages that have come: whom they are addressed to, and who is in charge of them.
 */
#ifndef RI_CONTROL_IN_H
#define RI_CONTROL_IN_H

#include "../core/worker.h"

/** Hand a control message over to the handler of its type. It is well-formed, and its type has a
 * handler `to_stream` or `to_conn`. One to a stream or conn that is gone is counted and ignored. It
 * may call back, and any conn or stream that is not busy may be gone afterwards. */
void ri_control_in(ri_worker_t *worker, const ri_wire_msg_t *msg);

/** Count and trace a control message that has come, and that the caller handles by itself, without
 * ri_control_in(). */
void ri_control_in_note(ri_worker_t *worker, const ri_wire_msg_t *msg);

#endif
