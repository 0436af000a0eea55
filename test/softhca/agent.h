/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each process has one agent, from its first open context to its last one. Other files ask it for
 * calls at a time, for a look at a QP, and for completions at once; they may hold their locks
 * meanwhile. The program's threads tell it of their polls, and of the time that they stay in the
 * driver, so that nobody wakes it for what they do themselves.
 */
#ifndef SH_AGENT_H_
#define SH_AGENT_H_

#include "objects.h"

/*
 * The thread that does a process's part of the device's work: what comes in, what has a
 * time, and QPs that need attention. A thread of the program that polls does it as well.
 */

/**
 * @param data    What sh_agent_at() was given.
 * @param dropped Not called because of the time: free the data only.
 */
typedef void (*sh_agent_func_t)(void *data, int dropped);

int sh_agent_start(void);
void sh_agent_stop(void);

/** Nothing of the agent is there (any more). */
void sh_agent_forget(void);

/** The same in a child of fork(), where no other thread is there either. */
void sh_agent_forked(void);

/**
 * Call a function at a time, with sh_proc.lock held. Calls with the same time are made in
 * the order in which they were asked for.
 * @param owner A QP for sh_agent_drop(), or NULL.
 * @return 0, or -1 without memory.
 */
int sh_agent_at(uint64_t time, sh_agent_func_t func, void *data, const sh_qp_t *owner);

/**
 * The same for a completion, which only polls can see: the agent makes the call, but does not wake
 * up for it unless completions of that queue are wanted.
 */
int sh_agent_at_poll(uint64_t time, sh_agent_func_t func, void *data,
                     const sh_qp_t *owner, const sh_cq_t *cq);

/**
 * Something more, or less, wants completions of a queue before they are polled: it is armed, or a
 * request waits for the end of another one. As long as there is anything, what brings them wakes
 * the agent.
 */
void sh_agent_want(const sh_cq_t *cq, int more);

/** Drop all calls of a QP. With sh_proc.lock held. */
void sh_agent_drop(const sh_qp_t *owner);

/** Have sh_requester_attend() called for a QP. */
void sh_agent_attend(sh_qp_t *qp);

/** The same, when the agent is awake next, because a ring was full. */
void sh_agent_stall(sh_qp_t *qp);

/** The QP is being destroyed. */
void sh_agent_unattend(sh_qp_t *qp);

/** A thread polls: if that happens again and again, the agent need not be woken. */
void sh_agent_polled(uint64_t now);

/** Do what the agent has to do now, if nobody is doing it. No lock may be held. */
void sh_agent_help(uint64_t now);

/** Do it before a QP changes: what was acknowledged is complete. With sh_proc.lock held. */
void sh_agent_catch_up(void);

/** A thread of the program stays in the driver for a while: nobody wakes the agent for what comes
 * meanwhile. @return What sh_agent_leave() is to be given. */
uint64_t sh_agent_enter(void);

/** It leaves. The time since then does not count as one in which nobody polled; for what is there
 * the agent is woken, unless a thread polls. */
void sh_agent_leave(uint64_t before);

/** Do what has come in between. No lock may be held. */
void sh_agent_meanwhile(void);

/** The program is going to sleep: the agent does all the work itself. */
void sh_agent_alone(void);

#endif
