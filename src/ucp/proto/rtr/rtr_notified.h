/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * News of RTRs through a network (rtr_net.h): the notifications of writes, each of which is taken
 * as the PLACED that it stands for; messages that are sent again, as their writes have failed; and
 * what becomes of RTRs whose way or peer ends.
 */
#ifndef RI_RTR_NOTIFIED_H
#define RI_RTR_NOTIFIED_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/** Take what the plane has told; give up ways that have stopped working, or whose peer does not
 * answer REVOKE. Calls back. @return How much was told. */
unsigned ri_rtr_notified_progress(ri_worker_t *worker);

/** An RTS says that its message may be there. If it was written by the present way, that is given
 * up first, and what it has brought is taken. The stream is kept by stream->busy. Calls back.
 * @return Whether nothing is left to be done: the message is there and that was answered, or its
 * receive is NAMED and reads it. Else it is as any other. */
int ri_rtr_notified_again(ri_stream_t *stream, ri_arrival_t *arrival);

/** A stream ends, and ri_rtr_net_withdraw() has returned: decide what waited for answers of its
 * peer to REVOKE. The stream is kept by stream->busy. Calls back. */
void ri_rtr_notified_stream_ends(ri_stream_t *stream);

#endif
