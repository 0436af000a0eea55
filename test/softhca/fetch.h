/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_FETCH_H_
#define SH_FETCH_H_

/*
 * Datagrams whose data the receiver fetches from the sender's memory, so that they are copied
 * once. The sender's completion waits for that, as the program may change the memory then. A
 * queue pair that is reset or destroyed before has not sent them: nobody reads the memory any more.
 */
#include "copy.h"
#include "fabric.h"

/** Whether they have been fetched, or nobody will any more. @param now The time. */
int sh_fetch_is_done(sh_fetch_t *fetch, uint64_t now);

/** The epoch of a queue pair has ended: wait until nobody reads memory for it. With sh_proc.lock
 * held. */
void sh_fetch_end(sh_fetch_t *fetch);

/** @return Whether the data of a datagram are there still, sent by this queue pair in this epoch.
 * With sh_proc.lock held. */
int sh_fetch_is_there(uint32_t qpn, uint32_t epoch);

/**
 * Fetch the data of datagrams of a queue pair. With sh_proc.lock held.
 * @param pid   Of its process.
 * @param epoch That they were sent in.
 * @param from  In that process's memory.
 * @param to    In the own, as much.
 * @return SH_COPY_OK etc.; SH_COPY_GONE also if the epoch has ended. Which memory it was is told
 * for
 *         lists of SH_MAX_SGE at most.
 */
int sh_fetch(pid_t pid, uint32_t qpn, uint32_t epoch, sh_pieces_t from, sh_pieces_t to);

#endif
