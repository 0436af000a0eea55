/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which process this is, without a system call: for what is asked for each message. A child that
 * was not made by fork() (_Fork, clone) is not told from its parent.
 */
#ifndef RI_PROCESS_H
#define RI_PROCESS_H

/* Another one in each child of fork(); 0: nobody tells. */
extern unsigned ri_process_generation;

#endif
