/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which protocol a message takes on this machine, and why.
 */
#ifndef UCXRI_INFO_PROTOCOLS_H
#define UCXRI_INFO_PROTOCOLS_H

#include <stddef.h>

/** Print a table for each case that matters, with a row for each range of sizes. The chooser of the
 * library is asked, with the thresholds of this environment. ri_config_read() was called, and UCX
 * is loaded.
 *
 * @param run  Length of the runs of derived datatypes, which the tables are for; 0: they are for
 *             contiguous data.
 */
void info_protocols(size_t run);

#endif
