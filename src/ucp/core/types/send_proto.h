/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A protocol of sends, as the rest of the library sees it: the table that its file ends with. All
 * tables are listed in proto/table.h, and proto/select.c chooses among them. A new protocol is a
 * file with a table, a line of the list, and a rule of the choice.
 *
 * The steps of a send, in tag/send.c: choose -> take -> id and number -> start. What a protocol
 * keeps for a request from `take` on, in req->proto_state or as req->keys, is let go of by
 * `forget`, whatever the request ends by.
 */
#ifndef RI_SEND_PROTO_H
#define RI_SEND_PROTO_H

#include "../notes/counters.h"
#include "select_types.h"
#include "types.h"

#include <stddef.h>

/* The arguments of a send, besides its request. */
typedef struct ri_send_terms {
    const ucp_request_param_t *param; /* of the application's call */
    const ri_rtr_t *rtr;              /* the RTR for the message; NULL: there is none */
    unsigned plane; /* RI_PLANE_* of the plane that was chosen; 0: none */
    int sync;       /* the send is synchronous: it completes when it was matched */
} ri_send_terms_t;

/* The results of `take`: how a protocol refuses a send, so that another one is chosen. */
enum {
    RI_SEND_LACKS_RTR  = 1 << 0, /* the RTR cannot be used (any more) */
    RI_SEND_LACKS_POOL = 1 << 1, /* the pool has no buffer that the plane can reach */
    RI_SEND_LACKS_KEYS = 1 << 2, /* the way through the network does not reach the data */
    RI_SEND_LACKS_SLOT = 1 << 3  /* the ring has no slot that is free */
};

/* Whether the receiver answers, and so has to be told the id of the request. */
typedef enum ri_send_answer {
    RI_SEND_ANSWER_IF_SYNC, /* if the send is synchronous */
    RI_SEND_ANSWER_NEVER,
    RI_SEND_ANSWER_ALWAYS
} ri_send_answer_t;

/* A question of the sender after a message, for the sake of later messages. */
typedef enum ri_send_asks {
    RI_SEND_ASKS_NOTHING,
    RI_SEND_ASKS_ID, /* the id of the stream, as the message went by a route that needs none */
    RI_SEND_ASKS_PLANE /* a data plane */
} ri_send_asks_t;

/* The table of a protocol. */
typedef struct ri_send_proto {
    const char *name; /* for debuggers */
    /* what users know it as, at most 7 letters; protocols that are one to them share it */
    const char *called;

    /* A choice in words for users, see proto/select_why.h. */
    const char *moves;     /* what moves the message: a few words */
    const char *moves_net; /* what moves it through a network; NULL: `moves` says it */
    const char *because;   /* why it is chosen, whenever it is; NULL: `why` says it */

    /** @return Why it is chosen for a message with @a facts, for which it was chosen. NULL: for
     * want of a better one, so proto/select_why.c finds out what kept the others out. */
    const char *(*why)(const ri_select_param_t *facts);

    /* ri_wire_type_t of what starts the message; 0: EAGER, or EAGER_SYNC if it has an id. */
    uint8_t wire_type;
    uint8_t answer; /* ri_send_answer_t */
    uint8_t asks;   /* ri_send_asks_t */

    /* The message takes no number: it goes to the own worker, and is matched within `start`. */
    uint8_t unnumbered;

    /* The message itself goes through the ring. */
    uint8_t by_ring;

    /* Where in ri_conn_counters_t its messages and bytes are counted, see RI_SEND_COUNTS; 0: it
     * counts them by itself. */
    uint16_t messages;
    uint16_t bytes;

    /**
     * Get what the protocol needs for @a req, which has no number yet. A protocol that writes the
     * receiver's memory before it sends anything does so here: if that fails, another one is
     * chosen. NULL: it needs nothing.
     *
     * @return 0, or RI_SEND_LACKS_*; then nothing is kept for the request.
     */
    unsigned (*take)(ri_send_req_t *req, const ri_send_terms_t *terms);

    /**
     * Send. The request has its number, its wire_type and, if the receiver answers, its id.
     *
     * @return UCS_OK: it is complete. UCS_INPROGRESS: it waits for what req->waiting says. An
     *         error: it was not sent; if the conn failed meanwhile, which calls back, req->conn is
     *         NULL, and the conn may be gone.
     */
    ucs_status_t (*start)(ri_send_req_t *req, const ri_send_terms_t *terms);

    /** FIN or NACK has come: the receiver is done with what the request keeps for it alone. NULL:
     * that is nothing. */
    void (*answered)(ri_send_req_t *req);

    /** The request ends, or could not be started: let go of all that is kept for the request.
     * NULL: that is nothing. */
    void (*forget)(ri_send_req_t *req);

    /** The conn has lost a later number and sends nothing more, and the peer may need the memory of
     * the send: @return whether that waits for the peer. NULL: it does. */
    int (*outlives_loss)(const ri_send_req_t *req);

    /** @return Whether the send can complete within the call, as FORCE_IMM_CMPL demands. Asked
     * before and after `take`. NULL: it cannot. */
    int (*can_end_now)(const ri_send_req_t *req);

    /** @return Whether the message is a write that carries its own notification, which also tells
     * of earlier writes that the receiver was not told of (RI_CONN_UNTOLD). NULL: it is not. */
    int (*tells_itself)(const ri_send_terms_t *terms);
} ri_send_proto_t;

/* The counters of a protocol, for use in its table. @a _name is the counter of messages; the
 * counter of bytes has the same name and _bytes. */
#define RI_SEND_COUNTS(_name) \
    .messages = offsetof(ri_conn_counters_t, _name), \
    .bytes    = offsetof(ri_conn_counters_t, _name##_bytes)

#endif
