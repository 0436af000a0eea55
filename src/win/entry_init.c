/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Init() and MPI_Init_thread(), around which the ranks see which of them have this library.
 * Each function calls the next one of its own name: with MPI_ that may be a tool's, which calls
 * PMPI_.
 */
#include "ranks_here.h"
#include "real_mpi.h"
#include "setting.h"
#include "../ucs/log.h"

#include <dlfcn.h>
#include <stddef.h>

/* A process that takes no windows does not join the others, so that they leave theirs to the MPI,
 * too: one with UCXRI_WIN=n, or one that loads its MPI later. */
static int init_takes_windows(void)
{
    return (ri_setting() != RI_SETTING_NO) && (ri_setting() != RI_SETTING_OFF) &&
           (&PMPI_Comm_test_inter != NULL);
}

static void *init_next(const char *name)
{
    void *next;

    ri_real(); /* finds an MPI that was loaded later */
    next = dlsym(RTLD_NEXT, name);
    if (next == NULL) {
        ri_error("%s() was called, and no MPI that has it is loaded", name);
    }
    return next;
}

static void init_begin(void)
{
    ri_setting_warn();
    if (init_takes_windows()) {
        ri_ranks_here_begin();
    }
}

#define INIT(_name, _params, _args) \
    int _name _params; \
    int _name _params \
    { \
        int(*next) _params = init_next(#_name); \
        int error          = MPI_ERR_OTHER; \
        if (next != NULL) { \
            init_begin(); \
            error = next _args; \
            ri_ranks_here_end(error == MPI_SUCCESS); \
        } \
        return error; \
    }

INIT(MPI_Init, (int *argc, char ***argv), (argc, argv))
INIT(PMPI_Init, (int *argc, char ***argv), (argc, argv))
INIT(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided))
INIT(PMPI_Init_thread, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided))
