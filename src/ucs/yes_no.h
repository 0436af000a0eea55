/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The words for yes and no in variables.
 */
#ifndef RI_YES_NO_H
#define RI_YES_NO_H

/** @return 1 for y, yes, on, 1 and true; 0 for n, no, off, 0 and false, in any case; -1 for
 * others. */
int ri_yes_no(const char *text);

#endif
