/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * UCX lists a device only if it sees the device's file below /dev/infiniband, which a
 * library cannot make. So whoever asks for that file is shown /dev/null; all other paths
 * are libc's business.
 */
#include "export.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVFILE_PATH "/dev/infiniband/softuverbs"

static const char *devfile_path(const char *path)
{
    return ((path != NULL) && !strncmp(path, DEVFILE_PATH, sizeof(DEVFILE_PATH) - 1)) ?
                   "/dev/null" :
                   path;
}

SH_EXPORT int stat(const char *path, struct stat *st)
{
    return fstatat(AT_FDCWD, devfile_path(path), st, 0);
}

SH_EXPORT int access(const char *path, int mode)
{
    return faccessat(AT_FDCWD, devfile_path(path), mode, 0);
}
