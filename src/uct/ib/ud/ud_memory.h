/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a message, of which pieces are taken in any order.
 */
#ifndef RI_UD_MEMORY_H
#define RI_UD_MEMORY_H

#include "../../api/plane.h"
#include "../device/verbs.h"

#if HAVE_VERBS

typedef struct ri_ud_segment {
    uint64_t address;
    uint64_t end; /* within the message */
    uint32_t key;
} ri_ud_segment_t;

typedef struct ri_ud_memory {
    size_t count;
    ri_ud_segment_t *segments; /* none is empty */
    ri_ud_segment_t one;       /* most have no more */
} ri_ud_memory_t;

/**
 * Copy the description of memory.
 *
 * @param keys    Of each segment.
 * @param length  Of the message; segments beyond are left out.
 *
 * @return UCS_OK; UCS_ERR_INVALID_PARAM: the list is too short; UCS_ERR_NO_MEMORY. After an error
 *         there is nothing to be freed.
 */
ucs_status_t ri_ud_memory_init(ri_ud_memory_t *memory, const ri_segment_t *segments,
                               const uint32_t *keys, size_t count, uint64_t length);

/** Free the copy. */
void ri_ud_memory_cleanup(ri_ud_memory_t *memory);

/** Describe a part of it, which is within it. @return The number of entries; 0: @a max is too few,
 * and what is in @a sges means nothing. */
unsigned ri_ud_memory_sges(const ri_ud_memory_t *memory, uint64_t offset, uint32_t length,
                           struct ibv_sge *sges, unsigned max);

/** Copy a part of the memory to @a data. The part must be within it. */
void ri_ud_memory_get(const ri_ud_memory_t *memory, uint64_t offset, void *data,
                      uint32_t length);

/** Copy @a data into a part of the memory. The part must be within it. */
void ri_ud_memory_put(const ri_ud_memory_t *memory, uint64_t offset, const void *data,
                      uint32_t length);

#endif

#endif
