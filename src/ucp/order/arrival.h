/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A message on its way from where it has come to its receive, or to where it waits.
 */
#ifndef RI_ARRIVAL_H
#define RI_ARRIVAL_H

#include "../core/types/msg_kind.h"
#include "../core/worker.h"

/*
 * What ri_arrival_t.req_id is, by the type of the message; 0 with all others:
 *
 *   EAGER_SYNC, FIRST  the sender's request, for SYNC_ACK; FIRST: 0 if it is not synchronous
 *   RTS                the sender's request, for FIN, NACK, CTS or TARGET
 *   POOL               the buffer of the sender's pool, for RELEASE or NACK
 *   PLACED             the receive of this process that the sender has written
 */

/* A message as it arrives; what it points to is only there during the call. */
struct ri_arrival {
    uint32_t sn;
    uint8_t wire_type; /* RI_WIRE_EAGER... */
    uint8_t kind;      /* ri_msg_kind_t */
    uint32_t req_id; /* what it is depends on the type: see the table above the struct */
    uint64_t tag;
    size_t length;
    const void *data;        /* COPY, AM_DATA; RTS: a checked ri_wire_rts_t */
    union {                  /* as in ri_msg */
        void *desc;          /* AM_DATA, AM_RNDV: may be kept */
        ri_send_req_t *send; /* SELF */
    };
    /* COPY: if not NULL, a message that holds the data, and counts among the held bytes
     * already; NULL once it was kept */
    ri_msg_t *msg;
};

#endif
