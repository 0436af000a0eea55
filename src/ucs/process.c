/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "process.h"

#include <pthread.h>

unsigned ri_process_generation;

static void process_forked(void)
{
    ++ri_process_generation;
}

/* Before the program can fork */
static void __attribute__((constructor)) process_init(void)
{
    ri_process_generation = pthread_atfork(NULL, NULL, process_forked) == 0;
}
