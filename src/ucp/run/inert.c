/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A process without UCP calls nothing of this library. So what it has loaded is looked at when it
 * exits, by names of files: an MPI may have been opened privately.
 */
#include "inert.h"
#include "report_file.h"
#include "report_values.h"
#include "../core/settings/config.h"
#include "../core/settings/switch.h"
#include "../../ucs/log.h"
#include "../../ucs/output.h"

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

/* @return The variable that has decided about the switch. The one with Open MPI's prefix wins where
 * it is set; other programs may give UCX that prefix, too. */
static const char *inert_variable(unsigned facts)
{
    if ((getenv(RI_SWITCH_PREFIXED) != NULL) &&
        ((facts & RI_INERT_HAS_OPENMPI) || ri_switch_is_on(getenv(RI_SWITCH_VARIABLE)))) {
        return RI_SWITCH_PREFIXED;
    }
    return RI_SWITCH_VARIABLE;
}

/* Open MPI has not taken UCX: by what the user has set, or by itself. */
static void inert_explain_openmpi(char *because, char *remedy)
{
    static const char *const names[] = {"OMPI_MCA_pml", "OMPI_MCA_opal_common_ucx_tls",
                                        "OMPI_MCA_opal_common_ucx_devices"};
    static const char *const good[]  = {"ucx", "any", "any"};
    const char *value;
    size_t i;

    snprintf(because, RI_INERT_TEXT_MAX, "Open MPI sends by another pml than ucx");
    snprintf(remedy, RI_INERT_TEXT_MAX, "use ucxri_run, which sets what Open MPI needs");
    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        value = getenv(names[i]);
        if ((value != NULL) && strcmp(value, good[i])) {
            snprintf(remedy, RI_INERT_TEXT_MAX, "unset %s, and use ucxri_run", names[i]);
            return;
        }
    }
}

static void inert_explain_switch(unsigned facts, char *because, char *remedy)
{
    const char *name  = inert_variable(facts);
    const char *value = getenv(name);

    snprintf(remedy, RI_INERT_TEXT_MAX,
             "use ucxri_run, or set " RI_SWITCH_VARIABLE "=" RI_SWITCH_VALUE);
    if (ri_switch_is_on(value)) {
        snprintf(because, RI_INERT_TEXT_MAX, "the program has chosen another scheme");
        snprintf(remedy, RI_INERT_TEXT_MAX, "look for " RI_SWITCH_NAME " in the program");
        return;
    }
    if (value == NULL) {
        snprintf(because, RI_INERT_TEXT_MAX, "%s is not set", name);
        return;
    }
    snprintf(because, RI_INERT_TEXT_MAX, "%s%s is '%.64s'",
             (facts & RI_INERT_REFUSED) ? "UCX refuses it: " : "", name, value);
    if (!strcmp(name, RI_SWITCH_PREFIXED)) {
        snprintf(remedy, RI_INERT_TEXT_MAX, "use ucxri_run, or unset %s", name);
    }
}

/* Say what is wrong, and what to do. */
static void inert_say(char *because, char *remedy, const char *what, const char *advice)
{
    snprintf(because, RI_INERT_TEXT_MAX, "%s", what);
    snprintf(remedy, RI_INERT_TEXT_MAX, "%s", advice);
}

int ri_inert_explain(unsigned facts, char *because, char *remedy)
{
    if (facts & RI_INERT_NOT_AT_ALL) {
        return 0;
    }
    if ((facts & RI_INERT_NO_SWITCH) ||
        ((facts & RI_INERT_REFUSED) && !ri_switch_is_on(getenv(inert_variable(facts))))) {
        inert_explain_switch(facts, because, remedy);
    } else if ((facts & (RI_INERT_HAS_MPI | RI_INERT_HAS_OPENMPI)) ==
               (RI_INERT_HAS_MPI | RI_INERT_HAS_OPENMPI)) {
        inert_explain_openmpi(because, remedy);
    } else if (facts & RI_INERT_ONE_SIDED) {
        return 0;
    } else if (facts & RI_INERT_REFUSED) {
        inert_say(because, remedy, "UCX has refused its configuration",
                  "see what UCX has printed");
    } else if (facts & RI_INERT_NO_WORKER) {
        inert_say(because, remedy, "the program made no worker of UCX", "");
    } else if (facts & RI_INERT_NO_TAGS) {
        inert_say(because, remedy, "the program asked UCX for no messages",
                  "nothing: neither tag matching nor one-sided operations");
    } else if (facts & RI_INERT_HAS_MPI) {
        inert_say(because, remedy, "the MPI of this program did not use UCX",
                  "ucxri_run --check PROGRAM says whether it can");
    } else if (facts & RI_INERT_HAS_UCP) {
        inert_say(because, remedy, "the program made no context of UCX", "");
    } else {
        return 0;
    }
    return 1;
}

/* The report's lines have the first columns of the others, for ucxri_info -r. */
static void inert_report(const char *because, const char *remedy)
{
    FILE *stream = ri_output_open(ri_config.report_dest);
    char words[RI_INERT_TEXT_MAX + 32], lines[2 * RI_REPORT_LINE_MAX];
    ri_report_row_t row;
    size_t length;

    ri_report_values_label(&row);
    snprintf(words, sizeof(words), "loaded, inert, because %s", because);
    length = ri_report_table_format_note(RI_REPORT_INERT, &row, words, lines);
    if (*remedy != '\0') {
        snprintf(words, sizeof(words), "what to do: %s", remedy);
        ri_report_table_format_note(RI_REPORT_INERT, &row, words, lines + length);
    }
    fputs(lines, stream); /* in one piece */
    ri_output_close(stream);
}

void ri_inert_print(void)
{
    unsigned facts = atomic_load(&inert_facts);
    char because[RI_INERT_TEXT_MAX], remedy[RI_INERT_TEXT_MAX];

    if ((facts & RI_INERT_NOT_AT_ALL) || (inert_pid != getpid())) {
        return;
    }
    ri_config_read_output();
    if (!ri_config.report && (ri_log_level < RI_LOG_LEVEL_INFO)) {
        return;
    }
    dl_iterate_phdr(inert_look_at, &facts);
    if (!ri_inert_explain(facts, because, remedy)) {
        return;
    }
    if (ri_config.report_json != NULL) {
        ri_report_file_inert(because, remedy);
        return;
    }
    if (ri_config.report) {
        inert_report(because, remedy);
        return;
    }
    ri_info("loaded, inert, because %s", because);
    if (remedy[0] != '\0') {
        ri_info("what to do: %s", remedy);
    }
}
