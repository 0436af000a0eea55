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
#include "../../uct/shm/mailbox.h"

/* A way to a process. */
typedef struct ri_reach {
    ri_plane_ep_t *ep;    /* copies from and to its memory */
    ri_mailbox_tx_t mail; /* a slot in its mailbox; area NULL: there is none */
    _Atomic(int) mailing; /* a thread uses mail, and what follows */
    /* puts that were posted and are not known to be over: from this number on, up to mail.next */
    uint8_t oldest;
    ri_mailbox_head_t heads[RI_MAILBOX_DEPTH]; /* of posted puts, by entry */
    ucs_list_link_t list;
    unsigned users;
    size_t length; /* of address */
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

/** Have a way, which somebody has, once more. */
void ri_reach_hold(ri_reach_t *way);

/** Give a way back. If nobody has it any more, no put of it is posted. NULL will do. */
void ri_reach_put(ri_reach_t *way);

#endif
