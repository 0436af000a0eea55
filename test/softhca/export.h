/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_EXPORT_H_
#define SH_EXPORT_H_

/* The library is compiled with hidden visibility; this is what programs see of it. */
#define SH_EXPORT __attribute__((visibility("default")))

#endif
