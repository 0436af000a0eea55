/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a window begins and ends. All ranks decide the same, by what each has told the others, so
 * that a window belongs to this library as a whole or not at all.
 */
#ifndef RI_WIN_MAKE_H
#define RI_WIN_MAKE_H

#include "make_agree.h"

/**
 * Make a window. Collective.
 *
 * @param base_p    Set to the memory of this rank; NULL if the program makes that.
 * @param handle_p  Set to the window.
 *
 * @return Whether it is made, the same on all ranks. If not, the MPI is to make it, or to say
 *         what is wrong.
 */
int ri_make(const ri_make_args_t *args, void **base_p, MPI_Win *handle_p);

/** Free a window, with the MPI's own, and set @a handle_p to MPI_WIN_NULL. Collective. @return What
 * MPI_Win_free() is to return: the error handler has been called. */
int ri_make_free(ri_window_t *window, MPI_Win *handle_p);

#endif
