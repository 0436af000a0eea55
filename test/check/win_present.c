/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which ranks see each other as those that have the library for windows (src/win/present.c): each rank
 * is a child of this process, with the variables of a launcher and with functions of MPI that know no
 * more than its number. The file is compiled with the headers of either MPI, and needs none to run.
 */
#include "fake_world.h"
#include "win/present.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int number, failed;

/* What a rank finds, as its exit code. */
enum {
    ALL,
    ABSENT,
    NO_JOB,
    NO_PLACE,
    OTHER_WORLD,
    SAME_NAME,
    OTHER_NUMBER,
    NO_INIT,
    FOUND_LAST
};

static int found(const char *objection)
{
    static const char *const words[FOUND_LAST] = {
            [ABSENT] = "no library",       [NO_JOB] = "gives no name",
            [NO_PLACE] = "cannot ",        [OTHER_WORLD] = "not all of one",
            [SAME_NAME] = "the same name", [OTHER_NUMBER] = "another number",
            [NO_INIT] = "was not called"};
    int i;

    if (objection == NULL) {
        return ALL;
    }
    for (i = ABSENT; i < FOUND_LAST; ++i) {
        if (strstr(objection, words[i]) != NULL) {
            return i;
        }
    }
    fprintf(stderr, "win_present: %s\n", objection);
    return 98;
}

static const int straight[] = {0, 1, 2, 3, MPI_UNDEFINED};
static const int swapped[]  = {3, 1, 0, 2};

/* What a case does in each rank, and what each finds. */
typedef struct test_case {
    const char *name;
    void (*prepare)(void); /* before it begins to be present */
    void (*later)(void);   /* between the end of MPI_Init() and the look */
    int absent;            /* this rank has no library; -1: all have it */
    int ranks;             /* of the communicator */
    const int *mapping;
    int is_late; /* MPI_Init() ends in the first rank before the last one begins it */
    int expected[RANKS];
    int speakers[RANKS]; /* who speaks for them, in the eyes of each */
} test_case_t;

static void set_number(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

static void by_pmix(void)
{
    setenv("PMIX_NAMESPACE", "prterun-host-4711@1", 1);
    set_number("PMIX_RANK", my_rank);
}

static void by_slurm(void)
{
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    set_number("SLURM_PROCID", my_rank);
}

/* The other end of each rank's connection is one process. */
static int pmi_fds[RANKS];

static void by_pmi(void)
{
    set_number("PMI_FD", pmi_fds[my_rank]);
    set_number("PMI_RANK", my_rank);
}

/* The launcher of another job around this one has left its variables. */
static void within_another(void)
{
#ifdef OPEN_MPI
    by_pmix();
    set_number("PMI_FD", pmi_fds[0]);
    set_number("PMI_RANK", 0);
#else
    by_pmi();
    setenv("PMIX_NAMESPACE", "outer", 1);
    set_number("PMIX_RANK", 0);
#endif
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("SLURM_PROCID", "0", 1);
}

static void odd_numbers(void)
{
    setenv("PMIX_NAMESPACE", "job", 1);
    setenv("PMIX_RANK", "1x", 1);
    setenv("PMI_RANK", "-1", 1);
    setenv("PMI_FD", "99999999999", 1);
    setenv("SLURM_JOB_ID", "12", 1);
    setenv("SLURM_PROCID", "", 1);
}

static void pmi_without_a_connection(void)
{
    int ends[2];

    if (pipe(ends) != 0) {
        exit(97);
    }
    set_number("PMI_FD", ends[0]);
    set_number("PMI_RANK", my_rank);
}

static void last_of_another_job(void)
{
    by_pmix();
    if (my_rank == 3) {
        setenv("PMIX_NAMESPACE", "prterun-host-4711@2", 1);
    }
}

static void last_is_another_user(void)
{
    by_pmix();
    if ((my_rank == 3) && (setuid(65534) != 0)) {
        exit(97);
    }
}

static int is_of_test(int fd);

/* What a program may do when MPI is there: nobody looks at the files or the user any more. */
static void change_all(void)
{
    int fd;

    for (fd = 3; fd < 64; ++fd) {
        if (!is_of_test(fd)) {
            close(fd);
        }
    }
    if (my_rank == 1) {
        unsetenv("PMIX_NAMESPACE");
    }
}

static void no_files_at_first(void)
{
    struct rlimit none = {};

    by_slurm();
    if (my_rank == 1) {
        setrlimit(RLIMIT_NOFILE, &none);
    }
}

static void number_of_another(void)
{
    by_pmix();
    set_number("PMIX_RANK", my_rank ^ 1);
}

/* The last two are ranks 0 and 1 of a job with the same name. */
static void two_jobs(void)
{
    by_slurm();
    world_size = 2;
    my_rank %= 2;
    set_number("SLURM_PROCID", my_rank);
}

/* One job with a rank more than the other: its last number is too large for the first one. */
static void two_jobs_of_different_size(void)
{
    by_slurm();
    world_size = (my_rank == 0) ? 1 : 3;
    my_rank -= (my_rank > 0);
    set_number("SLURM_PROCID", my_rank);
}

/* A server of its own, as it is another job of the same name. */
static void last_has_another_server(void)
{
    by_pmix();
    setenv("PMIX_SERVER_URI3", (my_rank == 3) ? "b.0;tcp4://127.0.0.1:2" : "a.0", 1);
    unsetenv("PMIX_SERVER_URI4");
}

static void long_names(void)
{
    char text[2000];

    by_pmix();
    memset(text, 'n', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    setenv("PMIX_NAMESPACE", text, 1);
}

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
    int result    = 0;
    int rank      = my_rank;

    test->prepare();
    mapping = test->mapping;
    if (!is_absent) {
        ri_present_begin();
        ri_present_begin(); /* as where one function of MPI calls the other */
    }
    say(BEGUN);
    wait_for(MAY_END);
    if (!is_absent) {
        ri_present_end(1);
        ri_present_end(1);
    }
    say(ENDED);
    wait_for(MAY_LOOK);
    if (!is_absent) {
        if (test->later != NULL) {
            test->later();
        }
        result = found(ri_present_objection(MPI_COMM_WORLD, test->ranks, &speaker));
        if ((result <= ABSENT) && (speaker != test->speakers[rank])) {
            fprintf(stderr, "%s: rank %d: speaker %d\n", test->name, rank, speaker);
            result = 95;
        }
    }
    say(LOOKED);
    wait_for(MAY_LEAVE);
    _exit(result);
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
    static const test_case_t cases[] = {
            {"a job of PMIx", by_pmix, NULL, -1, 4, straight, 0, {}, {}},
            {"a job of PMI", by_pmi, NULL, -1, 4, straight, 0, {}, {}},
            {"a job of Slurm", by_slurm, NULL, -1, 4, straight, 0, {}, {}},
            {"long names", long_names, NULL, -1, 4, straight, 0, {}, {}},
            {"a job within another one",
             within_another,
             NULL,
             -1,
             4,
             straight,
             0,
             {},
             {}},
            {"a communicator in another order", by_pmi, NULL, -1, 4, swapped, 0, {}, {}},
            {"the first rank is absent",
             by_pmi,
             NULL,
             0,
             4,
             straight,
             0,
             {0, ABSENT, ABSENT, ABSENT},
             {0, 1, 1, 1}},
            {"a rank in the middle is absent",
             by_slurm,
             NULL,
             1,
             4,
             straight,
             0,
             {ABSENT, 0, ABSENT, ABSENT},
             {}},
            {"the last rank is absent",
             by_pmix,
             NULL,
             3,
             4,
             straight,
             0,
             {ABSENT, ABSENT, ABSENT, 0},
             {}},
            {"the first rank of another order is absent",
             by_pmi,
             NULL,
             3,
             4,
             swapped,
             0,
             {ABSENT, ABSENT, ABSENT, 0},
             {1, 1, 1, 1}},
            {"a rank that is not asked for is absent",
             by_pmix,
             NULL,
             3,
             3,
             straight,
             0,
             {},
             {}},
            {"one rank needs nobody", odd_numbers, NULL, -1, 1, straight, 0, {}, {}},
            {"numbers that are none",
             odd_numbers,
             NULL,
             -1,
             4,
             straight,
             0,
             {NO_JOB, NO_JOB, NO_JOB, NO_JOB},
             {}},
            {"PMI by a pipe",
             pmi_without_a_connection,
             NULL,
             -1,
             4,
             straight,
             0,
             {NO_JOB, NO_JOB, NO_JOB, NO_JOB},
             {}},
            {"a rank of another job",
             last_of_another_job,
             NULL,
             -1,
             4,
             straight,
             0,
             {ABSENT, ABSENT, ABSENT, ABSENT},
             {0, 0, 0, 3}},
            {"another server of PMIx",
             last_has_another_server,
             NULL,
             -1,
             4,
             straight,
             0,
             {ABSENT, ABSENT, ABSENT, ABSENT},
             {0, 0, 0, 3}},
            {"a rank of another MPI_COMM_WORLD",
             by_pmix,
             NULL,
             -1,
             5,
             straight,
             0,
             {OTHER_WORLD, OTHER_WORLD, OTHER_WORLD, OTHER_WORLD},
             {}},
            {"a rank that comes late",
             by_pmi,
             NULL,
             -1,
             4,
             straight,
             1,
             {ABSENT, ABSENT, ABSENT, ABSENT},
             {0, 0, 0, 3}},
            {"two jobs of one name",
             two_jobs,
             NULL,
             -1,
             2,
             straight,
             0,
             {SAME_NAME, SAME_NAME, SAME_NAME, SAME_NAME},
             {}},
            {"two jobs of one name, of different size",
             two_jobs_of_different_size,
             NULL,
             -1,
             3,
             straight,
             0,
             {SAME_NAME, SAME_NAME, SAME_NAME, SAME_NAME},
             {}},
            {"numbers of others",
             number_of_another,
             NULL,
             -1,
             4,
             straight,
             0,
             {OTHER_NUMBER, OTHER_NUMBER, OTHER_NUMBER, OTHER_NUMBER},
             {}},
            {"no descriptor for one rank",
             no_files_at_first,
             NULL,
             -1,
             4,
             straight,
             0,
             {ABSENT, NO_PLACE, ABSENT, ABSENT},
             {}},
            {"files are closed and variables removed later",
             by_pmix,
             change_all,
             -1,
             4,
             straight,
             0,
             {},
             {}},
    };
    static const test_case_t as_root[] = {
            {"a rank of another user",
             last_is_another_user,
             NULL,
             -1,
             4,
             straight,
             0,
             {ABSENT, ABSENT, ABSENT, ABSENT},
             {0, 0, 0, 3}},
    };
    static const char *const variables[] = {
            "PMIX_NAMESPACE", "PMIX_RANK",     "PMI_FD",      "PMI_RANK",
            "SLURM_JOB_ID",   "SLURM_STEP_ID", "SLURM_PROCID"};
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
    return failed != 0;
}
