/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A fetch, as the rest of the library sees it: a method by which a receive gets the data of a
 * matched RTS or POOL, which is at the sender: the table that its file ends with. All tables are
 * listed in proto/table.h, proto/select.c chooses among them, and proto/fetch.c begins. A new fetch
 * is a file with a table, a line of the list, and a rule of the choice.
 */
#ifndef RI_FETCH_PROTO_H
#define RI_FETCH_PROTO_H

#include "types.h"
#include "msg_kind.h"

/* The slot of a message that both sides may copy (proto/coop/coop_recv.h). */
typedef struct ri_coop_named ri_coop_named_t;

/* The arguments of a fetch, besides its receive and stream. */
typedef struct ri_fetch_terms {
    const ri_arrival_t *arrival; /* the RTS or POOL; its data is checked */
    const ri_coop_named_t *slot; /* the slot that the RTS names; NULL: it names none */
} ri_fetch_terms_t;

/* The results by which a fetch is refused, so that another one is chosen. */
typedef enum ri_fetch_lacks {
    RI_FETCH_LACKS_NOTHING,
    RI_FETCH_LACKS_SLOT, /* the slot cannot be used: it is as if the RTS named none */
    /* the sender cannot write the receive: it is as if it did not want to */
    RI_FETCH_LACKS_PUT
} ri_fetch_lacks_t;

/* The table of a fetch. */
typedef struct ri_fetch_proto {
    const char *name; /* for debuggers */

    /* ri_fetch_lacks_t: what is lacking where `start` returns UCS_ERR_NO_ELEM. */
    uint8_t lacks;

    /**
     * Get the data into its receive, and tell the sender. The receive's info is set. The fetch
     * counts by itself what is to be seen of it in counters.
     *
     * @return The status of the receive. UCS_INPROGRESS: it ends later, by ri_recv_complete().
     *         UCS_ERR_NO_ELEM, if `lacks` is not NOTHING: that is lacking, nothing was done, and
     *         another fetch is to be chosen.
     */
    ucs_status_t (*start)(ri_recv_req_t *recv, ri_stream_t *stream,
                          const ri_fetch_terms_t *terms);
} ri_fetch_proto_t;

#endif
