/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Of many sizes each line has two powers of two, or a page would not hold them.
 */
#include "ucxri_info_traffic.h"
#include "ucs/size_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* More lines are folded. */
#define SIZES_LINES 14

/* Number of pairs that are printed. */
#define PAIRS_LINES 5

typedef struct sizes {
    uint64_t messages[RI_REPORT_PROTOCOLS][RI_SIZES_CLASSES];
    uint64_t of_protocol[RI_REPORT_PROTOCOLS];
    uint64_t of_class[RI_SIZES_CLASSES];
} sizes_t;

static void sizes_sum(const info_job_t *job, sizes_t *sum)
{
    unsigned protocol, size_class;

    *sum = (sizes_t){0};
    memcpy(sum->messages, job->sizes, sizeof(sum->messages));
    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        for (size_class = 0; size_class < RI_SIZES_CLASSES; ++size_class) {
            sum->of_protocol[protocol] += job->sizes[protocol][size_class];
            sum->of_class[size_class] += job->sizes[protocol][size_class];
        }
    }
}

/* Add odd classes to the even ones above them, if there are too many lines. */
static void sizes_fold(sizes_t *sum)
{
    unsigned lines = 0;
    unsigned protocol, size_class;

    for (size_class = 0; size_class < RI_SIZES_CLASSES; ++size_class) {
        lines += (sum->of_class[size_class] != 0);
    }
    if (lines <= SIZES_LINES) {
        return;
    }
    for (size_class = 1; size_class + 1 < RI_SIZES_CLASSES; size_class += 2) {
        for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
            sum->messages[protocol][size_class + 1] +=
                    sum->messages[protocol][size_class];
        }
        sum->of_class[size_class + 1] += sum->of_class[size_class];
        sum->of_class[size_class] = 0;
    }
}

void info_sizes_print(const info_job_t *job)
{
    unsigned protocol, size_class;
    int any = 0;
    char text[24];
    sizes_t sum;

    sizes_sum(job, &sum);
    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        any |= (sum.of_protocol[protocol] != 0);
    }
    if (!any) {
        return;
    }
    sizes_fold(&sum);
    printf("\nMessages of up to");
    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        if (sum.of_protocol[protocol] != 0) {
            printf(" %7s", ri_report_table_protocol_name(protocol));
        }
    }
    printf("\n");
    for (size_class = 0; size_class < RI_SIZES_CLASSES; ++size_class) {
        if (sum.of_class[size_class] == 0) {
            continue;
        }
        ri_size_text(ri_sizes_bound(size_class), text, sizeof(text));
        printf("%17s", text);
        for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
            if (sum.of_protocol[protocol] != 0) {
                ri_report_table_format_count(sum.messages[protocol][size_class], text,
                                             sizeof(text));
                printf(" %7s", (sum.messages[protocol][size_class] == 0) ? "-" : text);
            }
        }
        printf("\n");
    }
}

/* A pair of ranks, with what went from one to the other by all protocols. */
typedef struct most {
    const info_process_t *from;
    const info_process_t *to; /* NULL: it is not known */
    uint64_t messages, bytes;
} most_t;

/* Keep the largest ones, in order. */
static void pairs_keep(most_t *list, most_t pair)
{
    most_t other;
    unsigned i;

    for (i = 0; i < PAIRS_LINES; ++i) {
        if (pair.bytes > list[i].bytes) {
            other   = list[i];
            list[i] = pair;
            pair    = other;
        }
    }
}

static void pairs_find(const info_job_t *job, most_t *list)
{
    const info_process_t *from;
    unsigned protocol;
    size_t i, j, to;

    for (i = 0; i < job->count; ++i) {
        from = &job->processes[i];
        for (j = 0; j < from->num_pairs; ++j) {
            most_t pair = {.from = from};

            to      = info_worker_find(job->workers, job->num_workers, from->pairs[j].uid,
                                       job->count);
            pair.to = (to < job->count) ? &job->processes[to] : NULL;
            for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
                pair.messages += from->pairs[j].counts[protocol].messages;
                pair.bytes += from->pairs[j].counts[protocol].bytes;
            }
            pairs_keep(list, pair);
        }
    }
}

void info_pairs_print(const info_job_t *job)
{
    most_t list[PAIRS_LINES] = {{0}};
    char bytes[24], messages[24];
    unsigned i;

    pairs_find(job, list);
    if (list[0].from == NULL) {
        return;
    }
    printf("\nMost was sent        bytes messages\n");
    for (i = 0; (i < PAIRS_LINES) && (list[i].from != NULL); ++i) {
        ri_report_table_format_bytes(list[i].bytes, bytes, sizeof(bytes));
        ri_report_table_format_count(list[i].messages, messages, sizeof(messages));
        printf("%7s -> %-7s %8s %8s\n", list[i].from->row.rank,
               (list[i].to == NULL) ? "?" : list[i].to->row.rank, bytes, messages);
    }
}
