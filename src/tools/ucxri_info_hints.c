/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ucxri_info_hints.h"

#include <stdio.h>

/* The first messages of a pair take other ways, so few messages give no hint. A time is in
 * microseconds, so it is never few. */
#define HINT_MIN 100

/* A hint that is given where a value is large, and larger than what it is compared with. */
typedef struct hint {
    uint64_t value; /* its share in value and rest is told */
    uint64_t rest;
    uint64_t limit; /* to be told, value must be above it */
    const char *text;
} hint_t;

static uint64_t hints_others(uint64_t all, uint64_t part)
{
    return (all > part) ? all - part : 0;
}

int info_hints(const info_job_t *job, void (*func)(const char *text, void *arg),
               void *arg)
{
    const uint64_t *v = job->sum.values;
    uint64_t longer   = ri_report_messages(&job->sum, 1);
    uint64_t calls = v[RI_REPORT_SEND_US] + v[RI_REPORT_RECV_US] + v[RI_REPORT_WORK_US];
    const hint_t hints[] = {
            {v[RI_REPORT_AM], v[RI_REPORT_RING], v[RI_REPORT_RING],
             "of the short messages did not go through rings"},
            {v[RI_REPORT_UCP], hints_others(longer, v[RI_REPORT_UCP]), longer / 2,
             "of the long messages were left to UCP"},
            {v[RI_REPORT_LATE], v[RI_REPORT_FAST], v[RI_REPORT_FAST] / 2,
             "of the messages came before their receive was posted"},
            {v[RI_REPORT_RTR_DROPPED], v[RI_REPORT_RTR_USED], v[RI_REPORT_RTR_USED],
             "of the RTRs were not used"},
            {v[RI_REPORT_RTR_SUPPRESSED], v[RI_REPORT_RTR_SENT], v[RI_REPORT_RTR_SENT],
             "of the receives that could have sent an RTR did not, as it would not pay"},
            {v[RI_REPORT_IDLE_US],
             hints_others(v[RI_REPORT_LIFE_US], v[RI_REPORT_IDLE_US]),
             calls + v[RI_REPORT_LIFE_US] / 4,
             "of the time was spent waiting for messages"}};
    char text[INFO_HINT_MAX];
    int count = 0;
    size_t i;

    for (i = 0; i < sizeof(hints) / sizeof(hints[0]); ++i) {
        if ((hints[i].value >= HINT_MIN) && (hints[i].value > hints[i].limit)) {
            snprintf(text, sizeof(text), "%d %% %s",
                     ri_report_permille(hints[i].value, hints[i].rest) / 10,
                     hints[i].text);
            func(text, arg);
            ++count;
        }
    }
    return count;
}
