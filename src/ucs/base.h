/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The small helpers that every file uses, and UCX's own types.
 */
#ifndef RI_BASE_H
#define RI_BASE_H

#include <ucp/api/ucp.h>
#include <ucs/datastruct/list.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define ri_likely(_x)   __builtin_expect(!!(_x), 1)
#define ri_unlikely(_x) __builtin_expect(!!(_x), 0)

/* Two callers, each with constants of its own that shorten it. */
#define ri_inline inline __attribute__((always_inline))

/* A way out of a short function: as a call of its own, it leaves the rest without a stack
 * frame, and is a jump. */
#define ri_noinline __attribute__((noinline))

/** Let the other thread of a core go on, in a loop that looks at memory. */
static inline void ri_relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

#define ri_min(_a, _b) (((_a) < (_b)) ? (_a) : (_b))
#define ri_max(_a, _b) (((_a) > (_b)) ? (_a) : (_b))

#define ri_container_of(_ptr, _type, _member) \
    ((_type *)((char *)(_ptr)-offsetof(_type, _member)))

#define RI_CACHE_LINE 64

/* A size, rounded up to whole cache lines, as aligned_alloc() wants it. */
#define RI_CACHE_LINES(_size) \
    (((_size) + RI_CACHE_LINE - 1) & ~(size_t)(RI_CACHE_LINE - 1))

#endif
