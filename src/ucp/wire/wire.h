/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire format: what this library puts into active messages, rings and channels, and into the
 * worker addresses and remote keys that applications exchange. docs/protocol.md, sections 2 to 4, 6
 * and 11, is normative.
 *
 *   base     the list of types, and what all messages begin with
 *   types    the table that says of each type what it is
 *   forms    the structure of each header, and of payloads
 *   msg      a message in host form
 *   check    checks that are more than a field's range
 *   parse    from bytes to the host form
 *   pack     from the host form to bytes
 *   address  the part in front of worker addresses
 *
 * Not included here, as few need it:
 *
 *   grid     memory in runs, as an RTR tells of it
 *   rkey     the part in front of remote keys
 *
 * docs/protocol.md, section 10, says what is to be done for a new type.
 */
#ifndef RI_WIRE_H
#define RI_WIRE_H

#include "address.h"
#include "base.h"
#include "check.h"
#include "forms.h"
#include "msg.h"
#include "pack.h"
#include "parse.h"
#include "types.h"

#endif
