/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the parts of the fuzz target share: fuzz_dispatch.c begins and ends an input, fuzz_stock.c
 * is UCX, fuzz_plane.c and fuzz_net.c move data, within the host and through a network, fuzz_peer.c
 * is the other side, fuzz_app.c the application, and fuzz_rma.c has one-sided operations.
 */
#ifndef FUZZ_STATE_H
#define FUZZ_STATE_H

#include "fuzz_net.h"
#include "ucp/run/ep_op.h"
#include "ucp/core/worker.h"
#include "ucp/run/worker_life.h"
#include "ucp/run/worker_progress.h"
#include "ucp/link/ring_life.h"
#include "ucp/tag/recv.h"

#define LOCAL_UID   0x1111ul
#define PEER_UID    0x2222ul
#define MAX_RECVS   64
#define MAX_SENDS   64
#define MAX_DESCS   64
#define MAX_PENDING 128
#define MAX_CONNS   8
#define MAX_MSGS    16
#define MAX_LENGTH  4096
#define RING_SIZE   4096

#define CHECK FUZZ_CHECK

typedef struct input {
    const uint8_t *at;
    size_t left;
} input_t;

/* Data that came with a message. */
typedef struct desc {
    void *memory;    /* what the library knows it by; NULL: slot is free */
    uint8_t *source; /* rendezvous: the data at the sender */
    size_t length;
    int rndv;
    int in_callback;
    int used; /* fetched or released */
} desc_t;

/* A stock operation under way. */
typedef struct pending {
    ucp_request_param_t param;
    int fetch;
    int freed;
    void *buffer;
    size_t count;
    uint8_t *source;
    size_t length;
} pending_t;

typedef struct recv_op {
    int used;
    int done;
    int again; /* its callback posts another receive */
    void *handle;
    size_t capacity;
    uint8_t *buffer;
} recv_op_t;

typedef struct send_op {
    int used;
    int done;
    void *handle;
    uint8_t *data;
} send_op_t;

typedef struct close_op {
    void *handle;
} close_op_t;

/* The whole state, all zero between inputs. */
typedef struct fuzz_state {
    ri_context_t *context;
    ri_worker_t *worker;
    int stock_context; /* their addresses are the stock handles */
    int stock_worker;
    int eps[MAX_CONNS];
    desc_t descs[MAX_DESCS];
    pending_t *pending[MAX_PENDING];
    recv_op_t recvs[MAX_RECVS];
    send_op_t sends[MAX_SENDS];
    close_op_t closes[MAX_CONNS * 4];
    unsigned num_closes;
    ri_msg_t *msgs[MAX_MSGS];
    ri_ring_rx_t ring; /* the peer's end of a ring offered to the worker's conns */
    int send_later;
    int send_fails;
    int fetch_later;
    int fetch_fails;
    ri_plane_t plane;
    unsigned num_plane_eps;
    int read_fails;
    int read_unreachable;
} fuzz_state_t;

extern fuzz_state_t g;

static inline uint8_t take(input_t *in)
{
    if (in->left == 0) {
        return 0;
    }
    --in->left;
    return *in->at++;
}

static inline unsigned take16(input_t *in)
{
    unsigned low = take(in);

    return low | ((unsigned)take(in) << 8);
}

/** As many bytes as there are, in a block of exactly @a length: the rest is 0. */
uint8_t *fuzz_take_bytes(input_t *in, size_t length);

/** A conn of the worker, or NULL. */
ri_conn_t *fuzz_pick_conn(uint8_t which);

/* fuzz_stock.c */

/** The functions of ri_stock. */
void fuzz_stock_init(void);

/** What a message came with, as the library knows it; NULL: a free one. */
desc_t *fuzz_desc_find(const void *memory);
void fuzz_desc_free(desc_t *desc);

/** Complete all of UCX's operations, and give back what ends with them. */
void fuzz_end_all_pending(ucs_status_t status);

/* fuzz_plane.c */
extern const ri_plane_ops_t fuzz_plane_ops;

/* fuzz_app.c */

/** Give back what has ended. */
void fuzz_release_done(void);

/** Cancel what is posted, receive what was taken out. */
void fuzz_app_stop(void);

/** All has ended, but for receives whose memory a process that lives may write after CTS, which
 * never complete when the worker goes. @return How many there are. */
unsigned fuzz_app_stopped(void);

/* The operations of an input; README.md says what their arguments are. */
void fuzz_op_am(input_t *in);
void fuzz_op_recv(input_t *in);
void fuzz_op_probe(input_t *in);
void fuzz_op_cancel(input_t *in);
void fuzz_op_record(input_t *in);
void fuzz_op_smash(input_t *in);
void fuzz_op_send(input_t *in);
void fuzz_op_stock(input_t *in);
void fuzz_op_conn(input_t *in);
void fuzz_op_mode(input_t *in);
void fuzz_op_offer(input_t *in);
void fuzz_op_channel(input_t *in);
void fuzz_op_net(input_t *in);
void fuzz_op_drain(input_t *in);
void fuzz_op_key(input_t *in);
void fuzz_op_rma(input_t *in);
void fuzz_op_mail(input_t *in);
void fuzz_op_post(input_t *in);

/* fuzz_rma.c: an input ends. */
void fuzz_rma_stop(void);

#endif
