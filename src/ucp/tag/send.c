/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Facts are gathered, a protocol is chosen, and its steps are taken until one works; then the
 * message has its number and starts.
 */
#include "send.h"
#include "send_host.h"
#include "send_tell.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"
#include "../core/exchange.h"
#include "../core/memory.h"
#include "../core/types/module.h"
#include "../core/send_req.h"
#include "../core/timeline_notes.h"
#include "../in/channel_in.h"
#include "../in/ring_in.h"
#include "../link/control.h"
#include "../link/planes.h"
#include "../link/pool.h"
#include "../link/channel_life.h"
#include "../link/ring_life.h"
#include "../proto/coop/coop_send.h"
#include "../proto/rndv/rndv.h"
#include "../proto/select.h"
#include "../proto/rtr/rtr_known.h"
#include "../rma/posts.h"

/* Messages after which a receiver that has not told its id is asked for it. */
#define SEND_ASK_AFTER 4

void ri_tag_send_return_number(ri_conn_t *conn, uint32_t sn, uint64_t tag,
                               ucs_status_t status)
{
    if (conn->tx_sn == sn) {
        conn->tx_sn  = sn - 1;
        conn->tx_tag = tag;
        if (conn->rtr.table != NULL) {
            ri_rtr_table_reset(conn->rtr.table, sn - 1); /* RTRs may have counted it */
        }
    } else {
        ri_conn_lose(conn, sn, status);
    }
}

/* A message is on its way. */
static void send_count(ri_conn_t *conn, const ri_send_proto_t *proto, size_t length)
{
    ri_conn_counters_t *counters = &conn->counters;

    if (proto->messages != 0) {
        ri_sizes_note(conn->worker->sizes, proto->messages, length);
        ++*(uint64_t *)((char *)counters + proto->messages);
        *(uint64_t *)((char *)counters + proto->bytes) += length;
    }
    counters->tx_bytes += length;
}

static ri_wire_type_t send_wire_type(const ri_send_req_t *req)
{
    if (req->proto->wire_type != 0) {
        return req->proto->wire_type;
    }
    return (req->id != 0) ? RI_WIRE_EAGER_SYNC : RI_WIRE_EAGER;
}

/* Number the message and start its protocol. */
static ucs_status_t send_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    const ri_send_proto_t *proto = req->proto;
    ri_conn_t *conn              = req->conn;
    uint64_t previous_tag        = conn->tx_tag;
    ucs_status_t status;

    req->sn        = ++conn->tx_sn; /* before anything that may send on this conn again */
    req->wire_type = send_wire_type(req);
    ri_rtr_table_log(conn, req->tag, (req->wire_type == RI_WIRE_RTS) ? req->id : 0);
    ri_timeline_send_by(req);
    status = proto->start(req, terms);

    if (UCS_STATUS_IS_ERR(status)) {
        /* If the conn failed meanwhile, it has let go of the request, and a callback may have
         * closed it. */
        if (req->conn == NULL) {
            /* nothing is left to be undone */
        } else if (ri_rtr_known_is_used(terms->rtr)) {
            ri_conn_lose(conn, req->sn, status); /* the receiver counts on it */
        } else {
            ri_tag_send_return_number(conn, req->sn, previous_tag, status);
        }
        return status;
    }

    send_count(conn, proto, req->data.length);
    return status;
}

static int send_can_end_now(const ri_send_req_t *req)
{
    return (req->proto->can_end_now != NULL) && req->proto->can_end_now(req);
}

/* Whether a message leaves half of the pool to those that are not as long. */
static int send_leaves_half(const ri_send_req_t *req)
{
    const ri_pool_t *pool = &req->super.worker->pool;

    return pool->used + ri_pool_class_size(ri_pool_class(req->data.length)) <=
           pool->limit / 2;
}

/* Up to where a message through a network is copied to the pool. What is in too many pieces to be
 * described is copied whoever moves it, and its send is over sooner by the pool than by UCP: it may
 * have what others leave of half the pool. */
static size_t send_hybrid_net(const ri_send_req_t *req, int pieces)
{
    if (pieces || (ri_config.hybrid_net == 0) || !send_leaves_half(req)) {
        return ri_config.hybrid_net;
    }
    return ri_max(ri_config.hybrid_net, req->data.length);
}

/* Up to where a message is copied to the pool for a receiver on this host that neither waits for
 * long messages nor asks for them soon, as it has said; 0: it is not known to be so. What is in
 * short runs is packed whichever protocol moves it. */
static size_t send_hybrid_away(const ri_send_req_t *req)
{
    const ri_peer_t *peer = req->conn->peer;

    if ((req->data.length <= ri_config.hybrid_thresh) || (peer == NULL) ||
        !peer->hint.away || !send_leaves_half(req)) {
        return 0;
    }
    return (ri_dt_is_spread(&req->data) &&
            (ri_dt_run_mean(&req->data) < RI_DT_SHORT_RUN)) ?
                   ri_config.hybrid_away_runs :
                   ri_config.hybrid_away;
}

/* All that the choice depends on. @a rtr: that is for the message, or NULL. */
static ri_select_param_t send_facts(const ri_send_req_t *req, int sync,
                                    const ri_rtr_t *rtr, const ucp_request_param_t *param)
{
    int ends_fast   = !!(param->op_attr_mask &
                       (UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL | UCP_OP_ATTR_FLAG_FAST_CMPL));
    ri_conn_t *conn = req->conn;
    size_t length   = req->data.length;
    int is_long     = (length > ri_config.eager_thresh);
    int has_ring    = (conn->ring != NULL) && !(conn->flags & RI_CONN_NO_RING);
    int has_channel = ri_channel_send_can(conn, length);
    unsigned plane  = ri_planes_host(conn);
    int pieces      = (plane != 0) ? ri_dt_fits(&req->data) : ri_dt_fits_net(&req->data);
    int in_runs     = ri_dt_is_spread(&req->data);
    ri_send_host_t host = ri_send_host_ask(req, has_ring, plane, !ends_fast);

    return (ri_select_param_t){
            .self        = !!(conn->flags & RI_CONN_SELF),
            .sync        = sync,
            .peer_mode   = !!(conn->flags & RI_CONN_PEER_MODE),
            .has_ring    = has_ring,
            .ring_open   = (rtr != NULL) && ri_rndv_is_ring_open(conn),
            .has_channel = has_channel,
            .is_behind   = !ucs_list_is_empty(&conn->pending),
            .polls       = (conn->worker->rings.max > 0),
            .am_ready    = !!(conn->flags & RI_CONN_AM_READY),
            .has_hello   = (conn->remote_id == 0),
            .contig      = ri_dt_is_contig(&req->data),
            .ring_takes  = host.by_ring,
            .host_memory = ri_memory_is_host(req->super.worker, &req->data, param),
            .pieces      = pieces,
            .in_runs     = in_runs,
            .spread      = in_runs && (length >= ri_config.coop_thresh) &&
                      ri_coop_send_try_spread(conn),
            .gathers = (rtr != NULL) && ri_dt_has_long_runs(&req->data),
            .awaited = host.exchanges || ((conn->peer != NULL) && conn->peer->hint.ready),
            .pool_free  = is_long && ri_pool_has(&conn->worker->pool, length),
            .peer_sends = (length >= ri_config.coop_thresh) &&
                          ri_send_host_peer_sends(conn, 0),
            .exchanges     = host.exchanges,
            .alone         = (conn->coop.slots == 0) && !host.several,
            .in_row        = host.several && conn->row.on,
            .crowded       = ri_exchange_is_crowded(conn->worker),
            .slot_free     = 1, /* or it turns out to be lacking */
            .rtr_by_net    = (rtr != NULL) && ri_rtr_ops[rtr->kind]->by_net,
            .rtr_in_runs   = (rtr != NULL) && ri_rtr_table_is_in_runs(rtr),
            .rtr_room      = (rtr != NULL) ? ri_rtr_ops[rtr->kind]->room(req, rtr) : 0,
            .host_plane    = plane,
            .net_plane     = ri_planes_net(conn),
            .scheme        = ri_config.scheme,
            .length        = length,
            .hybrid_thresh = ri_config.hybrid_thresh,
            .hybrid_away   = send_hybrid_away(req),
            .hybrid_net    = send_hybrid_net(req, pieces),
            .coop_thresh   = ri_config.coop_thresh,
            .ring_max      = conn->ring_limits.max,
            .channel_max   = has_channel ? conn->channel->end - 1 : 0,
            .eager_thresh  = ri_config.eager_thresh,
            .am_inline     = ri_config.am_inline};
}

/* A contiguous message that only a quick ring takes relies on what its receiver has said, and so
 * does one that the ring takes for the receiver's slow reads. */
static void send_use_hint(const ri_send_req_t *req, const ri_select_param_t *select)
{
    const ri_conn_t *conn = req->conn;
    ri_peer_t *peer       = conn->peer;

    if (select->ring_takes && select->contig && req->proto->by_ring &&
        (select->length > conn->ring_limits.contig)) {
        if (peer->reads.told && !ri_ring_tx_is_quick(conn->ring)) {
            peer->reads.seen = ri_send_host_next_of_peer(peer);
        } else if (peer->hint.fresh > 0) { /* else the two were likely to meet */
            --peer->hint.fresh;
        }
    }
}

/* Choose a protocol. Nothing is kept for the request yet. */
static void send_choose(ri_send_req_t *req, const ri_select_param_t *select,
                        ri_send_terms_t *terms)
{
    ri_choice_t choice = ri_select(select);

    req->proto   = ri_send_protos[choice.proto];
    terms->plane = choice.plane;
}

/* Get what the chosen protocol needs. If it cannot be had, another one is chosen that does without,
 * and so on: what is lacking only grows. With @a at_once, none that uses the RTR and ends later. */
static void send_take(ri_send_req_t *req, ri_select_param_t *select,
                      ri_send_terms_t *terms, int at_once)
{
    ri_select_now_t now;
    unsigned lacks;

    while ((req->proto->take != NULL) && ((lacks = req->proto->take(req, terms)) != 0)) {
        if (at_once) {
            lacks |= RI_SEND_LACKS_RTR;
        }
        now = (ri_select_now_t){.host_plane    = ri_planes_host(req->conn),
                                .hybrid_packed = send_hybrid_net(req, 0)};
        ri_select_without(select, lacks, &now);
        send_choose(req, select, terms);
    }
}

/* Have an id if the receiver answers. */
static ucs_status_t send_get_id(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_conn_t *conn = req->conn;

    if ((req->proto->answer == RI_SEND_ANSWER_NEVER) ||
        ((req->proto->answer == RI_SEND_ANSWER_IF_SYNC) && !terms->sync)) {
        return UCS_OK;
    }
    req->id = ri_id_alloc(&conn->worker->ids.sends, req);
    if (req->id == 0) {
        if (ri_rtr_known_is_used(terms->rtr)) {
            ri_conn_lose(conn, conn->tx_sn + 1, UCS_ERR_NO_MEMORY);
        }
        return UCS_ERR_NO_MEMORY;
    }
    ri_send_begin_wait(req, RI_SEND_WAIT_MATCH);
    return UCS_OK;
}

/* A message was sent: ask for what those that follow need. The conn may have failed meanwhile, and
 * have let go of the request. */
static void send_ask(ri_conn_t *conn, const ri_send_req_t *req,
                     const ri_send_terms_t *terms)
{
    unsigned asks = req->proto->asks;

    if (ri_unlikely(conn->remote_id == 0) &&
        (terms->sync || (conn->flags & RI_CONN_BY_SOCKADDR))) {
        ri_control_ask(conn); /* UCX has set it up already, or stock would */
    } else if (((asks == RI_SEND_ASKS_ID) || ri_unlikely(conn->remote_id == 0)) &&
               (conn->tx_sn >= SEND_ASK_AFTER)) {
        ri_control_ask_later(conn);
    }
    if ((asks == RI_SEND_ASKS_PLANE) ||
        ((req->data.length > ri_config.eager_thresh) && !(conn->flags & RI_CONN_LONG))) {
        ri_planes_ask(conn);
    }
    if (ri_unlikely(conn->flags & RI_CONN_BEHIND_RMA) &&
        ((conn->ring != NULL) || (conn->channel != NULL))) {
        ri_control_ask_order(conn);
    }
}

/* Where both sides send and receive in turn, an RTR often comes between the message before
 * and this one; and after a computation there are those of all that time. Callbacks may be under
 * way in progress, and rings in the middle of a record. */
static void send_look(ri_conn_t *conn)
{
    ri_stream_t *stream;

    if (conn->worker->progressing || (conn->peer == NULL)) {
        return;
    }
    ucs_list_for_each(stream, &conn->peer->streams, peer_list) {
        ri_ring_in_take_rtrs(stream);
        ri_channel_in_take_rtrs(stream);
    }
}

/* Find the RTR of a message that is about to be sent. @return NULL if there is none, or the message
 * is eager. */
static const ri_rtr_t *send_find_rtr(const ri_send_req_t *req)
{
    ri_conn_t *conn     = req->conn;
    const ri_rtr_t *rtr = ri_rtr_known_find(conn, req->tag, req->data.length);

    if ((rtr == NULL) && (conn->rtr.table != NULL) &&
        (req->data.length > ri_config.eager_thresh)) {
        send_look(conn);
        rtr = ri_rtr_known_find(conn, req->tag, req->data.length);
    }
    return rtr;
}

static ucs_status_t send_choose_and_start(ri_send_req_t *req, int sync,
                                          const ucp_request_param_t *param)
{
    ri_conn_t *conn          = req->conn;
    const ri_rtr_t *waiting  = send_find_rtr(req);
    ri_select_param_t select = send_facts(req, sync, waiting, param);
    int early                = ri_select_is_early(&select);
    int at_once              = !!(param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);
    ri_send_terms_t terms    = {.param = param, .rtr = NULL, .sync = sync};
    ucs_status_t status;
    ri_rtr_t rtr;

    req->exchanges = select.exchanges && !select.crowded;
    if (early) {
        rtr       = *waiting; /* it leaves the table when the message has its number */
        terms.rtr = &rtr;
    }
    if ((req->data.length > ri_config.eager_thresh) && !select.ring_takes) {
        select.rtr_expected = ri_rtr_known_is_expected(conn, early);
    }
    send_choose(req, &select, &terms);
    if (at_once && (sync || !send_can_end_now(req))) {
        return UCS_ERR_NO_RESOURCE;
    }

    if (req->proto->unnumbered) {
        conn->counters.tx_sync += sync;
        ri_timeline_send_by(req);
        return req->proto->start(req, &terms);
    }

    send_take(req, &select, &terms, at_once);
    if (at_once && !send_can_end_now(req)) {
        return UCS_ERR_NO_RESOURCE;
    }
    status = send_get_id(req, &terms);
    if (status != UCS_OK) {
        return status;
    }
    send_use_hint(req, &select);
    if (ri_unlikely(ri_log_level >= RI_LOG_LEVEL_INFO)) {
        ri_send_tell(req, &select, terms.plane);
    }

    if (ri_unlikely(conn->flags & RI_CONN_UNTOLD) &&
        ((req->proto->tells_itself == NULL) || !req->proto->tells_itself(&terms))) {
        RI_MODULES_TELL(conn_tells, conn);
    }
    status = send_start(req, &terms);
    if (UCS_STATUS_IS_ERR(status)) {
        return status; /* the conn may be gone */
    }
    conn->counters.tx_sync += sync;
    send_ask(conn, req, &terms);
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
    ri_posts_settle(conn);
    req = (ri_send_req_t *)ri_req_get(worker, param, RI_REQ_SEND);
    if (req == NULL) {
        return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    }

    status = ri_dt_send_init(&req->data, RI_SEND_PARAM_DATATYPE(param), buffer, count);
    if (ri_unlikely(status != UCS_OK)) {
        ri_req_drop(&req->super);
        return UCS_STATUS_PTR(status);
    }

    ri_memory_note_generic(worker, &req->data, param);
    ri_send_req_init(req, conn, tag);
    ri_trace(&worker->trace, RI_TRACE_SEND, tag, req->data.length);
    ri_timeline_call_begins(worker);
    ri_timeline_send(req);
    status = send_choose_and_start(req, sync, param);
    ri_timeline_call_ends(worker);
    if (status == UCS_INPROGRESS) {
        ri_req_set_send_cb(&req->super, param);
        return ri_req_handle(&req->super);
    }

    ri_timeline_send_end(req, status);
    ri_send_forget(req);
    ri_dt_finish(&req->data);
    if (UCS_STATUS_IS_ERR(status)) {
        ri_req_drop(&req->super);
        return UCS_STATUS_PTR(status);
    }
    return ri_req_done_send(&req->super, param, status);
}
