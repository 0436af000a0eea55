/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of the reaches: processes of one host are not many. Programs make one window after the
 * other between the same processes, and to open a mailbox takes tens of microseconds. So reaches
 * that nobody uses are kept.
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

/* Number of reaches that are kept without users. */
#define REACHES_KEPT RI_MAILBOX_SLOTS

/* Seconds for which a process that was seen is not looked for again. */
#define REACH_PROVED 0.1

static struct {
    pthread_mutex_t lock;
    unsigned generation; /* of the process that has opened the plane */
    int opened;          /* opening was tried */
    ri_plane_t *plane;   /* NULL: there is none */
    ri_host_process_t self;
    ucs_list_link_t list;
    unsigned kept; /* reaches without users */
} reaches = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void reach_lock(void)
{
    pthread_mutex_lock(&reaches.lock);
}

static void reach_unlock(void)
{
    pthread_mutex_unlock(&reaches.lock);
}

/* A child by fork() has the lock as it is then, and not the thread that would unlock it. */
static void __attribute__((constructor)) reach_guard_forks(void)
{
    pthread_atfork(reach_lock, reach_unlock, reach_unlock);
}

/* A child by fork() has nothing of its parent's: it must not be found at the parent's address, and
 * leaves the parent's reaches alone. */
static void reach_open(void)
{
    if (reaches.opened && (reaches.generation == ri_process_generation)) {
        return;
    }
    reaches.opened     = 1;
    reaches.generation = ri_process_generation;
    reaches.plane      = NULL;
    reaches.self       = ri_host_process_self();
    reaches.kept       = 0;
    ucs_list_head_init(&reaches.list);
    if (ri_config.cma && (ri_plane_cma.open(&reaches.plane) != UCS_OK)) {
        reaches.plane = NULL;
    }
    if ((reaches.plane != NULL) && !(reaches.plane->capabilities & RI_PLANE_WRITE)) {
        reaches.plane->ops->close(reaches.plane);
        reaches.plane = NULL;
    }
}

size_t ri_reach_address(void *address)
{
    size_t length = 0;

    reach_lock();
    reach_open();
    if (reaches.plane != NULL) {
        length = reaches.plane->ops->address(reaches.plane, address);
    }
    reach_unlock();
    return length;
}

static ri_reach_t *reach_find(const void *address, size_t length)
{
    ri_reach_t *reach;

    ucs_list_for_each(reach, &reaches.list, list) {
        if ((reach->length == length) && !memcmp(reach->address, address, length)) {
            return reach;
        }
    }
    return NULL;
}

static ri_reach_t *reach_connect(const void *address, size_t length)
{
    ri_reach_t *reach = calloc(1, sizeof(*reach));

    if (reach == NULL) {
        return NULL;
    }
    if (reaches.plane->ops->connect(reaches.plane, address, length, &reach->ep) !=
        UCS_OK) {
        free(reach);
        return NULL;
    }
    reach->length     = length;
    reach->lost       = UCS_OK;
    reach->proved     = ri_clock_now();
    reach->generation = ri_process_generation;
    memcpy(reach->address, address, length);
    ucs_list_add_tail(&reaches.list, &reach->list);
    return reach;
}

/* In a child by fork() the slot, and the list, are the parent's. */
static void reach_free(ri_reach_t *reach)
{
    if (reach->generation == ri_process_generation) {
        ucs_list_del(&reach->list);
        ri_mailbox_tx_close(&reach->mail);
        reach->ep->plane->ops->disconnect(reach->ep);
    }
    free(reach);
}

/* @return A reach that has users, or that is kept and leads to a process that is there still; or
 * NULL. */
static ri_reach_t *reach_find_living(const void *address, size_t length)
{
    ri_reach_t *reach = reach_find(address, length);

    if ((reach == NULL) || !reach->is_kept) {
        return reach;
    }
    --reaches.kept;
    reach->is_kept = 0;
    reach->proved  = 0;
    if (!ri_reach_is_there(reach)) {
        reach_free(reach);
        return NULL;
    }
    return reach;
}

ri_reach_t *ri_reach_get(const void *address, size_t length)
{
    ri_reach_t *reach = NULL;

    if ((length == 0) || (length > RI_PLANE_ADDRESS_MAX)) {
        return NULL;
    }
    reach_lock();
    reach_open();
    if (reaches.plane != NULL) {
        reach = reach_find_living(address, length);
        reach = (reach != NULL) ? reach : reach_connect(address, length);
    }
    if (reach != NULL) {
        ++reach->users;
    }
    reach_unlock();
    return reach;
}

void ri_reach_open_mail(ri_reach_t *reach, uint32_t pid, uint32_t fd)
{
    while (!ri_reach_trylock(reach)) {
        sched_yield();
    }
    if (!reach->has_tried) {
        reach->has_tried = 1;
        ri_mailbox_tx_open(&reach->mail, pid, fd);
        reach->oldest = reach->mail.next;
    }
    ri_reach_unlock(reach);
}

ri_host_process_t ri_reach_self(void)
{
    ri_host_process_t self;

    reach_lock();
    reach_open();
    self = reaches.self;
    reach_unlock();
    return self;
}

int ri_reach_works(void)
{
    int works;

    reach_lock();
    reach_open();
    works = (reaches.plane != NULL);
    reach_unlock();
    return works;
}

int ri_reach_is_there(ri_reach_t *reach)
{
    double now = ri_clock_now();

    if (now - reach->proved < REACH_PROVED) {
        return 1;
    }
    if (reach->ep->plane->ops->check(reach->ep) != UCS_OK) {
        return 0;
    }
    reach->proved = now;
    return 1;
}

void ri_reach_hold(ri_reach_t *reach)
{
    reach_lock();
    ++reach->users;
    reach_unlock();
}

/* Keep a reach that nobody uses any more, or free it. The one that was kept for longest makes
 * way. */
static void reach_leave(ri_reach_t *reach)
{
    ri_reach_t *oldest;

    if (ri_reach_is_out(reach) || (reach->mail.area == NULL) ||
        (reach->generation != ri_process_generation)) {
        reach_free(reach);
        return;
    }
    if (reaches.kept == REACHES_KEPT) {
        ucs_list_for_each(oldest, &reaches.list, list) {
            if (oldest->is_kept) {
                --reaches.kept;
                reach_free(oldest);
                break;
            }
        }
    }
    reach->is_kept = 1;
    ++reaches.kept;
    ucs_list_del(&reach->list);
    ucs_list_add_tail(&reaches.list, &reach->list);
}

void ri_reach_put(ri_reach_t *reach)
{
    if (reach == NULL) {
        return;
    }
    reach_lock();
    if (--reach->users == 0) {
        reach_leave(reach);
    }
    reach_unlock();
}
