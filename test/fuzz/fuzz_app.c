/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The application, as the fuzz target plays it: receives, also from inside callbacks, probes,
 * cancels, sends, one-sided operations, closes. */

#include "fuzz_state.h"
#include "ucp/core/rma_order.h"
#include "ucp/order/deliver.h"
#include "ucp/tag/send_fast.h"

#include <stdlib.h>
#include <string.h>

static void recv_post(uint64_t tag, uint64_t mask, size_t capacity, int again,
                      ri_msg_t *msg);

static void recv_done(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                      void *user_data)
{
    recv_op_t *op = user_data;

    (void)request;
    CHECK(op->used && !op->done);
    CHECK((status != UCS_OK) || (info->length <= op->capacity));
    op->done = 1;
    if (op->again) {
        recv_post(0, 0, 64, 0, NULL);
    }
}

void fuzz_release_done(void)
{
    size_t i;

    for (i = 0; i < MAX_RECVS; ++i) {
        if (g.recvs[i].used && g.recvs[i].done && (g.recvs[i].handle != NULL)) {
            ri_req_put(ri_req_of_handle(g.recvs[i].handle));
            free(g.recvs[i].buffer);
            memset(&g.recvs[i], 0, sizeof(g.recvs[i]));
        }
    }
    for (i = 0; i < MAX_SENDS; ++i) {
        if (g.sends[i].used && g.sends[i].done) {
            if (g.sends[i].handle != NULL) {
                ri_req_put(ri_req_of_handle(g.sends[i].handle));
            }
            free(g.sends[i].data);
            memset(&g.sends[i], 0, sizeof(g.sends[i]));
        }
    }
}

/* Post a receive, or receive @a msg, which a probe took out. */
static void recv_post(uint64_t tag, uint64_t mask, size_t capacity, int again,
                      ri_msg_t *msg)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                 .cb.recv = recv_done};
    recv_op_t *op             = NULL;
    size_t i;

    for (i = 0; (i < MAX_RECVS) && (op == NULL); ++i) {
        op = g.recvs[i].used ? NULL : &g.recvs[i];
    }
    if (op == NULL) {
        CHECK(msg == NULL);
        return;
    }

    op->used        = 1;
    op->again       = again;
    op->capacity    = capacity;
    op->buffer      = malloc(capacity);
    param.user_data = op;
    op->handle      = (msg != NULL) ?
                              ri_tag_recv_msg(g.worker, op->buffer, capacity, msg, &param) :
                              ri_tag_recv(g.worker, op->buffer, capacity, tag, mask, &param);
    CHECK(UCS_PTR_IS_PTR(op->handle));
}

static void send_done(void *request, ucs_status_t status, void *user_data)
{
    send_op_t *op = user_data;

    (void)request;
    (void)status;
    CHECK(op->used && !op->done);
    op->done = 1;
}

static uint64_t pick_mask(uint8_t which)
{
    static const uint64_t masks[] = {~0ul, 0, 0xff, 0xf0, 0xffff, 1, 2, 4, 8, 16};

    return masks[which % (sizeof(masks) / sizeof(masks[0]))];
}

void fuzz_op_recv(input_t *in)
{
    uint64_t tag    = take(in);
    uint8_t mask    = take(in);
    size_t capacity = take16(in) % MAX_LENGTH;

    recv_post(tag, pick_mask(mask & 0x7f), capacity, mask >> 7, NULL);
}

static size_t num_free_recvs(void)
{
    size_t count = 0;
    size_t i;

    for (i = 0; i < MAX_RECVS; ++i) {
        count += !g.recvs[i].used;
    }
    return count;
}

void fuzz_op_probe(input_t *in)
{
    uint64_t tag = take(in);
    uint8_t mask = take(in);
    uint8_t what = take(in);
    size_t i     = what % MAX_MSGS;
    int remove   = 0;
    ucp_tag_recv_info_t info;
    ri_msg_t *msg;

    /* Receive a message that was taken out before; its callback may post another receive */
    if ((what & 0x40) && (g.msgs[i] != NULL) && (num_free_recvs() > 1)) {
        msg       = g.msgs[i];
        g.msgs[i] = NULL;
        recv_post(0, 0, tag * 8, mask & 1, msg);
    }

    for (i = 0; (i < MAX_MSGS) && (g.msgs[i] != NULL); ++i) {}
    remove = (what & 0x80) && (i < MAX_MSGS);
    msg    = ri_tag_recv_probe(g.worker, tag, pick_mask(mask), remove, &info);
    if ((msg != NULL) && remove) {
        g.msgs[i] = msg;
    }
}

void fuzz_op_cancel(input_t *in)
{
    recv_op_t *op = &g.recvs[take(in) % MAX_RECVS];

    if (op->used && !op->done) {
        ri_tag_recv_cancel((ri_recv_req_t *)ri_req_of_handle(op->handle));
    }
}

void fuzz_op_send(input_t *in)
{
    ri_conn_t *conn           = fuzz_pick_conn(take(in));
    uint64_t tag              = take(in);
    uint8_t flags             = take(in);
    size_t length             = take16(in) % MAX_LENGTH;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.send = send_done};
    send_op_t *op             = NULL;
    size_t i;

    for (i = 0; (i < MAX_SENDS) && (op == NULL); ++i) {
        op = g.sends[i].used ? NULL : &g.sends[i];
    }
    if ((op == NULL) || (conn == NULL)) {
        return;
    }

    op->used        = 1;
    op->data        = calloc(1, length);
    param.user_data = op;
    if (flags & 2) {
        param.op_attr_mask |= UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    }
    op->handle = ri_tag_send(conn, op->data, length, tag, &param, flags & 1);
    if (!UCS_PTR_IS_PTR(op->handle)) {
        CHECK(!op->done);
        op->handle = NULL;
        op->done   = 1;
    }
}

static void close_done(void *request, ucs_status_t status, void *user_data)
{
    (void)request;
    (void)status;
    (void)user_data;
}

void fuzz_op_conn(input_t *in)
{
    uint8_t what              = take(in);
    uint8_t which             = take(in);
    ri_conn_t *conn           = fuzz_pick_conn(which);
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .cb.send = close_done};
    ri_wire_worker_t remote;
    void *handle;

    if ((what % 4 == 0) && (ri_conn_find((ucp_ep_h)&g.eps[which % MAX_CONNS]) == NULL)) {
        remote.uid   = (which & 0x80) ? 0 :
                       (which & 0x40) ? LOCAL_UID :
                                        PEER_UID + ((which >> 3) & 3);
        remote.am_id = which;
        ri_conn_create(g.worker, (ucp_ep_h)&g.eps[which % MAX_CONNS], &remote, UCS_OK,
                       RI_CONN_USER | ((which & 0x20) ? RI_CONN_PEER_MODE : 0), &conn);
    } else if ((what % 4 == 1) && (conn != NULL)) {
        ri_conn_fail(conn, UCS_ERR_ENDPOINT_TIMEOUT);
    } else if ((what % 4 == 2) && (conn != NULL) && !(conn->flags & RI_CONN_CLOSING) &&
               (g.num_closes < sizeof(g.closes) / sizeof(g.closes[0]))) {
        param.flags = ((what & 4) && (conn->flags & RI_CONN_PEER_MODE)) ?
                              UCP_EP_CLOSE_FLAG_FORCE :
                              0;
        handle      = ri_ep_close(conn, &param);
        if (UCS_PTR_IS_PTR(handle)) {
            g.closes[g.num_closes++].handle = handle;
        }
    } else if ((what % 4 == 3) && (conn != NULL)) {
        ri_rma_note_unknown(conn);
    }
}

static void cancel_all(void)
{
    size_t i;

    for (i = 0; i < MAX_RECVS; ++i) {
        g.recvs[i].again = 0;
        if (g.recvs[i].used && !g.recvs[i].done &&
            (ri_req_flags(ri_req_of_handle(g.recvs[i].handle)) & RI_REQ_POSTED)) {
            ri_tag_recv_cancel((ri_recv_req_t *)ri_req_of_handle(g.recvs[i].handle));
        }
    }
}

void fuzz_app_stop(void)
{
    size_t i;

    cancel_all();
    fuzz_end_all_pending(UCS_OK);
    for (i = 0; i < MAX_MSGS; ++i) {
        if (g.msgs[i] != NULL) {
            recv_post(0, 0, 16, 0, g.msgs[i]);
            fuzz_end_all_pending(UCS_OK);
        }
    }
}

unsigned fuzz_app_stopped(void)
{
    const ri_recv_req_t *recv;
    unsigned count = 0;
    size_t i;

    for (i = 0; i < g.num_closes; ++i) {
        CHECK(ri_req_flags(ri_req_of_handle(g.closes[i].handle)) & RI_REQ_COMPLETED);
        ri_req_put(ri_req_of_handle(g.closes[i].handle));
    }
    for (i = 0; i < MAX_SENDS; ++i) {
        CHECK(!g.sends[i].used);
    }
    for (i = 0; i < MAX_RECVS; ++i) {
        if (g.recvs[i].used) {
            recv = (const ri_recv_req_t *)ri_req_of_handle(g.recvs[i].handle);
            CHECK(!g.recvs[i].done && (recv->rndv.written == RI_RECV_BY_CTS));
            free(g.recvs[i].buffer);
            ++count;
        }
    }
    return count;
}
