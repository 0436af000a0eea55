/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares of protocols are told by size, the largest first, and those that would be 0.0 % are left
 * out.
 */
#include "ucxri_info_verdict.h"
#include "ucxri_wrap.h"
#include "ucs/time_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VERDICT_MAX 160

typedef struct verdict_text {
    char text[VERDICT_MAX];
    size_t length;
} verdict_text_t;

static void verdict_add(verdict_text_t *verdict, const char *before, const char *name,
                        double share)
{
    int length = snprintf(verdict->text + verdict->length,
                          sizeof(verdict->text) - verdict->length, "%s%s %.1f %%", before,
                          name, 100 * share);

    verdict->length = ri_min(verdict->length + length, sizeof(verdict->text) - 1);
}

/* The traffic of a protocol, in messages or in bytes, without what stayed in the process. */
static uint64_t verdict_protocol(const info_job_t *job, unsigned protocol, int is_bytes)
{
    ri_report_count_t count = ri_report_table_protocol_count(job->sum.values, protocol);

    return is_bytes ? count.bytes : count.messages;
}

static void verdict_protocols(const info_job_t *job, int is_bytes,
                              verdict_text_t *verdict)
{
    uint64_t sum  = 0, value, most;
    unsigned told = 0, protocol, next;
    char count[32];

    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        sum += verdict_protocol(job, protocol, is_bytes);
    }
    if (is_bytes) {
        ri_report_table_format_bytes(sum, count, sizeof(count));
    } else {
        ri_report_table_format_count(sum, count, sizeof(count));
    }
    verdict->length = snprintf(verdict->text, sizeof(verdict->text), "%s", count);
    for (;;) {
        most = 0;
        next = 0;
        for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
            value = verdict_protocol(job, protocol, is_bytes);
            if (!(told & (1u << protocol)) && (value > most)) {
                most = value;
                next = protocol;
            }
        }
        if ((most == 0) || (most < 0.0005 * sum)) {
            return;
        }
        verdict_add(verdict, (told == 0) ? "; " : ", ",
                    ri_report_table_protocol_name(next), (double)most / sum);
        told |= 1u << next;
    }
}

static void verdict_time(const info_job_t *job, verdict_text_t *verdict)
{
    const uint64_t *values = job->sum.values;
    double life            = ri_max(values[RI_REPORT_LIFE_US], 1);
    double calls           = (values[RI_REPORT_SEND_US] + values[RI_REPORT_RECV_US] +
                    values[RI_REPORT_WORK_US]) /
                   life;
    double waits = values[RI_REPORT_IDLE_US] / life;
    char text[32];

    ri_time_text(life, text, sizeof(text));
    verdict->length = snprintf(verdict->text, sizeof(verdict->text), "%s in all", text);
    verdict_add(verdict, "; ", "waiting", waits);
    verdict_add(verdict, ", ", "messages", calls);
    verdict_add(verdict, ", ", "the program and all else",
                ri_max(1 - waits - calls, 0.0));
}

void info_verdict_foreach(const info_job_t *job,
                          void (*func)(const char *name, const char *text, void *arg),
                          void *arg)
{
    verdict_text_t verdict;

    if (ri_report_table_messages(&job->sum, 0) == 0) {
        func("messages", "none", arg);
        return;
    }
    verdict_protocols(job, 0, &verdict);
    func("messages", verdict.text, arg);
    verdict_protocols(job, 1, &verdict);
    func("bytes", verdict.text, arg);
    verdict_time(job, &verdict);
    func("time", verdict.text, arg);
}

static void verdict_print_line(const char *name, const char *text, void *arg)
{
    wrap_printf(stdout, "", "%-9s %s", name, text);
}

void info_verdict_print(const info_job_t *job)
{
    info_verdict_foreach(job, verdict_print_line, NULL);
}
