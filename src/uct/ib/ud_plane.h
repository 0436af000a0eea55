/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the ud plane share: ud.c has the plane, ud_way.c its ways, ud_recv.c and ud_send.c
 * the transfers, ud_wait.c those that wait for a queue pair, ud_number.c what is known of the numbers
 * of others, ud_control.c the control messages, ud_heard.c who knows of the end of transfers.
 */
#ifndef RI_UD_PLANE_H
#define RI_UD_PLANE_H

#include "ud.h"

#if HAVE_VERBS

#include "ud_memory.h"
#include "ud_pool.h"
#include "../../ucs/id_table.h"

/* Bits of an id that count ways. */
#define RI_UD_ID_BITS 20

/* Work requests of a chain: a turn of a transfer. */
#define RI_UD_CHAIN 32

/* Segments of a work request. */
#define RI_UD_SGE_MAX 4

/* Transfers of a way whose numbers are kept because they were cancelled, from which on it offers
 * nothing: in a PROBE for one, all of them are looked through. */
#define RI_UD_CANCELLED_MAX 65536

typedef struct ri_ud_ep ri_ud_ep_t;

/* In what both kinds of transfers are lists. */
typedef struct ri_ud_transfer {
    ucs_list_link_t list;    /* see the lists of plane and way */
    ucs_list_link_t ep_list; /* of its kind */
    ri_ud_ep_t *ep;
    ri_ud_op_t *op;
    uint32_t number;
    int is_send;
    ucs_status_t status; /* in plane->ended */
    ri_ud_memory_t memory;
} ri_ud_transfer_t;

typedef enum ri_ud_recv_state {
    RI_UD_RECV_WAITING, /* for a queue pair; in the waiting ones of its way */
    RI_UD_RECV_READY,   /* it has one, which was not told yet: in plane->ready */
    RI_UD_RECV_ACTIVE,  /* in plane->active */
    RI_UD_RECV_ENDED    /* in plane->ended */
} ri_ud_recv_state_t;

typedef struct ri_ud_recv {
    ri_ud_transfer_t super;
    ri_ud_rx_t rx;
    ri_ud_recv_state_t state;
    int is_offer;
    ri_ud_qp_t *qp;
    ucs_status_t failure; /* of the queue pair; OK: none */
    unsigned empty;       /* polls since something came, up to a limit */
    unsigned skip;        /* so many times it is not polled */
    uint32_t seen;    /* the way's heard at the latest look while others were waiting */
    uint64_t stalled; /* since when that has not changed, of such time */
} ri_ud_recv_t;

typedef struct ri_ud_send {
    ri_ud_transfer_t super; /* in plane->sending or plane->ended */
    ri_ud_tx_t tx;
    uint32_t qp;   /* the receiver's */
    uint64_t last; /* number of the last work request */
    unsigned turn; /* chains posted in this one */
    int is_ended;
} ri_ud_send_t;

/* The address of a port: of all ways there. */
typedef struct ri_ud_port {
    ucs_list_link_t list;
    uint8_t link; /* ri_ib_link_t */
    uint16_t lid;
    uint16_t pkey; /* 0: not known */
    union ibv_gid gid;
    struct ibv_ah *ah; /* of the own address, then: */
    unsigned moves;
} ri_ud_port_t;

typedef enum ri_ud_ep_state {
    RI_UD_EP_INIT,
    RI_UD_EP_CONNECTED,
    RI_UD_EP_FAILED /* nothing goes by it any more */
} ri_ud_ep_state_t;

/* Room for so many numbers is made at first */
#define RI_UD_UNHEARD_MIN 8

struct ri_ud_ep {
    ri_plane_ep_t super;
    ucs_list_link_t list;      /* of the plane */
    ucs_list_link_t wait_list; /* of plane->waiting; empty: it is not in there */
    ucs_list_link_t waiting;   /* recvs that wait for a queue pair */
    ucs_list_link_t recvs;     /* all that have one */
    ucs_list_link_t sends;     /* all */
    ri_ud_ep_state_t state;
    uint32_t id;
    unsigned moves;       /* of the own address, when it was prepared */
    uint32_t next_number; /* of a recv */
    uint32_t *cancelled;  /* numbers of recvs */
    size_t num_cancelled;
    size_t max_cancelled;
    uint32_t *
            unheard; /* numbers of recvs that have ended well, unknown to the sender perhaps */
    size_t num_unheard;
    size_t max_unheard;
    unsigned reminders; /* sent for those, one after the other */
    uint64_t remind_at;
    uint32_t
            done_first; /* sends that have ended well and that the receiver is to be told: */
    uint32_t done_bits; /* bit i: done_first + i */

    /* Of the remote side: */
    int is_known;       /* it has answered something */
    uint32_t heard;     /* datagrams that have come */
    ri_ud_port_t *port; /* CONNECTED */
    uint32_t control_qp;
    uint32_t data_qp;
    uint32_t qkey; /* of control_qp */
    uint32_t id_there;
    uint32_t mtu;
};

/* The queue pair that sends pieces. */
typedef struct ri_ud_data {
    struct ibv_qp *qp;
    struct ibv_cq *cq;
    unsigned depth;
    uint64_t posted;       /* work requests ever */
    uint64_t ended;        /* those whose end is known */
    uint32_t use;          /* changes with each reset: part of the ids of work requests */
    int is_left;           /* qp is NULL because it could not be destroyed */
    ri_ud_buffer_t bounce; /* a piece for each place; made when needed */
    ri_ud_send_t **owners; /* of each place */
} ri_ud_data_t;

/* The queue pair of control messages. */
typedef struct ri_ud_control_qp {
    struct ibv_qp *qp;
    struct ibv_cq *send_cq;
    struct ibv_cq *recv_cq;
    unsigned send_depth;
    unsigned recv_depth;
    unsigned max_inline; /* bytes that a work request holds itself */
    uint32_t qkey;
    uint32_t posted; /* sends ever */
    uint32_t ended;
    uint32_t use;          /* changes with each reset: part of the ids of work requests */
    ri_ud_buffer_t buffer; /* for sends, then for receives */
} ri_ud_control_qp_t;

typedef struct ri_ud_plane {
    ri_plane_t super;
    ri_ib_device_t *device;
    int is_broken; /* a queue cannot be used any more */
    ri_ib_events_seen_t events_seen;
    unsigned mtu; /* bytes */
    uint64_t now;
    uint64_t looked;       /* when all queues were polled, and then timeouts looked at */
    unsigned num_active;   /* as counted when they were polled */
    int sends_changed;     /* some may have ended */
    uint64_t stall_looked; /* when receivers were looked at because others were waiting */
    ri_ud_times_t times;
    ri_ud_counters_t counters;
    ri_id_table_t ids; /* of eps */
    ucs_list_link_t eps;
    ucs_list_link_t ports;
    ri_ud_pool_t pool;
    ri_ud_data_t data;
    ri_ud_control_qp_t control;

    ucs_list_link_t waiting; /* eps with recvs that wait, in turn */
    ucs_list_link_t ready;   /* recvs that have got what they waited for, to be told */
    ucs_list_link_t active;  /* recvs */
    ucs_list_link_t sending; /* sends, in turn */
    ucs_list_link_t ended;   /* both, to be told */

    /* What is being put together for one call: */
    unsigned num_recvs;
    struct ibv_recv_wr recv_wrs[RI_UD_CHAIN];
    struct ibv_sge recv_sges[RI_UD_CHAIN * RI_UD_SGE_MAX];
    struct ibv_send_wr send_wrs[RI_UD_CHAIN];
    struct ibv_sge send_sges[RI_UD_CHAIN * RI_UD_SGE_MAX];
    uint8_t piece[4096]; /* of a cycle that is being moved */
} ri_ud_plane_t;

static inline ri_ud_plane_t *ri_ud_plane(const ri_ud_ep_t *ep)
{
    return ri_container_of(ep->super.plane, ri_ud_plane_t, super);
}

/** A queue can be used no more: the next progress ends everything. */
void ri_ud_broken(ri_ud_plane_t *plane, const char *what);

/** Cancel all that is under way on a way. */
void ri_ud_cancel_all(ri_ud_ep_t *ep, ucs_status_t status);

/** Set up what is common, in no list. */
ucs_status_t ri_ud_transfer_init(ri_ud_transfer_t *transfer, ri_ud_ep_t *ep,
                                 const ri_ud_list_t *list, ri_ud_op_t *op);

/** A transfer has ended for the device, and is in no list of the plane: progress will tell. */
void ri_ud_transfer_end(ri_ud_transfer_t *transfer, ucs_status_t status);

/* Those of ri_ud_ops_t */
ucs_status_t ri_ud_recv(ri_plane_ep_t *ep, const ri_ud_list_t *list, int is_offer,
                        ri_ud_op_t *op, ri_ud_target_t *target);
ucs_status_t ri_ud_send(ri_plane_ep_t *ep, const ri_ud_list_t *list,
                        const ri_ud_target_t *target, ri_ud_op_t *op);
void ri_ud_cancel(ri_ud_op_t *op);
int ri_ud_revoke(ri_ud_op_t *op);
void ri_ud_claim(ri_ud_op_t *op);
void ri_ud_forget(ri_plane_ep_t *ep, uint32_t number);
const ri_ud_counters_t *ri_ud_get_counters(const ri_plane_t *plane);

unsigned ri_ud_unheard(ri_plane_ep_t *ep, uint32_t *numbers, unsigned max);
int ri_ud_remind(ri_plane_ep_t *ep);
void ri_ud_heard(ri_plane_ep_t *ep, uint32_t number);

/* ud_way.c */
ucs_status_t ri_ud_prepare(ri_plane_t *super, ri_plane_ep_t **ep_p);
size_t ri_ud_ep_address(ri_plane_ep_t *super, void *address_p);
ucs_status_t ri_ud_connect(ri_plane_t *super, const void *address_p, size_t length,
                           ri_plane_ep_t **ep_p);

/** @return The bytes that verbs mean by the number of an MTU. */
unsigned ri_ud_mtu_bytes(unsigned mtu);

/** @return Whether a datagram comes from the peer's queue pair @a qp. The way is connected. */
int ri_ud_is_from(const ri_ud_ep_t *ep, uint32_t qp, const struct ibv_wc *wc,
                  const void *grh);

/** Destroy the address handles, if @a all is not set those of earlier addresses of the own. */
void ri_ud_forget_ports(ri_ud_plane_t *plane, int all);

/** The device has another address. */
void ri_ud_moved(ri_ud_plane_t *plane);

/* ud_heard.c */

/** A message was received. */
void ri_ud_heard_received(ri_ud_ep_t *ep, uint32_t number);

/** DONE has come; wire input. */
void ri_ud_heard_done(ri_ud_ep_t *ep, const ri_ud_message_t *message);

/** A send has ended, and is in no list of its way: if that was well, say so, when others have,
 * too. */
void ri_ud_heard_sent(const ri_ud_send_t *send);

/** An ACK has come for what is no send here, any more: say so. */
void ri_ud_heard_again(ri_ud_ep_t *ep, uint32_t number);

/* ud_recv.c */
void ri_ud_recv_progress(ri_ud_plane_t *plane, int all);
void ri_ud_recv_time(ri_ud_plane_t *plane);
void ri_ud_recv_cancel(ri_ud_recv_t *recv, ucs_status_t status);

/** Post a transfer's memory to a queue pair, which it has from then on, if this succeeds. */
ucs_status_t ri_ud_recv_post(ri_ud_recv_t *recv, ri_ud_qp_t *qp);

/** Post what was put together. */
void ri_ud_recv_flush(ri_ud_plane_t *plane, ri_ud_recv_t *recv);

/** See whether a transfer has come to its end. */
void ri_ud_recv_check(ri_ud_recv_t *recv);

/** Take what has come for a transfer, which may end it. @return Whether there was something. */
int ri_ud_recv_poll(ri_ud_plane_t *plane, ri_ud_recv_t *recv);

/* ud_wait.c */

/** Wait behind all others of the way. */
void ri_ud_wait(ri_ud_plane_t *plane, ri_ud_recv_t *recv);
void ri_ud_wait_end(ri_ud_recv_t *recv);

/** Give queue pairs to those that wait. */
void ri_ud_recv_serve(ri_ud_plane_t *plane);

/* ud_number.c */

/** Make sure that the number of one more transfer can be kept when it is cancelled. */
ucs_status_t ri_ud_number_reserve(ri_ud_ep_t *ep);
void ri_ud_number_cancel(ri_ud_ep_t *ep, uint32_t number);

/** Tell the sender of the end of a transfer. */
void ri_ud_number_tell(ri_ud_ep_t *ep, uint32_t number, ri_ud_type_t type);

/** PROBE has come; wire input. */
void ri_ud_recv_probe(ri_ud_ep_t *ep, ri_ud_message_t *message);

/**
 * Take the queue pair of a transfer whose sender does not call progress, and so may keep it for
 * ever, while others wait (ud_stall.c). That sender is told, and asks for another way.
 *
 * @return Whether there was one.
 */
int ri_ud_take_stalled(ri_ud_plane_t *plane);

/** Tell those in plane->ready. @return Their number. */
unsigned ri_ud_recv_tell_ready(ri_ud_plane_t *plane);

/* ud_send.c */
ucs_status_t ri_ud_data_open(ri_ud_plane_t *plane);
void ri_ud_data_close(ri_ud_plane_t *plane);

/** Take note of work requests that have ended, and of sends with them. */
void ri_ud_send_poll(ri_ud_plane_t *plane);
void ri_ud_send_time(ri_ud_plane_t *plane);

/** Post what there is to send. */
void ri_ud_send_post(ri_ud_plane_t *plane);
void ri_ud_send_message(ri_ud_ep_t *ep, const ri_ud_message_t *message);
ri_ud_send_t *ri_ud_send_find(ri_ud_ep_t *ep, uint32_t number);
void ri_ud_send_cancel(ri_ud_send_t *send, ucs_status_t status);

/** Nothing that was posted is used any more when this returns; what was not sent is lost. */
void ri_ud_data_flush(ri_ud_plane_t *plane);

/** As that, and the queue pair is made ready anew, also if nothing was posted. */
void ri_ud_data_reset(ri_ud_plane_t *plane);

/* ud_event.c */

/** The device tells of a failure, or of another address. @param arg  The plane. */
void ri_ud_event(void *arg, const ri_ib_event_t *event);

/* ud_control.c */
ucs_status_t ri_ud_control_open(ri_ud_plane_t *plane);
void ri_ud_control_close(ri_ud_plane_t *plane);
void ri_ud_control_progress(ri_ud_plane_t *plane);

/** Make the queue pair ready anew. What is under way gets lost. */
void ri_ud_control_reset(ri_ud_plane_t *plane);

/** Send a control message. It may get lost. */
void ri_ud_control_send(ri_ud_ep_t *ep, ri_ud_message_t *message);

#endif

#endif
