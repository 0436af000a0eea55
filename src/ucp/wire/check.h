/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The checks of messages that have come which are more than a field's range. They are made in every
 * build. (protocol.md section 3)
 */
#ifndef RI_WIRE_CHECK_H
#define RI_WIRE_CHECK_H

#include "msg.h"

#include <ucs/type/status.h>

/**
 * Check the payload of an RTS or POOL. It must not change meanwhile: what a peer can write is
 * copied before.
 *
 * @param type    RI_WIRE_RTS or RI_WIRE_POOL.
 * @param length  Bytes of the payload.
 * @param total   Set to the length of the data in all, unless an error is returned.
 *
 * @return UCS_OK or UCS_ERR_INVALID_PARAM.
 */
ucs_status_t ri_wire_check_rts(ri_wire_type_t type, const void *payload, size_t length,
                               size_t *total);

/**
 * Check the payload of a PLACED. It must not change meanwhile: what a peer can write is copied
 * before.
 *
 * @param length  Bytes of the payload.
 * @param total   Set to the length of the data that was written, unless an error is returned.
 *
 * @return UCS_OK or UCS_ERR_INVALID_PARAM.
 */
ucs_status_t ri_wire_check_placed(const void *payload, size_t length, size_t *total);

/** The `check` of RTS and POOL (ri_wire_row_t): check the payload. @return 0 if it is malformed. */
int ri_wire_check_rts_msg(const ri_wire_msg_t *msg);

/** The `check` of PLACED (ri_wire_row_t): check the payload. @return 0 if it is malformed. */
int ri_wire_check_placed_msg(const ri_wire_msg_t *msg);

/** The `check` of RTR_GRID (ri_wire_row_t): check the grid. @return 0 if it is malformed. */
int ri_wire_check_grid_msg(const ri_wire_msg_t *msg);

/** The `check` of FIRST (ri_wire_row_t): it must not be the whole message. @return 0 if it is
 * malformed. */
int ri_wire_check_first_msg(const ri_wire_msg_t *msg);

/** The `check` of CHANNEL_AGAIN (ri_wire_row_t): its payload must fit into a record, and with
 * RI_WIRE_CHANNEL_ALL there must be none. @return 0 if it is malformed. */
int ri_wire_check_again_msg(const ri_wire_msg_t *msg);

#endif
