/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions of a send above EAGER_THRESH before a protocol is chosen (tag/send.c): which of the
 * ways within the host come into question. These depend on what both processes have done of late,
 * and asking counts as a message there, so each send asks once. The rest of the choice
 * (proto/select.h) looks at nothing but what it is given.
 */
#ifndef RI_TAG_SEND_HOST_H
#define RI_TAG_SEND_HOST_H

#include "../core/worker.h"

/** The ways within the host that come into question for a message. All 0: none does. */
typedef struct ri_send_host {
    int several;   /* the message is one of several (core/row.h) */
    int exchanges; /* the message is part of an exchange (core/exchange.h) */
    int by_ring;   /* the ring is to take it */
} ri_send_host_t;

/** @return Whether a message of the peer stands in a ring to this worker; with @a is_long, one
 * above EAGER_THRESH. */
int ri_send_host_peer_sends(const ri_conn_t *conn, int is_long);

/** @return The number of the next message that the peer sends; 0 if it has sent none. */
uint32_t ri_send_host_next_of_peer(ri_peer_t *peer);

/**
 * Ask for a message that is about to be sent.
 *
 * @param has_ring    Its conn has a ring that takes messages.
 * @param host_plane  What the data plane within the host can do (RI_PLANE_*); 0: there is none.
 * @param may_wait    It need not end fast, so that others can be sent before it ends.
 *
 * @return What comes into question.
 */
ri_send_host_t ri_send_host_ask(const ri_send_req_t *req, int has_ring,
                                unsigned host_plane, int may_wait);

#endif
