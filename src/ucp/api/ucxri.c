/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions take what the parts below know, and give it the form of ucxri.h.
 */
#include "ucxri.h"
#include "../core/version.h"
#include "../core/worker.h"
#include "../rma/window_memory.h"
#include "../../ucs/settings.h"
#include "../run/worker_counters.h"
#include "../run/report_windows.h"
#include "../rma/window_ranks.h"

/* An array that is being filled with counters. */
typedef struct counter_array {
    ucxri_counter_t *counters;
    size_t max;
    size_t count;
} counter_array_t;

const char *ucxri_version_string(void)
{
    return RI_VERSION_STRING;
}

int ucxri_worker_is_served(ucp_worker_h stock)
{
    return ri_worker_find(stock) != NULL;
}

static void counter_append(const char *name, const char *unit, const char *doc,
                           uint64_t value, void *arg)
{
    counter_array_t *array = arg;

    if (array->count < array->max) {
        array->counters[array->count] = (ucxri_counter_t){
                .name = name, .unit = unit, .description = doc, .value = value};
    }
    ++array->count;
}

size_t ucxri_worker_counters(ucp_worker_h stock, ucxri_counter_t *counters, size_t max)
{
    ri_worker_t *worker   = ri_worker_find(stock);
    counter_array_t array = {.counters = counters, .max = max};
    ri_worker_counters_t snapshot;

    if (worker == NULL) {
        return 0;
    }
    ri_worker_lock(worker);
    ri_worker_counters_snapshot(worker, &snapshot);
    ri_worker_unlock(worker);
    ri_counters_foreach(&snapshot, counter_append, &array);
    return array.count;
}

ucs_status_t ucxri_worker_print_counters(ucp_worker_h stock, FILE *stream)
{
    ri_worker_t *worker = ri_worker_find(stock);

    if (worker == NULL) {
        return UCS_ERR_NO_ELEM;
    }
    ri_worker_lock(worker);
    ri_worker_counters_dump(worker, stream);
    ri_worker_unlock(worker);
    return UCS_OK;
}

ucs_status_t ucxri_worker_dump_trace(ucp_worker_h stock)
{
    ri_worker_t *worker = ri_worker_find(stock);

    if ((worker == NULL) || (worker->trace.entries == NULL)) {
        return UCS_ERR_NO_ELEM;
    }
    ri_worker_lock(worker);
    ri_trace_dump(&worker->trace, "a worker, on request");
    ri_worker_unlock(worker);
    return UCS_OK;
}

_Static_assert(((int)UCXRI_WINDOW_TAKEN == (int)RI_WINDOW_TAKEN) &&
                       ((int)UCXRI_WINDOW_LEFT == (int)RI_WINDOW_LEFT) &&
                       ((int)UCXRI_WINDOW_LAST == (int)RI_WINDOW_OWNERS),
               "of ri_report_windows_note()");

void ucxri_note_window(ucxri_window_t whose, uint64_t bytes)
{
    ri_report_windows_note((unsigned)whose, bytes);
}

/* Of no header: libraries for windows look it up by RI_WINDOW_OPS_SYMBOL. */
const ri_window_ops_t *ucxri_window_ops(unsigned version);

const ri_window_ops_t *ucxri_window_ops(unsigned version)
{
    /* A worker makes the progress in which others are served */
    return (ri_config.rma && (ri_worker_map.live > 0)) ? ri_window_memory(version) : NULL;
}

/* Of no header, as the table is: by the symbols of core/types/window_ops.h. */
void ucxri_window_tell(uint32_t job, uint32_t rank);
void ucxri_window_began(int is_named);
ri_window_rank_t ucxri_window_rank(uint32_t rank);

void ucxri_window_tell(uint32_t job, uint32_t rank)
{
    ri_window_ranks_tell((ri_wire_windows_t){.job = job, .rank = rank});
}

void ucxri_window_began(int is_named)
{
    if (!is_named) {
        ri_window_ranks_close();
    }
}

ri_window_rank_t ucxri_window_rank(uint32_t rank)
{
    return ri_window_ranks_look(rank);
}
