/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "device_events.h"

#if HAVE_VERBS

#include "../../ucp/core/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Events of any kind that one look takes: a device at fault must not keep the process busy. */
#define EVENTS_BATCH 256

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
        /* It may be back before anything is given up by the device. */
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
    int i;

    for (i = 0; (i < EVENTS_BATCH) && device->events.is_open; ++i) {
        if (ri_verbs.get_async_event(device->context, &what) != 0) {
            return;
        }
        events_note(device, &what);
        ri_verbs.ack_async_event(&what);
    }
}

void ri_ib_events_start(ri_ib_device_t *device, ri_ib_events_seen_t *seen)
{
    pthread_mutex_lock(&device->events.lock);
    seen->count      = device->events.count;
    seen->calls      = 0;
    seen->fatal_told = 0;
    pthread_mutex_unlock(&device->events.lock);
}

void ri_ib_events_look(ri_ib_device_t *device, ri_ib_events_seen_t *seen,
                       void (*func)(void *arg, const ri_ib_event_t *event), void *arg)
{
    static const ri_ib_event_t fatal = {.type = IBV_EVENT_DEVICE_FATAL};
    ri_ib_event_t news[RI_IB_EVENTS_KEPT];
    ri_ib_events_t *events = &device->events;
    unsigned i, count;
    int is_fatal;

    seen->calls = 0;
    pthread_mutex_lock(&events->lock);
    events_read(device);
    count = ri_min(events->count - seen->count, (unsigned)RI_IB_EVENTS_KEPT);
    for (i = 0; i < count; ++i) {
        news[i] = events->ring[(events->count - count + i) % RI_IB_EVENTS_KEPT];
    }
    seen->count = events->count;
    is_fatal    = events->is_fatal;
    pthread_mutex_unlock(&events->lock);

    if (is_fatal && !seen->fatal_told) {
        seen->fatal_told = 1;
        func(arg, &fatal);
    }
    for (i = 0; i < count; ++i) {
        if ((news[i].qp != 0) || (news[i].cq != NULL)) {
            func(arg, &news[i]);
        }
    }
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
        ri_error("nor can it be reset: %s; the process ends before its memory is "
                 "overwritten",
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
