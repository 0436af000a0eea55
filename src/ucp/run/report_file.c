/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A process may have several workers in several threads, and a thread must not look at the counters
 * of another one's worker. So what each worker did is published by its own thread, when it is due
 * to be written, and the file has what all of them have published. Memory: about 25 KB for each
 * worker (sizes as they are counted, published, and summed up), and the pairs.
 */
#include "report_file.h"
#include "report_json.h"
#include "report_values.h"
#include "../core/types/module.h"
#include "../core/worker.h"
#include "../../ucs/clock.h"
#include "../../ucs/log.h"
#include "../../ucs/output.h"
#include "../../ucs/settings.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds between two writes, at first and at most. At most the latest of it gets lost. */
#define FILE_FIRST 1.0
#define FILE_LAST  30.0

/* The counters of one worker, or the sums of several. */
typedef struct file_sum {
    ri_report_sum_t sum;
    ri_sizes_t sizes;
    ri_report_pairs_t pairs;
} file_sum_t;

/* A worker that is reported. */
typedef struct file_part {
    ucs_list_link_t list;
    ri_worker_t *worker;
    ri_sizes_t sizes;         /* the worker's thread counts here */
    ri_report_pairs_t closed; /* conns that the worker's thread has closed */
    file_sum_t published;     /* under the lock */
} file_part_t;

static struct {
    pthread_mutex_t lock;
    pid_t pid; /* 0: no report. A child by fork() is another process. */
    ri_report_clock_t clock;
    time_t started;
    char path[PATH_MAX], next_path[PATH_MAX];
    int failed;        /* the file cannot be written, which was said */
    uint64_t *workers; /* uids of all workers that there ever were */
    size_t num_workers;
    file_sum_t ended; /* by workers that have left */
    ucs_list_link_t parts;
    double interval;
    double due;                   /* when the file is to be written again */
    _Atomic(uint64_t) next_ticks; /* nothing is due before */
} file = {.lock = PTHREAD_MUTEX_INITIALIZER};

static file_part_t *file_find(const ri_worker_t *worker)
{
    file_part_t *part;

    if (file.pid != 0) {
        ucs_list_for_each(part, &file.parts, list) {
            if (part->worker == worker) {
                return part;
            }
        }
    }
    return NULL;
}

static void file_add(file_sum_t *sum, const file_sum_t *other)
{
    uint64_t *to         = &sum->sizes.messages[0][0];
    const uint64_t *from = &other->sizes.messages[0][0];
    size_t i;

    ri_report_values_add_sum(&sum->sum, &other->sum);
    for (i = 0; i < sizeof(sum->sizes) / sizeof(*to); ++i) {
        to[i] += from[i];
    }
    ri_report_pairs_add_all(&sum->pairs, &other->pairs);
}

static uint64_t file_conn_uid(const ri_conn_t *conn)
{
    return (conn->flags & RI_CONN_SELF) ? conn->worker->self.uid :
           (conn->peer != NULL)         ? conn->peer->uid :
                                          0;
}

/* Publish what a worker has done, in its thread, under the lock. */
static void file_publish(file_part_t *part)
{
    ri_report_pairs_t pairs = part->published.pairs;
    const ri_conn_t *conn;

    pairs.count = pairs.merged = 0;
    part->published            = (file_sum_t){.sizes = part->sizes, .pairs = pairs};
    ri_report_values_add_worker(&part->published.sum, part->worker);
    ri_report_pairs_add_all(&part->published.pairs, &part->closed);
    ucs_list_for_each(conn, &part->worker->conns, list) {
        ri_report_pairs_add(&part->published.pairs, file_conn_uid(conn), &conn->counters);
    }
}

/* Fill @a text from what is published. Its pairs are to be freed. */
static void file_sum_up(ri_report_text_t *text)
{
    file_sum_t *sum = calloc(1, sizeof(*sum));
    const file_part_t *part;

    if (sum == NULL) {
        return;
    }
    file_add(sum, &file.ended);
    ucs_list_for_each(part, &file.parts, list) {
        file_add(sum, &part->published);
    }
    ri_report_values_label(&text->row);
    ri_report_values_set(&text->row, &sum->sum, &file.clock);
    text->started     = file.started;
    text->written     = time(NULL);
    text->workers     = file.workers;
    text->num_workers = file.num_workers;
    text->sizes       = sum->sizes;
    text->pairs       = sum->pairs;
    ri_report_pairs_merge(&text->pairs);
    free(sum);
}

static void file_fail(const char *path)
{
    ri_warn("cannot write %s: %s; there is no report of this process", path,
            strerror(errno));
    file.failed = 1;
}

/* Open @a path in @a mode, and write @a text. @return Whether it is there; 0 also if the mode is
 * exclusive (x), and there is such a file. */
static int file_write_text(const char *path, const char *mode,
                           const ri_report_text_t *text)
{
    FILE *stream = fopen(path, mode);
    int is_bad;

    if (stream == NULL) {
        if (errno != EEXIST) {
            file_fail(path);
        }
        return 0;
    }
    ri_report_json_write(text, stream);
    is_bad = ferror(stream);
    if ((fclose(stream) != 0) || is_bad) {
        file_fail(path);
        unlink(path);
        return 0;
    }
    return 1;
}

/* Under the lock. */
static void file_write(int complete)
{
    ri_report_text_t text = {.complete = complete};
    int is_written;

    if (file.failed) {
        return;
    }
    file_sum_up(&text);
    is_written = file_write_text(file.next_path, "we", &text);
    ri_report_pairs_cleanup(&text.pairs);
    if (is_written && (rename(file.next_path, file.path) != 0)) {
        file_fail(file.path);
        unlink(file.next_path);
    }
}

/* Look at the time again when it is due. How many ticks that takes follows from those since the
 * start, and not longer than that. */
static void file_plan(double now)
{
    double elapsed    = now - file.clock.time;
    uint64_t ticks    = ri_clock_ticks();
    double per_second = (ticks - file.clock.ticks) / ri_max(elapsed, 1e-9);

    atomic_store_explicit(&file.next_ticks,
                          ticks + (uint64_t)(ri_min(ri_max(file.due - now, 1e-3),
                                                    ri_max(elapsed, 1e-3)) *
                                             per_second),
                          memory_order_relaxed);
}

/* Each process has a file of its own. */
static void file_set_path(char *path, size_t max)
{
    char name[PATH_MAX];

    if (!ri_output_path(ri_config.report_json, path, max)) {
        snprintf(name, sizeof(name), "%.*s.%%j.%%r.json", PATH_MAX - 32,
                 ri_config.report_json);
        ri_output_path(name, path, max);
    }
}

static void file_start(void)
{
    file_set_path(file.path, sizeof(file.path) - sizeof(".tmp"));
    snprintf(file.next_path, sizeof(file.next_path), "%s", file.path);
    strcat(file.next_path, ".tmp");
    file.pid     = getpid();
    file.started = time(NULL);
    ucs_list_head_init(&file.parts);
    ri_report_values_clock_start(&file.clock);
    file.interval   = FILE_FIRST;
    file.due        = file.clock.time + FILE_FIRST;
    file.next_ticks = file.clock.ticks;
    file_write(0);
}

void ri_report_file_enter(ri_worker_t *worker)
{
    uint64_t *workers;
    file_part_t *part;

    if (ri_config.report_json == NULL) {
        return;
    }
    pthread_mutex_lock(&file.lock);
    if (file.pid == 0) {
        file_start();
    }
    part    = calloc(1, sizeof(*part));
    workers = realloc(file.workers, (file.num_workers + 1) * sizeof(*workers));
    if (workers != NULL) {
        file.workers                     = workers;
        file.workers[file.num_workers++] = worker->self.uid;
    }
    if (part != NULL) {
        part->worker = worker;
        ucs_list_add_tail(&file.parts, &part->list);
        worker->sizes   = &part->sizes;
        worker->watched = 1;
    }
    pthread_mutex_unlock(&file.lock);
}

void ri_report_file_leave(ri_worker_t *worker)
{
    file_part_t *part;

    if (worker->sizes == NULL) {
        return;
    }
    pthread_mutex_lock(&file.lock);
    part = file_find(worker);
    if (part != NULL) {
        file_publish(part);
        file_add(&file.ended, &part->published);
        ucs_list_del(&part->list);
        ri_report_pairs_cleanup(&part->closed);
        ri_report_pairs_cleanup(&part->published.pairs);
        free(part);
    }
    pthread_mutex_unlock(&file.lock);
    worker->sizes   = NULL;
    worker->watched = (worker->trace.entries != NULL);
}

void ri_report_file_tick(ri_worker_t *worker)
{
    file_part_t *part;
    double now;

    if (ri_likely((worker->sizes == NULL) ||
                  (ri_clock_ticks() <
                   atomic_load_explicit(&file.next_ticks, memory_order_relaxed)))) {
        return;
    }
    now = ri_clock_now();
    pthread_mutex_lock(&file.lock);
    part = file_find(worker);
    if ((part != NULL) && (now >= file.due) && (file.pid == getpid())) {
        file_publish(part);
        file_write(0);
        file.due      = now + file.interval;
        file.interval = ri_min(2 * file.interval, FILE_LAST);
    }
    file_plan(now);
    pthread_mutex_unlock(&file.lock);
}

void ri_report_file_end(void)
{
    if (file.pid == getpid()) {
        pthread_mutex_lock(&file.lock);
        file_write(1);
        pthread_mutex_unlock(&file.lock);
    }
}

void ri_report_file_inert(const char *because, const char *remedy)
{
    ri_report_text_t text = {.inert    = because,
                             .remedy   = remedy,
                             .complete = 1,
                             .started  = time(NULL),
                             .written  = time(NULL)};
    char path[PATH_MAX];

    file_set_path(path, sizeof(path));
    ri_report_values_label(&text.row);
    file_write_text(path, "wxe", &text);
}

void ri_report_file_reset(void)
{
    free(file.workers);
    file.workers     = NULL;
    file.num_workers = 0;
    file.failed      = 0;
    file.pid         = 0;
    ri_report_pairs_cleanup(&file.ended.pairs);
    memset(&file.ended, 0, sizeof(file.ended));
}

/* Keep what a conn that ends has sent to its peer: the sums of its worker, which get the counters
 * of the conn, do not tell of peers. */
static void file_conn_closes(ri_conn_t *conn)
{
    file_part_t *part;

    if (conn->worker->sizes == NULL) {
        return;
    }
    pthread_mutex_lock(&file.lock);
    part = file_find(conn->worker);
    if (part != NULL) {
        ri_report_pairs_add(&part->closed, file_conn_uid(conn), &conn->counters);
    }
    pthread_mutex_unlock(&file.lock);
}

const ri_module_t ri_module_report_file = {.name        = "report_file",
                                           .conn_closes = file_conn_closes};
