/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device tells of itself, and of queue pairs, without having been asked. One process reads it
 * once, whoever looks first; it concerns the planes of all workers, each of which has its own
 * thread. So what counts is kept, and each plane goes through what it has not seen.
 */
#ifndef RI_IB_DEVICE_EVENTS_H
#define RI_IB_DEVICE_EVENTS_H

#include "device.h"

#if HAVE_VERBS

/* Calls of a plane's progress from one look to the next, at most: it costs a call of the system. A
 * program that calls progress seldom would wait for long, so the time counts, too. */
#define RI_IB_EVENTS_CALLS 4096u

/** Let the device be asked without waiting. */
void ri_ib_events_open(ri_ib_device_t *device);

/** What there was before a plane was opened is not its own. */
void ri_ib_events_start(ri_ib_device_t *device, ri_ib_events_seen_t *seen);

/**
 * Read what the device has told, and call @a func for each event that the plane has not seen. If
 * there were too many the oldest are left out: work requests fail sooner or later, too. That the
 * device has failed is never left out, and is told once. So is that its port has another address: as
 * IBV_EVENT_LID_CHANGE, whatever has changed.
 *
 * @param arg  For @a func.
 */
void ri_ib_events_look(ri_ib_device_t *device, ri_ib_events_seen_t *seen,
                       void (*func)(void *arg, const ri_ib_event_t *event), void *arg);

/** As that, if it is time to. */
void ri_ib_events_tick(ri_ib_device_t *device, ri_ib_events_seen_t *seen,
                       void (*func)(void *arg, const ri_ib_event_t *event), void *arg);

/** Read what the device has told. @return Whether it has failed. */
int ri_ib_events_is_fatal(ri_ib_device_t *device);

/**
 * Destroy a queue pair or a completion queue, and forget what was told of it: the next one may get
 * its number or address. Nobody reads events meanwhile, so that none of it comes later either.
 *
 * @return 0 or an error number.
 */
int ri_ib_events_destroy_qp(ri_ib_device_t *device, struct ibv_qp *qp);
int ri_ib_events_destroy_cq(ri_ib_device_t *device, struct ibv_cq *cq);

/**
 * The same, for good. A queue pair that cannot be destroyed is left to the end of the process: in
 * RESET, where it accesses no memory.
 *
 * @param may_write  Memory may be written by it that is used for something else from now on. If it
 *                   cannot be reset either the process ends, unless the device has failed.
 *
 * @return Whether it is gone. If not, what it uses must stay.
 */
int ri_ib_events_end_qp(ri_ib_device_t *device, struct ibv_qp *qp, int may_write);

/** A completion queue of which that does not matter. */
void ri_ib_events_end_cq(ri_ib_device_t *device, struct ibv_cq *cq);

/** Look now and then. */
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
