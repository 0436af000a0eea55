/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies whose call would cost more than the copying, and memory that is about to be written.
 */
#ifndef RI_COPY_H
#define RI_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/** The longest copy that is made inline. */
#define RI_COPY_SHORT_MAX 64

/** Copy up to RI_COPY_SHORT_MAX bytes, in pieces that overlap rather than loop. */
static inline void ri_copy_short(void *dst, const void *src, size_t length)
{
    uint8_t *d       = (uint8_t *)dst;
    const uint8_t *s = (const uint8_t *)src;

    if (length >= 16) {
        memcpy(d, s, 16);
        if (length > 32) {
            memcpy(d + 16, s + 16, 16);
            if (length > 48) {
                memcpy(d + 32, s + 32, 16);
            }
        }
        memcpy(d + length - 16, s + length - 16, 16);
    } else if (length >= 8) {
        memcpy(d, s, 8);
        memcpy(d + length - 8, s + length - 8, 8);
    } else if (length >= 4) {
        memcpy(d, s, 4);
        memcpy(d + length - 4, s + length - 4, 4);
    } else if (length > 0) {
        d[0]          = s[0];
        d[length / 2] = s[length / 2];
        d[length - 1] = s[length - 1];
    }
}

/** Copy any number of bytes. */
static inline void ri_copy(void *dst, const void *src, size_t length)
{
    if (length <= RI_COPY_SHORT_MAX) {
        ri_copy_short(dst, src, length);
    } else {
        memcpy(dst, src, length);
    }
}

/** Payloads above this are copied by memcpy. */
#define RI_COPY_LINES_MAX 512

/**
 * Copy a payload into or out of cache lines that another core is about to take, or has
 * just written, and on which it starts. More than a line is copied line by line: memcpy
 * looks at the end first, and sets the prefetcher on lines that the other core uses. Above
 * RI_COPY_LINES_MAX its wider loads and stores are worth more: they have more lines on
 * their way at a time.
 */
static inline void ri_copy_lines(void *dst, const void *src, size_t length)
{
    uint8_t *d       = (uint8_t *)dst;
    const uint8_t *s = (const uint8_t *)src;

    if (length > RI_COPY_LINES_MAX) {
        memcpy(d, s, length);
        return;
    }
    for (; length > 64; length -= 64, d += 64, s += 64) {
        memcpy(d, s, 64);
    }
    memcpy(d, s, length);
}

/**
 * Copy a payload to whole cache lines, of which @a dst is the first, past the caches: another core
 * gets them from memory, rather than from the cache of this one. What follows the payload in its
 * last line is overwritten. What is stored later may be seen before that, unless ri_copy_fence() is
 * called between.
 */
static inline void ri_copy_past_caches(void *dst, const void *src, size_t length)
{
#if defined(__SSE2__)
    __m128i *d       = (__m128i *)dst;
    const uint8_t *s = (const uint8_t *)src;
    uint8_t last[64];

    for (; length > 0; length -= 64, d += 4, s += 64) {
        if (length < 64) {
            memcpy(last, s, length);
            memset(last + length, 0, 64 - length);
            s      = last;
            length = 64;
        }
        _mm_stream_si128(d, _mm_loadu_si128((const __m128i *)s));
        _mm_stream_si128(d + 1, _mm_loadu_si128((const __m128i *)s + 1));
        _mm_stream_si128(d + 2, _mm_loadu_si128((const __m128i *)s + 2));
        _mm_stream_si128(d + 3, _mm_loadu_si128((const __m128i *)s + 3));
    }
#else
    memcpy(dst, src, length);
#endif
}

/** What ri_copy_past_caches() has copied is seen before what is stored from now on. */
static inline void ri_copy_fence(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/** Get a cache line for writing, before it is needed. */
static inline void ri_copy_prefetch(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif
