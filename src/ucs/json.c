/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "json.h"

#include <string.h>

FILE *ri_json_next(ri_json_list_t *list)
{
    fputs(list->separator, list->stream);
    list->separator = ",\n";
    return list->stream;
}

void ri_json_string(const char *text, const char *also, FILE *stream)
{
    fputc('"', stream);
    for (; *text != '\0'; ++text) {
        if ((*text == '"') || (*text == '\\')) {
            fprintf(stream, "\\%c", *text);
        } else if (((unsigned char)*text < ' ') || (strchr(also, *text) != NULL)) {
            fprintf(stream, "\\u%04x", (unsigned)(unsigned char)*text);
        } else {
            fputc(*text, stream);
        }
    }
    fputc('"', stream);
}
