/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coop_exchange.h"
#include "coop_methods.h"
#include "../../core/exchange.h"
#include "../../core/types/module.h"
#include "../../../ucs/clock.h"

#include <stdlib.h>

/* Methods of a message (coop_methods.h). */
enum {
    EXCHANGE_READ,
    EXCHANGE_WRITE
};

static ri_coop_methods_t *exchange_methods_new(void)
{
    ri_coop_methods_t *methods = calloc(1, sizeof(*methods));

    if (methods != NULL) {
        methods->biased = 1;
    }
    return methods;
}

int ri_coop_exchange_use(ri_coop_t *coop)
{
    ri_stream_t *stream = coop->stream;

    if (ri_coop_side_has_runs(coop) || !ri_exchange_also_sends(stream->peer)) {
        return 0;
    }
    if (stream->coop.exchange == NULL) {
        stream->coop.exchange =
                exchange_methods_new(); /* without memory for them, it reads */
    }
    coop->exchanged = 1;
    coop->by_writer = (stream->coop.exchange != NULL) &&
                      (ri_coop_methods_of(stream->coop.exchange, coop->memory.length) ==
                       EXCHANGE_WRITE);
    coop->matched_at = ri_clock_ticks();
    atomic_store_explicit(&coop->slot->method,
                          coop->by_writer ? RI_RING_SLOT_METHOD_WRITE :
                                            RI_RING_SLOT_METHOD_READ,
                          memory_order_release);
    return 1;
}

void ri_coop_exchange_leave(ri_coop_t *coop, int is_done)
{
    ri_coop_methods_t *methods = coop->stream->coop.exchange;

    if (methods == NULL) {
        return;
    }
    if (coop->exchanged && is_done) {
        ri_coop_methods_note(methods, coop->memory.length,
                             coop->by_writer ? EXCHANGE_WRITE : EXCHANGE_READ,
                             coop->matched_at);
    } else {
        methods->disturbed = 1;
    }
}

static void exchange_stream_freed(ri_stream_t *stream)
{
    free(stream->coop.exchange);
}

const ri_module_t ri_module_coop_exchange = {.name         = "coop_exchange",
                                             .stream_freed = exchange_stream_freed};
