/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank tells all others how its memory is reached, and tries to reach theirs. All ranks take
 * each step, also those for which one has failed.
 */
#define _GNU_SOURCE
#include "make_remote.h"
#include "make_agree.h"
#include "accumulate_remote.h"
#include "rank_command.h"
#include "remote.h"

#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

/* A rank's message to all others about its memory. */
typedef struct make_memory {
    ri_window_address_t address;
    uint64_t region; /* 0: something has failed */
    uint64_t base;
} make_memory_t;

/* @return Whether system calls read this byte of this process, as they do not memory of an
 * accelerator. */
static int make_is_readable(const char *at)
{
    char byte;
    struct iovec local  = {.iov_base = &byte, .iov_len = 1};
    struct iovec remote = {.iov_base = (void *)at, .iov_len = 1};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

const ri_window_ops_t *ri_make_remote_ops(const void *base, MPI_Aint size)
{
    const ri_window_ops_t *ops = ri_remote_ops();
    const char *bytes          = base;
    ri_window_address_t address;

    if ((ops == NULL) || !ops->self(&address) || (address.mailbox == 0) ||
        ((size > 0) &&
         (!make_is_readable(bytes) || !make_is_readable(bytes + (size - 1))))) {
        return NULL;
    }
    return ops;
}

/* @return Whether this rank has a way to all others. */
static int make_connect(ri_window_t *window, const make_memory_t *memories)
{
    ri_window_part_t *part;
    int i;

    for (i = 0; i < window->size; ++i) {
        part = &window->parts[i];
        if ((i == window->rank) || (part->control == NULL)) {
            continue; /* make_net.h has those of other hosts */
        }
        part->base   = (char *)(uintptr_t)memories[i].base;
        part->region = memories[i].region;
        part->ops    = window->ops->reach;
        part->reach  = (memories[i].region == 0) ?
                               NULL :
                               window->ops->connect(&memories[i].address);
        if (part->reach == NULL) {
            return 0;
        }
    }
    return 1;
}

void ri_make_remote_open(ri_window_t *window, const ri_window_ops_t *ops)
{
    const ri_window_server_t server = {.has     = ri_window_has,
                                       .apply   = ri_accumulate_remote_serve,
                                       .command = ri_command_serve,
                                       .arg     = window};

    ri_attached_init(&window->attached);
    window->ops                        = ops;
    window->parts[window->rank].region = ops->open(&server);
}

int ri_make_remote(ri_window_t *window, const ri_window_ops_t *ops, MPI_Comm comm,
                   void *base)
{
    ri_window_part_t *own   = &window->parts[window->rank];
    make_memory_t *memories = calloc((size_t)window->size, sizeof(*memories));
    make_memory_t mine      = {.base = (uintptr_t)base};
    int is_ok;

    own->base = base;
    ri_make_remote_open(window, ops);
    if ((memories != NULL) && ops->self(&mine.address)) {
        mine.region = own->region;
    }
    is_ok = ri_make_agree_by_all(mine.region != 0, comm) &&
            (PMPI_Allgather(&mine, (int)sizeof(mine), MPI_BYTE, memories,
                            (int)sizeof(mine), MPI_BYTE, comm) == MPI_SUCCESS);
    is_ok = ri_make_agree_by_all(is_ok && make_connect(window, memories), comm);
    free(memories);
    return is_ok;
}

void ri_make_remote_end(ri_window_t *window)
{
    ri_window_part_t *own = &window->parts[window->rank];
    int i;

    if (window->ops == NULL) {
        return;
    }
    if (own->region != 0) {
        window->ops->close(own->region);
    }
    for (i = 0; i < window->size; ++i) {
        if (window->parts[i].reach != NULL) {
            window->parts[i].ops->disconnect(window->parts[i].reach);
        }
    }
    if (window->shown != NULL) {
        window->ops->net->hide(window->shown);
    }
    ri_attached_end(&window->attached);
}
