/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cooperative copies under way: whose turn it is.
 */
#include "coop.h"
#include "coop_copy.h"
#include "coop_recv.h"
#include "coop_send.h"

/* While there is something to be read by the plane, one part in COOP_READS may be of a send. Where
 * parts come by a shelf, every second part may be, as both sides have to copy there. */
#define COOP_READS       16
#define COOP_READS_SHELF 2

/* The number of sends of a row that are looked at in a round, besides the one that is to be
 * written. */
#define COOP_ROW_LOOKS 4

/* @return One part in how many may be of a send: 1 if there is nothing to be read. */
static unsigned coop_reads(const ri_worker_t *worker)
{
    unsigned reads = 1;
    ri_coop_t *coop;

    ucs_list_for_each(coop, &worker->coop.list, list) {
        if (!coop->is_send && coop->takes) {
            return COOP_READS_SHELF;
        }
        if (!coop->is_send && !coop->exhausted &&
            (!coop->by_writer || (coop->in_vain >= ri_coop_side_patience(coop)))) {
            reads = COOP_READS;
        }
    }
    return reads;
}

/* Where messages go both ways each side does best to read its own. But a receiver that has
 * other things to do waits for its sender, so now and then sends have their turn. */
static int coop_is_turn_of_sends(ri_worker_t *worker)
{
    unsigned reads = coop_reads(worker);

    return (reads == 1) || (++worker->coop.turn % reads == 0);
}

/* A copy has ended. Calls back. */
static void coop_end(ri_coop_t *coop, ri_coop_state_t state)
{
    if (coop->is_send) {
        ri_coop_send_end(coop, state);
    } else {
        ri_coop_recv_end(coop, state);
    }
}

/* @return The newest send of a row whose receive is known, and of which nothing is claimed yet, or
 * which this side has begun to write; NULL: there is none. */
static ri_coop_t *coop_newest_of_row(const ri_worker_t *worker)
{
    const ucs_list_link_t *at;
    ri_coop_t *coop;

    for (at = worker->coop.list.prev; at != &worker->coop.list; at = at->prev) {
        coop = ucs_container_of(at, ri_coop_t, list);
        if (coop->is_send && ri_coop_send_learn_target(coop) && coop->in_row &&
            (ri_coop_side_is_untouched(coop) || (coop->begun && !coop->exhausted))) {
            return coop;
        }
    }
    return NULL;
}

/* The row of sends whose turn it is in a round. The pointers are only compared: callbacks of the
 * round may free what they point to. */
typedef struct coop_row_turn {
    const ri_coop_t *newest; /* the send that is to be written; NULL: there is none */
    const ri_conn_t *conn;   /* of newest */
    unsigned looked;         /* other sends of that conn's row that were looked at */
} coop_row_turn_t;

/* The rows when a round begins; only a round of sends writes. */
static coop_row_turn_t coop_row_turn(const ri_worker_t *worker, int sends)
{
    coop_row_turn_t turn = {.newest = sends ? coop_newest_of_row(worker) : NULL};

    turn.conn = (turn.newest != NULL) ? turn.newest->send->conn : NULL;
    return turn;
}

/* Whether a side is a send of a row while another one is to be written. */
static int coop_is_behind(const ri_coop_t *coop, const coop_row_turn_t *turn)
{
    return coop->is_send && coop->in_row && (turn->newest != NULL) &&
           (coop != turn->newest);
}

/* Whether a round passes such a send by: of those of one conn it is enough to see what has become
 * of the oldest ones, which the receiver reads. */
static int coop_passes(const ri_coop_t *coop, coop_row_turn_t *turn)
{
    return coop_is_behind(coop, turn) && (coop->send->conn == turn->conn) &&
           (++turn->looked > COOP_ROW_LOOKS);
}

/* One round, from the oldest: callbacks may end others, or add some. One part in all is copied, of
 * a send or of a receive, so that the caller has its turn. @return Number of events. */
static unsigned coop_round(ri_worker_t *worker, int sends)
{
    coop_row_turn_t turn = coop_row_turn(worker, sends);
    unsigned count       = worker->num_coops;
    unsigned events      = 0;
    ri_coop_state_t state;
    ri_coop_t *coop;

    worker->coop.next = worker->coop.list.next;
    for (; (count > 0) && (worker->coop.next != &worker->coop.list); --count) {
        coop              = ucs_container_of(worker->coop.next, ri_coop_t, list);
        worker->coop.next = coop->list.next;
        if (coop_passes(coop, &turn) ||
            (coop->is_send && !ri_coop_send_learn_target(coop))) {
            continue;
        }
        state = ri_coop_copy_step(coop, (events == 0) && (coop->is_send == sends) &&
                                                !coop_is_behind(coop, &turn));
        if (state == RI_COOP_WAITS) {
            continue;
        }
        ++events;
        if (ri_coop_side_has_ended(state)) {
            coop_end(coop, state);
        }
    }
    return events;
}

unsigned ri_coop_progress(ri_worker_t *worker)
{
    int sends       = coop_is_turn_of_sends(worker);
    unsigned events = coop_round(worker, sends);

    /* The others, if those whose turn it was wait for the other side */
    return (events == 0) ? coop_round(worker, !sends) : events;
}
