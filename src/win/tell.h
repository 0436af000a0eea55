/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Words to the user about windows: printed lines, and numbers in the report of libucxri.so.
 */
#ifndef RI_WIN_TELL_H
#define RI_WIN_TELL_H

#include <stddef.h>

/** A window of @a ranks ranks is done by this library. @a all is the memory of all of them, with
 * what belongs to the window, @a own that of this rank. */
void ri_tell_taken(int ranks, size_t all, size_t own);

/** A window was left to the MPI: a line at level info, or a warning if the user has asked for
 * windows of this library. The reason of the window before is not said again.
 *
 * @param why       A string that stays.
 * @param is_first  Whether this rank speaks for the others. */
void ri_tell_left(const char *why, int is_first);

#endif
