/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of rendezvous by datagrams (rndv_ud.h).
 */
#ifndef RI_RNDV_UD_RECV_H
#define RI_RNDV_UD_RECV_H

#include "ud_run.h"

/* Progress calls after a message has been received in which the plane is looked after: its sender
 * may ask whether it was. */
#define RI_UD_LINGER (1u << 20)

/* Callbacks of a transfer for a receive that has met its RTS (recv->rndv.written is
 * RI_RECV_BY_TARGET). Its sender need not have been asked: the receive may have had an RTR. */
extern const ri_ud_recv_calls_t ri_rndv_ud_recv_calls;

/** ABANDON has come. If the message is there the sender is told so (FIN); if its receive waits for
 * it as datagrams, that ends, and it is asked for by UCP (NACK). @return 0: it has got no receive
 * yet, and nothing was done. */
int ri_rndv_ud_recv_abandon(ri_stream_t *stream, const ri_wire_msg_t *msg);

#endif
