/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How the variables UCXRI_* are read into ri_config (ucs/settings.h). One rule holds for all:
 * a value that is not good gives one warning with what is accepted, and the default is taken.
 * So the configuration always is one that works.
 *
 * Thresholds that are left to the library ("auto") come from costs.h.
 */
#ifndef RI_CONFIG_H
#define RI_CONFIG_H

#include "costs.h"
#include "../../../ucs/settings.h"

#include <stdint.h>
#include <stdio.h>

/** Fill @ref ri_config from the environment, once per process, with thresholds that follow from
 * costs, which are measured for that. Each value that is not good, and each UCXRI_ variable that
 * does not exist, gives a warning; the default is taken. Any thread may call it. */
void ri_config_read(void);

/** Fill LOG_LEVEL, REPORT and REPORT_DEST alone, which costs next to nothing, in a process that may
 * never need the other variables. Nothing is printed: where a value is not good, the default is
 * taken. The texts point into the environment. Does nothing after ri_config_read(). */
void ri_config_read_output(void);

/**
 * The bits of a tag that tell its sender: as TAG_SENDER_MASK says, else as the application does,
 * else those of MPICH if that is in the process.
 *
 * @param of_application  The bits that the application has named; 0: it has named none.
 *
 * @return The bits; 0: they are not known.
 */
uint64_t ri_config_sender_mask(uint64_t of_application);

/** Print the table as it was set, after ri_config_read(): name and value of each variable. With @a
 * doc, print also its help text, what it accepts, and the value in effect where that is another
 * one. */
void ri_config_print(FILE *stream, int doc);

/** Call @a func for each variable, in the order of the table, with its name (UCXRI_NAME), the value
 * that is in effect, and @a is_set: it was set to another value than its default. Both texts are
 * valid during the call only. */
void ri_config_foreach(void (*func)(const char *name, const char *value, int is_set,
                                    void *arg),
                       void *arg);

/** Write how one variable was set, as UCXRI_NAME=value, to @a text, which has room for @a max bytes
 * with the end. @a name is without the prefix UCXRI_. The text is "" if there is no such
 * variable. */
void ri_config_print_setting(const char *name, char *text, size_t max);

/** After ri_config_read(): take these costs in place of those that were measured, and compute the
 * values that are left to the library anew. No other thread may read @ref ri_config meanwhile. */
void ri_config_use_costs(const ri_costs_t *costs);

/** Print the variables whose values are measured where they are left to the library, with what is
 * in effect, each as a line of a shell: "export UCXRI_...=value". */
void ri_config_print_measured(FILE *stream);

/** @return Whether any variable whose value is then measured was left to the library. Those are the
 * variables that ri_config_print_measured() prints. */
int ri_config_is_measured(void);

#endif
