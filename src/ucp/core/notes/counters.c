/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

void ri_counters_conn_add(ri_conn_counters_t *dst, const ri_conn_counters_t *src)
{
#define COUNTER_ADD(_name, _unit, _doc) dst->_name += src->_name;
    RI_CONN_COUNTERS(COUNTER_ADD)
}

void ri_counters_stream_add(ri_stream_counters_t *dst, const ri_stream_counters_t *src)
{
    RI_STREAM_COUNTERS(COUNTER_ADD)
#undef COUNTER_ADD
}

void ri_counters_conn_foreach(const ri_conn_counters_t *conn, ri_counter_func_t func,
                              void *arg)
{
#define COUNTER_CALL(_name, _unit, _doc) func(#_name, _unit, _doc, conn->_name, arg);
    RI_CONN_COUNTERS(COUNTER_CALL)
#undef COUNTER_CALL
}

void ri_counters_stream_foreach(const ri_stream_counters_t *stream,
                                ri_counter_func_t func, void *arg)
{
#define COUNTER_CALL(_name, _unit, _doc) func(#_name, _unit, _doc, stream->_name, arg);
    RI_STREAM_COUNTERS(COUNTER_CALL)
#undef COUNTER_CALL
}

void ri_counters_foreach(const ri_worker_counters_t *counters, ri_counter_func_t func,
                         void *arg)
{
    ri_counters_conn_foreach(&counters->conns, func, arg);
    ri_counters_stream_foreach(&counters->streams, func, arg);
#define COUNTER_CALL(_name, _unit, _doc) func(#_name, _unit, _doc, counters->_name, arg);
    RI_WORKER_COUNTERS(COUNTER_CALL)
#undef COUNTER_CALL
}
