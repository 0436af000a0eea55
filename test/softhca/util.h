/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_UTIL_H_
#define SH_UTIL_H_

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define sh_min(_a, _b) (((_a) < (_b)) ? (_a) : (_b))
#define sh_max(_a, _b) (((_a) > (_b)) ? (_a) : (_b))

#define sh_container_of(_pointer, _type, _member) \
    ((_type *)(void *)((char *)(_pointer)-offsetof(_type, _member)))

/** CLOCK_MONOTONIC in nanoseconds, which all processes of the host share. */
static inline uint64_t sh_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000UL + (uint64_t)ts.tv_nsec;
}

static inline void sh_sleep_ns(long ns)
{
    struct timespec ts = {.tv_sec = ns / 1000000000L, .tv_nsec = ns % 1000000000L};

    nanosleep(&ts, NULL);
}

/** A lock whose owner runs with the priority of those that wait for it: the agent may have
 * a higher one than the program. */
static inline void sh_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

/** The smallest power of two that is at least @a value. */
static inline uint32_t sh_roundup_pow2(uint32_t value)
{
    uint32_t power = 1;

    while (power < value) {
        power <<= 1;
    }
    return power;
}

#endif
