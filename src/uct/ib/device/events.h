/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device tells of itself, and of queue pairs, without having been asked. One process reads
 * it once, whoever looks first; it concerns the planes of all workers, each of which has its own
 * thread. So what counts is kept, and each plane goes through what it has not seen.
 */
#ifndef RI_IB_DEVICE_EVENTS_H
#define RI_IB_DEVICE_EVENTS_H

#include "device_types.h"

#if HAVE_VERBS

/* Calls of a plane's progress from one look to the next, at most: it costs a call of the system. A
 * program that calls progress seldom would wait for long, so the time counts, too. */
#define RI_IB_EVENTS_CALLS 4096u

/** Set up the events of a device that has been opened, which can be asked without waiting from now
 * on. If it cannot tell any, none ever come. */
void ri_ib_events_open(ri_ib_device_t *device);

/** A plane is opened: it is not told of the events before.
 * @param seen  Set up. */
void ri_ib_events_start(ri_ib_device_t *device, ri_ib_events_seen_t *seen);

/**
 * Read what the device has told, and call @a func, with no lock held, for each event that the plane
 * has not seen. If there were too many the oldest are left out: work requests fail sooner or later,
 * too. That the device has failed is never left out, and is told once, before all others. That its
 * port has another address is never left out either, unless the failure is told by the call: as
 * IBV_EVENT_LID_CHANGE, whatever has changed.
 *
 * @param arg  For @a func.
 */
void ri_ib_events_look(ri_ib_device_t *device, ri_ib_events_seen_t *seen,
                       void (*func)(void *arg, const ri_ib_event_t *event), void *arg);

/** Look at the clock, and do what ri_ib_events_look() does if it is time to. */
void ri_ib_events_tick(ri_ib_device_t *device, ri_ib_events_seen_t *seen,
                       void (*func)(void *arg, const ri_ib_event_t *event), void *arg);

/** Read what the device has told, which planes are told when they look. Any thread.
 * @return Whether the device has failed. */
int ri_ib_events_is_fatal(ri_ib_device_t *device);

/**
 * Destroy a queue pair, and forget what was told of it: the next one may get its number. Nobody
 * reads events meanwhile, so that none of it comes later either.
 *
 * @return 0 or an error number: it is there still, but what was told of it is forgotten.
 */
int ri_ib_events_destroy_qp(ri_ib_device_t *device, struct ibv_qp *qp);

/** Do what ri_ib_events_destroy_qp() does with a completion queue. @return 0 or an error number. */
int ri_ib_events_destroy_cq(ri_ib_device_t *device, struct ibv_cq *cq);

/**
 * Destroy a queue pair, and forget what was told of it. One that cannot be destroyed is left until
 * the process ends: in RESET, where it accesses no memory.
 *
 * @param may_write  Memory may be written by it that is used for something else from now on. If it
 *                   cannot be reset either the process ends, unless the device has failed.
 *
 * @return Whether it is gone. If not, what it uses must stay.
 */
int ri_ib_events_end_qp(ri_ib_device_t *device, struct ibv_qp *qp, int may_write);

/** Destroy a completion queue, and forget what was told of it. That it cannot be destroyed does no
 * harm. */
void ri_ib_events_end_cq(ri_ib_device_t *device, struct ibv_cq *cq);

/** Do what ri_ib_events_look() does, now and then: to be called by each progress of a plane. */
static inline void ri_ib_events_progress(ri_ib_device_t *device,
                                         ri_ib_events_seen_t *seen,
                                         void (*func)(void *, const ri_ib_event_t *),
                                         void *arg)
{
    if (ri_unlikely(--seen->calls == 0)) {
        ri_ib_events_tick(device, seen, func, arg);
    }
}

#endif

#endif
