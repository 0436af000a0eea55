/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts that RTRs in a ring name: their definitions, which go by the same ring before them.
 * (dt/layout_wire.h, protocol.md section 6)
 */
#ifndef RI_RTR_LAYOUT_H
#define RI_RTR_LAYOUT_H

#include "../../core/worker.h"
#include "../../dt/layout_cache.h"

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
    return ri_layout_may_be_at(use->layout, use->count, address, length);
}

#endif
