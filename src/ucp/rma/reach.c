/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of the ways that are in use: processes of one host are not many.
 */
#include "reach.h"
#include "../../ucs/process.h"
#include "../../ucs/settings.h"

#include <ucs/datastruct/list.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    unsigned generation; /* of the process that has opened the plane */
    int opened;          /* it was tried */
    ri_plane_t *plane;   /* NULL: there is none */
    ucs_list_link_t ways;
} reach = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
    ucs_list_head_init(&reach.ways);
    if (ri_config.cma && (ri_plane_cma.open(&reach.plane) != UCS_OK)) {
        reach.plane = NULL;
    }
}

size_t ri_reach_address(void *address)
{
    size_t length = 0;

    pthread_mutex_lock(&reach.lock);
    reach_open();
    if (reach.plane != NULL) {
        length = reach.plane->ops->address(reach.plane, address);
    }
    pthread_mutex_unlock(&reach.lock);
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
    way->length = length;
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
    pthread_mutex_lock(&reach.lock);
    reach_open();
    if (reach.plane != NULL) {
        way = reach_find(address, length);
        way = (way != NULL) ? way : reach_connect(address, length);
    }
    if (way != NULL) {
        ++way->users;
    }
    pthread_mutex_unlock(&reach.lock);
    return way;
}

void ri_reach_open_mail(ri_reach_t *way, uint32_t pid, uint32_t fd)
{
    pthread_mutex_lock(&reach.lock);
    if (way->mail.area == NULL) {
        ri_mailbox_tx_open(&way->mail, pid, fd);
        way->oldest = way->mail.next;
    }
    pthread_mutex_unlock(&reach.lock);
}

void ri_reach_hold(ri_reach_t *way)
{
    pthread_mutex_lock(&reach.lock);
    ++way->users;
    pthread_mutex_unlock(&reach.lock);
}

void ri_reach_put(ri_reach_t *way)
{
    if (way == NULL) {
        return;
    }
    pthread_mutex_lock(&reach.lock);
    if (--way->users == 0) {
        ucs_list_del(&way->list);
        ri_mailbox_tx_close(&way->mail);
        way->ep->plane->ops->disconnect(way->ep);
        free(way);
    }
    pthread_mutex_unlock(&reach.lock);
}
