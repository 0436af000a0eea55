/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of variables, of which config.c reads and prints the values.
 */
#ifndef RI_CONFIG_TABLE_H
#define RI_CONFIG_TABLE_H

#include <stddef.h>

typedef struct ri_config_field {
    const char *name; /* behind the prefix */
    const char *type; /* of the UCS value parser: memunits, uint, bool, time_units, ... */
    const char *dfl;
    size_t offset; /* in ri_config_t */
    const char *doc;
} ri_config_field_t;

extern const ri_config_field_t ri_config_fields[];
extern const size_t ri_config_num_fields;

#endif
