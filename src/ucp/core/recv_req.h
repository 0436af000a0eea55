/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a receive whose call has returned; and the fields of a receive that share memory. They
 * are read by functions that assert its state (the table above ri_recv_req in request.h).
 */
#ifndef RI_RECV_REQ_H
#define RI_RECV_REQ_H

#include <assert.h>

#include "types/request.h"

/** @return Whether a receive waits for its data, which the plane of datagrams writes. */
static inline int ri_recv_is_by_target(const ri_recv_req_t *recv)
{
    return (recv->rndv.stream != NULL) && (recv->rndv.written == RI_RECV_BY_TARGET);
}

/** @return The conn whose ring has the grant of a receive, which is BY_GRANT. */
static inline ri_conn_t *ri_recv_grant_conn(const ri_recv_req_t *recv)
{
    assert(recv->rtr.state == RI_RTR_BY_GRANT);
    return recv->rtr.conn;
}

/** @return The generation that the RTR of a receive names, which is BY_GRANT or BY_UD. */
static inline uint32_t ri_recv_generation(const ri_recv_req_t *recv)
{
    assert((recv->rtr.state == RI_RTR_BY_GRANT) || (recv->rtr.state == RI_RTR_BY_UD));
    return recv->rtr.generation;
}

/** @return The waiters that a receive is among, which is QUEUED; NULL: none. */
static inline ri_recv_req_t **ri_recv_awaits(const ri_recv_req_t *recv)
{
    assert(recv->rtr.state == RI_RTR_QUEUED);
    return recv->rtr.awaits;
}

/** @return The transfer of a receive that is BY_UD, or written BY_TARGET; NULL: it has ended. */
static inline struct ri_ud_recv_op *ri_recv_op(const ri_recv_req_t *recv)
{
    assert((recv->rtr.state == RI_RTR_BY_UD) || ri_recv_is_by_target(recv));
    return recv->rtr.op;
}

/** @return The number of the message of a receive that is NAMED, or written BY_TARGET. */
static inline uint32_t ri_recv_sn(const ri_recv_req_t *recv)
{
    assert((recv->rtr.state == RI_RTR_NAMED) || ri_recv_is_by_target(recv));
    return recv->rtr.sn;
}

/** The data of a receive is in place, or will not come: end the state of its datatype, and complete
 * it. It is in no list, and has no id, RTR or transfer any more; its info is set. Calls back;
 * the request must not be touched afterwards. */
void ri_recv_complete(ri_recv_req_t *recv, ucs_status_t status);

#endif
