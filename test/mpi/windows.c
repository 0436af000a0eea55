/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Windows: all operations, all ways to synchronise, locks, errors.
 *
 * Run: mpiexec -n 2..8 windows [--seed N] [--rounds N] [--errors 0|1] [--kind 0..2] [--threads 0|1]
 *                                [--kill 0..5]
 *
 * Everything is allowed by the MPI standard, so it holds for any MPI, with the library and without
 * it. --errors 0 leaves out calls that are wrong, of which an MPI need not take notice, and odd ones,
 * in which MPIs have faults.
 */

#include "windows/windows.h"

#include <stdlib.h>
#include <string.h>

static long rounds       = 20;
static long has_errors   = 1;
static long kind         = 0;
static long needs_target = -1;
static long kill_how     = 0;
static long has_threads  = 0;

void win_allocate(MPI_Comm comm, MPI_Aint size, int disp_unit, win_kind_t kind,
                  MPI_Info info, void *memory_p, MPI_Win *win)
{
    void *memory;

    if (kind == WIN_SHARED) {
        MPI_Win_allocate_shared(size, disp_unit, info, comm, memory_p, win);
    } else if (kind == WIN_ALLOCATED) {
        MPI_Win_allocate(size, disp_unit, info, comm, memory_p, win);
    } else {
        /* Not at the start of a line of memory, and behind a word that nobody may change */
        memory = calloc(1, (size_t)size + 24);
        memory = (char *)memory + 8;
        MPI_Win_create(memory, size, disp_unit, info, comm, win);
        *(void **)memory_p = memory;
    }
}

void win_end(MPI_Win *win, win_kind_t kind, void *memory)
{
    MPI_Win_free(win);
    if (*win != MPI_WIN_NULL) {
        mt_fail("a window that is freed is not MPI_WIN_NULL");
    }
    if (kind == WIN_CREATED) {
        free((char *)memory - 8);
    }
}

win_t win_make(MPI_Comm comm, MPI_Aint size, int disp_unit, win_kind_t kind, int is_apart)
{
    win_t win = {.size = size, .disp_unit = disp_unit, .kind = kind};
    MPI_Info info;

    MPI_Info_create(&info);
    if (is_apart) {
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    }
    win_allocate(comm, size, disp_unit, kind, info, &win.memory, &win.win);
    MPI_Info_free(&info);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_rank, 0, win.win);
    memset(win.memory, 0, (size_t)size);
    MPI_Win_unlock(mt_rank, win.win);
    MPI_Barrier(comm);
    return win;
}

void win_free(win_t *win)
{
    win_end(&win->win, win->kind, win->memory);
}

/* Whether locks and atomics may need progress of a target. */
static void check_info(void)
{
    win_t win     = win_make(MPI_COMM_WORLD, 64, 1, (win_kind_t)kind, 1);
    char value[8] = "";
    MPI_Info info;
    int flag;

    mt_stage("info");
    MPI_Win_get_info(win.win, &info);
    MPI_Info_get(info, "ucxri_target_progress", sizeof(value) - 1, value, &flag);
    MPI_Info_free(&info);
    if (!flag || strcmp(value, needs_target ? "true" : "false")) {
        mt_fail("ucxri_target_progress is '%s'", value);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    win_free(&win);
}

int main(int argc, char **argv)
{
    mt_opt_t opts[] = {
            {"rounds", &rounds, "rounds of each part"},
            {"errors", &has_errors, "1: also odd calls and wrong ones"},
            {"kind", &kind,
             "0: by MPI_Win_allocate, 1: MPI_Win_allocate_shared, 2: MPI_Win_create"},
            {"threads", &has_threads, "1: only several threads, each with windows"},
            {"target", &needs_target,
             "what the info of a window says of progress of a target; -1: not asked"},
            {"kill", &kill_how,
             "1 to 5: only kill a rank for which others wait, in that way"},
    };

    mt_start(&argc, &argv, "windows", "Windows of MPI.", opts, MT_LEN(opts),
             MPI_THREAD_MULTIPLE, 2);
    if (has_threads) {
        check_threads((win_kind_t)kind, rounds);
        return mt_pass("rounds=%ld kind=%ld threads", rounds, kind);
    }
    if (kill_how != 0) {
        check_killed((win_kind_t)kind, kill_how);
    }
    if (needs_target >= 0) {
        check_info();
    }
    check_asked((win_kind_t)kind);
    check_fence((win_kind_t)kind, rounds, mt_key(mt_seed, 1, 0, 0));
    check_pscw((win_kind_t)kind, 5 * rounds, mt_key(mt_seed, 2, 0, 0));
    check_locks((win_kind_t)kind, 10 * rounds);
    check_progress((win_kind_t)kind, rounds);
    if (mt_size > 2) {
        check_away((win_kind_t)kind);
    }
    check_atomics((win_kind_t)kind, 10 * rounds);
    check_accumulates((win_kind_t)kind, rounds);
    check_random((win_kind_t)kind, 2 * rounds, mt_key(mt_seed, 3, 0, 0));
    if (kind == WIN_CREATED) {
        check_dynamic(rounds, mt_key(mt_seed, 4, 0, 0));
    }
    if (has_errors) {
        check_odd((win_kind_t)kind);
        check_errors((win_kind_t)kind);
        if (kind == WIN_CREATED) {
            check_bad_put();
        }
    }
    return mt_pass("rounds=%ld kind=%ld", rounds, kind);
}
