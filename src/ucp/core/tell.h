/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines of log level info: the first message of a conn by each protocol.
 */
#ifndef RI_TELL_H
#define RI_TELL_H

#include "types/types.h"

#include <stddef.h>

/** Log that a conn sends by a protocol for the first time, at log level info.
 *
 * @param before  "" or "up to ", in front of @a length.
 * @param name    The protocol, as the report calls it.
 * @param why     Why it was chosen.
 *
 * @return Whether that was logged: the caller notes it, and does not log it again. */
int ri_tell_first(const ri_conn_t *conn, const char *before, size_t length,
                  const char *name, const char *why);

#endif
