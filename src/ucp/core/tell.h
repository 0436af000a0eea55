/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of log level info: the first message of a conn by each protocol.
 */
#ifndef RI_TELL_H
#define RI_TELL_H

#include "types.h"

#include <stddef.h>

/** Log that a conn sends by a protocol for the first time, at log level info, and once for each
 * @a bit.
 *
 * @param bit     One bit of ri_conn_t.told.
 * @param before  "" or "up to ", in front of @a length.
 * @param name    The protocol, as the report calls it.
 * @param why     Why it was chosen. */
void ri_tell_first(ri_conn_t *conn, unsigned bit, const char *before, size_t length,
                   const char *name, const char *why);

#endif
