/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_CALLS_H_
#define SH_CALLS_H_

/*
 * What is to be done at a time: the calls asked for by sh_agent_at(), which is in calls.c as
 * well as sh_agent_drop(). The rest is for the agent.
 */
#include <stdint.h>

/** Make the first call if its time has come. With sh_proc.lock held.
 * @return Whether there was one. */
int sh_calls_make(uint64_t now);

/** @return The time of the first call, UINT64_MAX if there is none. It may change at once. */
uint64_t sh_calls_due(void);

/** The agent is to make the calls for polls, too, in time. @return Whether there were any. */
int sh_calls_promote(void);

/**
 * The agent goes to sleep: it is woken for calls that are added before the first one.
 * @param least It does not if the first one is not later than this.
 * @return The time of the first call, or UINT64_MAX.
 */
uint64_t sh_calls_sleep(uint64_t least);

/** The agent is awake. */
void sh_calls_awake(void);

void sh_calls_init(void);

/** Drop all calls. */
void sh_calls_cleanup(void);

#endif
