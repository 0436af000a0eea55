/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A process without UCP calls nothing of this library. So what it has loaded is looked at when it
 * exits, by names of files: an MPI may have been opened privately.
 */
#include "inert.h"
#include "../core/config.h"
#include "../core/switch.h"
#include "../../ucs/log.h"
#include "../../ucs/output.h"
#include "../../ucs/rank.h"

#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic(unsigned) inert_facts;
static pid_t inert_pid;

/* A child by fork() is another process, and was not loaded. */
__attribute__((constructor)) static void inert_start(void)
{
    inert_pid = getpid();
}

void ri_inert_note(ri_inert_fact_t fact)
{
    atomic_fetch_or_explicit(&inert_facts, fact, memory_order_relaxed);
}

static int inert_look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const struct {
        const char *name;
        unsigned facts;
    } libs[]         = {{"libucp.so", RI_INERT_HAS_UCP},
                        {"libmpi.so", RI_INERT_HAS_MPI},
                        {"libmpich", RI_INERT_HAS_MPI},
                        {"libopen-pal", RI_INERT_HAS_OPENMPI}};
    unsigned *facts  = arg;
    const char *name = basename(info->dlpi_name);
    size_t i;

    for (i = 0; i < sizeof(libs) / sizeof(libs[0]); ++i) {
        if (!strncmp(name, libs[i].name, strlen(libs[i].name))) {
            *facts |= libs[i].facts;
        }
    }
    return 0;
}

static void inert_explain_openmpi(char *text, unsigned long max)
{
    const char *pml = getenv("OMPI_MCA_pml");

    snprintf(text, max,
             "Open MPI sends by another component than pml ucx (OMPI_MCA_pml %s%s): set "
             "OMPI_MCA_pml=ucx, or mpirun --mca pml ucx",
             (pml == NULL) ? "is not set" : "is ", (pml == NULL) ? "" : pml);
}

static void inert_explain_switch(char *text, unsigned long max)
{
    const char *value = getenv(RI_SWITCH_VARIABLE);

    switch (ri_switch_read(value)) {
    case RI_SWITCH_UNSET:
        snprintf(text, max,
                 RI_SWITCH_VARIABLE " is not set: set " RI_SWITCH_VARIABLE
                                    "=" RI_SWITCH_VALUE);
        break;
    case RI_SWITCH_OTHER:
        snprintf(text, max,
                 RI_SWITCH_VARIABLE " is '%s': set " RI_SWITCH_VARIABLE
                                    "=" RI_SWITCH_VALUE,
                 value);
        break;
    default:
        snprintf(text, max,
                 "the program, or a variable of its own such as MPI_" RI_SWITCH_VARIABLE
                 ", has chosen another value than " RI_SWITCH_VARIABLE "=%s",
                 value);
    }
}

int ri_inert_explain(unsigned facts, char *text, unsigned long max)
{
    if (facts & RI_INERT_NOT_AT_ALL) {
        return 0;
    }
    if (facts & RI_INERT_NO_SWITCH) {
        inert_explain_switch(text, max);
    } else if ((facts & (RI_INERT_HAS_MPI | RI_INERT_HAS_OPENMPI)) ==
               (RI_INERT_HAS_MPI | RI_INERT_HAS_OPENMPI)) {
        inert_explain_openmpi(text, max);
    } else if (facts & RI_INERT_ONE_SIDED) {
        return 0;
    } else if (facts & RI_INERT_NO_WORKER) {
        snprintf(text, max, "the program made a context of UCX, but no worker");
    } else if (facts & RI_INERT_NO_TAGS) {
        snprintf(text, max,
                 "the program asked UCX neither for tag matching nor for one-sided "
                 "operations that the library may do");
    } else if (facts & RI_INERT_HAS_MPI) {
        snprintf(text, max, "the MPI of this program did not use UCX");
    } else if (facts & RI_INERT_HAS_UCP) {
        snprintf(text, max, "the program made no context of UCX");
    } else {
        return 0;
    }
    return 1;
}

/* The report's line has the first columns of the others, for ucxri_info -r. */
static void inert_report(const char *text)
{
    const char *rank = ri_rank_text();
    FILE *stream     = ri_output_open(ri_config.report_dest);
    char process[96];

    ri_rank_process(process, sizeof(process));
    fprintf(stream, "ucxri:inert %4s %-16s loaded, inert, because %s\n",
            (rank == NULL) ? "-" : rank, process, text);
    ri_output_close(stream);
}

void ri_inert_print(void)
{
    unsigned facts = atomic_load(&inert_facts);
    char text[512];

    if ((facts & RI_INERT_NOT_AT_ALL) || (inert_pid != getpid())) {
        return;
    }
    ri_config_read_output();
    if (!ri_config.report && (ri_log_level < RI_LOG_LEVEL_INFO)) {
        return;
    }
    dl_iterate_phdr(inert_look_at, &facts);
    if (!ri_inert_explain(facts, text, sizeof(text))) {
        return;
    }
    if (ri_config.report) {
        inert_report(text);
    } else {
        ri_info("loaded, inert, because %s", text);
    }
}
