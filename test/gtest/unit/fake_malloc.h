/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * malloc() as the library calls it, which fails when a test says so. (gtest_unit is linked with
 * --wrap=malloc; what calls it inside other libraries is not concerned.)
 */
#ifndef RI_TEST_FAKE_MALLOC_H
#define RI_TEST_FAKE_MALLOC_H

namespace fake {

/* So many calls succeed, then one fails; -1: none */
extern thread_local int malloc_fails_after;

} // namespace fake

#endif
