/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for the time of a call: on the stack if it is short.
 */
#ifndef RI_WIN_ROOM_H
#define RI_WIN_ROOM_H

#include <stdlib.h>

/* Up to so many bytes are on the stack. */
#define RI_ROOM_STACK 1024

typedef struct ri_room {
    _Alignas(16) char stack[RI_ROOM_STACK];
    char *memory;
} ri_room_t;

/** Get memory for anything, to be given back by ri_room_free(). @return NULL: there is none, and
 * nothing is to be given back. */
static inline char *ri_room_get(ri_room_t *room, size_t size)
{
    room->memory = (size <= sizeof(room->stack)) ? room->stack : malloc(size);
    return room->memory;
}

/** Give the memory back. */
static inline void ri_room_free(ri_room_t *room)
{
    if (room->memory != room->stack) {
        free(room->memory);
    }
}

#endif
