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
 * What cuts transfers into work requests is in rc_queue.c, the receives that notifications
 * take in rc_notify.c.
 */
#ifndef RI_RC_H
#define RI_RC_H

#include "device.h"
#include "../api/plane.h"

/* What a queue pair needs to be connected with another. On the wire. (protocol.md section 7) */
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

#include "../../ucs/id_table.h"

/* Work requests in one chain: more need no fewer doorbells that anybody would notice. */
#define RI_RC_CHAIN_MAX 256

/* Segments of a work request. Every entry of a queue has room for so many. */
#define RI_RC_SGE_MAX 16

/* Where a list of segments stands. */
typedef struct ri_rc_cursor {
    const ri_segment_t *segment;
    const uint32_t *key;
    uint64_t offset; /* within the segment */
} ri_rc_cursor_t;

/* A transfer that is under way. In the ops of its way, in order, until the last of its work
 * requests has ended, then in those that have ended until that was told. */
typedef struct ri_rc_op {
    ucs_list_link_t list;
    ri_plane_op_t *user;
    struct ri_rc_ep *ep;
    enum ibv_wr_opcode opcode;
    ri_rc_cursor_t local;
    ri_rc_cursor_t remote;
    size_t left; /* bytes that are in no work request yet */
    int is_long; /* counts in long_writes */
    int notify;  /* the last of its work requests has... */
    uint32_t immediate;
    void *lists;  /* copies of what describes them; NULL: the caller's own serve */
    uint32_t end; /* if nothing is left: number of its last work request */
    ucs_status_t status;
} ri_rc_op_t;

typedef struct ri_rc_plane {
    ri_plane_t super;
    ri_ib_device_t *device;
    struct ibv_cq *cq;
    int is_broken;        /* a completion queue, or the device, is of no use any more */
    unsigned depth;       /* work requests of one queue pair that may be under way */
    unsigned max_sge;     /* of each */
    unsigned capacity;    /* of the completion queue */
    unsigned outstanding; /* work requests that may still have a completion there */
    unsigned dead;        /* those among them whose queue pair is gone */
    ri_id_table_t ids;    /* of eps; no completion names one that is gone */
    ucs_list_link_t eps;
    ucs_list_link_t waiting; /* eps that have something to post, and no room */
    ucs_list_link_t failing; /* eps that are to end because a receive has failed */
    ucs_list_link_t ended;   /* operations, to be told */
    ucs_list_link_t free_ops;
    void *op_blocks;        /* memory of all operations, a list */
    struct ibv_cq *recv_cq; /* of receives, see rc_notify.h; NULL: there are none */
    ri_plane_notified_func_t notified;
    unsigned recv_capacity; /* of recv_cq */
    unsigned recv_used;     /* receives that may still have a completion there */
    int recv_is_broken;     /* it cannot be read */
    int recv_is_slow;       /* receives have been waited for in vain */
    int recv_is_short_told; /* that a way has none */
    ri_ib_events_seen_t events_seen;
    struct ibv_send_wr wrs[RI_RC_CHAIN_MAX];
    struct ibv_sge sges[RI_RC_CHAIN_MAX * RI_RC_SGE_MAX];
} ri_rc_plane_t;

/* INIT: prepared, or its connecting failed. FAILED: there is no queue pair any more. */
typedef enum ri_rc_state {
    RI_RC_INIT,
    RI_RC_CONNECTED,
    RI_RC_FAILED
} ri_rc_state_t;

typedef struct ri_rc_ep {
    ri_plane_ep_t super;
    ucs_list_link_t list;
    ucs_list_link_t waiting; /* of the plane; empty: it is not in there */
    ucs_list_link_t failing; /* likewise */
    ri_rc_state_t state;
    struct ibv_qp *qp;
    uint32_t id;
    unsigned moves; /* of the address when it was prepared */
    uint32_t psn;
    uint32_t remote_qp;   /* for messages */
    uint32_t posted;      /* work requests ever, modulo 2^32 */
    uint32_t ended;       /* those whose end is known; they end in order */
    unsigned unsignalled; /* posted since the last one that tells its end */
    unsigned max_inline;  /* bytes of a write that a work request itself can hold */
    ucs_list_link_t ops;
    ri_rc_op_t *next;  /* the first of ops that has something to post */
    unsigned receives; /* posted, and not known to have ended */
} ri_rc_ep_t;

#endif

#endif
