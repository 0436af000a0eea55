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

#include "ucxri_perf_params.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Each rank writes its own words and reads those of the other rank */
typedef struct {
    struct {
        _Alignas(128) atomic_ulong arrived; /* barriers that the rank has come to */
        _Alignas(128) atomic_ulong probe; /* probes that the rank has begun or answered */
    } ranks[2];
} perf_shared_t;

typedef struct {
    int rank;              /* 0 reports, and is the sender where only one process sends */
    int fd;                /* the stream socket */
    perf_shared_t *shared; /* NULL: the processes are on two hosts */
    unsigned long num_barriers; /* barriers that this process has come to */
    unsigned long num_probes;   /* probes that this process has begun */
    double timeout;             /* seconds that the other process may take to answer */
    int yield;                  /* both processes have to share a core */
    void (*idle)(
            void *arg); /* called while this process waits for the other one, or NULL */
    void *idle_arg;
} perf_link_t;

/* A wait in a loop: it is zero at first, and each turn calls perf_link_spin() */
typedef struct {
    unsigned spins;  /* turns so far */
    double deadline; /* of perf_clock_now(), or 0 while the wait is young */
} perf_wait_t;

/**
 * Choose the cores of two processes on this host. Ends the program if one of them cannot be used.
 *
 * @param cpus  the two cores, or -1 in cpus[0]: the first two that this process may use, which are
 *              set
 */
void perf_link_choose_cpus(int *cpus);

/**
 * Start two processes on this host. It returns in both of them, with link set. The calling process
 * waits for them and does not return; they end when it ends.
 *
 * @param cpus     the two cores, or -1 in cpus[0]: the first two that this process may use, which
 * are
 *                 set
 * @param timeout  seconds that the other process may take to answer
 */
void perf_link_fork(perf_link_t *link, int *cpus, double timeout);

/**
 * Wait for a connection and for the parameters of the other process, as rank 1.
 *
 * @param cpu     the core of this process, or -1 for any
 * @param params  set to what the other process has sent, which the caller has to check; its timeout
 *                is that of this function
 */
void perf_link_listen(perf_link_t *link, const char *port, int cpu,
                      perf_params_t *params);

/**
 * Connect to a listening process and send it the parameters, as rank 0.
 *
 * @param cpu  the core of this process, or -1 for any
 */
void perf_link_connect(perf_link_t *link, const char *host, const char *port, int cpu,
                       const perf_params_t *params);

/**
 * Send length bytes and receive as many from the other process, which calls this as well. theirs
 * may be the same memory as mine. Ends the program if the other process is gone.
 */
void perf_link_exchange(perf_link_t *link, const void *mine, void *theirs, size_t length);

/** Both processes call this. @return in both the value of rank 0 */
double perf_link_agree(perf_link_t *link, double value);

/**
 * To be called in each turn of a loop that waits for the other process. Ends the program when that
 * process is gone, or after the timeout.
 *
 * @param what  what did not happen, for the message
 */
void perf_link_spin(perf_link_t *link, perf_wait_t *wait, const char *what);

/** Look after the other process, in a wait whose turns take long */
void perf_link_check(perf_link_t *link, perf_wait_t *wait, const char *what);

/** Wait in shared memory until both processes are here; link->shared must not be NULL */
void perf_link_barrier(perf_link_t *link);

/**
 * Time a bare cache line between the cores of the two processes, which both call this at the same
 * time. It tells placements of virtual cores apart.
 *
 * @return the median of one way in ns, 0 without shared memory
 */
double perf_link_probe(perf_link_t *link);

#endif
