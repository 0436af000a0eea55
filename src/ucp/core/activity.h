/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library has done for the application, and when. By that is told later whether the
 * application was busy with something else while a receive waited for its message
 * (proto/rtr/rtr_learn.c).
 */
#ifndef RI_ACTIVITY_H
#define RI_ACTIVITY_H

#include "worker.h"
#include "../../ucs/clock.h"

/* To read so many bytes takes about as long as the time between two progress calls of an
 * application that does nothing else, or less. */
#define RI_ACTIVITY_POLL_BYTES 16384

/** @return Microseconds, modulo 2^32. */
static inline uint32_t ri_activity_clock(void)
{
    return (uint32_t)(uint64_t)(ri_time() * 1e6);
}

/** A long message of this process has been received. */
static inline void ri_activity_note_message(ri_worker_t *worker)
{
    worker->active_us = ri_activity_clock();
}

/** The library is about to read a message of @a length bytes: it is busy itself then, and the
 * application is not. */
static inline void ri_activity_note_reading(ri_worker_t *worker, size_t length)
{
    worker->polls += length / RI_ACTIVITY_POLL_BYTES;
}

#endif
