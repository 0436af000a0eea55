/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sender: a buffer is filled and announced, and comes back by RELEASE; if the receiver cannot read
 * it (NACK), UCP sends what is in it.
 */
#include "pool_send.h"
#include "../../core/types/module.h"
#include "../../core/send_req.h"
#include "../../link/am.h"
#include "../rndv/rndv.h"
#include "../../../ucs/settings.h"
#include "../../link/local.h"
#include "../../link/way.h"

#include <string.h>

/* A POOL always names one segment. */
typedef union pool_send_msg {
    ri_wire_rts_t rts;
    uint8_t bytes[sizeof(ri_wire_rts_t) + sizeof(ri_segment_t) + sizeof(uint32_t)];
} pool_send_msg_t;

static void pool_send_count(ri_worker_t *worker)
{
    ri_worker_counters_t *counters = &worker->counters;

    counters->pool_bytes     = worker->pool.used;
    counters->pool_bytes_max = ri_max(counters->pool_bytes_max, worker->pool.used);
}

void ri_pool_send_free(ri_pool_buffer_t *buffer)
{
    ri_worker_t *worker = buffer->worker;

    ucs_list_del(&buffer->list);
    ri_pool_put(&worker->pool, buffer);
    pool_send_count(worker);
}

ri_pool_buffer_t *ri_pool_send_get(const ri_send_req_t *req)
{
    ri_conn_t *conn          = req->conn;
    ri_pool_buffer_t *buffer = ri_pool_get(&conn->worker->pool, req->data.length);

    if (buffer != NULL) {
        buffer->worker = conn->worker;
        buffer->conn   = conn;
        buffer->uid    = (conn->peer != NULL) ? conn->peer->uid : 0;
        buffer->length = req->data.length;
        buffer->keyed  = !(conn->flags & RI_CONN_PLANE_READ);
        buffer->way    = buffer->keyed ? conn->peer->way.number : 0;
        ucs_list_add_tail(&conn->lent, &buffer->list);
        pool_send_count(conn->worker);
    }
    return buffer;
}

int ri_pool_send_reaches(ri_conn_t *conn, size_t length)
{
    ri_worker_t *worker      = conn->worker;
    ri_pool_buffer_t *buffer = NULL;
    int ready;

    if (ri_way_use_try(worker, conn->peer)) {
        buffer = ri_pool_get(&worker->pool, length);
    }
    if (buffer == NULL) {
        return 0;
    }
    ready = ri_pool_register(buffer, worker->net.rc);
    ri_pool_put(&worker->pool, buffer); /* the next one that is taken */
    return ready;
}

/* Describe the message in a buffer. */
static void pool_send_fill(pool_send_msg_t *msg, const ri_pool_buffer_t *buffer)
{
    ri_wire_rts_t *rts = &msg->rts;

    *rts             = (ri_wire_rts_t){.num_segments = 1};
    rts->segments[0] = (ri_segment_t){(uintptr_t)buffer->data, buffer->length};
    if (ri_pool_is_low(&buffer->worker->pool)) {
        rts->flags |= RI_WIRE_RTS_LOW;
    }
    if (buffer->keyed) {
        rts->flags |= RI_WIRE_RTS_KEYS;
        rts->way = buffer->way;
        memcpy(&rts->segments[1], &buffer->memory.remote_key,
               sizeof(buffer->memory.remote_key));
    }
}

static ucs_status_t pool_send_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_worker_t *worker      = req->super.worker;
    ri_pool_buffer_t *buffer = ri_pool_send_get(req);
    pool_send_msg_t msg;
    ucs_status_t status;
    uint64_t start;
    uint32_t id;

    if (buffer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    start = ri_timeline_now(&worker->timeline);
    ri_dt_pack(&req->data, buffer->data);
    ri_timeline_copied(&worker->timeline, start, RI_TIMELINE_COPY_POOL, req->data.length,
                       buffer->uid);
    id = buffer->id;
    pool_send_fill(&msg, buffer);
    ri_trace(&worker->trace, RI_TRACE_SEND_POOL, req->sn, req->data.length);

    status = ri_rndv_send_payload(req, id, &msg, ri_wire_rts_length(&msg.rts),
                                  ri_am_force_flag(terms->param));
    /* If the conn has failed meanwhile, the buffer is back already. */
    if (UCS_STATUS_IS_ERR(status) && (ri_id_get(&worker->pool.ids, id) == buffer)) {
        ri_pool_send_free(buffer);
    }
    return status;
}

ucs_status_t ri_pool_send_again(ri_pool_buffer_t *buffer)
{
    ri_conn_t *conn = buffer->conn;
    uint64_t tag    = conn->tx_tag;
    pool_send_msg_t msg;
    ri_am_buffer_t *am;
    ucs_status_t status;
    size_t header_length, length;

    pool_send_fill(&msg, buffer);
    msg.rts.flags = (msg.rts.flags & ~RI_WIRE_RTS_KEYS) | RI_WIRE_RTS_AGAIN;
    msg.rts.way   = (uint16_t)buffer->way;
    length        = ri_wire_rts_length(&msg.rts);
    am            = ri_am_buffer_get(conn->worker, length);
    if (am == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    header_length = ri_am_pack_header(conn, RI_WIRE_POOL, buffer->sn, buffer->tag,
                                      buffer->id, am->data);
    conn->tx_tag  = tag; /* it is not the latest message */
    memcpy(am->data + header_length, &msg, length);
    status = ri_am_send_buffer(conn, am, header_length, length, 0);
    return (status == UCS_INPROGRESS) ? UCS_OK : status;
}

/* Whether UCP had no memory for messages of a conn. */
static int pool_send_has_unsent(const ri_conn_t *conn)
{
    const ri_pool_buffer_t *buffer;

    ucs_list_for_each(buffer, &conn->worker->pool.unsent, list) {
        if (buffer->conn == conn) {
            return 1;
        }
    }
    return 0;
}

static int pool_send_is_writing(const ri_conn_t *conn)
{
    const ri_pool_buffer_t *buffer;

    ucs_list_for_each(buffer, &conn->lent, list) {
        if (buffer->state == RI_POOL_WRITING) {
            return 1;
        }
    }
    return 0;
}

int ri_pool_send_is_under_way(const ri_conn_t *conn)
{
    return !ucs_list_is_empty((ucs_list_link_t *)&conn->lent) ||
           pool_send_has_unsent(conn);
}

static void pool_send_drop_unsent(ri_conn_t *conn)
{
    ri_pool_buffer_t *buffer, *tmp;

    ucs_list_for_each_safe(buffer, tmp, &conn->worker->pool.unsent, list) {
        if (buffer->conn == conn) {
            ri_pool_send_free(buffer);
        }
    }
}

void ri_pool_send_released(ri_worker_t *worker, uint64_t uid, const uint32_t *ids,
                           unsigned count)
{
    ri_pool_buffer_t *buffer;
    unsigned i;

    for (i = 0; i < count; ++i) {
        buffer = ri_id_get(&worker->pool.ids, ids[i]);
        if ((buffer == NULL) || (buffer->uid != uid) || (buffer->state != RI_POOL_LENT)) {
            ++worker->counters.rx_stale;
        } else {
            if (buffer->keyed && (buffer->conn != NULL)) {
                ri_way_worked(buffer->conn->peer, buffer->way);
            }
            ri_pool_send_free(buffer);
        }
    }
}

void ri_pool_send_handle_release(ri_worker_t *worker, ri_conn_t *conn,
                                 const ri_wire_msg_t *msg)
{
    if (conn->peer == NULL) {
        ++worker->counters.rx_stale;
        return;
    }
    ri_pool_send_released(worker, conn->peer->uid, msg->release, msg->value);
}

/* Stock's callback: the data that could not be read has gone out. */
static void pool_send_data_sent(void *request, ucs_status_t status, void *user_data)
{
    ri_pool_buffer_t *buffer = user_data;
    ri_worker_t *worker      = buffer->worker;

    ri_worker_lock(worker);
    ri_stock.request_free(request);
    ri_pool_send_free(buffer);
    ri_worker_unlock(worker);
}

/* Send what is in a buffer by UCP. The send that it belongs to is complete, so if there is
 * no memory it has to be tried again. */
static void pool_send_data(ri_pool_buffer_t *buffer)
{
    ri_worker_t *worker       = buffer->worker;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.send   = pool_send_data_sent,
                                 .user_data = buffer};
    ucp_ep_h ep               = ri_conn_ep(buffer->conn);
    ucs_status_ptr_t ret;
    ucs_status_t status;

    if (ep == NULL) {
        ri_pool_send_free(buffer); /* closed, and there is no other way to the peer */
        return;
    }
    ret    = ri_stock.am_send_nbx(ep, buffer->conn->am_id, &buffer->header,
                                  sizeof(buffer->header), buffer->data, buffer->length,
                                  &param);
    status = UCS_PTR_STATUS(ret);
    if (UCS_PTR_IS_PTR(ret)) {
        return;
    }
    if (((status == UCS_ERR_NO_MEMORY) || (status == UCS_ERR_NO_RESOURCE)) &&
        (buffer->conn != NULL)) {
        ri_pool_set_state(buffer, RI_POOL_UNSENT);
        ucs_list_del(&buffer->list);
        ucs_list_add_tail(&worker->pool.unsent, &buffer->list);
        worker->attention = 1;
    } else {
        ri_pool_send_free(buffer);
    }
}

void ri_pool_send_progress(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->pool.unsent);
    ri_pool_buffer_t *buffer;

    for (; (count > 0) && !ucs_list_is_empty(&worker->pool.unsent); --count) {
        buffer = ucs_list_extract_head(&worker->pool.unsent, ri_pool_buffer_t, list);
        ri_pool_set_state(buffer, RI_POOL_IN_STOCK);
        ucs_list_add_tail(&buffer->conn->lent, &buffer->list);
        pool_send_data(buffer);
    }
}

void ri_pool_send_handle_nack(ri_worker_t *worker, ri_conn_t *conn,
                              const ri_wire_msg_t *msg)
{
    ri_pool_buffer_t *buffer = ri_id_get(&worker->pool.ids, msg->value);

    if ((buffer == NULL) || (buffer->conn != conn) || (buffer->state != RI_POOL_LENT)) {
        ++worker->counters.rx_stale;
        return;
    }

    if (buffer->keyed) {
        ri_way_nacked(conn, buffer->way, msg->flags);
    } else {
        ri_conn_clear_flags(conn, RI_CONN_PLANE_READ);
    }
    if ((conn->peer != NULL) && ri_local_is_gone(conn->peer)) {
        ri_pool_send_free(buffer); /* nobody is left to get it */
        return;
    }
    ri_pool_forget(&worker->pool, buffer); /* a second answer is stale */
    ri_pool_set_state(buffer, RI_POOL_IN_STOCK);
    buffer->header = (ri_wire_base_t){.type = RI_WIRE_RNDV_DATA, .value = msg->recv_id};
    ri_wire_set_id(&buffer->header, conn->remote_id);
    pool_send_data(buffer);
}

static void pool_send_conn_fails(ri_conn_t *conn, int is_first)
{
    ri_pool_buffer_t *buffer, *tmp;

    (void)is_first;
    /* After a RESET the peer reads nothing that it had not matched. What UCP has in hand
     * comes back with its callback, what is being written with the end of that. */
    ucs_list_for_each_safe(buffer, tmp, &conn->lent, list) {
        if (buffer->state == RI_POOL_LENT) {
            ri_pool_send_free(buffer);
        }
    }
    pool_send_drop_unsent(conn);
}

static void pool_send_conn_closes(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;
    ri_pool_buffer_t *buffer;

    pool_send_drop_unsent(conn);
    /* The worker ends: what it has sent may be received later. */
    while (!ucs_list_is_empty(&conn->lent)) {
        buffer       = ucs_list_extract_head(&conn->lent, ri_pool_buffer_t, list);
        buffer->conn = NULL;
        ucs_list_add_tail(&worker->pool.lent, &buffer->list);
    }
}

static unsigned pool_send_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    return ((terms->plane & RI_PLANE_KEYS) &&
            !ri_pool_send_reaches(req->conn, req->data.length)) ?
                   RI_SEND_LACKS_POOL :
                   0;
}

/* Why nothing is known of a receive, of a message that does not wait for one. */
static const char *pool_send_why(const ri_select_param_t *facts)
{
    if ((facts->host_plane != 0) && (facts->length > facts->hybrid_thresh)) {
        return "the receiver is away, as it has said";
    }
    if (ri_config.rtr == UCS_NO) {
        return "RTR is n, and the sender goes on";
    }
    if ((facts->host_plane != 0) && !facts->has_ring) {
        return "no ring for RTRs, the sender goes on";
    }
    return "no receive is known, the sender goes on";
}

const ri_send_proto_t ri_send_proto_pool = {
        .name        = "pool",
        .called      = "hybrid",
        .moves       = "a copy to the pool, read there",
        .moves_net   = "a copy to the pool, read by RDMA",
        .why         = pool_send_why,
        .wire_type   = RI_WIRE_POOL,
        .take        = pool_send_take,
        .start       = pool_send_start,
        .can_end_now = ri_send_always_ends_now,
        RI_SEND_COUNTS(tx_hybrid)};

static int pool_send_conn_is_needed(const ri_conn_t *conn, ri_conn_need_t need)
{
    return (need == RI_CONN_NEED_OPEN) ?
                   pool_send_is_writing(conn) :
           (need == RI_CONN_NEED_MEMORY) ?
                   ri_pool_send_is_under_way(conn) :
                   !ucs_list_is_empty((ucs_list_link_t *)&conn->lent);
}

const ri_module_t ri_module_pool_send = {.name           = "pool_send",
                                         .conn_is_needed = pool_send_conn_is_needed,
                                         .conn_fails     = pool_send_conn_fails,
                                         .conn_closes    = pool_send_conn_closes};
