/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A hint is advice: it says what can be done, or that nothing need be, and which section of the
 * guide says more.
 */
#include "ucxri_info_hints.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where no guide is installed. */
#define INFO_GUIDE_SOURCE "docs/user-guide.md in the source"

/* The first messages of a pair take other ways, so few messages give no hint. A time is in
 * microseconds, so it is never few. */
#define HINT_MIN 100

/* Of processes that lived shorter, in microseconds, the start is most of the time. */
#define HINT_LIFE_US 100000

/* A process waits much: more than this part of its time, and longer than others, times this. */
#define HINT_WAITED 0.2
#define HINT_TIMES  2.5

/* A hint that is given where a value is large, and larger than what it is compared with. */
typedef struct hint {
    uint64_t value; /* its share in value and rest is told */
    uint64_t rest;
    uint64_t limit; /* to be told, value must be above it */
    const char *text;
    const char *advice;
    int is_rare; /* one is enough; else there must be HINT_MIN */
} hint_t;

static uint64_t hints_others(uint64_t all, uint64_t part)
{
    return (all > part) ? all - part : 0;
}

/* @return Whether any process has sent to another one of its host, as far as its report tells. */
static int hints_has_local_pair(const info_job_t *job)
{
    const info_process_t *from;
    char here[80], there[80];
    size_t i, j, to;

    for (i = 0; i < job->count; ++i) {
        from = &job->processes[i];
        info_host(&from->row, here, sizeof(here));
        for (j = 0; j < from->num_pairs; ++j) {
            to = info_worker_find(job->workers, job->num_workers, from->pairs[j].uid,
                                  job->count);
            if ((to >= job->count) || (to == i)) {
                continue;
            }
            info_host(&job->processes[to].row, there, sizeof(there));
            if (!strcmp(here, there)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether several processes of a host have not sent anything to each other. Lines tell that of jobs
 * on one host only, and JSON of others, too. */
static int hints_is_without_local(const info_job_t *job)
{
    uint64_t messages = ri_report_table_messages(&job->sum, 0) +
                        ri_report_table_messages(&job->sum, 1);

    if ((job->count <= job->hosts) || (job->missing > 0)) {
        return 0;
    }
    if (job->hosts == 1) {
        return messages == 0;
    }
    return (job->num_json == job->count) && (messages >= HINT_MIN) &&
           !hints_has_local_pair(job);
}

/* @return The share of its time that a process waited. */
static double hints_waited(const info_process_t *process)
{
    double life = process->row.values[RI_REPORT_LIFE_US];

    return (life > 0) ? process->row.values[RI_REPORT_IDLE_US] / life : 0;
}

/* Tell of a rank how long it waited, and the others on average. */
static void hints_tell_waited(const info_job_t *job, size_t rank, const char *advice,
                              info_hint_func_t func, void *arg)
{
    char text[INFO_HINT_MAX], host[80];
    double others = 0;
    int has_rank;
    size_t i;

    for (i = 0; i < job->count; ++i) {
        others += (i == rank) ? 0 : hints_waited(&job->processes[i]);
    }
    info_host(&job->processes[rank].row, host, sizeof(host));
    has_rank = strcmp(job->processes[rank].row.rank, "-");
    snprintf(text, sizeof(text), "%s %s on %.24s waited %.0f %% of its time, %s %.0f %%",
             has_rank ? "rank" : "process",
             has_rank ? job->processes[rank].row.rank :
                        job->processes[rank].row.process + strlen(host) + 1,
             host, 100 * hints_waited(&job->processes[rank]),
             (job->count == 2) ? "the other one" : "the others",
             100 * others / (job->count - 1));
    func(text, advice, arg);
}

/* One process that waits much less than each other one, which wait because of it, or much more.
 * Shorter lives say nothing. @return How many of the two hints there were. */
static int hints_balance(const info_job_t *job, info_hint_func_t func, void *arg)
{
    size_t least = 0, most = 0;
    double low = INFINITY, high = 0; /* of all but the one that waits least, or most */
    double waited;
    size_t i;

    for (i = 0; i < job->count; ++i) {
        if (job->processes[i].row.values[RI_REPORT_LIFE_US] < HINT_LIFE_US) {
            return 0;
        }
        waited = hints_waited(&job->processes[i]);
        least  = (waited < hints_waited(&job->processes[least])) ? i : least;
        most   = (waited > hints_waited(&job->processes[most])) ? i : most;
    }
    if (job->count < 2) {
        return 0;
    }
    for (i = 0; i < job->count; ++i) {
        waited = hints_waited(&job->processes[i]);
        low    = (i != least) ? ri_min(low, waited) : low;
        high   = (i != most) ? ri_max(high, waited) : high;
    }
    if ((low > HINT_WAITED) &&
        (hints_waited(&job->processes[least]) < low / HINT_TIMES)) {
        hints_tell_waited(
                job, least,
                "it has more to do than those who wait for it, or a slower host", func,
                arg);
        return 1;
    }
    waited = hints_waited(&job->processes[most]);
    if ((waited > HINT_WAITED) && (high < waited / HINT_TIMES)) {
        hints_tell_waited(job, most,
                          "it has less to do, or its messages come late: \"What the "
                          "report tells\"",
                          func, arg);
        return 1;
    }
    return 0;
}

/* Tell those hints that apply. @return How many. */
static int hints_tell(const hint_t *hints, size_t num_hints, info_hint_func_t func,
                      void *arg)
{
    char text[INFO_HINT_MAX];
    int count = 0;
    size_t i;

    for (i = 0; i < num_hints; ++i) {
        if ((hints[i].is_rare || (hints[i].value >= HINT_MIN)) &&
            (hints[i].value > hints[i].limit)) {
            snprintf(text, sizeof(text), "%d %% %s",
                     (ri_report_table_permille(hints[i].value, hints[i].rest) + 5) / 10,
                     hints[i].text);
            func(text, hints[i].advice, arg);
            ++count;
        }
    }
    return count;
}

/* Tell if no message between ranks of one host came. @return How many hints were told. */
static int hints_tell_without_local(const info_job_t *job, info_hint_func_t func,
                                    void *arg)
{
    if (!hints_is_without_local(job)) {
        return 0;
    }
    func("no message between ranks of one host came to UCX",
         "none was sent, or the MPI has shared memory of its own (ucxri_run --check "
         "tells), "
         "for which set MPIR_CVAR_NOLOCAL=1: \"MPICH with shared memory\"",
         arg);
    return 1;
}

int info_hints(const info_job_t *job, info_hint_func_t func, void *arg)
{
    const uint64_t *v = job->sum.values;
    uint64_t longer   = ri_report_table_messages(&job->sum, 1);
    uint64_t calls = v[RI_REPORT_SEND_US] + v[RI_REPORT_RECV_US] + v[RI_REPORT_WORK_US];
    /* most are copied by both sides, and few of them by an RTR */
    int is_coop = (v[RI_REPORT_COOP] > longer / 2) &&
                  (v[RI_REPORT_RTR_USED] < v[RI_REPORT_COOP] / 10);
    int balance  = hints_balance(job, func, arg); /* a cause comes before what follows */
    uint64_t own = v[RI_REPORT_RMA_MAPPED] + v[RI_REPORT_RMA_COPIED] +
                   v[RI_REPORT_RMA_MAILED] + v[RI_REPORT_RMA_CALLED];
    const hint_t hints[] = {
            {v[RI_REPORT_AM], v[RI_REPORT_RING], v[RI_REPORT_RING],
             "of the short messages did not go through rings",
             "normal between hosts; on one host: \"Reading the counters\"", 0},
            {v[RI_REPORT_UCP], hints_others(longer, v[RI_REPORT_UCP]), longer / 2,
             "of the long messages were left to UCP",
             "no direct copies, no RDMA, or sent before the pair was set up: \"Direct "
             "copies\"",
             0},
            {v[RI_REPORT_LATE], v[RI_REPORT_FAST], v[RI_REPORT_FAST] / 2,
             "of the messages came before their receive was posted",
             "post receives earlier: \"What the report tells\"", 0},
            {v[RI_REPORT_RTR_DROPPED], v[RI_REPORT_RTR_USED], v[RI_REPORT_RTR_USED],
             "of the RTRs were not used",
             "post receives earlier, or set UCXRI_RTR=n: \"What the report tells\"", 0},
            {v[RI_REPORT_RTR_SUPPRESSED], v[RI_REPORT_RTR_SENT],
             is_coop ? UINT64_MAX : v[RI_REPORT_RTR_SENT],
             "of the receives of long messages sent no RTR, as it would not pay",
             "normal if the receiver only waits: \"What the report tells\"", 0},
            {v[RI_REPORT_COOP], hints_others(longer, v[RI_REPORT_COOP]),
             is_coop ? longer / 2 : UINT64_MAX,
             "of the long messages were copied by both sides, few with an RTR",
             "the receivers wait in the library; UCXRI_RTR=y UCXRI_COOP_THRESH=inf show "
             "RTRs: "
             "\"What the report tells\"",
             0},
            {v[RI_REPORT_RMA_STOCK], own, own,
             "of the one-sided operations were left to UCX",
             "another host, an adapter, or no direct copies: \"One-sided operations "
             "within a "
             "host\"",
             0},
            {v[RI_REPORT_IDLE_US],
             hints_others(v[RI_REPORT_LIFE_US], v[RI_REPORT_IDLE_US]),
             (balance > 0) ? UINT64_MAX : calls + v[RI_REPORT_LIFE_US] / 4,
             "of the time was spent waiting for messages",
             "the balance of the application: \"What the report tells\"", 0},
            {v[RI_REPORT_WINDOWS_LEFT], v[RI_REPORT_WINDOWS], 0,
             "of the windows of MPI were left to the MPI",
             "normal between hosts; UCXRI_LOG_LEVEL=info says why: \"Windows of MPI\"",
             1}};
    int count = balance + hints_tell(hints, sizeof(hints) / sizeof(hints[0]), func, arg);

    return count + hints_tell_without_local(job, func, arg);
}

const char *info_guide(void)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *name;
    int folder;

    if (access(INFO_GUIDE, R_OK) == 0) {
        return INFO_GUIDE;
    }
    path[(length < 0) ? 0 : length] = '\0';
    for (folder = 0; folder < 2; ++folder) {
        name = strrchr(path, '/');
        if (name == NULL) {
            return INFO_GUIDE_SOURCE;
        }
        *name = '\0';
    }
    length = strlen(path);
    snprintf(path + length, sizeof(path) - length, "/share/doc/ucxri/docs/user-guide.md");
    return (access(path, R_OK) == 0) ? path : INFO_GUIDE_SOURCE;
}
