/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions of MPI by which windows begin, are asked, synchronise and end, in the place of the
 * MPI's own.
 */
#include "entry.h"
#include "epoch.h"
#include "make.h"
#include "tell.h"

/* A call with a rank as its target: it does nothing for MPI_PROC_NULL. */
static int entry_has_rank(const ri_window_t *window, int rank, int *error_p)
{
    *error_p = MPI_SUCCESS;
    if ((rank >= 0) && (rank < window->size)) {
        return 1;
    }
    if (rank != MPI_PROC_NULL) {
        *error_p = ri_window_end(window, MPI_ERR_RANK);
    }
    return 0;
}

#define ENTRY_MAKE(_name, _flavor, _unit) \
    RI_ENTRY_NAMES(_name, (MPI_Aint size, _unit disp_unit, MPI_Info info, MPI_Comm comm, \
                           void *baseptr, MPI_Win *win)) \
    int PMPI_##_name(MPI_Aint size, _unit disp_unit, MPI_Info info, MPI_Comm comm, \
                     void *baseptr, MPI_Win *win) \
    { \
        ri_make_args_t args = {.flavor    = _flavor, \
                               .size      = size, \
                               .disp_unit = (MPI_Aint)disp_unit, \
                               .info      = info, \
                               .comm      = comm}; \
        if (ri_make(&args, baseptr, win)) { \
            return MPI_SUCCESS; \
        } \
        return ri_real()->_name(size, disp_unit, info, comm, baseptr, win); \
    }

ENTRY_MAKE(Win_allocate, MPI_WIN_FLAVOR_ALLOCATE, int)
ENTRY_MAKE(Win_allocate_shared, MPI_WIN_FLAVOR_SHARED, int)
#if MPI_VERSION >= 4
ENTRY_MAKE(Win_allocate_c, MPI_WIN_FLAVOR_ALLOCATE, MPI_Aint)
ENTRY_MAKE(Win_allocate_shared_c, MPI_WIN_FLAVOR_SHARED, MPI_Aint)
#endif

/* Of memory that the program makes. */
#define ENTRY_CREATE(_name, _unit) \
    RI_ENTRY_NAMES(_name, (void *base, MPI_Aint size, _unit disp_unit, MPI_Info info, \
                           MPI_Comm comm, MPI_Win *win)) \
    int PMPI_##_name(void *base, MPI_Aint size, _unit disp_unit, MPI_Info info, \
                     MPI_Comm comm, MPI_Win *win) \
    { \
        ri_make_args_t args = {.flavor    = MPI_WIN_FLAVOR_CREATE, \
                               .base      = base, \
                               .size      = size, \
                               .disp_unit = (MPI_Aint)disp_unit, \
                               .info      = info, \
                               .comm      = comm}; \
        if (ri_make(&args, NULL, win)) { \
            return MPI_SUCCESS; \
        } \
        return ri_real()->_name(base, size, disp_unit, info, comm, win); \
    }

ENTRY_CREATE(Win_create, int)
#if MPI_VERSION >= 4
ENTRY_CREATE(Win_create_c, MPI_Aint)
#endif

RI_ENTRY_NAMES(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win))
int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    ri_make_args_t args = {
            .flavor = MPI_WIN_FLAVOR_DYNAMIC, .disp_unit = 1, .info = info, .comm = comm};

    if (ri_make(&args, NULL, win)) {
        return MPI_SUCCESS;
    }
    return ri_real()->Win_create_dynamic(info, comm, win);
}

static int entry_attach(ri_window_t *window, const void *base, MPI_Aint size)
{
    int error = MPI_SUCCESS;

    if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        error = MPI_ERR_RMA_FLAVOR;
    } else if (size < 0) {
        error = MPI_ERR_SIZE;
    } else if (!ri_attached_add(&window->attached, base, (size_t)size)) {
        error = MPI_ERR_RMA_ATTACH;
    }
    return ri_window_end(window, error);
}

static int entry_detach(ri_window_t *window, const void *base)
{
    int error = MPI_SUCCESS;

    if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        error = MPI_ERR_RMA_FLAVOR;
    } else if (!ri_attached_remove(&window->attached, base)) {
        error = MPI_ERR_BASE;
    }
    return ri_window_end(window, error);
}

RI_ENTRY(Win_attach, (MPI_Win win, void *base, MPI_Aint size), (win, base, size),
         entry_attach(window, base, size))
RI_ENTRY(Win_detach, (MPI_Win win, const void *base), (win, base),
         entry_detach(window, base))

RI_ENTRY_NAMES(Win_free, (MPI_Win * win))
int PMPI_Win_free(MPI_Win *win)
{
    ri_window_t *window = ri_window_find(*win);

    if (window == NULL) {
        return ri_real()->Win_free(win);
    }
    if (!ri_epoch_is_over(window)) {
        return ri_window_error(window, MPI_ERR_RMA_SYNC);
    }
    return ri_make_free(window, win);
}

/* The memory of a rank; of MPI_PROC_NULL: of the first one that has any. */
static int entry_shared_query(ri_window_t *window, int rank, MPI_Aint *size,
                              MPI_Aint *disp_unit, void **base_p)
{
    if (window->ops != NULL) {
        return ri_window_error(window, MPI_ERR_RMA_FLAVOR);
    }
    if (rank == MPI_PROC_NULL) {
        for (rank = 0; (rank < window->size) && (window->parts[rank].size == 0); ++rank) {
        }
        if (rank == window->size) {
            *size      = 0;
            *disp_unit = window->parts[0].disp_unit;
            *base_p    = NULL;
            return MPI_SUCCESS;
        }
    }
    if ((rank < 0) || (rank >= window->size)) {
        return ri_window_error(window, MPI_ERR_RANK);
    }
    *size      = window->parts[rank].size;
    *disp_unit = window->parts[rank].disp_unit;
    *base_p    = (*size == 0) ? NULL : window->parts[rank].base;
    return MPI_SUCCESS;
}

static int entry_shared_query_int(ri_window_t *window, int rank, MPI_Aint *size,
                                  int *disp_unit, void *base_p)
{
    MPI_Aint unit = 0;
    int error     = entry_shared_query(window, rank, size, &unit, base_p);

    *disp_unit = (int)unit;
    return error;
}

RI_ENTRY(Win_shared_query,
         (MPI_Win win, int rank, MPI_Aint *size, int *disp_unit, void *baseptr),
         (win, rank, size, disp_unit, baseptr),
         entry_shared_query_int(window, rank, size, disp_unit, baseptr))
#if MPI_VERSION >= 4
RI_ENTRY(Win_shared_query_c,
         (MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr),
         (win, rank, size, disp_unit, baseptr),
         entry_shared_query(window, rank, size, disp_unit, baseptr))
#endif

static int entry_get_attr(ri_window_t *window, int keyval, void *value_p, int *flag)
{
    static MPI_Aint no_size;
    ri_window_part_t *part = &window->parts[window->rank];
    void *value;

    if (keyval == MPI_WIN_BASE) {
        value = part->base;
    } else if (keyval == MPI_WIN_SIZE) {
        value = (window->flavor == MPI_WIN_FLAVOR_DYNAMIC) ? &no_size : &part->size;
    } else if (keyval == MPI_WIN_DISP_UNIT) {
        value = &window->disp_unit;
    } else if (keyval == MPI_WIN_CREATE_FLAVOR) {
        value = &window->flavor;
    } else if (keyval == MPI_WIN_MODEL) {
        value = &window->model;
    } else {
        return ri_real()->Win_get_attr(window->handle, keyval, value_p, flag);
    }
    *(void **)value_p = value;
    *flag             = 1;
    return MPI_SUCCESS;
}

RI_ENTRY(Win_get_attr, (MPI_Win win, int win_keyval, void *attribute_val, int *flag),
         (win, win_keyval, attribute_val, flag),
         entry_get_attr(window, win_keyval, attribute_val, flag))

/* A group of the caller's own. */
static int entry_get_group(const ri_window_t *window, MPI_Group *group)
{
    return ri_window_end(window, PMPI_Group_excl(window->group, 0, NULL, group));
}

/* The info of the MPI's window, and whether atomic operations and locks may need progress of a
 * target. */
static int entry_get_info(const ri_window_t *window, MPI_Info *info)
{
    int error = ri_real()->Win_get_info(window->handle, info);

    return (error == MPI_SUCCESS) ?
                   PMPI_Info_set(*info, "ucxri_target_progress",
                                 (window->shown != NULL) ? "true" : "false") :
                   error;
}

RI_ENTRY(Win_get_info, (MPI_Win win, MPI_Info *info), (win, info),
         entry_get_info(window, info))
RI_ENTRY(Win_get_group, (MPI_Win win, MPI_Group *group), (win, group),
         entry_get_group(window, group))

RI_ENTRY(Win_fence, (int assertion, MPI_Win win), (assertion, win),
         ri_window_end(window, ri_epoch_fence(window, assertion)))
RI_ENTRY(Win_post, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win),
         ri_window_end(window, ri_epoch_post(window, group, assertion)))
RI_ENTRY(Win_start, (MPI_Group group, int assertion, MPI_Win win),
         (group, assertion, win),
         ri_window_end(window, ri_epoch_start(window, group, assertion)))
RI_ENTRY(Win_complete, (MPI_Win win), (win),
         ri_window_end(window, ri_epoch_complete(window)))
RI_ENTRY(Win_wait, (MPI_Win win), (win), ri_window_end(window, ri_epoch_wait(window)))
RI_ENTRY(Win_test, (MPI_Win win, int *flag), (win, flag),
         ri_window_end(window, ri_epoch_test(window, flag)))

static int entry_lock(ri_window_t *window, int type, int rank, int assertion)
{
    int error;

    return entry_has_rank(window, rank, &error) ?
                   ri_window_end(window, ri_epoch_lock(window, type, rank, assertion)) :
                   error;
}

/* A call that has nothing but a rank. */
static int entry_at_rank(ri_window_t *window, int rank,
                         int (*call)(ri_window_t *window, int rank))
{
    int error;

    return entry_has_rank(window, rank, &error) ?
                   ri_window_end(window, call(window, rank)) :
                   error;
}

RI_ENTRY(Win_lock, (int lock_type, int rank, int assertion, MPI_Win win),
         (lock_type, rank, assertion, win),
         entry_lock(window, lock_type, rank, assertion))
RI_ENTRY(Win_unlock, (int rank, MPI_Win win), (rank, win),
         entry_at_rank(window, rank, ri_epoch_unlock))
RI_ENTRY(Win_lock_all, (int assertion, MPI_Win win), (assertion, win),
         ri_window_end(window, ri_epoch_lock_all(window, assertion)))
RI_ENTRY(Win_unlock_all, (MPI_Win win), (win),
         ri_window_end(window, ri_epoch_unlock_all(window)))
RI_ENTRY(Win_flush, (int rank, MPI_Win win), (rank, win),
         entry_at_rank(window, rank, ri_epoch_flush))
RI_ENTRY(Win_flush_local, (int rank, MPI_Win win), (rank, win),
         entry_at_rank(window, rank, ri_epoch_flush_local))
RI_ENTRY(Win_flush_all, (MPI_Win win), (win),
         ri_window_end(window, ri_epoch_flush(window, -1)))
RI_ENTRY(Win_flush_local_all, (MPI_Win win), (win),
         ri_window_end(window, ri_epoch_flush_local(window, -1)))

/* Nothing is kept back: a fence of the processor is enough. */
static int entry_sync(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    return MPI_SUCCESS;
}

RI_ENTRY(Win_sync, (MPI_Win win), (win), entry_sync())
