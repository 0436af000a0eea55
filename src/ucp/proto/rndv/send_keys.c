/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "send_keys.h"

#include <stdlib.h>
#include <string.h>

int ri_send_keys_register(ri_send_req_t *req, ri_keys_t *keys)
{
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    ri_peer_t *peer = req->conn->peer;
    size_t count;

    if (!ri_way_use_try(req->super.worker, peer)) {
        return 0;
    }
    count = ri_dt_segments(&req->data, segments, RI_WIRE_SEGMENTS_MAX);
    if (ri_keys_register_source(peer->way.ep->plane, segments, count, keys) != UCS_OK) {
        return 0;
    }
    req->way = peer->way.number;
    return 1;
}

int ri_send_keys_get(ri_send_req_t *req)
{
    ri_keys_t *keys = malloc(sizeof(*keys));

    if (keys == NULL) {
        return 0;
    }
    if (!ri_send_keys_register(req, keys)) {
        free(keys);
        return 0;
    }
    req->keys = keys;
    return 1;
}

unsigned ri_send_keys_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    return ((terms->plane & RI_PLANE_KEYS) && !ri_send_keys_get(req)) ?
                   RI_SEND_LACKS_KEYS :
                   0;
}

/* Behind the segments, which are complete. */
static void send_keys_put(const ri_send_req_t *req, ri_wire_rts_t *rts)
{
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
    size_t i;

    for (i = 0; i < req->keys->count; ++i) {
        keys[i] = req->keys->memory[i].remote_key;
    }
    rts->flags |= RI_WIRE_RTS_KEYS;
    rts->way = req->way;
    memcpy(&rts->segments[rts->num_segments], keys, i * sizeof(keys[0]));
}

void ri_send_keys_describe(const ri_send_req_t *req, ri_wire_rts_t *rts)
{
    rts->num_segments = ri_dt_segments(&req->data, rts->segments, RI_WIRE_SEGMENTS_MAX);
    if (req->keys != NULL) {
        send_keys_put(req, rts);
    }
}

void ri_send_keys_forget(ri_send_req_t *req)
{
    if (req->keys != NULL) {
        ri_keys_free(req->keys);
        req->keys = NULL;
    }
}
