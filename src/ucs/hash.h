/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash of bytes (FNV-1a), for names: nobody who may choose the bytes is kept from finding others
 * with the same hash. The upper bits depend on all bytes, the lowest ones on few.
 */
#ifndef RI_HASH_H
#define RI_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The hash of no bytes. */
#define RI_HASH_START UINT64_C(0xcbf29ce484222325)

/** @return The hash of bytes behind those of @a hash. */
static inline uint64_t ri_hash(uint64_t hash, const void *data, size_t length)
{
    const uint8_t *bytes = (const uint8_t *)data;
    size_t i;

    for (i = 0; i < length; ++i) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/** @return The hash of a text. */
static inline uint64_t ri_hash_text(const char *text)
{
    return ri_hash(RI_HASH_START, text, strlen(text));
}

#endif
