/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for the time of a call: on the stack if it is short.
 */
#ifndef RI_WIN_TEMPORARY_H
#define RI_WIN_TEMPORARY_H

#include <stdlib.h>

/* Bytes up to which memory is on the stack. */
#define RI_TEMPORARY_STACK 1024

typedef struct ri_room {
    _Alignas(16) char stack[RI_TEMPORARY_STACK];
    char *memory;
} ri_temporary_t;

/** Get memory for anything, to be given back by ri_temporary_free(). @return NULL: there is none,
 * and nothing is to be given back. */
static inline char *ri_temporary_get(ri_temporary_t *room, size_t size)
{
    room->memory = (size <= sizeof(room->stack)) ? room->stack : malloc(size);
    return room->memory;
}

/** Give the memory back. */
static inline void ri_temporary_free(ri_temporary_t *room)
{
    if (room->memory != room->stack) {
        free(room->memory);
    }
}

#endif
