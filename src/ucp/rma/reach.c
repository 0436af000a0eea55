/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of the ways that are in use: processes of one host are not many.
 */
#include "reach.h"
#include "../../ucs/clock.h"
#include "../../ucs/process.h"
#include "../../ucs/settings.h"

#include <ucs/datastruct/list.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* For so many seconds a process that was seen is not looked for again. */
#define REACH_PROVED 0.1

static struct {
    pthread_mutex_t lock;
    unsigned generation; /* of the process that has opened the plane */
    int opened;          /* it was tried */
    ri_plane_t *plane;   /* NULL: there is none */
    ri_host_process_t self;
    ucs_list_link_t ways;
} reach = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void reach_lock(void)
{
    pthread_mutex_lock(&reach.lock);
}

static void reach_unlock(void)
{
    pthread_mutex_unlock(&reach.lock);
}

/* A child by fork() has the lock as it is then, and not the thread that would unlock it. */
static void __attribute__((constructor)) reach_guard_forks(void)
{
    pthread_atfork(reach_lock, reach_unlock, reach_unlock);
}

/* A child by fork() has nothing of its parent's: it must not be found at the parent's address, and
 * leaves the parent's ways alone. */
static void reach_open(void)
{
    if (reach.opened && (reach.generation == ri_process_generation)) {
        return;
    }
    reach.opened     = 1;
    reach.generation = ri_process_generation;
    reach.plane      = NULL;
    reach.self       = ri_host_process_self();
    ucs_list_head_init(&reach.ways);
    if (ri_config.cma && (ri_plane_cma.open(&reach.plane) != UCS_OK)) {
        reach.plane = NULL;
    }
    if ((reach.plane != NULL) && !(reach.plane->capabilities & RI_PLANE_WRITE)) {
        reach.plane->ops->close(reach.plane);
        reach.plane = NULL;
    }
}

size_t ri_reach_address(void *address)
{
    size_t length = 0;

    reach_lock();
    reach_open();
    if (reach.plane != NULL) {
        length = reach.plane->ops->address(reach.plane, address);
    }
    reach_unlock();
    return length;
}

static ri_reach_t *reach_find(const void *address, size_t length)
{
    ri_reach_t *way;

    ucs_list_for_each(way, &reach.ways, list) {
        if ((way->length == length) && !memcmp(way->address, address, length)) {
            return way;
        }
    }
    return NULL;
}

static ri_reach_t *reach_connect(const void *address, size_t length)
{
    ri_reach_t *way = calloc(1, sizeof(*way));

    if (way == NULL) {
        return NULL;
    }
    if (reach.plane->ops->connect(reach.plane, address, length, &way->ep) != UCS_OK) {
        free(way);
        return NULL;
    }
    way->length     = length;
    way->lost       = UCS_OK;
    way->proved     = ri_clock_now();
    way->generation = ri_process_generation;
    memcpy(way->address, address, length);
    ucs_list_add_tail(&reach.ways, &way->list);
    return way;
}

ri_reach_t *ri_reach_get(const void *address, size_t length)
{
    ri_reach_t *way = NULL;

    if ((length == 0) || (length > RI_PLANE_ADDRESS_MAX)) {
        return NULL;
    }
    reach_lock();
    reach_open();
    if (reach.plane != NULL) {
        way = reach_find(address, length);
        way = (way != NULL) ? way : reach_connect(address, length);
    }
    if (way != NULL) {
        ++way->users;
    }
    reach_unlock();
    return way;
}

void ri_reach_open_mail(ri_reach_t *way, uint32_t pid, uint32_t fd)
{
    while (!ri_reach_trylock(way)) {
        sched_yield();
    }
    if (!way->has_tried) {
        way->has_tried = 1;
        ri_mailbox_tx_open(&way->mail, pid, fd);
        way->oldest = way->mail.next;
    }
    ri_reach_unlock(way);
}

ri_host_process_t ri_reach_self(void)
{
    ri_host_process_t self;

    reach_lock();
    reach_open();
    self = reach.self;
    reach_unlock();
    return self;
}

int ri_reach_works(void)
{
    int works;

    reach_lock();
    reach_open();
    works = (reach.plane != NULL);
    reach_unlock();
    return works;
}

int ri_reach_is_there(ri_reach_t *way)
{
    double now = ri_clock_now();

    if (now - way->proved < REACH_PROVED) {
        return 1;
    }
    if (way->ep->plane->ops->check(way->ep) != UCS_OK) {
        return 0;
    }
    way->proved = now;
    return 1;
}

void ri_reach_hold(ri_reach_t *way)
{
    reach_lock();
    ++way->users;
    reach_unlock();
}

/* In a child by fork() the slot, and the list, are the parent's. */
static void reach_free(ri_reach_t *way)
{
    if (way->generation == ri_process_generation) {
        ucs_list_del(&way->list);
        ri_mailbox_tx_close(&way->mail);
        way->ep->plane->ops->disconnect(way->ep);
    }
    free(way);
}

void ri_reach_put(ri_reach_t *way)
{
    if (way == NULL) {
        return;
    }
    reach_lock();
    if (--way->users == 0) {
        reach_free(way);
    }
    reach_unlock();
}
