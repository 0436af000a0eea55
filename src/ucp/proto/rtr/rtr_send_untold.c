/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rtr_send_untold.h"
#include "../../core/conn.h"
#include "../../link/control.h"

#include <string.h>

/* The count of untold writes has changed: the messages that follow go by it. */
static void untold_note(ri_conn_t *conn)
{
    if (conn->rtr.untold->count > 0) {
        ri_conn_set_flags(conn, RI_CONN_UNTOLD);
    } else {
        ri_conn_clear_flags(conn, RI_CONN_UNTOLD);
    }
    ri_conn_update_fast(conn);
}

void ri_rtr_send_untold_add(ri_conn_t *conn, uint32_t sn, const ri_rtr_t *rtr)
{
    ri_untold_t *untold = conn->rtr.untold;

    if (untold->count == RI_WIRE_RTR_ENTRIES) {
        return; /* a receiver that offers more than it may */
    }
    untold->write[untold->count].sn  = sn;
    untold->write[untold->count].rtr = ri_wire_used_rtr(rtr->index, rtr->generation);
    ++untold->count;
    untold_note(conn);
}

void ri_rtr_send_untold_remove(ri_conn_t *conn, uint32_t sn)
{
    ri_untold_t *untold = conn->rtr.untold;
    unsigned i;

    for (i = 0; i < untold->count; ++i) {
        if (untold->write[i].sn == sn) {
            --untold->count;
            memmove(&untold->write[i], &untold->write[i + 1],
                    (untold->count - i) * sizeof(untold->write[0]));
            untold_note(conn);
            return;
        }
    }
}

void ri_rtr_send_untold_tell(ri_conn_t *conn)
{
    ri_untold_t *untold = conn->rtr.untold;
    ri_wire_msg_t msg   = {.type = RI_WIRE_USED, .id = conn->remote_id};
    unsigned i;

    for (i = 0; i < untold->count; ++i) {
        if (msg.used_count == 0) {
            msg.value = untold->write[i].sn;
        }
        msg.used[msg.used_count++] = untold->write[i].rtr;
        if ((msg.used_count == RI_WIRE_USED_MAX) || (i + 1 == untold->count) ||
            (untold->write[i + 1].sn != untold->write[i].sn + 1)) {
            ri_control_send_on(conn, &msg);
            memset(msg.used, 0, sizeof(msg.used));
            msg.used_count = 0;
        }
    }
    untold->count = 0;
    untold_note(conn);
}
