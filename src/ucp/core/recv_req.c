/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "recv_req.h"
#include "req_life.h"
#include "timeline_notes.h"

void ri_recv_complete(ri_recv_req_t *recv, ucs_status_t status)
{
    ri_dt_finish(&recv->data);
    ri_trace(&recv->super.worker->trace, RI_TRACE_RECV_DONE, recv->info.sender_tag,
             recv->info.length);
    ri_timeline_recv_end(recv, status);
    ri_req_complete_recv(recv, status);
}
