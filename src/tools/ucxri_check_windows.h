/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * To whom windows of MPI would belong.
 */
#ifndef UCXRI_CHECK_WINDOWS_H
#define UCXRI_CHECK_WINDOWS_H

#include <stddef.h>

/**
 * Say whose the windows of a program are.
 *
 * @param library       The name of the library for windows of its MPI.
 * @param has_hosts     That library takes windows of several hosts if nothing is set.
 * @param is_preloaded  It is preloaded.
 * @param line          Gets the line, @a max bytes with the end.
 *
 * @return Whether the user wants that library (UCXRI_WIN=y), and it is not preloaded.
 */
int check_windows(const char *library, int has_hosts, int is_preloaded, char *line,
                  size_t max);

#endif
