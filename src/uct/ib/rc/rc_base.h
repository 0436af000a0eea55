/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The data plane on reliable connections of verbs (ri_plane_rc in uct/api/plane.h): one
 * queue pair for each remote process, all with the completion queue of their worker.
 *
 * A way is prepared with a queue pair in INIT, whose number and first packet sequence number
 * are its address. It is ready to send as soon as it is connected, but what it sends is
 * answered only when the other side has connected its own; until then the device tries
 * again.
 *
 * Whatever fails ends the way: its queue pair is destroyed at once, and not only put into
 * the error state and drained. When that call has returned the device touches no memory of
 * its transfers any more, whether or not a completion for each of them would ever come.
 * The remote side notices when it uses its own end the next time.
 *
 * Files of the plane, from bottom to top: rc_base.h has the types; notify the receives that
 * notifications take; end how ways end; queue cuts transfers into work requests; footprint
 * estimates what a way takes of memory; rc_plane.c has the table of functions. channel is apart:
 * memory that both ends of a channel have.
 */
#ifndef RI_RC_BASE_H
#define RI_RC_BASE_H

#include "../device/plane_common.h"

/* The address of a queue pair, by which another is connected with it. On the wire. (protocol.md
 * section 7) */
typedef struct ri_rc_address {
    uint8_t version; /* RI_RC_ADDRESS_VERSION */
    uint8_t link;    /* ri_ib_link_t */
    uint8_t mtu;     /* enum ibv_mtu */
    uint8_t rd_atomic;
    uint32_t qp;   /* 24 bits */
    uint32_t psn;  /* 24 bits: of the first packet that it sends */
    uint16_t lid;  /* InfiniBand */
    uint16_t pkey; /* of the queue pair's partition; 0: not known */
    uint8_t gid[16];
} __attribute__((packed)) ri_rc_address_t;

#define RI_RC_ADDRESS_VERSION 1

static_assert(sizeof(ri_rc_address_t) == RI_PLANE_ADDRESS_MAX, "wire format");

#if HAVE_VERBS

#include <assert.h>
#include <stdlib.h>

/* Work requests in one chain: more need no fewer doorbells that anybody would notice. */
#define RI_RC_CHAIN_MAX 256

/* Segments of a work request, for which every entry of a queue has room. */
#define RI_RC_SGE_MAX 16

/* How far a list of segments has been put into work requests. */
typedef struct ri_rc_cursor {
    const ri_segment_t *segment; /* the segment that comes next */
    const uint32_t *key;         /* of the next segment */
    uint64_t offset;             /* bytes of the next segment that are done */
} ri_rc_cursor_t;

/* A transfer that is under way. It is in the ops of its way, in order, until the last of its work
 * requests has ended; then in the plane's ended, until the user was told. */
typedef struct ri_rc_op {
    ucs_list_link_t list;
    ri_plane_op_t *user; /* is told of the end */
    struct ri_rc_ep *ep;
    enum ibv_wr_opcode opcode;
    ri_rc_cursor_t local;
    ri_rc_cursor_t remote;
    size_t left;        /* bytes that are in no work request yet */
    int is_long;        /* counts in long_writes of its way */
    int notify;         /* the last of its work requests carries the immediate */
    uint32_t immediate; /* if notify is set: what the remote side is told */
    void *lists;        /* own copies of segments and keys; NULL: the caller's are used */
    uint32_t end;       /* if left is 0: number of its last work request */
    ucs_status_t status; /* in the plane's ended: what the user is told */
} ri_rc_op_t;

typedef struct ri_rc_plane {
    ri_ib_plane_t ib; /* is_broken: nothing that was posted ends any more */
    struct ibv_cq *cq;
    unsigned depth;       /* work requests of one queue pair that may be under way */
    unsigned max_sge;     /* segments of a work request */
    unsigned capacity;    /* entries of cq */
    unsigned outstanding; /* work requests that may still have a completion in cq */
    unsigned dead;        /* work requests among `outstanding` whose queue pair is gone */
    ucs_list_link_t eps;
    ucs_list_link_t waiting; /* ways that have something to post, and no room */
    ucs_list_link_t failing; /* ways that are to end because a receive has failed */
    ucs_list_link_t ended;   /* operations whose users are to be told */
    ucs_list_link_t free_ops;
    void *op_blocks;        /* memory of all operations, a list */
    struct ibv_cq *recv_cq; /* of receives, see rc_notify.h; NULL: there are none */
    ri_plane_notified_func_t notified;
    unsigned recv_capacity; /* entries of recv_cq */
    unsigned recv_used;     /* receives that may still have a completion in recv_cq */
    int recv_is_broken;     /* recv_cq cannot be read */
    /* receives of a way that ends are waited for only shortly: others were in vain, or recv_cq has
     * failed */
    int recv_is_slow;
    int recv_is_short_told; /* the user has been told that a way has no receives */
    struct ibv_send_wr wrs[RI_RC_CHAIN_MAX];
    struct ibv_sge sges[RI_RC_CHAIN_MAX * RI_RC_SGE_MAX];
} ri_rc_plane_t;

/*
 * What a way is good for (ri_rc_ep_t.state). Legal changes:
 *
 *   INIT      -> CONNECTED   connect()
 *   INIT      -> FAILED      the device or a completion queue has failed, the device has another
 *                            address, or the way is disconnected
 *   CONNECTED -> FAILED      any reason that ends a way in INIT, or its queue pair, a transfer or a
 *                            receive has failed
 *
 * A way whose connecting has failed stays in INIT. FAILED is the end: the queue pair is destroyed.
 */
typedef enum ri_rc_state {
    RI_RC_INIT,      /* the end has a queue pair, which sends nothing */
    RI_RC_CONNECTED, /* transfers can be started */
    RI_RC_FAILED     /* the end has no queue pair any more */
} ri_rc_state_t;

typedef struct ri_rc_ep {
    ri_plane_ep_t super;
    ucs_list_link_t list;    /* in the plane's eps */
    ucs_list_link_t waiting; /* in the plane's waiting; empty: it is not in there */
    ucs_list_link_t failing; /* in the plane's failing; empty: it is not in there */
    ri_rc_state_t state;     /* changed by ri_rc_ep_set_state() */
    struct ibv_qp *qp;       /* NULL: FAILED */
    uint32_t id;
    unsigned moves;       /* ri_ib_address_t.moves when the way was prepared */
    uint32_t psn;         /* of the first packet that is sent */
    uint32_t remote_qp;   /* number of the remote queue pair, for log messages */
    uint32_t posted;      /* work requests ever, modulo 2^32 */
    uint32_t ended;       /* work requests that have ended, in order, modulo 2^32 */
    unsigned unsignalled; /* work requests posted since the last one that tells its end */
    unsigned max_inline;  /* bytes of a write that a work request itself can hold */
    ucs_list_link_t ops;  /* transfers under way, in order */
    ri_rc_op_t *next;     /* the first of ops that has something to post, or NULL */
    unsigned receives;    /* receives posted, and not known to have ended */
} ri_rc_ep_t;

/** @return The plane of a way. */
static inline ri_rc_plane_t *ri_rc_plane(const ri_rc_ep_t *ep)
{
    return ri_container_of(ep->super.plane, ri_rc_plane_t, ib.super);
}

/** Change the state of a way, as ri_rc_state_t allows it. */
static inline void ri_rc_ep_set_state(ri_rc_ep_t *ep, ri_rc_state_t state)
{
    assert((state == RI_RC_CONNECTED) ?
                   (ep->state == RI_RC_INIT) :
                   ((state == RI_RC_FAILED) && (ep->state != RI_RC_FAILED)));
    assert(ep->qp != NULL);
    ep->state = state;
}

/** A way is not among those that wait for room any more, if it was. */
static inline void ri_rc_ep_stop_waiting(ri_rc_ep_t *ep)
{
    ucs_list_del(&ep->waiting);
    ucs_list_head_init(&ep->waiting);
}

/** Give the memory of an operation back that is in no list. */
static inline void ri_rc_op_free(ri_rc_plane_t *plane, ri_rc_op_t *op)
{
    free(op->lists);
    ucs_list_add_head(&plane->free_ops, &op->list);
}

/** An operation of a way has ended: progress, or the end of the way, tells its user. */
static inline void ri_rc_op_end(ri_rc_plane_t *plane, ri_rc_op_t *op, ucs_status_t status)
{
    op->status = status;
    op->ep->super.long_writes -= op->is_long;
    ucs_list_del(&op->list);
    ucs_list_add_tail(&plane->ended, &op->list);
}

#endif

#endif
