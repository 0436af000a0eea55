/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer ones are no ranks. */
#define RANK_DIGITS 9

/* A Slurm job may run another launcher, which comes first. */
static const char *const rank_variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                             "PMI_RANK", "SLURM_PROCID"};

const char *ri_rank_text(void)
{
    const char *rank;
    size_t length, i;

    for (i = 0; i < sizeof(rank_variables) / sizeof(rank_variables[0]); ++i) {
        rank   = getenv(rank_variables[i]);
        length = (rank == NULL) ? 0 : strlen(rank);
        if ((length > 0) && (length <= RANK_DIGITS) &&
            (strspn(rank, "0123456789") == length)) {
            return rank;
        }
    }
    return NULL;
}

int ri_rank_is_first(void)
{
    const char *rank = ri_rank_text();

    return (rank == NULL) || (atol(rank) == 0);
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
