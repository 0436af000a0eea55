/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A write to where an RTR says: to one place, or to each run of a grid or a layout.
 */
#ifndef RI_RTR_WRITE_H
#define RI_RTR_WRITE_H

#include "../../../uct/api/plane.h"
#include "../../match/rtr_table.h"

/* Of a part that is not the last one: nobody is told. Operations of a way end in order, and with an
 * error if one before has, so the last one tells of all. */
extern ri_plane_op_t ri_rtr_write_part;

/**
 * Write a part of a message.
 *
 * @param transfer  All but the remote side. The offset is from the start of the message.
 *
 * @return As the plane's write. What goes to several runs may go in several operations:
 *         transfer->op is that of the last one, and told when all have ended. After an error some
 *         of them may be under way, so that the way has to be given up before the memory is.
 */
ucs_status_t ri_rtr_write(ri_plane_ep_t *ep, const ri_rtr_t *rtr,
                          const ri_transfer_t *transfer);

#endif
