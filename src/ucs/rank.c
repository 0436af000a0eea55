/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each launcher and batch system has variables of its own; the lists say which one counts first.
 */
#include "rank.h"
#include "base.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer ones are no ranks. */
#define RANK_DIGITS 9

/* Number of parents that are looked at. */
#define RANK_LEVELS 5

/* Of the place where mpiexec listens: all of it, and what is taken of its host. */
#define RANK_PLACE_MAX  256
#define RANK_HYDRA_HOST 40

/* The name of a job of hydra; "": there is none. */
static char rank_hydra[RANK_HYDRA_HOST + 16];

/* A Slurm job may run another launcher, which comes first. */
static const char *const rank_variables[]  = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                              "PMI_RANK", "SLURM_PROCID"};
static const char *const count_variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                              "SLURM_NTASKS"};

static const char *const local_rank_variables[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                                   "PMIX_LOCAL_RANK", "MPI_LOCALRANKID",
                                                   "SLURM_LOCALID"};

static const char *const local_variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                              "MPI_LOCALNRANKS"};

/* Slurm, PBS, LSF, Grid Engine, Flux, and Open MPI without any of them. Hydra alone sets none. */
static const char *const job_variables[] = {"SLURM_JOB_ID", "PBS_JOBID",
                                            "LSB_JOBID",    "JOB_ID",
                                            "FLUX_JOB_ID",  "PMIX_NAMESPACE"};

#define COUNT_OF(_array) (sizeof(_array) / sizeof((_array)[0]))

/* @return The first value that is a number, or NULL. */
static const char *rank_number(const char *const *names, size_t count)
{
    const char *value;
    size_t length, i;

    for (i = 0; i < count; ++i) {
        value  = getenv(names[i]);
        length = (value == NULL) ? 0 : strlen(value);
        if ((length > 0) && (length <= RANK_DIGITS) &&
            (strspn(value, "0123456789") == length)) {
            return value;
        }
    }
    return NULL;
}

const char *ri_rank_text(void)
{
    return rank_number(rank_variables, COUNT_OF(rank_variables));
}

long ri_rank_number(void)
{
    const char *rank = ri_rank_text();

    return (rank == NULL) ? -1 : atol(rank);
}

const char *ri_rank_count_text(void)
{
    return rank_number(count_variables, COUNT_OF(count_variables));
}

long ri_rank_local_count(void)
{
    const char *count = rank_number(local_variables, COUNT_OF(local_variables));

    return (count == NULL) ? -1 : atol(count);
}

/* The parent of a process, or 0. */
static pid_t rank_parent(pid_t pid)
{
    char path[64], line[256];
    FILE *stream;
    char *at;
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    stream = fopen(path, "re");
    if (stream == NULL) {
        return 0;
    }
    if (fgets(line, sizeof(line), stream) != NULL) {
        at = strrchr(line, ')'); /* the name may have blanks */
        if ((at == NULL) || (sscanf(at + 1, " %*c %d", &parent) != 1)) {
            parent = 0;
        }
    }
    fclose(stream);
    return parent;
}

/* Copy the argument behind @a option of a process. @return Whether there is one. */
static int rank_argument(pid_t pid, const char *option, char *value, size_t max)
{
    char path[64], text[4096];
    const char *at;
    size_t length;
    FILE *stream;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    stream = fopen(path, "re");
    if (stream == NULL) {
        return 0;
    }
    length       = fread(text, 1, sizeof(text) - 1, stream);
    text[length] = '\0';
    fclose(stream);
    for (at = text; at < text + length; at += strlen(at) + 1) {
        if (!strcmp(at, option) && (at + strlen(at) + 1 < text + length)) {
            snprintf(value, max, "%s", at + strlen(at) + 1);
            return 1;
        }
    }
    return 0;
}

/* Hydra starts a proxy on each host, and tells it where mpiexec listens: host:port, which no two
 * jobs that run have in common. Shells may stand between the proxy and this process. */
static void rank_look_for_hydra(void)
{
    char place[RANK_PLACE_MAX];
    pid_t pid = getppid();
    const char *port;
    int level;

    for (level = 0; (level < RANK_LEVELS) && (pid > 1); ++level) {
        if (rank_argument(pid, "--control-port", place, sizeof(place))) {
            port = strrchr(place, ':');
            if (port != NULL) {
                snprintf(rank_hydra, sizeof(rank_hydra), "%.*s-%.8s",
                         (int)ri_min(port - place, RANK_HYDRA_HOST), place, port + 1);
            }
            return;
        }
        pid = rank_parent(pid);
    }
}

/* The parents may be gone later. */
static int rank_job_of_hydra(char *job, size_t max)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (getenv("PMI_RANK") == NULL) {
        return 0;
    }
    pthread_once(&once, rank_look_for_hydra);
    snprintf(job, max, "%s", rank_hydra);
    return rank_hydra[0] != '\0';
}

int ri_rank_job(char *job, size_t max)
{
    const char *value = NULL;
    const char *step;
    size_t i;

    for (i = 0; (i < COUNT_OF(job_variables)) && ((value == NULL) || (*value == '\0'));
         ++i) {
        value = getenv(job_variables[i]);
    }
    if ((value != NULL) && (*value != '\0')) {
        /* Each srun of a job is a step of it */
        step = (i == 1) ? getenv("SLURM_STEP_ID") : NULL;
        snprintf(job, max, "%s%s%s", value, (step == NULL) ? "" : ".",
                 (step == NULL) ? "" : step);
    } else if (!rank_job_of_hydra(job, max)) {
        snprintf(job, max, "-");
        return 0;
    }

    /* The rank becomes a word, and a part of names of files. */
    for (i = 0; job[i] != '\0'; ++i) {
        if (strchr(" \t\r\n/", job[i]) != NULL) {
            job[i] = '_';
        }
    }
    return 1;
}

int ri_rank_is_first(void)
{
    return ri_rank_number() <= 0;
}

int ri_rank_is_first_of_host(void)
{
    const char *rank = rank_number(local_rank_variables, COUNT_OF(local_rank_variables));

    return (rank == NULL) ? ri_rank_is_first() : (atol(rank) == 0);
}

void ri_rank_host(char *host, size_t max)
{
    char name[256] = "?";

    gethostname(name, sizeof(name) - 1);
    name[strcspn(name, ". \t")] = '\0';
    snprintf(host, max, "%s", name);
}

void ri_rank_process(char *process, size_t max)
{
    char host[64];

    ri_rank_host(host, sizeof(host));
    snprintf(process, max, "%s:%d", host, (int)getpid());
}
