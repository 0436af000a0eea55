/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "window_net_message.h"

#include <stdlib.h>
#include <string.h>

/* A message until UCX does not need it any more. */
typedef struct net_sent {
    uint64_t to; /* number of the peer */
    ri_window_net_head_t head;
    uint8_t data[];
} net_sent_t;

/* Whoever does not get a message, or the answer to it, may wait for that: the peer is gone then. */
static void net_sent_end(void *request, ucs_status_t status, void *user_data)
{
    const net_sent_t *sent = user_data;
    ri_window_net_peer_t *peer;

    if (status != UCS_OK) {
        peer = ri_window_net_find_peer(sent->to); /* may have gone meanwhile */
        if (peer != NULL) {
            ri_window_net_peer_fails(peer, status);
        }
    }
    free(user_data);
    ri_stock.request_free(request);
}

ucs_status_t ri_window_net_message_send(const ri_window_net_peer_t *peer,
                                        const ri_window_net_head_t *head,
                                        const void *data, size_t length)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS |
                                                 UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
                                 .flags   = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = net_sent_end};
    net_sent_t *sent          = malloc(sizeof(*sent) + length);
    ucs_status_ptr_t request;

    if (sent == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    sent->to       = peer->uid;
    sent->head     = *head;
    sent->head.uid = ri_window_net_uid();
    if (length > 0) {
        memcpy(sent->data, data, length);
    }
    param.user_data = sent;
    request         = ri_stock.am_send_nbx(peer->ep, RI_WINDOW_NET_AM_ID, &sent->head,
                                           sizeof(sent->head), sent->data, length, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        free(sent);
    }
    return UCS_PTR_IS_ERR(request) ? UCS_PTR_STATUS(request) : UCS_OK;
}

ri_window_command_t ri_window_net_message_undo(const ri_window_command_t *command)
{
    ri_window_command_t undo = *command;

    switch (command->kind) {
    case RI_WINDOW_COMMAND_ENTER:
    case RI_WINDOW_COMMAND_JOIN:
        undo.kind = RI_WINDOW_COMMAND_LEAVE;
        break;
    case RI_WINDOW_COMMAND_LOCK:
        undo.kind = RI_WINDOW_COMMAND_UNLOCK;
        break;
    default:
        undo.kind = RI_WINDOW_COMMAND_KINDS;
    }
    return undo;
}
