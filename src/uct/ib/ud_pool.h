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

#include "device.h"
#include "ud_wire.h"

#if HAVE_VERBS

/* Registered memory of the plane's own. */
typedef struct ri_ud_buffer {
    uint8_t *data;
    struct ibv_mr *mr; /* NULL: there is none */
} ri_ud_buffer_t;

typedef struct ri_ud_qp {
    ucs_list_link_t list; /* in the pool, while it is there */
    struct ibv_qp *qp;    /* NULL: a reset has failed */
    struct ibv_cq *cq;
    uint32_t sequence;     /* of the first piece of the next transfer */
    uint32_t qkey;         /* its highest bit is 0, or the sender's own would be meant */
    uint32_t use;          /* changes with each reset: part of the ids of receives */
    int is_dirty;          /* to be reset before it is used */
    int is_failed;         /* its completion queue has: not to be used any more */
    int is_left;           /* qp is NULL because it could not be destroyed */
    uint32_t *held;        /* of the receiver's state, as many as the window has places */
    uint32_t *where;       /* likewise */
    ri_ud_buffer_t fixed;  /* a GRH for each place of the window, and the last piece */
    ri_ud_buffer_t bounce; /* a piece for each place; made when needed */
    size_t bytes;          /* that all of this takes, reckoned */
} ri_ud_qp_t;

/** The first pause, in seconds. Tests change it. */
extern double ri_ud_pool_backoff;

typedef struct ri_ud_pool {
    ri_ib_device_t *device;
    unsigned depth;       /* of the receive queues */
    unsigned piece_size;  /* bytes that a datagram can have */
    unsigned max_sge;     /* of a receive */
    unsigned max;         /* queue pairs */
    unsigned count;       /* that exist */
    unsigned failures;    /* in making one, in a row */
    double retry;         /* when that is tried again, if one has failed */
    ucs_list_link_t idle; /* that nobody uses */
    uint64_t *bytes;      /* that all of them take, reckoned: a counter */
} ri_ud_pool_t;

/** Allocate and register memory, and free it. */
ucs_status_t ri_ud_buffer_init(ri_ib_device_t *device, size_t length,
                               ri_ud_buffer_t *buffer);
void ri_ud_buffer_cleanup(ri_ud_buffer_t *buffer);

/** Free memory whose queue pair is gone; if that is not so, leave it as it is. */
void ri_ud_buffer_end(ri_ud_buffer_t *buffer, int is_gone);

/** @return A Q_Key that nobody can guess. */
uint32_t ri_ud_random_qkey(void);

/** Bring a new or reset queue pair up to receive, and to send if @a is_sender. @return 0 or an
 * error number. */
int ri_ud_qp_activate(ri_ib_device_t *device, struct ibv_qp *qp, uint32_t qkey,
                      int is_sender);

/** Put a queue pair into the state of a new one. When this returns none of what was posted is
 * used any more. @return 0 or an error number. */
int ri_ud_qp_reset(struct ibv_qp *qp);

/** @return How many pieces a queue pair can receive at a time: UCXRI_UD_WINDOW, as a power of two, or
 * what the device allows. */
unsigned ri_ud_pool_depth(const ri_ib_device_t *device);

void ri_ud_pool_init(ri_ud_pool_t *pool, ri_ib_device_t *device, unsigned max,
                     unsigned depth, unsigned piece_size, uint64_t *bytes);

/** Have bounce buffers made for a queue pair. */
ucs_status_t ri_ud_pool_add_bounce(ri_ud_pool_t *pool, ri_ud_qp_t *qp);

/** All have to be there. */
void ri_ud_pool_cleanup(ri_ud_pool_t *pool);

/** @return A queue pair with nothing posted; NULL: all that there may be, or can be made now, are in
 * use. One that could not be made is tried again later, each time after a longer pause. */
ri_ud_qp_t *ri_ud_pool_take(ri_ud_pool_t *pool);

/** Give it back; nothing may be posted. */
void ri_ud_pool_put(ri_ud_pool_t *pool, ri_ud_qp_t *qp);

/** The device tells that one has failed, or its completion queue: if that is idle it is reset before
 * it is used again, or destroyed. */
void ri_ud_pool_failed(ri_ud_pool_t *pool, const ri_ib_event_t *event);

/** The device has another address: queue pairs are made ready anew before they are used. */
void ri_ud_pool_moved(ri_ud_pool_t *pool);

/** Take all receives back: with the end of this call the device is done with their memory, or the
 * process ends. What was sent to the queue pair before does not reach it any more. If it cannot be
 * used again it is destroyed. @return Whether it can. */
int ri_ud_pool_reset(ri_ud_pool_t *pool, ri_ud_qp_t *qp);

#endif

#endif
