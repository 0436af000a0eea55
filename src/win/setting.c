/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "setting.h"
#include "../ucs/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

static ri_setting_t setting;
static pthread_once_t setting_once = PTHREAD_ONCE_INIT;

static void setting_read_level(void)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    const char *value                = getenv("UCXRI_LOG_LEVEL");
    unsigned i;

    ri_log_level = RI_LOG_LEVEL_WARN;
    for (i = 0; (value != NULL) && (i < sizeof(names) / sizeof(names[0])); ++i) {
        if (!strcasecmp(value, names[i])) {
            ri_log_level = (ri_log_level_t)i;
        }
    }
}

static void setting_read(void)
{
    static const char *const yes[] = {"y", "yes", "on", "1", "true"};
    static const char *const no[]  = {"n", "no", "off", "0", "false"};
    const char *value              = getenv("UCXRI_WIN");
    unsigned i;

    setting_read_level();
    setting = RI_SETTING_AUTO;
    if ((value == NULL) || !strcasecmp(value, "auto")) {
        return;
    }
    for (i = 0; i < sizeof(yes) / sizeof(yes[0]); ++i) {
        if (!strcasecmp(value, yes[i])) {
            setting = RI_SETTING_YES;
            return;
        }
        if (!strcasecmp(value, no[i])) {
            setting = RI_SETTING_NO;
            return;
        }
    }
    ri_warn("UCXRI_WIN=%s: expected y, n or auto; auto is taken", value);
}

ri_setting_t ri_setting(void)
{
    pthread_once(&setting_once, setting_read);
    return setting;
}

void ri_setting_not_taken(const char *why, int is_first)
{
    if (is_first && (ri_setting() == RI_SETTING_YES)) {
        ri_warn("a window is left to the MPI: %s", why);
    } else if (is_first) {
        ri_info("a window is left to the MPI: %s", why);
    }
}
