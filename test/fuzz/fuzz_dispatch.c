/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A libFuzzer target for everything that comes from outside: active messages, records in
 * rings, and the state that they meet (receives, probes, sends, closes).
 *
 *     fuzz_dispatch [libFuzzer options] CORPUS...      fuzz_dispatch -help=1
 *     fuzz_dispatch FILE                               run one input
 *
 * An input is a program for one worker on a UCX that is played by this file; README.md
 * says how it is written. Besides the sanitizers, this file checks that descriptors,
 * requests and messages are given back exactly once.
 */

#include "fuzz_net.h"
#include "ucp/core/config.h"
#include "ucp/core/ep_op.h"
#include "ucp/core/log.h"
#include "ucp/core/worker.h"
#include "ucp/preload/stock.h"
#include "ucp/proto/planes.h"
#include "ucp/proto/planes_rdma.h"
#include "ucp/proto/ring_channel.h"
#include "ucp/proto/rtr_message.h"
#include "ucp/tag/deliver.h"
#include "ucp/tag/dispatch.h"
#include "ucp/tag/recv.h"
#include "ucp/tag/send.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    OP_LAST
};

/* Flags of OP_AM. */
enum {
    AM_RNDV  = 1 << 0,
    AM_DATA  = 1 << 1,
    AM_REPLY = 1 << 2,
    AM_HELLO = 1 << 3, /* make a hello at the header's end a valid one */
    AM_ORDER = 1 << 4  /* the value becomes the next number of the first stream, plus the
                          low bits that were there */
};

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

/* The whole state; all zero between inputs. */
static struct {
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
} g;

void fuzz_failed(const char *what)
{
    static const char text[] = "fuzz_dispatch: failed: ";

    if ((write(2, text, sizeof(text) - 1) < 0) || (write(2, what, strlen(what)) < 0) ||
        (write(2, "\n", 1) < 0)) {
        abort();
    }
    abort();
}

static uint8_t take(input_t *in)
{
    if (in->left == 0) {
        return 0;
    }
    --in->left;
    return *in->at++;
}

static unsigned take16(input_t *in)
{
    unsigned low = take(in);

    return low | ((unsigned)take(in) << 8);
}

/* As many bytes as there are, in a block of exactly @a length: the rest is 0. */
static uint8_t *take_bytes(input_t *in, size_t length)
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

static pending_t *pending_new(const ucp_request_param_t *param)
{
    size_t i;

    for (i = 0; i < MAX_PENDING; ++i) {
        if (g.pending[i] == NULL) {
            g.pending[i] = calloc(1, sizeof(*g.pending[i]));
            CHECK(g.pending[i] != NULL);
            g.pending[i]->param = *param;
            return g.pending[i];
        }
    }
    return NULL;
}

/* Complete a stock operation. */
static void pending_end(size_t i, ucs_status_t status)
{
    pending_t *p = g.pending[i];

    g.pending[i] = NULL;
    if (p->fetch) {
        if ((status == UCS_OK) && (p->length > 0)) {
            CHECK(p->length <= p->count);
            memcpy(p->buffer, p->source, p->length);
        }
        p->param.cb.recv_am(p, status, p->length, p->param.user_data);
    } else {
        p->param.cb.send(p, status, p->param.user_data);
    }
    CHECK(p->freed);
    free(p->source);
    free(p);
}

/* The stock functions */

static ucs_status_ptr_t fuzz_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header,
                                         size_t header_length, const void *buffer,
                                         size_t count, const ucp_request_param_t *param)
{
    static volatile uint8_t sink;
    pending_t *p;
    size_t i;

    (void)ep;
    CHECK(id == ri_config.am_id);
    for (i = 0; i < header_length; ++i) {
        sink = ((const uint8_t *)header)[i];
    }
    for (i = 0; i < count; ++i) {
        sink = ((const uint8_t *)buffer)[i];
    }
    (void)sink;
    if (g.send_fails) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }
    if (!g.send_later) {
        return NULL;
    }
    if (param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }
    p = pending_new(param);
    return (p == NULL) ? UCS_STATUS_PTR(UCS_ERR_NO_MEMORY) : (void *)p;
}

static desc_t *desc_find(const void *memory)
{
    size_t i;

    for (i = 0; i < MAX_DESCS; ++i) {
        if (g.descs[i].memory == memory) {
            return &g.descs[i];
        }
    }
    return NULL;
}

static void desc_free(desc_t *desc)
{
    free(desc->memory);
    free(desc->source);
    memset(desc, 0, sizeof(*desc));
}

static void desc_use(desc_t *desc)
{
    CHECK(!desc->used);
    desc->used = 1;
    if (!desc->in_callback) {
        desc_free(desc);
    }
}

static ucs_status_ptr_t fuzz_am_recv_data_nbx(ucp_worker_h worker, void *data,
                                              void *buffer, size_t count,
                                              const ucp_request_param_t *param)
{
    desc_t *desc = desc_find(data);
    uint8_t *source;
    size_t length;
    pending_t *p;

    (void)worker;
    CHECK((desc != NULL) && desc->rndv);
    source       = desc->source;
    length       = desc->length;
    desc->source = NULL;
    desc_use(desc);
    if (!g.fetch_fails && g.fetch_later) {
        p = pending_new(param);
        if (p != NULL) {
            p->fetch  = 1;
            p->buffer = buffer;
            p->count  = count;
            p->source = source;
            p->length = length;
            return p;
        }
    }
    if (!g.fetch_fails && (length > 0)) {
        CHECK(length <= count);
        memcpy(buffer, source, length);
    }
    free(source);
    return g.fetch_fails ? UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE) : NULL;
}

static void fuzz_am_data_release(ucp_worker_h worker, void *data)
{
    desc_t *desc = desc_find(data);

    (void)worker;
    CHECK((desc != NULL) && !desc->in_callback);
    desc_use(desc);
}

static void fuzz_request_free(void *request)
{
    pending_t *p = request;

    CHECK(!p->freed);
    p->freed = 1;
}

/* A plane: what an RTS points to is nobody's business, so a read makes the data up. */

static void fuzz_plane_close(ri_plane_t *plane)
{
    CHECK((plane == &g.plane) && (g.num_plane_eps == 0));
}

static size_t fuzz_plane_address(ri_plane_t *plane, void *address)
{
    (void)plane;
    memset(address, 0x77, RI_PLANE_ADDRESS_MAX);
    return RI_PLANE_ADDRESS_MAX;
}

static ucs_status_t fuzz_plane_connect(ri_plane_t *plane, const void *address,
                                       size_t length, ri_plane_ep_t **ep_p)
{
    CHECK(length <= RI_PLANE_ADDRESS_MAX);
    if ((length == 0) || (*(const uint8_t *)address & 1)) {
        return UCS_ERR_UNREACHABLE;
    }
    *ep_p = calloc(1, sizeof(**ep_p));
    CHECK(*ep_p != NULL);
    (*ep_p)->plane = plane;
    ++g.num_plane_eps;
    return UCS_OK;
}

static void fuzz_plane_disconnect(ri_plane_ep_t *ep)
{
    --g.num_plane_eps;
    free(ep);
}

static ucs_status_t fuzz_plane_read(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
{
    size_t skip = transfer->offset;
    size_t left = transfer->length;
    size_t i, piece;

    CHECK(ep->plane == &g.plane);
    if (g.read_fails) {
        return g.read_unreachable ? UCS_ERR_UNREACHABLE : UCS_ERR_INVALID_ADDR;
    }
    for (i = 0; i < transfer->num_local; ++i) {
        piece = ri_min(transfer->local[i].length - skip, left);
        memset((void *)(uintptr_t)(transfer->local[i].address + skip), 0x5a, piece);
        left -= piece;
        skip = 0;
    }
    CHECK(left == 0);
    return UCS_OK;
}

/* Where an RTR or CTS points to is nobody's business either; what is written is ours. */
static ucs_status_t fuzz_plane_write(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
{
    static volatile uint8_t sink;
    size_t skip = transfer->offset;
    size_t left = transfer->length;
    size_t i, k, piece;

    CHECK(ep->plane == &g.plane);
    if (g.read_fails) {
        return g.read_unreachable ? UCS_ERR_UNREACHABLE : UCS_ERR_INVALID_ADDR;
    }
    for (i = 0; i < transfer->num_local; ++i) {
        piece = ri_min(transfer->local[i].length - skip, left);
        for (k = 0; k < piece; ++k) {
            sink = ((const uint8_t *)(uintptr_t)transfer->local[i].address)[skip + k];
        }
        left -= piece;
        skip = 0;
    }
    (void)sink;
    CHECK(left == 0);
    return UCS_OK;
}

static ucs_status_t fuzz_plane_check(ri_plane_ep_t *ep)
{
    CHECK(ep->plane == &g.plane);
    return g.read_unreachable ? UCS_ERR_UNREACHABLE : UCS_OK;
}

static const ri_plane_ops_t fuzz_plane_ops = {.name       = "fuzz",
                                              .close      = fuzz_plane_close,
                                              .address    = fuzz_plane_address,
                                              .connect    = fuzz_plane_connect,
                                              .disconnect = fuzz_plane_disconnect,
                                              .read       = fuzz_plane_read,
                                              .write      = fuzz_plane_write,
                                              .check      = fuzz_plane_check};

static ucs_status_t fuzz_context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
    (void)context;
    attr->request_size = 272;
    attr->memory_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    return UCS_OK;
}

static ucs_status_t fuzz_worker_query(ucp_worker_h worker, ucp_worker_attr_t *attr)
{
    attr->thread_mode = UCS_THREAD_MODE_SINGLE;
    attr->address     = (ucp_address_t *)worker;
    return UCS_OK;
}

static ucs_status_t fuzz_worker_address_query(ucp_address_t *address,
                                              ucp_worker_address_attr_t *attr)
{
    (void)address;
    attr->worker_uid = LOCAL_UID;
    return UCS_OK;
}

static void fuzz_worker_release_address(ucp_worker_h worker, ucp_address_t *address)
{
    (void)worker;
    (void)address;
}

static ucs_status_t fuzz_set_handler(ucp_worker_h worker,
                                     const ucp_am_handler_param_t *param)
{
    (void)worker;
    (void)param;
    return UCS_OK;
}

static unsigned fuzz_worker_progress(ucp_worker_h worker)
{
    (void)worker;
    return 0;
}

static ucs_status_ptr_t fuzz_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    (void)ep;
    (void)param;
    return NULL;
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

    ri_stock.am_send_nbx                = fuzz_am_send_nbx;
    ri_stock.am_recv_data_nbx           = fuzz_am_recv_data_nbx;
    ri_stock.am_data_release            = fuzz_am_data_release;
    ri_stock.request_free               = fuzz_request_free;
    ri_stock.context_query              = fuzz_context_query;
    ri_stock.worker_query               = fuzz_worker_query;
    ri_stock.worker_address_query       = fuzz_worker_address_query;
    ri_stock.worker_release_address     = fuzz_worker_release_address;
    ri_stock.worker_set_am_recv_handler = fuzz_set_handler;
    ri_stock.worker_progress            = fuzz_worker_progress;
    ri_stock.ep_close_nbx               = fuzz_ep_close_nbx;
    ri_stock.version_major              = 1;
    ri_stock.version_minor              = 17;

    ri_config.eager_thresh    = RING_SIZE / 4;
    ri_config.hybrid_thresh   = 2 * ri_config.eager_thresh;
    ri_config.coop_thresh     = 3 * ri_config.eager_thresh;
    ri_config.pool_size       = 4 * ri_config.hybrid_thresh;
    ri_config.sender_scheme   = "auto";
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
    return 0;
}

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

/* Give back what has ended. */
static void release_done(void)
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
                              ri_tag_msg_recv(g.worker, op->buffer, capacity, msg, &param) :
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

static ri_conn_t *pick_conn(uint8_t which)
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

static void fix_header(uint8_t *at, size_t length, unsigned flags)
{
    ri_wire_hello_t hello;
    ri_stream_t *stream;
    uint32_t value;

    if ((flags & AM_HELLO) && (length >= sizeof(hello) + sizeof(ri_wire_base_t))) {
        memcpy(&hello, at + length - sizeof(hello), sizeof(hello));
        at[0] |= RI_WIRE_FLAG_HELLO;
        at[1] = at[2] = at[3] = 0;
        hello.magic           = RI_WIRE_MAGIC;
        hello.version         = RI_WIRE_VERSION;
        hello.uid             = PEER_UID + (hello.uid & 3);
        hello.host            = (hello.host & 1) ? g.worker->host : 0;
        hello.conn_id         = 1 + (hello.conn_id & 3);
        memcpy(at + length - sizeof(hello), &hello, sizeof(hello));
    }
    if ((flags & AM_ORDER) && (length >= sizeof(ri_wire_base_t)) &&
        !ucs_list_is_empty(&g.worker->streams)) {
        stream = ucs_list_head(&g.worker->streams, ri_stream_t, list);
        memcpy(&value, at + 4, sizeof(value));
        value = stream->next_sn + (value & 3);
        memcpy(at + 4, &value, sizeof(value));
    }
}

static void op_am(input_t *in)
{
    unsigned flags            = take(in);
    size_t header_length      = take(in) % 128;
    size_t length             = take16(in) % MAX_LENGTH;
    uint8_t *header           = take_bytes(in, header_length);
    uint8_t *data             = take_bytes(in, length);
    ucp_am_recv_param_t param = {0};
    ucs_status_t status;
    void *arg = data;
    desc_t *desc;

    if (header_length > 0) {
        fix_header(header, header_length, flags);
    } else {
        fix_header(data, length, flags);
    }

    desc = desc_find(NULL);
    if (desc == NULL) {
        flags &= ~(AM_RNDV | AM_DATA);
    }
    if (flags & (AM_RNDV | AM_DATA)) {
        desc->rndv        = !!(flags & AM_RNDV);
        desc->length      = length;
        desc->in_callback = 1;
        if (desc->rndv) {
            /* What it points to is nobody's business */
            desc->source          = data;
            desc->memory          = malloc(1);
            *(char *)desc->memory = 0;
            arg                   = desc->memory;
            param.recv_attr |= UCP_AM_RECV_ATTR_FLAG_RNDV;
        } else {
            if (data == NULL) {
                data = malloc(1);
            }
            desc->memory = data;
            arg          = data;
            param.recv_attr |= UCP_AM_RECV_ATTR_FLAG_DATA;
        }
    }
    if (flags & AM_REPLY) {
        param.recv_attr |= UCP_AM_RECV_ATTR_FIELD_REPLY_EP;
        param.reply_ep = (ucp_ep_h)&g.eps[length % MAX_CONNS];
    }

    status = ri_dispatch_am(g.worker, header, header_length, arg, length, &param);
    if (flags & (AM_RNDV | AM_DATA)) {
        desc              = desc_find(arg);
        desc->in_callback = 0;
        CHECK(!desc->used || (status == UCS_INPROGRESS));
        if (desc->used || (status == UCS_OK)) {
            desc_free(desc);
        }
    } else {
        CHECK(status == UCS_OK);
        free(data);
    }
    free(header);
}

static void op_recv(input_t *in)
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

static void op_probe(input_t *in)
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
    msg    = ri_tag_probe(g.worker, tag, pick_mask(mask), remove, &info);
    if ((msg != NULL) && remove) {
        g.msgs[i] = msg;
    }
}

static void op_cancel(input_t *in)
{
    recv_op_t *op = &g.recvs[take(in) % MAX_RECVS];

    if (op->used && !op->done) {
        ri_tag_cancel(g.worker, (ri_recv_req_t *)ri_req_of_handle(op->handle));
    }
}

/* The ring that the peer writes into, if the worker has made one. */
static ri_ring_rx_t *pick_ring(uint8_t which)
{
    return (g.worker->num_rings == 0) ?
                   NULL :
                   g.worker->rings[which % g.worker->num_rings]->ring;
}

static void op_record(input_t *in)
{
    uint8_t which           = take(in);
    ri_ring_rx_t *ring      = pick_ring(which);
    ri_ring_record_t record = {0};
    size_t copied, room;
    ri_ring_record_t *at;
    uint8_t *payload;

    record.type   = take(in);
    record.length = take16(in);
    record.value  = take(in);
    record.extra  = take16(in);
    record.tag    = take(in);
    copied        = take(in);
    payload       = take_bytes(in, copied);
    if (ring != NULL) {
        if (which & 0x80) {
            record.value += g.worker->rings[(which % g.worker->num_rings)]->next_sn;
        }
        at   = &ring->lines[ring->pos & ring->mask];
        room = (char *)(ring->lines + ring->mask + 1) - (char *)at->payload;
        memcpy(&at->length, &record.length,
               offsetof(ri_ring_record_t, payload) - offsetof(ri_ring_record_t, length));
        if (copied > 0) {
            memcpy(at->payload, payload, ri_min(copied, room));
        }
        atomic_store_explicit(&at->seq, ri_ring_stamp(ring->pos), memory_order_release);
        ri_worker_progress(g.worker);
    }
    free(payload);
}

static void op_smash(input_t *in)
{
    ri_ring_rx_t *ring = pick_ring(take(in));
    size_t offset      = take16(in);
    size_t length      = take(in);
    uint8_t *bytes     = take_bytes(in, length);

    if ((ring != NULL) && (length > 0)) {
        offset %= ring->map_size - length;
        memcpy((char *)ring->control + offset, bytes, length);
        ri_worker_progress(g.worker);
    }
    free(bytes);
}

static void op_send(input_t *in)
{
    ri_conn_t *conn           = pick_conn(take(in));
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

static void op_stock(input_t *in)
{
    uint8_t which = take(in);
    size_t i      = which % MAX_PENDING;

    if (g.pending[i] != NULL) {
        pending_end(i, (which & 0x80) ? UCS_ERR_CONNECTION_RESET : UCS_OK);
    }
}

static void close_done(void *request, ucs_status_t status, void *user_data)
{
    (void)request;
    (void)status;
    (void)user_data;
}

static void op_conn(input_t *in)
{
    uint8_t what              = take(in);
    uint8_t which             = take(in);
    ri_conn_t *conn           = pick_conn(which);
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .cb.send = close_done};
    void *handle;

    if ((what % 4 == 0) && (ri_conn_find((ucp_ep_h)&g.eps[which % MAX_CONNS]) == NULL)) {
        ri_conn_create(g.worker, (ucp_ep_h)&g.eps[which % MAX_CONNS],
                       (which & 0x80) ? 0 :
                       (which & 0x40) ? LOCAL_UID :
                                        PEER_UID + ((which >> 3) & 3),
                       UCS_OK, RI_CONN_USER | ((which & 0x20) ? RI_CONN_PEER_MODE : 0),
                       &conn);
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
        ri_conn_note_rma(conn);
    }
}

static void op_mode(input_t *in)
{
    uint8_t mode = take(in);

    g.send_later  = !!(mode & 1);
    g.send_fails  = !!(mode & 2);
    g.fetch_later = !!(mode & 4);
    g.fetch_fails = !!(mode & 8);

    g.read_fails       = !!(mode & 16);
    g.read_unreachable = !!(mode & 32);
}

static void op_offer(input_t *in)
{
    ri_conn_t *conn            = pick_conn(take(in));
    ri_wire_ring_offer_t offer = {.base.type  = RI_WIRE_RING_OFFER,
                                  .base.value = RING_SIZE,
                                  .pid        = getpid(),
                                  .stream_id  = 1 + take(in),
                                  .cookie     = 0x5eed,
                                  .uid        = PEER_UID};
    ucp_am_recv_param_t param  = {0};

    if (conn == NULL) {
        return;
    }
    if (g.ring.control == NULL) {
        CHECK(ri_ring_create(&g.ring, RING_SIZE, offer.cookie) == UCS_OK);
    }
    offer.fd = g.ring.fd;
    ri_wire_set_id(&offer.base, conn->id);
    ri_dispatch_am(g.worker, &offer, sizeof(offer), &offer, 0, &param);
}

/* What comes again is handled as what is in the buffer, of which nothing is left here. */
static void op_channel(input_t *in)
{
    ri_stream_t *stream = ri_id_get(&g.worker->stream_ids, 1 + take(in));

    if ((stream == NULL) || (stream->channel != NULL)) {
        return;
    }
    stream->channel = calloc(1, sizeof(*stream->channel));
    CHECK(stream->channel != NULL);
    stream->channel->stream = stream;
    stream->channel->serial = 1;
    stream->channel->way    = 1;
    stream->channel->dead   = 1;
    stream->channel->rx.pos = take(in);
}

/* A good peer: a way through the network comes about, as both sides want it. */
static void net_way(uint8_t which)
{
    ri_conn_t *conn           = pick_conn(which & 0x0f);
    ucp_am_recv_param_t param = {0};
    ri_wire_plane_t msg       = {.base.value = RI_WIRE_PLANE_REACHED, .length = 8};
    ri_wire_conn_ack_t ack    = {.base.type = RI_WIRE_CONN_ACK, .base.value = 1};
    ri_stream_t *stream;
    ri_peer_t *peer;

    if ((conn == NULL) || (conn->peer == NULL)) {
        return;
    }
    peer                   = conn->peer;
    ri_config.rc_max_peers = (which & 0x40) ? 8 : 0;
    if (conn->remote_id == 0) {
        ack.uid = peer->uid;
        ri_wire_set_id(&ack.base, conn->id);
        ri_dispatch_am(g.worker, &ack, sizeof(ack), &ack, 0, &param);
    }
    ri_planes_ask_rdma(conn);
    if (peer->rdma_ep == NULL) {
        return;
    }
    msg.plane     = peer->rdma_kind;
    msg.asked     = (uint16_t)peer->rdma_way;
    msg.way       = peer->rdma_way;
    msg.base.type = RI_WIRE_PLANE_ACK;
    ri_wire_set_id(&msg.base, conn->id);
    ri_dispatch_am(g.worker, &msg, sizeof(msg), &msg, 0, &param);
    if (!ucs_list_is_empty(&peer->streams)) {
        stream         = ucs_list_head(&peer->streams, ri_stream_t, peer_list);
        msg.base.type  = RI_WIRE_PLANE_REQ;
        msg.base.value = RI_WIRE_PLANE_WRITES;
        ri_wire_set_id(&msg.base, stream->id);
        ri_dispatch_am(g.worker, &msg, sizeof(msg), &msg, 0, &param);
    }
}

static void op_net(input_t *in)
{
    uint8_t what  = take(in);
    uint8_t which = take(in);
    uint32_t immediate;

    switch (what % 7) {
    case 0:
        net_way(which);
        break;
    case 1:
        fuzz_net_end(which & 0x0f, which >> 4);
        break;
    case 2:
        fuzz_net_hear(which);
        break;
    case 3:
        immediate = take16(in);
        immediate |= (uint32_t)take16(in) << 16;
        fuzz_net_notify(which & 3, immediate, take16(in));
        break;
    case 4:
        fuzz_net_break(which & 3);
        break;
    case 5:
        fuzz_net_mode(which);
        break;
    default: /* the plane within the host is there, or not */
        if (g.num_plane_eps == 0) {
            g.worker->plane = (which & 1) ? NULL : &g.plane;
        }
    }
}

static void op_drain(input_t *in)
{
    unsigned count = take(in) % 16;
    const ri_ring_record_t *record;
    uint32_t lines;

    for (; (count > 0) && (g.ring.control != NULL); --count) {
        record = ri_ring_rx_peek(&g.ring);
        if (record == NULL) {
            break;
        }
        /* Two conns may have mapped it, so anything may stand there */
        lines = ri_ring_rx_lines(&g.ring, record->type, record->length);
        if (lines == 0) {
            break;
        }
        ri_ring_rx_advance(&g.ring, lines);
    }
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
    ri_rtr_message_listen(g.worker);
    CHECK(ri_conn_create(g.worker, (ucp_ep_h)&g.eps[0], PEER_UID, UCS_OK,
                         RI_CONN_USER | RI_CONN_PEER_MODE, &conn) == UCS_OK);
}

static void end_all_pending(ucs_status_t status)
{
    size_t i;

    for (i = 0; i < MAX_PENDING; ++i) {
        if (g.pending[i] != NULL) {
            pending_end(i, status);
        }
    }
    release_done();
}

/* A receive whose memory a process that lives may write after CTS never completes when the worker
 * goes. @return How many there are. */
static unsigned forget_written(void)
{
    const ri_recv_req_t *recv;
    unsigned count = 0;
    size_t i;

    for (i = 0; i < MAX_RECVS; ++i) {
        if (g.recvs[i].used) {
            recv = (const ri_recv_req_t *)ri_req_of_handle(g.recvs[i].handle);
            CHECK(!g.recvs[i].done && (recv->written == RI_RECV_BY_CTS));
            free(g.recvs[i].buffer);
            ++count;
        }
    }
    return count;
}

static void stop(void)
{
    size_t i;

    /* An application receives what it took out, and cancels what it posted */
    for (i = 0; i < MAX_RECVS; ++i) {
        g.recvs[i].again = 0;
        if (g.recvs[i].used && !g.recvs[i].done &&
            (ri_req_flags(ri_req_of_handle(g.recvs[i].handle)) & RI_REQ_POSTED)) {
            ri_tag_cancel(g.worker, (ri_recv_req_t *)ri_req_of_handle(g.recvs[i].handle));
        }
    }
    end_all_pending(UCS_OK);
    for (i = 0; i < MAX_MSGS; ++i) {
        if (g.msgs[i] != NULL) {
            recv_post(0, 0, 16, 0, g.msgs[i]);
            end_all_pending(UCS_OK);
        }
    }

    ri_worker_destroy(g.worker);
    end_all_pending(UCS_ERR_CANCELED);
    for (i = 0; i < g.num_closes; ++i) {
        CHECK(ri_req_flags(ri_req_of_handle(g.closes[i].handle)) & RI_REQ_COMPLETED);
        ri_req_put(ri_req_of_handle(g.closes[i].handle));
    }
    for (i = 0; i < MAX_SENDS; ++i) {
        CHECK(!g.sends[i].used);
    }
    for (i = 0; i < MAX_DESCS; ++i) {
        CHECK(g.descs[i].memory == NULL);
    }
    CHECK(g.worker->reqs.in_use == forget_written());
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
            [OP_AM] = op_am,           [OP_RECV] = op_recv,     [OP_PROBE] = op_probe,
            [OP_CANCEL] = op_cancel,   [OP_RECORD] = op_record, [OP_SMASH] = op_smash,
            [OP_SEND] = op_send,       [OP_STOCK] = op_stock,   [OP_CONN] = op_conn,
            [OP_MODE] = op_mode,       [OP_OFFER] = op_offer,   [OP_DRAIN] = op_drain,
            [OP_CHANNEL] = op_channel, [OP_NET] = op_net};
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
        release_done();
    }
    stop();
    return 0;
}
