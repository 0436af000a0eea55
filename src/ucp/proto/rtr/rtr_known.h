/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receives of a peer, as far as the sender of a conn knows them: the table of RTRs that have
 * come (rtr_table.h), by whatever way, from when this process can write the peer's memory.
 */
#ifndef RI_RTR_KNOWN_H
#define RI_RTR_KNOWN_H

#include "../../core/worker.h"
#include "../../match/rtr_table.h"

/** This process can write the peer's memory now: begin to take RTRs. conn->rtr.table is set then,
 * unless there are to be none, or there is no memory. It is the conn's until that is freed. */
void ri_rtr_known_open(ri_conn_t *conn);

/** Find the RTR of a message that is about to be sent. @return The RTR, which is valid until the
 * table changes; NULL if there is none, or the message is eager. */
const ri_rtr_t *ri_rtr_known_find(ri_conn_t *conn, uint64_t tag, size_t length);

/** Note a message above the eager threshold: @a is_there says whether it has an RTR. @return
 * Whether none is there though recent ones had one: it is likely to be on its way. */
int ri_rtr_known_is_expected(ri_conn_t *conn, int is_there);

/** @return Whether the RTR, if it is not NULL, has been used, in vain or not: then the receiver
 * counts on the message. */
int ri_rtr_known_is_used(const ri_rtr_t *rtr);

/** Keep the grid of an RTR by its @a index, in place of that of an earlier one, which is over. @a
 * grids_p: where grids of @a max RTRs are kept; NULL there: there are none yet, and the caller
 * frees those that are made. @return Where it is; NULL: there is no memory. */
const ri_wire_grid_t *ri_rtr_known_keep_grid(ri_wire_grid_t **grids_p, unsigned max,
                                             unsigned index, const ri_wire_grid_t *grid);

#endif
