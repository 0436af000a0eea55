/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Windows whose memory the MPI allocates: all operations, all ways to synchronise, locks, errors.
 *
 * Run: mpiexec -n 2..8 windows [--seed N] [--rounds N] [--errors 0|1] [--shared 0|1] [--threads 0|1]
 *                                [--kill 0..5]
 *
 * Everything is allowed by the MPI standard, so it holds for any MPI, with the library and without
 * it. --errors 0 leaves out calls that are wrong, of which an MPI need not take notice, and odd ones,
 * in which MPIs have faults.
 */

#include "windows/windows.h"

#include <stdlib.h>
#include <string.h>

static long rounds      = 20;
static long has_errors  = 1;
static long is_shared   = 0;
static long kill_how    = 0;
static long has_threads = 0;

win_t win_make(MPI_Comm comm, MPI_Aint size, int disp_unit, int shared, int is_apart)
{
    win_t win = {.size = size, .disp_unit = disp_unit, .is_shared = shared};
    MPI_Info info;

    MPI_Info_create(&info);
    if (is_apart) {
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    }
    if (shared) {
        MPI_Win_allocate_shared(size, disp_unit, info, comm, &win.memory, &win.win);
    } else {
        MPI_Win_allocate(size, disp_unit, info, comm, &win.memory, &win.win);
    }
    MPI_Info_free(&info);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_rank, 0, win.win);
    memset(win.memory, 0, (size_t)size);
    MPI_Win_unlock(mt_rank, win.win);
    MPI_Barrier(comm);
    return win;
}

void win_free(win_t *win)
{
    MPI_Win_free(&win->win);
    if (win->win != MPI_WIN_NULL) {
        mt_fail("a window that is freed is not MPI_WIN_NULL");
    }
}

int main(int argc, char **argv)
{
    mt_opt_t opts[] = {
            {"rounds", &rounds, "rounds of each part"},
            {"errors", &has_errors, "1: also odd calls and wrong ones"},
            {"shared", &is_shared, "1: by MPI_Win_allocate_shared"},
            {"threads", &has_threads, "1: only several threads, each with windows"},
            {"kill", &kill_how,
             "1 to 5: only kill a rank for which others wait, in that way"},
    };

    mt_start(&argc, &argv, "windows", "Windows whose memory the MPI allocates.", opts,
             MT_LEN(opts), MPI_THREAD_MULTIPLE, 2);
    if (has_threads) {
        check_threads(is_shared != 0, rounds);
        return mt_pass("rounds=%ld shared=%ld threads", rounds, is_shared);
    }
    if (kill_how != 0) {
        check_killed(is_shared != 0, kill_how);
    }
    check_asked(is_shared != 0);
    check_fence(is_shared != 0, rounds, mt_key(mt_seed, 1, 0, 0));
    check_pscw(is_shared != 0, 5 * rounds, mt_key(mt_seed, 2, 0, 0));
    check_locks(is_shared != 0, 10 * rounds);
    check_progress(is_shared != 0, rounds);
    check_atomics(is_shared != 0, 10 * rounds);
    check_accumulates(is_shared != 0, rounds);
    check_random(is_shared != 0, 2 * rounds, mt_key(mt_seed, 3, 0, 0));
    if (has_errors) {
        check_odd(is_shared != 0);
        check_errors(is_shared != 0);
    }
    return mt_pass("rounds=%ld shared=%ld", rounds, is_shared);
}
