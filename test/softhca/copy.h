/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_COPY_H_
#define SH_COPY_H_

/*
 * The DMA. All accesses to the program's memory, also to that of the own process, go
 * through the kernel's copies between processes: memory that is not there any more is then
 * an error and not a signal.
 */
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    SH_COPY_OK,
    SH_COPY_LOCAL,  /* the own memory is not accessible */
    SH_COPY_REMOTE, /* the other process's is not */
    SH_COPY_GONE    /* there is no such process, or it is not allowed */
};

/* A list of pieces of memory. */
typedef struct sh_pieces {
    const struct iovec *iov;
    unsigned count;
} sh_pieces_t;

/**
 * Copy between another process's memory and the own one.
 * @param pid    Of the other process, or of this one.
 * @param write  To the other process, not from it.
 * @param offset Where to begin, in both lists.
 * @return SH_COPY_OK etc.; memory was changed in part if it failed.
 */
int sh_copy(pid_t pid, int write, sh_pieces_t remote, sh_pieces_t local, uint64_t offset,
            uint64_t length);

/** Write a buffer of the library into the program's memory. */
int sh_copy_put(sh_pieces_t pieces, uint64_t offset, const void *data, uint64_t length);

/** Read from the program's memory into a buffer of the library. */
int sh_copy_get(sh_pieces_t pieces, uint64_t offset, void *data, uint64_t length);

uint64_t sh_pieces_length(sh_pieces_t pieces);

/** Append memory to a list with room for it, to the last piece if it goes on there. */
void sh_pieces_append(struct iovec *list, unsigned *count, void *base, size_t length);

/** Copy all of a list of a process's memory to one of the own, as long, with one call of the
 * kernel, which has more pieces than a work request. @return 0, or -1: not everything was copied. */
int sh_copy_many(pid_t pid, sh_pieces_t from, sh_pieces_t to);

#endif
