/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A quick ring is asked first, then whether there is an exchange, then rings that take a message
 * for another reason. What a ring has no room for goes another way.
 */
#include "send_host.h"
#include "../../ucs/settings.h"
#include "../core/activity.h"
#include "../core/exchange.h"
#include "../core/row.h"
#include "../core/send_req.h"
#include "../in/ring_in.h"
#include "../link/planes.h"
#include "../link/ring_life.h"

int ri_send_host_peer_sends(const ri_conn_t *conn, int is_long)
{
    const ri_stream_t *stream;

    if (conn->peer == NULL) {
        return 0;
    }
    ucs_list_for_each(stream, &conn->peer->streams, peer_list) {
        if (is_long ? ri_ring_in_has_long_message(stream) :
                      ri_ring_in_has_message(stream)) {
            return 1;
        }
    }
    return 0;
}

/* Up to where a ring takes a contiguous message for a receiver that reads slowly. Of messages that
 * are likely to meet the peer's, as a receive is posted and as many long ones come from there, it
 * takes shorter ones: each process has a copy of its own to make. */
static size_t send_host_slow_max(const ri_conn_t *conn)
{
    size_t most = conn->ring_limits.slow;

    if ((conn->peer == NULL) || !conn->peer->reads.told) {
        return 0;
    }
    return ((conn->worker->match.num_posted > 0) && ri_row_is_mutual(conn->peer)) ?
                   most / RI_EXCHANGE_RING_PARTS :
                   most;
}

/* Whether a message can be taken for one of an exchange. A send of which UCX is to make an end
 * fast, as of a blocking one of Open MPI, may have to end before the application posts a receive:
 * as many messages have to come from the peer as go there. What a ring takes for slow reads ends
 * sooner by it. */
static int send_host_may_exchange(const ri_send_req_t *req, int may_wait)
{
    const ri_conn_t *conn = req->conn;

    return may_wait || ((conn->peer != NULL) && ri_row_is_mutual(conn->peer) &&
                        (req->data.length > send_host_slow_max(conn)));
}

/* Whether a long message is one of an exchange within a host, of a kind that one side can copy. A
 * send without a receive posted may have to end before the application posts one. */
static int send_host_exchanges(const ri_send_req_t *req, unsigned host_plane)
{
    ri_conn_t *conn = req->conn;

    return (host_plane & RI_PLANE_READ) && !(conn->flags & RI_CONN_PEER_MODE) &&
           (conn->worker->match.num_posted > 0) &&
           ri_exchange_is_on(conn, req->data.length, ri_send_host_peer_sends(conn, 1));
}

uint32_t ri_send_host_next_of_peer(ri_peer_t *peer)
{
    return ucs_list_is_empty(&peer->streams) ?
                   0 :
                   ucs_list_head(&peer->streams, ri_stream_t, peer_list)->next_sn;
}

/* Whether this process runs ahead of the peer, which may have earlier messages to take: an earlier
 * send has not ended, or the peer has sent nothing since the ring took one for its slow reads. Then
 * the time counts that the peer needs for each, and its reads take less than two copies do. */
static int send_host_is_ahead(const ri_send_req_t *req)
{
    ri_peer_t *peer = req->conn->peer;

    return (req->conn->sends.next != &req->list) ||
           (ri_send_host_next_of_peer(peer) == peer->reads.seen);
}

/* Up to where a ring takes a contiguous message that is not for a quick one. Where the receiver
 * reads slowly it takes longer ones, but now and then one is announced, to see whether that is
 * still so. */
static size_t send_host_ring_max(const ri_send_req_t *req)
{
    ri_conn_t *conn = req->conn;
    size_t slow     = send_host_slow_max(conn);

    if ((req->data.length <= conn->ring_limits.contig) || (req->data.length > slow) ||
        send_host_is_ahead(req) || (++conn->peer->reads.turn % RI_PEER_SLOW_PROBE == 0)) {
        return conn->ring_limits.contig;
    }
    return slow;
}

/* Whether the ring has room for all of a message, and nothing waits for room there before it. */
static int send_host_fits(const ri_send_req_t *req)
{
    ri_conn_t *conn = req->conn;

    return ucs_list_is_empty(&conn->pending) &&
           ri_ring_tx_has_room(conn->ring, req->data.length);
}

/* Whether a message is likely to meet one of the peer's on its way, and the ring has room for all
 * of it: as many long ones come from there, this process has receives posted, and of what is sent
 * there it is the only one since the peer's latest message. The peer is about to wait for it then,
 * even if the latest ones were there before it could: a peer that reads each of them slowly is
 * always late, and would be sent what it reads slowly for ever. */
static int send_host_meets(const ri_send_req_t *req)
{
    ri_conn_t *conn = req->conn;

    return (conn->worker->match.num_posted > 0) && (conn->sends.next == &req->list) &&
           (conn->peer != NULL) && ri_row_is_mutual(conn->peer) &&
           (ri_send_host_next_of_peer(conn->peer) != conn->peer->row.met) &&
           send_host_fits(req);
}

/* Whether a message above EAGER_THRESH is one for a quick ring, and this conn has one. Above what
 * other rings take, its receiver has to wait for long messages, as it has said not long ago, or is
 * likely to (@a meets): else it would keep a copy. */
static int send_host_is_for_quick_ring(const ri_send_req_t *req, int meets)
{
    ri_conn_t *conn = req->conn;

    if (req->data.length > conn->ring_limits.contig_quick) {
        return 0;
    }
    if (!ri_quick_is(&conn->ring->quick)) {
        ri_quick_pass_by(&conn->ring->quick);
    }
    if (!ri_ring_tx_is_quick(conn->ring)) {
        return 0;
    }
    return meets || (req->data.length <= conn->ring_limits.contig) ||
           ((conn->peer != NULL) && conn->peer->hint.ready &&
            (conn->peer->hint.fresh > 0));
}

/* Whether the ring is to take a message, as for its room. Where there is none, it would wait for
 * this worker's progress, and other ways are better, unless that comes at once: as it did of late,
 * or as both sides send, and so are about to receive. */
static int send_host_has_room(const ri_send_req_t *req)
{
    ri_conn_t *conn = req->conn;

    if (send_host_fits(req)) {
        return 1;
    }
    ri_activity_note_full(conn->worker);
    return ri_activity_is_prompt(conn->worker) || ri_send_host_peer_sends(conn, 0);
}

/* A contiguous message in a row goes through a quick ring only: another one would hold up those
 * behind it. */
static void send_host_contig(const ri_send_req_t *req, unsigned host_plane, int may_wait,
                             ri_send_host_t *host)
{
    ri_conn_t *conn    = req->conn;
    size_t length      = req->data.length;
    int meets          = send_host_meets(req);
    int is_quick       = send_host_is_for_quick_ring(req, meets);
    int beats_exchange = is_quick &&
                         (meets || (length <= conn->ring_limits.contig_quick /
                                                      RI_EXCHANGE_RING_PARTS));
    int has_room = beats_exchange && send_host_has_room(req);

    host->exchanges = !has_room && send_host_may_exchange(req, may_wait) &&
                      send_host_exchanges(req, host_plane);
    if (!beats_exchange && !host->exchanges &&
        (is_quick || (!host->several && (length <= send_host_ring_max(req))))) {
        has_room = send_host_has_room(req);
    }
    host->by_ring = has_room;
    if (meets && host->by_ring) {
        conn->peer->row.met = ri_send_host_next_of_peer(conn->peer);
    }
}

ri_send_host_t ri_send_host_ask(const ri_send_req_t *req, int has_ring,
                                unsigned host_plane, int may_wait)
{
    ri_conn_t *conn     = req->conn;
    ri_send_host_t host = {0};

    if (!has_ring || (req->data.length <= ri_config.eager_thresh)) {
        return host;
    }
    if (conn->peer != NULL) {
        ri_row_note_send(conn->peer);
        host.several = may_wait && (host_plane != 0) && ri_row_ask(req);
    }
    if (ri_dt_is_contig(&req->data)) {
        send_host_contig(req, host_plane, may_wait, &host);
    } else if (ri_dt_is_spread(&req->data)) {
        host.by_ring = (req->data.length <= conn->ring_limits.runs) &&
                       send_host_has_room(req);
    }
    return host;
}
