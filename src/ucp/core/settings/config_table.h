/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of variables, of which config.c reads and prints the values.
 */
#ifndef RI_CONFIG_TABLE_H
#define RI_CONFIG_TABLE_H

#include "config_value.h"

/* All variables, in the order in which they are printed. */
extern const ri_config_field_t ri_config_fields[];

/* Number of entries of ri_config_fields. */
extern const size_t ri_config_num_fields;

#endif
