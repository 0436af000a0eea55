/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts that RTRs name: their definitions, which go before them by the same ring, or by active
 * message.
 * (dt/layout_wire.h, protocol.md section 6)
 */
#ifndef RI_RTR_LAYOUT_H
#define RI_RTR_LAYOUT_H

#include "../../core/worker.h"
#include "../../dt/layout_cache.h"
#include "../../match/rtr_table.h"
#include "../../wire/grid.h"

/** The receiver's side: name a layout in the ring of a conn, which has room for RTRs. If the sender
 * does not know it yet, its definition is written into the ring. The RTR has to be the next record
 * that names a layout.
 *
 * @param rtr  Its slot and generation are set.
 *
 * @return UCS_OK; UCS_ERR_NO_RESOURCE: the ring has no room now; another error: it cannot be named
 *         in this ring. */
ucs_status_t ri_rtr_layout_name(ri_conn_t *conn, ri_layout_t *layout,
                                ri_wire_rtr_layout_t *rtr);

/** The receiver's side: name a layout to the sender of a stream, by active messages of @a conn, as
 * ri_rtr_layout_name() does in a ring.
 *
 * @param rtr  Its slot and its generation of the definition are set.
 *
 * @return As ri_rtr_layout_name(). */
ucs_status_t ri_rtr_layout_name_net(ri_stream_t *stream, ri_conn_t *conn,
                                    ri_layout_t *layout, ri_wire_msg_t *rtr);

/** The sender's side, handler of LAYOUT by active message: keep the layout. What is malformed has
 * no effect. */
void ri_rtr_layout_handle(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

/** The receiver's side, handler of LAYOUT_REFUSED: the sender does not keep a layout. It is not
 * named to that sender, as long as it has its slot. */
void ri_rtr_layout_handle_refused(ri_worker_t *worker, const ri_wire_msg_t *msg);

/** The sender's side: find the elements that an RTR by active message names, and keep them by its
 * entry. @return NULL: it is as good as lost. */
const ri_layout_use_t *ri_rtr_layout_find_net(ri_conn_t *conn, const ri_wire_msg_t *rtr);

/** The sender's side: a record LAYOUT has come in the ring of a stream. @return 0: it breaks the
 * protocol. */
int ri_rtr_layout_receive(ri_stream_t *stream, const ri_ring_record_t *record,
                          uint32_t length);

/** The sender's side: find the layout that an RTR names, which is wire input.
 *
 * @param layout_p  Set to it; NULL: the RTR is as good as lost.
 *
 * @return 0: it breaks the protocol. */
int ri_rtr_layout_find(const ri_stream_t *stream, const ri_wire_rtr_layout_t *rtr,
                       ri_layout_t **layout_p);

/** @return Whether the elements of an RTR's layout are where the RTR says. They may be those of a
 * later RTR with its grant, if the receiver breaks the protocol. */
static inline int ri_rtr_layout_fits(const ri_layout_use_t *use, uint64_t address,
                                     uint64_t length)
{
    return ri_layout_wire_may_be_at(use->layout, use->count, address, length);
}

/** @return Whether a message may be written into the layout of an RTR: its runs are worth it. */
static inline int ri_rtr_layout_is_worth(const ri_rtr_t *rtr)
{
    const ri_layout_t *layout = rtr->layout->layout;

    return (layout->size / layout->stats.runs >= RI_GRID_RUN_MIN) &&
           ri_rtr_layout_fits(rtr->layout, rtr->address, rtr->length);
}

#endif
