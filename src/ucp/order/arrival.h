/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A message on its way from where it has come to its receive, or to where it waits.
 */
#ifndef RI_ARRIVAL_H
#define RI_ARRIVAL_H

#include "../core/msg_kind.h"
#include "../core/worker.h"

/* A message as it arrives; what it points to is only there during the call. */
struct ri_arrival {
    uint32_t sn;
    uint8_t wire_type; /* RI_WIRE_EAGER... */
    uint8_t kind;      /* ri_msg_kind_t */
    uint32_t req_id; /* of a synchronous message or rendezvous; PLACED: of the receive */
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
