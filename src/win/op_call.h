/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations as a program calls them: the arguments are checked, and made what the code
 * below works with. An error goes to the error handler of the window and is returned.
 */
#ifndef RI_WIN_OP_CALL_H
#define RI_WIN_OP_CALL_H

#include "window.h"

/* A buffer as a call of MPI has it. */
typedef struct ri_call_buffer {
    const void *buffer;
    MPI_Aint count;
    MPI_Datatype type;
} ri_call_buffer_t;

/* Where at a target, and how much. */
typedef struct ri_call_target {
    int rank;
    MPI_Aint disp;
    MPI_Aint count;
    MPI_Datatype type;
} ri_call_target_t;

/** MPI_Put(). @return An MPI error class. */
int ri_call_put(ri_window_t *window, ri_call_buffer_t origin, ri_call_target_t to);

/** MPI_Get(). @return An MPI error class. */
int ri_call_get(ri_window_t *window, ri_call_buffer_t origin, ri_call_target_t from);

/** MPI_Accumulate(), MPI_Get_accumulate() and MPI_Fetch_and_op(). @a result is NULL if
 * nothing is to be fetched. @return An MPI error class. */
int ri_call_accumulate(ri_window_t *window, ri_call_buffer_t origin,
                       const ri_call_buffer_t *result, ri_call_target_t to, MPI_Op op);

/** MPI_Compare_and_swap() of the one element @a to. @return An MPI error class. */
int ri_call_compare_and_swap(ri_window_t *window, const void *value, const void *compare,
                             void *result, ri_call_target_t to);

/** The request of an operation at @a rank, if @a error is MPI_SUCCESS: it is over, as far as this
 * process sees. @return An error. */
int ri_call_request(ri_window_t *window, int rank, int error, MPI_Request *request);

#endif
