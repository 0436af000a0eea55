/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Files are read one at a time, as those of a large job would not fit the memory together.
 */
#include "ucxri_info_timeline_job.h"
#include "ucs/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How many of the ranks that are missing are named. */
#define JOB_MISSING 8

/* Whether a file begins with a text. */
static int job_begins_with(const char *path, const char *text)
{
    char head[64] = "";
    size_t length = strlen(text);
    FILE *stream  = fopen(path, "re");
    size_t count  = 0;

    if (stream != NULL) {
        count = fread(head, 1, ri_min(length, sizeof(head)), stream);
        fclose(stream);
    }
    return (count == length) && !memcmp(head, text, length);
}

int timeline_job_is_file(const char *path)
{
    struct stat st;

    /* What comes through a pipe can be read once only */
    return (stat(path, &st) == 0) && S_ISREG(st.st_mode) &&
           job_begins_with(path, RI_TIMELINE_MAGIC);
}

const char *timeline_job_would_lose(const char *out, const char *head, char **paths,
                                    int count)
{
    struct stat to, from;
    int i;

    if ((stat(out, &to) != 0) || !S_ISREG(to.st_mode)) {
        return NULL;
    }
    for (i = 0; i < count; ++i) {
        if ((stat(paths[i], &from) == 0) && (from.st_dev == to.st_dev) &&
            (from.st_ino == to.st_ino)) {
            return "it is one of the files to read: name another one to write";
        }
    }
    return ((to.st_size == 0) || job_begins_with(out, head)) ?
                   NULL :
                   "it is there, and was not made by this option: name another file to write";
}

int timeline_job_fail(const char *path, const char *why)
{
    fprintf(stderr, "ucxri_info: %s: %s\n", path, why);
    return 0;
}

/* Ranks by number, and what has none behind them, by process id. */
static long job_number(const timeline_process_t *process)
{
    char *end;
    long rank = strtol(process->head.rank, &end, 10);

    return ((end == process->head.rank) || (*end != '\0') || (rank < 0)) ?
                   (1l << 31) + process->head.pid :
                   rank;
}

static int job_compare(const void *a, const void *b)
{
    long left = job_number(a), right = job_number(b);

    return (left > right) - (left < right);
}

static int job_compare_owners(const void *a, const void *b)
{
    const timeline_owner_t *left = a, *right = b;

    return (left->uid > right->uid) - (left->uid < right->uid);
}

const timeline_process_t *timeline_job_owner(const timeline_job_t *job, uint64_t uid)
{
    const timeline_owner_t wanted = {.uid = uid};
    const timeline_owner_t *found = bsearch(&wanted, job->owners, job->num_owners,
                                            sizeof(wanted), job_compare_owners);

    return (found != NULL) ? &job->processes[found->process] : NULL;
}

/* Keep of a file which process it is of. */
static int job_know(timeline_job_t *job, unsigned index, const timeline_file_t *file)
{
    timeline_process_t *process = &job->processes[index];
    timeline_owner_t *owners;
    unsigned i;

    process->head  = file->head;
    process->first = file->first;
    process->last  = file->last;
    process->real  = file->real;
    owners         = realloc(job->owners,
                             (job->num_owners + file->num_workers) * sizeof(*owners));
    if (owners == NULL) {
        return 0;
    }
    job->owners = owners;
    for (i = 0; i < file->num_workers; ++i) {
        owners[job->num_owners++] = (timeline_owner_t){file->uids[i], index};
    }
    return 1;
}

static int job_know_all(timeline_job_t *job, char **paths, int count)
{
    timeline_file_t file;
    const char *fault;
    int all_read = 1;
    int i;

    for (i = 0; i < count; ++i) {
        fault                           = timeline_file_read(paths[i], &file);
        job->processes[job->count].path = paths[i];
        if ((fault == NULL) && !job_know(job, job->count, &file)) {
            fault = "out of memory";
        }
        if (fault != NULL) {
            all_read = timeline_job_fail(paths[i], fault);
        } else {
            if (file.ended) {
                fprintf(stderr,
                        "ucxri_info: %s: it is as long as UCXRI_TRACE_LIMIT "
                        "allowed, and ends before the process did\n",
                        paths[i]);
            }
            ++job->count;
        }
        timeline_file_cleanup(&file);
    }
    return all_read;
}

/* A job is one: what belongs to another one would be drawn as if it had run at the same time. */
static int job_check_name(const timeline_job_t *job)
{
    unsigned i;

    for (i = 1; i < job->count; ++i) {
        if (strcmp(job->processes[i].head.job, job->processes[0].head.job)) {
            fprintf(stderr,
                    "ucxri_info: %s is of job %s, and %s of job %s: one timeline is of one job\n",
                    job->processes[0].path, job->processes[0].head.job,
                    job->processes[i].path, job->processes[i].head.job);
            return 0;
        }
    }
    return 1;
}

/* Check that all files are of one run: where the launcher gives jobs no names, those that an
 * earlier run has left have the same name. A process that ran at another time is drawn all the
 * same: it may have been started late. */
static int job_check_runs(const timeline_job_t *job)
{
    const timeline_process_t *first = &job->processes[0];
    unsigned i;

    for (i = 1; i < job->count; ++i) {
        const timeline_process_t *process = &job->processes[i];

        if (strcmp(process->head.rank, "-") &&
            !strcmp(process->head.rank, process[-1].head.rank)) {
            fprintf(stderr,
                    "ucxri_info: %s and %s are both of rank %s: one of them is of another run\n",
                    process[-1].path, process->path, process->head.rank);
            return 0;
        }
        if ((process->clock == first->clock) &&
            ((process->first > first->last) || (process->last < first->first))) {
            fprintf(stderr,
                    "ucxri_info: %s ended before %s began: perhaps it is of another run\n",
                    (process->first > first->last) ? first->path : process->path,
                    (process->first > first->last) ? process->path : first->path);
        }
    }
    return 1;
}

/* Say which ranks have no file here. The picture lacks them. */
static void job_tell_missing(const timeline_job_t *job)
{
    const long ranks = strtol(job->processes[0].head.ranks, NULL, 10);
    long missing     = ranks - (long)job->count;
    unsigned at      = 0;
    long rank;

    if ((missing <= 0) || !strcmp(job->processes[0].head.rank, "-")) {
        return;
    }
    fprintf(stderr,
            "ucxri_info: %ld of the %ld ranks of the job %s no file here:", missing,
            ranks, (missing == 1) ? "has" : "have");
    for (rank = 0; (rank < ranks) && (missing > ranks - (long)job->count - JOB_MISSING);
         ++rank) {
        if ((at < job->count) && (job_number(&job->processes[at]) == rank)) {
            ++at;
        } else {
            fprintf(stderr, " %ld", rank);
            --missing;
        }
    }
    fprintf(stderr, "%s\n", (missing > 0) ? " ..." : "");
}

/* Which process a worker belongs to is known by index, and ranks are sorted: owners last. */
static int job_sort(timeline_job_t *job)
{
    unsigned *place = malloc((job->count + 1) * sizeof(*place));
    size_t k;
    unsigned i;

    if (place == NULL) {
        return 0;
    }
    for (i = 0; i < job->count; ++i) {
        job->processes[i].order = i;
    }
    qsort(job->processes, job->count, sizeof(*job->processes), job_compare);
    for (i = 0; i < job->count; ++i) {
        place[job->processes[i].order] = i;
        job->processes[i].order        = i;
    }
    for (k = 0; k < job->num_owners; ++k) {
        job->owners[k].process = place[job->owners[k].process];
    }
    qsort(job->owners, job->num_owners, sizeof(*job->owners), job_compare_owners);
    free(place);
    return 1;
}

/* Where messages go between hosts, when. */
typedef struct job_mark_arg {
    timeline_job_t *job;
    const timeline_file_t *file;
    unsigned clock;
    int is_good;
} job_mark_arg_t;

/* @return Whether a worker is of another clock than that of the file. */
static int job_is_elsewhere(const job_mark_arg_t *mark, uint64_t uid)
{
    const timeline_process_t *owner = timeline_job_owner(mark->job, uid);

    return (owner != NULL) && (owner->clock != (int)mark->clock);
}

static void job_mark_entry(unsigned worker, const ri_timeline_entry_t *entry, void *arg)
{
    job_mark_arg_t *mark      = arg;
    timeline_clocks_t *clocks = &mark->job->clocks;
    uint64_t now              = timeline_file_time(mark->file, entry->ticks);

    if ((timeline_file_entry_event(entry) == RI_TIMELINE_SEND_BY) &&
        job_is_elsewhere(mark, entry->arg[3])) {
        mark->is_good &= timeline_clock_sent(
                clocks, mark->clock, mark->file->uids[worker], entry->arg[0], now);
    } else if ((timeline_file_entry_event(entry) == RI_TIMELINE_RECV) &&
               job_is_elsewhere(mark, entry->arg[1])) {
        mark->is_good &= timeline_clock_received(clocks, mark->clock, entry->arg[1],
                                                 entry->arg[2], now);
    }
}

static int job_align(timeline_job_t *job)
{
    job_mark_arg_t mark = {.job = job, .is_good = 1};
    timeline_file_t file;
    const char *fault;
    unsigned i;

    for (i = 0; i < job->count; ++i) {
        timeline_process_t *process = &job->processes[i];

        process->clock = timeline_clock_add(&job->clocks, process->head.clock,
                                            process->real);
        if (process->clock < 0) {
            return 0;
        }
    }
    for (i = 0; (job->clocks.count > 1) && (i < job->count); ++i) {
        fault = timeline_file_read(job->processes[i].path, &file);
        if (fault != NULL) {
            timeline_job_fail(job->processes[i].path, fault);
            timeline_file_cleanup(&file);
            return 0;
        }
        mark.file  = &file;
        mark.clock = job->processes[i].clock;
        timeline_file_foreach(&file, job_mark_entry, &mark);
        timeline_file_cleanup(&file);
    }
    if (!mark.is_good || !timeline_clock_align(&job->clocks)) {
        return 0;
    }
    job->start = INT64_MAX;
    job->end   = INT64_MIN;
    for (i = 0; i < job->count; ++i) {
        int64_t first = (int64_t)job->processes[i].first +
                        job->clocks.list[job->processes[i].clock].offset;
        int64_t last = (int64_t)job->processes[i].last +
                       job->clocks.list[job->processes[i].clock].offset;

        job->start = (first < job->start) ? first : job->start;
        job->end   = (last > job->end) ? last : job->end;
    }
    return 1;
}

int timeline_job_read(timeline_job_t *job, char **paths, int count)
{
    int all_read;

    memset(job, 0, sizeof(*job));
    job->processes = calloc(count + 1, sizeof(*job->processes));
    if (job->processes == NULL) {
        return timeline_job_fail(paths[0], "out of memory");
    }
    all_read = job_know_all(job, paths, count);
    if ((job->count == 0) || !job_check_name(job)) {
        return 0;
    }
    if (!job_sort(job) || !job_align(job)) {
        return timeline_job_fail(paths[0], "no memory for a timeline of these files");
    }
    job->all_read = all_read;
    if (!job_check_runs(job)) {
        return 0;
    }
    job_tell_missing(job);
    return 1;
}

double timeline_job_us(const timeline_job_t *job, const timeline_process_t *process,
                       uint64_t time)
{
    return ((int64_t)time + job->clocks.list[process->clock].offset - job->start) * 1e-3;
}

void timeline_job_cleanup(timeline_job_t *job)
{
    timeline_clock_cleanup(&job->clocks);
    free(job->owners);
    free(job->processes);
    memset(job, 0, sizeof(*job));
}
