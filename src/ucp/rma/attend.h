/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that serves the mailbox of this process (serve.h) when an origin calls it, as the process
 * computes and does not look. It is there for atomic operations on private memory: whoever carries
 * them out must have the memory, and UCX would wait for the next progress of the target. It sleeps
 * otherwise, and calls nothing of UCX.
 */
#ifndef RI_ATTEND_H
#define RI_ATTEND_H

/** Have such a thread, unless there is one, UCXRI_RMA_THREAD=n, or the system refuses it. This process
 * has a mailbox. Any thread. */
void ri_attend_start(void);

#endif
