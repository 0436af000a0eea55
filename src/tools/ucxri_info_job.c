/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes are few enough to be looked for one by one, from the latest.
 */
#include "ucxri_info_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *info_grow(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (memory == NULL) {
        fprintf(stderr, "ucxri_info: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

void info_host(const ri_report_row_t *row, char *host, size_t max)
{
    const char *end = strrchr(row->process, ':');

    snprintf(host, max, "%.*s",
             (end == NULL) ? (int)strlen(row->process) : (int)(end - row->process),
             row->process);
}

info_process_t *info_find(info_t *info, const char *rank, const char *process)
{
    info_process_t *found;
    size_t i;

    /* From the end: what is known of a process mostly comes in one piece. */
    for (i = info->count; i-- > 0;) {
        found = &info->processes[i];
        if (!strcmp(found->row.process, process) && !strcmp(found->row.rank, rank)) {
            return found;
        }
    }
    if ((info->count & (info->count - 1)) == 0) { /* full: powers of two */
        info->processes = info_grow(info->processes, (info->count ? 2 * info->count : 1) *
                                                             sizeof(*info->processes));
    }
    found  = &info->processes[info->count++];
    *found = (info_process_t){0};
    snprintf(found->row.rank, sizeof(found->row.rank), "%s", rank);
    snprintf(found->row.process, sizeof(found->row.process), "%s", process);
    strcpy(found->row.job, "-");
    strcpy(found->row.ranks, "-");
    return found;
}

void info_process_free(info_process_t *process)
{
    free(process->workers);
    free(process->settings);
    free(process->pairs);
}

void info_add(info_t *info, info_process_t *process)
{
    info_process_t *known = info_find(info, process->row.rank, process->row.process);

    if (known->is_json && (known->written > process->written)) {
        info_process_free(process);
        return;
    }
    info_process_free(known);
    *known = *process;
}

static int worker_compare(const void *a, const void *b)
{
    const info_worker_t *left = a, *right = b;

    return (left->uid > right->uid) - (left->uid < right->uid);
}

size_t info_workers(const info_process_t *processes, size_t count,
                    info_worker_t **workers)
{
    info_worker_t *list;
    size_t number = 0;
    size_t i, j;

    for (i = 0; i < count; ++i) {
        number += processes[i].num_workers;
    }
    list   = info_grow(NULL, (number + 1) * sizeof(*list));
    number = 0;
    for (i = 0; i < count; ++i) {
        for (j = 0; j < processes[i].num_workers; ++j) {
            list[number++] = (info_worker_t){processes[i].workers[j], i};
        }
    }
    qsort(list, number, sizeof(*list), worker_compare);
    *workers = list;
    return number;
}

size_t info_worker_find(const info_worker_t *workers, size_t count, uint64_t uid,
                        size_t none)
{
    const info_worker_t key = {.uid = uid};
    const info_worker_t *found;

    found = bsearch(&key, workers, count, sizeof(*workers), worker_compare);
    return (found != NULL) ? found->process : none;
}

void info_free(info_t *info)
{
    size_t i;

    for (i = 0; i < info->count; ++i) {
        info_process_free(&info->processes[i]);
    }
    for (i = 0; i < info->num_jobs; ++i) {
        free(info->jobs[i].workers);
    }
    free(info->processes);
    free(info->jobs);
}
