/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A file is made and sealed; what another process names is looked at before it is opened.
 */
#include "shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Neither side may change the size under the other: what is mapped beyond the end of a
 * file is a bus error. */
#define SHARED_FILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* @a flags  MAP_POPULATE, or 0: of a sparse file. */
static void *shared_file_map(int file, size_t size, int flags)
{
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0);

    return (map == MAP_FAILED) ? NULL : map;
}

static void *shared_file_make(const char *name, size_t size, int flags, int *fd_p)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *map;
    int error;

    if (fd < 0) {
        return NULL;
    }
    /* fallocate, so that a full /dev/shm shows here and not as a bus error later. */
    error = (flags & MAP_POPULATE)     ? posix_fallocate(fd, 0, size) :
            (ftruncate(fd, size) != 0) ? errno :
                                         0;
    if (error != 0) {
        goto err_close;
    }
    if (fcntl(fd, F_ADD_SEALS, SHARED_FILE_SEALS | F_SEAL_SEAL) != 0) {
        error = errno;
        goto err_close;
    }
    map = shared_file_map(fd, size, flags);
    if (map == NULL) {
        error = errno;
        goto err_close;
    }
    *fd_p = fd;
    return map;

err_close:
    close(fd);
    errno = error;
    return NULL;
}

void *ri_shared_file_make(const char *name, size_t size, int *fd_p)
{
    return shared_file_make(name, size, MAP_POPULATE, fd_p);
}

void *ri_shared_file_make_sparse(const char *name, size_t size, int *fd_p)
{
    return shared_file_make(name, size, 0, fd_p);
}

/* Whether a file is sealed memory of @a size that keeps this size. F_GET_SEALS fails on
 * what cannot be sealed. */
static int shared_file_is_sealed(int file, size_t size)
{
    int seals = fcntl(file, F_GET_SEALS);
    struct stat st;

    return (seals >= 0) && ((seals & SHARED_FILE_SEALS) == SHARED_FILE_SEALS) &&
           (fstat(file, &st) == 0) && ((size_t)st.st_size == size);
}

/* Open a descriptor of another process. A peer may name any; what is no regular file is
 * not even opened, as that may block or have effects: it is looked at through a descriptor
 * that only names it. @return -1 if it is no such file. */
static int shared_file_open(uint32_t pid, uint32_t fd, size_t size)
{
    int file = -1;
    struct stat st;
    char path[64];
    int name;

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, fd);
    name = open(path, O_PATH | O_CLOEXEC);
    if (name < 0) {
        return -1;
    }
    if ((fstat(name, &st) == 0) && S_ISREG(st.st_mode)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", name);
        file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    close(name);

    if ((file >= 0) && !shared_file_is_sealed(file, size)) {
        close(file);
        return -1;
    }
    return file;
}

static void *shared_file_open_and_map(uint32_t pid, uint32_t fd, size_t size, int flags)
{
    int file = shared_file_open(pid, fd, size);
    void *map;

    if (file < 0) {
        return NULL;
    }
    map = shared_file_map(file, size, flags);
    close(file);
    return map;
}

void *ri_shared_file_open(uint32_t pid, uint32_t fd, size_t size)
{
    return shared_file_open_and_map(pid, fd, size, MAP_POPULATE);
}

void *ri_shared_file_open_sparse(uint32_t pid, uint32_t fd, size_t size)
{
    return shared_file_open_and_map(pid, fd, size, 0);
}
