/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of other processes of the host, for one-sided operations: one plane of this process
 * (uct/cma), whatever contexts and workers it has, as a packed key belongs to none of them. All keys
 * of one process share a way to it.
 *
 * The plane is opened when it is first asked for, and stays. A child by fork() opens its own. Any
 * thread may call.
 */
#ifndef RI_REACH_H
#define RI_REACH_H

#include "../../uct/api/plane.h"
#include "../../uct/shm/host.h"
#include "../../uct/shm/mailbox.h"

/* A way to a process. */
typedef struct ri_reach {
    ri_plane_ep_t *ep;    /* copies from and to its memory */
    ri_mailbox_tx_t mail; /* a slot in its mailbox; area NULL: there is none */
    int has_tried; /* to open the mailbox: there may be no slot, and that takes long */
    _Atomic(int) mailing; /* a thread uses what is around this, see ri_reach_lock() */
    /* puts that were posted and are not known to be over: from this number on, up to mail.next */
    uint32_t oldest;
    ri_mailbox_head_t heads[RI_MAILBOX_DEPTH]; /* of posted puts, by entry */
    int silent;        /* so many calls of its thread are left out, as it did not come */
    ucs_status_t lost; /* why a put was lost, from then on; UCS_OK: none was */
    double proved; /* when it was last seen that the process is the one that is meant */
    ucs_list_link_t list;
    unsigned users;
    unsigned generation; /* of the process that has made it */
    size_t length;       /* of address */
    uint8_t address[RI_PLANE_ADDRESS_MAX];
} ri_reach_t;

/** Write what other processes need to reach the memory of this one to @a address, which has room for
 * RI_PLANE_ADDRESS_MAX bytes. @return Its length; 0: they cannot, as UCXRI_CMA=n or the system
 * says. */
size_t ri_reach_address(void *address);

/**
 * Get a way to a process.
 *
 * @param address  What ri_reach_address() wrote there: wire input.
 *
 * @return A way, to be given back; NULL: its memory cannot be reached, or there is no memory here.
 */
ri_reach_t *ri_reach_get(const void *address, size_t length);

/** Open the mailbox of the process, unless it is open. If that does not work there is none. @a pid
 * and @a fd, its descriptor there, are wire input. */
void ri_reach_open_mail(ri_reach_t *way, uint32_t pid, uint32_t fd);

/** @return What tells this process from others, which /proc is not asked for each time. */
ri_host_process_t ri_reach_self(void);

/** @return Whether this process can reach the memory of others at all. */
int ri_reach_works(void);

/** @return Whether the process of a way is there still, asked for at most ten times in a second: a
 * number of a process may be used again. */
int ri_reach_is_there(ri_reach_t *way);

/** Use the mail of a way, if no other thread does. @return Whether it is this one's. */
static inline int ri_reach_trylock(ri_reach_t *way)
{
    return !atomic_exchange_explicit(&way->mailing, 1, memory_order_acquire);
}

/** Let others use the mail of a way. */
static inline void ri_reach_unlock(ri_reach_t *way)
{
    atomic_store_explicit(&way->mailing, 0, memory_order_release);
}

/** Have a way, which somebody has, once more. */
void ri_reach_hold(ri_reach_t *way);

/** Give a way back. If nobody has it any more, no put of it is posted. NULL will do. */
void ri_reach_put(ri_reach_t *way);

#endif
