/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into an MPI program with more ranks than cores, it gives the core away whenever
 * UCP has nothing to do. Open MPI has an option for that. Debian's MPICH has none: its variable
 * MPIR_CVAR_POLLS_BEFORE_YIELD is without effect, as no code of ch4:ucx yields.
 *
 *   cc -O2 -fPIC -shared -o idle_yield.so idle_yield.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    unsigned count;

    if (next == NULL) {
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    count = next(worker);
    if (count == 0) {
        sched_yield();
    }
    return count;
}
