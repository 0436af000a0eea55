/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of the MPI that this library puts its own in place of, as the MPI has them. All
 * others are called by their PMPI_ names. An MPI that the program loads by dlopen() is found, too.
 */
#ifndef RI_WIN_REAL_MPI_H
#define RI_WIN_REAL_MPI_H

#include "weak_mpi.h"

/* Those that both MPIs have. */
#define RI_REAL_COMMON(_f) \
    _f(Win_create) _f(Win_create_dynamic) _f(Win_attach) _f(Win_detach) _f( \
            Win_allocate) _f(Win_allocate_shared) _f(Win_shared_query) _f(Win_free) \
            _f(Win_get_attr) _f(Win_get_info) _f(Win_get_group) _f(Put) _f(Get) _f( \
                    Rput) _f(Rget) _f(Accumulate) _f(Get_accumulate) _f(Raccumulate) \
                    _f(Rget_accumulate) _f(Fetch_and_op) _f(Compare_and_swap) _f( \
                            Win_fence) _f(Win_post) _f(Win_start) _f(Win_complete) \
                            _f(Win_wait) _f(Win_test) _f(Win_lock) _f(Win_unlock) \
                                    _f(Win_lock_all) _f(Win_unlock_all) _f(Win_flush) \
                                            _f(Win_flush_all) _f(Win_flush_local) \
                                                    _f(Win_flush_local_all) _f(Win_sync)

/* Those with large counts, of MPI 4. */
#if MPI_VERSION >= 4
#define RI_REAL_LARGE(_f) \
    _f(Win_create_c) _f(Win_allocate_c) _f(Win_allocate_shared_c) _f(Win_shared_query_c) \
            _f(Put_c) _f(Get_c) _f(Rput_c) _f(Rget_c) _f(Accumulate_c) \
                    _f(Get_accumulate_c) _f(Raccumulate_c) _f(Rget_accumulate_c)
#else
#define RI_REAL_LARGE(_f)
#endif

#define RI_REAL_MEMBER(_name) __typeof__(&PMPI_##_name) _name;

typedef struct ri_real {
    RI_REAL_COMMON(RI_REAL_MEMBER)
    RI_REAL_LARGE(RI_REAL_MEMBER)
} ri_real_t;

/** @return The functions; each is NULL if the MPI does not have it. They are looked up once, by the
 * first call. Any thread may call it. */
const ri_real_t *ri_real(void);

#endif
