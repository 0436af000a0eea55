/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "deliver_known.h"
#include "../../ucs/settings.h"
#include "../core/types/worker_types.h"

/* How far a message in a ring or channel may be ahead of the next one in order and still be
 * taken. UCX may hold that one back for as long as its sender calls no progress, and what is
 * taken early has to be kept. */
#define DELIVER_AHEAD 1024

int ri_deliver_known_has(const ri_stream_t *stream, uint32_t sn)
{
    const ri_msg_t *msg;

    if ((int32_t)(sn - stream->next_sn) < 0) {
        return 1;
    }
    ucs_list_for_each(msg, &stream->early, list) {
        if ((msg->sn == sn) && (msg->kind != RI_MSG_USED)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a message of that stream and number is in a list. */
static int deliver_is_among(const ucs_list_link_t *list, const ri_stream_t *stream,
                            uint32_t sn)
{
    const ri_msg_t *msg;

    ucs_list_for_each(msg, list, list) {
        if ((msg->stream == stream) && (msg->sn == sn)) {
            return 1;
        }
    }
    return 0;
}

int ri_deliver_known_is_matched(const ri_stream_t *stream, uint32_t sn)
{
    return ((int32_t)(sn - stream->next_sn) < 0) &&
           !deliver_is_among(&stream->worker->match.unexpected, stream, sn) &&
           !deliver_is_among(&stream->probed, stream, sn);
}

int ri_deliver_known_is_far_ahead(const ri_stream_t *stream, uint32_t sn)
{
    int32_t ahead = (int32_t)(sn - stream->next_sn);

    return (ahead > DELIVER_AHEAD) ||
           ((ahead > 0) && (stream->num_early >= ri_config.reorder_window));
}
