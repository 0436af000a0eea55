/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How entries are kept, and the file of the process, in which the blocks of all workers stand in
 * the order in which they were written. A child by fork() writes none, also if it makes a worker:
 * the file of its rank is its parent's. It does not even look at the lock, which a thread that does
 * not exist there may have held.
 */
#include "timeline.h"
#include "../../../ucs/log.h"
#include "../../../ucs/output.h"
#include "../../../ucs/rank.h"
#include "../../../ucs/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Spans of computing and waiting that are shorter, in seconds, are left out. */
#define TIMELINE_SHORTEST 10e-6

/* So often the clocks are read for one moment. */
#define TIMELINE_ATTEMPTS 4

static struct {
    pthread_mutex_t lock;
    pid_t pid; /* 0: there was no file yet */
    int fd;    /* -1: nothing is written (any more) */
    size_t length;
    char path[PATH_MAX];
} file = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static int timeline_is_forked(void)
{
    return (file.pid != 0) && (file.pid != getpid());
}

static uint64_t timeline_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* Which monotonic clock this process has: one for each boot, and each time namespace. */
static void timeline_name_clock(char *text, size_t max)
{
    char boot[48] = "";
    struct stat st;
    FILE *stream;

    stream = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (stream != NULL) {
        if (fgets(boot, sizeof(boot), stream) != NULL) {
            boot[strcspn(boot, "\n")] = '\0';
        }
        fclose(stream);
    }
    if (boot[0] == '\0') {
        ri_rank_host(boot, sizeof(boot));
    }
    if (stat("/proc/self/ns/time", &st) != 0) {
        st.st_ino = 0;
    }
    snprintf(text, max, "%s.%lu", boot, (unsigned long)st.st_ino);
}

/* Write all, or nothing more ever. Under the lock. */
static void timeline_write(struct iovec *parts, int count)
{
    size_t length = 0;
    ssize_t written;
    int i;

    for (i = 0; i < count; ++i) {
        length += parts[i].iov_len;
    }
    do {
        written = writev(file.fd, parts, count);
    } while ((written < 0) && (errno == EINTR));
    if (written == (ssize_t)length) {
        file.length += length;
        return;
    }
    ri_warn("cannot write %s: %s; the timeline of this process ends here", file.path,
            (written < 0) ? strerror(errno) : "no space left");
    close(file.fd);
    file.fd = -1;
}

static void timeline_create(void)
{
    ri_timeline_head_t head = {
            .magic = RI_TIMELINE_MAGIC, .version = RI_TIMELINE_VERSION, .pid = getpid()};
    const char *rank  = ri_rank_text();
    const char *ranks = ri_rank_count_text();
    char name[PATH_MAX];

    file.pid    = getpid();
    file.length = 0;
    if (!ri_output_path(ri_config.trace_file, file.path, sizeof(file.path))) {
        snprintf(name, sizeof(name), "%.*s.%%j.%%r", PATH_MAX - 32, ri_config.trace_file);
        ri_output_path(name, file.path, sizeof(file.path));
    }
    file.fd = open(file.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file.fd < 0) {
        ri_warn("cannot write %s: %s; there is no timeline of this process", file.path,
                strerror(errno));
        return;
    }
    snprintf(head.rank, sizeof(head.rank), "%s", (rank == NULL) ? "-" : rank);
    snprintf(head.ranks, sizeof(head.ranks), "%s", (ranks == NULL) ? "-" : ranks);
    ri_rank_job(head.job, sizeof(head.job));
    ri_rank_host(head.host, sizeof(head.host));
    timeline_name_clock(head.clock, sizeof(head.clock));
    snprintf(head.program, sizeof(head.program), "%s", program_invocation_short_name);
    timeline_write(&(struct iovec){&head, sizeof(head)}, 1);
}

void ri_timeline_start(ri_timeline_t *timeline, uint64_t uid)
{
    struct timespec pause = {.tv_nsec = 100000};
    uint64_t ticks;
    double start;

    if ((ri_config.trace_file == NULL) || timeline_is_forked()) {
        return;
    }
    start = ri_clock_now();
    ticks = ri_clock_ticks();
    nanosleep(&pause, NULL); /* how many ticks has a second? */
    timeline->shortest = (ri_clock_ticks() - ticks) / (ri_clock_now() - start) *
                         TIMELINE_SHORTEST;

    pthread_mutex_lock(&file.lock);
    if (file.pid == 0) {
        timeline_create();
    }
    if (file.fd >= 0) {
        timeline->entries = malloc(RI_TIMELINE_ENTRIES * sizeof(*timeline->entries));
    }
    pthread_mutex_unlock(&file.lock);
    timeline->uid  = uid;
    timeline->last = ri_clock_ticks();
    if (timeline->entries != NULL) {
        ri_timeline_flush(timeline); /* the time of the start */
    }
}

/* Of several workers, the first one says so. */
static void timeline_say_full(void)
{
    static int said = 0;

    if (!said) {
        said = 1;
        ri_warn("%s is as long as UCXRI_TRACE_LIMIT allows: the timeline ends here",
                file.path);
    }
}

/* Read all clocks at one moment: the thread may be interrupted between two of them, so the
 * closest of some attempts counts. */
static void timeline_read_clocks(ri_timeline_block_t *block)
{
    uint64_t least = UINT64_MAX;
    uint64_t before, mono, after, real, end;
    int i;

    for (i = 0; i < TIMELINE_ATTEMPTS; ++i) {
        before = ri_clock_ticks();
        mono   = timeline_clock(CLOCK_MONOTONIC);
        after  = ri_clock_ticks();
        real   = timeline_clock(CLOCK_REALTIME);
        end    = ri_clock_ticks();
        if (end - before < least) {
            least        = end - before;
            block->ticks = before + (after - before) / 2;
            block->mono  = mono;
            block->real  = real;
        }
    }
}

/* Write what is noted, and keep it. @return Whether more can be written. */
static int timeline_write_block(ri_timeline_t *timeline)
{
    ri_timeline_block_t block = {.mark  = RI_TIMELINE_MARK,
                                 .count = ri_min(timeline->count, RI_TIMELINE_ENTRIES),
                                 .uid   = timeline->uid};
    struct iovec parts[]      = {
                 {&block, sizeof(block)},
                 {timeline->entries, block.count * sizeof(*timeline->entries)}};
    int is_open = 0;

    if (timeline_is_forked()) {
        return 0;
    }
    pthread_mutex_lock(&file.lock);
    if (file.fd >= 0) {
        block.ended = (file.length >= ri_config.trace_limit);
        timeline_read_clocks(&block);
        timeline_write(parts, 2);
        if (block.ended) {
            timeline_say_full();
        }
        is_open = (file.fd >= 0) && !block.ended;
    }
    pthread_mutex_unlock(&file.lock);
    return is_open;
}

void ri_timeline_flush(ri_timeline_t *timeline)
{
    int is_open = timeline_write_block(timeline);

    timeline->count = 0;
    if (!is_open) {
        free(timeline->entries);
        timeline->entries = NULL;
    }
}

void ri_timeline_write_last(ri_timeline_t *timeline)
{
    if (timeline->entries != NULL) {
        timeline_write_block(timeline);
    }
}

void ri_timeline_close(void)
{
    if (!timeline_is_forked()) {
        pthread_mutex_lock(&file.lock);
        if (file.fd >= 0) {
            close(file.fd);
        }
        file.fd = -1;
        pthread_mutex_unlock(&file.lock);
    }
}

void ri_timeline_stop(ri_timeline_t *timeline)
{
    if (timeline->entries != NULL) {
        ri_timeline_flush(timeline);
    }
    free(timeline->entries);
    timeline->entries = NULL;
}

void ri_timeline_reset(void)
{
    ri_timeline_close();
    file.pid = 0;
}

void ri_timeline_note_slow(ri_timeline_t *timeline, ri_timeline_event_t event,
                           const void *key, const uint64_t arg[4])
{
    ri_timeline_entry_t *entry = &timeline->entries[timeline->count++];

    entry->ticks = ri_clock_ticks();
    entry->key   = ((uint64_t)(uintptr_t)key << 16) | event;
    memcpy(entry->arg, arg, sizeof(entry->arg));
    if (timeline->count == RI_TIMELINE_ENTRIES) {
        ri_timeline_flush(timeline);
    }
}

void ri_timeline_application(ri_timeline_t *timeline, uint64_t now)
{
    uint64_t idle   = timeline->idle;
    uint64_t before = timeline->last;

    timeline->idle = 0;
    timeline->last = now;
    if ((idle != 0) && (before - idle >= timeline->shortest)) {
        ri_timeline_note(timeline, RI_TIMELINE_WAIT, NULL, idle, before, 0, 0);
    }
    if ((int64_t)(now - before) >= (int64_t)timeline->shortest) {
        ri_timeline_note(timeline, RI_TIMELINE_COMPUTE, NULL, before, now, 0, 0);
    }
}
