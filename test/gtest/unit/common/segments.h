/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lists of pieces of memory, for tests of transfers.
 */
#ifndef RI_TEST_SEGMENTS_H
#define RI_TEST_SEGMENTS_H

#include "ri_cpp.h"
#include "rng.h"

#include <vector>

typedef std::vector<ri_segment_t> segments;

/* Pieces of memory in random order. They do not overlap; there are gaps and empty ones. */
inline segments cut(rng &random, const void *data, size_t length, size_t count)
{
    segments list;
    size_t pos = 0, step = 2 * length / count + 1;

    while (list.size() < count) {
        size_t piece = random.percent(10) ? 0 : random.range(0, step);

        pos += random.percent(50) ? 0 : random.below(step / 8 + 2);
        if (pos + piece > length) {
            break;
        }
        list.push_back({(uintptr_t)data + pos, piece});
        pos += piece;
    }
    for (size_t i = list.size(); i > 1; --i) {
        std::swap(list[i - 1], list[random.below(i)]);
    }
    return list;
}

inline size_t total(const segments &list)
{
    size_t sum = 0;

    for (const ri_segment_t &s : list) {
        sum += s.length;
    }
    return sum;
}

/* Where each byte of a list stands. */
inline std::vector<uint8_t *> places(const segments &list)
{
    std::vector<uint8_t *> all;

    for (const ri_segment_t &s : list) {
        for (size_t i = 0; i < s.length; ++i) {
            all.push_back((uint8_t *)(uintptr_t)s.address + i);
        }
    }
    return all;
}

#endif
