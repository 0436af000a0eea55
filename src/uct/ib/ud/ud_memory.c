/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of segments is walked from an offset on; three functions do different things with each
 * part.
 */
#include "ud_memory.h"

#if HAVE_VERBS

#include <stdlib.h>
#include <string.h>

ucs_status_t ri_ud_memory_init(ri_ud_memory_t *memory, const ri_segment_t *segments,
                               const uint32_t *keys, size_t count, uint64_t length)
{
    uint64_t end = 0;
    size_t i;

    memory->count    = 0;
    memory->segments = &memory->one;
    if (count > 1) {
        memory->segments = malloc(count * sizeof(*memory->segments));
        if (memory->segments == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
    }
    for (i = 0; (i < count) && (end < length); ++i) {
        if (segments[i].length > 0) {
            end += ri_min(segments[i].length, length - end);
            memory->segments[memory->count].address = segments[i].address;
            memory->segments[memory->count].end     = end;
            memory->segments[memory->count].key     = keys[i];
            ++memory->count;
        }
    }
    if (end < length) {
        ri_ud_memory_cleanup(memory);
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK;
}

void ri_ud_memory_cleanup(ri_ud_memory_t *memory)
{
    if (memory->segments != &memory->one) {
        free(memory->segments);
    }
    memory->segments = NULL;
}

/* Where a segment begins within the message */
static uint64_t memory_start(const ri_ud_memory_t *memory, size_t i)
{
    return (i == 0) ? 0 : memory->segments[i - 1].end;
}

/* The segment that has the byte at @a offset */
static size_t memory_find(const ri_ud_memory_t *memory, uint64_t offset)
{
    size_t low = 0, high = memory->count - 1, middle;

    while (low < high) {
        middle = (low + high) / 2;
        if (memory->segments[middle].end > offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The next part of what is in one segment. @return Its address. */
static uint64_t memory_next(const ri_ud_memory_t *memory, size_t i, uint64_t offset,
                            uint32_t length, uint32_t *part)
{
    *part = ri_min(memory->segments[i].end - offset, length);
    return memory->segments[i].address + (offset - memory_start(memory, i));
}

unsigned ri_ud_memory_sges(const ri_ud_memory_t *memory, uint64_t offset, uint32_t length,
                           struct ibv_sge *sges, unsigned max)
{
    size_t i       = memory_find(memory, offset);
    unsigned count = 0;
    uint32_t part;

    for (; (length > 0) && (count < max); ++i, ++count) {
        sges[count].addr   = memory_next(memory, i, offset, length, &part);
        sges[count].length = part;
        sges[count].lkey   = memory->segments[i].key;
        offset += part;
        length -= part;
    }
    return (length > 0) ? 0 : count;
}

void ri_ud_memory_get(const ri_ud_memory_t *memory, uint64_t offset, void *data,
                      uint32_t length)
{
    size_t i = memory_find(memory, offset);
    uint64_t address;
    uint32_t part;

    for (; length > 0; ++i) {
        address = memory_next(memory, i, offset, length, &part);
        memcpy(data, (const void *)(uintptr_t)address, part);
        data = (char *)data + part;
        offset += part;
        length -= part;
    }
}

void ri_ud_memory_put(const ri_ud_memory_t *memory, uint64_t offset, const void *data,
                      uint32_t length)
{
    size_t i = memory_find(memory, offset);
    uint64_t address;
    uint32_t part;

    for (; length > 0; ++i) {
        address = memory_next(memory, i, offset, length, &part);
        memcpy((void *)(uintptr_t)address, data, part);
        data = (const char *)data + part;
        offset += part;
        length -= part;
    }
}

#endif
