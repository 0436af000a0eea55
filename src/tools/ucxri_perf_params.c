/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See ucxri_perf_params.h.
 */
#include "ucxri_perf_params.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int perf_params_valid(const perf_params_t *params)
{
    uint32_t i;
    int comp;

    if ((params->bench >= PERF_NUM_BENCHES) || (params->batches == 0) ||
        (params->batches > PERF_MAX_BATCHES) || (params->window == 0) ||
        (params->window > PERF_MAX_WINDOW) || (params->num_points == 0) ||
        (params->num_points > PERF_MAX_POINTS) || !(params->seconds > 0) ||
        !(params->seconds <= 1000) || !(params->timeout >= 1) ||
        !(params->timeout <= 86400) || !(params->unit_us >= 0.1) ||
        !(params->unit_us <= 1e6) || !(params->target_us >= 0) ||
        !(params->target_us <= 1e6)) {
        return 0;
    }
    for (i = 0; i < params->num_points; ++i) {
        if (params->points[i].size > PERF_MAX_SIZE) {
            return 0;
        }
        for (comp = 0; comp < PERF_NUM_COMPS; ++comp) {
            if (params->points[i].comps[comp] > PERF_MAX_UNITS) {
                return 0;
            }
        }
    }
    return 1;
}

void perf_params_format_config(char *text, size_t length, const perf_point_t *point)
{
    const uint32_t *comps = point->comps;

    snprintf(text, length, "%u/%u/%u/%u/%u/%u", comps[0], comps[1], comps[2], comps[3],
             comps[4], comps[5]);
}

static void __attribute__((format(printf, 3, 4)))
append(char *text, size_t length, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, length - used, format, args);
    va_end(args);
}

/* Write the steps of one side; its first number has the word units behind it */
static void append_side(char *text, size_t length, const char *side,
                        const unsigned *comps)
{
    append(text, length, "%s is ready ", side);
    if (comps[0] > 0) {
        append(text, length, "after %u units", comps[0]);
    } else {
        append(text, length, "at once");
    }
    if (comps[1] > 0) {
        append(text, length, ", computes %u%s meanwhile", comps[1],
               (comps[0] > 0) ? "" : " units");
    }
    if (comps[2] > 0) {
        append(text, length, ", %s%u%s afterwards", (comps[1] > 0) ? "" : "computes ",
               comps[2], (comps[0] + comps[1] > 0) ? "" : " units");
    }
}

void perf_params_format_caption(char *text, size_t length, const char *config)
{
    unsigned comps[PERF_NUM_COMPS];
    char rest;

    if (sscanf(config, "%u/%u/%u/%u/%u/%u%c", &comps[0], &comps[1], &comps[2], &comps[3],
               &comps[4], &comps[5], &rest) != PERF_NUM_COMPS) {
        snprintf(text, length, "%s", config);
        return;
    }
    text[0] = '\0';
    append_side(text, length, "sender", comps);
    append_side(text, length, "; receiver", &comps[PERF_NUM_COMPS / 2]);
}
