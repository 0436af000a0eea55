/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Files are anybody's: whatever they contain, nothing is read behind their end, and nesting is
 * limited. Of escapes, those beyond ASCII become a question mark; names in reports have none.
 */
#include "ucxri_info_json.h"

#include <stdlib.h>
#include <string.h>

/* Deeper values are refused, or a file could use up the stack. */
#define JSON_DEPTH 32

static void json_fail(json_t *json, const char *error)
{
    if (json->error == NULL) {
        json->error = error;
    }
}

int json_more(json_t *json)
{
    json->at += strspn(json->at, " \t\r\n");
    return *json->at != '\0';
}

/* @return Whether the next character is @a c, which is passed over then. */
static int json_take(json_t *json, char c)
{
    if ((json->error != NULL) || !json_more(json) || (*json->at != c)) {
        return 0;
    }
    ++json->at;
    return 1;
}

static int json_take_word(json_t *json, const char *word)
{
    size_t length = strlen(word);

    if ((json->error != NULL) || !json_more(json) || strncmp(json->at, word, length)) {
        return 0;
    }
    json->at += length;
    return 1;
}

/* Begin an object or an array, or go on to its next entry. @return Whether there is one. */
static int json_next(json_t *json, int *first, char open, char close)
{
    int is_first = *first;

    *first = 0;
    if (is_first && !json_take(json, open)) {
        json_fail(json, "an object or an array is missing");
    }
    if (json_take(json, close)) {
        return 0;
    }
    if (!is_first && !json_take(json, ',')) {
        json_fail(json, "a comma is missing");
    }
    return json->error == NULL;
}

/* @return The character that an escape stands for; what follows it is next. */
static char json_escape(json_t *json)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found  = strchr(from, *json->at);
    unsigned long code = 0;
    char digits[5]     = "";

    if ((*json->at != '\0') && (found != NULL)) {
        ++json->at;
        return to[found - from];
    }
    if ((*json->at == 'u') && (strspn(json->at + 1, "0123456789abcdefABCDEF") >= 4)) {
        memcpy(digits, json->at + 1, 4);
        code = strtoul(digits, NULL, 16);
        json->at += 5;
    } else {
        json_fail(json, "a wrong escape");
    }
    return ((code > 0) && (code < 128)) ? (char)code : '?';
}

int json_text(json_t *json, char *text, unsigned long max)
{
    unsigned long length = 0;
    char c;

    if (json_take_word(json, "null")) {
        return 0;
    }
    if (!json_take(json, '"')) {
        json_fail(json, "a string is missing");
    }
    while ((json->error == NULL) && (*json->at != '"')) {
        if (*json->at == '\0') {
            json_fail(json, "a string does not end");
            break;
        }
        c = *json->at++;
        if (c == '\\') {
            c = json_escape(json);
        }
        if (length + 1 < max) {
            text[length++] = c;
        }
    }
    if (json->error != NULL) {
        return 0;
    }
    ++json->at;
    text[length] = '\0';
    return 1;
}

int json_object(json_t *json, int *first, char *name, unsigned long max)
{
    if (!json_next(json, first, '{', '}')) {
        return 0;
    }
    if (!json_text(json, name, max) || !json_take(json, ':')) {
        json_fail(json, "a name with a colon is missing");
    }
    return json->error == NULL;
}

int json_array(json_t *json, int *first)
{
    return json_next(json, first, '[', ']');
}

int json_number(json_t *json, uint64_t *number)
{
    char *end;

    if ((json->error != NULL) || json_take_word(json, "null")) {
        return 0;
    }
    if (!json_more(json) || (strspn(json->at, "0123456789") == 0)) {
        json_fail(json, "a whole number is missing");
        return 0;
    }
    *number  = strtoull(json->at, &end, 10);
    json->at = end;
    return 1;
}

int json_true(json_t *json)
{
    if (json_take_word(json, "true")) {
        return 1;
    }
    if (!json_take_word(json, "false")) {
        json_fail(json, "true or false is missing");
    }
    return 0;
}

/* Numbers of any form, true, false and null. */
static void json_skip_word(json_t *json)
{
    size_t length = strspn(json->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");

    if (length == 0) {
        json_fail(json, "a value is missing");
    }
    json->at += length;
}

void json_skip(json_t *json)
{
    char text[2];
    int first = 1;

    if ((json->error != NULL) || !json_more(json) || (++json->depth > JSON_DEPTH)) {
        json_fail(json, "a value is missing, or too deep");
        return;
    }
    switch (*json->at) {
    case '{':
        while (json_object(json, &first, text, sizeof(text))) {
            json_skip(json);
        }
        break;
    case '[':
        while (json_array(json, &first)) {
            json_skip(json);
        }
        break;
    case '"':
        json_text(json, text, sizeof(text));
        break;
    default:
        json_skip_word(json);
    }
    --json->depth;
}
