/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See ucxri_perf_key.h.
 */
#include "ucxri_perf_key.h"
#include "ucxri_perf_words.h"

#include <string.h>

#define LINE_HEIGHT  17.0
#define LETTER_WIDTH 26.0
#define CHAR_WIDTH   6.3 /* an estimate, as in ucxri_perf_svg.c */
#define TEXT_SIZE    11
#define COLOR_LETTER "#111827"
#define COLOR_NAME   "#4b5563"
#define MAX_CAPTION  256

/* Below captions that have units of computation */
#define UNIT_NOTE "a unit of computation takes 18 µs, unless --unit was given"

int perf_key_add(perf_key_t *key, const char *name)
{
    int i;

    for (i = 0; i < key->count; ++i) {
        if (!strcmp(key->names[i], name)) {
            return i;
        }
    }
    if (key->count == PERF_KEY_MAX_NAMES) {
        return key->count - 1;
    }
    key->names[key->count] = name;
    return key->count++;
}

void perf_key_letter(char *text, size_t length, int number)
{
    if (number < 26) {
        snprintf(text, length, "%c", 'A' + number);
    } else {
        snprintf(text, length, "%c%d", 'A' + number % 26, number / 26 + 1);
    }
}

/* Whether a caption has units of computation */
static int has_units(const perf_key_t *key)
{
    char caption[MAX_CAPTION];
    int i;

    for (i = 0; i < key->count; ++i) {
        perf_words_name(caption, sizeof(caption), key->names[i]);
        if (strstr(caption, " units") != NULL) {
            return 1;
        }
    }
    return 0;
}

double perf_key_height(const perf_key_t *key)
{
    return (key->count + has_units(key)) * LINE_HEIGHT;
}

double perf_key_width(const perf_key_t *key)
{
    double width = 0;
    char caption[MAX_CAPTION];
    int i;

    for (i = 0; i < key->count; ++i) {
        perf_words_name(caption, sizeof(caption), key->names[i]);
        if (strlen(caption) * CHAR_WIDTH > width) {
            width = strlen(caption) * CHAR_WIDTH;
        }
    }
    return LETTER_WIDTH + width;
}

void perf_key_draw(perf_svg_t *svg, const perf_key_t *key, double y)
{
    char letter[16], caption[MAX_CAPTION];
    int i;

    for (i = 0; i < key->count; ++i) {
        perf_key_letter(letter, sizeof(letter), i);
        perf_words_name(caption, sizeof(caption), key->names[i]);
        perf_svg_text(svg, svg->left, y + i * LINE_HEIGHT, "start", TEXT_SIZE,
                      COLOR_LETTER, letter);
        perf_svg_text(svg, svg->left + LETTER_WIDTH, y + i * LINE_HEIGHT, "start",
                      TEXT_SIZE, COLOR_NAME, caption);
    }
    if (has_units(key)) {
        perf_svg_text(svg, svg->left + LETTER_WIDTH, y + key->count * LINE_HEIGHT,
                      "start", TEXT_SIZE, COLOR_NAME, UNIT_NOTE);
    }
}
