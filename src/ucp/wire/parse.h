/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From the bytes of an active message to its host form.
 */
#ifndef RI_WIRE_PARSE_H
#define RI_WIRE_PARSE_H

#include "msg.h"

#include <ucs/type/status.h>

/**
 * Take an active message apart and check it (protocol.md section 3). Trusts nothing and reads
 * nothing beyond the given lengths. The payload must not change meanwhile, as it may be checked,
 * too.
 *
 * @param header  UCP's active message header; where it is empty, the message's header stands at the
 *                head of @a data.
 * @param data    Payload; not read if @a data_elsewhere.
 * @param length  Of @a data.
 * @param data_elsewhere  @a data is a descriptor of data that is still at the sender.
 * @param msg     Filled. Its payload points into @a data. After an error it means nothing.
 *
 * @return UCS_OK, UCS_ERR_INVALID_PARAM for a malformed message, UCS_ERR_UNSUPPORTED for a hello of
 *         another wire version (msg->hello alone is valid then).
 */
ucs_status_t ri_wire_parse(const void *header, size_t header_length, const void *data,
                           size_t length, int data_elsewhere, ri_wire_msg_t *msg);

#endif
