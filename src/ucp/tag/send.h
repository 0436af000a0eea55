/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tag sends without the fast path (send_fast.h). What is done with a message is chosen in
 * proto/select.h.
 */
#ifndef RI_SEND_H
#define RI_SEND_H

#include "../core/send_req.h"

/**
 * Send without the fast path. The worker is locked, the parameters are valid. Calls back: the send
 * may end, and if the conn fails so do other operations on it.
 *
 * @param sync  The send is to complete only when it is matched.
 *
 * @return What the application's call returns. After an error there is no request, and @a conn may
 *         have failed and be gone.
 */
ucs_status_ptr_t ri_tag_send_slow(ri_conn_t *conn, const void *buffer, size_t count,
                                  uint64_t tag, const ucp_request_param_t *param,
                                  int sync);

/**
 * Number @a sn was not sent. The receiver waits for every number, so the next message gets it. All
 * RTRs that wait are dropped, as they may have counted it. If later numbers were sent meanwhile,
 * the conn fails by ri_conn_lose(), which calls back; the conn may be gone afterwards.
 *
 * @param tag     Tag of the message before it.
 * @param status  Why it was not sent.
 */
void ri_tag_send_return_number(ri_conn_t *conn, uint32_t sn, uint64_t tag,
                               ucs_status_t status);

/* The datatype of a send or receive: bytes, if the application names none. */
#define RI_SEND_PARAM_DATATYPE(_param) \
    (((_param)->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ? (_param)->datatype : \
                                                             ucp_dt_make_contig(1))

#endif
