/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a trace begins and ends, the signal that asks for one, and how its events are printed.
 */
#include "trace.h"
#include "../../wire/types.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"
#include "../../../ucs/output.h"
#include "../../../ucs/rank.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

volatile unsigned ri_trace_signals = 0;

static pthread_once_t trace_signal_once = PTHREAD_ONCE_INIT;

static void trace_signal(int signo)
{
    ++ri_trace_signals;
}

/* Leaves a handler of the application alone. */
static void trace_install_signal(void)
{
    struct sigaction action = {.sa_handler = trace_signal, .sa_flags = SA_RESTART};
    struct sigaction old;

    if ((sigaction(SIGUSR2, NULL, &old) == 0) && (old.sa_handler == SIG_DFL)) {
        sigaction(SIGUSR2, &action, NULL);
    } else {
        ri_warn("SIGUSR2 is in use by the application: it does not print the trace");
    }
}

ucs_status_t ri_trace_init(ri_trace_t *trace)
{
    uint32_t size = 16;

    trace->entries = NULL;
    trace->next    = 0;
    if (!ri_config.trace) {
        return UCS_OK;
    }

    while (size < ri_config.trace_size) {
        size *= 2;
    }
    trace->entries = calloc(size, sizeof(*trace->entries));
    if (trace->entries == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    trace->mask = size - 1;
    pthread_once(&trace_signal_once, trace_install_signal);
    return UCS_OK;
}

void ri_trace_cleanup(ri_trace_t *trace)
{
    free(trace->entries);
    trace->entries = NULL;
}

/* Print what an event says. */
static void trace_print(FILE *stream, const char *format, const uint64_t arg[2])
{
    char text[RI_WIRE_TYPE_TEXT_MAX];

    if (strstr(format, "%s") != NULL) {
        fprintf(stream, format, ri_wire_type_text(arg[0], text), arg[1]);
    } else {
        fprintf(stream, format, arg[0], arg[1]);
    }
}

void ri_trace_dump(const ri_trace_t *trace, const char *title)
{
    static const char *const names[] = {
#define TRACE_NAME(_name, _format) [RI_TRACE_##_name] = #_name,
            RI_TRACE_EVENTS(TRACE_NAME)};
    static const char *const formats[] = {
#define TRACE_FORMAT(_name, _format) [RI_TRACE_##_name] = _format,
            RI_TRACE_EVENTS(TRACE_FORMAT)};
    const char *rank = ri_rank_text();
    char label[48]   = "";
    char process[96];
    uint64_t i;
    FILE *stream;

    if (trace->entries == NULL) {
        return;
    }

    /* Lines of several ranks may come in between each other */
    ri_rank_process(process, sizeof(process));
    if (rank != NULL) {
        snprintf(label, sizeof(label), "[%s] ", rank);
    }
    stream = ri_output_open(ri_config.trace_dest);
    fprintf(stream, "ucxri: %strace of %s, process %s: %lu events, the latest %lu:\n",
            label, title, process, (unsigned long)trace->next,
            (unsigned long)ri_min(trace->next, trace->mask + 1ul));
    i = (trace->next > trace->mask) ? (trace->next - trace->mask - 1) : 0;
    for (; i < trace->next; ++i) {
        const ri_trace_entry_t *entry = &trace->entries[i & trace->mask];

        fprintf(stream, "%s%lu.%09lu %-13s ", label,
                (unsigned long)(entry->time_ns / 1000000000),
                (unsigned long)(entry->time_ns % 1000000000), names[entry->event]);
        trace_print(stream, formats[entry->event], entry->arg);
        fputc('\n', stream);
    }
    ri_output_close(stream);
}
