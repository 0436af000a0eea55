/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls are in two heaps, each in the order of their times. The agent wakes up for the calls of one
 * heap. The other one has completions that only polls can see: whoever does a turn makes them when
 * they are due. When somebody wants completions, all calls of the second heap move to the first
 * one. Functions are called without the lock of the heaps, so that they can ask for other calls. A
 * call that is dropped is made, too, to free its data.
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
typedef struct calls_heap {
    calls_entry_t *entry;
    size_t count;
    size_t capacity;
} calls_heap_t;

static struct {
    pthread_mutex_t lock;
    calls_heap_t timed;
    calls_heap_t polls; /* nobody has to be woken for them */
    uint64_t seq;
    uint64_t sleeps_until; /* the agent; 0: it is awake, or sleeps for a tick only */
    uint64_t due;          /* time of the first call, read without the lock */
} calls;

static int calls_before(const calls_entry_t *a, const calls_entry_t *b)
{
    return (a->time != b->time) ? (a->time < b->time) : (a->seq < b->seq);
}

static uint64_t calls_first(const calls_heap_t *heap)
{
    return (heap->count > 0) ? heap->entry[0].time : UINT64_MAX;
}

/* A heap has changed. With lock held. */
static void calls_set_due(void)
{
    __atomic_store_n(&calls.due,
                     sh_min(calls_first(&calls.timed), calls_first(&calls.polls)),
                     __ATOMIC_RELEASE);
}

static void calls_swap(calls_heap_t *heap, size_t i, size_t j)
{
    calls_entry_t call = heap->entry[i];

    heap->entry[i] = heap->entry[j];
    heap->entry[j] = call;
}

static void calls_sift_up(calls_heap_t *heap, size_t i)
{
    while ((i > 0) && calls_before(&heap->entry[i], &heap->entry[(i - 1) / 2])) {
        calls_swap(heap, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

static void calls_sift_down(calls_heap_t *heap, size_t i)
{
    size_t child;

    while ((child = 2 * i + 1) < heap->count) {
        if ((child + 1 < heap->count) &&
            calls_before(&heap->entry[child + 1], &heap->entry[child])) {
            ++child;
        }
        if (!calls_before(&heap->entry[child], &heap->entry[i])) {
            return;
        }
        calls_swap(heap, i, child);
        i = child;
    }
}

static int calls_add(calls_heap_t *heap, const calls_entry_t *call)
{
    calls_entry_t *entry;
    size_t capacity;

    if (heap->count == heap->capacity) {
        capacity = sh_max(heap->capacity * 2, 64);
        entry    = realloc(heap->entry, capacity * sizeof(*entry));
        if (entry == NULL) {
            return -1;
        }
        heap->entry    = entry;
        heap->capacity = capacity;
    }
    heap->entry[heap->count] = *call;
    calls_sift_up(heap, heap->count++);
    return 0;
}

/* @param wanted Whether a word is that says what the call is for, or NULL: it has to be made
 * anyway. Who sets it moves what it finds here. */
static int calls_at(const uint32_t *wanted, uint64_t time, sh_agent_func_t func,
                    void *data, const sh_qp_t *owner)
{
    calls_entry_t call = {time, 0, func, data, owner};
    int timed, wake, error;

    pthread_mutex_lock(&calls.lock);
    timed    = (wanted == NULL) || (__atomic_load_n(wanted, __ATOMIC_SEQ_CST) != 0);
    call.seq = calls.seq++;
    error    = calls_add(timed ? &calls.timed : &calls.polls, &call);
    calls_set_due();
    wake = !error && timed && (time < calls.sleeps_until);
    pthread_mutex_unlock(&calls.lock);
    if (wake) {
        sh_fabric_kick();
    }
    return error;
}

int sh_agent_at(uint64_t time, sh_agent_func_t func, void *data, const sh_qp_t *owner)
{
    return calls_at(NULL, time, func, data, owner);
}

int sh_agent_at_poll(uint64_t time, sh_agent_func_t func, void *data,
                     const sh_qp_t *owner, const sh_cq_t *cq)
{
    return calls_at(&sh_fabric_inbox()->wanted[cq->want], time, func, data, owner);
}

/* With lock held: take a call of an owner out of a heap. @return Whether there was one. */
static int calls_take(calls_heap_t *heap, const sh_qp_t *owner, calls_entry_t *call)
{
    size_t i;

    for (i = 0; i < heap->count; ++i) {
        if (heap->entry[i].owner == owner) {
            *call          = heap->entry[i];
            heap->entry[i] = heap->entry[--heap->count];
            if (i < heap->count) {
                calls_sift_up(heap, i);
                calls_sift_down(heap, i);
            }
            return 1;
        }
    }
    return 0;
}

/* Without the lock another thread may move calls from one heap to the other: both are looked at anew
 * behind each call. */
void sh_agent_drop(const sh_qp_t *owner)
{
    calls_entry_t call;

    pthread_mutex_lock(&calls.lock);
    while (calls_take(&calls.timed, owner, &call) ||
           calls_take(&calls.polls, owner, &call)) {
        pthread_mutex_unlock(&calls.lock);
        call.func(call.data, 1);
        pthread_mutex_lock(&calls.lock);
    }
    calls_set_due();
    pthread_mutex_unlock(&calls.lock);
}

/* The heap with the first call of all. */
static calls_heap_t *calls_next(void)
{
    if (calls.polls.count == 0) {
        return &calls.timed;
    }
    return ((calls.timed.count > 0) &&
            calls_before(&calls.timed.entry[0], &calls.polls.entry[0])) ?
                   &calls.timed :
                   &calls.polls;
}

int sh_calls_make(uint64_t now)
{
    calls_heap_t *heap;
    calls_entry_t call;
    int found = 0;

    pthread_mutex_lock(&calls.lock);
    heap = calls_next();
    if (calls_first(heap) <= now) {
        call           = heap->entry[0];
        heap->entry[0] = heap->entry[--heap->count];
        calls_sift_down(heap, 0);
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

int sh_calls_promote(void)
{
    int any;

    pthread_mutex_lock(&calls.lock);
    for (any = 0;
         (calls.polls.count > 0) &&
         (calls_add(&calls.timed, &calls.polls.entry[calls.polls.count - 1]) == 0);
         any = 1) {
        --calls.polls.count;
    }
    pthread_mutex_unlock(&calls.lock);
    return any;
}

uint64_t sh_calls_sleep(uint64_t least)
{
    uint64_t until;

    pthread_mutex_lock(&calls.lock);
    until = calls_first(&calls.timed);
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

static void calls_cleanup(calls_heap_t *heap)
{
    while (heap->count > 0) {
        --heap->count;
        heap->entry[heap->count].func(heap->entry[heap->count].data, 1);
    }
    free(heap->entry);
    heap->entry = NULL;
}

void sh_calls_cleanup(void)
{
    calls_cleanup(&calls.timed);
    calls_cleanup(&calls.polls);
}
