/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One exchange for all: each rank tells a record of a fixed length, and everything else is
 * concluded from the records of all.
 */
#include "make_agree.h"
#include "../ucs/log.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The ranks of a host that reach memory of the program: a mailbox has a slot for each other
 * process. */
#define AGREE_REMOTE_RANKS RI_MAILBOX_SLOTS

/* Changed with the form of what is told and of what is shared. */
#define AGREE_VERSION 3

/* Whether the program allows the memory of each rank to lie anywhere. */
static int agree_is_apart(const ri_make_args_t *args)
{
    char value[8];
    int flag = 0;

    if (args->flavor == MPI_WIN_FLAVOR_ALLOCATE) {
        return 1;
    }
    if (args->info != MPI_INFO_NULL) {
        PMPI_Info_get(args->info, "alloc_shared_noncontig", sizeof(value) - 1, value,
                      &flag);
    }
    return flag && !strcmp(value, "true");
}

/* This process. Threads may make windows at the same time; a child by fork() is another one. */
static ri_host_process_t agree_process(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ri_host_process_t self;
    ri_host_process_t process;

    pthread_mutex_lock(&lock);
    if (self.pid != (uint32_t)getpid()) {
        self = ri_host_process_self();
    }
    process = self;
    pthread_mutex_unlock(&lock);
    return process;
}

ri_make_agree_t *ri_make_agree_exchange(const ri_make_args_t *args, int ranks,
                                        int is_reachable, int has_net)
{
    ri_make_agree_t mine  = {.version      = AGREE_VERSION,
                             .size         = args->size,
                             .disp_unit    = args->disp_unit,
                             .process      = agree_process(),
                             .is_apart     = agree_is_apart(args),
                             .flavor       = args->flavor,
                             .is_reachable = is_reachable,
                             .has_net      = has_net};
    ri_make_agree_t *told = calloc((size_t)ranks, sizeof(*told));
    int version, subversion;

    mine.is_known = (PMPI_Get_version(&version, &subversion) == MPI_SUCCESS) &&
                    ((version >= 4) == (MPI_VERSION >= 4));
    /* Without memory this rank cannot tell, and the others would wait for it */
    if (told == NULL) {
        ri_error("no memory for a window of %d ranks", ranks);
        PMPI_Abort(args->comm, 1);
    }
    if (PMPI_Allgather(&mine, (int)sizeof(mine), MPI_BYTE, told, (int)sizeof(mine),
                       MPI_BYTE, args->comm) != MPI_SUCCESS) {
        free(told);
        return NULL;
    }
    return told;
}

int ri_make_agree_by_all(int is_ok, MPI_Comm comm)
{
    int are_ok;

    return (PMPI_Allreduce(&is_ok, &are_ok, 1, MPI_INT, MPI_LAND, comm) == MPI_SUCCESS) &&
           are_ok;
}

int ri_make_agree_first(const ri_make_agree_t *told, int rank)
{
    int i = 0;

    while (!ri_make_agree_share_host(told, i, rank)) {
        ++i;
    }
    return i;
}

int ri_make_agree_is_one_host(const ri_make_agree_t *told, int ranks)
{
    int i;

    for (i = 1; (i < ranks) && ri_make_agree_share_host(told, i, 0); ++i) {}
    return i == ranks;
}

int ri_make_agree_neighbours(const ri_make_agree_t *told, int rank, int ranks)
{
    int count = 0;
    int i;

    for (i = 0; i < ranks; ++i) {
        count += ri_make_agree_share_host(told, i, rank);
    }
    return count;
}

/* Whether there is a host with more ranks than can reach each other's own memory. */
static int agree_is_crowded(const ri_make_agree_t *told, int ranks)
{
    int i;

    for (i = 0; i < ranks; ++i) {
        if (((i == 0) || !ri_make_agree_share_host(told, i, i - 1)) &&
            (ri_make_agree_first(told, i) == i) &&
            (ri_make_agree_neighbours(told, i, ranks) > AGREE_REMOTE_RANKS)) {
            return 1;
        }
    }
    return 0;
}

/* Why a window of several hosts is not for this library, or NULL. The same on all ranks. */
static const char *agree_net_objection(const ri_make_agree_t *told, int ranks)
{
    int i;

    if (told[0].flavor == MPI_WIN_FLAVOR_SHARED) {
        return "the ranks are not on one host";
    }
    for (i = 0; i < ranks; ++i) {
        if (!told[i].has_net) {
            return "the ranks are not on one host";
        }
    }
    return NULL;
}

const char *ri_make_agree_objection(const ri_make_agree_t *told, int ranks)
{
    int64_t size = 0;
    int i;

    for (i = 0; i < ranks; ++i) {
        if (told[i].version != AGREE_VERSION) {
            return "the ranks have different versions of the library";
        }
        if (told[i].process.host == 0) {
            return "/proc cannot be read";
        }
        if (!told[i].is_known) {
            return "the library was built for another version of the MPI";
        }
        if ((told[i].size < 0) || (told[i].disp_unit < 1) ||
            (told[i].disp_unit > INT_MAX) || (told[i].flavor != told[0].flavor)) {
            return "an argument is wrong";
        }
        if (ri_make_agree_is_remote(told[i].flavor) && !told[i].is_reachable) {
            return RI_MAKE_AGREE_UNREACHABLE;
        }
        if (__builtin_add_overflow(size, told[i].size, &size) ||
            (size > RI_MAKE_AGREE_SIZE_MAX)) {
            return "it is too large";
        }
    }
    if (ri_make_agree_is_remote(told[0].flavor) && agree_is_crowded(told, ranks)) {
        return "there are too many ranks";
    }
    return ri_make_agree_is_one_host(told, ranks) ? NULL :
                                                    agree_net_objection(told, ranks);
}
