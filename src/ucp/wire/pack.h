/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From the host form of a message to its bytes. Control messages are made so. The headers of
 * messages in sequence are not: those who send them write their structure straight to its place, as
 * much of the time of a short message goes there.
 */
#ifndef RI_WIRE_PACK_H
#define RI_WIRE_PACK_H

#include "msg.h"

/**
 * Write the header of a message, and its hello if it has one. The inverse of ri_wire_parse(); the
 * payload is left out. Nothing is checked: the type has a row, and the fields have values that they
 * may have.
 *
 * @param header  Where to write: RI_WIRE_CONTROL_MAX bytes are enough for each type.
 *
 * @return How many bytes were written.
 */
size_t ri_wire_pack(const ri_wire_msg_t *msg, void *header);

#endif
