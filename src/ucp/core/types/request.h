/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that applications hold handles of.
 *
 * As in UCX, a handle points behind the request, at the application's own part, and
 * requests come from a pool of the worker, where that part is initialised once per object
 * and keeps its content, or from memory that the application brings.
 *
 * Handles of stock requests and of this library's are used with the same calls. A request of this
 * library is recognised by a mark where a stock request keeps its status and flags: every
 * stock operation that is started in a block of memory writes the flags first, so a mark
 * that is there was not followed by a stock operation.
 *
 * Life of a request, in ri_req_t.flags: started (none) -> COMPLETED; RELEASED may be set
 * by the application before or after. A pool request goes back when both are set; from
 * then on it is FREE until it is taken again.
 */
#ifndef RI_REQUEST_H
#define RI_REQUEST_H

#include <assert.h>

#include "send_proto.h"
#include "types.h"
#include "../../dt/dt.h"
#include "../../../ucs/tag_index.h"
#include "../../wire/wire.h"

/* The mark of a request (ri_req_t.mark): it is in use, or free in the pool. */
#define RI_REQ_MARK      0xc0de5249755249ffull
#define RI_REQ_MARK_FREE 0xc0de5249f5ee49ffull

/* Flags of a request (ri_req_t.flags). */
enum {
    RI_REQ_COMPLETED = 1 << 0, /* its operation has ended, and status is valid */
    RI_REQ_RELEASED  = 1 << 1, /* the application has freed it before it was complete */
    RI_REQ_CALLBACK  = 1 << 2, /* call cb when it completes */
    RI_REQ_USER_MEM  = 1 << 3, /* the memory is the application's */
    RI_REQ_RECV      = 1 << 4, /* a ri_recv_req_t */
    RI_REQ_SEND      = 1 << 5, /* a ri_send_req_t */
    RI_REQ_EP_OP     = 1 << 6, /* a ri_ep_op_t (flush, close) */
    RI_REQ_POSTED    = 1 << 7  /* in the posted queue: can be cancelled */
};

/* The head of all kinds of requests. */
struct ri_req {
    uint64_t mark; /* RI_REQ_MARK or RI_REQ_MARK_FREE; over stock's status and flags */
    ri_worker_t *worker;     /* the worker of its operation, whose pool it may be of */
    _Atomic(uint32_t) flags; /* RI_REQ_*; of a MULTI worker, polled without its lock */
    ucs_status_t status;     /* valid once COMPLETED */
    void *user_data;         /* the application's, for cb; valid with CALLBACK */
    union {                  /* the application's callback; valid with CALLBACK */
        ucp_send_nbx_callback_t send;
        ucp_tag_recv_nbx_callback_t recv;
    } cb;
    ri_req_t *next_free; /* while in the pool */
};

/*
 * What a posted receive has promised to a sender (ri_recv_req_t.rtr.state). There are three kinds
 * of RTR: with a grant in the ring, with a target of the plane ud, and with a key. Legal changes,
 * which ri_rtr_state_set() asserts:
 *
 *   NONE             -> QUEUED           to be sent later
 *   QUEUED           -> QUEUED, NONE     waits for something else; given up
 *   NONE, QUEUED     -> BY_GRANT         sent with a grant
 *   BY_GRANT         -> NONE, KEPT       withdrawn, or used and over; used, and its ring has ended
 *   KEPT             -> NONE             over
 *   NONE, QUEUED     -> BY_UD            sent with a target
 *   BY_UD            -> NONE             withdrawn, or used and over
 *   NONE, QUEUED     -> BY_KEY           sent with a key
 *   BY_KEY           -> KEY_USED         a REVOKE was answered: the sender has used it
 *   BY_KEY, KEY_USED -> WRITTEN          the notification: the data is there
 *   BY_KEY, KEY_USED -> NAMED            its message had its turn before its data
 *   BY_KEY, KEY_USED, WRITTEN, NAMED -> NONE  withdrawn, or over
 *
 * The receive is in the posted queue in all states but NAMED, and in BY_GRANT and KEPT until its
 * message has its turn: while the sender still writes then, it is in worker->rtr.writing. The
 * sender may write its memory in BY_GRANT, KEPT, BY_UD, BY_KEY, KEY_USED and NAMED.
 */
typedef enum ri_rtr_state {
    RI_RTR_NONE,     /* nothing */
    RI_RTR_QUEUED,   /* nothing yet: an RTR is to be sent when that is possible */
    RI_RTR_BY_GRANT, /* a grant, which the sender may use, or has used */
    RI_RTR_KEPT, /* a grant, which the sender has used; the ring with the grant has ended */
    RI_RTR_BY_UD,    /* a target, which the sender may use, or has used */
    RI_RTR_BY_KEY,   /* a key, which the sender may use, or has used */
    RI_RTR_KEY_USED, /* a key, which the sender has used, as it says */
    RI_RTR_WRITTEN, /* a key: the data is there, and the turn of its message has not come */
    RI_RTR_NAMED,   /* a key: its message had its turn, and the data is not there */
    RI_RTR_STATE_LAST
} ri_rtr_state_t;

/*
 * Who may write the memory of a receive that waits (ri_recv_req_t.rndv.written): NOT_WRITTEN
 * when it begins to wait, see ri_rndv_recv_wait_as(). Legal changes after that, which
 * ri_rndv_recv_set_written() asserts:
 *
 *   NOT_WRITTEN -> BY_CTS        CTS is sent
 *   NOT_WRITTEN -> BY_TARGET     TARGET is sent, or what an RTR with a target was used for has come
 *   BY_TARGET   -> NOT_WRITTEN   the sender has given up, and the plane receives no more
 *
 * A receive that is written BY_CTS stays so until it ends.
 */
typedef enum ri_recv_written {
    RI_RECV_NOT_WRITTEN, /* nobody */
    RI_RECV_BY_CTS,      /* the sender */
    RI_RECV_BY_TARGET,   /* the plane, what the sender sends (proto/rndv/rndv_ud.h) */
    RI_RECV_WRITTEN_LAST
} ri_recv_written_t;

/*
 * A tag receive. Some fields mean something in some states only (`rtr.state`, and `rndv.written` of
 * a receive that waits for its data), and those of different states share memory. The functions of
 * recv_req.h read them:
 *
 *   state                     rtr.generation   rtr.conn ...   rtr.index          rndv.req_id
 *                             or rtr.sn
 *   QUEUED                    -                awaits         -                  -
 *   BY_GRANT                  of the grant     conn           of the grant       -
 *   KEPT                      -                -              -                  -
 *   BY_UD                     of the entry     op             of the entry       -
 *   BY_KEY, KEY_USED          -                -              of the entry       -
 *   WRITTEN                   -                -              RI_RTR_NO_ENTRY    -
 *   NAMED                     sn               -              of the entry       -
 *   in worker->rtr.writing    -                -              -                  it is set
 *   written BY_TARGET         sn               op             -                  it is set
 *
 * The ring of a KEPT receive has ended, and its grant with it: rtr.kept has what the grant said.
 *
 * It is in one list at most (`list`), by its state, too:
 *
 *   posted, with a mask that has no class   ri_match_t.listed; it is never offered
 *   QUEUED, awaits is set                   a ring of receives, of which *awaits is the first
 *   QUEUED, awaits is NULL                  worker->rtr.queue, or ri_rtr_entries_t.full of its peer
 *   BY_GRANT and later                      stream->rtr.recvs of its sender
 *   BY_GRANT, KEPT, message had its turn    worker->rtr.writing
 *   it waits for its data (rndv.stream)     stream->fetching
 *
 * A field and a list for each meaning would take 76 bytes more (28 for the fields, 48 for three
 * lists). There is no room for them: the request lies in memory that has the size of a stock
 * request, 272 bytes for UCX 1.13, of which it has 256, and its first four cache lines are what
 * a receive touches.
 */
struct ri_recv_req {
    ri_req_t super;
    uint64_t tag;  /* as the application has asked */
    uint64_t mask; /* the bits of a tag that must be those of `tag` */
    /* ri_match_t.serial when it was posted: receives match in that order */
    uint64_t serial;
    /* while it is posted, if its mask has a class: in the index of that class */
    ri_tag_node_t node;
    ucs_list_link_t
            list; /* which list depends on the state: see the table above the struct */
    struct ri_mask_class *mask_class; /* while it is posted; NULL: its mask has none */
    ri_dt_data_t data;                /* the application's buffer */
    union {
        ucp_tag_recv_info_t info;    /* since it was matched */
        struct ri_recv_req *waiters; /* while it is posted: one of a ring of receives that
                                        wait for it to leave, see proto/rtr/rtr_state.h */
    };
    uint32_t id;     /* while it waits for its data or has an RTR: in worker->ids.recvs */
    uint32_t way;    /* written through a network: its way, by ri_peer_way_t.number */
    ri_keys_t *keys; /* written: of memory that is written through a network */

    /* The receive as its sender was told of it, by an RTR or, while it waits for its data, by a
     * TARGET; and notes that tell whether RTRs are worth while (proto/rtr). */
    struct {
        union {
            ri_conn_t *conn; /* BY_GRANT: the conn whose ring has it */
            /* QUEUED: the waiters that it is among; NULL: it is in worker->rtr.queue, or waits
             * for room at a peer */
            struct ri_recv_req **awaits;
            /* BY_UD, written BY_TARGET: the transfer; NULL: it has ended */
            struct ri_ud_recv_op *op;
        };
        ri_stream_t *stream; /* an RTR was sent: the stream of the sender */
        union {
            uint32_t generation; /* BY_GRANT: of the grant; BY_UD: of the entry */
            uint32_t sn;         /* NAMED, written BY_TARGET: number of the message */
        };
        /* of receives above the eager threshold, when it was posted: the time, and
         * worker->polls */
        uint32_t posted_us;
        uint32_t posted_polls;
        uint8_t state; /* ri_rtr_state_t, changed by ri_rtr_state_set() */
        uint8_t index; /* BY_GRANT: of the grant; BY_UD, BY_KEY, KEY_USED, NAMED: of the entry */
        uint8_t early;        /* the receive was posted before its message was there */
        uint8_t kept : 4;     /* KEPT: state of the grant when it was last seen */
        uint8_t slot : 1;     /* the sender has taken the RTR for a copy by both sides */
        uint8_t canceled : 1; /* a cancel was in vain, as the message was on its way */
        uint8_t first : 1;    /* in worker->rtr.deep: the next with few enough ahead */
        uint8_t there : 1; /* BY_UD, when its transfer has ended: the message is there */
    } rtr;

    /* While it waits for its data (proto/rndv/rndv_recv.h). */
    struct {
        ri_stream_t *stream; /* of the sender; NULL: it does not wait */
        /* also in worker->rtr.writing: the sender's request; 0: of a message that is not sent as
         * datagrams */
        uint32_t req_id;
        uint16_t polls;  /* in worker->rtr.writing only: looks at its grant */
        uint8_t written; /* ri_recv_written_t, changed by ri_rndv_recv_set_written() */
    } rndv;
};

/* It has to fit what applications provide in front of a handle: 272 bytes for UCX 1.13. */
static_assert(sizeof(ri_recv_req_t) <= 256, "ri_request_headroom()");

/*
 * What an unfinished send waits for (ri_send_req_t.waiting): for all flags that are set. Flags may
 * be set together as this table says, which ri_send_may_wait_for() knows:
 *
 *             RING  STOCK  MATCH  DATA  WRITE  CONN
 *   RING                     x                        the message is synchronous
 *   STOCK                    x     x      x           stock is not done with the message, which
 *                                                     was answered, or is to be
 *   MATCH      x     x                    x     x     WRITE: it was announced, and is written by
 *                                                     an RTR at the same time
 *   DATA             x                    x           WRITE: the receiver asked for the data while
 *                                                     it was being written
 *   WRITE            x       x     x            x
 *   CONN                     x            x           stock has nothing of it
 */
enum {
    RI_SEND_WAIT_RING  = 1 << 0, /* room in the ring */
    RI_SEND_WAIT_STOCK = 1 << 1, /* completion of a stock active message */
    RI_SEND_WAIT_MATCH = 1 << 2, /* SYNC_ACK, FIN, CTS, or the receive of a self-send */
    RI_SEND_WAIT_DATA  = 1 << 3, /* completion of RNDV_DATA, a stock active message */
    RI_SEND_WAIT_WRITE = 1 << 4, /* the data is being written through a network */
    RI_SEND_WAIT_CONN  = 1 << 5, /* the end of its conn, with which it fails */
    RI_SEND_WAIT_LAST  = 1 << 6
};

/* The parts of a send that stock may have in its hands: both at once, as the data of a rendezvous
 * may be asked for before stock is done with the RTS. */
typedef enum ri_am_which {
    RI_AM_MESSAGE, /* the message, WAIT_STOCK */
    RI_AM_DATA,    /* RNDV_DATA, WAIT_DATA */
    RI_AM_WHICH_LAST
} ri_am_which_t;

/*
 * Where a message goes that is sent to where the receiver says (proto/rndv/rndv_ud.h). Legal
 * changes:
 *
 *   NONE         -> WANTED      the RTS says that the data is sent
 *   WANTED       -> USED        TARGET came, and the data is on its way
 *   WANTED, USED -> ABANDONED   it cannot be sent there, or perhaps was not: the receiver is asked
 */
typedef enum ri_send_target {
    RI_SEND_TARGET_NONE,      /* the message goes in another way */
    RI_SEND_TARGET_WANTED,    /* the receiver has not answered the RTS yet */
    RI_SEND_TARGET_USED,      /* the receiver has said where the data goes */
    RI_SEND_TARGET_ABANDONED, /* the message does not go there */
    RI_SEND_TARGET_LAST
} ri_send_target_t;

/* A tag send that did not complete at once. */
struct ri_send_req {
    ri_req_t super;
    ri_conn_t *conn;
    ucs_list_link_t list;    /* in conn->sends */
    ucs_list_link_t pending; /* in conn->pending while WAIT_RING */
    uint64_t tag;
    uint32_t sn; /* number of the message, if it has one: see ri_send_req_init() */
    uint32_t id; /* in worker->ids.sends, by which the receiver answers; 0: it does not */
    ucs_status_t failure; /* the first thing that went wrong */
    /* RI_SEND_WAIT_*, changed by core/send_req.h; 0: it is complete, or its call has not
     * returned */
    uint8_t waiting;
    uint8_t wire_type; /* ri_wire_type_t by which the message is, or was, sent; 0: none yet */
    uint8_t target; /* ri_send_target_t, changed by ri_rndv_ud_set_target() */
    /* its slot was withdrawn (ri_slot_withdraw()), so a NACK says nothing of the plane */
    uint8_t withdrawn;
    /* the message is one of an exchange, and not in a crowd (core/exchange.h) */
    uint8_t exchanges;
    ri_dt_data_t data; /* the application's buffer */
    /* the protocol that was chosen; NULL: none yet, or one that keeps nothing */
    const ri_send_proto_t *proto;
    /* what the protocol keeps for the request, of a type of its own, or NULL; `forget` of the
     * protocol lets go of that. Only files of the protocol look at it */
    void *proto_state;
    /* of data that goes through a network, whatever the protocol: its memory, as long as the
     * request has it, and the number of the way (ri_peer_way_t.number). Who makes room for another
     * way looks at them, too (link/way_idle.h) */
    ri_keys_t *keys; /* NULL: none */
    uint32_t way;
    /* by ri_am_which_t: what of the send stock is sending; NULL: nothing */
    struct ri_am_buffer *in_stock[RI_AM_WHICH_LAST];
};

static_assert(sizeof(ri_send_req_t) <= 256, "ri_request_headroom()");

/* How long a close has waited for its peer in vain (run/close.h). */
typedef struct ri_close_wait {
    double idle;    /* seconds in which nothing has moved */
    double checked; /* when idle was last added to, or set to 0 */
    uint64_t seen;  /* what was to be seen when idle was last set to 0 */
} ri_close_wait_t;

/* An endpoint or worker operation that has own work to wait for first. */
typedef struct ri_ep_op {
    ri_req_t super;
    ri_conn_t *conn;      /* NULL: of the whole worker */
    ucs_list_link_t list; /* in worker->ep_ops */
    int is_close;         /* 1: a close; 0: a flush */
    ri_close_wait_t wait; /* of a close */
    int is_flushing;  /* a close: its own part is over, and UCX flushes the endpoint */
    int is_left;      /* with is_flushing: not all was received */
    void *flush;      /* with is_flushing: UCX's request, or its status */
    uint32_t flags;   /* of the application's call */
    uint32_t conn_id; /* id of conn, which may be gone; 0: of the whole worker */
    /* of a flush: worker->rma.seq of the latest operation that it is for */
    uint64_t rma;
    /* of a close: UCS_OK, or why puts before it are lost, with which the close fails */
    ucs_status_t lost;
} ri_ep_op_t;

/* The requests of a worker (req_life.h). */
typedef struct ri_req_pool {
    ri_req_t *free;     /* free requests, linked by next_free */
    void *chunks;       /* list of allocations */
    size_t object_size; /* bytes of a request with the application's part, in whole lines */
    size_t in_use;      /* requests that are not free */
} ri_req_pool_t;

/**
 * How many bytes a request needs in front of its handle: what ucp_context_query reports, and what
 * applications that bring their own request memory provide. As many as for a request of stock's.
 *
 * @return The bytes; 0: a request of this library does not fit there, so no context can be served.
 */
size_t ri_request_headroom(void);

/* Set once, at the first ucp_init: ri_request_headroom(). */
extern size_t ri_req_headroom;

/** @return What the application gets for a request. */
static inline void *ri_req_handle(ri_req_t *req)
{
    return (char *)req + ri_req_headroom;
}

/** @return The request of a handle, which must be of this library (@ref ri_req_is_own). */
static inline ri_req_t *ri_req_of_handle(void *handle)
{
    return (ri_req_t *)((char *)handle - ri_req_headroom);
}

/** @return Whether a handle is of a request of this library, be it freed already. Any thread may
 * ask. */
static inline int ri_req_is_own(void *handle)
{
    uint64_t mark;

    if (ri_req_headroom == 0) {
        return 0; /* nothing was ever taken over in this process */
    }
    mark = __atomic_load_n(&ri_req_of_handle(handle)->mark, __ATOMIC_RELAXED);
    return (mark == RI_REQ_MARK) || (mark == RI_REQ_MARK_FREE);
}

/** The memory of the request that @a param brings, if any, is about to be used by a stock
 * operation: take it for stock's from now on. The worker need not be locked. */
static inline void ri_req_disown(const ucp_request_param_t *param)
{
    if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_REQUEST) && (ri_req_headroom != 0)) {
        ri_req_of_handle(param->request)->mark = 0;
    }
}

/** @return The flags of a request, RI_REQ_*. Any thread may ask. */
static inline uint32_t ri_req_flags(ri_req_t *req)
{
    return atomic_load_explicit(&req->flags, memory_order_relaxed);
}

/** Set some flags, after all that was written to the request. The worker is locked. */
static inline void ri_req_set_flags(ri_req_t *req, uint32_t flags)
{
    /* Only the worker's owner writes, so this need not be one atomic operation. */
    atomic_store_explicit(&req->flags, ri_req_flags(req) | flags, memory_order_release);
}

/** Clear some flags. The worker is locked. */
static inline void ri_req_clear_flags(ri_req_t *req, uint32_t flags)
{
    atomic_store_explicit(&req->flags, ri_req_flags(req) & ~flags, memory_order_release);
}

#endif
