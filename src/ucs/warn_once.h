/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Warnings about what the ranks of a job mostly have in common, such as variables: one rank of each
 * host prints a line, and those ranks that have the same to say are silent. What is wrong in one
 * rank alone is printed by that rank.
 *
 * Rejected: to let the first rank of each host print them. What was set for another rank only, as
 * launchers allow, would never be told.
 */
#ifndef RI_WARN_ONCE_H
#define RI_WARN_ONCE_H

/** Print a warning, unless another process of this job, host and user has printed the same, or this
 * one has. Processes that have ended do not count, unless a child that they have forked is there.
 * Without a name of the job, ranks with the same parent are one. Where there are no sockets the
 * first rank of each host prints. */
void ri_warn_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Print that the value of a variable is not good, as ri_warn_once(). @a expected and @a preset,
 * which is taken, are in the words of users. */
void ri_warn_value(const char *name, const char *value, const char *expected,
                   const char *preset);

#endif
