/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks and words in the control memory of a rank. Those of a rank of another host are taken by
 * that rank for the one that asks, when it makes progress: in the memory that the ranks of its host
 * use directly, so that all of them stand in one row.
 */
#ifndef RI_WIN_RANK_COMMAND_H
#define RI_WIN_RANK_COMMAND_H

#include "stripe.h"
#include "window.h"

/* A gate of the window. */
typedef struct ri_command_gate {
    int rank;   /* of which, or of whose host, it is, and by which it is reached */
    int is_all; /* the gate of the host; else that of the rank */
    ri_gate_kind_t kind;
    int is_alone; /* as for ri_gate_enter() */
} ri_command_gate_t;

/** Enter a gate, here or on another host; with @a joins as by ri_gate_join(). @return An MPI error
 * class. */
int ri_command_enter(ri_window_t *window, const ri_command_gate_t *gate, int joins);

/** Leave a gate. */
void ri_command_leave(ri_window_t *window, const ri_command_gate_t *gate);

/** Lock stripes of a rank, here or on another host: what this rank has asked for before is done
 * then.
 * @return An MPI error class. */
int ri_command_lock(ri_window_t *window, const ri_window_part_t *part,
                    ri_stripes_t stripes);

/** Unlock them: what this rank has written there is there. @return An MPI error class: the locks
 * are free in any case. */
int ri_command_unlock(ri_window_t *window, const ri_window_part_t *part,
                      ri_stripes_t stripes);

/** Write a number to @a offset in the control memory of a rank, here or on another host. What was
 * settled before is there when the rank sees it. @return An MPI error class. */
int ri_command_write(ri_window_t *window, int rank, size_t offset, uint32_t value);

/** command() of a server (core/types/window_ops.h): wire input. @a arg is the window. @return What
 * has become of it. */
ri_window_served_t ri_command_serve(void *arg, const ri_window_command_t *command,
                                    uint64_t *state);

#endif
