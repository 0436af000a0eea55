/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The timeline of a job, in the JSON trace format, which Perfetto and Chrome open.
 */
#ifndef UCXRI_INFO_TIMELINE_H
#define UCXRI_INFO_TIMELINE_H

/** Write what @a count files tell, which processes of one job wrote, to the file @a out; "-" is the
 * standard output. What is wrong is printed. @return An exit status. */
int info_timeline(const char *out, char **paths, int count);

#endif
