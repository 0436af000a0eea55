/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read a file of /proc. @return Its length, at most @a max; 0 if that did not work. */
static size_t host_read_file(const char *path, void *buffer, size_t max)
{
    ssize_t length;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    length = read(fd, buffer, max);
    close(fd);
    return (length > 0) ? length : 0;
}

static uint64_t host_hash(uint64_t hash, const void *data, size_t length)
{
    const uint8_t *bytes = data;
    size_t i;

    for (i = 0; i < length; ++i) {
        hash = (hash ^ bytes[i]) * 0x100000001b3ul;
    }
    return hash;
}

uint64_t ri_host_id(void)
{
    uint64_t hash = 0xcbf29ce484222325ul;
    uid_t user    = geteuid();
    char boot_id[64];
    struct stat st;
    size_t length;

    length = host_read_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
    if ((length == 0) || (stat("/proc/self/ns/pid", &st) != 0)) {
        return 0;
    }

    hash = host_hash(hash, boot_id, length);
    hash = host_hash(hash, &st.st_ino, sizeof(st.st_ino));
    hash = host_hash(hash, &user, sizeof(user));
    return hash | 1;
}

uint64_t ri_host_process_start(uint32_t pid)
{
    unsigned long long start;
    char path[32], text[1024];
    const char *field;
    size_t length;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    length       = host_read_file(path, text, sizeof(text) - 1);
    text[length] = '\0';

    /* Field 22. The second one is a name in parentheses, which may contain anything. */
    field = strrchr(text, ')');
    if ((field == NULL) || (sscanf(field + 1,
                                   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u"
                                   " %*d %*d %*d %*d %*d %*d %llu",
                                   &start) != 1)) {
        return 0;
    }
    return start;
}
