/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Whether the tests are built with a sanitizer that has its own malloc, and unmaps by system calls.
 * gcc and clang 14 tell that in different ways. */
#ifndef RI_TEST_SANITIZED_H
#define RI_TEST_SANITIZED_H

#ifdef __has_feature
#define RI_TEST_HAS_FEATURE(x) __has_feature(x)
#else
#define RI_TEST_HAS_FEATURE(x) 0
#endif

/* With AddressSanitizer */
#if defined(__SANITIZE_ADDRESS__) || RI_TEST_HAS_FEATURE(address_sanitizer)
#define RI_TEST_ASAN 1
#else
#define RI_TEST_ASAN 0
#endif

/* With AddressSanitizer or ThreadSanitizer */
#if RI_TEST_ASAN || defined(__SANITIZE_THREAD__) || RI_TEST_HAS_FEATURE(thread_sanitizer)
#define RI_TEST_SANITIZED 1
#else
#define RI_TEST_SANITIZED 0
#endif

constexpr bool sanitized = RI_TEST_SANITIZED;

#endif
