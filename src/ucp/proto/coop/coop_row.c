/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coop_row.h"
#include "../../wire/wire.h"

int ri_coop_row_use(ri_coop_t *coop, const ri_wire_rts_t *rts)
{
    if (!(rts->flags & RI_WIRE_RTS_ROW) || ri_coop_side_has_runs(coop)) {
        return 0;
    }
    coop->in_row = 1;
    atomic_store_explicit(&coop->slot->method, RI_RING_SLOT_METHOD_ROW,
                          memory_order_release);
    return 1;
}

uint32_t ri_coop_row_most(const ri_coop_t *coop)
{
    const ri_coop_t *other;

    ucs_list_for_each(other, &coop->worker->coop.list, list) {
        if ((other != coop) && other->in_row && (other->is_send == coop->is_send) &&
            (ri_coop_side_peer(other) == ri_coop_side_peer(coop)) &&
            ri_coop_side_is_untouched(other)) {
            return RI_SLOT_CLAIM_ALONE;
        }
    }
    return RI_SLOT_SHARE;
}
