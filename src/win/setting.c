/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read when the library is loaded, as libucxri.so may be loaded later or not at all.
 */
#include "setting.h"
#include "../ucp/core/settings/switch.h"
#include "../ucs/log.h"
#include "../ucs/warn_once.h"
#include "../ucs/yes_no.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define SETTING_PRESET "auto"

/* A variable that is y, n or auto. */
typedef struct setting_variable {
    const char *name;
    int is_bad;
    char value[65]; /* one that is bad, which may be empty */
} setting_variable_t;

static setting_variable_t setting_win   = {.name = "UCXRI_WIN"};
static setting_variable_t setting_hosts = {.name = "UCXRI_WIN_HOSTS"};

static ri_setting_t setting;
static int takes_hosts;

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

/* The meaning of auto: windows are a part of what the one switch of libucxri.so switches on. */
static ri_setting_t setting_auto(void)
{
    const char *value = getenv(RI_SWITCH_PREFIXED);

    value = (value == NULL) ? getenv(RI_SWITCH_VARIABLE) : value;
    return ri_switch_is_on(value) ? RI_SETTING_AUTO : RI_SETTING_OFF;
}

/* @return RI_SETTING_YES, NO, or AUTO. */
static ri_setting_t setting_of(setting_variable_t *variable)
{
    const char *value = getenv(variable->name);

    if ((value == NULL) || !strcasecmp(value, SETTING_PRESET)) {
        return RI_SETTING_AUTO;
    }
    switch (ri_yes_no(value)) {
    case 1:
        return RI_SETTING_YES;
    case 0:
        return RI_SETTING_NO;
    default:
        variable->is_bad = 1;
        snprintf(variable->value, sizeof(variable->value), "%s", value);
        return RI_SETTING_AUTO;
    }
}

static void setting_warn(const setting_variable_t *variable)
{
    if (variable->is_bad) {
        ri_warn_value(variable->name, variable->value, "y, n or auto", SETTING_PRESET);
    }
}

void ri_setting_warn(void)
{
    setting_warn(&setting_win);
    setting_warn(&setting_hosts);
}

/* auto: what MPICH does between hosts needs the target's progress as well. Open MPI may have an
 * adapter do it. */
static void setting_read_hosts(void)
{
    switch (setting_of(&setting_hosts)) {
    case RI_SETTING_YES:
        takes_hosts = 1;
        break;
    case RI_SETTING_AUTO:
#ifdef OPEN_MPI
        takes_hosts = 0;
#else
        takes_hosts = 1;
#endif
        break;
    default:
        takes_hosts = 0;
        break;
    }
}

/* Before UCX and others read the variables, and may change them. */
static void __attribute__((constructor)) setting_read(void)
{
    setting_read_level();
    setting = setting_of(&setting_win);
    setting = (setting == RI_SETTING_AUTO) ? setting_auto() : setting;
    setting_read_hosts();
}

ri_setting_t ri_setting(void)
{
    return setting;
}

int ri_setting_takes_hosts(void)
{
    return takes_hosts;
}
