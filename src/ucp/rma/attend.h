/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that serves the mailbox of this process (serve.h) when an origin calls it, as the
 * process computes and does not look there. It is for atomic operations on private memory: only
 * this process has the memory, and UCX would have them wait for its next progress. It sleeps
 * otherwise, and calls nothing of UCX.
 */
#ifndef RI_ATTEND_H
#define RI_ATTEND_H

/** Start the thread that serves the mailbox of this process, unless there is one, or
 * UCXRI_RMA_THREAD=n, or the system refuses it. This process has a mailbox. Any thread may call it.
 * */
void ri_attend_start(void);

#endif
