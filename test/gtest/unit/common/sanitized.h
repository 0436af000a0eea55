/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Whether the tests are built with a sanitizer that has its own malloc, and unmaps by system calls. */
#ifndef RI_TEST_SANITIZED_H
#define RI_TEST_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

#endif
