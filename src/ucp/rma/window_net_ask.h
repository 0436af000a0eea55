/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A reach through the network, and what is asked for by it. What is asked for is numbered, and the
 * number stands in the answer.
 *
 * Functions without "lock" in their contract take the lock of the worker (window_net.h) where they
 * need it.
 */
#ifndef RI_WINDOW_NET_ASK_H
#define RI_WINDOW_NET_ASK_H

#include "window_net.h"
#include "window_net_message.h"

/* A process tells of its memory: this, the address of its worker, and the remote key. */
typedef struct ri_window_net_told {
    uint64_t uid;
    uint64_t region;
    uint64_t base;
    uint32_t address_length;
    uint32_t key_length; /* 0: there is no memory, or it comes and goes */
} ri_window_net_told_t;

/* A reach through the network: what leads to the memory of a window that a process of another host
 * has. */
typedef struct ri_window_net_reach {
    ri_window_net_peer_t *peer;
    ucp_rkey_h key;                /* NULL: not unpacked, or there is none */
    _Atomic(unsigned) num_moves;   /* puts and gets that UCX has not ended */
    _Atomic(unsigned) num_flushes; /* flushes of UCX that have not ended */
    _Atomic(unsigned) num_asked;   /* operations and commands that are not answered */
    _Atomic(int) is_dirty; /* no flush has begun since all that was put has ended */
    _Atomic(int)
            lost; /* ri_window_fate_t of operations that were POSTED and have failed */
    ucs_list_link_t
            asked; /* questions that are not answered, in the order in which they were asked */
    const uint8_t *packed_key; /* in the bytes behind `told` */
    ri_window_net_told_t told; /* the message of the process, with the bytes behind it */
} ri_window_net_reach_t;

/* Operations under way by one reach, until some have ended. */
#define RI_WINDOW_NET_DEPTH 512

/* How a thread waits for an answer: wait() is called until it is there, and ends the wait with
 * anything but 0. */
typedef struct ri_window_net_patience {
    int (*wait)(void *arg);
    void *arg;
} ri_window_net_patience_t;

/** Connect, if that was not done. The lock is held. @return The endpoint, or NULL. */
ucp_ep_h ri_window_net_ask_open(ri_window_net_reach_t *reach);

/** Pause between two looks of a process that waits: @a arg is the number of looks, an unsigned.
 * @return 0. */
int ri_window_net_ask_pause(void *arg);

/** Wait until less than @a most are left of what is counted. If the peer is gone, it is waited for
 * a short time, in which UCX ends what it has. */
void ri_window_net_ask_wait(ri_window_net_reach_t *reach, _Atomic(unsigned) *count,
                            unsigned most);

/** Note that an operation that was POSTED has failed. */
void ri_window_net_ask_lose(ri_window_net_reach_t *reach, ri_window_fate_t fate);

/** @return How what was POSTED has ended: a failure is told once. */
ri_window_fate_t ri_window_net_ask_take_loss(ri_window_net_reach_t *reach);

/** @return Why an operation cannot be asked for: the peer has gone, or it cannot be sent. */
ri_window_fate_t ri_window_net_ask_why_unreachable(const ri_window_net_reach_t *reach);

/** Ask and do not wait. It is counted in @a count of the reach until it is answered, and the
 * result, of head->head.length bytes, is written to @a result then, unless that is NULL. @return
 * POSTED, FAILED or GONE. */
ri_window_fate_t ri_window_net_ask_post(ri_window_net_reach_t *reach,
                                        ri_window_net_head_t *head, const void *data,
                                        size_t length, void *result,
                                        _Atomic(unsigned) *count);

/** Ask and wait for the answer, with a result of at most @a length bytes. A command to take
 * something that is given up is undone when it is carried out. @return How it has ended. */
ri_window_fate_t ri_window_net_ask_request(ri_window_net_reach_t *reach,
                                           ri_window_net_head_t *head, const void *data,
                                           size_t data_length, void *result,
                                           size_t length,
                                           const ri_window_net_patience_t *patience);

/** An answer of a peer: wire input. The lock is held. */
void ri_window_net_ask_answered(const ri_window_net_peer_t *peer,
                                const ri_window_net_head_t *head, const void *data,
                                size_t length);

/** Forget what was asked for and is not answered. The lock is held. */
void ri_window_net_ask_forget(ri_window_net_reach_t *reach);

#endif
