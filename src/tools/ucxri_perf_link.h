/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The two processes of a run, and what they share apart from UCX: a stream socket for
 * addresses, parameters and agreements outside of the timed parts, and on one host a page
 * of shared memory.
 */
#ifndef UCXRI_PERF_LINK_H
#define UCXRI_PERF_LINK_H

#include "ucxri_perf_options.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Each rank writes a word of its own and reads the other's */
typedef struct {
    struct {
        _Alignas(128) atomic_ulong arrived; /* barriers that the rank has come to */
        _Alignas(128) atomic_ulong probe;
    } ranks[2];
} perf_shared_t;

typedef struct {
    int rank; /* 0 reports, and is the sender where there is one */
    int fd;
    perf_shared_t *shared; /* NULL: the processes are on two hosts */
    unsigned long num_barriers;
    unsigned long num_probes;
    double timeout; /* seconds */
    int yield;      /* both processes have to share a core */
    /* Called while waiting for the other process */
    void (*idle)(void *arg);
    void *idle_arg;
} perf_link_t;

/* A wait in a loop: set to zero, then perf_link_spin() in each turn */
typedef struct {
    unsigned spins;
    double deadline;
} perf_wait_t;

/*
 * Start two processes on this host. Returns in both of them, which end with the calling
 * one; that one waits for them and does not return. Replaces cores that are not given.
 */
void perf_link_fork(perf_link_t *link, perf_options_t *options);

/* Wait for a connection and for the parameters of the other process, as rank 1 */
void perf_link_listen(perf_link_t *link, perf_options_t *options);

/* Connect to a listening process and tell it the parameters, as rank 0 */
void perf_link_connect(perf_link_t *link, const perf_options_t *options);

/*
 * Send length bytes and receive as many from the other process. What is received may go
 * where the sent bytes are. Ends the program if the other process is gone.
 */
void perf_link_exchange(perf_link_t *link, const void *mine, void *theirs, size_t length);

/* Rank 0's value in both processes */
double perf_link_agree(perf_link_t *link, double value);

/*
 * To be called in each turn of a loop that waits for the other process. Ends the program
 * when that one is gone, or after the timeout; `what` says what did not happen.
 */
void perf_link_spin(perf_link_t *link, perf_wait_t *wait, const char *what);

/* Wait in shared memory until both processes are here; link->shared must not be NULL */
void perf_link_barrier(perf_link_t *link);

/*
 * Called by both at the same time: the median one-way time of a cache line between them
 * in ns, 0 without shared memory. It tells placements of virtual cores apart.
 */
double perf_link_probe(perf_link_t *link);

/* Seconds of a clock that all processes of a host share */
double perf_now(void);

#endif
