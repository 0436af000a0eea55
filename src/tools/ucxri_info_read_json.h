/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports as JSON (UCXRI_REPORT=json:FILE).
 */
#ifndef UCXRI_INFO_READ_JSON_H
#define UCXRI_INFO_READ_JSON_H

#include "ucxri_info_read_lines.h"

/**
 * Read the reports in a text, one behind the other.
 *
 * @param inert  Gets why the library was inert in some, as of info_read_lines().
 * @param path   What the text was read from, for messages.
 *
 * @return Whether all of it could be read. If not, a message was printed; reports in front of the
 *         error count.
 */
int info_read_json(info_t *info, info_inert_t *inert, const char *text, const char *path);

#endif
