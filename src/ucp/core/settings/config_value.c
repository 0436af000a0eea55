/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For each type of value: how it is read, how it is printed, and how a warning describes what is
 * accepted. The three are next to each other, so that they agree.
 */
#include "config_value.h"
#include "../../../ucs/yes_no.h"

#include <ucs/config/types.h>
#include <ucs/sys/string.h>

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* More digits behind the point say nothing to a clock. */
#define VALUE_TIME_DIGITS 9

static const char value_suffixes[] = "kmgtp"; /* 1024, 1024^2, ... */

static const struct {
    const char *name;
    double seconds;
} value_time_units[] = {{"", 1},      {"s", 1},     {"ms", 1e-3},
                        {"us", 1e-6}, {"ns", 1e-9}, {"m", 60}};

/* Digits only: no sign, no blank. @return What follows them, or NULL if there are none or the
 * number is too large. */
static const char *value_digits(const char *text, unsigned base, uint64_t *number)
{
    const char *at = text;
    unsigned digit;

    for (*number = 0; isxdigit((unsigned char)*at); ++at) {
        digit = isdigit((unsigned char)*at) ? (*at - '0') :
                                              (tolower((unsigned char)*at) - 'a' + 10);
        if (digit >= base) {
            break;
        }
        if (__builtin_mul_overflow(*number, (uint64_t)base, number) ||
            __builtin_add_overflow(*number, (uint64_t)digit, number)) {
            return NULL;
        }
    }
    return (at == text) ? NULL : at;
}

static int value_is_in_range(const ri_config_field_t *field, uint64_t number,
                             uint64_t type_max)
{
    return (number >= field->min) &&
           (number <= ((field->max != 0) ? field->max : type_max));
}

/* A unit may have a blank in front, as people write it. */
static const char *value_unit(const char *value)
{
    return ((*value == ' ') && isalpha((unsigned char)value[1])) ? value + 1 : value;
}

/* 4096, 4096b, 4k, 4kb, 4 KB */
static int value_read_size(const ri_config_field_t *field, const char *value,
                           size_t *member)
{
    const char *suffix;
    uint64_t size;

    value = value_digits(value, 10, &size);
    if (value == NULL) {
        return 0;
    }
    value  = value_unit(value);
    suffix = (*value == '\0') ? NULL :
                                strchr(value_suffixes, tolower((unsigned char)*value));
    if (suffix != NULL) {
        if (__builtin_mul_overflow(
                    size, UINT64_C(1) << (10 * (suffix - value_suffixes + 1)), &size)) {
            return 0;
        }
        ++value;
    }
    /* UCS_MEMUNITS_AUTO and _INF are the two largest */
    if (((*value != '\0') && strcasecmp(value, "b")) ||
        !value_is_in_range(field, size, UCS_MEMUNITS_AUTO - 1) ||
        ((field->flags & RI_CONFIG_POWER) && ((size & (size - 1)) != 0))) {
        return 0;
    }
    *member = size;
    return 1;
}

static int value_read_number(const ri_config_field_t *field, const char *value,
                             uint64_t type_max, uint64_t *number)
{
    value = value_digits(value, 10, number);
    return (value != NULL) && (*value == '\0') &&
           value_is_in_range(field, *number, type_max);
}

/* Not by strtod(), which takes signs, exponents, "nan", and the comma of the locale. */
static int value_read_time(const ri_config_field_t *field, const char *value,
                           double *member)
{
    uint64_t whole = 0, parts = 0;
    double scale = 1;
    size_t i, digits;

    if (*value != '.') {
        value = value_digits(value, 10, &whole);
        if (value == NULL) {
            return 0;
        }
    }
    if (*value == '.') {
        ++value;
        digits = strspn(value, "0123456789");
        if ((digits == 0) || (digits > VALUE_TIME_DIGITS)) {
            return 0;
        }
        value = value_digits(value, 10, &parts);
        for (; digits > 0; --digits) {
            scale *= 10;
        }
    }
    value = value_unit(value);
    for (i = 0; i < sizeof(value_time_units) / sizeof(value_time_units[0]); ++i) {
        if (!strcasecmp(value, value_time_units[i].name)) {
            if ((field->flags & RI_CONFIG_POSITIVE) && (whole == 0) && (parts == 0)) {
                return 0;
            }
            *member = (whole + parts / scale) * value_time_units[i].seconds;
            return 1;
        }
    }
    return 0;
}

static int value_find_name(const char *value, const char *const *names)
{
    int i;

    for (i = 0; names[i] != NULL; ++i) {
        if (!strcasecmp(value, names[i])) {
            return i;
        }
    }
    return -1;
}

static int value_read_bool(const char *value, int *member)
{
    int is_yes = ri_yes_no(value);

    if (is_yes < 0) {
        return 0;
    }
    *member = is_yes;
    return 1;
}

const char *ri_config_value_report(const char *value, int *is_on)
{
    size_t length = strlen(RI_CONFIG_REPORT_JSON);

    if (!strncasecmp(value, RI_CONFIG_REPORT_JSON, length)) {
        *is_on = 1;
        return value + length;
    }
    if (!value_read_bool(value, is_on)) {
        *is_on = 0;
    }
    return NULL;
}

static int value_is_report(const char *value)
{
    const char *file;
    int is_on;

    file = ri_config_value_report(value, &is_on);
    return (file != NULL) ? (*file != '\0') : value_read_bool(value, &is_on);
}

const char *ri_config_value_trace(const char *value, int *is_on)
{
    if (strpbrk(value, RI_CONFIG_TRACE_FILE) != NULL) {
        *is_on = 0;
        return value;
    }
    if (!value_read_bool(value, is_on)) {
        *is_on = 0;
    }
    return NULL;
}

static int value_is_trace(const char *value)
{
    int is_on;

    return (ri_config_value_trace(value, &is_on) != NULL) ||
           value_read_bool(value, &is_on);
}

static int value_read_ternary(const char *value, int *member)
{
    int is_yes;

    if (!strcasecmp(value, "auto")) {
        *member = UCS_AUTO;
        return 1;
    }
    if (!value_read_bool(value, &is_yes)) {
        return 0;
    }
    *member = is_yes ? UCS_YES : UCS_NO;
    return 1;
}

static int value_read_name(const ri_config_field_t *field, const char *value, int *member)
{
    int index = value_find_name(value, field->names);

    if (index < 0) {
        return 0;
    }
    *member = index;
    return 1;
}

static int value_is_hex(const ri_config_field_t *field, const char *value)
{
    uint64_t number;

    if ((field->flags & RI_CONFIG_AUTO) && !strcasecmp(value, "auto")) {
        return 1;
    }
    if (!strncasecmp(value, "0x", 2)) {
        value += 2;
    }
    value = value_digits(value, 16, &number);
    return (value != NULL) && (*value == '\0') &&
           value_is_in_range(field, number, UINT64_MAX);
}

/* The words that stand for a number. @return Whether it is one. */
static int value_read_word(const ri_config_field_t *field, const char *value,
                           void *member)
{
    int is_auto = (field->flags & RI_CONFIG_AUTO) && !strcasecmp(value, "auto");
    int is_inf  = (field->flags & RI_CONFIG_INF) && !strcasecmp(value, "inf");

    if (!is_auto && !is_inf) {
        return 0;
    }
    switch (field->type) {
    case RI_CONFIG_SIZE:
        *(size_t *)member = is_auto ? UCS_MEMUNITS_AUTO : UCS_MEMUNITS_INF;
        return 1;
    case RI_CONFIG_NUMBER:
        *(size_t *)member = is_auto ? UCS_ULUNITS_AUTO : UCS_ULUNITS_INF;
        return 1;
    case RI_CONFIG_COUNT:
        *(unsigned *)member = UINT_MAX;
        return is_inf;
    case RI_CONFIG_TIME:
        *(double *)member = INFINITY;
        return is_inf;
    default:
        return 0;
    }
}

int ri_config_value_read(const ri_config_field_t *field, const char *value, void *member)
{
    uint64_t number;

    if (value_read_word(field, value, member)) {
        return 1;
    }
    switch (field->type) {
    case RI_CONFIG_SIZE:
        return value_read_size(field, value, member);
    case RI_CONFIG_COUNT:
        if (!value_read_number(field, value, UINT_MAX, &number)) {
            return 0;
        }
        *(unsigned *)member = number;
        return 1;
    case RI_CONFIG_NUMBER:
        if (!value_read_number(field, value, UCS_ULUNITS_AUTO - 1, &number)) {
            return 0;
        }
        *(size_t *)member = number;
        return 1;
    case RI_CONFIG_TIME:
        return value_read_time(field, value, member);
    case RI_CONFIG_BOOL:
        return value_read_bool(value, member);
    case RI_CONFIG_TERNARY:
        return value_read_ternary(value, member);
    case RI_CONFIG_NAME:
        return value_read_name(field, value, member);
    case RI_CONFIG_HEX:
        if (!value_is_hex(field, value)) {
            return 0;
        }
        break;
    case RI_CONFIG_OUTPUT:
        if (*value == '\0') {
            return 0;
        }
        break;
    case RI_CONFIG_REPORT:
        if (!value_is_report(value)) {
            return 0;
        }
        break;
    case RI_CONFIG_TRACE:
        if (!value_is_trace(value)) {
            return 0;
        }
        break;
    case RI_CONFIG_TEXT:
        break;
    }
    *(const char **)member = value;
    return 1;
}

static void value_print_size(size_t size, char *text, size_t max)
{
    size_t i = 0;

    if (size == UCS_MEMUNITS_AUTO) {
        snprintf(text, max, "auto");
        return;
    }
    if (size == UCS_MEMUNITS_INF) {
        snprintf(text, max, "inf");
        return;
    }
    while ((size != 0) && (size % 1024 == 0) && (value_suffixes[i] != '\0')) {
        size /= 1024;
        ++i;
    }
    if (i > 0) {
        snprintf(text, max, "%zu%c", size,
                 toupper((unsigned char)value_suffixes[i - 1])); /* as UCX prints them */
    } else {
        snprintf(text, max, "%zu", size);
    }
}

static void value_print_time(double seconds, char *text, size_t max)
{
    if (isinf(seconds)) {
        snprintf(text, max, "inf");
    } else if (seconds >= 1e9) {
        snprintf(text, max, "%.0fs", seconds); /* %g would take an exponent */
    } else if ((seconds >= 1) || (seconds == 0)) {
        snprintf(text, max, "%.9gs", seconds);
    } else if (seconds >= 1e-3) {
        snprintf(text, max, "%.9gms", seconds * 1e3);
    } else {
        snprintf(text, max, "%.9gus", seconds * 1e6);
    }
}

void ri_config_value_print(const ri_config_field_t *field, const void *member, char *text,
                           size_t max)
{
    size_t number;

    switch (field->type) {
    case RI_CONFIG_SIZE:
        value_print_size(*(const size_t *)member, text, max);
        break;
    case RI_CONFIG_COUNT:
        if ((field->flags & RI_CONFIG_INF) && (*(const unsigned *)member == UINT_MAX)) {
            snprintf(text, max, "inf");
        } else {
            snprintf(text, max, "%u", *(const unsigned *)member);
        }
        break;
    case RI_CONFIG_NUMBER:
        number = *(const size_t *)member;
        if (number >= UCS_ULUNITS_AUTO) {
            snprintf(text, max, "%s", (number == UCS_ULUNITS_AUTO) ? "auto" : "inf");
        } else {
            snprintf(text, max, "%zu", number);
        }
        break;
    case RI_CONFIG_TIME:
        value_print_time(*(const double *)member, text, max);
        break;
    case RI_CONFIG_BOOL:
        snprintf(text, max, "%s", *(const int *)member ? "y" : "n");
        break;
    case RI_CONFIG_TERNARY:
        snprintf(text, max, "%s",
                 (*(const int *)member == UCS_AUTO) ? "auto" :
                 (*(const int *)member == UCS_YES)  ? "y" :
                                                      "n");
        break;
    case RI_CONFIG_NAME:
        snprintf(text, max, "%s", field->names[*(const int *)member]);
        break;
    case RI_CONFIG_HEX:
    case RI_CONFIG_OUTPUT:
    case RI_CONFIG_REPORT:
    case RI_CONFIG_TRACE:
    case RI_CONFIG_TEXT:
        snprintf(text, max, "%s", *(const char *const *)member);
        break;
    }
}

/* Append to a text. */
static void value_add(char *text, size_t max, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void value_add(char *text, size_t max, const char *format, ...)
{
    size_t length = strlen(text);
    va_list ap;

    va_start(ap, format);
    vsnprintf(text + length, max - length, format, ap);
    va_end(ap);
}

static void value_describe_size(const ri_config_field_t *field, char *text, size_t max)
{
    char low[32], high[32];

    if (field->max == 0) {
        value_add(text, max, "a size in bytes, such as 4096, 8k or 1m");
        return;
    }
    value_print_size(field->min, low, sizeof(low));
    value_print_size(field->max, high, sizeof(high));
    value_add(text, max, "%s from %s to %s",
              (field->flags & RI_CONFIG_POWER) ? "a power of two" : "a size in bytes",
              low, high);
}

static void value_describe_number(const ri_config_field_t *field, char *text, size_t max)
{
    if (field->max != 0) {
        value_add(text, max, "a number from %" PRIu64 " to %" PRIu64, field->min,
                  field->max);
    } else {
        value_add(text, max, "a number from %" PRIu64 " on", field->min);
    }
}

static void value_describe_names(const char *const *names, char *text, size_t max)
{
    size_t i;

    for (i = 0; names[i] != NULL; ++i) {
        value_add(text, max, "%s%s",
                  (i == 0)               ? "" :
                  (names[i + 1] == NULL) ? " or " :
                                           ", ",
                  names[i]);
    }
}

void ri_config_value_describe(const ri_config_field_t *field, char *text, size_t max)
{
    text[0] = '\0';
    switch (field->type) {
    case RI_CONFIG_SIZE:
        value_describe_size(field, text, max);
        break;
    case RI_CONFIG_COUNT:
    case RI_CONFIG_NUMBER:
        value_describe_number(field, text, max);
        break;
    case RI_CONFIG_TIME:
        value_add(text, max, "a time%s, such as 500ms, 10s or 5m",
                  (field->flags & RI_CONFIG_POSITIVE) ? " above 0" : "");
        break;
    case RI_CONFIG_BOOL:
        value_add(text, max, "y or n");
        break;
    case RI_CONFIG_TERNARY:
        value_add(text, max, "y, n or auto");
        break;
    case RI_CONFIG_NAME:
        value_describe_names(field->names, text, max);
        break;
    case RI_CONFIG_HEX:
        value_add(text, max, "a hexadecimal number from %" PRIx64 " to %" PRIx64,
                  field->min, (field->max != 0) ? field->max : UINT64_MAX);
        break;
    case RI_CONFIG_OUTPUT:
        value_add(text, max, "stderr, stdout or the name of a file");
        break;
    case RI_CONFIG_REPORT:
        value_add(text, max,
                  "y, n or " RI_CONFIG_REPORT_JSON
                  "FILE (another file than stderr: UCXRI_REPORT_DEST)");
        break;
    case RI_CONFIG_TRACE:
        value_add(text, max, "y, n or a file whose name has a dot or a slash");
        break;
    case RI_CONFIG_TEXT:
        value_add(text, max, "text");
        break;
    }
    if (field->flags & RI_CONFIG_INF) {
        value_add(text, max, "%s inf", (field->flags & RI_CONFIG_AUTO) ? "," : ", or");
    }
    if (field->flags & RI_CONFIG_AUTO) {
        value_add(text, max, ", or auto");
    }
}
