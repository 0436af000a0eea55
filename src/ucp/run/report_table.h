/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of UCXRI_REPORT=y: each process prints one line of each table, and "ucxri_info -r"
 * reads the lines of all processes and sums them up. Both find here which columns there are.
 * Numbers up to 999,999 and bytes up to 9,999 are exact, larger ones have four digits and a unit.
 */
#ifndef RI_REPORT_TABLE_H
#define RI_REPORT_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What is known of a process; all others follow from these, and all can be summed. Each has the
 * name by which it stands in a report as JSON (docs/user-guide.md).
 */
/* clang-format off */
#define RI_REPORT_LIST(_v) \
    _v(RING, "ring") \
    _v(RING_BYTES, "ring_bytes") \
    _v(AM, "am") \
    _v(AM_BYTES, "am_bytes") \
    _v(CHANNEL, "channel") \
    _v(CHANNEL_BYTES, "channel_bytes") \
    _v(HYBRID, "hybrid") \
    _v(HYBRID_BYTES, "hybrid_bytes") \
    _v(RTR, "rtr") \
    _v(RTR_BYTES, "rtr_bytes") \
    _v(COOP, "coop") \
    _v(COOP_BYTES, "coop_bytes") \
    _v(GET, "get") \
    _v(GET_BYTES, "get_bytes") \
    _v(PUT, "put") \
    _v(PUT_BYTES, "put_bytes") \
    _v(UCP, "ucp") \
    _v(UCP_BYTES, "ucp_bytes") \
    _v(CONTROL, "control")            /* messages */ \
    _v(FAST, "fast")                  /* messages that found their receive */ \
    _v(LATE, "late")                  /* messages that came before their receive */ \
    _v(LONG, "long")                  /* messages above EAGER_THRESH */ \
    _v(RTR_SENT, "rtr_sent") \
    _v(RTR_USED, "rtr_used") \
    _v(RTR_DROPPED, "rtr_dropped") \
    _v(RTR_SUPPRESSED, "rtr_suppressed") \
    _v(READ_BYTES, "read_bytes") \
    _v(WRITTEN_BYTES, "written_bytes") \
    _v(BUFFERED_BYTES, "buffered_bytes") \
    _v(RMA_MAPPED, "rma_mapped")      /* one-sided operations: counters.h */ \
    _v(RMA_MAPPED_BYTES, "rma_mapped_bytes") \
    _v(RMA_COPIED, "rma_copied") \
    _v(RMA_COPIED_BYTES, "rma_copied_bytes") \
    _v(RMA_MAILED, "rma_mailed") \
    _v(RMA_CALLED, "rma_called") \
    _v(RMA_WITHDRAWN, "rma_withdrawn") \
    _v(RMA_STOCK, "rma_stock") \
    _v(WINDOWS, "windows")            /* of MPI, by the library for windows */ \
    _v(WINDOWS_BYTES, "windows_bytes") \
    _v(WINDOWS_LEFT, "windows_left")  /* left to the MPI */ \
    _v(LIFE_US, "life_us") \
    _v(SEND_US, "send_us") \
    _v(RECV_US, "recv_us") \
    _v(WORK_US, "work_us")            /* progress that did something */ \
    _v(IDLE_US, "idle_us")            /* progress that did nothing */
/* clang-format on */

typedef enum ri_report_value {
#define RI_REPORT_ENTER(_value, _name) RI_REPORT_##_value,
    RI_REPORT_LIST(RI_REPORT_ENTER)
#undef RI_REPORT_ENTER
    RI_REPORT_VALUES
} ri_report_value_t;

/** The names of all values, in their order. */
extern const char *const ri_report_names[RI_REPORT_VALUES];

/* The protocols that have a counter of messages and one of bytes each, or two of them: their value
 * and that of their bytes (RI_REPORT_LIST has both), name, whether they are for long messages, and
 * one or two counters of a conn. */
/* clang-format off */
#define RI_REPORT_COUNTED_PROTOCOLS(_p) \
    _p(AM, "am", 0, tx_eager_am, tx_eager_am) \
    _p(CHANNEL, "channel", 0, tx_eager_rdma, tx_eager_rdma) \
    _p(HYBRID, "hybrid", 1, tx_hybrid, tx_hybrid) \
    _p(RTR, "rtr", 1, tx_recv_rndv, tx_recv_rndv) \
    _p(COOP, "coop", 1, tx_coop, tx_coop) \
    _p(GET, "get", 1, tx_rndv, tx_rndv) \
    _p(PUT, "put", 1, tx_put, tx_ud) \
    _p(UCP, "ucp", 1, tx_bulk, tx_bulk)
/* clang-format on */

/* The protocols by which messages are counted. Bytes of RING are what is left of the sum; SELF, to
 * the own worker, has no value. */
typedef enum ri_report_protocol {
    RI_REPORT_PROTOCOL_RING,
#define RI_REPORT_PROTOCOL_ENTER(_value, _name, _is_long, _first, _second) \
    RI_REPORT_PROTOCOL_##_value,
    RI_REPORT_COUNTED_PROTOCOLS(RI_REPORT_PROTOCOL_ENTER)
#undef RI_REPORT_PROTOCOL_ENTER
    RI_REPORT_PROTOCOL_SELF,
    RI_REPORT_PROTOCOLS
} ri_report_protocol_t;

/* Messages and their bytes. */
typedef struct ri_report_count {
    uint64_t messages;
    uint64_t bytes;
} ri_report_count_t;

/** @return The name of a protocol, as it stands in a report as JSON. */
const char *ri_report_table_protocol_name(unsigned protocol);

/** @return What the values of a report say of a protocol: of SELF, nothing. */
ri_report_count_t ri_report_table_protocol_count(const uint64_t *values,
                                                 unsigned protocol);

/* The tables, which have one line for each process. Lines have at most 100 columns if the process
 * has a name of up to 21, and its job one of up to 61. */
typedef enum ri_report_table {
    RI_REPORT_TABLE_JOB,  /* to which job the process belongs */
    RI_REPORT_TABLE_SENT, /* short messages sent, and control messages */
    RI_REPORT_TABLE_LONG, /* long messages sent, by the most frequent protocols */
    RI_REPORT_TABLE_DATA, /* by the other ones, and what was copied */
    RI_REPORT_TABLE_RECV, /* messages received */
    RI_REPORT_TABLE_RMA,  /* one-sided operations, of processes that had any */
    RI_REPORT_TABLE_WIN,  /* windows of MPI, of processes that had any */
    RI_REPORT_TABLE_TIME, /* where the time went */
    RI_REPORT_TABLES
} ri_report_table_t;

typedef struct ri_report_row {
    char rank[12];    /* a number, or "-" if it is not known */
    char process[80]; /* host:pid */
    char job[64];     /* what the launcher calls the job, or "-" if it is not known */
    char ranks[12];   /* how many ranks the job has, or "-" if it is not known */
    uint64_t values[RI_REPORT_VALUES];
} ri_report_row_t;

/* Enough for any line. */
#define RI_REPORT_LINE_MAX 1024

/** @return Whether a table says anything of a process: those of one-sided operations and of windows
 * only if there were any. */
int ri_report_table_has(ri_report_table_t table, const ri_report_row_t *row);

/** Write the column names of a table into @a line, which has room for RI_REPORT_LINE_MAX, with a
 * newline. @return Characters, at most RI_REPORT_LINE_MAX - 1. */
size_t ri_report_table_format_names(ri_report_table_t table, char *line);

/** Write the line of a process into @a line, which has room for RI_REPORT_LINE_MAX, with a newline.
 * @return Characters, at most RI_REPORT_LINE_MAX - 1. */
size_t ri_report_table_format_row(ri_report_table_t table, const ri_report_row_t *row,
                                  char *line);

/* How a line begins that has words in place of numbers. */
#define RI_REPORT_ENDED "ucxri:ended" /* how a process was ended */
#define RI_REPORT_INERT "ucxri:inert" /* why the library did nothing, and what to do */

/** Write such a line of the process of a row, with a newline, in the same way.
 * @return Characters, at most RI_REPORT_LINE_MAX - 1. */
size_t ri_report_table_format_note(const char *name, const ri_report_row_t *row,
                                   const char *words, char *line);

/** @return Whether a line has the name of a table: it is of a process, or has names of columns, or
 * was torn. */
int ri_report_table_is_line(const char *line);

/** @return Whether a line says that a process was ended; then @a row has its rank and its name. A
 * @a line of NULL says nothing. */
int ri_report_table_parse_ended(const char *line, ri_report_row_t *row);

/**
 * Read a line into what it says of a row; the other values of the row are kept. What a launcher has
 * put in front of the line is passed over.
 *
 * @param line  NULL: there is none.
 *
 * @return The table, or RI_REPORT_TABLES if this is not the line of a process; then the row is as
 *         it was.
 */
ri_report_table_t ri_report_table_parse_row(const char *line, ri_report_row_t *row);

/** Write @a value as it stands in a table, with at most six characters, to @a text, which has room
 * for @a max bytes with the end. */
void ri_report_table_format_count(uint64_t value, char *text, size_t max);

/** Write a number of bytes as ri_report_table_format_count() writes a number; its units are by
 * 1024. */
void ri_report_table_format_bytes(uint64_t value, char *text, size_t max);

/** @return The share of @a part in @a part + @a rest, in tenths of a per cent; -1 if both are 0. */
int ri_report_table_permille(uint64_t part, uint64_t rest);

/** @return The number of messages that were sent by all protocols, or with @a long_only by those
 * for long messages. */
uint64_t ri_report_table_messages(const ri_report_row_t *row, int long_only);

#endif
