/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines are printed by each process on its own, so they come in any order, among other output,
 * and some may be lost. A process is known by its rank and its name.
 */
#include "ucxri_info_read_lines.h"
#include "ucxri_wrap.h"

#include <stdlib.h>
#include <string.h>

/* Copy what follows @a mark in a line, without its end. @return Whether there is any. */
static int lines_after(const char *line, const char *mark, char *text)
{
    const char *at = strstr(line, mark);

    if (at == NULL) {
        return 0;
    }
    at += strlen(mark);
    snprintf(text, INFO_REASON_MAX, "%.*s", (int)strcspn(at, "\n"), at);
    return 1;
}

/* @return The reason of this text, which is new if there was none. */
static info_inert_t *lines_reason(info_inert_t *inert, const char *because)
{
    info_inert_t *reason = inert;

    while ((reason->text != NULL) && strcmp(reason->text, because) &&
           (reason < &inert[INFO_REASONS - 1])) {
        ++reason;
    }
    if (reason->text == NULL) {
        reason->text = strdup(because);
    }
    return reason;
}

static void lines_add_remedy(info_inert_t *reason, const char *remedy)
{
    if ((reason->remedy == NULL) && (*remedy != '\0')) {
        reason->remedy = strdup(remedy);
    }
}

void info_inert_add(info_inert_t *inert, const char *because, const char *remedy)
{
    info_inert_t *reason = lines_reason(inert, because);

    ++reason->count;
    lines_add_remedy(reason, remedy);
}

/* Take a line of a process in which the library was inert: of the reason, or of what can be done,
 * which stands behind it. @return Whether it is one. */
static int lines_add_inert(info_inert_t *inert, info_inert_t **last, const char *line)
{
    char text[INFO_REASON_MAX];

    if (strstr(line, RI_REPORT_INERT " ") == NULL) {
        return 0;
    }
    if (lines_after(line, ", because ", text)) {
        *last = lines_reason(inert, text);
        ++(*last)->count;
    } else if ((*last != NULL) && lines_after(line, " what to do: ", text)) {
        lines_add_remedy(*last, text);
    }
    return 1;
}

/* Take the line of a process that was ended. @return Whether it is one. */
static int lines_add_ended(info_t *info, const char *line)
{
    ri_report_row_t row;

    if (!ri_report_table_parse_ended(line, &row)) {
        return 0;
    }
    info_find(info, row.rank, row.process)->ended = 1;
    return 1;
}

/* Take the line of a table. @return Whether it is one. */
static int lines_add_row(info_t *info, const char *line)
{
    ri_report_row_t row = {0};

    if (ri_report_table_parse_row(line, &row) != RI_REPORT_TABLES) {
        ri_report_table_parse_row(line, &info_find(info, row.rank, row.process)->row);
        return 1;
    }
    return ri_report_table_is_line(line);
}

void info_read_lines(info_t *info, info_inert_t *inert, FILE *stream, FILE *others)
{
    info_inert_t *last = NULL;
    char *line         = NULL;
    size_t size        = 0;

    while (getline(&line, &size, stream) > 0) {
        if (!lines_add_inert(inert, &last, line) && !lines_add_ended(info, line) &&
            !lines_add_row(info, line) && (others != NULL)) {
            fputs(line, others);
            fflush(others);
        }
    }
    free(line);
}

void info_inert_print(const info_inert_t *inert)
{
    size_t i;

    for (i = 0; i < INFO_REASONS; ++i) {
        if (inert[i].text != NULL) {
            wrap_printf(stdout, "", "inert in %zu process%s, because %s%s%s",
                        inert[i].count, (inert[i].count == 1) ? "" : "es", inert[i].text,
                        (inert[i].remedy == NULL) ? "" : ": ",
                        (inert[i].remedy == NULL) ? "" : inert[i].remedy);
        }
    }
}

void info_inert_free(info_inert_t *inert)
{
    size_t i;

    for (i = 0; i < INFO_REASONS; ++i) {
        free(inert[i].text);
        free(inert[i].remedy);
    }
}
