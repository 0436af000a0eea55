/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "setting.h"
#include "../ucp/core/switch.h"
#include "../ucs/log.h"

#include <stdlib.h>
#include <strings.h>

static ri_setting_t setting;

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

/* What auto means: windows are a part of what the one switch of libucxri.so switches on. */
static ri_setting_t setting_auto(void)
{
    const char *value = getenv(RI_SWITCH_PREFIXED);

    value = (value == NULL) ? getenv(RI_SWITCH_VARIABLE) : value;
    return ri_switch_is_on(value) ? RI_SETTING_AUTO : RI_SETTING_OFF;
}

/* Before UCX and others read the variables, and may change them. */
static void __attribute__((constructor)) setting_read(void)
{
    static const char *const yes[] = {"y", "yes", "on", "1", "true"};
    static const char *const no[]  = {"n", "no", "off", "0", "false"};
    const char *value              = getenv("UCXRI_WIN");
    unsigned i;

    setting_read_level();
    setting = setting_auto();
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
    return setting;
}
