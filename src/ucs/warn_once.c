/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A text is printed by the process that gets the name of a socket which is made of the job and the
 * text. Such a name is in no folder, and is free again when its process ends. Processes in other
 * network namespaces have names of their own.
 */
#define _GNU_SOURCE
#include "warn_once.h"
#include "hash.h"
#include "log.h"
#include "rank.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* As long as a line of the log. */
#define WARN_MAX 1024

#define WARN_JOB_MAX 256

/* Name the job of this process, as launchers tell it: within a batch job there may be several.
 * Without a name those who have the same parent are taken for one job, if they know their ranks. */
static void warn_name_job(char *name, size_t max)
{
    const char *space = getenv("PMIX_NAMESPACE");
    char job[WARN_JOB_MAX];

    if (ri_rank_job(job, sizeof(job))) {
        snprintf(name, max, "%s %s", job, (space != NULL) ? space : "");
    } else if (ri_rank_text() != NULL) {
        snprintf(name, max, "parent %d", (int)getppid());
    } else {
        snprintf(name, max, "process %d", (int)getpid());
    }
}

/* @return A socket that is no standard stream, should one be closed; or -1. */
static int warn_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int higher;

    if ((fd < 0) || (fd > STDERR_FILENO)) {
        return fd;
    }
    higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return higher;
}

/* @return Whether this process is the one that says a text. It keeps the socket to its end. */
static int warn_is_speaker(const char *text)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char job[2 * WARN_JOB_MAX];
    int fd = warn_socket();
    int length, error;

    if (fd < 0) {
        return ri_rank_is_first_of_host();
    }
    warn_name_job(job, sizeof(job));
    length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
                      "ucxri-warned.%u.%016llx.%016llx", (unsigned)geteuid(),
                      (unsigned long long)ri_hash_text(job),
                      (unsigned long long)ri_hash_text(text));
    if (bind(fd, (const struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ==
        0) {
        return 1;
    }
    error = errno;
    close(fd);
    return (error != EADDRINUSE) && ri_rank_is_first_of_host();
}

void ri_warn_once(const char *format, ...)
{
    char text[WARN_MAX];
    va_list args;

    if (ri_log_level < RI_LOG_LEVEL_WARN) {
        return; /* another rank may print it */
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ri_log(warn_is_speaker(text) ? RI_LOG_LEVEL_WARN : RI_LOG_LEVEL_INFO, "%s", text);
}

void ri_warn_value(const char *name, const char *value, const char *expected,
                   const char *preset)
{
    ri_warn_once("%s='%.64s' is not valid (expected: %s): the default, %s, is taken",
                 name, value, expected, preset);
}
