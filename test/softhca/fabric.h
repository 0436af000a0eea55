/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fabric.c has the directory and the segments, peers.c the messages. Any thread may send; messages
 * are taken out with sh_proc.lock held. A thread that has sent something lets go of its locks, and
 * wakes the other agents then. Here a message is only checked for its size and for its sender's
 * generation; whoever handles it checks the rest.
 */
#ifndef SH_FABRIC_H_
#define SH_FABRIC_H_

#include "wire.h"

#include <sys/types.h>
#include <sys/uio.h>

/*
 * The shared memory that connects the processes of a user: files in /dev/shm named
 * softhca.<fabric>.<uid>, the directory, and softhca.<fabric>.<uid>.<slot>, the segment of
 * a process. The directory's file lock is held to take and to free slots.
 */

/* A message that came in, in memory of its own and with a size within bounds. Of a datagram that
 * is the header only: its data are in one or two pieces of the ring until they are let go of, and
 * may change meanwhile. */
typedef void (*sh_fabric_handler_t)(unsigned slot, pid_t pid, const sh_msg_t *msg,
                                    const struct iovec data[2]);

/* A place in a ring: what is before it has been taken when the process has come so far. */
typedef struct sh_fetch {
    uint32_t slot;
    uint32_t generation; /* of the process; 0: nothing is waited for */
    uint64_t position;
    uint64_t check_at; /* when to see whether it lives */
} sh_fetch_t;

/* What is in the ring is used no more when this returns. */
typedef void (*sh_fabric_release_t)(void);

/**
 * Become part of the fabric: clear away what dead processes left, take a slot, make the
 * segment. @return 0, or an errno value.
 */
int sh_fabric_attach(void);

/**
 * Leave it and remove the files; the last process removes the directory.
 * @param forked The process is a child that inherited all this: unmap only.
 */
void sh_fabric_detach(int forked);

/** At the end of the process: remove the files, but keep the memory, which other threads
 * may still use. */
void sh_fabric_leave(void);

/** The own slot. */
unsigned sh_fabric_slot(void);

/** The own segment's head. */
sh_inbox_t *sh_fabric_inbox(void);

/**
 * Send a message to the process in a slot. sh_fabric_wake() tells its agent.
 * @param msg     Header; its generation is filled in.
 * @param payload What follows it.
 * @return 0, EAGAIN if the ring is full (the agent is woken when there is room), ENOENT if
 *         there is no such process.
 */
int sh_fabric_send(unsigned slot, sh_msg_t *msg, const void *payload);

/**
 * Send messages one by one to the process in a slot: find the places of what follows their headers,
 * and fill them, in between. Nobody else sends there until sh_fabric_end().
 * @return 0, or ENOENT if there is no such process.
 */
int sh_fabric_begin(unsigned slot);

/**
 * @param size  Of the message.
 * @param data  Set to the one or two pieces of the ring for what follows the header.
 * @return 0, or EAGAIN as by sh_fabric_send().
 */
int sh_fabric_place(unsigned slot, size_t size, struct iovec data[2]);

/** Give up the last place. */
void sh_fabric_unplace(unsigned slot, size_t size);

/**
 * @param count Of the headers, in the order of the places; those of further places are given up.
 * @param end   Set to the place behind them, unless it is NULL.
 */
void sh_fabric_end(unsigned slot, sh_msg_t *msgs, unsigned count, sh_fetch_t *end);

/** @return Whether what is before that place has been taken, or the process is another one now. */
int sh_fabric_is_taken(const sh_fetch_t *fetch);

/** @return The word of a process that says whether it is fetching, or NULL if it is another one
 * now. Like a guard's. */
const uint32_t *sh_fabric_fetching(unsigned slot, uint32_t generation);

/** As sh_fabric_send() would, but for a message of @a size bytes, and without sending it: for who
 * must not do it in vain. */
int sh_fabric_room(unsigned slot, size_t size);

/**
 * Send a message that must not wait: if the ring is full it is kept for
 * sh_fabric_flush().
 */
void sh_fabric_send_kept(unsigned slot, sh_msg_t *msg);

/**
 * Wake the agents of those to whom this thread has sent something. To be called without
 * locks: a woken agent may take the processor at once, and must not find that its own
 * process's agent waits for a lock of a thread that does not run.
 */
void sh_fabric_wake(void);

/** Send what is kept, and let go of processes that have gone: a guard is used before that.
 * With sh_proc.lock held. */
void sh_fabric_flush(void);

/**
 * Take messages out of the own rings. With sh_proc.lock held.
 * @return How many there were; at most 64 of each sender.
 */
unsigned sh_fabric_receive(sh_fabric_handler_t handler, sh_fabric_release_t release);

/** @return Whether there is a message to take. */
int sh_fabric_pending(void);

/** @return Whether the process that had this generation in the slot lives. */
int sh_fabric_alive(unsigned slot, uint32_t generation);

/** @return The generation of the process in the slot now, 0 for none. */
uint32_t sh_fabric_generation(unsigned slot);

/** @return Of the one that is there, or was last: what it has sent still counts. */
uint32_t sh_fabric_last_generation(unsigned slot);

/** @return The guard of a QP of another process, or NULL. See sh_inbox_t. */
uint32_t *sh_fabric_guard(unsigned slot, uint32_t index);

/** Take and give back the right to execute an atomic, one in the fabric at a time. */
void sh_fabric_atomic_lock(void);
void sh_fabric_atomic_unlock(void);

/** Wake the own agent, unless a thread polls that does its work. */
void sh_fabric_kick(void);

/** Wake the own agent in any case. */
void sh_fabric_rouse(void);

/** Wake the own agent, or if it is going to sleep, keep it awake. */
void sh_fabric_ring(void);

/* Between fabric.c and peers.c only */
void *sh_fabric_map(unsigned slot, size_t offset, size_t size);
pid_t sh_fabric_pid(unsigned slot);
void sh_peers_init(void);
void sh_peers_cleanup(int forked);

#endif
