/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Protocols that do the same for a user are one value.
 */
#include "report_values.h"
#include "report_windows.h"
#include "worker_counters.h"
#include "../core/worker.h"
#include "../../ucs/clock.h"
#include "../../ucs/rank.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

void ri_report_values_clock_start(ri_report_clock_t *clock)
{
    clock->time  = ri_clock_now();
    clock->ticks = ri_clock_ticks();
}

void ri_report_values_label(ri_report_row_t *row)
{
    const char *rank  = ri_rank_text();
    const char *ranks = ri_rank_count_text();

    snprintf(row->rank, sizeof(row->rank), "%s", (rank == NULL) ? "-" : rank);
    snprintf(row->ranks, sizeof(row->ranks), "%s", (ranks == NULL) ? "-" : ranks);
    ri_rank_job(row->job, sizeof(row->job));
    ri_rank_process(row->process, sizeof(row->process));
}

/* Where the messages and the bytes of a protocol are counted. */
typedef struct sent_protocol {
    unsigned messages, bytes; /* ri_report_value_t */
    /* offsets in ri_conn_counters_t: of one counter of messages or of two, and of bytes */
    size_t first, second, first_bytes, second_bytes;
} sent_protocol_t;

#define SENT(_value, _name, _is_long, _first, _second) \
    {RI_REPORT_##_value, \
     RI_REPORT_##_value##_BYTES, \
     offsetof(ri_conn_counters_t, _first), \
     offsetof(ri_conn_counters_t, _second), \
     offsetof(ri_conn_counters_t, _first##_bytes), \
     offsetof(ri_conn_counters_t, _second##_bytes)},

static const sent_protocol_t sent_protocols[] = {RI_REPORT_COUNTED_PROTOCOLS(SENT)};

/* The sum of two counters, or the one that both are. */
static uint64_t sent_sum(const ri_conn_counters_t *sent, size_t first, size_t second)
{
    uint64_t sum = *(const uint64_t *)((const char *)sent + first);

    return (second == first) ? sum :
                               sum + *(const uint64_t *)((const char *)sent + second);
}

void ri_report_values_add_sent(uint64_t *values, const ri_conn_counters_t *sent)
{
    uint64_t ring_bytes = sent->tx_bytes - sent->tx_self_bytes;
    const sent_protocol_t *protocol;
    uint64_t bytes;
    size_t i;

    values[RI_REPORT_RING] += sent->tx_eager_ring;
    for (i = 0; i < sizeof(sent_protocols) / sizeof(sent_protocols[0]); ++i) {
        protocol = &sent_protocols[i];
        bytes    = sent_sum(sent, protocol->first_bytes, protocol->second_bytes);
        values[protocol->messages] += sent_sum(sent, protocol->first, protocol->second);
        values[protocol->bytes] += bytes;
        ring_bytes -= bytes; /* what is left of the sum, see counters.h */
    }
    values[RI_REPORT_RING_BYTES] += ring_bytes;
    values[RI_REPORT_BUFFERED_BYTES] += ring_bytes + sent->tx_eager_am_bytes +
                                        sent->tx_eager_rdma_bytes + sent->tx_hybrid_bytes;
    values[RI_REPORT_WRITTEN_BYTES] += sent->tx_written_bytes;
    values[RI_REPORT_CONTROL] += sent->tx_control;
    values[RI_REPORT_RMA_MAPPED] += sent->rma_mapped + sent->rma_atomics;
    values[RI_REPORT_RMA_MAPPED_BYTES] += sent->rma_mapped_bytes;
    values[RI_REPORT_RMA_COPIED] += sent->rma_copied;
    values[RI_REPORT_RMA_COPIED_BYTES] += sent->rma_copied_bytes;
    values[RI_REPORT_RMA_MAILED] += sent->rma_mailed;
    values[RI_REPORT_RMA_CALLED] += sent->rma_called;
    values[RI_REPORT_RMA_WITHDRAWN] += sent->rma_withdrawn;
    values[RI_REPORT_RMA_STOCK] += sent->rma_stock;
}

void ri_report_values_add_worker(ri_report_sum_t *sum, const ri_worker_t *worker)
{
    uint64_t *values = sum->values;
    ri_worker_counters_t counters;
    unsigned i;

    ri_worker_counters_snapshot(worker, &counters);
    ri_report_values_add_sent(values, &counters.conns);
    values[RI_REPORT_FAST] += counters.streams.rx_posted;
    values[RI_REPORT_LATE] += counters.streams.rx_unexpected;
    values[RI_REPORT_LONG] += counters.streams.rx_long;
    values[RI_REPORT_READ_BYTES] += counters.streams.rx_read_bytes;
    values[RI_REPORT_RTR_SENT] += counters.rtr_sent;
    values[RI_REPORT_RTR_USED] += counters.rtr_used;
    values[RI_REPORT_RTR_DROPPED] += counters.rtr_dropped;
    values[RI_REPORT_RTR_SUPPRESSED] += counters.rtr_suppressed;
    for (i = 0; i < RI_CALL_COUNT; ++i) {
        sum->ticks[i] += worker->calls.ticks[i];
    }
}

void ri_report_values_add_sum(ri_report_sum_t *sum, const ri_report_sum_t *other)
{
    unsigned i;

    for (i = 0; i < RI_REPORT_VALUES; ++i) {
        sum->values[i] += other->values[i];
    }
    for (i = 0; i < RI_CALL_COUNT; ++i) {
        sum->ticks[i] += other->ticks[i];
    }
}

void ri_report_values_set(ri_report_row_t *row, const ri_report_sum_t *sum,
                          const ri_report_clock_t *clock)
{
    static const ri_report_value_t times[RI_CALL_COUNT] = {
            [RI_CALL_SEND] = RI_REPORT_SEND_US,
            [RI_CALL_RECV] = RI_REPORT_RECV_US,
            [RI_CALL_WORK] = RI_REPORT_WORK_US,
            [RI_CALL_IDLE] = RI_REPORT_IDLE_US};
    double life = ri_clock_now() - clock->time;
    /* over all the time since the start there is nothing to calibrate */
    double all = ri_clock_ticks() - clock->ticks;
    unsigned i;

    memcpy(row->values, sum->values, sizeof(row->values));
    ri_report_windows_set(row->values);
    row->values[RI_REPORT_LIFE_US] = life * 1e6;
    for (i = 0; i < RI_CALL_COUNT; ++i) {
        row->values[times[i]] = (all > 0) ? sum->ticks[i] / all * life * 1e6 : 0;
    }
}
