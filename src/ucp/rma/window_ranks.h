/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which ranks of the job take windows of MPI on several hosts by a library of this package. Each
 * process says so in the address of its worker, so that others know it without a word: a process
 * that takes none would not answer. What a process says it says once, before its first worker is
 * made. Any thread may call.
 */
#ifndef RI_WINDOW_RANKS_H
#define RI_WINDOW_RANKS_H

#include "../core/types/window_ops.h"
#include "../wire/address.h"

/** This process takes windows. Before the MPI has made a worker. */
void ri_window_ranks_tell(ri_wire_windows_t self);

/** @return What the address of a worker of this process is to say, which others will see. */
ri_wire_windows_t ri_window_ranks_use(void);

/** Note what the address of another process says: wire input.
 *
 * @param number  1 + its rank, which is known also if it takes no windows; 0: it is not known. */
void ri_window_ranks_note(ri_wire_windows_t other, uint16_t number);

/** From now on nothing is noted: the next addresses may be of other jobs with the same number. */
void ri_window_ranks_close(void);

/** @return What is known of a rank of the job. */
ri_window_rank_t ri_window_ranks_look(uint32_t rank);

#endif
