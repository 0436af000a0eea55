/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "guard.h"

_Atomic(unsigned) ri_multi_workers = 0;
