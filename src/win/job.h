/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which job this process is of, and which rank, as the launcher has told it before MPI_Init().
 */
#ifndef RI_WIN_JOB_H
#define RI_WIN_JOB_H

#include <stdint.h>

typedef struct ri_job {
    int rank; /* below 0: the launcher has told none */
    char name
            [512]; /* of the job, the same for all its ranks on this host, and for no others */
    uint32_t number; /* of the job, the same on all hosts */
    int is_named;    /* the number is of no other job */
} ri_job_t;

/** Find out which job this is. A process starts with a job of zeros. @return Whether the launcher
 * has given it a name. */
int ri_job_find(ri_job_t *job);

#endif
