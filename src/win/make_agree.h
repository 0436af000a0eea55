/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of a new window tell each other about themselves, and agree on what follows from that:
 * which of them are on one host, and whether the window is for this library. All ranks conclude the
 * same.
 */
#ifndef RI_WIN_MAKE_AGREE_H
#define RI_WIN_MAKE_AGREE_H

#include "window.h"

/* The memory of all ranks: what any machine can map, and a sum of which with pages does not
 * overflow. */
#define RI_MAKE_AGREE_SIZE_MAX (INT64_C(1) << 56)

#define RI_MAKE_AGREE_UNREACHABLE "the ranks cannot reach each other's own memory"

/* The arguments of the program's call that makes a window. */
typedef struct ri_make_args {
    int flavor; /* MPI_WIN_FLAVOR_... */
    void *base; /* of MPI_Win_create(); else NULL */
    MPI_Aint size;
    MPI_Aint disp_unit;
    MPI_Info info;
    MPI_Comm comm;
} ri_make_args_t;

/* A rank's message to all others about a window that is made. */
typedef struct ri_make_agree {
    uint32_t version;
    int32_t is_known; /* the MPI has the functions of the MPI that this library was built for */
    int64_t size;
    int64_t disp_unit;
    ri_host_process_t process;
    int32_t is_apart; /* the rank's memory need not lie behind that of the rank before */
    int32_t flavor;
    int32_t is_reachable; /* others reach memory that this rank has made by itself */
    int32_t has_net;      /* the rank takes windows of several hosts */
    uint8_t reserved[68]; /* 0; all versions tell as many bytes */
} ri_make_agree_t;

_Static_assert(sizeof(ri_make_agree_t) == 128, "the same in all versions");

/** Tell and hear. Collective.
 *
 * @param is_reachable  Others reach the memory that this rank has made by itself.
 * @param has_net       This rank takes windows of several hosts.
 *
 * @return What all ranks have told, for free(); NULL: the MPI has failed. */
ri_make_agree_t *ri_make_agree_exchange(const ri_make_args_t *args, int ranks,
                                        int is_reachable, int has_net);

/** @return Whether @a is_ok was given by all ranks: the same on all ranks. Collective. */
int ri_make_agree_by_all(int is_ok, MPI_Comm comm);

/** @return Why the window is not for this library, or NULL. The same on all ranks. */
const char *ri_make_agree_objection(const ri_make_agree_t *told, int ranks);

/** @return Whether the program makes the memory of a window of this flavor. */
static inline int ri_make_agree_is_remote(int flavor)
{
    return (flavor == MPI_WIN_FLAVOR_CREATE) || (flavor == MPI_WIN_FLAVOR_DYNAMIC);
}

/** @return Whether two ranks are on one host. */
static inline int ri_make_agree_share_host(const ri_make_agree_t *told, int rank,
                                           int other)
{
    return told[rank].process.host == told[other].process.host;
}

/** @return The first rank on the host of a rank. */
int ri_make_agree_first(const ri_make_agree_t *told, int rank);

/** @return How many ranks are on the host of one. */
int ri_make_agree_neighbours(const ri_make_agree_t *told, int rank, int ranks);

/** @return Whether all ranks are on one host. */
int ri_make_agree_is_one_host(const ri_make_agree_t *told, int ranks);

#endif
