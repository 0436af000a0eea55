/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The structure of a conn, the sender's side of one direction (conn.h).
 */
#ifndef RI_CONN_TYPES_H
#define RI_CONN_TYPES_H

#include "types.h"
#include "../notes/counters.h"
#include "rma_types.h"
#include "rtr_types.h"
#include "../../../uct/api/plane.h"
#include "../../../uct/shm/shelf.h"

/* Flags of a conn (ri_conn_t.flags). */
enum {
    RI_CONN_SELF    = 1 << 0, /* leads to the own worker, and the processor may copy.
                                   (With other memory than the host's, the own worker is
                                   a peer like any other.) */
    RI_CONN_USER    = 1 << 1, /* the application has the endpoint */
    RI_CONN_NO_PEER = 1 << 2, /* the peer runs without this library: tag sends fail */
    /* the peer runs with another wire version: tag sends fail */
    RI_CONN_VERSION      = 1 << 3,
    RI_CONN_LOST         = 1 << 4,  /* failed because end_sn was not sent; the endpoint
                                   itself works */
    RI_CONN_ASKED        = 1 << 5,  /* CONN_REQ was sent */
    RI_CONN_CLOSING      = 1 << 6,  /* the application closed it; draining */
    RI_CONN_PEER_MODE    = 1 << 7,  /* error handling mode PEER: sending to a peer that is
                                   gone is safe */
    RI_CONN_RING_STOP    = 1 << 8,  /* the peer wants its ring back */
    RI_CONN_BY_SOCKADDR  = 1 << 9,  /* nothing about the peer is known from an address */
    RI_CONN_BEHIND_RMA   = 1 << 10, /* messages must not overtake one-sided operations */
    RI_CONN_ORDER_ASKED  = 1 << 11, /* ORDER_REQ is under way */
    RI_CONN_AM_READY     = 1 << 12, /* active messages of any size go out at once */
    RI_CONN_BYE          = 1 << 13, /* BYE was said */
    RI_CONN_PLANE_WANTED = 1 << 14, /* ask for a plane when the peer is known */
    RI_CONN_PLANE_ASKED  = 1 << 15, /* PLANE_REQ was sent, of this host */
    RI_CONN_PLANE_READ   = 1 << 16, /* the peer can read this process's memory */
    /* this process can write the peer's memory: peer->local.ep */
    RI_CONN_PLANE_WRITE   = 1 << 17,
    RI_CONN_PLANE_REFUSED = 1 << 18, /* the peer cannot read, as it has said */
    RI_CONN_WAY_ASKED = 1 << 19, /* PLANE_REQ was sent, of a plane through a network */
    RI_CONN_WAY       = 1 << 20, /* both sides have connected a way through a network */
    RI_CONN_LONG      = 1 << 21, /* has sent a message above EAGER_THRESH */
    /* PLANE_REQ has told the peer that this process can write */
    RI_CONN_PLANE_TOLD   = 1 << 22,
    RI_CONN_CLOSING_TOLD = 1 << 23, /* CLOSING was said, or need not be */
    /* its endpoint is closed: it is there for what the peer has not received yet (run/close.h) */
    RI_CONN_LEFT = 1 << 24,
    /* something has to be said before most messages, see conn_tells in module.h */
    RI_CONN_UNTOLD = 1 << 25,
    /* with BEHIND_RMA: a fence keeps later one-sided operations behind those that UCX may still be
     * at */
    RI_CONN_FENCED = 1 << 26,
    /* puts by mail may not be over: messages settle them first */
    RI_CONN_POSTED = 1 << 27,
    /* being closed over TCP: both sides say that they close (run/close.h) */
    RI_CONN_TELLS = 1 << 28
};

/* While one of the two flags is set, messages do not go through the ring or channel. */
#define RI_CONN_NO_RING (RI_CONN_RING_STOP | RI_CONN_BEHIND_RMA)

/*
 * The flags that tell where a conn is in its life, together with its status. Legal changes, which
 * ri_conn_set_life() asserts; each is a step of its own:
 *
 *   set CLOSING            the application has closed it: not if it is LEFT
 *   set LEFT and CLOSING   its endpoint is closed before all was received: not if it is LEFT
 *   set LOST               a number is lost, or the peer has sent RESET and cannot be answered yet:
 *                          while the status is UCS_OK
 *   set BYE                the peer is told that nothing follows: if the status is UCS_OK, or LOST
 *   clear LOST             its endpoint or its peer is gone, or the peer has sent RESET: the status
 *                          is an error from then on
 *
 * CLOSING, LEFT and BYE stay set. The status changes once, from UCS_OK to why the conn failed: at
 * once after LOST is set, or without it.
 *
 *   status   LOST   what was sent
 *   UCS_OK   no     is received, and more may be sent
 *   error    yes    is received up to the number before end_sn
 *   error    no     is not waited for any more
 */
#define RI_CONN_LIFE (RI_CONN_CLOSING | RI_CONN_LEFT | RI_CONN_LOST | RI_CONN_BYE)

/*
 * The other flags: what the two sides have asked and told each other. ri_conn_set_flags() and
 * ri_conn_clear_flags() change them, and assert that a flag is set only while those that it needs
 * are, and cleared only while none needs it:
 *
 *   flag            needs          is cleared
 *   ASKED                          never
 *   PLANE_WANTED                   when the peer is known
 *   PLANE_ASKED                    never
 *   PLANE_READ      PLANE_ASKED    a read has failed at the peer
 *   PLANE_REFUSED   PLANE_ASKED    never
 *   PLANE_WRITE     PLANE_ASKED    a write has failed
 *   PLANE_TOLD      PLANE_ASKED    never
 *   LONG                           never
 *   WAY_ASKED                      the way is no more, or another one is to be asked for
 *   WAY             WAY_ASKED      with WAY_ASKED
 *   BEHIND_RMA                     nothing is left that messages could overtake
 *   FENCED          BEHIND_RMA     with BEHIND_RMA
 *   ORDER_ASKED                    ORDER_ACK has come
 *   CLOSING_TOLD, TELLS            never
 *   AM_READY                       never
 *   UNTOLD, POSTED                 what was to be said, or settled, is
 *
 * RING_STOP is a part of the state of the ring, which link/ring_life.c changes. The flags that say
 * what a conn is (SELF, USER, NO_PEER, VERSION, PEER_MODE, BY_SOCKADDR) are set when it is made, or
 * handed to the application.
 */

/*
 * The sender's side of one direction: one per endpoint.
 *
 * How its remote id comes about: 0 until CONN_ACK; until then every message carries a
 * hello. How its ring comes about: NULL until RING_OFFER was accepted; goes back to NULL
 * by RING_STOP or close, and may be offered again.
 */
struct ri_conn {
    ucp_ep_h ep; /* NULL: it is LEFT */
    ri_worker_t *worker;
    ri_peer_t *peer;    /* NULL while the remote worker is not known */
    ri_ring_tx_t *ring; /* NULL: none */

    /* How often the receiver was asked for a ring (ri_ring_life_ask()). */
    struct {
        unsigned count; /* messages RING_REQ since the latest ring was there */
        unsigned left;  /* calls to go until the next RING_REQ is sent */
    } ring_asks;

    ri_channel_out_t *channel; /* through a network; NULL: none */
    /* shorter contiguous messages may try the channel; kept by link/channel_out.c */
    size_t channel_end;

    size_t fast_max; /* shorter contiguous messages may take the fast path; kept by
                        ri_conn_update_fast() */

    /* Longest payloads that go through the ring (link/ring_life.h). */
    struct {
        size_t max;    /* of any data; it waits for room if need be */
        size_t contig; /* of contiguous data that goes there rather than by a plane */
        /* of contiguous data, while the ring is quick (quick.h); 0: contig holds then, too */
        size_t contig_quick;
        size_t runs; /* of data in runs that are known */
        size_t slow; /* of contiguous data, while the receiver reads slowly */
    } ring_limits;

    /* RI_CONN_*; those of RI_CONN_LIFE are changed by ri_conn_set_life() */
    uint32_t flags;
    uint32_t tx_sn;  /* number of the latest message; the first one has 1 */
    uint64_t tx_tag; /* tag of the latest message */
    /* worker->rings.clock when the fast path last sent by the ring, so that rows of messages are
     * seen (tag/send_fast.c) */
    uint64_t tx_clock;
    /* ri_clock_ticks() when the fast path last sent a message that may go in parts */
    uint64_t tx_ticks;

    /* A buffer of the peer's pool that the next message in the ring releases. */
    struct {
        uint32_t id;      /* 0: there is none */
        uint32_t conn_id; /* the peer's conn that it belongs to */
    } release;

    /* Receives of the peer that are offered (proto/rtr). */
    struct {
        ri_rtr_table_t *table; /* RTRs that have come; NULL: none are taken */
        ri_rtr_words_t *words; /* of RTRs through a network; NULL: none are taken */
        /* writes by RTRs through a network that go on; NULL if words is NULL */
        ri_untold_t *untold;
        uint8_t (*targets)
                [RI_PLANE_TARGET_SIZE]; /* of RTRs by datagrams; NULL: none came yet */
        /* of RTRs through a network, by entry; NULL: none came yet */
        ri_wire_grid_t *grids;
        /* that RTRs through a network name; NULL: none yet */
        ri_layouts_in_t *net_layouts_in;
        ri_rtr_grants_t *grants; /* in the ring, see proto/rtr/rtr.h; NULL: none yet */
        /* that RTRs in the ring name; NULL: none yet */
        ri_layouts_out_t *ring_layouts_out;
        ucs_list_link_t late_link; /* in worker->rtr.late_conns; self-linked if not */
    } rtr;

    /* Events of the conn that were logged (core/tell.h). */
    struct {
        /* protocols whose first use was logged, a bit each (tag/send_tell.h) */
        uint32_t protocols : 31;
        uint32_t ring : 1; /* the first ring was logged (link/ring_life.c) */
    } told;
    uint32_t end_sn; /* the first number that never comes: with RI_CONN_LOST, or by BYE */
    ucs_list_link_t pending;      /* sends that wait for room in the ring, in order */
    ucs_list_link_t pending_link; /* in worker->pending_conns; self-linked if not */
    ucs_list_link_t sends;        /* all unfinished sends */
    uint32_t id;                  /* by which peers address it */
    uint32_t am_id;               /* that the peer takes active messages by */
    uint32_t remote_id;           /* of its stream at the receiver, 0: not yet known */
    ucs_status_t status;          /* UCS_OK, or why it failed; see RI_CONN_LIFE */
    ri_ring_tx_t ring_tx;         /* what ring points to */
    ucs_list_link_t lent;         /* pool buffers with messages that the peer may read */

    /* Slots of the ring, for messages that both sides copy; a bit each. */
    struct {
        uint64_t slots; /* slots that sends have */
        /* slots of sends that were complete before their RTS was read */
        uint64_t unread;
        ri_shelf_tx_t shelf; /* of the ring; open if the receiver has made one */
        uint32_t hinted;     /* the latest message whose slot had a hint */
        int shelf_used;      /* parts of the latest message have gone by it */
        unsigned refused;    /* how often data in runs could not go by it of late */
        unsigned untried;    /* sends of data in runs that were not tried for that */
    } coop;

    /* Long messages within the host that are sent one behind the other (core/row.h). */
    struct {
        uint32_t length; /* messages of the row up to now */
        uint32_t last;   /* of the row before */
        int on;          /* the latest message is one of a row that both sides can copy */
    } row;

    /* State for its close (run/close.h). */
    struct {
        uint64_t seen; /* how far the peer was at `since`; 0: it was not looked at */
        double since;  /* of worker->closes.attended */
    } close;

    /* One-sided operations of the application (core/rma_order.h). */
    struct {
        uint32_t count; /* operations that stock was asked for, modulo 2^32 */
        int unknown;    /* with BEHIND_RMA: the end of an operation is not seen */
        /* number of the latest operation that changes the target, of worker->rma.seq */
        uint64_t put;
        uint64_t flushed; /* of worker->rma.seq: all up to here are carried out */
        ucs_list_link_t ops[RI_RMA_KINDS]; /* operations that have not ended here */
        ucs_list_link_t behind_link;       /* in worker->rma.behind; self-linked if not */
        /* by which puts were posted as mail (rma/posts.h); it is held until the conn is closed;
         * NULL: none was */
        struct ri_reach *reach;
        /* with POSTED: looks of progress since the first put that may not be over */
        unsigned age;
        ucs_list_link_t posted_link; /* in worker->rma.posted, with POSTED only */
    } rma;

    uint32_t serial; /* among all conns that the worker ever had */

    /* While it waits for CONN_ACK (conn.h, link/control.h). */
    struct {
        ucs_list_link_t link; /* in worker->asking.conns, or .next; self-linked if not */
        double time;          /* how long it is asking, in seconds */
        double counted_at;    /* when time was last added to */
    } asking;

    ucp_err_handler_cb_t err_cb; /* the application's, or NULL */
    void *err_arg;               /* argument of err_cb */
    ucs_list_link_t list;        /* in worker->conns */
    ucs_list_link_t peer_list;   /* in peer->conns, if peer is set */
    ri_conn_counters_t counters;
};

#endif
