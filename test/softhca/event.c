/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Asynchronous events and completion channels: lists behind an eventfd, which is readable
 * as long as the list is not empty. Each event writes to it, so that edge triggered polling
 * works too. Nothing but this file reads it, with the list's lock held, so nobody ever
 * blocks in a read.
 */
#include "export.h"
#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int sh_event_queue_init(sh_event_queue_t *queue)
{
    queue->fd = eventfd(0, EFD_CLOEXEC);
    if (queue->fd < 0) {
        return -1;
    }
    pthread_mutex_init(&queue->lock, NULL);
    queue->head = NULL;
    queue->end  = &queue->head;
    return 0;
}

void sh_event_queue_cleanup(sh_event_queue_t *queue)
{
    sh_event_t *event;

    while ((event = queue->head) != NULL) {
        queue->head = event->next;
        free(event);
    }
    close(queue->fd);
}

static void event_add(sh_event_queue_t *queue, sh_event_t *event)
{
    uint64_t one = 1;

    event->next = NULL;
    pthread_mutex_lock(&queue->lock);
    *queue->end = event;
    queue->end  = &event->next;
    if (write(queue->fd, &one, sizeof(one)) != sizeof(one)) {
        /* The count is at its limit, so the descriptor is readable */
    }
    pthread_mutex_unlock(&queue->lock);
}

/* With the lock held. */
static void event_unlink(sh_event_queue_t *queue, sh_event_t **link)
{
    sh_event_t *event = *link;
    uint64_t count;

    *link = event->next;
    if (queue->end == &event->next) {
        queue->end = link;
    }
    if ((queue->head == NULL) &&
        (read(queue->fd, &count, sizeof(count)) != sizeof(count))) {
        /* It was readable: there was an event */
    }
}

/* Take the first event, and mark it as given out; wait for one if the descriptor is
 * blocking. @return 0, or -1 with errno. */
static int event_get(sh_event_queue_t *queue, sh_event_t *event,
                     void (*mark)(const sh_event_t *event))
{
    struct pollfd pollfd = {.fd = queue->fd, .events = POLLIN};
    sh_event_t *first;

    for (;;) {
        pthread_mutex_lock(&queue->lock);
        first = queue->head;
        if (first != NULL) {
            event_unlink(queue, &queue->head);
            mark(first);
            pthread_mutex_unlock(&queue->lock);
            *event = *first;
            free(first);
            return 0;
        }
        pthread_mutex_unlock(&queue->lock);
        if (fcntl(queue->fd, F_GETFL) & O_NONBLOCK) {
            errno = EAGAIN;
            return -1;
        }
        if (poll(&pollfd, 1, -1) < 0) {
            return -1;
        }
    }
}

/* The count of events that somebody got for the object of an async event, or NULL. */
static uint32_t *event_given(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        return &((sh_cq_t *)(void *)event->element.cq)->async_events;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return &((sh_qp_t *)(void *)event->element.qp)->async_events;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return &((sh_srq_t *)(void *)event->element.srq)->async_events;
    default:
        return NULL;
    }
}

static void event_mark_async(const sh_event_t *event)
{
    uint32_t *given = event_given(&event->async);

    if (given != NULL) {
        ++*given;
    }
}

static void event_mark_cq(const sh_event_t *event)
{
    ++((sh_cq_t *)(void *)event->cq)->comp_events;
}

/* rxe reports no such event, unless a fault wants one. */
static int event_is_silent(enum ibv_event_type type)
{
    return sh_settings.like_rxe && (sh_settings.faults.event_after == 0) &&
           ((type == IBV_EVENT_COMM_EST) || (type == IBV_EVENT_QP_LAST_WQE_REACHED) ||
            (type == IBV_EVENT_QP_ACCESS_ERR) || (type == IBV_EVENT_QP_REQ_ERR));
}

void sh_async_event(struct ibv_context *context, enum ibv_event_type type, void *element)
{
    sh_event_t *event = event_is_silent(type) ? NULL : calloc(1, sizeof(*event));

    if (event != NULL) {
        event->async.event_type = type;
        event->async.element.cq = element;
        event_add(&sh_context(context)->events, event);
    }
}

void sh_channel_event(sh_channel_t *channel, struct ibv_cq *cq)
{
    sh_event_t *event = calloc(1, sizeof(*event));

    if (event != NULL) {
        event->cq = cq;
        event_add(&channel->events, event);
    }
}

/* Wait until all events that were given out are acknowledged. */
static void event_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond,
                             const uint32_t *given, const uint32_t *acked)
{
    pthread_mutex_lock(mutex);
    while (*given != *acked) {
        pthread_cond_wait(cond, mutex);
    }
    pthread_mutex_unlock(mutex);
}

void sh_async_remove(struct ibv_context *context, void *element, pthread_mutex_t *mutex,
                     pthread_cond_t *cond, const uint32_t *given, const uint32_t *acked)
{
    sh_event_queue_t *queue = &sh_context(context)->events;
    sh_event_t **link, *event;

    pthread_mutex_lock(&queue->lock);
    for (link = &queue->head; (event = *link) != NULL;) {
        if (event->async.element.cq == element) {
            event_unlink(queue, link);
            free(event);
        } else {
            link = &event->next;
        }
    }
    pthread_mutex_unlock(&queue->lock);
    event_wait_acked(mutex, cond, given, acked);
}

void sh_channel_remove(sh_channel_t *channel, sh_cq_t *cq)
{
    sh_event_queue_t *queue = &channel->events;
    sh_event_t **link, *event;

    pthread_mutex_lock(&queue->lock);
    for (link = &queue->head; (event = *link) != NULL;) {
        if (event->cq == &cq->super) {
            event_unlink(queue, link);
            free(event);
        } else {
            link = &event->next;
        }
    }
    pthread_mutex_unlock(&queue->lock);
    event_wait_acked(&cq->super.mutex, &cq->super.cond, &cq->comp_events,
                     &cq->super.comp_events_completed);
}

SH_EXPORT int ibv_get_async_event(struct ibv_context *context,
                                  struct ibv_async_event *async)
{
    sh_event_t event;

    if (event_get(&sh_context(context)->events, &event, event_mark_async)) {
        return -1;
    }
    *async = event.async;
    return 0;
}

static void event_ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *acked,
                      unsigned count)
{
    pthread_mutex_lock(mutex);
    *acked += count;
    pthread_cond_broadcast(cond);
    pthread_mutex_unlock(mutex);
}

SH_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        event_ack(&event->element.cq->mutex, &event->element.cq->cond,
                  &event->element.cq->async_events_completed, 1);
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        event_ack(&event->element.srq->mutex, &event->element.srq->cond,
                  &event->element.srq->events_completed, 1);
        break;
    default:
        if (event_given(event) != NULL) {
            event_ack(&event->element.qp->mutex, &event->element.qp->cond,
                      &event->element.qp->events_completed, 1);
        }
    }
}

SH_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    sh_channel_t *channel = calloc(1, sizeof(*channel));

    if (channel == NULL) {
        return NULL;
    }
    if (sh_event_queue_init(&channel->events)) {
        free(channel);
        return NULL;
    }
    channel->super.context = context;
    channel->super.fd      = channel->events.fd;
    return &channel->super;
}

SH_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *super)
{
    sh_channel_t *channel = (sh_channel_t *)(void *)super;

    if (sh_context_valid(super->context) &&
        (__atomic_load_n(&super->refcnt, __ATOMIC_RELAXED) != 0)) {
        return EBUSY;
    }
    sh_event_queue_cleanup(&channel->events);
    free(channel);
    return 0;
}

SH_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
                               void **cq_context)
{
    sh_event_t event;

    if (event_get(&((sh_channel_t *)(void *)channel)->events, &event, event_mark_cq)) {
        return -1;
    }
    *cq         = event.cq;
    *cq_context = event.cq->cq_context;
    return 0;
}

SH_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
    event_ack(&cq->mutex, &cq->cond, &cq->comp_events_completed, nevents);
}
