/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which protocol a message takes on this machine, and why.
 */
#ifndef UCXRI_INFO_PROTOCOLS_H
#define UCXRI_INFO_PROTOCOLS_H

/** Print a table for each case that matters, with a row for each range of sizes. The chooser of the
 * library is asked, with the thresholds of this environment. ri_config_read() was called, and UCX
 * is loaded. */
void info_protocols(void);

#endif
