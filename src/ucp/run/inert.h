/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The library is loaded and serves no worker: when the process exits it says why, and what can be
 * done, where UCXRI_REPORT=y, UCXRI_REPORT=json:FILE or UCXRI_LOG_LEVEL=info asks for it. Until
 * then, bits are kept and nothing else is done.
 */
#ifndef RI_INERT_H
#define RI_INERT_H

/* The calls and findings of the process. Values are bits. */
typedef enum ri_inert_fact {
    RI_INERT_NO_TAGS    = 1 << 0, /* made a context with nothing to serve */
    RI_INERT_NO_SWITCH  = 1 << 1, /* made one with tag matching, without recv_init */
    RI_INERT_NO_WORKER  = 1 << 2, /* made one that is served */
    RI_INERT_NOT_AT_ALL = 1 << 3, /* made a worker that is served, with tag matching */
    /* made one that is served for one-sided operations alone */
    RI_INERT_ONE_SIDED   = 1 << 7,
    RI_INERT_HAS_UCP     = 1 << 4, /* has libucp */
    RI_INERT_HAS_MPI     = 1 << 5, /* has an MPI */
    RI_INERT_HAS_OPENMPI = 1 << 6, /* has Open MPI, then HAS_MPI is set as well */
    RI_INERT_REFUSED = 1 << 8 /* asked UCX for its configuration, which refused a value */
} ri_inert_fact_t;

/** Note what the process does. Any thread may call it. */
void ri_inert_note(ri_inert_fact_t fact);

/* Room for each of the two texts. */
#define RI_INERT_TEXT_MAX 256

/**
 * Say why the library is inert.
 *
 * @param facts    Bits of ri_inert_fact_t.
 * @param because  Gets what follows "because", in RI_INERT_TEXT_MAX bytes.
 * @param remedy   Gets what can be done, in as many, or "".
 *
 * @return Whether there is anything to say: the library serves no worker, or under Open MPI none
 *         that has messages, in a process with UCP or with an MPI. Shells and tools are left alone.
 */
int ri_inert_explain(unsigned facts, char *because, char *remedy);

/** Print the lines, if the environment asks for it and there is anything to say. Called once, as
 * the process exits; a child by fork() prints nothing. */
void ri_inert_print(void);

#endif
