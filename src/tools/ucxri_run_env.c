/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A libucxri.so in LD_PRELOAD is known by its name. Two of them in one process would both take over
 * UCX, so that one of another build is replaced.
 */
#include "ucxri_run_env.h"
#include "ucxri_check.h"
#include "ucp/core/settings/switch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define RUN_PRELOAD "LD_PRELOAD"

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
    snprintf(library, max, "%s/" CHECK_LIBRARY, folder);
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
        if ((length > 0) && !check_is_ours(list, length)) {
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

void run_env_add_windows(const char *library, const char *windows, char *libraries,
                         size_t max)
{
    char path[PATH_MAX];
    const char *slash = strrchr(library, '/');
    int folder        = (slash == NULL) ? 0 : (int)(slash + 1 - library);

    snprintf(libraries, max, "%s", library);
    if (windows != NULL) {
        snprintf(path, sizeof(path), "%.*s%s", folder, library, windows);
        if (access(path, R_OK) == 0) {
            snprintf(libraries, max, "%s:%s", library, path);
        }
    }
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

/* Say that the value of a variable, which may be NULL, is not the one that counts. */
static void env_tell_replaced(const char *name, const char *value)
{
    switch (ri_switch_read(value)) {
    case RI_SWITCH_MEANT:
        fprintf(stderr, "ucxri_run: %s='%s' " RI_SWITCH_IS_MEANT "\n", name, value);
        break;
    case RI_SWITCH_OTHER:
        fprintf(stderr,
                "ucxri_run: %s='%s' is replaced by " RI_SWITCH_VALUE
                " (--off keeps it)\n",
                name, value);
        break;
    default:
        break;
    }
}

void run_env_tell_replaced(void)
{
    env_tell_replaced(RI_SWITCH_VARIABLE, getenv(RI_SWITCH_VARIABLE));
    env_tell_replaced(RI_SWITCH_PREFIXED, getenv(RI_SWITCH_PREFIXED));
}

int run_env_switch_on(const char *library, int is_loud)
{
    if (is_loud) {
        run_env_tell_replaced();
    }
    if (ri_switch_read(getenv(RI_SWITCH_PREFIXED)) != RI_SWITCH_ON) {
        unsetenv(RI_SWITCH_PREFIXED);
    }
    return env_set_preload(library) &&
           (setenv(RI_SWITCH_VARIABLE, RI_SWITCH_VALUE, 1) == 0);
}

int run_env_switch_off(void)
{
    if (ri_switch_is_on(getenv(RI_SWITCH_VARIABLE))) {
        unsetenv(RI_SWITCH_VARIABLE);
    }
    if (ri_switch_is_on(getenv(RI_SWITCH_PREFIXED))) {
        unsetenv(RI_SWITCH_PREFIXED);
    }
    return env_set_preload(NULL);
}
