/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a fetch is to the rest of the library, that is a way in which a receive gets the data of a
 * matched RTS or POOL, which is at the sender: the table that its file ends with. All tables are
 * listed in proto/table.h, proto/select.c chooses among them, and proto/fetch.c begins. A new fetch
 * is a file with a table, a line of the list, and a rule of the choice.
 */
#ifndef RI_FETCH_PROTO_H
#define RI_FETCH_PROTO_H

#include "types.h"
#include "msg_kind.h"

/* What the slot of a message says that both sides may copy (proto/coop/coop_recv.h). */
typedef struct ri_coop_named ri_coop_named_t;

/* What a fetch goes by, besides its receive and stream. */
typedef struct ri_fetch_terms {
    const ri_arrival_t *arrival; /* the RTS or POOL; its data is checked */
    const ri_coop_named_t *slot; /* that the RTS names; NULL: it names none */
} ri_fetch_terms_t;

/* What a fetch can lack, so that another one is chosen. */
typedef enum ri_fetch_lacks {
    RI_FETCH_LACKS_NOTHING,
    RI_FETCH_LACKS_SLOT, /* the slot cannot be used: it is as if the RTS named none */
    RI_FETCH_LACKS_PUT /* the sender cannot write the receive: it is as if it did not want to */
} ri_fetch_lacks_t;

typedef struct ri_fetch_proto {
    const char *name;

    /* ri_fetch_lacks_t: what UCS_ERR_NO_ELEM of `start` means. */
    uint8_t lacks;

    /**
     * Get the data into its receive, and tell the sender. The receive's info is set. What is to be
     * seen of that in counters, the fetch counts by itself.
     *
     * @return The status of the receive. UCS_INPROGRESS: it ends later. UCS_ERR_NO_ELEM, of a fetch
     *         that can lack something: it does, nothing was done, and another one is to be chosen.
     */
    ucs_status_t (*start)(ri_recv_req_t *recv, ri_stream_t *stream,
                          const ri_fetch_terms_t *terms);
} ri_fetch_proto_t;

#endif
