/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_COUNTERS_H_
#define SH_COUNTERS_H_

#include "softhca.h"

extern softhca_counters_t sh_counters;

/* Several threads count. */
#define sh_count(_name, _value) \
    __atomic_fetch_add(&sh_counters._name, (uint64_t)(_value), __ATOMIC_RELAXED)

/**
 * Print the counters as the variable SOFTHCA_COUNTERS asks for, when the process ends.
 */
void sh_counters_print(void);

#endif
