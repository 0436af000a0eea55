/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where reports go: stderr, stdout, or a file whose name may contain %p and %h.
 */
#ifndef RI_OUTPUT_H
#define RI_OUTPUT_H

#include <stdio.h>

/**
 * Open a destination for appending; close it with @ref ri_output_close.
 *
 * @return Never NULL: what cannot be opened becomes stderr, with a warning.
 */
FILE *ri_output_open(const char *dest);

/** Close what @ref ri_output_open has returned; stderr and stdout are only flushed. */
void ri_output_close(FILE *stream);

#endif
