/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which ranks see each other as those that have the library for windows (src/win/present.c): each rank
 * is a child of this process, with the variables of a launcher and with functions of MPI that know no
 * more than its number. The file is compiled with the headers of either MPI, and needs none to run.
 */
#include "win/present.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS 3

static int my_rank, number, failed;

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = RANKS;
    return MPI_SUCCESS;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = my_rank;
    return MPI_SUCCESS;
}

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    (void)comm;
    memset(group, 0, sizeof(*group));
    return MPI_SUCCESS;
}

int PMPI_Group_free(MPI_Group *group)
{
    (void)group;
    return MPI_SUCCESS;
}

/* Of a communicator that has a rank more than MPI_COMM_WORLD, that rank is of another one. */
int PMPI_Group_translate_ranks(MPI_Group group, int n, const int *ranks, MPI_Group other,
                               int *translated)
{
    int i;

    (void)group;
    (void)other;
    for (i = 0; i < n; ++i) {
        translated[i] = (ranks[i] < RANKS) ? ranks[i] : MPI_UNDEFINED;
    }
    return MPI_SUCCESS;
}

int PMPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    (void)code;
    _exit(99);
}

/* What a rank finds, as its exit code. */
enum {
    ALL,
    ABSENT,
    NO_JOB,
    UNSEEN,
    OTHER_WORLD,
    ABORTED = 99
};

static int found(const char *objection)
{
    static const char *const words[] = {[ABSENT]      = "no library",
                                        [NO_JOB]      = "gives no name",
                                        [UNSEEN]      = "cannot be seen",
                                        [OTHER_WORLD] = "not all of one"};
    int i;

    if (objection == NULL) {
        return ALL;
    }
    for (i = ABSENT; i <= OTHER_WORLD; ++i) {
        if (strstr(objection, words[i]) != NULL) {
            return i;
        }
    }
    fprintf(stderr, "win_present: %s\n", objection);
    return 98;
}

/* What a case does in each rank before it begins to be present, and before it looks. */
typedef struct test_case {
    const char *name;
    void (*prepare)(void);
    void (*before_look)(void);
    int absent;          /* this rank has no library; -1: all have it */
    int ranks;           /* of the communicator */
    int expected[RANKS]; /* what each finds */
    int speakers[RANKS]; /* and who speaks for them, in its eyes */
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
    if (my_rank == 2) {
        setenv("PMIX_NAMESPACE", "prterun-host-4711@2", 1);
    }
}

static void last_is_another_user(void)
{
    by_pmix();
    if ((my_rank == 2) && (setuid(65534) != 0)) {
        exit(97);
    }
}

static void last_in_a_network_of_its_own(void)
{
    by_pmix();
    if ((my_rank == 2) && (unshare(CLONE_NEWNET) != 0)) {
        exit(97);
    }
}

static void no_files(void)
{
    struct rlimit none = {};

    setrlimit(RLIMIT_NOFILE, &none);
}

static void no_files_at_first(void)
{
    by_slurm();
    if (my_rank == 1) {
        no_files();
    }
}

static void run_rank(const test_case_t *test, int ready, int go, int end)
{
    int speaker = -1, result;
    char byte   = 0;

    test->prepare();
    if (my_rank != test->absent) {
        ri_present_begin();
        ri_present_begin(); /* as where one function of MPI calls the other */
    }
    /* All have begun when one of them goes on */
    if ((write(ready, &byte, 1) != 1) || (read(go, &byte, 1) != 1)) {
        _exit(97);
    }
    if (my_rank == test->absent) {
        _exit(read(end, &byte, 1) == 1 ? test->expected[my_rank] : 97);
    }
    if (test->before_look != NULL) {
        test->before_look();
    }
    result = found(ri_present_objection(MPI_COMM_WORLD, test->ranks, &speaker));
    if (result != found(ri_present_objection(MPI_COMM_WORLD, test->ranks, &speaker))) {
        result = 96;
    } else if ((result != NO_JOB) && (result != UNSEEN) &&
               (speaker != test->speakers[my_rank])) {
        fprintf(stderr, "%s: rank %d: speaker %d\n", test->name, my_rank, speaker);
        result = 95;
    }
    /* Nobody goes before all have looked */
    _exit((write(ready, &byte, 1) == 1) && (read(end, &byte, 1) == 1) ? result : 97);
}

static void run_case(const test_case_t *test)
{
    int ready[2], go[2], end[2], ends[2], pids[RANKS], status, rank, is_ok = 1;
    char bytes[RANKS] = {};

    if (pipe(ready) || pipe(go) || pipe(end)) {
        exit(97);
    }
    for (rank = 0; rank < RANKS; ++rank) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
            exit(97);
        }
        pmi_fds[rank] = ends[0];
    }
    for (my_rank = 0; my_rank < RANKS; ++my_rank) {
        pids[my_rank] = fork();
        if (pids[my_rank] == 0) {
            run_rank(test, ready[1], go[0], end[0]);
        }
    }
    for (rank = 0; rank < RANKS; ++rank) {
        is_ok &= read(ready[0], bytes, 1) == 1;
    }
    is_ok &= write(go[1], bytes, RANKS) == RANKS;
    /* Those that abort say nothing more */
    for (rank = 0; rank < RANKS; ++rank) {
        is_ok &= (test->expected[rank] == ABORTED) || (rank == test->absent) ||
                 (read(ready[0], bytes, 1) == 1);
    }
    is_ok &= write(end[1], bytes, RANKS) == RANKS;
    for (rank = 0; rank < RANKS; ++rank) {
        waitpid(pids[rank], &status, 0);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != test->expected[rank])) {
            printf("# rank %d ends with %d for %d\n", rank, WEXITSTATUS(status),
                   test->expected[rank]);
            is_ok = 0;
        }
    }
    printf("%sok %d - win_present: %s\n", is_ok ? "" : "not ", ++number, test->name);
    failed += !is_ok;
}

/* Whether this process may do what the last rank of a case does. */
static int may_prepare(const test_case_t *test)
{
    int status, pid = fork();

    if (pid == 0) {
        my_rank = 2;
        test->prepare();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0);
}

int main(void)
{
    static const test_case_t cases[] = {
            {"a job of PMIx", by_pmix, NULL, -1, 3, {ALL, ALL, ALL}, {}},
            {"a job of PMI", by_pmi, NULL, -1, 3, {ALL, ALL, ALL}, {}},
            {"a job of Slurm", by_slurm, NULL, -1, 3, {ALL, ALL, ALL}, {}},
            {"a job within another one",
             within_another,
             NULL,
             -1,
             3,
             {ALL, ALL, ALL},
             {}},
            {"the first rank is absent",
             by_pmi,
             NULL,
             0,
             3,
             {0, ABSENT, ABSENT},
             {0, 1, 1}},
            {"the last rank is absent", by_pmix, NULL, 2, 3, {ABSENT, ABSENT, 0}, {}},
            {"a rank that is not asked for is absent",
             by_pmix,
             NULL,
             2,
             2,
             {ALL, ALL, 0},
             {}},
            {"one rank needs nobody", odd_numbers, NULL, -1, 1, {ALL, ALL, ALL}, {}},
            {"numbers that are none",
             odd_numbers,
             NULL,
             -1,
             3,
             {NO_JOB, NO_JOB, NO_JOB},
             {}},
            {"PMI by a pipe",
             pmi_without_a_connection,
             NULL,
             -1,
             3,
             {NO_JOB, NO_JOB, NO_JOB},
             {}},
            {"a rank of another job",
             last_of_another_job,
             NULL,
             -1,
             3,
             {ABSENT, ABSENT, ABSENT},
             {0, 0, 2}},
            {"a rank of another MPI_COMM_WORLD",
             by_pmix,
             NULL,
             -1,
             4,
             {OTHER_WORLD, OTHER_WORLD, OTHER_WORLD},
             {}},
            {"no descriptor at the start",
             no_files_at_first,
             NULL,
             -1,
             3,
             {ABSENT, UNSEEN, ABSENT},
             {}},
            {"no descriptor later",
             by_slurm,
             no_files,
             -1,
             3,
             {ABORTED, ABORTED, ABORTED},
             {}},
    };
    /* A rank sees a process of another user as absent, and is absent for it; so with networks. */
    static const test_case_t as_root[] = {
            {"a rank of another user",
             last_is_another_user,
             NULL,
             -1,
             3,
             {ABSENT, ABSENT, ABSENT},
             {0, 0, 2}},
            {"a rank in a network of its own",
             last_in_a_network_of_its_own,
             NULL,
             -1,
             3,
             {ABSENT, ABSENT, ABSENT},
             {0, 0, 2}},
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
