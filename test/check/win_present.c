/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which ranks see each other as those that have the library for windows (src/win/ranks_here.c): each rank
 * is a child of this process, with the variables of a launcher and with functions of MPI that know no
 * more than its number. The file is compiled with the headers of either MPI, and needs none to run. It
 * includes the source, whose state it looks at.
 */
#include "win/ranks_here.c"
#include "present_cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* No windows of several hosts here: windows.test has jobs with some. */
int ri_setting_takes_hosts(void)
{
    return 0;
}

static int number, failed;

/* A pipe for each step: a rank reads one byte when it may go on, and writes one when it is there. */
enum {
    BEGUN,
    MAY_END,
    ENDED,
    MAY_LOOK,
    LOOKED,
    MAY_LEAVE,
    STEPS
};

static int steps[STEPS][2];

static int is_of_test(int fd)
{
    int i;

    for (i = 0; (i < STEPS) && (fd != steps[i][0]) && (fd != steps[i][1]); ++i) {}
    return i < STEPS;
}

static void say(int step)
{
    char byte = 0;

    if (write(steps[step][1], &byte, 1) != 1) {
        _exit(97);
    }
}

static void wait_for(int step)
{
    char byte;

    if (read(steps[step][0], &byte, 1) != 1) {
        _exit(97);
    }
}

static void run_rank(const test_case_t *test)
{
    int is_absent = (my_rank == test->absent);
    int speaker   = -1;
    int result;
    int rank = my_rank;

    test->prepare();
    mapping = test->mapping;
    if (!is_absent) {
        ri_ranks_here_begin();
        ri_ranks_here_begin(); /* as where one function of MPI calls the other */
    }
    say(BEGUN);
    wait_for(MAY_END);
    if (!is_absent) {
        ri_ranks_here_end(test->absent != MPI_FAILS);
        ri_ranks_here_end(1);
    }
    say(ENDED);
    wait_for(MAY_LOOK);
    if (test->later != NULL) {
        test->later();
    }
    result = found(ri_ranks_here_objection(MPI_COMM_WORLD, test->ranks, &speaker));
    if ((result == ABSENT) && (speaker != test->speakers[rank])) {
        fprintf(stderr, "%s: rank %d: speaker %d\n", test->name, rank, speaker);
        result = 95;
    }
    if ((present.path[0] != '\0') && (access(present.path, F_OK) == 0)) {
        fprintf(stderr, "%s: rank %d: the name is there\n", test->name, rank);
        result = 94;
    }
    say(LOOKED);
    wait_for(MAY_LEAVE);
    _exit(result);
}

/* The job would be ended by that. Here the other ranks go on, so that it shows what they do. */
int PMPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    (void)code;
    say(ENDED);
    wait_for(MAY_LOOK);
    say(LOOKED);
    wait_for(MAY_LEAVE);
    _exit(ABORTED);
}

/* All come to a step, then all may go on. */
static void together(int there, int may, int ranks)
{
    int i;

    for (i = 0; i < ranks; ++i) {
        wait_for(there);
    }
    for (i = 0; i < ranks; ++i) {
        say(may);
    }
}

static void run_case(const test_case_t *test)
{
    int ends[2], pids[RANKS], status, rank, i, is_ok = 1;

    for (i = 0; i < STEPS; ++i) {
        if (pipe(steps[i]) != 0) {
            exit(97);
        }
    }
    for (rank = 0; rank < RANKS; ++rank) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
            exit(97);
        }
        pmi_fds[rank] = ends[0];
    }
    for (my_rank = 0; my_rank < RANKS; ++my_rank) {
        if (test->is_late && (my_rank == RANKS - 1)) {
            together(BEGUN, MAY_END, RANKS - 1);
            for (i = 0; i < RANKS - 1; ++i) {
                wait_for(ENDED);
            }
        }
        pids[my_rank] = fork();
        if (pids[my_rank] == 0) {
            run_rank(test);
        }
    }
    if (test->is_late) {
        together(BEGUN, MAY_END, 1);
        for (i = 0; i < RANKS - 1; ++i) {
            say(ENDED);
        }
    } else {
        together(BEGUN, MAY_END, RANKS);
    }
    together(ENDED, MAY_LOOK, RANKS);
    together(LOOKED, MAY_LEAVE, RANKS);
    for (rank = 0; rank < RANKS; ++rank) {
        waitpid(pids[rank], &status, 0);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != test->expected[rank])) {
            printf("# rank %d ends with %d for %d\n", rank, WEXITSTATUS(status),
                   test->expected[rank]);
            is_ok = 0;
        }
    }
    for (i = 0; i < 2 * STEPS; ++i) {
        close(steps[i / 2][i % 2]);
    }
    printf("%sok %d - win_present: %s\n", is_ok ? "" : "not ", ++number, test->name);
    failed += !is_ok;
}

/* Ranks begin and end when they like. Whoever is in one file sees the same, be it alone. */
static void run_at_random(int seed)
{
    static uint8_t(*sees)[RANKS];
    int rank, other, pids[RANKS], is_ok = 1;

    if (sees == NULL) {
        sees = mmap(NULL, RANKS * RANKS, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    memset(sees, 0, RANKS * RANKS);
    for (my_rank = 0; my_rank < RANKS; ++my_rank) {
        pids[my_rank] = fork();
        if (pids[my_rank] == 0) {
            srand((unsigned)(seed * RANKS + my_rank));
            by_slurm();
            usleep((useconds_t)(rand() % 400));
            ri_ranks_here_begin();
            usleep((useconds_t)(rand() % 400));
            ri_ranks_here_end(1);
            for (other = 0; other < RANKS; ++other) {
                sees[my_rank][other] = (present.why == NULL) && present.is_here[other];
            }
            _exit(0);
        }
    }
    for (rank = 0; rank < RANKS; ++rank) {
        waitpid(pids[rank], NULL, 0);
    }
    for (rank = 0; rank < RANKS; ++rank) {
        for (other = 0; other < RANKS; ++other) {
            is_ok &= sees[rank][rank] && (sees[rank][other] == sees[other][rank]);
            is_ok &= !sees[rank][other] || !memcmp(sees[rank], sees[other], RANKS);
        }
    }
    if (!is_ok) {
        printf("not ok %d - win_present: at random, seed %d\n", ++number, seed);
        ++failed;
    }
}

/* Whether this process may do what the last rank of a case does. */
static int may_prepare(const test_case_t *test)
{
    int status, pid = fork();

    if (pid == 0) {
        my_rank = 3;
        test->prepare();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0);
}

int main(void)
{
    static const char *const variables[] = {
            "PMIX_NAMESPACE", "PMIX_RANK",     "PMI_FD",       "PMI_RANK",
            "SLURM_JOB_ID",   "SLURM_STEP_ID", "SLURM_PROCID", "PMIX_SERVER_URI41"};
    size_t i;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (i = 0; i < sizeof(variables) / sizeof(variables[0]); ++i) {
        unsetenv(variables[i]);
    }
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        run_case(&cases[i]);
    }
    for (i = 0; i < sizeof(as_root) / sizeof(as_root[0]); ++i) {
        if (may_prepare(&as_root[i])) {
            run_case(&as_root[i]);
        } else {
            printf("ok %d - win_present: %s # SKIP needs root\n", ++number,
                   as_root[i].name);
        }
    }
    for (i = 1; i <= 500; ++i) {
        run_at_random((int)i);
    }
    printf("%sok %d - win_present: 500 jobs at random\n", failed ? "not " : "", ++number);
    return failed != 0;
}
