/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "calls.h"
#include "agent.h"
#include "fabric.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

typedef struct calls_entry {
    uint64_t time;
    uint64_t seq;
    sh_agent_func_t func;
    void *data;
    const sh_qp_t *owner;
} calls_entry_t;

/* A binary heap. */
static struct {
    pthread_mutex_t lock;
    calls_entry_t *heap;
    size_t count;
    size_t capacity;
    uint64_t seq;
    uint64_t sleeps_until; /* the agent; 0: it is awake, or sleeps for a tick only */
    uint64_t due;          /* time of the first call, read without the lock */
} calls;

static int calls_before(const calls_entry_t *a, const calls_entry_t *b)
{
    return (a->time != b->time) ? (a->time < b->time) : (a->seq < b->seq);
}

/* The heap has changed. With lock held. */
static void calls_set_due(void)
{
    __atomic_store_n(&calls.due, (calls.count > 0) ? calls.heap[0].time : UINT64_MAX,
                     __ATOMIC_RELEASE);
}

static void calls_swap(size_t i, size_t j)
{
    calls_entry_t call = calls.heap[i];

    calls.heap[i] = calls.heap[j];
    calls.heap[j] = call;
}

static void calls_sift_up(size_t i)
{
    while ((i > 0) && calls_before(&calls.heap[i], &calls.heap[(i - 1) / 2])) {
        calls_swap(i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

static void calls_sift_down(size_t i)
{
    size_t child;

    while ((child = 2 * i + 1) < calls.count) {
        if ((child + 1 < calls.count) &&
            calls_before(&calls.heap[child + 1], &calls.heap[child])) {
            ++child;
        }
        if (!calls_before(&calls.heap[child], &calls.heap[i])) {
            return;
        }
        calls_swap(i, child);
        i = child;
    }
}

int sh_agent_at(uint64_t time, sh_agent_func_t func, void *data, const sh_qp_t *owner)
{
    calls_entry_t *heap;
    size_t capacity;
    int wake;

    pthread_mutex_lock(&calls.lock);
    if (calls.count == calls.capacity) {
        capacity = sh_max(calls.capacity * 2, 64);
        heap     = realloc(calls.heap, capacity * sizeof(*heap));
        if (heap == NULL) {
            pthread_mutex_unlock(&calls.lock);
            return -1;
        }
        calls.heap     = heap;
        calls.capacity = capacity;
    }
    calls.heap[calls.count] = (calls_entry_t){time, calls.seq++, func, data, owner};
    calls_sift_up(calls.count++);
    calls_set_due();
    wake = (time < calls.sleeps_until);
    pthread_mutex_unlock(&calls.lock);
    if (wake) {
        sh_fabric_kick();
    }
    return 0;
}

void sh_agent_drop(const sh_qp_t *owner)
{
    calls_entry_t call;
    size_t i;

    pthread_mutex_lock(&calls.lock);
    for (i = 0; i < calls.count;) {
        if (calls.heap[i].owner != owner) {
            ++i;
            continue;
        }
        call          = calls.heap[i];
        calls.heap[i] = calls.heap[--calls.count];
        pthread_mutex_unlock(&calls.lock);
        call.func(call.data, 1);
        pthread_mutex_lock(&calls.lock);
    }
    for (i = calls.count; i-- > 0;) {
        calls_sift_down(i);
    }
    calls_set_due();
    pthread_mutex_unlock(&calls.lock);
}

int sh_calls_make(uint64_t now)
{
    calls_entry_t call;
    int found = 0;

    pthread_mutex_lock(&calls.lock);
    if ((calls.count > 0) && (calls.heap[0].time <= now)) {
        call          = calls.heap[0];
        calls.heap[0] = calls.heap[--calls.count];
        calls_sift_down(0);
        calls_set_due();
        found = 1;
    }
    pthread_mutex_unlock(&calls.lock);
    if (found) {
        call.func(call.data, 0);
    }
    return found;
}

uint64_t sh_calls_due(void)
{
    return __atomic_load_n(&calls.due, __ATOMIC_ACQUIRE);
}

uint64_t sh_calls_sleep(uint64_t least)
{
    uint64_t until;

    pthread_mutex_lock(&calls.lock);
    until = (calls.count > 0) ? calls.heap[0].time : UINT64_MAX;
    if (until > least) {
        calls.sleeps_until = until;
    }
    pthread_mutex_unlock(&calls.lock);
    return until;
}

void sh_calls_awake(void)
{
    pthread_mutex_lock(&calls.lock);
    calls.sleeps_until = 0;
    pthread_mutex_unlock(&calls.lock);
}

void sh_calls_init(void)
{
    memset(&calls, 0, sizeof(calls));
    sh_mutex_init(&calls.lock);
    calls.due = UINT64_MAX;
}

void sh_calls_cleanup(void)
{
    while (calls.count > 0) {
        --calls.count;
        calls.heap[calls.count].func(calls.heap[calls.count].data, 1);
    }
    free(calls.heap);
    calls.heap = NULL;
}
