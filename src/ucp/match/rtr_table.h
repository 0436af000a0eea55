/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receives of a conn's receiver, as far as its sender knows them: the RTRs that wait for their
 * message, and a log of the latest messages, because an RTR speaks of a moment that is past when it
 * arrives. Says which message an RTR is for, and moves nothing. (protocol-rndv.md section 3.2)
 *
 * An RTR says: the receive takes the (ahead + 1)-th message behind number `seen` that fits
 * its tag and mask. Of those that were sent already the log knows the tags; each one that is
 * sent while the RTR waits counts it down.
 */
#ifndef RI_RTR_TABLE_H
#define RI_RTR_TABLE_H

#include "../core/types/conn_types.h"
#include "../../uct/shm/ring.h"

/* Messages that the log goes back. An RTR that has seen less is dropped. */
#define RI_RTR_WINDOW 256

/* A receiver has no more RTRs out than its ring has grants. */
#define RI_RTR_MAX RI_RING_GRANTS

/* The only list of the kinds of RTRs, by how one came and what it says: number, table, file of the
 * table, which proto/table.h declares. */
/* clang-format off */
#define RI_RTR_KINDS(_k) \
    _k(GRANT, grant) /* rtr_send_host.c: by ring: an address, perhaps a grid or a layout */ \
    _k(KEY, key)     /* rtr_send_net.c: by message: as GRANT, with a key */ \
    _k(UD, ud)       /* rtr_send_ud.c: by message: a target of ud (conn->rtr.targets) */
/* clang-format on */

typedef enum ri_rtr_kind {
#define RI_RTR_KIND_NUMBER(_number, _table) RI_RTR_##_number,
    RI_RTR_KINDS(RI_RTR_KIND_NUMBER)
#undef RI_RTR_KIND_NUMBER
    RI_RTR_KIND_LAST
} ri_rtr_kind_t;

/* Questions of the sender of a message about an RTR, by its kind. Each table is at the end of the
 * file that takes RTRs of the kind. */
typedef struct ri_rtr_ops {
    /** @return The room of the receive; 0: the message of @a req cannot use the RTR. */
    uint64_t (*room)(const ri_send_req_t *req, const ri_rtr_t *rtr);

    uint8_t by_net; /* RTRs of the kind come through a network */
} ri_rtr_ops_t;

/* By ri_rtr_kind_t. (proto/table.c) */
extern const ri_rtr_ops_t *const ri_rtr_ops[RI_RTR_KIND_LAST];

/* A receive that may be written. */
struct ri_rtr {
    uint64_t tag;
    uint64_t mask;
    uint64_t address; /* not UD */
    uint64_t length;
    uint32_t recv_id; /* the receiver's */
    uint32_t ahead;   /* messages that fit and are let pass first */
    uint32_t generation;
    uint16_t index; /* of its grant, or entry */
    uint16_t kind;  /* ri_rtr_kind_t */
    /* in the ring that the RTR came by; through a network: the conn's own */
    ri_ring_grant_t *grant;
    uint32_t seen; /* by message: as it came */
    uint32_t key;  /* KEY: for the memory */
    uint32_t way;  /* by message: number of the way that the RTR is for */
    /* of a receive in regular runs: GRANT: in stream->rtr.grids, KEY: in conn->rtr.grids; else
     * NULL */
    const ri_wire_grid_t *grid;
    /* of a receive in other runs: GRANT: in stream->rtr.ring_layouts_in, KEY: in
     * conn->rtr.net_layouts_in; else NULL */
    const ri_layout_use_t *layout;
};

/** @return Whether an RTR is of a receive in runs. */
static inline int ri_rtr_table_is_in_runs(const ri_rtr_t *rtr)
{
    return (rtr->grid != NULL) || (rtr->layout != NULL);
}

/* A message that was sent. */
typedef struct ri_sent {
    uint64_t tag;
    uint32_t req_id; /* of an RTS: its request, which may be done; else 0 */
} ri_sent_t;

/* An RTR whose message was announced before, and so is the receiver's to read. If it does
 * not, because it is not in the library, the sender may still write. */
typedef struct ri_rtr_late {
    ri_rtr_t rtr;
    uint32_t sn; /* of the message */
    uint32_t req_id;
    double since; /* when the RTR came */
} ri_rtr_late_t;

struct ri_rtr_table {
    int expected; /* number of long messages that may go without an RTR while RTRs are expected */
    unsigned num_waiting;
    unsigned num_late;
    uint32_t first_sn; /* the oldest number in the log, which has RI_RTR_WINDOW at most */
    uint32_t last_sn;  /* the latest number in the log */
    ri_rtr_t waiting[RI_RTR_MAX];
    ri_rtr_late_t late[RI_RTR_MAX];
    ri_sent_t sent[RI_RTR_WINDOW]; /* by number, modulo the window */
};

/* The fate of an RTR that arrives. */
typedef enum ri_rtr_fate {
    RI_RTR_WAITS,   /* for a message to come: it is in the table now */
    RI_RTR_DROPPED, /* for nothing */
    RI_RTR_FOR_RTS  /* a message that was sent as RTS and may be open still */
} ri_rtr_fate_t;

/** Empty the table, which may be new memory; the log starts behind number @a last_sn. */
void ri_rtr_table_reset(ri_rtr_table_t *table, uint32_t last_sn);

/** @return Whether the RTR can be used still: neither has the receiver withdrawn it nor this side
 * used it. */
int ri_rtr_table_is_out(const ri_rtr_t *rtr);

/** Use an RTR: take the right to write. Of this call and the receiver's withdrawal only the first
 * one succeeds. @return 1: the sender has the right. 0: the receiver has withdrawn the RTR, or it
 * was used before. */
int ri_rtr_table_use(const ri_rtr_t *rtr);

/** Say in the word of a used RTR what became of it: RI_RING_GRANT_WRITTEN, FAILED or SLOT. All that
 * was written before is seen by a receiver that reads this. The word of an RTR through a network is
 * the conn's own; a REVOKE is answered by it. */
void ri_rtr_table_end(const ri_rtr_t *rtr, uint32_t state);

/** Note an RTR through a network, in the word of its entry, which is the conn's own: OUT, or FREE
 * if it was withdrawn before it came. The generation before is over, whatever became of it. @return
 * 0, with nothing changed, if the word knows this generation or a later one. */
int ri_rtr_table_note(ri_ring_grant_t *grant, uint32_t generation, uint32_t state);

/** Find the RTR for the message that is sent next, if that has @a tag. RTRs that cannot be used any
 * more leave the table. @return The RTR, which is valid until the table changes; NULL if there is
 * none. */
const ri_rtr_t *ri_rtr_table_find(ri_rtr_table_t *table, uint64_t tag);

/** The slow part of @ref ri_rtr_table_send: count down the RTRs that @a tag fits. */
void ri_rtr_table_count(ri_rtr_table_t *table, uint64_t tag);

/**
 * A message takes the next number: enter it into the log, and count down the RTRs that it
 * fits. The one that is its own leaves the table, used or not.
 *
 * @param req_id  Of the request of an RTS, else 0.
 */
static inline void ri_rtr_table_send(ri_rtr_table_t *table, uint32_t sn, uint64_t tag,
                                     uint32_t req_id)
{
    table->sent[sn % RI_RTR_WINDOW] = (ri_sent_t){tag, req_id};
    table->last_sn                  = sn;
    if (ri_unlikely(sn - table->first_sn >= RI_RTR_WINDOW)) {
        table->first_sn = sn - RI_RTR_WINDOW + 1;
    }
    if (table->num_waiting > 0) {
        ri_rtr_table_count(table, tag);
    }
}

/** A message has taken number conn->tx_sn: note it as ri_rtr_table_send() does, if the conn has a
 * table.
 * @param req_id  Of the request of an RTS, else 0. */
static inline void ri_rtr_table_log(ri_conn_t *conn, uint64_t tag, uint32_t req_id)
{
    if (ri_unlikely(conn->rtr.table != NULL)) {
        ri_rtr_table_send(conn->rtr.table, conn->tx_sn, tag, req_id);
    }
}

/**
 * An RTR has arrived: find the message that it is for.
 *
 * @param rtr     As the receiver has sent it. It is copied.
 * @param seen    The receiver had matched all numbers up to this one.
 * @param sn      Set for RI_RTR_FOR_RTS: the message's number.
 * @param req_id  Set for RI_RTR_FOR_RTS: the message's request, unless that is done and the id
 *                another one's.
 *
 * @return RI_RTR_DROPPED also if the table is full, or the log does not go back so far.
 */
ri_rtr_fate_t ri_rtr_table_add(ri_rtr_table_t *table, const ri_rtr_t *rtr, uint32_t seen,
                               uint32_t *sn, uint32_t *req_id);

/** Keep a copy of an RTR whose message was announced by RTS before. Without room it is dropped. */
void ri_rtr_table_add_late(ri_rtr_table_t *table, const ri_rtr_late_t *late);

/** Take out a late RTR that came at the time @a until or before, and write it to @a late. @return
 * Whether there was one. */
int ri_rtr_table_pop_late(ri_rtr_table_t *table, double until, ri_rtr_late_t *late);

/** The ring that RTRs came by is gone or about to go, and with it their grants: forget those RTRs.
 * @param control  The first pages of the ring; only its address matters. */
void ri_rtr_table_drop(ri_rtr_table_t *table, const ri_ring_control_t *control);

#endif
