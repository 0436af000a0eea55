/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the name is made of must be the same for all ranks of a job, and only for them. The launcher
 * gives it to the ranks: PMIx has a name for the job, and one for its server; with the simpler PMI
 * it is the process at the other end of a connection; Slurm has numbers. Processes that PMI has
 * spawned have the same connection as those that have spawned them, so that they have no name.
 */
#include "job.h"
#include "weak_mpi.h"
#include "../ucs/hash.h"
#include "../uct/shm/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

/* A variable that is a number. @return -1 if it is not there, or no number. */
static int job_number(const char *name)
{
    const char *value = getenv(name);
    char *end;
    long number;

    if (value == NULL) {
        return -1;
    }
    number = strtol(value, &end, 10);
    return ((end == value) || (*end != '\0') || (number < 0) || (number > INT32_MAX)) ?
                   -1 :
                   (int)number;
}

/* @return A number of a text, which is not 0. */
static uint32_t job_hash(const char *text)
{
    uint64_t hash = ri_hash_text(text);

    return (uint32_t)(hash ^ (hash >> 32)) | 1;
}

/* @return Whether PMI says which job this is, and which rank of it. */
static int job_is_pmi(ri_job_t *job)
{
    struct ucred peer = {};
    socklen_t length  = sizeof(peer);
    int fd            = job_number("PMI_FD");
    uint64_t start;

    /* Launchers on two hosts have nothing in common that they tell */
    job->number = job_hash("pmi");
    job->rank   = job_number("PMI_RANK");
    if ((job->rank < 0) || (fd < 0) || (getenv("PMI_SPAWNED") != NULL) ||
        (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) ||
        (peer.pid <= 0)) {
        return 0;
    }
    start = ri_host_process_start((uint32_t)peer.pid);
    snprintf(job->name, sizeof(job->name), "pmi %d %llu of %d", (int)peer.pid,
             (unsigned long long)start, job_number("PMI_SIZE"));
    return start != 0;
}

/* The server of PMIx on this host: names of jobs are made of few bits, and may repeat. */
static const char *job_pmix_server(void)
{
    static const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
                                        "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                                        "PMIX_SERVER_URI2"};
    const char *value                = NULL;
    size_t i;

    for (i = 0; (i < sizeof(names) / sizeof(names[0])) && (value == NULL); ++i) {
        value = getenv(names[i]);
    }
    return (value == NULL) ? "" : value;
}

/* As job_is_pmi(), by PMIx. */
static int job_is_pmix(ri_job_t *job)
{
    const char *name = getenv("PMIX_NAMESPACE");

    job->rank = job_number("PMIX_RANK");
    if ((name == NULL) || (job->rank < 0)) {
        return 0;
    }
    job->number   = job_hash(name);
    job->is_named = 1;
    snprintf(job->name, sizeof(job->name), "pmix %s %s", name, job_pmix_server());
    return 1;
}

/* As job_is_pmi(), by Slurm's own numbers. */
static int job_is_slurm(ri_job_t *job)
{
    int id   = job_number("SLURM_JOB_ID");
    int step = job_number("SLURM_STEP_ID");

    job->rank = job_number("SLURM_PROCID");
    if ((job->rank < 0) || (id < 0) || (step < 0)) {
        return 0;
    }
    snprintf(job->name, sizeof(job->name), "slurm %d.%d %d", id, step,
             job_number("SLURM_RESTART_COUNT"));
    job->number   = job_hash(job->name);
    job->is_named = 1;
    return 1;
}

/* A job may run within another one, whose launcher has left its variables. */
int ri_job_find(ri_job_t *job)
{
#ifdef OPEN_MPI
    return job_is_pmix(job) || job_is_pmi(job) || job_is_slurm(job);
#else
    return job_is_pmi(job) || job_is_pmix(job) || job_is_slurm(job);
#endif
}
