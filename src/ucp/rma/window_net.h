/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How processes of a window of MPI that are on several hosts reach each other: by a worker of UCX
 * that is this library's own. The MPI's worker, and what the MPI asks UCX for, stay as they are.
 * The worker is made with the first such window, and ends with the last worker of the MPI, as
 * others may write to it until then. It makes progress whenever a worker of the MPI looks at its
 * network.
 *
 * All of it is under one lock. Functions without "lock" in their contract take it.
 */
#ifndef RI_WINDOW_NET_H
#define RI_WINDOW_NET_H

#include "../../ucs/stock.h"

#include <ucs/datastruct/list.h>

#include <stdatomic.h>
#include <stdint.h>

/* The one active message of the worker (window_net_message.h). */
#define RI_WINDOW_NET_AM_ID 0

/* Another process. */
typedef struct ri_window_net_peer {
    ucs_list_link_t list;
    uint64_t uid;         /* of its worker */
    ucp_ep_h ep;          /* NULL: nothing was sent to it */
    unsigned users;       /* windows that both processes have */
    int is_wired;         /* something has been there and back */
    _Atomic(int) is_gone; /* UCX has reported that it cannot be reached */
    uint8_t address[];    /* of its worker */
} ri_window_net_peer_t;

/* Whether there is the worker. */
extern _Atomic(int) ri_window_net_is_there;

/* The functions that the worker calls, with the lock held. */
typedef struct ri_window_net_hooks {
    ucp_am_recv_callback_t message; /* for RI_WINDOW_NET_AM_ID */
    unsigned (*serve)(void);        /* in progress; returns how much was done */
    void (*drop)(void);             /* the worker ends */
} ri_window_net_hooks_t;

/** Make the worker, unless it is there. @return Whether it is there. */
int ri_window_net_start(const ri_window_net_hooks_t *hooks);

/** End the worker, and all endpoints. What uses it afterwards fails. */
void ri_window_net_end(void);

/** Lock what belongs to the worker. */
void ri_window_net_lock(void);

/** Unlock it. */
void ri_window_net_unlock(void);

/** @return The context of the worker. The lock is held, and the worker is there. */
ucp_context_h ri_window_net_context(void);

/** Set @a address_p to the address of the worker, which stays the worker's, and @a length_p to its
 * length. The lock is held, and the worker is there. */
void ri_window_net_address(const void **address_p, size_t *length_p);

/** @return The number of the worker. The lock is held, and the worker is there. */
uint64_t ri_window_net_uid(void);

/** @return The peer with a number, which is wire input, or NULL. The lock is held. */
ri_window_net_peer_t *ri_window_net_find_peer(uint64_t uid);

/** One more user of a peer. The lock is held, and the worker is there. @return NULL: there is no
 * memory. */
ri_window_net_peer_t *ri_window_net_get_peer(uint64_t uid, const void *address,
                                             size_t length);

/** One user less. The lock is held. */
void ri_window_net_put_peer(ri_window_net_peer_t *peer);

/** UCX has reported that a peer cannot be reached: it is gone from now on. */
void ri_window_net_peer_fails(ri_window_net_peer_t *peer, ucs_status_t status);

/** @return The endpoint of a peer, which is made if it is not there; NULL: it cannot be made. The
 * lock is held. */
ucp_ep_h ri_window_net_ep(ri_window_net_peer_t *peer);

/** What ri_window_net_progress() does if there is the worker. @return Number of events. */
unsigned ri_window_net_progress_worker(void);

/** Make progress, unless another thread does. @return Number of events. */
static inline unsigned ri_window_net_progress(void)
{
    return ri_unlikely(
                   atomic_load_explicit(&ri_window_net_is_there, memory_order_relaxed)) ?
                   ri_window_net_progress_worker() :
                   0;
}

#endif
