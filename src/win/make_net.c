/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank tells all others what UCX has to know of its memory. That is of no fixed length, so the
 * longest is found first. All ranks take each step, also those for which one has failed.
 */
#include "make_net.h"
#include "make_remote.h"
#include "make_agree.h"
#include "remote.h"
#include "setting.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const ri_window_ops_t *ri_make_net_ops(void)
{
    return ri_setting_takes_hosts() ? ri_remote_ops() : NULL;
}

/* @return What all ranks have told, for free(); NULL: one of them could not. @a length_p is set to
 * the room of each, at the start of which the length of what was told stands. */
static char *make_net_tell(const ri_window_t *window, const void *told, size_t length,
                           MPI_Comm comm, size_t *length_p)
{
    uint64_t mine = (told == NULL) ? 0 : sizeof(mine) + length;
    uint64_t most = 0;
    char *one = NULL, *all = NULL;
    int is_ok;

    if (PMPI_Allreduce(&mine, &most, 1, MPI_UINT64_T, MPI_MAX, comm) == MPI_SUCCESS) {
        one = calloc(1, (size_t)most + 1);
        all = malloc((size_t)window->size * (size_t)most + 1);
    }
    is_ok = (told != NULL) && (one != NULL) && (all != NULL) && (most <= INT_MAX);
    if (is_ok) {
        memcpy(one, &mine, sizeof(mine));
        memcpy(one + sizeof(mine), told, length);
    }
    if (!ri_make_agree_by_all(is_ok, comm) ||
        (PMPI_Allgather(one, (int)most, MPI_BYTE, all, (int)most, MPI_BYTE, comm) !=
         MPI_SUCCESS)) {
        free(all);
        all = NULL;
    }
    free(one);
    *length_p = (size_t)most;
    return all;
}

/* @return Whether this rank has a way to all ranks of other hosts. */
static int make_net_connect(ri_window_t *window, const char *all, size_t room)
{
    ri_window_part_t *part;
    uint64_t length, base;
    int i;

    for (i = 0; i < window->size; ++i, all += room) {
        part = &window->parts[i];
        if (part->control != NULL) {
            continue;
        }
        memcpy(&length, all, sizeof(length));
        if ((length < sizeof(length)) || (length > room)) {
            return 0;
        }
        part->reach = window->ops->net->connect(all + sizeof(length),
                                                (size_t)length - sizeof(length), &base);
        if (part->reach == NULL) {
            return 0;
        }
        part->base = (char *)(uintptr_t)base;
        part->net  = window->ops->net;
        part->ops  = &window->ops->net->reach;
    }
    return 1;
}

int ri_make_net(ri_window_t *window, const ri_window_ops_t *ops, MPI_Comm comm)
{
    ri_window_part_t *own         = &window->parts[window->rank];
    ri_window_net_memory_t memory = {
            .base = own->base,
            .size = (window->flavor == MPI_WIN_FLAVOR_DYNAMIC) ? 0 : (size_t)own->size};
    void *told    = NULL;
    size_t length = 0, room;
    char *all;
    int is_ok;

    if (window->ops == NULL) {
        ri_make_remote_open(window, ops);
    }
    memory.region = own->region;
    if (own->region != 0) {
        window->shown = ops->net->show(&memory, &told, &length);
    }
    all   = make_net_tell(window, (window->shown == NULL) ? NULL : told, length, comm,
                          &room);
    is_ok = ri_make_agree_by_all((all != NULL) && make_net_connect(window, all, room),
                                 comm);
    free(all);
    free(told);
    return is_ok;
}
