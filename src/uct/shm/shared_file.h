/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that two processes of a host share: a file without a name (memfd), which one of them makes
 * and the other opens through /proc/<pid>/fd. Nothing can be left behind: it is gone with the last
 * process that maps it, however that process ends. It is sealed, so that neither side can change
 * its size under the other, and what is mapped stays there. Both sides map what is used at once
 * with all of its pages: else each is a fault on both sides when it is first touched, in the middle
 * of a message.
 */
#ifndef RI_SHARED_FILE_H
#define RI_SHARED_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "../../ucs/base.h"

/* How the name of such a file begins in /proc. */
#define RI_SHARED_FILE_MARK "/memfd:ucxri-"

/**
 * Make a file of @a size bytes, all zero, and map it. @a name is for people, in /proc; it begins
 * with "ucxri-".
 *
 * @param there  A number of bytes at its start, whose pages have memory then. All other pages get
 *               theirs with their first use: a process that uses one where the host has no memory
 *               left is killed.
 * @param fd_p   Set to its descriptor, which is the caller's to close.
 *
 * @return Where it is mapped, which is the caller's to unmap; or NULL with errno set, and nothing
 *         is left.
 */
void *ri_shared_file_make(const char *name, size_t size, size_t there, int *fd_p);

/**
 * Map a file that process @a pid has made with @a size bytes, and has as descriptor @a fd. Pid and
 * descriptor are wire input: what was not made by ri_shared_file_make(), or has another size, is
 * not mapped.
 *
 * @param there  A number of bytes at its start, whose pages are mapped at once.
 *
 * @return Where it is mapped, which is the caller's to unmap, or NULL.
 */
void *ri_shared_file_open(uint32_t pid, uint32_t fd, size_t size, size_t there);

/** Get memory for all pages of a part of a file that ri_shared_file_make() or ri_shared_file_open()
 * has mapped; @a from is the start of a page. @return 0 if there is no memory for them. Kernels
 * before 5.14 cannot say that, and end the process by a bus error then. */
int ri_shared_file_fill(void *from, size_t size);

#endif
