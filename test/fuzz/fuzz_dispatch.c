/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A libFuzzer target for everything that comes from outside: active messages, records in
 * rings, and the state that they meet (receives, probes, sends, closes).
 *
 *     fuzz_dispatch [libFuzzer options] CORPUS...      fuzz_dispatch -help=1
 *     fuzz_dispatch FILE                               run one input
 *
 * An input is a program for one worker on a UCX that is played by this program;
 * README.md says how it is written, and fuzz_state.h what its parts are. Besides the sanitizers, it
 * checks that descriptors, requests and messages are given back exactly once.
 */

#include "fuzz_state.h"
#include "ucp/core/settings/config.h"
#include "ucs/log.h"
#include "ucp/proto/rtr/rtr_net.h"
#include "ucp/rma/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What an input can do; the byte modulo OP_LAST. */
enum {
    OP_AM, /* an active message arrives */
    OP_RECV,
    OP_PROBE,
    OP_CANCEL,
    OP_PROGRESS,
    OP_RECORD, /* the peer writes a record into a ring of the worker */
    OP_SMASH,  /* ... or bytes anywhere in its memory */
    OP_SEND,
    OP_STOCK,   /* UCX completes something */
    OP_CONN,    /* an endpoint is made, closed, or fails */
    OP_MODE,    /* how UCX behaves from now on */
    OP_OFFER,   /* the peer offers a ring */
    OP_DRAIN,   /* ... and reads from it */
    OP_CHANNEL, /* a stream had a channel, whose records come again */
    OP_NET,     /* something happens in the network */
    OP_KEY,     /* the application unpacks a remote key */
    OP_RMA,     /* ... and uses it */
    OP_MAIL,    /* another process writes into the mailbox of this one */
    OP_POST,    /* this process writes into a mailbox, and gets any answer */
    OP_LAST
};

fuzz_state_t g;

void fuzz_failed(const char *what)
{
    static const char text[] = "fuzz_dispatch: failed: ";

    if ((write(2, text, sizeof(text) - 1) < 0) || (write(2, what, strlen(what)) < 0) ||
        (write(2, "\n", 1) < 0)) {
        abort();
    }
    abort();
}

uint8_t *fuzz_take_bytes(input_t *in, size_t length)
{
    uint8_t *bytes = malloc(length);
    size_t have    = ri_min(length, in->left);

    CHECK((bytes != NULL) || (length == 0));
    if (length > 0) {
        memset(bytes, 0, length);
        memcpy(bytes, in->at, have);
    }
    in->at += have;
    in->left -= have;
    return bytes;
}

ri_conn_t *fuzz_pick_conn(uint8_t which)
{
    size_t count = ucs_list_length(&g.worker->conns);
    ri_conn_t *conn;

    if (count == 0) {
        return NULL;
    }
    which %= count;
    ucs_list_for_each(conn, &g.worker->conns, list) {
        if (which-- == 0) {
            break;
        }
    }
    return conn;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    FILE *null = fopen("/dev/null", "w");

    (void)argc;
    (void)argv;
    if (null != NULL) {
        stderr = null; /* the library's reports; libFuzzer and sanitizers use their own */
    }

    fuzz_stock_init();
    ri_config.eager_thresh    = RING_SIZE / 4;
    ri_config.hybrid_thresh   = 2 * ri_config.eager_thresh;
    ri_config.coop_thresh     = 3 * ri_config.eager_thresh;
    ri_config.pool_size       = 4 * ri_config.hybrid_thresh;
    ri_config.rtr             = 1;
    ri_config.tag_sender_mask = "f0"; /* pick_mask() has one that covers it */
    ri_config.am_inline       = 128;
    ri_config.ring_peers      = 2;
    ri_config.ring_size       = RING_SIZE;
    ri_config.ring_after      = 2;
    ri_config.progress_skip   = 2;
    ri_config.reorder_window  = 32;
    ri_config.ib_devices      = "";
    ri_config.ib_eager_peers  = 2;
    ri_config.ib_eager_size   = RING_SIZE;
    ri_config.connect_timeout = 300;
    ri_config.am_id           = 4079;
    ri_config.stats_dest      = "stderr";
    ri_config.trace           = 1;
    ri_config.trace_size      = 64;
    ri_config.trace_dest      = "stderr";
    ri_log_level              = RI_LOG_LEVEL_DEBUG;
    ri_config.cma             = 1;
    CHECK(ri_reach_works()); /* its plane stays; the worker has another one */
    ri_config.cma = 0;
    return 0;
}

static void start(void)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features   = UCP_FEATURE_TAG};
    ri_conn_t *conn;

    CHECK(ri_context_create((ucp_context_h)&g.stock_context, &params) == UCS_OK);
    g.context = ri_context_find((ucp_context_h)&g.stock_context);
    CHECK(ri_worker_create(g.context, (ucp_worker_h)&g.stock_worker, &g.worker) ==
          UCS_OK);
    g.plane         = (ri_plane_t){.ops          = &fuzz_plane_ops,
                                   .capabilities = RI_PLANE_READ | RI_PLANE_WRITE};
    g.worker->plane = &g.plane;
    fuzz_net_open(g.worker);
    ri_rtr_net_listen(g.worker);
    CHECK(ri_conn_create(g.worker, (ucp_ep_h)&g.eps[0],
                         &(ri_wire_worker_t){.uid = PEER_UID}, UCS_OK,
                         RI_CONN_USER | RI_CONN_PEER_MODE, &conn) == UCS_OK);
}

static void stop(void)
{
    unsigned left;
    size_t i;

    fuzz_app_stop();
    fuzz_rma_stop();
    ri_worker_destroy(g.worker);
    fuzz_end_all_pending(UCS_ERR_CANCELED);
    left = fuzz_app_stopped();
    CHECK(g.worker->reqs.in_use == left);
    for (i = 0; i < MAX_DESCS; ++i) {
        CHECK(g.descs[i].memory == NULL);
    }
    CHECK(g.worker->counters.held_bytes == 0);
    CHECK(g.worker->num_rings == 0);
    ri_worker_free(g.worker);
    fuzz_net_closed();
    ri_context_destroy(g.context);
    if (g.ring.control != NULL) {
        ri_ring_rx_close(&g.ring);
    }
    memset(&g, 0, sizeof(g));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const ops[OP_LAST])(input_t * in) = {
            [OP_AM] = fuzz_op_am,           [OP_RECV] = fuzz_op_recv,
            [OP_PROBE] = fuzz_op_probe,     [OP_CANCEL] = fuzz_op_cancel,
            [OP_RECORD] = fuzz_op_record,   [OP_SMASH] = fuzz_op_smash,
            [OP_SEND] = fuzz_op_send,       [OP_STOCK] = fuzz_op_stock,
            [OP_CONN] = fuzz_op_conn,       [OP_MODE] = fuzz_op_mode,
            [OP_OFFER] = fuzz_op_offer,     [OP_DRAIN] = fuzz_op_drain,
            [OP_CHANNEL] = fuzz_op_channel, [OP_NET] = fuzz_op_net,
            [OP_KEY] = fuzz_op_key,         [OP_RMA] = fuzz_op_rma,
            [OP_MAIL] = fuzz_op_mail,       [OP_POST] = fuzz_op_post};
    input_t in = {.at = data, .left = size};
    uint8_t op;

    start();
    while (in.left > 0) {
        op = take(&in) % OP_LAST;
        if (op == OP_PROGRESS) {
            ri_worker_progress(g.worker);
        } else {
            ops[op](&in);
        }
        fuzz_release_done();
    }
    stop();
    return 0;
}
