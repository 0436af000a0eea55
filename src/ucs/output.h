/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where reports go: stderr, stdout, or a file whose name may contain %p (process id), %h (host), %r
 * (rank, or p and the process id if no launcher has told it) and %j (the job, or 0).
 */
#ifndef RI_OUTPUT_H
#define RI_OUTPUT_H

#include <stdio.h>

/** Write the name of a file to @a path, with what it contains put in. What does not fit the @a max
 * bytes, with the end, is cut off. @return Whether it is another one for each process: it has %p
 * or %r. */
int ri_output_path(const char *name, char *path, size_t max);

/**
 * Open a destination for appending; close it with @ref ri_output_close.
 *
 * @return Never NULL: what cannot be opened becomes stderr, with a warning.
 */
FILE *ri_output_open(const char *dest);

/** Close what @ref ri_output_open has returned; stderr and stdout are only flushed. */
void ri_output_close(FILE *stream);

#endif
