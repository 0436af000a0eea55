/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

#include "fake_malloc.h"

#include <cstddef>

namespace fake {

thread_local int malloc_fails_after   = -1;
thread_local bool aligned_alloc_fails = false;

} // namespace fake

extern "C" {

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    if (fake::malloc_fails_after >= 0) {
        if (fake::malloc_fails_after-- == 0) {
            return nullptr;
        }
    }
    return __real_malloc(size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fake::aligned_alloc_fails ? nullptr : __real_aligned_alloc(alignment, size);
}
}
