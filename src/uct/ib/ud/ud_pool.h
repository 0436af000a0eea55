/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool of queue pairs that transfers of the ud plane land in. They only receive, each with
 * a completion queue of its own, and are made when they are first needed.
 *
 * Pieces of a queue pair's transfers are numbered through, so that what is late for one of
 * them is never taken for the next one's. Where datagrams may still be on their way when a
 * transfer ends, the queue pair gets another Q_Key before it is used again, too, and they are
 * dropped by the device. Those that are idle are used again first in, first out, which leaves
 * the most time for that.
 */
#ifndef RI_UD_POOL_H
#define RI_UD_POOL_H

#include "ud_buffer.h"
#include "ud_wire.h"

#if HAVE_VERBS

/* Segments of a work request. */
#define RI_UD_SGE_MAX 4

/* A queue pair that transfers land in. */
typedef struct ri_ud_qp {
    ucs_list_link_t list; /* in the pool, while it is there */
    struct ibv_qp *qp;    /* NULL: a reset has failed */
    struct ibv_cq *cq;
    uint32_t sequence; /* of the first piece of the next transfer */
    uint32_t qkey;     /* its highest bit is 0, or the sender's own would be meant */
    uint32_t use;      /* changes with each reset: part of the ids of receives */
    int is_dirty;      /* qp is to be reset before a transfer uses it */
    int is_failed;     /* cq has failed: no transfer can use the queue pair any more */
    int is_left;       /* qp is NULL because it could not be destroyed */
    /* ri_ud_rx_t.held of its transfer: a word for each place of the window */
    uint32_t *held;
    /* ri_ud_rx_t.where of its transfer: a word for each place of the window */
    uint32_t *where;
    ri_ud_buffer_t fixed;  /* a GRH for each place of the window, and the last piece */
    ri_ud_buffer_t bounce; /* a piece for each place; made when needed */
    size_t bytes;          /* of memory that the queue pair takes: an estimate */
} ri_ud_qp_t;

/** The first pause, in seconds. Tests change it. */
extern double ri_ud_pool_backoff;

typedef struct ri_ud_pool {
    ri_ib_device_t *device;
    unsigned depth; /* work requests of a receive queue: the window, a power of two */
    unsigned piece_size;  /* bytes that a datagram can have */
    unsigned max_sge;     /* segments of a receive, with the one for the GRH */
    unsigned max;         /* queue pairs that there may be */
    unsigned count;       /* queue pairs that exist */
    unsigned failures;    /* how many times in a row one could not be made */
    double retry;         /* if failures is not 0: when one is made again */
    ucs_list_link_t idle; /* queue pairs that no transfer uses; the oldest first */
    uint64_t *bytes;      /* counter of the memory that all of them take, an estimate */
} ri_ud_pool_t;

/** @return How many pieces a queue pair can receive at a time: the greatest power of two that
 * neither UCXRI_UD_WINDOW nor the device forbids, from RI_UD_WINDOW_MIN to RI_UD_WINDOW_MAX. */
unsigned ri_ud_pool_depth(const ri_ib_device_t *device);

/**
 * @param depth       Of the receive queue.
 * @param piece_size  Bytes of a datagram.
 *
 * @return Bytes that a queue pair takes, without bounce buffers: an estimate (device/footprint.h).
 */
size_t ri_ud_pool_qp_bytes(const ri_ib_device_t *device, unsigned depth,
                           unsigned piece_size);

/**
 * Set up a pool, of which queue pairs are made when they are needed.
 *
 * @param device      Stays open until ri_ud_pool_cleanup().
 * @param max         Queue pairs that there may be.
 * @param depth       Of a receive queue: ri_ud_pool_depth().
 * @param piece_size  Bytes of a datagram: the MTU.
 * @param bytes       Counter of the memory that the queue pairs take; it stays as long as the
 *                    device.
 */
void ri_ud_pool_init(ri_ud_pool_t *pool, ri_ib_device_t *device, unsigned max,
                     unsigned depth, unsigned piece_size, uint64_t *bytes);

/** Have bounce buffers made for a queue pair that has none: a piece for each place of the window.
 * @return UCS_OK, or UCS_ERR_NO_MEMORY. */
ucs_status_t ri_ud_pool_add_bounce(ri_ud_pool_t *pool, ri_ud_qp_t *qp);

/** Destroy all queue pairs. No transfer may use one. */
void ri_ud_pool_cleanup(ri_ud_pool_t *pool);

/** @return A queue pair with nothing posted, which is the caller's until ri_ud_pool_put(); NULL:
 * all that there may be, or can be made now, are in use. If one could not be made, that is tried
 * again later, each time after a longer pause; while there is none at all, by each call. */
ri_ud_qp_t *ri_ud_pool_take(ri_ud_pool_t *pool);

/** Give a queue pair back, to which nothing may be posted. One that cannot be used again is
 * destroyed. */
void ri_ud_pool_put(ri_ud_pool_t *pool, ri_ud_qp_t *qp);

/** The device tells that a queue pair has failed, or a completion queue. An idle queue pair
 * that has failed is reset before it is used again; one whose completion queue has failed is
 * destroyed. */
void ri_ud_pool_failed(ri_ud_pool_t *pool, const ri_ib_event_t *event);

/** The device has another address: queue pairs that are idle now are made ready anew before they
 * are used. */
void ri_ud_pool_moved(ri_ud_pool_t *pool);

/** Take all receives of a queue pair back: with the end of this call the device is done with their
 * memory, or has failed, or the process ends. What was sent to the queue pair before does not reach
 * it any more. @return Whether it can be used again. If not, it has no qp any more, and is still to
 * be given back. */
int ri_ud_pool_reset(ri_ud_pool_t *pool, ri_ud_qp_t *qp);

#endif

#endif
