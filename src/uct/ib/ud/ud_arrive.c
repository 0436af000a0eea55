/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What each type of control message is for: the receiver's questions and grants for sends, the
 * sender's questions for receives, and DONE for the list of receives that the sender may not know
 * to have ended.
 */
#include "ud_arrive.h"

#if HAVE_VERBS

#include "ud_control.h"
#include "ud_heard.h"
#include "ud_recv.h"
#include "ud_send.h"
#include "ud_way.h"

/* A datagram: wire input, from anybody. */
static void arrive(ri_ud_plane_t *plane, const struct ibv_wc *wc, const uint8_t *data)
{
    ri_ud_message_t message;
    ri_ud_ep_t *ep;
    uint32_t id;

    ep = NULL;
    if ((wc->byte_len >= RI_UD_GRH_SIZE) &&
        ri_ud_wire_unpack(data + RI_UD_GRH_SIZE, wc->byte_len - RI_UD_GRH_SIZE, &message,
                          &id)) {
        ep = ri_id_get(&plane->ib.ids, id);
    }
    if ((ep == NULL) || (ep->state != RI_UD_EP_CONNECTED) ||
        !ri_ud_way_is_from(ep, ep->control_qp, wc, data)) {
        ++plane->counters.ud_dropped;
        return;
    }
    ++ep->heard;
    switch (message.type) {
    case RI_UD_PROBE:
        ri_ud_recv_probe(ep, &message);
        break;
    case RI_UD_DONE:
        ri_ud_heard_done(ep, &message);
        break;
    default:
        ri_ud_send_message(ep, &message);
    }
}

void ri_ud_arrive_progress(ri_ud_plane_t *plane)
{
    ri_ud_control_poll(plane, arrive);
}

#endif
