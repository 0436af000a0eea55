/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is published is under a lock that neither the handler nor a call of the program needs; the
 * handler writes to a descriptor and no more.
 */
#include "report_killed.h"
#include "../../ucs/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Seconds between two looks at workers. What a worker does in that time gets lost with it. */
#define KILLED_PERIOD 0.25

/* The counters of a worker when it published last. */
typedef struct killed_part {
    struct killed_part *next;
    const ri_worker_t *worker;
    ri_report_sum_t published;
} killed_part_t;

static struct {
    pthread_mutex_t lock;
    /* 0: nobody is there. A child by fork() is another process, without the thread. */
    _Atomic(pid_t) pid;
    int wake; /* eventfd */
    killed_part_t *parts;
    void (*print)(const ri_report_sum_t *sum);
    double started;
    uint64_t started_ticks;
    _Atomic(uint64_t) next_ticks; /* nothing is due before */
} killed = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_ticks = UINT64_MAX};

/* End as by the signal itself. It is blocked in its handler, and comes when that is left. */
static void killed_end(void)
{
    signal(SIGTERM, SIG_DFL);
    kill(getpid(), SIGTERM);
}

static void killed_handle(int number)
{
    const uint64_t one = 1;
    int error          = errno;

    if ((killed.pid != getpid()) || (write(killed.wake, &one, sizeof(one)) < 0)) {
        killed_end();
    }
    errno = error;
}

static void killed_print(void)
{
    ri_report_sum_t sum = {};
    const killed_part_t *part;

    pthread_mutex_lock(&killed.lock);
    for (part = killed.parts; part != NULL; part = part->next) {
        ri_report_values_add_sum(&sum, &part->published);
    }
    pthread_mutex_unlock(&killed.lock);
    killed.print(&sum);
}

static void *killed_main(void *arg)
{
    uint64_t count;

    while ((read(killed.wake, &count, sizeof(count)) < 0) && (errno == EINTR)) {}
    killed_print();
    killed_end();
    return NULL;
}

/* The thread takes no signal of the program's. @return Whether it is there. */
static int killed_create_thread(void)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    int ret;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    ret = pthread_create(&thread, &attr, killed_main, NULL);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ret == 0;
}

void ri_report_killed_start(void (*print)(const ri_report_sum_t *sum))
{
    const struct sigaction action = {.sa_handler = killed_handle, .sa_flags = SA_RESTART};
    struct sigaction before;

    if ((killed.pid == getpid()) || (sigaction(SIGTERM, NULL, &before) != 0) ||
        (before.sa_flags & SA_SIGINFO) || (before.sa_handler != SIG_DFL)) {
        return;
    }
    killed.wake = eventfd(0, EFD_CLOEXEC);
    if (killed.wake < 0) {
        return;
    }
    killed.print         = print;
    killed.started       = ri_clock_now();
    killed.started_ticks = ri_clock_ticks();
    killed.pid           = getpid();
    if (!killed_create_thread()) {
        killed.pid = 0;
        close(killed.wake);
        return;
    }
    atomic_store(&killed.next_ticks, 0);
    sigaction(SIGTERM, &action, NULL);
}

/* @return The part of a worker, under the lock; NULL: there is none. */
static killed_part_t **killed_find(const ri_worker_t *worker)
{
    killed_part_t **part = &killed.parts;

    while ((*part != NULL) && ((*part)->worker != worker)) {
        part = &(*part)->next;
    }
    return part;
}

static void killed_publish(const ri_worker_t *worker)
{
    killed_part_t **place, *part;

    pthread_mutex_lock(&killed.lock);
    place = killed_find(worker);
    if (*place == NULL) {
        *place = calloc(1, sizeof(**place));
    }
    part = *place;
    if (part != NULL) {
        part->worker    = worker;
        part->published = (ri_report_sum_t){};
        ri_report_values_add_worker(&part->published, worker);
    }
    pthread_mutex_unlock(&killed.lock);
}

/* The next time is told by the ticks that there were since the start. */
void ri_report_killed_tick(const ri_worker_t *worker)
{
    uint64_t now;
    double elapsed;

    if (ri_likely(atomic_load_explicit(&killed.pid, memory_order_relaxed) == 0)) {
        return;
    }
    now = ri_clock_ticks();
    if (ri_likely(now < atomic_load_explicit(&killed.next_ticks, memory_order_relaxed)) ||
        (killed.pid != getpid())) {
        return;
    }
    elapsed = ri_max(ri_clock_now() - killed.started, 1e-3);
    atomic_store_explicit(&killed.next_ticks,
                          now + (uint64_t)((now - killed.started_ticks) / elapsed *
                                           ri_min(KILLED_PERIOD, elapsed)),
                          memory_order_relaxed);
    killed_publish(worker);
}

void ri_report_killed_leave(const ri_worker_t *worker)
{
    killed_part_t **place, *part;

    if (killed.pid == 0) {
        return;
    }
    pthread_mutex_lock(&killed.lock);
    place = killed_find(worker);
    part  = *place;
    if (part != NULL) {
        *place = part->next;
        free(part);
    }
    pthread_mutex_unlock(&killed.lock);
}
