/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The value recv_init must not reach stock's parser, which knows a fixed set of values and
 * fails on any other. While stock reads its environment, the value there is stock's
 * default. (Without any value, stock would later warn of a variable that nobody used.)
 */
#include "stock_config.h"
#include "config.h"
#include "switch.h"
#include "../../../ucs/warn_once.h"
#include "../../../ucs/stock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The values that stock reads instead. */
#define SCHEME_STOCK_DEFAULT "auto"

/* Serialises changes of the environment among the threads that read configurations. */
static pthread_mutex_t environment_lock = PTHREAD_MUTEX_INITIALIZER;

/* Say that a value was taken for recv_init, which it is not. */
static void scheme_warn(const char *name, const char *value)
{
    static _Atomic(int) said;

    if ((ri_switch_read(value) == RI_SWITCH_MEANT) && !atomic_exchange(&said, 1)) {
        ri_config_read_output();
        ri_warn_once("%s='%.64s' is misspelt: it counts as recv_init", name, value);
    }
}

/* A variable whose value stock must not see. */
typedef struct hidden_variable {
    char name[64]; /* with its prefix */
    char *value;   /* what it is set to again; NULL: it was left alone */
} hidden_variable_t;

/* Hide the scheme variable of a prefix. @return Whether it is set at all. */
static int scheme_hide(const char *prefix, hidden_variable_t *hidden)
{
    const char *value;

    hidden->value = NULL;
    snprintf(hidden->name, sizeof(hidden->name), "%s" RI_SWITCH_VARIABLE, prefix);
    value = getenv(hidden->name);
    if (ri_switch_is_on(value)) {
        scheme_warn(hidden->name, value);
        hidden->value = strdup(value);
        setenv(hidden->name, SCHEME_STOCK_DEFAULT, 1);
    }
    return value != NULL;
}

static void scheme_restore(hidden_variable_t *hidden)
{
    if (hidden->value != NULL) {
        setenv(hidden->name, hidden->value, 1);
        free(hidden->value);
    }
}

/* The prefix that applications give UCX ("MPI") stands in front of "UCX_", with an
 * underscore, and is tried before the plain name. */
ucs_status_t ri_stock_config_read(const char *env_prefix, const char *filename,
                                  ucp_config_t **config_p, int *is_selected)
{
    hidden_variable_t plain, prefixed = {.value = NULL};
    char prefix[32]     = "";
    int prefixed_is_set = 0;
    ucs_status_t status;

    ri_stock_resolve();
    if ((env_prefix != NULL) && (*env_prefix != '\0')) {
        snprintf(prefix, sizeof(prefix), "%s_", env_prefix);
    }

    pthread_mutex_lock(&environment_lock);
    scheme_hide("", &plain);
    if (prefix[0] != '\0') {
        prefixed_is_set = scheme_hide(prefix, &prefixed);
    }
    *is_selected = (prefixed.value != NULL) ||
                   (!prefixed_is_set && (plain.value != NULL));

    status = ri_stock.config_read(env_prefix, filename, config_p);

    scheme_restore(&plain);
    scheme_restore(&prefixed);
    pthread_mutex_unlock(&environment_lock);
    return status;
}
