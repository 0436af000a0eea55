/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A hint is advice: it says what can be done, or that nothing need be, and which section of the guide
 * says more.
 */
#include "ucxri_info_hints.h"

#include <stdio.h>
#include <string.h>

/* The first messages of a pair take other ways, so few messages give no hint. A time is in
 * microseconds, so it is never few. */
#define HINT_MIN 100

/* A hint that is given where a value is large, and larger than what it is compared with. */
typedef struct hint {
    uint64_t value; /* its share in value and rest is told */
    uint64_t rest;
    uint64_t limit; /* to be told, value must be above it */
    const char *text;
    const char *advice;
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
    uint64_t messages = ri_report_messages(&job->sum, 0) +
                        ri_report_messages(&job->sum, 1);

    if ((job->count <= job->hosts) || (job->missing > 0)) {
        return 0;
    }
    if (job->hosts == 1) {
        return messages == 0;
    }
    return (job->num_json == job->count) && (messages >= HINT_MIN) &&
           !hints_has_local_pair(job);
}

int info_hints(const info_job_t *job,
               void (*func)(const char *text, const char *advice, void *arg), void *arg)
{
    const uint64_t *v = job->sum.values;
    uint64_t longer   = ri_report_messages(&job->sum, 1);
    uint64_t calls  = v[RI_REPORT_SEND_US] + v[RI_REPORT_RECV_US] + v[RI_REPORT_WORK_US];
    int without_rtr = (v[RI_REPORT_RTR_USED] < v[RI_REPORT_COOP] / 100);
    uint64_t own    = v[RI_REPORT_RMA_MAPPED] + v[RI_REPORT_RMA_COPIED] +
                   v[RI_REPORT_RMA_MAILED] + v[RI_REPORT_RMA_CALLED];
    const hint_t hints[] = {
            {v[RI_REPORT_AM], v[RI_REPORT_RING], v[RI_REPORT_RING],
             "of the short messages did not go through rings",
             "normal between hosts; on one host: \"Reading the counters\""},
            {v[RI_REPORT_UCP], hints_others(longer, v[RI_REPORT_UCP]), longer / 2,
             "of the long messages were left to UCP",
             "no direct copies, or no RDMA: \"Direct copies\""},
            {v[RI_REPORT_LATE], v[RI_REPORT_FAST], v[RI_REPORT_FAST] / 2,
             "of the messages came before their receive was posted",
             "post receives earlier: \"What the report tells\""},
            {v[RI_REPORT_RTR_DROPPED], v[RI_REPORT_RTR_USED], v[RI_REPORT_RTR_USED],
             "of the RTRs were not used",
             "post receives earlier, or set UCXRI_RTR=n: \"What the report tells\""},
            {v[RI_REPORT_RTR_SUPPRESSED], v[RI_REPORT_RTR_SENT], v[RI_REPORT_RTR_SENT],
             "of the receives that could have sent an RTR did not, as it would not pay",
             "normal if the receiver only waits: \"What the report tells\""},
            {v[RI_REPORT_COOP], hints_others(longer, v[RI_REPORT_COOP]),
             without_rtr ? longer / 2 : UINT64_MAX,
             "of the long messages were copied by both sides, without an RTR",
             "the receivers wait; UCXRI_RTR=y UCXRI_COOP_THRESH=inf show RTRs: "
             "\"What the report tells\""},
            {v[RI_REPORT_RMA_STOCK], own, own,
             "of the one-sided operations were left to UCX",
             "another host, an adapter, or no direct copies: \"One-sided operations "
             "within a "
             "host\""},
            {v[RI_REPORT_IDLE_US],
             hints_others(v[RI_REPORT_LIFE_US], v[RI_REPORT_IDLE_US]),
             calls + v[RI_REPORT_LIFE_US] / 4,
             "of the time was spent waiting for messages",
             "the balance of the application: \"What the report tells\""}};
    char text[INFO_HINT_MAX];
    int count = 0;
    size_t i;

    for (i = 0; i < sizeof(hints) / sizeof(hints[0]); ++i) {
        if ((hints[i].value >= HINT_MIN) && (hints[i].value > hints[i].limit)) {
            snprintf(text, sizeof(text), "%d %% %s",
                     ri_report_permille(hints[i].value, hints[i].rest) / 10,
                     hints[i].text);
            func(text, hints[i].advice, arg);
            ++count;
        }
    }
    if (hints_is_without_local(job)) {
        func("no message between ranks of one host came to UCX",
             "an MPICH with shared memory of its own, for which set MPIR_CVAR_NOLOCAL=1: "
             "\"MPICH with shared memory\"",
             arg);
        ++count;
    }
    return count;
}
