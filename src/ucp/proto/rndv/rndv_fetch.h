/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways in which a receiver gets what a sender has only offered. proto/select.h chooses among
 * them, and proto/fetch.c begins.
 */
#ifndef RI_RNDV_FETCH_H
#define RI_RNDV_FETCH_H

/* How a receive gets the data of a matched RTS or POOL. */
typedef enum ri_fetch {
    RI_FETCH_NOTHING, /* it is too short: the sender is told */
    RI_FETCH_COOP,    /* both sides copy */
    RI_FETCH_PUT,     /* the sender writes it where it is told to */
    RI_FETCH_GET,     /* it is read, straight into the receive's memory or in stages */
    RI_FETCH_BOUNCE,  /* it is read to other memory, and placed from there */
    RI_FETCH_SENT,    /* the sender sends it straight into the receive's memory */
    RI_FETCH_SENT_BOUNCE, /* the sender sends it into other memory, and it is placed from there */
    RI_FETCH_AM,          /* by UCP, which is asked of the sender */
    RI_FETCH_LOST,  /* not: where the sender has written it can be told no more */
    RI_FETCH_BROKEN /* not: the sender writes into another receive */
} ri_fetch_t;

#endif
