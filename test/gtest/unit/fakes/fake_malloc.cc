/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

#include "fake_malloc.h"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>

namespace fake {

thread_local int malloc_fails_after   = -1;
thread_local bool aligned_alloc_fails = false;
thread_local int fallocate_interrupts = 0;
thread_local size_t fallocate_short   = 0;

} // namespace fake

extern "C" {

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

int __real_posix_fallocate(int fd, off_t offset, off_t length);
int __wrap_posix_fallocate(int fd, off_t offset, off_t length);

int __wrap_posix_fallocate(int fd, off_t offset, off_t length)
{
    if ((fake::fallocate_interrupts != 0) && ((size_t)length > fake::fallocate_short)) {
        fake::fallocate_interrupts -= (fake::fallocate_interrupts > 0);
        return EINTR;
    }
    return __real_posix_fallocate(fd, offset, length);
}

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
