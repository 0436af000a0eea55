/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "send.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"
#include "../core/memory.h"
#include "../proto/rndv/am_rndv.h"
#include "../link/control.h"
#include "../proto/coop/coop.h"
#include "../proto/eager/eager.h"
#include "../proto/eager/frag.h"
#include "../proto/pool/hybrid.h"
#include "../link/planes.h"
#include "../link/rdma_channel.h"
#include "../proto/rndv/rdma_read.h"
#include "../proto/rtr/recv_hybrid.h"
#include "../proto/rtr/recv_rndv.h"
#include "../proto/rtr/recv_rndv_message.h"
#include "../proto/rtr/recv_rndv_ud.h"
#include "../link/ring_channel.h"
#include "../proto/rndv/rndv.h"
#include "../proto/select.h"
#include "../proto/eager/self.h"
#include "../proto/rndv/send_rndv_get.h"
#include "../proto/rndv/send_rndv_put.h"
#include "../proto/rndv/send_rndv_ud.h"

/* A receiver that has not told its id after so many messages is asked for it. */
#define SEND_ASK_AFTER 4

void ri_send_req_init(ri_send_req_t *req, ri_conn_t *conn, uint64_t tag)
{
    req->conn      = conn;
    req->tag       = tag;
    req->sn        = conn->tx_sn + 1; /* if it gets one */
    req->id        = 0;
    req->waiting   = 0;
    req->wire_type = 0;
    req->put       = 0;
    req->target    = RI_SEND_TARGET_NONE;
    req->failure   = UCS_OK;
    req->self_msg  = NULL;
    req->coop      = NULL;
    req->keys      = NULL;
    req->ud_op     = NULL;

    req->in_stock[RI_AM_MESSAGE] = NULL;
    req->in_stock[RI_AM_DATA]    = NULL;
    ucs_list_add_tail(&conn->sends, &req->list);
}

void ri_send_take_back(ri_conn_t *conn, uint32_t sn, uint64_t tag, ucs_status_t status)
{
    if (conn->tx_sn == sn) {
        conn->tx_sn  = sn - 1;
        conn->tx_tag = tag;
        if (conn->rtrs != NULL) {
            ri_rtr_table_reset(conn->rtrs, sn - 1); /* RTRs may have counted it */
        }
    } else {
        ri_conn_lose(conn, sn, status);
    }
}

static void send_forget(ri_send_req_t *req)
{
    if (req->coop != NULL) {
        ri_coop_give_up(req);
    }
    if (req->keys != NULL) {
        ri_rdma_read_forget(req);
    }
    if (req->ud_op != NULL) {
        ri_send_rndv_ud_abort(req);
    }
    if (req->conn != NULL) {
        ucs_list_del(&req->list);
        req->conn = NULL;
    }
    if (req->id != 0) {
        ri_id_free(&req->super.worker->req_ids, req->id);
        req->id = 0;
    }
}

static void send_complete(ri_send_req_t *req, ucs_status_t status)
{
    ri_conn_t *conn = req->conn;

    send_forget(req);
    if ((conn != NULL) && ri_unlikely(conn->flags & RI_CONN_LOST)) {
        ri_conn_say_lost(conn); /* perhaps that was the last one */
    }
    ri_dt_finish(&req->data);
    ri_trace(&req->super.worker->trace, RI_TRACE_SEND_DONE, req->tag, status);
    ri_req_complete_send(&req->super, status);
}

void ri_send_end_wait(ri_send_req_t *req, uint8_t what, ucs_status_t status)
{
    req->waiting &= ~what;
    if (ri_unlikely(status != UCS_OK)) {
        /* What else it waits for may never come, except stock's callback and the end of a
         * write, which always do and must find the request. */
        req->failure = (req->failure == UCS_OK) ? status : req->failure;
        req->waiting &= RI_SEND_WAIT_STOCK | RI_SEND_WAIT_DATA | RI_SEND_WAIT_WRITE;
    }
    if (req->waiting == 0) {
        send_complete(req, req->failure);
    }
}

void ri_send_abort(ri_send_req_t *req, ucs_status_t status)
{
    if (req->waiting & RI_SEND_WAIT_RING) {
        ucs_list_del(&req->pending);
    }
    send_forget(req);
    if (req->self_msg != NULL) {
        ri_self_give_up(req);
    }
    if (req->waiting & (RI_SEND_WAIT_RING | RI_SEND_WAIT_MATCH | RI_SEND_WAIT_WRITE)) {
        ri_send_end_wait(req, RI_SEND_WAIT_RING | RI_SEND_WAIT_MATCH, status);
    }
}

/* A message is on its way. Those through the ring or channel are counted when they are in it,
 * those to the own worker there. */
static void send_count(ri_conn_counters_t *counters, ri_proto_t proto, size_t length)
{
#define SEND_COUNT(_name) \
    ++counters->_name; \
    counters->_name##_bytes += length
    switch (proto) {
    case RI_PROTO_SELF:
    case RI_PROTO_EAGER_RING:
    case RI_PROTO_EAGER_RDMA:
        break;
    case RI_PROTO_EAGER_COPY:
    case RI_PROTO_EAGER_GATHER:
    case RI_PROTO_EAGER_FRAGS:
        SEND_COUNT(tx_eager_am);
        break;
    case RI_PROTO_HYBRID:
        SEND_COUNT(tx_hybrid);
        break;
    case RI_PROTO_RECV_RNDV:
    case RI_PROTO_RECV_HYBRID:
    case RI_PROTO_RECV_UD:
        SEND_COUNT(tx_recv_rndv);
        break;
    case RI_PROTO_RECV_COOP:
    case RI_PROTO_COOP:
        SEND_COUNT(tx_coop);
        break;
    case RI_PROTO_RNDV_GET:
        SEND_COUNT(tx_rndv);
        break;
    case RI_PROTO_RNDV_PUT:
        SEND_COUNT(tx_put);
        break;
    case RI_PROTO_RNDV_UD:
        SEND_COUNT(tx_ud);
        break;
    case RI_PROTO_BULK:
    case RI_PROTO_BULK_RNDV:
        SEND_COUNT(tx_bulk);
        break;
    }
#undef SEND_COUNT
    counters->tx_bytes += length;
}

static ri_wire_type_t send_wire_type(const ri_send_req_t *req, ri_proto_t proto)
{
    switch (proto) {
    case RI_PROTO_HYBRID:
        return RI_WIRE_POOL;
    case RI_PROTO_RECV_RNDV:
    case RI_PROTO_RECV_HYBRID:
        return RI_WIRE_PLACED;
    case RI_PROTO_RECV_UD:
    case RI_PROTO_RECV_COOP:
    case RI_PROTO_COOP:
    case RI_PROTO_RNDV_GET:
    case RI_PROTO_RNDV_PUT:
    case RI_PROTO_RNDV_UD:
        return RI_WIRE_RTS;
    case RI_PROTO_BULK:
    case RI_PROTO_BULK_RNDV:
        return RI_WIRE_BULK;
    default:
        return (req->id != 0) ? RI_WIRE_EAGER_SYNC : RI_WIRE_EAGER;
    }
}

/* Number the message and start its protocol. @a rtr is its RTR, if its grant is not NULL. */
static ucs_status_t send_start(ri_send_req_t *req, ri_proto_t proto, const ri_rtr_t *rtr,
                               const ucp_request_param_t *param)
{
    ri_conn_t *conn       = req->conn;
    uint64_t previous_tag = conn->tx_tag;
    ucs_status_t status;

    req->sn        = ++conn->tx_sn; /* before anything that may send on this conn again */
    req->wire_type = send_wire_type(req, proto);
    ri_send_log(conn, req->tag, (req->wire_type == RI_WIRE_RTS) ? req->id : 0);
    switch (proto) {
    case RI_PROTO_EAGER_RING:
        status = ri_eager_send_ring(req);
        break;
    case RI_PROTO_EAGER_RDMA:
        status = ri_eager_send_rdma(req, param);
        break;
    case RI_PROTO_EAGER_COPY:
        status = ri_eager_send_copy(req, param);
        break;
    case RI_PROTO_EAGER_FRAGS:
        status = ri_frag_send(req);
        if (status == UCS_ERR_NO_RESOURCE) {
            status = ri_eager_send_copy(req, param);
        }
        break;
    case RI_PROTO_EAGER_GATHER:
        status = ri_eager_send_gather(req);
        break;
    case RI_PROTO_RECV_RNDV:
        status = ri_recv_rndv_start(req, rtr);
        break;
    case RI_PROTO_RECV_HYBRID:
        status = ri_recv_hybrid_start(req, rtr);
        break;
    case RI_PROTO_RECV_UD:
        status = ri_recv_rndv_ud_start(req, rtr);
        break;
    case RI_PROTO_RECV_COOP:
        status = ri_recv_rndv_start_coop(req, rtr);
        break;
    case RI_PROTO_COOP:
        status = ri_coop_start(req, NULL);
        break;
    case RI_PROTO_RNDV_GET:
        status = ri_send_rndv_get_start(req);
        break;
    case RI_PROTO_RNDV_PUT:
        status = ri_send_rndv_put_start(req);
        break;
    case RI_PROTO_RNDV_UD:
        status = ri_send_rndv_ud_start(req);
        break;
    case RI_PROTO_HYBRID:
        status = ri_hybrid_send(req, param);
        break;
    case RI_PROTO_BULK:
        status = ri_am_rndv_send(req, 0, param);
        break;
    default:
        status = ri_am_rndv_send(req, UCP_AM_SEND_FLAG_RNDV, param);
        break;
    }

    if (UCS_STATUS_IS_ERR(status)) {
        /* If the conn failed meanwhile, it has let go of the request, and a callback may have
         * closed it. */
        if (req->conn == NULL) {
            /* nothing is left to be undone */
        } else if (ri_recv_rndv_is_used(rtr)) {
            ri_conn_lose(conn, req->sn, status); /* the receiver counts on it */
        } else {
            ri_send_take_back(conn, req->sn, previous_tag, status);
        }
        return status;
    }

    send_count(&conn->counters, proto, req->data.length);
    return status;
}

/* Whether a protocol can complete within the call, as FORCE_IMM_CMPL demands. */
static int send_can_end_now(ri_send_req_t *req, ri_proto_t proto)
{
    switch (proto) {
    case RI_PROTO_SELF:
        return req->data.length <= ri_config.eager_thresh;
    case RI_PROTO_EAGER_RING:
        return ucs_list_is_empty(&req->conn->pending) &&
               (ri_ring_tx_reserve(req->conn->ring, req->data.length) != NULL);
    case RI_PROTO_EAGER_RDMA:
    case RI_PROTO_EAGER_COPY:
    case RI_PROTO_HYBRID:
        return 1; /* stock says so if it cannot */
    case RI_PROTO_RECV_HYBRID:
        return 1;
    default:
        return 0;
    }
}

/* Whether the receiver answers, and has to be told which request it is about. */
static int send_needs_id(ri_proto_t proto, int sync)
{
    switch (proto) {
    case RI_PROTO_RECV_RNDV: /* its receive is known */
    case RI_PROTO_RECV_HYBRID:
    case RI_PROTO_BULK_RNDV: /* UCP knows */
        return 0;
    case RI_PROTO_RECV_UD:
    case RI_PROTO_RECV_COOP:
    case RI_PROTO_COOP:
    case RI_PROTO_RNDV_GET:
    case RI_PROTO_RNDV_PUT:
    case RI_PROTO_RNDV_UD:
        return 1;
    default:
        return sync;
    }
}

/* Whether a message is a write that carries its own notification. */
static int send_tells_itself(ri_proto_t proto, const ri_rtr_t *rtr)
{
    return (proto == RI_PROTO_RECV_HYBRID) ||
           ((proto == RI_PROTO_RECV_RNDV) && (rtr->kind == RI_RTR_MESSAGE));
}

/* @a rtr may be NULL. */
static uint64_t send_rtr_room(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    return (rtr == NULL)                 ? 0 :
           (rtr->kind == RI_RTR_MESSAGE) ? ri_recv_rndv_message_room(req, rtr) :
           (rtr->kind == RI_RTR_UD)      ? ri_recv_rndv_ud_room(req, rtr) :
                                           rtr->length;
}

/* All that the choice depends on. */
static ri_select_param_t send_facts(const ri_send_req_t *req, int sync,
                                    const ri_rtr_t *rtr, const ucp_request_param_t *param)
{
    ri_conn_t *conn = req->conn;
    size_t length   = req->data.length;
    int is_long     = (length > ri_config.eager_thresh);
    int has_ring    = (conn->ring != NULL) && !(conn->flags & RI_CONN_NO_RING);
    int has_channel = ri_rdma_channel_can(conn, length);
    int is_coop     = has_ring && (length >= ri_config.coop_thresh);

    return (ri_select_param_t){
            .self          = !!(conn->flags & RI_CONN_SELF),
            .sync          = sync,
            .peer_mode     = !!(conn->flags & RI_CONN_PEER_MODE),
            .has_ring      = has_ring,
            .ring_open     = (is_coop || (rtr != NULL)) && ri_coop_is_ring_open(conn),
            .has_channel   = has_channel,
            .is_behind     = !ucs_list_is_empty(&conn->pending),
            .polls         = (conn->worker->max_rings > 0),
            .am_ready      = !!(conn->flags & RI_CONN_AM_READY),
            .has_hello     = (conn->remote_id == 0),
            .contig        = ri_dt_is_contig(&req->data),
            .host_memory   = ri_memory_is_host(req->super.worker, &req->data, param),
            .pieces        = ri_rndv_fits(&req->data),
            .awaited       = (conn->peer != NULL) && conn->peer->ready,
            .pool_free     = is_long && ri_pool_has(&conn->worker->pool, length),
            .slot_free     = is_coop && ri_coop_has_slot(conn),
            .rtr_by_net    = (rtr != NULL) && (rtr->kind != RI_RTR_GRANT),
            .rtr_room      = send_rtr_room(req, rtr),
            .host_plane    = ri_planes_host(conn),
            .net_plane     = ri_planes_net(conn),
            .scheme        = ri_config.scheme,
            .length        = length,
            .hybrid_thresh = ri_config.hybrid_thresh,
            .hybrid_net    = ri_config.hybrid_net,
            .coop_thresh   = ri_config.coop_thresh,
            .ring_max      = conn->ring_max,
            .channel_max   = has_channel ? conn->channel->end - 1 : 0,
            .eager_thresh  = ri_config.eager_thresh,
            .am_inline     = ri_config.am_inline};
}

/* Get what a protocol needs. If it cannot be had, another one is chosen; with @a at_once, none that
 * takes the RTR and ends later. */
static ri_proto_t send_prepare(ri_send_req_t *req, ri_select_param_t *select,
                               ri_choice_t choice, const ri_rtr_t *rtr, int at_once)
{
    if ((choice.proto == RI_PROTO_RECV_HYBRID) && !ri_recv_hybrid_prepare(req)) {
        choice.proto = RI_PROTO_RECV_RNDV;
        if (at_once) {
            select->rtr_room  = 0;
            select->pool_free = 0;
            choice            = ri_select(select);
        }
    }
    if (((choice.proto == RI_PROTO_RECV_HYBRID) && !ri_recv_hybrid_take(req, rtr)) ||
        ((choice.proto == RI_PROTO_RECV_RNDV) && !ri_recv_rndv_write(req, rtr)) ||
        ((choice.proto == RI_PROTO_RECV_UD) && !ri_rdma_read_prepare(req))) {
        select->rtr_room   = 0;
        select->host_plane = ri_planes_host(req->conn); /* it may have failed */
        choice             = ri_select(select);
    }
    if ((choice.proto == RI_PROTO_HYBRID) && (choice.plane & RI_PLANE_KEYS) &&
        !ri_hybrid_prepare(req->conn, req->data.length)) {
        select->pool_free = 0;
        choice            = ri_select(select);
    }
    if ((choice.proto >= RI_PROTO_RNDV_GET) && (choice.proto <= RI_PROTO_RNDV_UD) &&
        (choice.plane & RI_PLANE_KEYS) && !ri_rdma_read_prepare(req)) {
        select->net_plane = 0;
        choice            = ri_select(select);
    }
    return choice.proto;
}

static ucs_status_t send_choose_and_start(ri_send_req_t *req, int sync,
                                          const ucp_request_param_t *param)
{
    ri_conn_t *conn          = req->conn;
    const ri_rtr_t *waiting  = ri_recv_rndv_find(conn, req->tag, req->data.length);
    ri_select_param_t select = send_facts(req, sync, waiting, param);
    int early                = ri_select_is_early(&select);
    int at_once              = !!(param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);
    ri_rtr_t rtr             = early ? *waiting : (ri_rtr_t){.grant = NULL};
    ri_choice_t choice;
    ri_proto_t proto;
    ucs_status_t status;

    if (req->data.length > ri_config.eager_thresh) {
        select.rtr_expected = ri_recv_rndv_is_expected(conn, early);
    }
    choice = ri_select(&select);
    if (at_once && (sync || !send_can_end_now(req, choice.proto))) {
        return UCS_ERR_NO_RESOURCE;
    }

    if (choice.proto == RI_PROTO_SELF) {
        conn->counters.tx_sync += sync;
        return ri_self_send(req, sync);
    }

    proto = send_prepare(req, &select, choice, &rtr, at_once);
    if (at_once && !send_can_end_now(req, proto)) {
        return UCS_ERR_NO_RESOURCE;
    }
    if (send_needs_id(proto, sync)) {
        req->id = ri_id_alloc(&conn->worker->req_ids, req);
        if (req->id == 0) {
            if (ri_recv_rndv_is_used(&rtr)) {
                ri_conn_lose(conn, conn->tx_sn + 1, UCS_ERR_NO_MEMORY);
            }
            return UCS_ERR_NO_MEMORY;
        }
        req->waiting |= RI_SEND_WAIT_MATCH;
    }

    if (ri_unlikely(conn->untold != NULL) && (conn->untold->count > 0) &&
        !send_tells_itself(proto, &rtr)) {
        ri_recv_rndv_message_tell(conn);
    }
    status = send_start(req, proto, &rtr, param);
    if (UCS_STATUS_IS_ERR(status)) {
        return status; /* the conn may be gone */
    }
    conn->counters.tx_sync += sync;
    if (ri_unlikely(conn->remote_id == 0) &&
        (sync || (conn->flags & RI_CONN_BY_SOCKADDR))) {
        ri_control_ask(conn); /* UCX has set it up already, or stock would */
    } else if (((proto == RI_PROTO_EAGER_FRAGS) || ri_unlikely(conn->remote_id == 0)) &&
               (conn->tx_sn >= SEND_ASK_AFTER)) {
        ri_control_ask_later(conn);
    }
    if ((proto >= RI_PROTO_BULK) ||
        ((req->data.length > ri_config.eager_thresh) && !(conn->flags & RI_CONN_LONG))) {
        ri_planes_ask(conn); /* for the next one */
    }
    if (ri_unlikely(conn->flags & RI_CONN_BEHIND_RMA) &&
        ((conn->ring != NULL) || (conn->channel != NULL))) {
        ri_control_ask_order(conn);
    }
    return (req->waiting != 0) ? UCS_INPROGRESS : UCS_OK;
}

ucs_status_ptr_t ri_tag_send_slow(ri_conn_t *conn, const void *buffer, size_t count,
                                  uint64_t tag, const ucp_request_param_t *param,
                                  int sync)
{
    ri_worker_t *worker = conn->worker;
    ri_send_req_t *req;
    ucs_status_t status;

    if (ri_unlikely(conn->flags & (RI_CONN_NO_PEER | RI_CONN_VERSION))) {
        ri_conn_report_unusable((conn->flags & RI_CONN_VERSION) ? UCS_ERR_UNSUPPORTED :
                                                                  UCS_ERR_NO_ELEM);
        return UCS_STATUS_PTR(UCS_ERR_UNREACHABLE);
    }
    if (ri_unlikely(conn->status != UCS_OK)) {
        return UCS_STATUS_PTR(conn->status);
    }
    req = (ri_send_req_t *)ri_req_get(worker, param, RI_REQ_SEND);
    if (req == NULL) {
        return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    }

    status = ri_dt_send_init(&req->data, RI_SEND_PARAM_DATATYPE(param), buffer, count);
    if (ri_unlikely(status != UCS_OK)) {
        ri_req_drop(&req->super);
        return UCS_STATUS_PTR(status);
    }

    ri_send_req_init(req, conn, tag);
    ri_trace(&worker->trace, RI_TRACE_SEND, tag, req->data.length);

    status = send_choose_and_start(req, sync, param);
    if (status == UCS_INPROGRESS) {
        ri_req_set_send_cb(&req->super, param);
        return ri_req_handle(&req->super);
    }

    send_forget(req);
    ri_dt_finish(&req->data);
    if (UCS_STATUS_IS_ERR(status)) {
        ri_req_drop(&req->super);
        return UCS_STATUS_PTR(status);
    }
    return ri_req_done_send(&req->super, param, status);
}
