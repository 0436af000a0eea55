/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages for people: one line each on stderr, in the form that UCX users know.
 */
#ifndef RI_LOG_H
#define RI_LOG_H

typedef enum ri_log_level {
    RI_LOG_LEVEL_ERROR,
    RI_LOG_LEVEL_WARN,
    RI_LOG_LEVEL_INFO,
    RI_LOG_LEVEL_DEBUG
} ri_log_level_t;

/* The highest level that is printed. Set from UCXRI_LOG_LEVEL. */
extern ri_log_level_t ri_log_level;

/* Called after each error; NULL: nothing is. */
extern void (*ri_log_on_error)(void);

/** Print one line with time, host, process and level, if ri_log_level allows it. After an error,
 * ri_log_on_error is called. Lines are cut at 1023 characters. */
void ri_log(ri_log_level_t level, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#define ri_error(_fmt, ...) ri_log(RI_LOG_LEVEL_ERROR, _fmt, ##__VA_ARGS__)
#define ri_warn(_fmt, ...)  ri_log(RI_LOG_LEVEL_WARN, _fmt, ##__VA_ARGS__)

#define ri_info(_fmt, ...) \
    do { \
        if (ri_log_level >= RI_LOG_LEVEL_INFO) { \
            ri_log(RI_LOG_LEVEL_INFO, _fmt, ##__VA_ARGS__); \
        } \
    } while (0)

#define ri_debug(_fmt, ...) \
    do { \
        if (ri_log_level >= RI_LOG_LEVEL_DEBUG) { \
            ri_log(RI_LOG_LEVEL_DEBUG, _fmt, ##__VA_ARGS__); \
        } \
    } while (0)

#endif
