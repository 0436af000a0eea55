/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: MPI_Type_commit, the only function of MPI that is. MPICH creates the generic datatype
 * of a derived type within it. Behind it, MPICH can be asked how the type was made, with all that
 * it locks unlocked. Other types of MPICH, which it commits for itself, stay unknown; they, and
 * those of Open MPI, pass through here without a look.
 */
#include "mpi_api.h"
#include "../dt/dt.h"
#include "../dt/layout_mpi.h"
#include "../dt/mpi_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*mpi_commit_t)(void *type);

/* A commit that a thread is in. */
typedef struct mpi_commit_state {
    int handle;              /* MPICH's handle of the type */
    ucp_datatype_t datatype; /* the generic datatype that was created for it; 0: none */
} mpi_commit_state_t;

static _Atomic(int) mpi_switched_on;
static __thread mpi_commit_state_t *mpi_current;

int MPI_Type_commit(void *type);

void ri_mpi_switch_on(void)
{
    atomic_store_explicit(&mpi_switched_on, 1, memory_order_relaxed);
}

void ri_mpi_note_generic(ucp_datatype_t datatype, const void *context)
{
    int handle;

    if (ri_likely(mpi_current == NULL) || (context == NULL)) {
        return;
    }
    /* MPICH's object of a datatype begins with its handle. */
    memcpy(&handle, context, sizeof(handle));
    if (handle == mpi_current->handle) {
        mpi_current->datatype = datatype;
    }
}

/* The function behind this one. An MPI that was loaded privately, as by an interpreter, is not in
 * the global scope; its caller sees it. */
static mpi_commit_t mpi_next_commit(const void *caller)
{
    static _Atomic(mpi_commit_t) found;
    mpi_commit_t next = atomic_load_explicit(&found, memory_order_relaxed);
    void *library;
    Dl_info info;

    if (ri_likely(next != NULL)) {
        return next;
    }
    next = (mpi_commit_t)dlsym(RTLD_NEXT, "MPI_Type_commit");
    if ((next == NULL) && dladdr(caller, &info) && (info.dli_fname != NULL)) {
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            next = (mpi_commit_t)dlsym(library, "MPI_Type_commit");
            dlclose(library); /* only drops the count that NOLOAD took */
        }
    }
    if (next == NULL) {
        fprintf(stderr,
                "ucxri: fatal: MPI_Type_commit was called, but there is no MPI\n");
        abort();
    }
    atomic_store_explicit(&found, next, memory_order_relaxed);
    return next;
}

/* Commit a type of MPICH, and learn its layout. */
static int mpi_commit(mpi_commit_t next, int *type)
{
    mpi_commit_state_t *outer  = mpi_current;
    mpi_commit_state_t current = {.handle = *type};
    int ret;

    mpi_current = &current;
    ret         = next(type);
    mpi_current = outer;
    if ((ret == 0) && (current.datatype != 0)) {
        ri_dt_set_layout(current.datatype, ri_layout_mpi_read((unsigned)current.handle));
    }
    return ret;
}

int MPI_Type_commit(void *type)
{
    mpi_commit_t next = mpi_next_commit(__builtin_return_address(0));

    if (!atomic_load_explicit(&mpi_switched_on, memory_order_relaxed) || (type == NULL) ||
        (ri_mpi_kind() != RI_MPI_MPICH)) {
        return next(type);
    }
    return mpi_commit(next, type);
}
