/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which process of a job this is, as its launcher has told it by variables.
 */
#ifndef RI_RANK_H
#define RI_RANK_H

#include <stddef.h>

/** @return The rank in digits, as it stands in the environment, or NULL: no launcher has told
 * it. */
const char *ri_rank_text(void);

/** @return The rank as a number, or -1: no launcher has told it. */
long ri_rank_number(void);

/** @return How many ranks the job has, in digits, in the same way, or NULL. */
const char *ri_rank_count_text(void);

/** @return How many ranks of the job are on this host, or -1: no launcher has told it. */
long ri_rank_local_count(void);

/** Write what names the job of this process to @a job, cut off at @a max bytes with the end: the
 * number that the batch system or the launcher has given it, or where the launcher listens, without
 * blanks. @return Whether there is one; if not, @a job is "-". */
int ri_rank_job(char *job, size_t max);

/** @return Whether this process may speak for its job: it has rank 0, or does not know its rank. */
int ri_rank_is_first(void);

/** @return Whether this process may speak for the ranks of its host: it is the first of them, or
 * its place among them is not known and ri_rank_is_first() holds. */
int ri_rank_is_first_of_host(void);

/** Write the name of this host to @a host, without its domain. What does not fit the @a max bytes,
 * with the end, is cut off. */
void ri_rank_host(char *host, size_t max);

/** Write what names this process in lines of reports, "<host>:<process id>", to @a process, cut off
 * in the same way. */
void ri_rank_process(char *process, size_t max);

#endif
