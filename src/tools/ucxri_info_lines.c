/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines are printed by each process on its own, so they come in any order, among other output,
 * and some may be lost. A process is known by its rank and its name.
 */
#include "ucxri_info_lines.h"

#include <stdlib.h>
#include <string.h>

/* Count a process in which the library was inert. @return Whether the line says so. */
static int lines_add_inert(info_inert_t *inert, const char *line)
{
    static const char begin[] = "ucxri:inert ", because[] = ", because ";
    const char *text = strstr(line, because);
    size_t length, i;

    if (strncmp(line, begin, sizeof(begin) - 1) || (text == NULL)) {
        return 0;
    }
    text += sizeof(because) - 1;
    length = strcspn(text, "\n");
    for (i = 0; i < INFO_REASONS; ++i) {
        if (inert[i].text == NULL) {
            inert[i].text = strndup(text, length);
        }
        if ((inert[i].text == NULL) || (i == INFO_REASONS - 1) ||
            ((strlen(inert[i].text) == length) &&
             !strncmp(inert[i].text, text, length))) {
            break;
        }
    }
    ++inert[i].count;
    return 1;
}

void info_lines_read(info_t *info, info_inert_t *inert, FILE *stream)
{
    ri_report_row_t row = {0};
    char *line          = NULL;
    size_t size         = 0;

    while (getline(&line, &size, stream) > 0) {
        if (!lines_add_inert(inert, line) &&
            (ri_report_parse_row(line, &row) != RI_REPORT_TABLES)) {
            ri_report_parse_row(line, &info_find(info, row.rank, row.process)->row);
        }
    }
    free(line);
}

void info_inert_print(const info_inert_t *inert)
{
    size_t i;

    for (i = 0; i < INFO_REASONS; ++i) {
        if (inert[i].text != NULL) {
            printf("inert in %zu process%s, because %s\n", inert[i].count,
                   (inert[i].count == 1) ? "" : "es", inert[i].text);
        }
    }
}

void info_inert_free(info_inert_t *inert)
{
    size_t i;

    for (i = 0; i < INFO_REASONS; ++i) {
        free(inert[i].text);
    }
}
