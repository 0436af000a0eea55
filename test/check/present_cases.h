/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The cases of win_present.c: what each does in each rank, and what each rank finds.
 */
#ifndef PRESENT_CASES_H
#define PRESENT_CASES_H

#include "fake_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* What a rank finds, as its exit code. */
#define ABORTED 99

enum {
    ALL,
    ABSENT,
    NO_JOB,
    NO_PLACE,
    OTHER_WORLD,
    SAME_NAME,
    FAILED,
    NO_INIT,
    REORDERED,
    FOUND_LAST
};

static int found(const char *objection)
{
    static const char *const words[FOUND_LAST] = {
            [ABSENT] = "has no library",   [NO_JOB] = "gives no name",
            [NO_PLACE] = "cannot ",        [OTHER_WORLD] = "not all of one",
            [SAME_NAME] = "the same name", [FAILED] = "has failed",
            [NO_INIT] = "was not called",  [REORDERED] = "MPICH_RANK_REORDER_METHOD"};
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

#define MPI_FAILS (-2)

/* What a case does in each rank, and what each finds. */
typedef struct test_case {
    const char *name;
    void (*prepare)(void); /* before it begins to be present */
    void (*later)(void);   /* between the end of MPI_Init() and the look */
    int absent; /* this rank has no library; -1: all have it; MPI_FAILS: MPI_Init() fails */
    int ranks; /* of the communicator */
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

/* Another check may run at the same time. */
static int own_job(void)
{
    return getppid();
}

static void by_pmix(void)
{
    set_number("PMIX_NAMESPACE", own_job());
    set_number("PMIX_RANK", my_rank);
}

static void by_slurm(void)
{
    set_number("SLURM_JOB_ID", own_job());
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
        set_number("PMIX_NAMESPACE", -own_job());
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

/* Ranks 2 and 3 have changed places: the others cannot know. */
static void number_of_another(void)
{
    by_pmix();
    set_number("PMIX_RANK", (my_rank < 2) ? my_rank : my_rank ^ 1);
}

static void order_of_its_own(void)
{
    by_pmi();
    setenv("MPICH_RANK_REORDER_METHOD", "3", 1);
}

static void spawned(void)
{
    by_pmi();
    setenv("PMI_SPAWNED", "1", 1);
}

static void restarted(void)
{
    by_slurm();
    set_number("SLURM_RESTART_COUNT", my_rank == 3);
}

/* Something stands at the place of the file. The first rank that comes makes it. */
static void in_the_place(int kind)
{
    int fd;

    by_slurm();
    if (!ri_job_find(&present.job) || !ranks_set_path()) {
        exit(97);
    }
    if (S_ISLNK(kind)) {
        (void)!symlink("/dev/null", present.path);
    } else if (S_ISDIR(kind)) {
        mkdir(present.path, 0700);
    } else if (S_ISFIFO(kind)) {
        mkfifo(present.path, 0600);
    } else {
        fd = open(present.path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if ((fd >= 0) && ((kind & 0777) != 0)) {
            fchmod(fd, kind & 0777);
        } else if (fd >= 0) {
            (void)!write(fd, "x", 1);
        }
    }
}

static void remove_place(void)
{
    remove(present.path);
}

static void a_link_in_the_place(void)
{
    in_the_place(S_IFLNK);
}

static void a_folder_in_the_place(void)
{
    in_the_place(S_IFDIR);
}

static void a_pipe_in_the_place(void)
{
    in_the_place(S_IFIFO);
}

static void an_open_file_in_the_place(void)
{
    in_the_place(S_IFREG | 0666);
}

static void a_torn_file_in_the_place(void)
{
    in_the_place(S_IFREG);
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

/* Slurm has started the ranks, and the MPI does not ask it: each is a world of its own. */
static void all_are_alone(void)
{
    by_slurm();
    world_size = 1;
    my_rank    = 0;
}

/* A server of its own, as it is another job of the same name. */
static void last_has_another_server(void)
{
    by_pmix();
    setenv("PMIX_SERVER_URI41", (my_rank == 3) ? "b.0;tcp4://127.0.0.1:2" : "a.0", 1);
}

static void long_names(void)
{
    char text[2000];

    by_pmix();
    memset(text, 'n', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    setenv("PMIX_NAMESPACE", text, 1);
}

static const test_case_t cases[] = {
        {"a job of PMIx", by_pmix, NULL, -1, 4, straight, 0, {}, {}},
        {"a job of PMI", by_pmi, NULL, -1, 4, straight, 0, {}, {}},
        {"a job of Slurm", by_slurm, NULL, -1, 4, straight, 0, {}, {}},
        {"long names", long_names, NULL, -1, 4, straight, 0, {}, {}},
        {"a job within another one", within_another, NULL, -1, 4, straight, 0, {}, {}},
        {"a communicator in another order", by_pmi, NULL, -1, 4, swapped, 0, {}, {}},
        {"the first rank is absent",
         by_pmi,
         NULL,
         0,
         4,
         straight,
         0,
         {NO_INIT, ABSENT, ABSENT, ABSENT},
         {0, 1, 1, 1}},
        {"a rank in the middle is absent",
         by_slurm,
         NULL,
         1,
         4,
         straight,
         0,
         {ABSENT, NO_INIT, ABSENT, ABSENT},
         {}},
        {"the last rank is absent",
         by_pmix,
         NULL,
         3,
         4,
         straight,
         0,
         {ABSENT, ABSENT, ABSENT, NO_INIT},
         {}},
        {"the first rank of another order is absent",
         by_pmi,
         NULL,
         3,
         4,
         swapped,
         0,
         {ABSENT, ABSENT, ABSENT, NO_INIT},
         {1, 1, 1, 1}},
        {"a rank that is not asked for is absent",
         by_pmix,
         NULL,
         3,
         3,
         straight,
         0,
         {0, 0, 0, NO_INIT},
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
        {"ranks of a launcher that the MPI does not know",
         all_are_alone,
         NULL,
         -1,
         1,
         straight,
         0,
         {},
         {}},
        {"two jobs of one name, of different size",
         two_jobs_of_different_size,
         NULL,
         -1,
         3,
         straight,
         0,
         {OTHER_WORLD, SAME_NAME, SAME_NAME, SAME_NAME},
         {}},
        {"numbers of others",
         number_of_another,
         NULL,
         -1,
         4,
         straight,
         0,
         {ALL, ALL, ABORTED, ABORTED},
         {}},
        {"an order of its own",
         order_of_its_own,
         NULL,
         -1,
         4,
         straight,
         0,
         {REORDERED, REORDERED, REORDERED, REORDERED},
         {}},
        {"spawned by PMI",
         spawned,
         NULL,
         -1,
         4,
         straight,
         0,
         {NO_JOB, NO_JOB, NO_JOB, NO_JOB},
         {}},
        {"a job that was started again",
         restarted,
         NULL,
         -1,
         4,
         straight,
         0,
         {ABSENT, ABSENT, ABSENT, ABSENT},
         {0, 0, 0, 3}},
        {"MPI_Init() fails",
         by_pmi,
         NULL,
         MPI_FAILS,
         4,
         straight,
         0,
         {FAILED, FAILED, FAILED, FAILED},
         {}},
        {"a link in the place of the file",
         a_link_in_the_place,
         remove_place,
         -1,
         4,
         straight,
         0,
         {NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE},
         {}},
        {"a folder in its place",
         a_folder_in_the_place,
         remove_place,
         -1,
         4,
         straight,
         0,
         {NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE},
         {}},
        {"a pipe in its place",
         a_pipe_in_the_place,
         remove_place,
         -1,
         4,
         straight,
         0,
         {NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE},
         {}},
        {"a file for all users in its place",
         an_open_file_in_the_place,
         remove_place,
         -1,
         4,
         straight,
         0,
         {NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE},
         {}},
        {"a torn file in its place",
         a_torn_file_in_the_place,
         remove_place,
         -1,
         4,
         straight,
         0,
         {NO_PLACE, NO_PLACE, NO_PLACE, NO_PLACE},
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

#endif
