/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "request.h"
#include "../../../ucs/stock.h"

size_t ri_req_headroom = 0;

size_t ri_request_headroom(void)
{
    size_t own = ri_max(sizeof(ri_recv_req_t),
                        ri_max(sizeof(ri_send_req_t), sizeof(ri_ep_op_t)));

    /* The mark must lie over stock's first words, so a larger own request starts at the
     * same distance from the handle as stock's only if it fits there. */
    return (own <= ri_stock.request_size) ? ri_stock.request_size : 0;
}
