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

/* So many calls of malloc() succeed, then one fails; -1: none */
extern thread_local int malloc_fails_after;
extern thread_local bool aligned_alloc_fails;

/* So many calls of posix_fallocate() are interrupted by a signal; -1: all */
extern thread_local int fallocate_interrupts;

/* Bytes of the longest call that is not interrupted all the same */
extern thread_local size_t fallocate_short;

} // namespace fake

#endif
