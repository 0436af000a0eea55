/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "output.h"
#include "log.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

FILE *ri_output_open(const char *dest)
{
    char path[PATH_MAX];
    char host[64] = "";
    size_t len    = 0;
    FILE *stream;

    if (!strcmp(dest, "stderr")) {
        return stderr;
    }
    if (!strcmp(dest, "stdout")) {
        return stdout;
    }

    gethostname(host, sizeof(host) - 1);
    for (; (*dest != '\0') && (len < sizeof(path) - sizeof(host)); ++dest) {
        if ((dest[0] == '%') && (dest[1] == 'p')) {
            len += snprintf(path + len, sizeof(path) - len, "%d", (int)getpid());
            ++dest;
        } else if ((dest[0] == '%') && (dest[1] == 'h')) {
            len += snprintf(path + len, sizeof(path) - len, "%s", host);
            ++dest;
        } else {
            path[len++] = *dest;
        }
    }
    path[len] = '\0';

    stream = fopen(path, "a");
    if (stream == NULL) {
        ri_warn("cannot open %s: %s; its output goes to stderr", path, strerror(errno));
        return stderr;
    }
    return stream;
}

void ri_output_close(FILE *stream)
{
    if ((stream == stderr) || (stream == stdout)) {
        fflush(stream);
    } else {
        fclose(stream);
    }
}
