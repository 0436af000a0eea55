/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiver-initiated rendezvous, the sender's side: an RTR tells where a message goes before
 * it is sent, so the sender writes it there and says so (PLACED), or, if the message was
 * offered by RTS meanwhile, just writes it. (protocol-rndv.md; the receiver's side is rtr.h)
 */
#ifndef RI_RECV_RNDV_H
#define RI_RECV_RNDV_H

#include "../../core/worker.h"

/* How long a receiver may take to read what it was offered, until the sender writes it;
 * seconds. In the library it takes some microseconds to begin. Tests change it. */
extern double ri_recv_rndv_patience;

/** This process can write the peer's memory now: begin to take RTRs. */
void ri_recv_rndv_open(ri_conn_t *conn);

/** Find the RTR of a message that is about to be sent. @return NULL if there is none, or the
 * message is eager. */
const ri_rtr_t *ri_recv_rndv_find(ri_conn_t *conn, uint64_t tag, size_t length);

/** Note whether a message above the eager threshold has an RTR. @return Whether none is there
 * though recent ones had one: it is likely to be on its way. */
int ri_recv_rndv_is_expected(ri_conn_t *conn, int is_there);

/** @return Whether the RTR, if there is one, has been used, in vain or not: then the receiver
 * counts on the message. */
int ri_recv_rndv_is_used(const ri_rtr_t *rtr);

/**
 * Take an RTR from a ring.
 *
 * @param record  Its record; what it holds is copied before it is checked.
 *
 * @return 0 if it breaks the protocol.
 */
int ri_recv_rndv_receive(ri_stream_t *stream, const ri_ring_record_t *record,
                         uint32_t length);

/** Look after RTRs whose message was offered by RTS before. */
void ri_recv_rndv_progress(ri_worker_t *worker);

/** The ring of a stream is about to go, and with it the grants of RTRs that came by it. */
void ri_recv_rndv_close(ri_stream_t *stream);

#endif
