/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies between two buffers of this process, each described by an MPI datatype: what put and get
 * are, as the memory of the target is mapped.
 */
#ifndef RI_WIN_BUFFER_MOVE_H
#define RI_WIN_BUFFER_MOVE_H

#include "datatype.h"

/* A buffer of an MPI call. */
typedef struct ri_typed {
    void *buffer;
    MPI_Aint count;
    const ri_datatype_t *type;
} ri_typed_t;

/** @return The bytes of data of a buffer. */
static inline size_t ri_move_typed_size(const ri_typed_t *typed)
{
    return (size_t)typed->count * typed->type->size;
}

/** Copy all of @a from to the start of @a to. A value of 1, 2, 4 or 8 bytes that is
 * aligned is written at once. @return An MPI error class; MPI_ERR_TRUNCATE if @a to is shorter. */
int ri_move(const ri_typed_t *from, const ri_typed_t *to);

/** Copy the data of a buffer to @a packed, one byte after the other. @return An MPI error class. */
int ri_move_pack(const ri_typed_t *from, void *packed);

/** Copy packed bytes to a buffer, all of it. @return An MPI error class. */
int ri_move_unpack(const void *packed, const ri_typed_t *to);

#endif
