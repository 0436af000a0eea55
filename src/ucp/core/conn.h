/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections. What one side sends on an endpoint is a conn there, and a stream at the
 * other side; the two directions of a pair of workers are independent of each other and
 * need not use the same pair of endpoints. A peer ties together what leads to, and comes
 * from, one remote worker: anything addressed to a conn or stream of that worker may
 * travel by any of its peer's conns. (protocol.md section 5)
 */
#ifndef RI_CONN_H
#define RI_CONN_H

#include "counters.h"
#include "peer.h"
#include "request.h"
#include "stream.h"
#include "../../ucs/handle_map.h"
#include "../../ucs/log.h"
#include "../../uct/shm/ring.h"
#include "../proto/rtr/rtr_table.h"
#include "../wire/wire.h"

enum {
    RI_CONN_SELF        = 1 << 0, /* leads to the own worker, and the processor may copy.
                                   (With other memory than the host's, the own worker is
                                   a peer like any other.) */
    RI_CONN_USER        = 1 << 1, /* the application has the endpoint */
    RI_CONN_NO_PEER     = 1 << 2, /* the peer runs without this library: tag sends fail */
    RI_CONN_VERSION     = 1 << 3, /* ... or with another wire version */
    RI_CONN_LOST        = 1 << 4, /* failed because lost_sn was not sent; the endpoint
                                   itself works */
    RI_CONN_ASKED       = 1 << 5, /* CONN_REQ was sent */
    RI_CONN_CLOSING     = 1 << 6, /* the application closed it; draining */
    RI_CONN_PEER_MODE   = 1 << 7, /* error handling mode PEER: sending to a peer that is
                                   gone is safe */
    RI_CONN_RING_STOP   = 1 << 8, /* the peer wants its ring back */
    RI_CONN_BY_SOCKADDR = 1 << 9, /* nothing about the peer is known from an address */
    RI_CONN_BEHIND_RMA  = 1 << 10,  /* messages must not overtake one-sided operations */
    RI_CONN_ORDER_ASKED = 1 << 11,  /* ORDER_REQ is under way */
    RI_CONN_AM_READY    = 1 << 12,  /* active messages of any size go out at once */
    RI_CONN_BYE         = 1 << 13,  /* BYE was said */
    RI_CONN_PLANE_WANTED = 1 << 14, /* ask for a plane when the peer is known */
    RI_CONN_PLANE_ASKED  = 1 << 15, /* PLANE_REQ was sent, of this host */
    RI_CONN_PLANE_READ   = 1 << 16, /* the peer can read this process's memory */
    RI_CONN_PLANE_WRITE = 1 << 17, /* this process can write the peer's: peer->plane_ep */
    RI_CONN_PLANE_REFUSED = 1 << 18, /* the peer cannot, as it has said */
    RI_CONN_RDMA_ASKED   = 1 << 19, /* PLANE_REQ was sent, of a plane through a network */
    RI_CONN_RDMA         = 1 << 20, /* both sides have connected that */
    RI_CONN_LONG         = 1 << 21, /* has sent a long message */
    RI_CONN_PLANE_TOLD   = 1 << 22, /* ... and that it can write */
    RI_CONN_CLOSING_TOLD = 1 << 23, /* CLOSING was said, or nobody is there to hear it */
    RI_CONN_LEFT =
            1 << 24 /* its endpoint is closed: it is there for what the peer has not
                              received yet (run/close.h) */
};

/* What becomes of an operation that has ended here. */
typedef enum ri_rma_kind {
    RI_RMA_GET, /* get, fetch: it is over */
    RI_RMA_PUT, /* put, post: it may be under way to its target */
    RI_RMA_KINDS
} ri_rma_kind_t;

/* Writes by RTRs that came by message which go on, and of which the receiver has not been told
 * yet, by number. */
typedef struct ri_untold {
    unsigned count;
    struct {
        uint32_t sn;
        uint32_t rtr; /* ri_wire_used_rtr() */
    } write[RI_WIRE_RTR_SLOTS];
} ri_untold_t;

/* What has become of RTRs that came by message, by slot: the latest of each. */
typedef struct ri_rtr_words {
    ucs_list_link_t list; /* in peer->rtr_words, when the conn is closed */
    uint32_t conn_id;
    ri_ring_grant_t word[RI_WIRE_RTR_SLOTS];
} ri_rtr_words_t;

/*
 * A way out: one per endpoint.
 *
 * How its remote id comes about: 0 until CONN_ACK; until then every message carries a
 * hello. How its ring comes about: NULL until RING_OFFER was accepted; goes back to NULL
 * by RING_STOP or close, and may be offered again.
 */
struct ri_conn {
    ucp_ep_h ep; /* NULL: it is LEFT */
    ri_worker_t *worker;
    ri_peer_t *peer;           /* NULL while the remote worker is not known */
    ri_ring_tx_t *ring;        /* NULL: none */
    unsigned ring_asks;        /* for one, since the latest was there */
    unsigned ring_asks_left;   /* until it is asked for really, once more */
    ri_channel_out_t *channel; /* through a network; NULL: none */
    size_t channel_end; /* shorter contiguous messages may try it; kept by link/rdma_channel.c */
    ri_rtr_table_t *rtrs;      /* of the receiver; NULL: none are taken */
    ri_rtr_words_t *rtr_words; /* of RTRs by message; NULL: none are taken */
    ri_untold_t *untold;       /* likewise: of writes by these; NULL as well */
    uint8_t (*rtr_targets)[RI_PLANE_TARGET_SIZE]; /* likewise; NULL: none came yet */
    size_t fast_max;              /* shorter contiguous messages may take the fast path;
                                        kept by ri_conn_update_fast() */
    size_t ring_max;              /* longest payload that may go through the ring */
    uint32_t flags;               /* RI_CONN_* */
    uint32_t tx_sn;               /* of the latest message; the first is 1 */
    uint32_t release;             /* a pool buffer of the peer's that the next message in
                                     the ring gives back, or 0 */
    uint32_t lost_sn;             /* with RI_CONN_LOST: the number that never comes */
    uint64_t tx_tag;              /* of the latest message */
    ucs_list_link_t pending;      /* sends that wait for room in the ring, in order */
    ucs_list_link_t pending_link; /* in worker->pending_conns; self-linked if not */
    ucs_list_link_t sends;        /* all unfinished sends */
    uint32_t id;                  /* by which peers address it */
    uint32_t am_id;               /* that the peer takes active messages by */
    uint32_t remote_id;           /* of its stream at the receiver, 0: not yet known */
    ucs_status_t status;          /* UCS_OK, or why it failed */
    ri_ring_tx_t ring_memory;     /* what ring points to */
    uint32_t release_conn;        /* the peer's conn that release belongs to */
    ucs_list_link_t lent;         /* pool buffers with messages that the peer may read */
    ucs_list_link_t late_link;    /* in worker->late_conns; self-linked if not */
    uint32_t coop_slots;          /* bits: slots of the ring that sends have */
    uint32_t coop_unread; /* likewise: that were complete before their RTS was read */
    uint32_t rma_count;   /* one-sided operations started by the application */
    int rma_unknown;      /* with BEHIND_RMA: the end of one of them is not seen */
    uint64_t rma_put;     /* the latest one that changes the target, of worker->rma.seq */
    uint64_t rma_flushed; /* of worker->rma.seq: all up to here are carried out */
    ucs_list_link_t rma_ops[RI_RMA_KINDS]; /* those that have not ended here */
    ucs_list_link_t rma_behind;            /* in worker->rma.behind; self-linked if not */
    uint32_t serial;                       /* among all conns that the worker ever had */
    ucs_list_link_t asking_link; /* in worker->asking, or to_ask; self-linked if not */
    double asked;                /* how long it is asking, in seconds */
    double checked_at;           /* when that was last added to */
    ucp_err_handler_cb_t err_cb; /* the application's, or NULL */
    void *err_arg;               /* its argument */
    ucs_list_link_t list;        /* in worker->conns */
    ucs_list_link_t peer_list;   /* in peer->conns, if peer is set */
    ri_rtr_grants_t *grants;     /* in the ring, see proto/rtr/rtr.h; NULL: none yet */
    ri_conn_counters_t counters;
};

/* While any of these is set, messages do not go through the ring or channel. */
#define RI_CONN_NO_RING (RI_CONN_RING_STOP | RI_CONN_BEHIND_RMA)

/** A one-sided operation of the application is under way on the endpoint, and nobody tells
 * when it ends: messages must not overtake it until the peer has confirmed that. (rma.h) */
void ri_conn_note_rma(ri_conn_t *conn);

/**
 * To be called after any change of what the fast path of sends relies on: the ring, the
 * sends that wait for it, flags, status, and the remote id.
 */
void ri_conn_update_fast(ri_conn_t *conn);

/* All endpoints of all workers of this process. */
extern ri_map_t ri_conn_map;

/** @return Whether what was sent on a conn is still received, and answered: it works, or has failed
 * by a lost number only. */
static inline int ri_conn_goes_on(const ri_conn_t *conn)
{
    return (conn->status == UCS_OK) || (conn->flags & RI_CONN_LOST);
}

/** @return The endpoint that leads to the stream of a conn: its own or, if the application has
 * closed that, any other one to the same peer; NULL if there is none. */
static inline ucp_ep_h ri_conn_ep(const ri_conn_t *conn)
{
    const ri_conn_t *other;

    if (ri_likely(!(conn->flags & RI_CONN_LEFT))) {
        return conn->ep;
    }
    other = (conn->peer != NULL) ? ri_peer_way_out(conn->peer) : NULL;
    return (other != NULL) ? other->ep : NULL;
}

/** @return The conn of an endpoint, or NULL if this library does not serve it. */
static inline ri_conn_t *ri_conn_find(ucp_ep_h ep)
{
    return (ri_conn_t *)ri_map_get_ptr(&ri_conn_map, ep);
}

/**
 * Make the conn of a new endpoint, or find the one that an earlier reply made.
 *
 * @param remote     What is known of the remote worker.
 * @param address_status  What ri_wire_address_parse said of the peer's address.
 * @param flags      RI_CONN_*.
 */
ucs_status_t ri_conn_create(ri_worker_t *worker, ucp_ep_h ep,
                            const ri_wire_worker_t *remote, ucs_status_t address_status,
                            uint32_t flags, ri_conn_t **conn_p);

/** Let progress see to a conn whose ring has no room, or is to be closed. */
void ri_conn_queue_pending(ri_conn_t *conn);

/** It need not any more. */
void ri_conn_dequeue_pending(ri_conn_t *conn);

/** Free a conn. Its unfinished sends end with @a status. */
void ri_conn_destroy(ri_conn_t *conn, ucs_status_t status);

/** The conn cannot go on: end everything that is under way on it with @a status, also what a
 * lost number had left. */
void ri_conn_fail(ri_conn_t *conn, ucs_status_t status);

/** Call the application's error handler: once, and not if the endpoint of conn @a id is
 * closed by now, as a callback of what ended before may have done. */
void ri_conn_tell_failure(ri_worker_t *worker, uint32_t id, ucs_status_t status);

/** Number @a sn was not sent as a whole, and cannot be taken back: the conn fails. Sends with
 * earlier numbers go on, as the peer receives them, and may be reading their memory. Then
 * the stream is told to end before the lost number. */
void ri_conn_lose(ri_conn_t *conn, uint32_t sn, ucs_status_t status);

/** Tell the stream of a conn that lost a number, if its id is known by now and all sends before it
 * have ended. */
void ri_conn_say_lost(ri_conn_t *conn);

/** Answer RESET: nothing comes from the conn any more, neither messages nor writes. */
void ri_conn_say_over(ri_conn_t *conn);

/** Stock reports that the endpoint failed. Endpoints to the same peer that only stock has
 * are likely to fail, too: stock frees them then and tells nobody, so they are given up.
 * Then the application is told. */
void ri_conn_endpoint_failed(ri_conn_t *conn, ucs_status_t status);

/** Tie a conn to the worker that it turned out to lead to. */
ucs_status_t ri_conn_set_peer(ri_conn_t *conn, const ri_wire_worker_t *remote);

/** The conn has sent CONN_REQ: if the peer may be one that never answers, wait for it with
 * a time-out. */
void ri_conn_start_timeout(ri_conn_t *conn);

/** The peer has answered, or none is waited for any more: it is not to ask either. */
void ri_conn_stop_timeout(ri_conn_t *conn);

/** Check conns that wait for an answer against the time-out. */
void ri_conn_check_timeouts(ri_worker_t *worker);

/**
 * Say in one line why tag messages to a peer cannot work, and what to set; once per process
 * and cause. An error, as a job hardly goes on after that.
 *
 * @param why    UCS_ERR_NO_ELEM or UCS_ERR_UNSUPPORTED, as ri_wire_address_parse said;
 *               UCS_ERR_TIMED_OUT: it does not answer. Any other: there is nothing to say.
 */
void ri_conn_report_unusable(ucs_status_t why);

#endif
