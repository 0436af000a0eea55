/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The benchmarks of one-sided operations: rank 0 is the origin, and rank 1 the target, which
 * progresses or computes meanwhile. Puts go to the target's receive buffers, gets come from its
 * send buffer, and atomics add to a word of its own.
 */
#ifndef UCXRI_PERF_ONE_SIDED_H
#define UCXRI_PERF_ONE_SIDED_H

#include "ucxri_perf_peer.h"

/** Map the buffers of a peer that is open, and exchange keys with the other process */
void perf_one_sided_open(perf_peer_t *peer);

/** Undo perf_one_sided_open(), before the peer is closed; it may not have been called */
void perf_one_sided_close(perf_peer_t *peer);

/** Puts, each with a flush, as run of perf_bench_t */
void perf_one_sided_put(perf_peer_t *peer, const perf_params_t *params,
                        const perf_point_t *point, long count, double *seconds);

/** Gets, each with a flush, as run of perf_bench_t */
void perf_one_sided_get(perf_peer_t *peer, const perf_params_t *params,
                        const perf_point_t *point, long count, double *seconds);

/** Fetch and add, as run of perf_bench_t */
void perf_one_sided_atomic(perf_peer_t *peer, const perf_params_t *params,
                           const perf_point_t *point, long count, double *seconds);

/** Windows of puts, each window with a flush, as run of perf_bench_t */
void perf_one_sided_put_windows(perf_peer_t *peer, const perf_params_t *params,
                                const perf_point_t *point, long count, double *seconds);

/** Windows of gets, each window with a flush, as run of perf_bench_t */
void perf_one_sided_get_windows(perf_peer_t *peer, const perf_params_t *params,
                                const perf_point_t *point, long count, double *seconds);

#endif
