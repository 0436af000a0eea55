/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals are for the threads of the application, so this one takes none but those of its own
 * faults. It runs where the thread that has made it may run.
 */
#include "attend.h"
#include "region.h"
#include "serve.h"
#include "../../ucs/clock.h"
#include "../../ucs/log.h"
#include "../../ucs/process.h"
#include "../../ucs/settings.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* It has a few frames of this library only, but glibc takes the thread's share of static memory
 * from this. Where that is too large, it gets a stack as other threads do. */
#define ATTEND_STACK (256 * 1024)

/* Whoever has called mostly has more to ask, as a lock is taken, used and given back: the next ones
 * do not have to call, if they come within this time, in seconds. */
#define ATTEND_STAY 10e-6

/* Seconds after which the thread goes to sleep all the same, unless it is called again: what comes
 * without a call can be done by others, and the processor is the application's. */
#define ATTEND_STAY_MAX 1e-3

/* Calls in a row for nothing, until somebody who calls all the time is not answered at once. */
#define ATTEND_EMPTY       1000
#define ATTEND_EMPTY_SLEEP 1000 /* us */

/* 1 + that of the process that has tried to make the thread: under the lock of the regions. */
static unsigned attend_generation;

static void attend_stay(void)
{
    double begin = ri_clock_now();
    double now   = begin;
    double last  = begin;

    while ((now < last + ATTEND_STAY) && (now < begin + ATTEND_STAY_MAX)) {
        if (ri_serve() > 0) {
            last = now;
        }
        ri_relax();
        now = ri_clock_now();
    }
}

/* An operation that was posted before a call is served when the call is seen here. So no call is
 * missed. */
static void *attend_main(void *arg)
{
    ri_mailbox_rx_t *rx = arg;
    unsigned empty      = 0;
    ri_mailbox_sleep_t woken;
    uint32_t calls;

    do {
        calls = ri_mailbox_rx_calls(rx);
        if (ri_serve_called() > 0) {
            empty = 0;
            attend_stay();
        } else if (++empty >= ATTEND_EMPTY) {
            usleep(ATTEND_EMPTY_SLEEP);
        }
        woken = ri_mailbox_rx_sleep(rx, calls);
        empty = (woken == RI_MAILBOX_CALLED) ? empty : 0;
    } while (woken != RI_MAILBOX_NO_SLEEP);
    ri_mailbox_rx_announce_thread(rx, 0);
    return NULL;
}

/* All but those that a fault of this thread itself would raise: a program may mend the fault, or
 * say where it was. */
static void attend_mask(sigset_t *mask)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    size_t i;

    sigfillset(mask);
    for (i = 0; i < sizeof(faults) / sizeof(faults[0]); ++i) {
        sigdelset(mask, faults[i]);
    }
}

static int attend_create_by(ri_mailbox_rx_t *rx, const pthread_attr_t *attr)
{
    pthread_t thread;
    int ret = pthread_create(&thread, attr, attend_main, rx);

    if (ret == 0) {
        pthread_setname_np(thread, "ucxri-attend");
    }
    return ret;
}

static int attend_create(ri_mailbox_rx_t *rx)
{
    size_t stack_size = 0;
    pthread_attr_t attr;
    int ret;

    if (pthread_attr_init(&attr) != 0) {
        return -1;
    }
    pthread_attr_getstacksize(&attr, &stack_size);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, ATTEND_STACK);
    ret = attend_create_by(rx, &attr);
    if (ret == EINVAL) {
        pthread_attr_setstacksize(&attr, stack_size);
        ret = attend_create_by(rx, &attr);
    }
    pthread_attr_destroy(&attr);
    return ret;
}

/* It begins with the mask of who makes it. */
static int attend_create_masked(ri_mailbox_rx_t *rx)
{
    sigset_t mask, before;
    int ret;

    attend_mask(&mask);
    pthread_sigmask(SIG_SETMASK, &mask, &before);
    ret = attend_create(rx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ret;
}

void ri_attend_start(void)
{
    ri_mailbox_rx_t *rx = atomic_load(&ri_serve_mailbox);

    ri_region_lock();
    if (ri_config.rma_thread && (attend_generation != ri_process_generation + 1)) {
        attend_generation = ri_process_generation + 1;
        if (attend_create_masked(rx) == 0) {
            ri_mailbox_rx_announce_thread(rx, 1);
        } else {
            ri_info("one-sided: no thread for atomic operations, which wait for "
                    "progress");
        }
    }
    ri_region_unlock();
}
