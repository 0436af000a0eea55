/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The form of a function in the place of one of the MPI.
 */
#ifndef RI_WIN_ENTRY_H
#define RI_WIN_ENTRY_H

#include "real_mpi.h"
#include "window.h"

/* Both names of a function of MPI. */
#define RI_ENTRY_NAMES(_name, _params) \
    int PMPI_##_name _params; \
    int MPI_##_name _params __attribute__((alias("PMPI_" #_name)));

/* A function with a parameter win. If that is a window of this library, @a _call is what it does,
 * with the variable window. */
#define RI_ENTRY(_name, _params, _args, _call) \
    RI_ENTRY_NAMES(_name, _params) \
    int PMPI_##_name _params \
    { \
        ri_window_t *window = ri_window_find(win); \
        if (window == NULL) { \
            return ri_real()->_name _args; \
        } \
        return (_call); \
    }

#endif
