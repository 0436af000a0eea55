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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Neither side may change the size under the other: what is mapped beyond the end of a
 * file is a bus error. */
#define SHARED_FILE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* Memory is got in pieces. One that a signal interrupts is tried again, and made shorter until it
 * gets through between two signals. The first size is that of a huge page. */
#define SHARED_FILE_PIECE ((size_t)2 << 20)

/* So often in a row, and then it is something else that interrupts. */
#define SHARED_FILE_TRIES 1000

static void *shared_file_map(int file, size_t size, size_t there)
{
    const int access = PROT_READ | PROT_WRITE;
    void *map        = mmap(NULL, size, access, MAP_SHARED, file, 0);

    if (map == MAP_FAILED) {
        return NULL;
    }
    /* The same once more, with its pages */
    if ((there > 0) && (mmap(map, there, access, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                             file, 0) == MAP_FAILED)) {
        munmap(map, size);
        return NULL;
    }
    return map;
}

/* Whether the limit of the sizes of files, which holds for memory as well, allows such a file. To
 * exceed it ends the process by SIGXFSZ. */
static int shared_file_is_allowed(size_t size)
{
    struct rlimit limit;

    return (getrlimit(RLIMIT_FSIZE, &limit) != 0) || (limit.rlim_cur == RLIM_INFINITY) ||
           (size <= limit.rlim_cur);
}

/* Get memory for the start of a file. Kernels give up if a signal is pending, and give back what
 * they have got for the call. @return 0, or an errno. */
static int shared_file_allocate(int file, size_t size)
{
    const size_t page = sysconf(_SC_PAGESIZE);
    size_t piece      = SHARED_FILE_PIECE;
    size_t done       = 0;
    unsigned tries    = 0;
    size_t now;
    int error;

    while (done < size) {
        now   = ri_min(piece, size - done);
        error = posix_fallocate(file, (off_t)done, (off_t)now);
        if (error == 0) {
            done += now;
            tries = 0;
        } else if ((error == EINTR) && (++tries < SHARED_FILE_TRIES)) {
            piece = ri_max(piece / 2, page);
        } else {
            return error;
        }
    }
    return 0;
}

void *ri_shared_file_make(const char *name, size_t size, size_t there, int *fd_p)
{
    void *map;
    int error, fd;

    if (!shared_file_is_allowed(size)) {
        errno = EFBIG;
        return NULL;
    }
    fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return NULL;
    }
    /* fallocate, so that a lack of memory shows here and not as a bus error later. */
    error = (ftruncate(fd, size) != 0) ? errno : shared_file_allocate(fd, there);
    if (error != 0) {
        goto err_close;
    }
    if (fcntl(fd, F_ADD_SEALS, SHARED_FILE_SEALS | F_SEAL_SEAL) != 0) {
        error = errno;
        goto err_close;
    }
    map = shared_file_map(fd, size, there);
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

int ri_shared_file_fill(void *from, size_t size)
{
    const size_t page         = sysconf(_SC_PAGESIZE);
    const volatile char *byte = from;
    size_t offset;

#ifdef MADV_POPULATE_WRITE
    if (madvise(from, size, MADV_POPULATE_WRITE) == 0) {
        return 1;
    }
    if (errno != EINVAL) { /* the kernel knows it */
        return 0;
    }
#endif
    for (offset = 0; offset < size; offset += page) {
        (void)byte[offset];
    }
    return 1;
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

void *ri_shared_file_open(uint32_t pid, uint32_t fd, size_t size, size_t there)
{
    int file = shared_file_open(pid, fd, size);
    void *map;

    if (file < 0) {
        return NULL;
    }
    map = shared_file_map(file, size, there);
    close(file);
    return map;
}
