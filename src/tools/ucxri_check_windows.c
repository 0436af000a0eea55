/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the libraries for windows decide by their variables. The rest is seen when a window is made:
 * UCXRI_LOG_LEVEL=info says it then.
 */
#include "ucxri_check_windows.h"
#include "ucs/yes_no.h"

#include <stdio.h>
#include <stdlib.h>

/* @return 1 or 0, as the user has set the variable; else @a preset. */
static int windows_setting(const char *name, int preset)
{
    const char *value = getenv(name);
    int is_yes        = (value == NULL) ? -1 : ri_yes_no(value);

    return (is_yes < 0) ? preset : is_yes;
}

int check_windows(const char *library, int has_hosts, int is_preloaded, char *line,
                  size_t max)
{
    if (!windows_setting("UCXRI_WIN", 1)) {
        snprintf(line, max, "windows: the MPI's own, because UCXRI_WIN is %.64s",
                 getenv("UCXRI_WIN"));
    } else if (!is_preloaded) {
        snprintf(
                line, max,
                "windows: the MPI's own, because %s is not preloaded: ucxri_run "
                "preloads it in front of the program, if it is in the folder of libucxri.so",
                library);
    } else {
        snprintf(line, max, "windows: by %s, with ranks on one host%s", library,
                 windows_setting("UCXRI_WIN_HOSTS", has_hosts) ?
                         " or on several" :
                         "; UCXRI_WIN_HOSTS=y for those on several");
    }
    return !is_preloaded && windows_setting("UCXRI_WIN", 0);
}
