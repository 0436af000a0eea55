/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiver-initiated rendezvous within a host, the sender's side: an RTR tells where a message goes
 * before it is sent, so the sender writes it there and says so (PLACED), or, if the message was
 * announced meanwhile, just writes it. (protocol-rndv.md; the receiver's side is rtr.h)
 */
#ifndef RI_RTR_SEND_HOST_H
#define RI_RTR_SEND_HOST_H

#include "../../core/worker.h"
#include "../../match/rtr_table.h"

/* How long a receiver may take to read what was announced to it, until the sender writes it;
 * seconds. In the library it takes some microseconds to begin. Tests change it. */
extern double ri_rtr_send_host_patience;

/**
 * Take an RTR from a ring: keep it for the message that it is for. If both sides are to copy that
 * and it was announced before, the receive's memory is taken for it at once. No callback is called.
 * What does not fit the state is counted and ignored.
 *
 * @param record  Its record; what it holds is copied before it is checked.
 *
 * @return 0 if it breaks the protocol; nothing was kept then.
 */
int ri_rtr_send_host_receive(ri_stream_t *stream, const ri_ring_record_t *record,
                             uint32_t length);

/** Look after RTRs whose message was announced by RTS before: if the receiver has not read that for
 * ri_rtr_send_host_patience, write it. One RTR of each conn in a call. A send may be complete then,
 * which calls back; any conn may be gone afterwards. */
void ri_rtr_send_host_progress(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_rtr_send_host_progress. */
static inline int ri_rtr_send_host_has_work(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->rtr.late_conns);
}

#endif
