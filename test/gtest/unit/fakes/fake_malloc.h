/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * malloc() and aligned_alloc() as the library calls them, which fail when a test says so.
 * (gtest_unit is linked with --wrap; what calls them inside other libraries is not concerned.)
 */
#ifndef RI_TEST_FAKE_MALLOC_H
#define RI_TEST_FAKE_MALLOC_H

namespace fake {

/* So many calls of malloc() succeed, then one fails; -1: none */
extern thread_local int malloc_fails_after;
extern thread_local bool aligned_alloc_fails;

} // namespace fake

#endif
