/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the ud plane have in common: the plane, its ways, and the transfers, with their
 * states and the lists that they are in.
 *
 * The files, from bottom to top. Each calls those before it:
 *
 *   transfer, rx, tx        a transfer as two state machines, without verbs, memory and clocks
 *   wire, memory            what goes over the network; the memory of a message
 *   buffer, qp, pool        queue pairs that pieces land in
 *   base                    the types of all that follows
 *   way                     ways to peers: addresses, and ports
 *   control                 the queue pair of control messages, which are sent and polled for here
 *   number, heard           which transfers a receiver has cancelled; who knows that one has ended
 *   data, send              the queue pair that pieces are sent by, and the sends
 *   wait, place, recv       receives: those without a queue pair, where pieces land, what they do
 *   queue                   which receive gets a queue pair, and who gives one up for it
 *   arrive, cancel, event   control messages by type; transfers that are to end; the device's news
 *   footprint, plane        an estimate of memory; the table of the plane
 */
#ifndef RI_UD_BASE_H
#define RI_UD_BASE_H

#include "ud.h"
#include "../device/plane_common.h"

#if HAVE_VERBS

#include "ud_memory.h"
#include "ud_pool.h"
#include "ud_rx.h"
#include "ud_tx.h"

#include <assert.h>

/* Work requests of a chain: a turn of a transfer. */
#define RI_UD_CHAIN 32

typedef struct ri_ud_ep ri_ud_ep_t;

/* The part that receives and sends have in common: the first member of either. It is freed when the
 * protocol is told of its end, by progress or by the end of the way. */
typedef struct ri_ud_transfer {
    /* in the list of the plane, or of its way, that belongs to its state */
    ucs_list_link_t list;
    /* in recvs or sends of its way, from the first piece to the end */
    ucs_list_link_t ep_list;
    ri_ud_ep_t *ep;
    ri_ud_op_t *op;  /* the protocol's */
    uint32_t number; /* given by the receiver (protocol-ud.md, section 6) */
    int is_send;
    ucs_status_t status; /* in plane->ended: what the protocol is told */
    ri_ud_memory_t memory;
} ri_ud_transfer_t;

/*
 * Where a receive is (ri_ud_recv_t.state, ri_ud_recv_set_state()). Legal changes:
 *
 *   NEW     -> ACTIVE     a queue pair was there at once
 *   NEW     -> WAITING    none was there
 *   WAITING -> READY      it has got one
 *   READY   -> ACTIVE     the protocol is told
 *   WAITING, READY, ACTIVE -> ENDED    it is complete, has failed, or was cancelled
 */
typedef enum ri_ud_recv_state {
    RI_UD_RECV_NEW,     /* being made: in no list */
    RI_UD_RECV_WAITING, /* for a queue pair: in the way's waiting */
    RI_UD_RECV_READY, /* there is a queue pair, and op->ready() is to be called: in plane->ready */
    RI_UD_RECV_ACTIVE, /* pieces arrive: in plane->active */
    RI_UD_RECV_ENDED,  /* op->done() is to be called: in plane->ended */
    RI_UD_RECV_STATE_LAST
} ri_ud_recv_state_t;

typedef struct ri_ud_recv {
    ri_ud_transfer_t super;
    ri_ud_rx_t rx;
    ri_ud_recv_state_t state;
    int is_offer; /* the receive may never be used, and gives its queue pair up when others wait */
    ri_ud_qp_t *qp;       /* READY and ACTIVE: what pieces land in; else NULL */
    ucs_status_t failure; /* of the queue pair, which ends the receive; UCS_OK: none */
    unsigned empty;       /* polls in a row by which nothing came, up to a limit */
    unsigned skip;        /* number of polls that leave the queue pair out */
    uint32_t seen; /* the way's heard when this was last looked at while others waited */
    /* for how long the way's heard has not changed while others waited, in ns */
    uint64_t stalled;
} ri_ud_recv_t;

/** @return Whether a receive in state @a from may come into state @a to. */
static inline int ri_ud_recv_may_become(ri_ud_recv_state_t from, ri_ud_recv_state_t to)
{
    switch (to) {
    case RI_UD_RECV_WAITING:
        return from == RI_UD_RECV_NEW;
    case RI_UD_RECV_READY:
        return from == RI_UD_RECV_WAITING;
    case RI_UD_RECV_ACTIVE:
        return (from == RI_UD_RECV_NEW) || (from == RI_UD_RECV_READY);
    case RI_UD_RECV_ENDED:
        return (from == RI_UD_RECV_WAITING) || (from == RI_UD_RECV_READY) ||
               (from == RI_UD_RECV_ACTIVE);
    default:
        return 0;
    }
}

/** Change the state of a receive, as ri_ud_recv_state_t allows it. The caller moves it from list to
 * list. */
static inline void ri_ud_recv_set_state(ri_ud_recv_t *recv, ri_ud_recv_state_t state)
{
    assert(ri_ud_recv_may_become(recv->state, state));
    recv->state = state;
}

/* A send is in plane->sending until its tx has ended and the device has done all that it was given;
 * then in plane->ended. */
typedef struct ri_ud_send {
    ri_ud_transfer_t super;
    ri_ud_tx_t tx;
    uint32_t qp;   /* number of the receiver's queue pair */
    uint64_t last; /* ri_ud_data_t.posted after its latest work request */
    unsigned turn; /* chains that it has posted since its turn has come */
} ri_ud_send_t;

/* The address of a remote port. All ways to the port share it. */
typedef struct ri_ud_port {
    ucs_list_link_t list;
    uint8_t link; /* ri_ib_link_t */
    uint16_t lid;
    uint16_t pkey; /* 0: not known */
    union ibv_gid gid;
    struct ibv_ah *ah; /* from this side's address at the time of moves */
    unsigned moves;    /* ri_ib_address_t.moves when ah was made */
} ri_ud_port_t;

/*
 * What a way is good for (ri_ud_ep_t.state, ri_ud_ep_set_state()). Legal changes:
 *
 *   INIT            -> CONNECTED    connect()
 *   INIT, CONNECTED -> FAILED       this side has another address
 *
 * A way whose connecting has failed stays in INIT.
 */
typedef enum ri_ud_ep_state {
    RI_UD_EP_INIT,
    RI_UD_EP_CONNECTED,
    RI_UD_EP_FAILED /* no datagram goes by it any more, and none that comes is taken */
} ri_ud_ep_state_t;

/* Numbers that a way's list of unheard has room for at first. */
#define RI_UD_UNHEARD_MIN 8

struct ri_ud_ep {
    ri_plane_ep_t super;
    ucs_list_link_t list;      /* in plane->eps */
    ucs_list_link_t wait_list; /* in plane->waiting; empty: it is not in there */
    ucs_list_link_t waiting;   /* receives that wait for a queue pair */
    ucs_list_link_t recvs;     /* receives that have a queue pair */
    ucs_list_link_t sends;     /* sends that have not ended */
    ri_ud_ep_state_t state;
    uint32_t id;
    unsigned moves;       /* ri_ib_address_t.moves when the way was prepared */
    uint32_t next_number; /* of the next receive that gets a queue pair */

    /* Numbers of receives that were cancelled (ud_number.h): */
    uint32_t *cancelled;
    size_t num_cancelled;
    size_t max_cancelled;

    /* Numbers of receives that have ended well, which the sender may not know (ud_heard.h): */
    uint32_t *unheard;
    size_t num_unheard;
    size_t max_unheard;
    unsigned reminders; /* how many times in a row the sender was told in vain */
    uint64_t remind_at; /* when the sender is told again, in ns; 0: not set yet */

    /* Sends that have ended well, which the receiver is to be told of (ud_heard.h): */
    uint32_t done_first; /* number of the first one */
    uint32_t done_bits;  /* bit i: number done_first + i */

    /* Of the remote side: */
    int is_known;       /* the remote side has answered something */
    uint32_t heard;     /* counts datagrams that have come from there */
    ri_ud_port_t *port; /* CONNECTED: where the remote side is; else NULL */
    uint32_t control_qp;
    uint32_t data_qp;
    uint32_t qkey; /* Q_Key of control_qp */
    uint32_t
            id_there; /* the remote side's id of the way, which control messages to it name */
    uint32_t mtu;     /* bytes of a piece: the smaller MTU of both sides */
};

/** Change the state of a way, as ri_ud_ep_state_t allows it. */
static inline void ri_ud_ep_set_state(ri_ud_ep_t *ep, ri_ud_ep_state_t state)
{
    assert((state == RI_UD_EP_CONNECTED) ?
                   (ep->state == RI_UD_EP_INIT) :
                   ((state == RI_UD_EP_FAILED) && (ep->state != RI_UD_EP_FAILED)));
    ep->state = state;
}

/* The queue pair that sends pieces. */
typedef struct ri_ud_data {
    /* NULL: it could not be made ready anew, and the plane is broken */
    struct ibv_qp *qp;
    struct ibv_cq *cq;
    unsigned depth;        /* places of the queue, a power of two */
    uint64_t posted;       /* work requests ever */
    uint64_t ended;        /* work requests that have ended, in order */
    uint32_t use;          /* changes with each reset: part of the ids of work requests */
    int is_left;           /* qp is NULL because it could not be destroyed */
    ri_ud_buffer_t bounce; /* memory of a piece for each place; made when it is needed */
    ri_ud_send_t **owners; /* for each place, the send that has used it last */
} ri_ud_data_t;

/* The queue pair of control messages. */
typedef struct ri_ud_control_qp {
    struct ibv_qp *qp;
    struct ibv_cq *send_cq;
    struct ibv_cq *recv_cq;
    unsigned send_depth;   /* messages that may be under way */
    unsigned recv_depth;   /* messages that may come before anybody looks */
    unsigned max_inline;   /* bytes that a work request holds itself */
    uint32_t qkey;         /* Q_Key of qp, part of the addresses of all ways */
    uint32_t posted;       /* messages ever given to the device, modulo 2^32 */
    uint32_t ended;        /* messages that have left, modulo 2^32 */
    uint32_t use;          /* changes with each reset: part of the ids of work requests */
    ri_ud_buffer_t buffer; /* send_depth messages to send, then recv_depth that come */
} ri_ud_control_qp_t;

typedef struct ri_ud_plane {
    ri_ib_plane_t ib; /* is_broken: a queue cannot be used any more */
    unsigned mtu;     /* bytes of a datagram */
    /* the time of this call of progress, in ns; kept while nothing needs it */
    uint64_t now;
    uint64_t looked; /* when all queues were polled, and timeouts looked at after that */
    unsigned num_active; /* receives in active when they were polled last */
    int sends_changed;   /* sends may have ended */
    /* when active was searched for silent senders, as others waited */
    uint64_t stall_looked;
    ri_ud_times_t times;
    ri_ud_counters_t counters;
    ucs_list_link_t eps;
    ucs_list_link_t ports;
    ri_ud_pool_t pool;
    ri_ud_data_t data;
    ri_ud_control_qp_t control;

    ucs_list_link_t waiting; /* ways with receives that wait for a queue pair, in turn */
    /* receives whose protocols are to be told that they have one */
    ucs_list_link_t ready;
    ucs_list_link_t active;  /* receives that pieces arrive for */
    ucs_list_link_t sending; /* sends, in turn */
    /* receives and sends whose protocols are to be told of the end */
    ucs_list_link_t ended;

    /* Work requests that are put together for one call of the device: */
    unsigned num_recvs; /* in recv_wrs, all of one receive: ud_place.h */
    struct ibv_recv_wr recv_wrs[RI_UD_CHAIN];
    struct ibv_sge recv_sges[RI_UD_CHAIN * RI_UD_SGE_MAX];
    struct ibv_send_wr send_wrs[RI_UD_CHAIN];
    struct ibv_sge send_sges[RI_UD_CHAIN * RI_UD_SGE_MAX];

    uint8_t piece[4096]; /* of a cycle of pieces that are being moved: ud_place.h */
} ri_ud_plane_t;

/** @return The plane whose head a function of the table is given. */
static inline ri_ud_plane_t *ri_ud_base(ri_plane_t *super)
{
    return ri_container_of(super, ri_ud_plane_t, ib.super);
}

/** @return The plane of a way. */
static inline ri_ud_plane_t *ri_ud_plane(const ri_ud_ep_t *ep)
{
    return ri_ud_base(ep->super.plane);
}

/** A queue can be used no more, of which the user is warned once: the next progress ends all
 * transfers.
 * @param why  For the user. */
void ri_ud_base_broken(ri_ud_plane_t *plane, const char *why);

/**
 * Set up what receives and sends have in common, in no list.
 *
 * @param transfer  Zeros. Its memory is to be cleaned up (ri_ud_memory_cleanup()), but not after an
 *                  error.
 * @param list      Not needed any more when this returns.
 * @param op        The protocol's, which stays until the transfer has ended.
 *
 * @return UCS_OK, or what ri_ud_memory_init() returns.
 */
ucs_status_t ri_ud_base_begin(ri_ud_transfer_t *transfer, ri_ud_ep_t *ep,
                              const ri_ud_list_t *list, ri_ud_op_t *op);

/** The device uses nothing of a transfer any more, which is in no list of the plane and of its way:
 * progress, or the end of the way, will tell the protocol, and free the transfer. */
void ri_ud_base_end(ri_ud_transfer_t *transfer, ucs_status_t status);

#endif

#endif
