/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A file is read as a whole. Nothing in it is believed: sizes are checked against what is there,
 * and times must go on. Entries stay where they are in the content.
 */
#include "ucxri_info_timeline_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Longer ones no process writes, whatever its limit was set to, by mistake. */
#define FILE_MAX (UINT64_C(4) << 30)

/* Nor has a process more workers. */
#define FILE_WORKERS 4096

/* Two threads read the clocks one after the other, and may be interrupted in between.
 * Nanoseconds. */
#define FILE_UNORDERED 1000000

/* Later times do not occur, and their sums would not be numbers any more: 36 years since the boot,
 * and the year 2116. */
#define FILE_LATEST_MONO (UINT64_MAX >> 4)
#define FILE_LATEST_REAL (UINT64_MAX >> 2)

typedef struct timeline_anchor {
    ri_timeline_block_t block;
    const ri_timeline_entry_t *entries;
    unsigned worker;
} timeline_anchor_t;

static const char *file_load(const char *path, timeline_file_t *file, size_t *length)
{
    FILE *stream = fopen(path, "re");
    struct stat st;

    if ((stream == NULL) || (fstat(fileno(stream), &st) != 0)) {
        goto err;
    }
    if (!S_ISREG(st.st_mode) || ((uint64_t)st.st_size > FILE_MAX)) {
        fclose(stream);
        return "it is no timeline";
    }
    file->content = malloc(st.st_size + 1);
    if (file->content == NULL) {
        fclose(stream);
        return "out of memory";
    }
    *length = fread(file->content, 1, st.st_size, stream);
    if (ferror(stream)) {
        goto err;
    }
    fclose(stream);
    return NULL;

err:
    if (stream != NULL) {
        fclose(stream);
    }
    return strerror(errno);
}

/* @return The index of a worker; UINT32_MAX: there is no room for a new one. */
static unsigned file_worker(timeline_file_t *file, uint64_t uid)
{
    uint64_t *uids;
    unsigned i;

    for (i = 0; i < file->num_workers; ++i) {
        if (file->uids[i] == uid) {
            return i;
        }
    }
    uids = (i < FILE_WORKERS) ? realloc(file->uids, (i + 1) * sizeof(*uids)) : NULL;
    if (uids == NULL) {
        return UINT32_MAX;
    }
    file->uids                      = uids;
    file->uids[file->num_workers++] = uid;
    return i;
}

static int file_add_block(timeline_file_t *file, const ri_timeline_block_t *block,
                          const char *entries)
{
    timeline_anchor_t *anchor;

    if ((file->num_anchors & (file->num_anchors - 1)) == 0) { /* 0 or a power of two */
        anchor = realloc(file->anchors, (file->num_anchors ? 2 * file->num_anchors : 1) *
                                                sizeof(*anchor));
        if (anchor == NULL) {
            return 0;
        }
        file->anchors = anchor;
    }
    anchor          = &file->anchors[file->num_anchors];
    anchor->block   = *block;
    anchor->entries = (const ri_timeline_entry_t *)entries;
    anchor->worker  = file_worker(file, block->uid);
    ++file->num_anchors;
    file->ended |= (block->ended != 0);
    return anchor->worker != UINT32_MAX;
}

/* It goes into names, and is a number, or not known. */
static int file_is_rank(const char *rank)
{
    return !strcmp(rank, "-") ||
           ((rank[0] != '\0') && (rank[strspn(rank, "0123456789")] == '\0'));
}

static void file_end_texts(ri_timeline_head_t *head)
{
    head->rank[sizeof(head->rank) - 1]       = '\0';
    head->ranks[sizeof(head->ranks) - 1]     = '\0';
    head->job[sizeof(head->job) - 1]         = '\0';
    head->host[sizeof(head->host) - 1]       = '\0';
    head->clock[sizeof(head->clock) - 1]     = '\0';
    head->program[sizeof(head->program) - 1] = '\0';
}

/* Blocks of several threads may stand in another order than that of their times. */
static int anchor_compare(const void *a, const void *b)
{
    const timeline_anchor_t *left = a, *right = b;

    return (left->block.ticks > right->block.ticks) -
           (left->block.ticks < right->block.ticks);
}

/* Time must go on, or nothing can be told from it. */
static const char *file_check_times(timeline_file_t *file)
{
    ri_timeline_block_t *block, *before;
    size_t i;

    for (i = 0; i < file->num_anchors; ++i) {
        block  = &file->anchors[i].block;
        before = &file->anchors[(i > 0) ? i - 1 : 0].block;
        if ((block->mono > FILE_LATEST_MONO) || (block->real > FILE_LATEST_REAL) ||
            (block->mono + FILE_UNORDERED < before->mono)) {
            return "its clocks contradict each other";
        }
        if (block->mono < before->mono) {
            block->mono = before->mono;
        }
    }
    return NULL;
}

const char *timeline_file_read(const char *path, timeline_file_t *file)
{
    ri_timeline_block_t block;
    size_t offset, size;
    size_t length = 0;
    const char *fault;

    memset(file, 0, sizeof(*file));
    fault = file_load(path, file, &length);
    if (fault != NULL) {
        return fault;
    }
    if ((length < sizeof(file->head)) ||
        memcmp(file->content, RI_TIMELINE_MAGIC, sizeof(RI_TIMELINE_MAGIC))) {
        return "it is no timeline";
    }
    memcpy(&file->head, file->content, sizeof(file->head));
    file_end_texts(&file->head);
    if (file->head.version != RI_TIMELINE_VERSION) {
        return "it was written by another version of the library";
    }
    if (!file_is_rank(file->head.rank) || !file_is_rank(file->head.ranks)) {
        return "it is damaged";
    }

    for (offset = sizeof(file->head); offset < length; offset += size) {
        if (length - offset < sizeof(block)) {
            file->is_cut = 1;
            break;
        }
        memcpy(&block, file->content + offset, sizeof(block));
        if ((block.mark != RI_TIMELINE_MARK) || (block.count > RI_TIMELINE_ENTRIES)) {
            return "it is damaged";
        }
        size = sizeof(block) + block.count * sizeof(ri_timeline_entry_t);
        if (length - offset < size) {
            file->is_cut = 1;
            break;
        }
        if (!file_add_block(file, &block, file->content + offset + sizeof(block))) {
            return "out of memory";
        }
    }
    if (file->num_anchors == 0) {
        return "nothing was written before the process ended";
    }
    qsort(file->anchors, file->num_anchors, sizeof(*file->anchors), anchor_compare);
    fault       = file_check_times(file);
    file->first = file->anchors[0].block.mono;
    file->last  = file->anchors[file->num_anchors - 1].block.mono;
    file->real  = (int64_t)(file->anchors[0].block.real - file->anchors[0].block.mono);
    return fault;
}

/* Entries that were noted before the first block was written get the time of that block. */
uint64_t timeline_file_time(const timeline_file_t *file, uint64_t ticks)
{
    size_t low  = 0;
    size_t high = file->num_anchors - 1;
    const ri_timeline_block_t *a, *b;

    if (ticks >= file->anchors[high].block.ticks) {
        return file->last;
    }
    if (ticks <= file->anchors[0].block.ticks) {
        return file->first;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (file->anchors[middle].block.ticks <= ticks) {
            low = middle;
        } else {
            high = middle;
        }
    }
    a = &file->anchors[low].block;
    b = &file->anchors[high].block;
    return a->mono + (uint64_t)((double)(ticks - a->ticks) / (b->ticks - a->ticks) *
                                (b->mono - a->mono));
}

void timeline_file_foreach(const timeline_file_t *file, timeline_entry_func_t func,
                           void *arg)
{
    size_t i;
    unsigned k;

    for (i = 0; i < file->num_anchors; ++i) {
        for (k = 0; k < file->anchors[i].block.count; ++k) {
            if (timeline_file_entry_event(&file->anchors[i].entries[k]) <
                RI_TIMELINE_EVENTS) {
                func(file->anchors[i].worker, &file->anchors[i].entries[k], arg);
            }
        }
    }
}

void timeline_file_cleanup(timeline_file_t *file)
{
    free(file->content);
    free(file->anchors);
    free(file->uids);
    memset(file, 0, sizeof(*file));
}
