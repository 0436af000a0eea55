/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * malloc(), aligned_alloc() and posix_fallocate() as the library calls them, which fail when a test
 * says so. (gtest_unit is linked with --wrap; what calls them inside other libraries is not
 * concerned.)
 */
#ifndef RI_TEST_FAKE_MALLOC_H
#define RI_TEST_FAKE_MALLOC_H

#include <cstddef>

namespace fake {

/* The number of calls of malloc() that succeed before one fails; -1: none fails */
extern thread_local int malloc_fails_after;
extern thread_local bool aligned_alloc_fails;

/* The number of calls of posix_fallocate() that a signal interrupts; -1: all */
extern thread_local int fallocate_interrupts;

/* Bytes of the longest call that is not interrupted all the same */
extern thread_local size_t fallocate_short;

} // namespace fake

#endif
