/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The environment of a program that ucxri_run starts. It stays the environment of this process,
 * which becomes the program.
 */
#ifndef UCXRI_RUN_ENV_H
#define UCXRI_RUN_ENV_H

#include <stddef.h>

/** @return Whether a program starts the processes of a job, by its path: mpiexec, mpirun.openmpi,
 * srun and others. */
int run_env_is_launcher(const char *program);

/**
 * Find the library that belongs to a program of ucxri: in the build tree, where it was installed
 * with that program, or where it was to be installed.
 *
 * @param self     The path of the program.
 * @param library  Gets the path, also if there is nothing; @a max bytes with the end.
 */
void run_env_find_library(const char *self, char *library, size_t max);

/**
 * Make a value of LD_PRELOAD.
 *
 * @param list      The present one, or NULL. Other entries keep their order.
 * @param library   Put in front, one or several with colons; NULL: none. Each library of ucxri in
 *                  @a list is left out.
 *
 * @return The value, in memory for free(); NULL: there is not enough.
 */
char *run_env_preload(const char *list, const char *library);

/** Say on stderr which values of the switch are misspelt, or are not what counts. */
void run_env_tell_replaced(void);

/** Find the library for windows that lies beside @a library. @a libraries gets both, with a colon,
 * or @a library alone; @a max bytes with the end. @a windows is a file name, or NULL. */
void run_env_add_windows(const char *library, const char *windows, char *libraries,
                         size_t max);

/** Set what switches the library on: LD_PRELOAD and UCX_RNDV_SCHEME. MPI_UCX_RNDV_SCHEME, which
 * would win, is removed. With @a is_loud, another value of the user's that is replaced gets a line.
 *
 * @return Whether there was enough memory. */
int run_env_switch_on(const char *library, int is_loud);

/** Remove what switches the library on, and nothing else.
 *
 * @return Whether there was enough memory. */
int run_env_switch_off(void);

#endif
