/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One of the two processes as a user of UCP: a context, a worker, an endpoint to the other process,
 * and the buffers. It uses only the public API of UCP, so that it runs on any UCX. An operation
 * that fails ends the program.
 */
#ifndef UCXRI_PERF_PEER_H
#define UCXRI_PERF_PEER_H

#include "ucxri_perf_fatal.h"
#include "ucxri_perf_link.h"

#include <ucp/api/ucp.h>

#define PERF_TAG_DATA    1
#define PERF_TAG_ACK     2
#define PERF_TAG_BARRIER 3

/* Memory of both processes for one-sided operations (ucxri_perf_one_sided.h) */
typedef struct perf_one_sided perf_one_sided_t;

typedef struct {
    perf_link_t link;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h ep;
    char library[64];            /* who does the tag matching: name and version */
    unsigned char *sendbuf;      /* for the largest message */
    unsigned char *recvbuf;      /* for all messages at a time: perf_peer_recv_buffer() */
    size_t send_size, recv_size; /* of sendbuf and recvbuf */
    void **requests;             /* two for each message of a window */
    uint64_t loops_per_unit;     /* of perf_compute() */
    double empty_time; /* one way of an empty message in seconds, once measured */
    perf_one_sided_t *one_sided; /* NULL: the benchmark has messages only */
} perf_peer_t;

/**
 * Make the worker, exchange addresses over the link, connect, allocate the buffers. The caller has
 * set peer->link.
 *
 * @param num_messages  how many messages are received at a time, each into its own memory
 */
void perf_peer_open(perf_peer_t *peer, const perf_params_t *params,
                    uint32_t num_messages);

/** Close the connection together with the other process, and release everything */
void perf_peer_close(perf_peer_t *peer);

/**
 * Wait until both processes are here, and progress the worker until it has nothing left to do. On
 * one host, what a process has started before the barrier has reached the UCX of the other process;
 * between hosts it is under way before any message that is sent afterwards.
 */
void perf_peer_barrier(perf_peer_t *peer);

/** End the program because an operation of UCP has failed; what: which one */
void __attribute__((noreturn)) perf_peer_failed(ucs_status_t status, const char *what);

/** Start a send. @return the request for perf_peer_complete() */
static inline void *perf_peer_send(perf_peer_t *peer, const void *buffer, size_t size,
                                   ucp_tag_t tag)
{
    static const ucp_request_param_t param = {0};
    void *request = ucp_tag_send_nbx(peer->ep, buffer, size, tag, &param);

    if (__builtin_expect(UCS_PTR_IS_ERR(request), 0)) {
        perf_peer_failed(UCS_PTR_STATUS(request), "send");
    }
    return request;
}

/** Start a receive. @return the request for perf_peer_complete() */
static inline void *perf_peer_recv(perf_peer_t *peer, void *buffer, size_t size,
                                   ucp_tag_t tag)
{
    static const ucp_request_param_t param = {0};
    void *request;

    request = ucp_tag_recv_nbx(peer->worker, buffer, size, tag, UINT64_MAX, &param);
    if (__builtin_expect(UCS_PTR_IS_ERR(request), 0)) {
        perf_peer_failed(UCS_PTR_STATUS(request), "receive");
    }
    return request;
}

/** @return where a window's message of this number is received. Messages that are on their way at a
 * time may not share memory: a transport that repairs losses writes out of order. */
static inline unsigned char *perf_peer_recv_buffer(const perf_peer_t *peer, size_t size,
                                                   uint32_t number)
{
    return peer->recvbuf + number * perf_params_stride(size);
}

/** Wait for a request of perf_peer_send(), perf_peer_recv() or any other operation, and free it;
 * NULL is complete */
static inline void perf_peer_complete(perf_peer_t *peer, void *request)
{
    perf_wait_t wait = {0};
    ucs_status_t status;

    if (request == NULL) {
        return;
    }
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_worker_progress(peer->worker);
        perf_link_spin(&peer->link, &wait, "a message did not arrive");
    }
    ucp_request_free(request);
    if (__builtin_expect(status != UCS_OK, 0)) {
        perf_peer_failed(status, "message");
    }
}

#endif
