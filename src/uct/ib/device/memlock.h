/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The limit of locked memory (RLIMIT_MEMLOCK), for what is said when memory cannot be
 * registered: whether it is the cause has to be known, not guessed.
 */
#ifndef RI_MEMLOCK_H
#define RI_MEMLOCK_H

#include <stddef.h>
#include <stdint.h>

typedef struct ri_memlock {
    uint64_t limit;  /* of this process, in bytes; UINT64_MAX: none */
    uint64_t locked; /* bytes of the limit that are used */
    int may_exceed;  /* CAP_IPC_LOCK: the limit does not count */
} ri_memlock_t;

/** Ask the system about this process. What /proc does not tell is taken to be 0. */
void ri_memlock_query(ri_memlock_t *memlock);

/** @return Whether the limit forbids to lock @a length bytes more. */
int ri_memlock_forbids(const ri_memlock_t *memlock, size_t length);

#endif
