/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Preloaded into an MPI program, it makes each MPI_Barrier take a thousand seconds by the
 * program's clock, and none by any other: for tests of what a program times.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BARRIER_SECONDS 1000

static long late_seconds;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                         struct timespec *ts)
{
    int ret = (int)syscall(SYS_clock_gettime, clock, ts);

    ts->tv_sec += late_seconds;
    return ret;
}

/* A communicator is an int in one MPI and a pointer in the other: in a register they are alike */
int MPI_Barrier(uintptr_t comm);

__attribute__((visibility("default"))) int MPI_Barrier(uintptr_t comm)
{
    static int (*next)(uintptr_t);
    int ret;

    if (next == NULL) {
        next = (int (*)(uintptr_t))dlsym(RTLD_NEXT, "PMPI_Barrier");
    }
    ret = next(comm);
    late_seconds += BARRIER_SECONDS;
    return ret;
}
