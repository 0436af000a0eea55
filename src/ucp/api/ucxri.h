/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program can ask the preloaded library. Programs that also run without it declare
 * these functions weak, or look them up with dlsym(RTLD_DEFAULT, ...).
 */
#ifndef UCXRI_H
#define UCXRI_H

#include <ucp/api/ucp.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

BEGIN_C_DECLS

/* One counter of a worker. The texts are constant. */
typedef struct ucxri_counter {
    const char *name; /* as in the output of UCXRI_STATS=y */
    const char *unit;
    const char *description;
    uint64_t value;
} ucxri_counter_t;

/** @return The version of the library, such as "0.1.0". */
const char *ucxri_version_string(void);

/** @return Whether tag matching of @a worker is done by the library. */
int ucxri_worker_is_served(ucp_worker_h worker);

/**
 * Read the counters of a worker: its own and those of all its connections, summed up.
 * Like any function on a worker, not while another thread uses a worker that is not
 * UCS_THREAD_MODE_MULTI.
 *
 * @param counters  Filled with up to @a max counters; may be NULL if @a max is 0.
 *
 * @return How many counters there are; 0 if the library does not serve the worker.
 */
size_t ucxri_worker_counters(ucp_worker_h worker, ucxri_counter_t *counters, size_t max);

/**
 * Print the counters of a worker and of each of its connections, as UCXRI_STATS=y does.
 *
 * @return UCS_ERR_NO_ELEM if the library does not serve the worker.
 */
ucs_status_t ucxri_worker_print_counters(ucp_worker_h worker, FILE *stream);

/**
 * Print the protocol trace of a worker to where UCXRI_TRACE_DEST says.
 *
 * @return UCS_ERR_NO_ELEM if the library does not serve the worker or keeps no trace.
 */
ucs_status_t ucxri_worker_dump_trace(ucp_worker_h worker);

/* Whose a window of MPI is, and why. The numbers stay. */
typedef enum ucxri_window {
    UCXRI_WINDOW_TAKEN, /* a library for windows does the window */
    UCXRI_WINDOW_LEFT,  /* the window is left to the MPI */
    UCXRI_WINDOW_LAST
} ucxri_window_t;

/**
 * Count a window of MPI in the report of this process. Libraries for windows call it. Any thread
 * may.
 *
 * @param whose  Another value than those above is ignored.
 * @param bytes  Of this process's memory in the window, if it is done by a library for windows.
 */
void ucxri_note_window(ucxri_window_t whose, uint64_t bytes);

END_C_DECLS

#endif
