/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

ri_log_level_t ri_log_level = RI_LOG_LEVEL_WARN;
void (*ri_log_on_error)(void);

void ri_log(ri_log_level_t level, const char *format, ...)
{
    static const char *const names[] = {[RI_LOG_LEVEL_ERROR] = "ERROR",
                                        [RI_LOG_LEVEL_WARN]  = "WARN",
                                        [RI_LOG_LEVEL_INFO]  = "INFO",
                                        [RI_LOG_LEVEL_DEBUG] = "DEBUG"};
    char host[64]                    = "";
    char line[1024];
    struct timespec now;
    va_list ap;

    if (level > ri_log_level) {
        return;
    }

    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);

    gethostname(host, sizeof(host) - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(stderr, "[%ld.%06ld] [%s:%d] ucxri %-5s %s\n", (long)now.tv_sec,
            now.tv_nsec / 1000, host, (int)getpid(), names[level], line);
    if ((level == RI_LOG_LEVEL_ERROR) && (ri_log_on_error != NULL)) {
        ri_log_on_error();
    }
}
