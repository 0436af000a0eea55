/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Values of variables: read, printed, and described in the words of who sets them. They are
 * written as in UCX's variables (8k, 10s, y, inf, auto). UCS's own parsers are not used: they
 * take "-1" and what follows a number, print errors of their own, and name types that say
 * nothing to a user.
 */
#ifndef RI_CONFIG_VALUE_H
#define RI_CONFIG_VALUE_H

#include <stddef.h>
#include <stdint.h>

/* The kind of a variable's values, and the type of its member in ri_config_t. */
typedef enum ri_config_type {
    RI_CONFIG_SIZE,    /* size_t: bytes */
    RI_CONFIG_COUNT,   /* unsigned */
    RI_CONFIG_NUMBER,  /* size_t */
    RI_CONFIG_TIME,    /* double: seconds, or INFINITY */
    RI_CONFIG_BOOL,    /* int: 0 or 1 */
    RI_CONFIG_TERNARY, /* int: UCS_NO, UCS_YES, UCS_AUTO */
    RI_CONFIG_NAME,    /* int: index among the names */
    RI_CONFIG_HEX,     /* char *: a hexadecimal number, or auto */
    RI_CONFIG_OUTPUT,  /* char *: where something is printed */
    RI_CONFIG_REPORT,  /* char *: y, n, or json: and the name of a file */
    RI_CONFIG_TRACE,   /* char *: y, n, or the name of a file */
    RI_CONFIG_TEXT     /* char *: anything */
} ri_config_type_t;

/* Words that a variable takes beside plain values, and plain values that it does not take. */
enum {
    /* "auto", by type: SIZE: UCS_MEMUNITS_AUTO, NUMBER: UCS_ULUNITS_AUTO, HEX: the text */
    RI_CONFIG_AUTO = 1 << 0,
    /* "inf", by type: SIZE: UCS_MEMUNITS_INF, COUNT: UINT_MAX, NUMBER: UCS_ULUNITS_INF, TIME:
     * INFINITY */
    RI_CONFIG_INF      = 1 << 1,
    RI_CONFIG_POWER    = 1 << 2, /* SIZE: powers of two only */
    RI_CONFIG_POSITIVE = 1 << 3, /* TIME: not 0 */
    RI_CONFIG_MEASURED = 1 << 4, /* SIZE: auto follows from costs that are measured */
    /* SIZE: auto stands for several values, which its text lists */
    RI_CONFIG_SEVERAL = 1 << 5
};

/* One variable: an entry of ri_config_fields (config_table.h). */
typedef struct ri_config_field {
    const char *name;      /* without the prefix UCXRI_ */
    ri_config_type_t type; /* what it takes, and the type of its member */
    const char *dfl;       /* the default, as a text that can be read */
    size_t offset;         /* of its member in ri_config_t */
    const char *doc;       /* help text, of several lines */
    unsigned flags;        /* RI_CONFIG_AUTO and so on */
    uint64_t min;          /* the least value, of SIZE, COUNT, NUMBER and HEX */
    /* the largest value, of SIZE, COUNT, NUMBER and HEX; 0: what the type can hold */
    uint64_t max;
    const char *const *names; /* of NAME: the names of the values, and NULL */
} ri_config_field_t;

/* The longest text of a value, or of what is accepted, with its end. */
#define RI_CONFIG_TEXT_MAX 256

/**
 * Read a value.
 *
 * @param member  The variable's member of ri_config_t. It is set if the value is good. A text is a
 *                pointer to @a value itself, which has to outlive it.
 *
 * @return Whether it is good. No warning is given.
 */
int ri_config_value_read(const ri_config_field_t *field, const char *value, void *member);

/** @return Whether the member of a variable is a pointer to the text of its value. */
static inline int ri_config_value_is_text(const ri_config_field_t *field)
{
    return (field->type == RI_CONFIG_HEX) || (field->type == RI_CONFIG_OUTPUT) ||
           (field->type == RI_CONFIG_REPORT) || (field->type == RI_CONFIG_TRACE) ||
           (field->type == RI_CONFIG_TEXT);
}

/* The word in front of the file name in a RI_CONFIG_REPORT. */
#define RI_CONFIG_REPORT_JSON "json:"

/** @return The name of the file in the value of a RI_CONFIG_REPORT, which points into @a value;
 *         NULL if the value names no file.
 * @param is_on  Set to whether there is to be a report. */
const char *ri_config_value_report(const char *value, int *is_on);

/* A value of a RI_CONFIG_TRACE that has a dot, a slash or a percent sign is the name of a file. */
#define RI_CONFIG_TRACE_FILE "./%"

/** @return The name of the file in the value of a RI_CONFIG_TRACE, which is @a value itself; NULL
 *         if the value names no file.
 * @param is_on  Set to whether there is to be a trace in memory. */
const char *ri_config_value_trace(const char *value, int *is_on);

/** Print a value, in a form that can be read again, to @a text, which has room for @a max bytes
 * with its end; what does not fit is cut off. */
void ri_config_value_print(const ri_config_field_t *field, const void *member, char *text,
                           size_t max);

/** Describe what a variable takes, as "y or n", or "a size in bytes, such as 4096, 8k or 1m, or
 * auto". What does not fit the @a max bytes of @a text, with its end, is cut off. */
void ri_config_value_describe(const ri_config_field_t *field, char *text, size_t max);

#endif
