/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of UCXRI_REPORT=y: each process prints one line of each table, and "ucxri_info
 * -r" reads the lines of all processes and sums them up. Both find here which columns
 * there are. Numbers up to 999,999 are exact, larger ones have four digits and a unit.
 */
#ifndef RI_REPORT_TABLE_H
#define RI_REPORT_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* What is known of a process; all others follow from these, and all can be summed. */
typedef enum ri_report_value {
    RI_REPORT_RING,
    RI_REPORT_RING_BYTES,
    RI_REPORT_AM,
    RI_REPORT_AM_BYTES,
    RI_REPORT_CHANNEL,
    RI_REPORT_CHANNEL_BYTES,
    RI_REPORT_HYBRID,
    RI_REPORT_HYBRID_BYTES,
    RI_REPORT_RTR,
    RI_REPORT_RTR_BYTES,
    RI_REPORT_COOP,
    RI_REPORT_COOP_BYTES,
    RI_REPORT_GET,
    RI_REPORT_GET_BYTES,
    RI_REPORT_PUT,
    RI_REPORT_PUT_BYTES,
    RI_REPORT_UCP,
    RI_REPORT_UCP_BYTES,
    RI_REPORT_CONTROL, /* messages */
    RI_REPORT_FAST,    /* messages that found their receive */
    RI_REPORT_LATE,    /* messages that came before their receive */
    RI_REPORT_LONG,    /* messages above EAGER_THRESH */
    RI_REPORT_RTR_SENT,
    RI_REPORT_RTR_USED,
    RI_REPORT_RTR_DROPPED,
    RI_REPORT_RTR_SUPPRESSED,
    RI_REPORT_READ_BYTES,
    RI_REPORT_WRITTEN_BYTES,
    RI_REPORT_BUFFERED_BYTES,
    RI_REPORT_LIFE_US,
    RI_REPORT_SEND_US,
    RI_REPORT_RECV_US,
    RI_REPORT_WORK_US, /* progress that did something */
    RI_REPORT_IDLE_US, /* progress that did nothing */
    RI_REPORT_VALUES
} ri_report_value_t;

/* The tables, which have one line for each process. */
typedef enum ri_report_table {
    RI_REPORT_TABLE_SENT,
    RI_REPORT_TABLE_WORK,
    RI_REPORT_TABLES
} ri_report_table_t;

typedef struct ri_report_row {
    char rank[12];    /* a number, or "-" if it is not known */
    char process[80]; /* host:pid */
    uint64_t values[RI_REPORT_VALUES];
} ri_report_row_t;

/* Enough for any line. */
#define RI_REPORT_LINE_MAX 1024

/** Write the column names of a table into @a line, which has room for RI_REPORT_LINE_MAX, with a
 * newline. @return Characters, at most RI_REPORT_LINE_MAX - 1. */
size_t ri_report_format_names(ri_report_table_t table, char *line);

/** Write the line of a process into @a line, which has room for RI_REPORT_LINE_MAX, with a newline.
 * @return Characters, at most RI_REPORT_LINE_MAX - 1. */
size_t ri_report_format_row(ri_report_table_t table, const ri_report_row_t *row,
                            char *line);

/**
 * Read a line into what it says of a row; the other values of the row are kept. What a launcher has
 * put in front of the line is passed over.
 *
 * @return The table, or RI_REPORT_TABLES if this is not the line of a process; then the row is as
 *         it was.
 */
ri_report_table_t ri_report_parse_row(const char *line, ri_report_row_t *row);

/** @return The share of @a part in @a part + @a rest, in tenths of a per cent; -1 if both are 0. */
int ri_report_permille(uint64_t part, uint64_t rest);

/** @return How many messages were sent, by all protocols or by those for long messages only. */
uint64_t ri_report_messages(const ri_report_row_t *row, int long_only);

#endif
