/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whoever looks first reads all events of the device into a ring, under a lock. Queue pairs and
 * completion queues are destroyed here, too, so that what was told of one is forgotten with it.
 */
#include "events.h"
#include "address.h"

#if HAVE_VERBS

#include "../../../ucs/log.h"
#include "../../../ucs/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Events of any kind that one look takes: a device at fault must not keep the process busy. */
#define EVENTS_BATCH 256

/* In seconds: from one look to the next of a program that calls progress seldom, and from when
 * on it does. */
#define EVENTS_INTERVAL 0.1
#define EVENTS_SELDOM   0.01

/* Calls from one look at the time to the next, unless they are seldom. */
#define EVENTS_STEP 64

void ri_ib_events_open(ri_ib_device_t *device)
{
    int fd    = device->context->async_fd;
    int flags = (ri_verbs.get_async_event != NULL) && (ri_verbs.ack_async_event != NULL) ?
                        fcntl(fd, F_GETFL) :
                        -1;

    pthread_mutex_init(&device->events.lock, NULL);
    device->events.is_open = (flags >= 0) &&
                             (fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
}

/* @return Whether an event may mean that a port has another address. */
static int events_is_of_address(enum ibv_event_type type)
{
    return (type == IBV_EVENT_LID_CHANGE) || (type == IBV_EVENT_GID_CHANGE) ||
           (type == IBV_EVENT_PKEY_CHANGE) || (type == IBV_EVENT_CLIENT_REREGISTER) ||
           (type == IBV_EVENT_SM_CHANGE) || (type == IBV_EVENT_PORT_ACTIVE);
}

/* Keep what a plane has to know. @a what stays with the device until it is acknowledged. */
static void events_note(ri_ib_device_t *device, const struct ibv_async_event *what)
{
    ri_ib_events_t *events = &device->events;
    ri_ib_event_t event    = {.type = what->event_type};
    const char *name       = ri_verbs.get_device_name(device->context->device);

    switch (what->event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        event.qp = what->element.qp->qp_num;
        ri_info("%s: queue pair %u has failed (event %d)", name, event.qp, event.type);
        break;
    case IBV_EVENT_CQ_ERR:
        event.cq = what->element.cq;
        ri_warn("%s: a completion queue has failed", name);
        break;
    case IBV_EVENT_DEVICE_FATAL:
        events->is_fatal = 1;
        ri_warn("%s: the device has failed: no more transfers by verbs", name);
        return;
    case IBV_EVENT_PORT_ERR:
        /* The port may be back before the device gives anything up. */
        if (what->element.port_num == device->port) {
            ri_warn("%s: port %u is down", name, device->port);
        }
        return;
    default:
        ri_debug("%s: event %d", name, what->event_type);
        return;
    }
    events->ring[events->count++ % RI_IB_EVENTS_KEPT] = event;
}

/* With the lock held. */
static void events_read(ri_ib_device_t *device)
{
    struct ibv_async_event what;
    int i, is_of_address = 0;

    for (i = 0; (i < EVENTS_BATCH) && device->events.is_open; ++i) {
        if (ri_verbs.get_async_event(device->context, &what) != 0) {
            break;
        }
        events_note(device, &what);
        is_of_address |= events_is_of_address(what.event_type) &&
                         (what.element.port_num == device->port);
        ri_verbs.ack_async_event(&what);
    }
    if (is_of_address) {
        ri_ib_address_update(device);
    }
}

static void events_seen_looked(ri_ib_events_seen_t *seen)
{
    seen->calls = seen->step = 1;
    seen->total              = 0;
    seen->ticked = seen->looked = ri_clock_now();
}

void ri_ib_events_start(ri_ib_device_t *device, ri_ib_events_seen_t *seen)
{
    events_seen_looked(seen);
    pthread_mutex_lock(&device->events.lock);
    seen->count      = device->events.count;
    seen->moves      = device->address.moves;
    seen->fatal_told = 0;
    pthread_mutex_unlock(&device->events.lock);
}

void ri_ib_events_look(ri_ib_device_t *device, ri_ib_events_seen_t *seen,
                       void (*func)(void *arg, const ri_ib_event_t *event), void *arg)
{
    static const ri_ib_event_t fatal = {.type = IBV_EVENT_DEVICE_FATAL};
    static const ri_ib_event_t moved = {.type = IBV_EVENT_LID_CHANGE};
    ri_ib_event_t news[RI_IB_EVENTS_KEPT];
    ri_ib_events_t *events = &device->events;
    unsigned i, count;
    int is_fatal, is_moved;

    events_seen_looked(seen);
    pthread_mutex_lock(&events->lock);
    events_read(device);
    count = ri_min(events->count - seen->count, (unsigned)RI_IB_EVENTS_KEPT);
    for (i = 0; i < count; ++i) {
        news[i] = events->ring[(events->count - count + i) % RI_IB_EVENTS_KEPT];
    }
    is_moved    = (device->address.moves != seen->moves);
    is_fatal    = events->is_fatal;
    seen->count = events->count;
    seen->moves = device->address.moves;
    pthread_mutex_unlock(&events->lock);

    if (is_fatal && !seen->fatal_told) {
        seen->fatal_told = 1;
        func(arg, &fatal);
    } else if (is_moved) {
        func(arg, &moved);
    }
    for (i = 0; i < count; ++i) {
        if ((news[i].qp != 0) || (news[i].cq != NULL)) {
            func(arg, &news[i]);
        }
    }
}

void ri_ib_events_tick(ri_ib_device_t *device, ri_ib_events_seen_t *seen,
                       void (*func)(void *arg, const ri_ib_event_t *event), void *arg)
{
    double now = ri_clock_now();

    seen->total += seen->step;
    if ((seen->total + EVENTS_STEP > RI_IB_EVENTS_CALLS) ||
        (now - seen->looked >= EVENTS_INTERVAL)) {
        ri_ib_events_look(device, seen, func, arg);
        return;
    }
    seen->step   = ((now - seen->ticked) * EVENTS_STEP >= EVENTS_SELDOM * seen->step) ?
                           1 :
                           EVENTS_STEP;
    seen->calls  = seen->step;
    seen->ticked = now;
}

int ri_ib_events_is_fatal(ri_ib_device_t *device)
{
    int is_fatal;

    pthread_mutex_lock(&device->events.lock);
    events_read(device);
    is_fatal = device->events.is_fatal;
    pthread_mutex_unlock(&device->events.lock);
    return is_fatal;
}

/* With the lock held: what was told of a queue pair, or of a completion queue. */
static void events_forget(ri_ib_device_t *device, uint32_t qp, const struct ibv_cq *cq)
{
    ri_ib_event_t *event;
    unsigned i;

    events_read(device);
    for (i = 0; i < RI_IB_EVENTS_KEPT; ++i) {
        event = &device->events.ring[i];
        if ((event->qp == qp) && (event->cq == cq)) {
            event->qp = 0;
            event->cq = NULL;
        }
    }
}

int ri_ib_events_destroy_qp(ri_ib_device_t *device, struct ibv_qp *qp)
{
    int ret;

    pthread_mutex_lock(&device->events.lock);
    events_forget(device, qp->qp_num, NULL);
    ret = ri_verbs.destroy_qp(qp);
    pthread_mutex_unlock(&device->events.lock);
    return ret;
}

int ri_ib_events_destroy_cq(ri_ib_device_t *device, struct ibv_cq *cq)
{
    int ret;

    pthread_mutex_lock(&device->events.lock);
    events_forget(device, 0, cq);
    ret = ri_verbs.destroy_cq(cq);
    pthread_mutex_unlock(&device->events.lock);
    return ret;
}

int ri_ib_events_end_qp(ri_ib_device_t *device, struct ibv_qp *qp, int may_write)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
    int error               = ri_ib_events_destroy_qp(device, qp);
    int ret;

    if (ri_likely(error == 0)) {
        return 1;
    }
    ret = ri_verbs.modify_qp(qp, &attr, IBV_QP_STATE);
    ri_error("a queue pair cannot be destroyed: %s", strerror(error));
    /* A device that has failed writes no more. Its requests may have failed before anybody looked
     * why. */
    if ((ret != 0) && may_write && !ri_ib_events_is_fatal(device)) {
        ri_error("a queue pair can be neither destroyed nor reset: %s; the process ends "
                 "before its memory is overwritten",
                 strerror(ret));
        abort();
    }
    return 0;
}

void ri_ib_events_end_cq(ri_ib_device_t *device, struct ibv_cq *cq)
{
    int ret = ri_ib_events_destroy_cq(device, cq);

    if (ret != 0) {
        ri_debug("a completion queue cannot be destroyed: %s", strerror(ret));
    }
}

#endif
