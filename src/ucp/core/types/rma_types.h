/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations of the application, as far as later messages must not overtake them
 * (rma_order.h).
 */
#ifndef RI_RMA_TYPES_H
#define RI_RMA_TYPES_H

#include "types.h"

/* How an operation goes on that has ended at its origin. */
typedef enum ri_rma_kind {
    RI_RMA_GET, /* get, fetch: it is over */
    RI_RMA_PUT, /* put, post: it may be under way to its target */
    RI_RMA_KINDS
} ri_rma_kind_t;

/* The one-sided operations of a worker. */
typedef struct ri_rma {
    uint64_t seq; /* number of the latest operation */
    /* by kind: operations that have not ended here, by age */
    ucs_list_link_t ops[RI_RMA_KINDS];
    ucs_list_link_t closed; /* operations whose conn has ended */
    ucs_list_link_t behind; /* conns with RI_CONN_BEHIND_RMA */
    /* seq at the end of the latest conn that had RI_CONN_BEHIND_RMA; 0: its operations are over */
    uint64_t left;
    ucs_list_link_t posted; /* conns with RI_CONN_POSTED */
    /* operations that are being handed to stock, which may call other functions of UCP for them */
    unsigned in_stock;
    ri_rma_op_t *free; /* free operations, linked by next_free; at most RI_RMA_KEEP */
    unsigned num_free; /* length of the list `free` */
} ri_rma_t;


#endif
