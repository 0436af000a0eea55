/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of other processes of the host, for one-sided operations: one plane of this process
 * (uct/cma), whatever contexts and workers it has, as a packed key belongs to none of them. All
 * keys of one process share what leads to it: a reach.
 *
 * The plane is opened when it is first asked for, and stays. A child by fork() opens its own. Any
 * thread may call.
 */
#ifndef RI_REACH_H
#define RI_REACH_H

#include "../../uct/api/plane.h"
#include "../../uct/shm/host.h"
#include "../../uct/shm/mailbox.h"
#include "../../uct/shm/quick.h"

/* The way to a process: its memory, and its mailbox. */
typedef struct ri_reach {
    ri_plane_ep_t *ep;    /* copies from and to its memory */
    ri_mailbox_tx_t mail; /* a slot in its mailbox; area NULL: there is none */
    int has_tried; /* opening the mailbox was tried, which takes long if there is no slot */
    _Atomic(int) mailing; /* a thread has the lock of the mail, see ri_reach_trylock() */
    /* puts that were posted and are not known to be over: from this number on, up to mail.next */
    uint32_t oldest;
    ri_mailbox_head_t heads[RI_MAILBOX_DEPTH]; /* of posted puts, by entry */
    int skip_calls; /* number of calls of its thread to leave out, as it did not come */
    _Atomic(int)
            skip_mail; /* number of copies to do without mail, as it did not look (mail.h) */
    int skip_parts; /* number of operations in parts to do without mail, as it did not look */
    /* whether puts, and gets, in parts are faster than a system call */
    ri_quick_t quick_puts, quick_gets;
    ucs_status_t lost; /* why a put was lost, from then on; UCS_OK: none was */
    int stock_only; /* 1: UCX does all, as there is memory that only its own process can write */
    double proved; /* when it was last seen that the process is the one that is meant */
    ucs_list_link_t list;
    unsigned users;
    unsigned is_kept;    /* 1: nobody uses it */
    unsigned generation; /* of the process that has made it */
    size_t length;       /* of address */
    uint8_t address[RI_PLANE_ADDRESS_MAX];
} ri_reach_t;

/** Write the address of this process, by which others reach its memory, to @a address. There has to
 * be room for RI_PLANE_ADDRESS_MAX bytes. @return The length of the address. 0: others cannot reach
 * the memory, because of UCXRI_CMA=n or as the system does not let them. */
size_t ri_reach_address(void *address);

/**
 * Get the reach of a process.
 *
 * @param address  What ri_reach_address() wrote there: wire input.
 *
 * @return A reach, for ri_reach_put(). NULL: its memory cannot be reached, or there is none here.
 */
ri_reach_t *ri_reach_get(const void *address, size_t length);

/** Open the mailbox of the process that a reach leads to. It is tried once; if it fails, the reach
 * has no mailbox (mail.area is NULL). @a pid is the process and @a fd the descriptor of the mailbox
 * there: both are wire input. */
void ri_reach_open_mail(ri_reach_t *reach, uint32_t pid, uint32_t fd);

/** @return The identity of this process, by which others recognise it. It is kept, so that /proc is
 * not read at each call. */
ri_host_process_t ri_reach_self(void);

/** @return Whether this process can reach the memory of others at all. */
int ri_reach_works(void);

/** @return Whether the process that a reach leads to still exists. The kernel is asked at most ten
 * times a second, and not whether the pid exists, but whether it is still the same process. */
int ri_reach_is_there(ri_reach_t *reach);

/** Take the lock of the mail of a reach, if no other thread has it. @return Whether this thread has
 * it now; then ri_reach_unlock() lets go of it. */
static inline int ri_reach_trylock(ri_reach_t *reach)
{
    return !atomic_exchange_explicit(&reach->mailing, 1, memory_order_acquire);
}

/** Let go of the lock that ri_reach_trylock() has taken. */
static inline void ri_reach_unlock(ri_reach_t *reach)
{
    atomic_store_explicit(&reach->mailing, 0, memory_order_release);
}

/** @return Whether operations go another way from now on. */
static inline int ri_reach_is_out(const ri_reach_t *reach)
{
    return (reach->lost != UCS_OK) || reach->stock_only;
}

/** Add one more user to a reach that has users: ri_reach_put() has to be called once more. */
void ri_reach_hold(ri_reach_t *reach);

/** Give up the use of a reach that ri_reach_get() or ri_reach_hold() has given. The last user must
 * have settled all posted puts before (ri_mail_settle()); then the reach is kept for the next one,
 * or freed. NULL: nothing is done. */
void ri_reach_put(ri_reach_t *reach);

#endif
