/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sh_copy() cuts both lists to the same part, gives at most SH_MAX_SGE pieces of each to the
 * kernel, and goes on with what the kernel has left. If a call fails, one byte of the other
 * process's memory is read, to tell whose memory was wrong. Any other error counts as if the
 * process had gone; if it has not, the first one is reported, as a container may forbid such calls.
 * No lock is taken.
 */
#include "copy.h"
#include "util.h"
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t sh_pieces_length(sh_pieces_t pieces)
{
    uint64_t length = 0;
    unsigned i;

    for (i = 0; i < pieces.count; ++i) {
        length += pieces.iov[i].iov_len;
    }
    return length;
}

void sh_pieces_append(struct iovec *list, unsigned *count, void *base, size_t length)
{
    struct iovec *last = (*count > 0) ? &list[*count - 1] : NULL;

    if ((last != NULL) && ((char *)last->iov_base + last->iov_len == (char *)base)) {
        last->iov_len += length;
    } else if (length > 0) {
        list[*count] = (struct iovec){base, length};
        ++*count;
    }
}

/* The part of a list from @a offset on. @return The number of pieces. */
static unsigned copy_slice(sh_pieces_t pieces, uint64_t offset, uint64_t length,
                           struct iovec *slice)
{
    unsigned i, count = 0;

    for (i = 0; (i < pieces.count) && (length > 0) && (count < SH_MAX_SGE); ++i) {
        uint64_t size = pieces.iov[i].iov_len;

        if (offset >= size) {
            offset -= size;
            continue;
        }
        size -= offset;
        size = sh_min(size, length);

        slice[count].iov_base = (char *)pieces.iov[i].iov_base + offset;
        slice[count].iov_len  = size;
        ++count;
        length -= size;
        offset = 0;
    }
    return count;
}

static int copy_errno(pid_t pid, const struct iovec *remote)
{
    static int complained;
    struct iovec probe, byte;
    char buffer;

    if (errno != EFAULT) {
        if ((errno != ESRCH) && !complained) {
            complained = 1;
            fprintf(stderr,
                    "softhca: no access to the memory of process %d: %s; both must be of "
                    "one user, and a container must allow process_vm_readv\n",
                    (int)pid, strerror(errno));
        }
        return SH_COPY_GONE;
    }
    /* Whose memory was it? */
    probe.iov_base = remote->iov_base;
    probe.iov_len  = 1;
    byte.iov_base  = &buffer;
    byte.iov_len   = 1;
    return (process_vm_readv(pid, &byte, 1, &probe, 1, 0) == 1) ? SH_COPY_LOCAL :
                                                                  SH_COPY_REMOTE;
}

int sh_copy(pid_t pid, int write, sh_pieces_t remote, sh_pieces_t local, uint64_t offset,
            uint64_t length)
{
    struct iovec remote_iov[SH_MAX_SGE], local_iov[SH_MAX_SGE];
    unsigned num_remote, num_local;
    ssize_t ret;

    while (length > 0) {
        num_remote = copy_slice(remote, offset, length, remote_iov);
        num_local  = copy_slice(local, offset, length, local_iov);
        if ((num_remote == 0) || (num_local == 0)) {
            return SH_COPY_LOCAL;
        }
        ret = (write ? process_vm_writev : process_vm_readv)(pid, local_iov, num_local,
                                                             remote_iov, num_remote, 0);
        if (ret <= 0) {
            if ((ret < 0) && (errno == EINTR)) {
                continue;
            }
            return (ret == 0) ? SH_COPY_REMOTE : copy_errno(pid, remote_iov);
        }
        offset += (uint64_t)ret;
        length -= (uint64_t)ret;
    }
    return SH_COPY_OK;
}

static int copy_own(int write, sh_pieces_t pieces, uint64_t offset, void *data,
                    uint64_t length)
{
    struct iovec buffer = {.iov_base = data, .iov_len = length};
    struct iovec slice[SH_MAX_SGE];
    sh_pieces_t local = {&buffer, 1}, own = {slice, 0};

    own.count = copy_slice(pieces, offset, length, slice);
    if (sh_pieces_length(own) != length) {
        return SH_COPY_LOCAL;
    }
    return (sh_copy(getpid(), write, own, local, 0, length) == SH_COPY_OK) ?
                   SH_COPY_OK :
                   SH_COPY_LOCAL;
}

int sh_copy_put(sh_pieces_t pieces, uint64_t offset, const void *data, uint64_t length)
{
    return copy_own(1, pieces, offset, (void *)(uintptr_t)data, length);
}

int sh_copy_get(sh_pieces_t pieces, uint64_t offset, void *data, uint64_t length)
{
    return copy_own(0, pieces, offset, data, length);
}

int sh_copy_many(pid_t pid, sh_pieces_t from, sh_pieces_t to)
{
    ssize_t length = (ssize_t)sh_pieces_length(to);

    return (length > 0) && (process_vm_readv(pid, to.iov, to.count, from.iov, from.count,
                                             0) != length) ?
                   -1 :
                   0;
}
