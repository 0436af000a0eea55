/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a column is and how a cell is written, and how a line is read back by ucxri_info.
 */
#include "report_table.h"
#include "../core/types/types.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a column is written. What is derived from others is not read back. */
typedef enum column_kind {
    COLUMN_TEXT,    /* a word of the row */
    COLUMN_COUNT,   /* a number */
    COLUMN_BYTES,   /* a number of bytes */
    COLUMN_PAIR,    /* messages/bytes, "-" for none */
    COLUMN_SECONDS, /* microseconds, as seconds */
    COLUMN_FAST,    /* derived: share of messages that found their receive */
    COLUMN_RTR,     /* derived: share of long messages that used an RTR */
    COLUMN_CONTROL  /* derived: control messages per message */
} column_kind_t;

typedef struct column {
    const char *name;
    int width;
    column_kind_t kind;
    ri_report_value_t value; /* RI_REPORT_VALUES if derived; COLUMN_PAIR: messages */
    ri_report_value_t bytes; /* COLUMN_PAIR: their bytes */
    size_t offset;           /* COLUMN_TEXT: in the row */
    size_t size;             /* COLUMN_TEXT: its room there */
} column_t;

/* Of numbers by 1000, of bytes by 1024. */
static const char units[]      = "kMGTPE";
static const char byte_units[] = "KMGTPE";

/* Below, all digits are written: of a number, and of a number of bytes, which has a unit above, as
 * the ones beside it. */
#define REPORT_ALL_DIGITS       1000000
#define REPORT_ALL_BYTES_DIGITS 10000

/* Of longer names of hosts the end is written, so that a line has 100 columns. */
#define REPORT_HOST_MAX 13ul

const char *const ri_report_names[RI_REPORT_VALUES] = {
#define REPORT_NAME(_value, _name) [RI_REPORT_##_value] = _name,
        RI_REPORT_LIST(REPORT_NAME)};

/* The columns of a protocol. */
typedef struct report_protocol {
    const char *name;
    ri_report_value_t messages; /* RI_REPORT_VALUES: no value has them */
    ri_report_value_t bytes;
    int is_long; /* the protocol is for long messages only */
} report_protocol_t;

/* A protocol that has values. */
/* clang-format off */
#define REPORT_PROTOCOL(_value, _name, _is_long, _first, _second) \
    [RI_REPORT_PROTOCOL_##_value] = {_name, RI_REPORT_##_value, RI_REPORT_##_value##_BYTES, \
                                     _is_long},

static const report_protocol_t report_protocols[RI_REPORT_PROTOCOLS] = {
        REPORT_PROTOCOL(RING, "ring", 0, , )
        RI_REPORT_COUNTED_PROTOCOLS(REPORT_PROTOCOL)
        [RI_REPORT_PROTOCOL_SELF] = {"self", RI_REPORT_VALUES, RI_REPORT_VALUES, 0}};
/* clang-format on */

#define COLUMN(_name, _width, _kind, _value) \
    { \
        _name, _width, COLUMN_##_kind, RI_REPORT_##_value, RI_REPORT_VALUES, 0, 0 \
    }

/* Messages and bytes of a protocol. */
#define PROTOCOL(_name, _value) \
    { \
        _name, 13, COLUMN_PAIR, RI_REPORT_##_value, RI_REPORT_##_value##_BYTES, 0, 0 \
    }

#define TEXT(_name, _width, _member) \
    { \
        _name, _width, COLUMN_TEXT, RI_REPORT_VALUES, RI_REPORT_VALUES, \
                offsetof(ri_report_row_t, _member), \
                sizeof(((ri_report_row_t *)0)->_member) \
    }

static const column_t columns_job[] = {
        TEXT("ranks", 5, ranks),
        TEXT("job", 16, job),
};

static const column_t columns_sent[] = {
        PROTOCOL("ring", RING),
        PROTOCOL("am", AM),
        PROTOCOL("channel", CHANNEL),
        COLUMN("control", 7, COUNT, CONTROL),
        COLUMN("/msg", 5, CONTROL, VALUES),
};

static const column_t columns_long[] = {
        PROTOCOL("hybrid", HYBRID),
        PROTOCOL("rtr", RTR),
        PROTOCOL("coop", COOP),
        PROTOCOL("get", GET),
};

static const column_t columns_data[] = {
        PROTOCOL("put", PUT),
        PROTOCOL("ucp", UCP),
        COLUMN("read", 8, BYTES, READ_BYTES),
        COLUMN("written", 8, BYTES, WRITTEN_BYTES),
        COLUMN("buffered", 8, BYTES, BUFFERED_BYTES),
};

static const column_t columns_recv[] = {
        COLUMN("fast", 6, COUNT, FAST),
        COLUMN("late", 6, COUNT, LATE),
        COLUMN("fast%", 5, FAST, VALUES),
        COLUMN("long", 6, COUNT, LONG),
        COLUMN("rtr%", 5, RTR, VALUES),
        COLUMN("rtrs", 6, COUNT, RTR_SENT),
        COLUMN("used", 6, COUNT, RTR_USED),
        COLUMN("dropped", 7, COUNT, RTR_DROPPED),
        COLUMN("suppr", 6, COUNT, RTR_SUPPRESSED),
};

static const column_t columns_rma[] = {
        PROTOCOL("mapped", RMA_MAPPED),
        PROTOCOL("copied", RMA_COPIED),
        COLUMN("mailed", 6, COUNT, RMA_MAILED),
        COLUMN("called", 6, COUNT, RMA_CALLED),
        COLUMN("withdr", 6, COUNT, RMA_WITHDRAWN),
        COLUMN("ucp", 6, COUNT, RMA_STOCK),
};

static const column_t columns_win[] = {
        PROTOCOL("windows", WINDOWS),
        COLUMN("left", 6, COUNT, WINDOWS_LEFT),
};

static const column_t columns_time[] = {
        COLUMN("life_s", 9, SECONDS, LIFE_US), COLUMN("send_s", 9, SECONDS, SEND_US),
        COLUMN("recv_s", 9, SECONDS, RECV_US), COLUMN("work_s", 9, SECONDS, WORK_US),
        COLUMN("idle_s", 9, SECONDS, IDLE_US),
};

#define TABLE(_name) \
    { \
        "ucxri:" #_name, columns_##_name, \
                sizeof(columns_##_name) / sizeof(columns_##_name[0]) \
    }

static const struct {
    const char *name;
    const column_t *columns;
    size_t count;
} tables[RI_REPORT_TABLES] = {
        [RI_REPORT_TABLE_JOB] = TABLE(job),   [RI_REPORT_TABLE_SENT] = TABLE(sent),
        [RI_REPORT_TABLE_LONG] = TABLE(long), [RI_REPORT_TABLE_DATA] = TABLE(data),
        [RI_REPORT_TABLE_RECV] = TABLE(recv), [RI_REPORT_TABLE_RMA] = TABLE(rma),
        [RI_REPORT_TABLE_WIN] = TABLE(win),   [RI_REPORT_TABLE_TIME] = TABLE(time)};

int ri_report_table_permille(uint64_t part, uint64_t rest)
{
    return (part + rest == 0) ? -1 : (int)(1000.0 * part / ((double)part + rest) + 0.5);
}

const char *ri_report_table_protocol_name(unsigned protocol)
{
    return report_protocols[protocol].name;
}

ri_report_count_t ri_report_table_protocol_count(const uint64_t *values,
                                                 unsigned protocol)
{
    const report_protocol_t *info = &report_protocols[protocol];

    if (info->messages == RI_REPORT_VALUES) {
        return (ri_report_count_t){0, 0};
    }
    return (ri_report_count_t){values[info->messages], values[info->bytes]};
}

uint64_t ri_report_table_messages(const ri_report_row_t *row, int long_only)
{
    uint64_t sum = 0;
    unsigned protocol;

    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        if (!long_only || report_protocols[protocol].is_long) {
            sum += ri_report_table_protocol_count(row->values, protocol).messages;
        }
    }
    return sum;
}

/* A number with @a digits behind the point, which is a point in all locales. */
static void format_fixed(uint64_t value, unsigned digits, char *text, size_t size)
{
    uint64_t one = 1;
    unsigned i;

    for (i = 0; i < digits; ++i) {
        one *= 10;
    }
    snprintf(text, size, "%" PRIu64 ".%0*" PRIu64, value / one, (int)digits, value % one);
}

void ri_report_table_format_count(uint64_t value, char *text, size_t size)
{
    uint64_t one    = 1000; /* the last of four digits */
    unsigned length = 7;    /* digits of the number */

    if (value < REPORT_ALL_DIGITS) {
        snprintf(text, size, "%" PRIu64, value);
        return;
    }
    for (; value / one >= 10000; one *= 10) {
        ++length;
    }
    value = value / one + (value % one >= one / 2);
    if (value == 10000) {
        value = 1000;
        ++length;
    }
    format_fixed(value, 3 - (length - 1) % 3, text, size);
    strncat(text, &units[(length - 1) / 3 - 1], 1);
}

void ri_report_table_format_bytes(uint64_t value, char *text, size_t size)
{
    double scaled   = value;
    unsigned digits = 3;
    unsigned unit   = 0;
    char number[32];
    double one;

    if (value < REPORT_ALL_BYTES_DIGITS) {
        snprintf(text, size, "%" PRIu64, value);
        return;
    }
    for (scaled /= 1024; scaled >= 999.95; scaled /= 1024) {
        ++unit;
    }
    for (one = 10; (digits > 1) && (scaled >= one * 0.99995); one *= 10) {
        --digits; /* of four in all */
    }
    one = (digits == 3) ? 1000 : (digits == 2) ? 100 : 10;
    format_fixed(scaled * one + 0.5, digits, number, sizeof(number));
    snprintf(text, size, "%s%c", number, byte_units[unit]);
}

static void format_derived(const column_t *column, const ri_report_row_t *row, char *text,
                           size_t size)
{
    const uint64_t *values = row->values;
    uint64_t sent          = ri_report_table_messages(row, 0);
    int permille;

    if (column->kind == COLUMN_CONTROL) {
        permille = -(sent == 0);
    } else if (column->kind == COLUMN_FAST) {
        permille = ri_report_table_permille(values[RI_REPORT_FAST],
                                            values[RI_REPORT_LATE]);
    } else {
        permille = ri_report_table_permille(
                values[RI_REPORT_RTR_USED],
                values[RI_REPORT_LONG] -
                        ri_min(values[RI_REPORT_RTR_USED], values[RI_REPORT_LONG]));
    }

    if (permille < 0) {
        snprintf(text, size, "-");
    } else if (column->kind == COLUMN_CONTROL) {
        format_fixed(100.0 * values[RI_REPORT_CONTROL] / sent + 0.5, 2, text, size);
    } else {
        format_fixed(permille, 1, text, size);
    }
}

static void format_cell(const column_t *column, const ri_report_row_t *row, char *text,
                        size_t size)
{
    uint64_t value;
    char bytes[16];

    if (column->kind == COLUMN_TEXT) {
        snprintf(text, size, "%s", (const char *)row + column->offset);
        return;
    }
    if (column->value == RI_REPORT_VALUES) {
        format_derived(column, row, text, size);
        return;
    }

    value = row->values[column->value];
    switch (column->kind) {
    case COLUMN_COUNT:
        ri_report_table_format_count(value, text, size);
        break;
    case COLUMN_BYTES:
        ri_report_table_format_bytes(value, text, size);
        break;
    case COLUMN_PAIR:
        if (value == 0) {
            snprintf(text, size, "-");
            break;
        }
        ri_report_table_format_count(value, text, size);
        ri_report_table_format_bytes(row->values[column->bytes], bytes, sizeof(bytes));
        strcat(strcat(text, "/"), bytes);
        break;
    default: /* COLUMN_SECONDS */
        format_fixed((value + 500) / 1000, 3, text, size);
        break;
    }
}

/* The first columns of all lines. */
static size_t format_head(const char *name, const char *rank, const char *process,
                          char *line)
{
    size_t host = strcspn(process, ":");
    size_t cut  = ri_max(host, REPORT_HOST_MAX) - REPORT_HOST_MAX;

    return snprintf(line, RI_REPORT_LINE_MAX, "%-10s %5s %-16s", name, rank,
                    process + cut);
}

static size_t format_line(ri_report_table_t table, const char *rank, const char *process,
                          const ri_report_row_t *row, char *line)
{
    size_t length = format_head(tables[table].name, rank, process, line);
    const column_t *column;
    char text[80];
    size_t i;

    for (i = 0; i < tables[table].count; ++i) {
        column = &tables[table].columns[i];
        if (row == NULL) {
            snprintf(text, sizeof(text), "%s", column->name);
        } else {
            format_cell(column, row, text, sizeof(text));
        }
        length += snprintf(line + length, RI_REPORT_LINE_MAX - length, " %*s",
                           column->width, text);
    }
    length += snprintf(line + length, RI_REPORT_LINE_MAX - length, "\n");
    return length;
}

int ri_report_table_has(ri_report_table_t table, const ri_report_row_t *row)
{
    size_t i;

    if ((table != RI_REPORT_TABLE_RMA) && (table != RI_REPORT_TABLE_WIN)) {
        return 1;
    }
    for (i = 0; i < tables[table].count; ++i) {
        if (row->values[tables[table].columns[i].value] != 0) {
            return 1;
        }
    }
    return 0;
}

size_t ri_report_table_format_names(ri_report_table_t table, char *line)
{
    return format_line(table, "rank", "process", NULL, line);
}

size_t ri_report_table_format_row(ri_report_table_t table, const ri_report_row_t *row,
                                  char *line)
{
    return format_line(table, row->rank, row->process, row, line);
}

size_t ri_report_table_format_note(const char *name, const ri_report_row_t *row,
                                   const char *words, char *line)
{
    size_t length = format_head(name, row->rank, row->process, line);

    return length + snprintf(line + length, RI_REPORT_LINE_MAX - length, " %s\n", words);
}

/* Digits, perhaps with a point. @return What follows, or NULL if there is none. */
static const char *parse_number(const char *text, double *value_p)
{
    size_t length = strspn(text, "0123456789.");
    char *end;

    *value_p = strtod(text, &end);
    return ((length > 0) && (end == text + length)) ? end : NULL;
}

/* A number with or without a unit. @return What follows, or NULL if it is not one. */
static const char *parse_scaled(const char *text, const char *names, unsigned scale,
                                uint64_t *value_p)
{
    const char *unit;
    double value;

    text = parse_number(text, &value);
    if (text == NULL) {
        return NULL;
    }
    unit = (*text == '\0') ? NULL : strchr(names, *text);
    if (unit != NULL) {
        for (++text; unit >= names; --unit) {
            value *= scale;
        }
    }
    if (value >= 18.4467e18) {
        return NULL;
    }
    *value_p = value + 0.5;
    return text;
}

static const char *parse_count(const char *text, uint64_t *value_p)
{
    return parse_scaled(text, units, 1000, value_p);
}

static const char *parse_bytes(const char *text, uint64_t *value_p)
{
    return parse_scaled(text, byte_units, 1024, value_p);
}

/* A number of ranks is one, or not known; any word may name a job. */
static int parse_text(const column_t *column, const char *text, ri_report_row_t *row)
{
    if ((strlen(text) >= column->size) ||
        ((column->size == sizeof(row->ranks)) && strcmp(text, "-") &&
         (strspn(text, "0123456789") != strlen(text)))) {
        return 0;
    }
    strcpy((char *)row + column->offset, text);
    return 1;
}

static int parse_cell(const column_t *column, const char *text, ri_report_row_t *row)
{
    uint64_t *value;
    double seconds;

    if (column->kind == COLUMN_TEXT) {
        return parse_text(column, text, row);
    }
    if (column->value == RI_REPORT_VALUES) {
        return 1; /* derived */
    }

    value = &row->values[column->value];
    switch (column->kind) {
    case COLUMN_COUNT:
        text = parse_count(text, value);
        return (text != NULL) && (*text == '\0');
    case COLUMN_BYTES:
        text = parse_bytes(text, value);
        return (text != NULL) && (*text == '\0');
    case COLUMN_PAIR:
        if (!strcmp(text, "-")) {
            value[0] = value[1] = 0;
            return 1;
        }
        text = parse_count(text, value);
        if ((text == NULL) || (*text != '/')) {
            return 0;
        }
        text = parse_bytes(text + 1, &value[1]);
        return (text != NULL) && (*text == '\0');
    default: /* COLUMN_SECONDS */
        text = parse_number(text, &seconds);
        if ((text == NULL) || (*text != '\0') || (seconds > 1e12)) {
            return 0;
        }
        *value = seconds * 1e6 + 0.5;
        return 1;
    }
}

/* Launchers may put something in front of a line, such as "[0] ". */
static const char *parse_find(const char *line, ri_report_table_t *table_p)
{
    const char *at;
    int i;

    for (i = 0; i < RI_REPORT_TABLES; ++i) {
        at = strstr(line, tables[i].name);
        if ((at != NULL) && (at[strlen(tables[i].name)] == ' ')) {
            *table_p = i;
            return at + strlen(tables[i].name);
        }
    }
    return NULL;
}

/* Read the rank and the process, which all lines have. @return The next cell is behind them; 0:
 * they are not there. */
static int parse_head(char *line, ri_report_row_t *row, char **next)
{
    char *rank    = strtok_r(line, " \t\r\n", next);
    char *process = (rank == NULL) ? NULL : strtok_r(NULL, " \t\r\n", next);

    if ((process == NULL) || (strlen(rank) >= sizeof(row->rank)) ||
        (strcmp(rank, "-") && (strspn(rank, "0123456789") != strlen(rank))) ||
        (strlen(process) >= sizeof(row->process))) {
        return 0;
    }
    strcpy(row->rank, rank);
    strcpy(row->process, process);
    return 1;
}

int ri_report_table_parse_ended(const char *line, ri_report_row_t *row)
{
    char copy[RI_REPORT_LINE_MAX];
    char *next;

    line = strstr(line, RI_REPORT_ENDED " ");
    if ((line == NULL) || (strlen(line) >= sizeof(copy))) {
        return 0;
    }
    strcpy(copy, line + strlen(RI_REPORT_ENDED));
    return parse_head(copy, row, &next);
}

int ri_report_table_is_line(const char *line)
{
    ri_report_table_t table;

    return parse_find(line, &table) != NULL;
}

ri_report_table_t ri_report_table_parse_row(const char *line, ri_report_row_t *row)
{
    ri_report_row_t out = *row;
    ri_report_table_t table;
    char copy[RI_REPORT_LINE_MAX];
    char *cell, *next;
    size_t i;

    line = parse_find(line, &table);
    if ((line == NULL) || (strlen(line) >= sizeof(copy))) {
        return RI_REPORT_TABLES;
    }
    strcpy(copy, line);
    if (!parse_head(copy, &out, &next)) {
        return RI_REPORT_TABLES;
    }

    for (i = 0; i < tables[table].count; ++i) {
        cell = strtok_r(NULL, " \t\r\n", &next);
        if ((cell == NULL) || !parse_cell(&tables[table].columns[i], cell, &out)) {
            return RI_REPORT_TABLES;
        }
    }
    if (strtok_r(NULL, " \t\r\n", &next) != NULL) {
        return RI_REPORT_TABLES;
    }
    *row = out;
    return table;
}
