/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which host and which process this is, from what the kernel says; and whether another process
 * exists and is the one that was meant.
 */
#include "host.h"
#include "../../ucs/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Of an id: the kernel, the pid namespace and the user. The rest is the name. */
#define HOST_KERNEL_BITS 40
#define HOST_KERNEL_MASK ((1ul << HOST_KERNEL_BITS) - 1)


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

uint64_t ri_host_id(void)
{
    uint64_t hash       = RI_HASH_START;
    uint64_t name       = RI_HASH_START;
    uid_t user          = geteuid();
    struct utsname host = {};
    char boot_id[64];
    struct stat st;
    size_t length;

    length = host_read_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
    if ((length == 0) || (stat("/proc/self/ns/pid", &st) != 0)) {
        return 0;
    }

    hash = ri_hash(hash, boot_id, length);
    hash = ri_hash(hash, &st.st_ino, sizeof(st.st_ino));
    hash = ri_hash(hash, &user, sizeof(user));
    uname(&host);
    name = ri_hash(name, host.nodename, strlen(host.nodename));
    /* The upper bits of such a hash depend on all, the lowest ones on few. */
    return (hash >> (64 - HOST_KERNEL_BITS)) | 1 |
           ((name ^ (name << 24)) & ~HOST_KERNEL_MASK);
}

int ri_host_may_reach(uint64_t a, uint64_t b)
{
    return (a != 0) && (b != 0) && (((a ^ b) & HOST_KERNEL_MASK) == 0);
}

/* The facts about a process in /proc. */
typedef struct host_stat {
    char state;
    long threads;
    unsigned long long start;
} host_stat_t;

/* @return 0 if there is no such process, or /proc cannot be read. */
static int host_read_stat(uint32_t pid, host_stat_t *stat)
{
    char path[32], text[1024];
    const char *field;
    size_t length;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    length       = host_read_file(path, text, sizeof(text) - 1);
    text[length] = '\0';

    /* Fields 3, 20 and 22. The second one is a name in parentheses, which may contain
     * anything. */
    field = strrchr(text, ')');
    return (field != NULL) &&
           (sscanf(field + 1,
                   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u"
                   " %*d %*d %*d %*d %ld %*d %llu",
                   &stat->state, &stat->threads, &stat->start) == 3);
}

uint64_t ri_host_process_start(uint32_t pid)
{
    host_stat_t stat;

    return host_read_stat(pid, &stat) ? stat.start : 0;
}

ri_host_process_t ri_host_process_self(void)
{
    uint64_t start            = ri_host_process_start(getpid());
    ri_host_process_t process = {.host  = (start != 0) ? ri_host_id() : 0,
                                 .pid   = getpid(),
                                 .start = (uint32_t)start};

    return process;
}

ri_host_look_t ri_host_process_look(const ri_host_process_t *process)
{
    pid_t pid = process->pid;
    host_stat_t stat;

    if ((pid <= 0) || ((kill(pid, 0) != 0) && (errno == ESRCH))) {
        return RI_HOST_GONE;
    }
    if (!host_read_stat(process->pid, &stat)) {
        return RI_HOST_UNKNOWN; /* there may be no descriptor */
    }
    /* A process whose first thread has ended looks like a zombie, too. */
    return (((uint32_t)stat.start != process->start) ||
            (((stat.state == 'Z') || (stat.state == 'X')) && (stat.threads <= 1))) ?
                   RI_HOST_GONE :
                   RI_HOST_RUNS;
}
