/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The meaning of a value of UCX_RNDV_SCHEME.
 */
#ifndef RI_SWITCH_H
#define RI_SWITCH_H

/* The variable, and the value that switches the library on. */
#define RI_SWITCH_NAME     "RNDV_SCHEME"
#define RI_SWITCH_VARIABLE "UCX_" RI_SWITCH_NAME
#define RI_SWITCH_VALUE    "recv_init"

/* The text about a value that RI_SWITCH_MEANT stands for. */
#define RI_SWITCH_IS_MEANT "is misspelt: it counts as " RI_SWITCH_VALUE

/* The variable with the prefix that Open MPI gives UCX; it wins where both are set. */
#define RI_SWITCH_PREFIXED "MPI_" RI_SWITCH_VARIABLE

/* The meanings of a value. */
typedef enum ri_switch {
    RI_SWITCH_UNSET, /* there is no value */
    RI_SWITCH_ON,    /* recv_init, in upper or lower case */
    RI_SWITCH_MEANT, /* a misspelling of recv_init, which counts as it */
    RI_SWITCH_OTHER  /* a value for stock, which may be good or not */
} ri_switch_t;

/** Read a value of the variable; NULL: the variable is not set.
 *
 * @return What it says. No value of stock is taken for a misspelling. */
ri_switch_t ri_switch_read(const char *value);

/** @return Whether a value of the variable, or NULL, switches the library on, misspelt or not. */
int ri_switch_is_on(const char *value);

#endif
