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

#include <stdio.h>
#include <string.h>

void ri_report_clock_start(ri_report_clock_t *clock)
{
    clock->time  = ri_clock_now();
    clock->ticks = ri_clock_ticks();
}

void ri_report_label(ri_report_row_t *row)
{
    const char *rank  = ri_rank_text();
    const char *ranks = ri_rank_count_text();

    snprintf(row->rank, sizeof(row->rank), "%s", (rank == NULL) ? "-" : rank);
    snprintf(row->ranks, sizeof(row->ranks), "%s", (ranks == NULL) ? "-" : ranks);
    ri_rank_job(row->job, sizeof(row->job));
    ri_rank_process(row->process, sizeof(row->process));
}

void ri_report_add_sent(uint64_t *values, const ri_conn_counters_t *sent)
{
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
    values[RI_REPORT_RMA_MAPPED] += sent->rma_mapped + sent->rma_atomics;
    values[RI_REPORT_RMA_MAPPED_BYTES] += sent->rma_mapped_bytes;
    values[RI_REPORT_RMA_COPIED] += sent->rma_copied;
    values[RI_REPORT_RMA_COPIED_BYTES] += sent->rma_copied_bytes;
    values[RI_REPORT_RMA_MAILED] += sent->rma_mailed;
    values[RI_REPORT_RMA_CALLED] += sent->rma_called;
    values[RI_REPORT_RMA_WITHDRAWN] += sent->rma_withdrawn;
    values[RI_REPORT_RMA_STOCK] += sent->rma_stock;
}

void ri_report_add_worker(ri_report_sum_t *sum, const ri_worker_t *worker)
{
    uint64_t *values = sum->values;
    ri_worker_counters_t counters;
    unsigned i;

    ri_worker_counters_snapshot(worker, &counters);
    ri_report_add_sent(values, &counters.conns);
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

void ri_report_add_sum(ri_report_sum_t *sum, const ri_report_sum_t *other)
{
    unsigned i;

    for (i = 0; i < RI_REPORT_VALUES; ++i) {
        sum->values[i] += other->values[i];
    }
    for (i = 0; i < RI_CALL_COUNT; ++i) {
        sum->ticks[i] += other->ticks[i];
    }
}

void ri_report_set_values(ri_report_row_t *row, const ri_report_sum_t *sum,
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
