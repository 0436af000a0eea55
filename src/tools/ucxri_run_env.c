/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A libucxri.so in LD_PRELOAD is known by its name. Two of them in one process would both take over
 * UCX, so that one of another build is replaced.
 */
#include "ucxri_run_env.h"
#include "ucxri_check.h"
#include "ucp/core/switch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define RUN_PRELOAD "LD_PRELOAD"

/* A prefix that Open MPI gives UCX, whose variables win. */
#define RUN_PREFIXED "MPI_" RI_SWITCH_VARIABLE

int run_env_is_launcher(const char *program)
{
    static const char *const names[] = {"mpiexec", "mpirun", "prterun", "prun",
                                        "orterun", "srun",   "oshrun",  "aprun",
                                        "jsrun",   "yod"};
    const char *name                 = basename(program);
    size_t length                    = strcspn(name, ".");
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        if ((strlen(names[i]) == length) && !strncmp(name, names[i], length)) {
            return 1;
        }
    }
    return 0;
}

/* Remove the last part of a path. */
static void env_up(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash != NULL) {
        *slash = '\0';
    }
}

void run_env_find_library(const char *self, char *library, size_t max)
{
    char folder[PATH_MAX], parent[PATH_MAX];

    snprintf(folder, sizeof(folder), "%s", self);
    env_up(folder);
    snprintf(library, max, "%s/.libs/" CHECK_LIBRARY, folder);
    if (access(library, F_OK) == 0) {
        return;
    }
    /* An installation may have been moved as a whole */
    snprintf(parent, sizeof(parent), "%s", RUN_BINDIR);
    env_up(parent);
    if (!strncmp(RUN_LIBDIR, parent, strlen(parent)) &&
        (RUN_LIBDIR[strlen(parent)] == '/')) {
        env_up(folder);
        snprintf(library, max, "%s%s/" CHECK_LIBRARY, folder,
                 &RUN_LIBDIR[strlen(parent)]);
        if (access(library, F_OK) == 0) {
            return;
        }
    }
    snprintf(library, max, "%s/" CHECK_LIBRARY, RUN_LIBDIR);
}

char *run_env_preload(const char *list, const char *library)
{
    size_t size = ((list == NULL) ? 0 : strlen(list)) +
                  ((library == NULL) ? 0 : strlen(library)) + 2;
    char *value = malloc(size);
    char *end   = value;
    size_t length;

    if (value == NULL) {
        return NULL;
    }
    if (library != NULL) {
        end = stpcpy(end, library);
    }
    for (; (list != NULL) && (*list != '\0'); list += length + (list[length] != '\0')) {
        length = strcspn(list, ": ");
        if ((length > 0) && !check_is_library(list, length)) {
            if (end > value) {
                *end++ = ':';
            }
            memcpy(end, list, length);
            end += length;
        }
    }
    *end = '\0';
    return value;
}

static int env_set_preload(const char *library)
{
    char *value = run_env_preload(getenv(RUN_PRELOAD), library);
    int status;

    if (value == NULL) {
        return 0;
    }
    status = (*value == '\0') ? unsetenv(RUN_PRELOAD) : setenv(RUN_PRELOAD, value, 1);
    free(value);
    return status == 0;
}

int run_env_switch_on(const char *library, int is_loud)
{
    const char *value;

    value = getenv(RI_SWITCH_VARIABLE);
    if ((value != NULL) && (ri_switch_read(value) != RI_SWITCH_ON) && is_loud) {
        fprintf(stderr,
                "ucxri_run: " RI_SWITCH_VARIABLE "=%s is replaced by " RI_SWITCH_VALUE
                " (--off keeps it)\n",
                value);
    }
    value = getenv(RUN_PREFIXED);
    if ((value != NULL) && (ri_switch_read(value) != RI_SWITCH_ON)) {
        if (is_loud) {
            fprintf(stderr,
                    "ucxri_run: " RUN_PREFIXED "=%s is replaced by " RI_SWITCH_VALUE
                    " (--off keeps it)\n",
                    value);
        }
        unsetenv(RUN_PREFIXED);
    }
    return env_set_preload(library) &&
           (setenv(RI_SWITCH_VARIABLE, RI_SWITCH_VALUE, 1) == 0);
}

int run_env_switch_off(void)
{
    if (ri_switch_is_on(getenv(RI_SWITCH_VARIABLE))) {
        unsetenv(RI_SWITCH_VARIABLE);
    }
    if (ri_switch_is_on(getenv(RUN_PREFIXED))) {
        unsetenv(RUN_PREFIXED);
    }
    return env_set_preload(NULL);
}
