/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over workers while they live and when they end, and the output when the process exits.
 */
#include "report.h"
#include "inert.h"
#include "worker_counters.h"
#include "../core/worker.h"
#include "../../ucs/settings.h"
#include "../../ucs/output.h"
#include "../../ucs/rank.h"
#include "../../ucs/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pid_t pid; /* 0: there was no worker. A child by fork() is another process. */
    double start_time;
    uint64_t start_ticks; /* the two clocks, to convert the ticks of calls */
    uint64_t ticks[RI_CALL_COUNT];
    uint64_t values[RI_REPORT_VALUES];
} report = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ri_report_start(void)
{
    pthread_mutex_lock(&report.lock);
    if (report.pid == 0) {
        report.pid         = getpid();
        report.start_time  = ri_time();
        report.start_ticks = ri_ticks();
    }
    pthread_mutex_unlock(&report.lock);
}

void ri_report_reset(void)
{
    report.pid = 0;
    memset(report.ticks, 0, sizeof(report.ticks));
    memset(report.values, 0, sizeof(report.values));
}

static void report_add_sent(const ri_conn_counters_t *sent)
{
    uint64_t *values = report.values;
    uint64_t ring_bytes;

    values[RI_REPORT_RING] += sent->tx_eager_ring;
    values[RI_REPORT_AM] += sent->tx_eager_am;
    values[RI_REPORT_AM_BYTES] += sent->tx_eager_am_bytes;
    values[RI_REPORT_CHANNEL] += sent->tx_eager_rdma;
    values[RI_REPORT_CHANNEL_BYTES] += sent->tx_eager_rdma_bytes;
    values[RI_REPORT_HYBRID] += sent->tx_hybrid;
    values[RI_REPORT_HYBRID_BYTES] += sent->tx_hybrid_bytes;
    values[RI_REPORT_RTR] += sent->tx_recv_rndv;
    values[RI_REPORT_RTR_BYTES] += sent->tx_recv_rndv_bytes;
    values[RI_REPORT_COOP] += sent->tx_coop;
    values[RI_REPORT_COOP_BYTES] += sent->tx_coop_bytes;
    values[RI_REPORT_GET] += sent->tx_rndv;
    values[RI_REPORT_GET_BYTES] += sent->tx_rndv_bytes;
    values[RI_REPORT_PUT] += sent->tx_put + sent->tx_ud;
    values[RI_REPORT_PUT_BYTES] += sent->tx_put_bytes + sent->tx_ud_bytes;
    values[RI_REPORT_UCP] += sent->tx_bulk;
    values[RI_REPORT_UCP_BYTES] += sent->tx_bulk_bytes;

    /* What is left of the sum, see counters.h */
    ring_bytes = sent->tx_bytes - sent->tx_eager_am_bytes - sent->tx_eager_rdma_bytes -
                 sent->tx_hybrid_bytes - sent->tx_recv_rndv_bytes - sent->tx_coop_bytes -
                 sent->tx_rndv_bytes - sent->tx_put_bytes - sent->tx_ud_bytes -
                 sent->tx_bulk_bytes - sent->tx_self_bytes;
    values[RI_REPORT_RING_BYTES] += ring_bytes;
    values[RI_REPORT_BUFFERED_BYTES] += ring_bytes + sent->tx_eager_am_bytes +
                                        sent->tx_eager_rdma_bytes + sent->tx_hybrid_bytes;
    values[RI_REPORT_WRITTEN_BYTES] += sent->tx_written_bytes;
    values[RI_REPORT_CONTROL] += sent->tx_control;
}

void ri_report_add(const ri_worker_t *worker)
{
    uint64_t *values = report.values;
    ri_worker_counters_t counters;
    unsigned i;

    ri_worker_counters_snapshot(worker, &counters);
    pthread_mutex_lock(&report.lock);
    report_add_sent(&counters.conns);
    values[RI_REPORT_FAST] += counters.streams.rx_posted;
    values[RI_REPORT_LATE] += counters.streams.rx_unexpected;
    values[RI_REPORT_LONG] += counters.streams.rx_long;
    values[RI_REPORT_READ_BYTES] += counters.streams.rx_read_bytes;
    values[RI_REPORT_RTR_SENT] += counters.rtr_sent;
    values[RI_REPORT_RTR_USED] += counters.rtr_used;
    values[RI_REPORT_RTR_DROPPED] += counters.rtr_dropped;
    values[RI_REPORT_RTR_SUPPRESSED] += counters.rtr_suppressed;
    for (i = 0; i < RI_CALL_COUNT; ++i) {
        report.ticks[i] += worker->calls.ticks[i];
    }
    pthread_mutex_unlock(&report.lock);
}

static void report_label(ri_report_row_t *row)
{
    const char *rank  = ri_rank_text();
    const char *ranks = ri_rank_count_text();

    snprintf(row->rank, sizeof(row->rank), "%s", (rank == NULL) ? "-" : rank);
    snprintf(row->ranks, sizeof(row->ranks), "%s", (ranks == NULL) ? "-" : ranks);
    ri_rank_job(row->job, sizeof(row->job));
    ri_rank_process(row->process, sizeof(row->process));
}

void ri_report_get(ri_report_row_t *row)
{
    static const ri_report_value_t times[RI_CALL_COUNT] = {
            [RI_CALL_SEND] = RI_REPORT_SEND_US,
            [RI_CALL_RECV] = RI_REPORT_RECV_US,
            [RI_CALL_WORK] = RI_REPORT_WORK_US,
            [RI_CALL_IDLE] = RI_REPORT_IDLE_US};
    double life = ri_time() - report.start_time;
    /* over all the time since the start there is nothing to calibrate */
    double ticks = ri_ticks() - report.start_ticks;
    unsigned i;

    report_label(row);
    pthread_mutex_lock(&report.lock);
    memcpy(row->values, report.values, sizeof(row->values));
    row->values[RI_REPORT_LIFE_US] = life * 1e6;
    for (i = 0; i < RI_CALL_COUNT; ++i) {
        row->values[times[i]] = (ticks > 0) ? report.ticks[i] / ticks * life * 1e6 : 0;
    }
    pthread_mutex_unlock(&report.lock);
}

/* In one piece, if the file is what takes it. */
static void report_write(int fd, const char *text, size_t length)
{
    ssize_t written;

    while (length > 0) {
        written = write(fd, text, length);
        if ((written < 0) && (errno == EINTR)) {
            continue;
        }
        if (written <= 0) {
            return;
        }
        text += written;
        length -= written;
    }
}

void ri_report_print(void)
{
    char text[2 * RI_REPORT_TABLES * RI_REPORT_LINE_MAX];
    size_t length = 0;
    ri_report_row_t row;
    FILE *stream;
    int i;

    if (report.pid != getpid()) {
        return;
    }

    ri_report_get(&row);
    for (i = 0; i < RI_REPORT_TABLES; ++i) {
        if (!strcmp(row.rank, "0") || !strcmp(row.rank, "-")) {
            length += ri_report_format_names(i, text + length);
        }
        length += ri_report_format_row(i, &row, text + length);
    }
    stream = ri_output_open(ri_config.report_dest);
    fflush(stream);
    report_write(fileno(stream), text, length);
    ri_output_close(stream);
}

void ri_report_worker(ri_worker_t *worker)
{
    FILE *stream;

    if (ri_config.stats) {
        stream = ri_output_open(ri_config.stats_dest);
        ri_worker_counters_dump(worker, stream);
        ri_output_close(stream);
    }
    if (worker->trace.entries != NULL) {
        ri_trace_dump(&worker->trace, "a worker at its end");
    }
    if (ri_config.report) {
        ri_report_add(worker);
    }
}

static void report_trace(ri_worker_t *worker, void *arg)
{
    ri_trace_dump(&worker->trace, arg);
}

void ri_report_traces(void)
{
    static _Atomic(time_t) last = 0;
    time_t now                  = time(NULL);

    if (ri_config.trace && (atomic_exchange(&last, now) != now)) {
        ri_context_foreach_worker(report_trace, "a worker, because of an error");
    }
}

static void report_worker_at_exit(ri_worker_t *worker, void *arg)
{
    ri_report_worker(worker);
}

/* Workers that the application never destroyed report here; the others did so when they
 * were destroyed. */
__attribute__((destructor)) static void report_at_exit(void)
{
    ri_context_foreach_worker(report_worker_at_exit, NULL);
    if (ri_config.report) {
        ri_report_print();
    }
    ri_inert_print();
}
