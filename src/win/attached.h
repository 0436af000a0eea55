/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that this rank has attached to a dynamic window. Any thread may call.
 */
#ifndef RI_WIN_ATTACHED_H
#define RI_WIN_ATTACHED_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ri_attached_range {
    uintptr_t address;
    size_t size;
} ri_attached_range_t;

typedef struct ri_attached {
    pthread_mutex_t lock;
    ri_attached_range_t *ranges;
    size_t count;
    size_t room;
} ri_attached_t;

/** Begin without memory. */
void ri_attached_init(ri_attached_t *attached);

/** End. */
void ri_attached_end(ri_attached_t *attached);

/** Attach memory. @return 0 if there is no memory to note it, or some of it is attached. */
int ri_attached_add(ri_attached_t *attached, const void *base, size_t size);

/** Detach memory by its address. @return 0 if none that begins there is attached. */
int ri_attached_remove(ri_attached_t *attached, const void *base);

/** @return Whether all of the bytes are attached, in one piece. */
int ri_attached_has(ri_attached_t *attached, uint64_t address, size_t length);

#endif
