/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is timed in the progress benchmark, and what its time is compared with. ucxri_perf and
 * test/bench/mpi_perf.c share it, each with messages, a barrier and a clock of its own; with those
 * of a test nothing is left to chance.
 *
 * An iteration is: compute, start a message, compute, wait for the message, compute. It begins when
 * both sides have left a barrier, and its time is that of the side that takes longer, each by its
 * own clock. The barrier is not in it: what a barrier costs, over a network and beside threads that
 * want the same cores, is no part of what the message costs, and would hide that behind a larger
 * base.
 */
#ifndef UCXRI_PERF_PROGRESS_H
#define UCXRI_PERF_PROGRESS_H

/* Units of computation of one side: before the start, until the wait, after it */
#define PERF_PROGRESS_COMPS 3

/*
 * Iterations with a message that are not timed before those that are: a library that adapts to
 * what its application does would else be measured while it goes by the loop before.
 */
#define PERF_PROGRESS_WARM_UP 12

/*
 * Units of computation between a barrier and what is timed: the barrier's own messages may still
 * keep threads busy, as those of a software HCA, that would take the core from the iteration.
 */
#define PERF_PROGRESS_LEAD 5

/* The steps of the benchmark; all get arg */
typedef struct {
    void *arg;
    void (*barrier)(void *arg);
    void (*compute)(void *arg, unsigned units);
    void (*start)(
            void *arg); /* a message: at one side the send, at the other the receive */
    void (*wait)(void *arg);  /* until the message is complete */
    double (*now)(void *arg); /* seconds */
    /* Replaces each of the times by the longer one of the two sides'; both call it */
    void (*slower)(void *arg, double *times, long count);
} perf_progress_ops_t;

/* Seconds of all iterations */
typedef struct {
    double time;  /* with the message */
    double work;  /* the computation alone, of the side that has more of it */
    double ideal; /* what it would take at best: not less than time, if nothing disturbs */
} perf_progress_result_t;

/** One side's part of an iteration. @return its time in seconds */
static inline double perf_progress_iterate(const perf_progress_ops_t *ops,
                                           const unsigned *comps, int message)
{
    double start;

    ops->barrier(ops->arg);
    ops->compute(ops->arg, PERF_PROGRESS_LEAD);
    start = ops->now(ops->arg);
    ops->compute(ops->arg, comps[0]);
    if (message) {
        ops->start(ops->arg);
    }
    ops->compute(ops->arg, comps[1]);
    if (message) {
        ops->wait(ops->arg);
    }
    ops->compute(ops->arg, comps[2]);
    return ops->now(ops->arg) - start;
}

/** `count` iterations; times[] has room for as many. @return the sum of their times */
static inline double perf_progress_loop(const perf_progress_ops_t *ops,
                                        const unsigned *comps, int message, double *times,
                                        long count)
{
    double sum = 0;
    long i;

    for (i = 0; message && (i < PERF_PROGRESS_WARM_UP); ++i) {
        perf_progress_iterate(ops, comps, message);
    }
    for (i = 0; i < count; ++i) {
        times[i] = perf_progress_iterate(ops, comps, message);
    }
    ops->barrier(ops->arg); /* the other side's message may need this one's progress */
    ops->slower(ops->arg, times, count);
    for (i = 0; i < count; ++i) {
        sum += times[i];
    }
    return sum;
}

/**
 * Measure `count` iterations with the message, and right beside them what it would take at best:
 * the computation alone; and where the receive is there before the send, the message with the
 * computation before and after it, but without that between its start and its wait, which could
 * hide it: the transfer may be longer than that.
 *
 * comps: the sender's, then the receiver's; rank 0 sends. times[]: room for `count`. Both sides
 * call it.
 *
 * @return the times, which are equal at both sides
 */
static inline perf_progress_result_t perf_progress_measure(const perf_progress_ops_t *ops,
                                                           const unsigned *comps,
                                                           int rank, double *times,
                                                           long count)
{
    const unsigned *mine                     = &comps[rank * PERF_PROGRESS_COMPS];
    const unsigned bare[PERF_PROGRESS_COMPS] = {mine[0], 0, mine[2]};
    perf_progress_result_t result;
    double transfer;

    result.time  = perf_progress_loop(ops, mine, 1, times, count);
    result.work  = perf_progress_loop(ops, mine, 0, times, count);
    result.ideal = result.work;
    if (comps[PERF_PROGRESS_COMPS] < comps[0]) {
        transfer     = perf_progress_loop(ops, bare, 1, times, count);
        result.ideal = (transfer > result.ideal) ? transfer : result.ideal;
    }
    return result;
}

#endif
