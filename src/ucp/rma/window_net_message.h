/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of processes of a window on several hosts to each other, as active messages of the
 * worker that is there for it. One asks, and the other one answers when it is done. All of it is
 * wire input.
 */
#ifndef RI_WINDOW_NET_MESSAGE_H
#define RI_WINDOW_NET_MESSAGE_H

#include "window_net.h"
#include "../core/types/window_ops.h"

#include <assert.h>

typedef enum ri_window_net_kind {
    RI_WINDOW_NET_ASK,     /* an operation, with its data: for apply() of the server */
    RI_WINDOW_NET_COMMAND, /* a command, as data: for command() of the server */
    RI_WINDOW_NET_SAY,     /* a command, as data, that is not answered */
    RI_WINDOW_NET_ANSWER,  /* with the result of an operation as data */
    RI_WINDOW_NET_NOTHING  /* only to see whether it gets there */
} ri_window_net_kind_t;

/* The header of the message. */
typedef struct ri_window_net_head {
    uint32_t kind;  /* ri_window_net_kind_t */
    uint32_t id;    /* of what is asked, by the one that asks */
    int32_t result; /* of an answer: bytes of the result, or below 0: it was not done */
    uint32_t reserved;
    uint64_t uid; /* of the worker that it comes from, which the answer goes to */
    ri_mailbox_head_t head; /* of an operation; of a command only its region */
} ri_window_net_head_t;

static_assert(sizeof(ri_window_net_head_t) == 48, "wire format");

/* The most data of a message: operations on more than RI_MAILBOX_DATA bytes are done piece by
 * piece. */
#define RI_WINDOW_NET_DATA ((size_t)32768)

/** @return The command that gives back what a command takes; its kind is RI_WINDOW_COMMAND_KINDS if
 * that takes nothing. */
ri_window_command_t ri_window_net_message_undo(const ri_window_command_t *command);

/** Send a message to a peer, whose endpoint is there. Header, but for the uid, and data are copied.
 * The lock of the worker is held. A peer to which UCX fails to send what it has taken is gone.
 * @return What UCX says. */
ucs_status_t ri_window_net_message_send(const ri_window_net_peer_t *peer,
                                        const ri_window_net_head_t *head,
                                        const void *data, size_t length);

#endif
