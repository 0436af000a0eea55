/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps: each rank looks whether all others have this library; all ranks tell what they ask
 * for, and where they run; the first rank of each host makes a file for the memory of all on it;
 * the others map it; all say whether they have; ranks of several hosts connect (make_net.h). Then
 * the MPI makes its window of this process alone, and all say so. (One of all ranks would take
 * time, and Open MPI's share files whose names may be those of another window that is made at the
 * same time.)
 */
#include "make.h"
#include "epoch.h"
#include "make_net.h"
#include "make_remote.h"
#include "remote.h"
#include "ranks_here.h"
#include "real_mpi.h"
#include "setting.h"
#include "tell.h"
#include "../ucs/log.h"
#include "../uct/shm/shared_file.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The ranks of a window: each has a cell for each other one, which are 64 MB together then. */
#define MAKE_RANKS_MAX 1024

/* The file of a host, as its first rank tells it. */
typedef struct make_file {
    int64_t size; /* 0: there is none */
    int32_t fd;
} make_file_t;

static size_t make_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (size + page - 1) / page * page;
}

static size_t make_control_size(int ranks)
{
    return RI_CACHE_LINES(sizeof(ri_window_control_t) +
                          (size_t)ranks * sizeof(ri_window_cell_t));
}

/* The bytes at the start of the file of a host. */
static size_t make_controls_size(const ri_make_agree_t *told, int rank, int ranks)
{
    return make_pages((size_t)ri_make_agree_neighbours(told, rank, ranks) *
                      make_control_size(ranks));
}

/* Where the memory of each rank on the host of @a rank begins, in the file. @return The size of the
 * file. */
static size_t make_places(const ri_make_agree_t *told, int rank, int ranks,
                          size_t *places)
{
    size_t at = make_controls_size(told, rank, ranks);
    int i;

    for (i = 0; i < ranks; ++i) {
        places[i] = at;
        if (ri_make_agree_is_remote(told[0].flavor) ||
            !ri_make_agree_share_host(told, i, rank)) {
            continue;
        }
        at += (size_t)told[i].size;
        if (told[0].is_apart) {
            at = make_pages(at);
        }
    }
    return make_pages(at);
}

/* Hear of the file of this host. @a file is that of the rank, if it has made one, and then that of
 * the host; its size is 0 if there is none. */
static void make_hear_file(const ri_make_agree_t *told, int rank, int ranks,
                           MPI_Comm comm, make_file_t *file)
{
    int first = ri_make_agree_first(told, rank);
    make_file_t *files;
    int error;

    if (ri_make_agree_is_one_host(told, ranks)) {
        error = PMPI_Bcast(file, (int)sizeof(*file), MPI_BYTE, 0, comm);
    } else {
        files = malloc((size_t)ranks * sizeof(*files));
        if (files == NULL) { /* and the others would wait */
            ri_error("no memory for a window of %d ranks", ranks);
            PMPI_Abort(comm, 1);
            abort();
        }
        error = PMPI_Allgather(file, (int)sizeof(*file), MPI_BYTE, files,
                               (int)sizeof(*file), MPI_BYTE, comm);
        if (error == MPI_SUCCESS) {
            *file = files[first];
        }
        free(files);
    }
    if (error != MPI_SUCCESS) {
        file->size = 0;
    }
}

/* The file of this host, in all of its processes. @return Where it is in this one, or NULL. */
static void *make_map(const ri_make_args_t *args, const ri_make_agree_t *told, int rank,
                      int ranks, size_t size)
{
    size_t there     = make_controls_size(told, rank, ranks);
    int first        = ri_make_agree_first(told, rank);
    make_file_t file = {.fd = -1};
    void *map        = NULL;
    int have_all, fd = -1;

    if (rank == first) {
        map = ri_shared_file_make("ucxri-win", size, there, &fd);
        if (map != NULL) {
            file = (make_file_t){.size = (int64_t)size, .fd = fd};
        }
    }
    make_hear_file(told, rank, ranks, args->comm, &file);
    if ((rank != first) && (file.size == (int64_t)size)) {
        map = ri_shared_file_open(told[first].process.pid, (uint32_t)file.fd, size,
                                  there);
    }
    have_all = ri_make_agree_by_all(map != NULL, args->comm);
    if (fd >= 0) {
        close(fd);
    }
    if (!have_all && (map != NULL)) {
        munmap(map, size);
        map = NULL;
    }
    return map;
}

/* Note the host of the next rank. @return Its first rank. */
static int make_note_host(ri_window_t *window, const ri_make_agree_t *told, int rank)
{
    int first;

    if ((rank > 0) && ri_make_agree_share_host(told, rank, rank - 1)) {
        return window->parts[rank - 1].first;
    }
    first = ri_make_agree_first(told, rank);
    if (first == rank) {
        window->hosts[window->num_hosts++] = rank;
    }
    return first;
}

/* @return A window without a handle, or NULL. */
static ri_window_t *make_window(const ri_make_args_t *args, const ri_make_agree_t *told,
                                int rank, int ranks)
{
    ri_window_t *window = calloc(1, sizeof(*window));
    size_t *places      = calloc((size_t)ranks, sizeof(*places));
    int is_ok;
    char *map, *control;
    int i;

    if (window != NULL) {
        window->parts   = calloc((size_t)ranks, sizeof(*window->parts));
        window->hosts   = calloc((size_t)ranks, sizeof(*window->hosts));
        window->targets = calloc((size_t)ranks, sizeof(*window->targets));
    }
    is_ok = (window != NULL) && (places != NULL) && (window->parts != NULL) &&
            (window->hosts != NULL) && (window->targets != NULL);
    if (ri_make_agree_by_all(is_ok, args->comm)) {
        window->file_size = make_places(told, rank, ranks, places);
        window->file      = make_map(args, told, rank, ranks, window->file_size);
    }
    if ((window == NULL) || (window->file == NULL)) {
        goto err;
    }
    map = control = window->file;
    for (i = 0; i < ranks; ++i) {
        window->parts[i] =
                (ri_window_part_t){.base      = map + places[i],
                                   .size      = (args->flavor == MPI_WIN_FLAVOR_DYNAMIC) ?
                                                        RI_MAKE_AGREE_SIZE_MAX :
                                                        (MPI_Aint)told[i].size,
                                   .disp_unit = (MPI_Aint)told[i].disp_unit,
                                   .first     = make_note_host(window, told, i),
                                   .process   = told[i].process};
        if (ri_make_agree_share_host(told, i, rank)) {
            window->parts[i].control = (ri_window_control_t *)control;
            control += make_control_size(ranks);
        }
    }
    window->handle    = MPI_WIN_NULL;
    window->group     = MPI_GROUP_NULL;
    window->test      = (ri_window_wait_t){.window = window};
    window->rank      = rank;
    window->size      = ranks;
    window->flavor    = args->flavor;
    window->model     = MPI_WIN_UNIFIED;
    window->disp_unit = (int)args->disp_unit;
    free(places);
    return window;

err:
    if (window != NULL) {
        free(window->parts);
        free(window->hosts);
        free(window->targets);
    }
    free(window);
    free(places);
    return NULL;
}

static void make_free_window(ri_window_t *window)
{
    if (window->group != MPI_GROUP_NULL) {
        PMPI_Group_free(&window->group);
    }
    ri_make_remote_end(window);
    munmap(window->file, window->file_size);
    free(window->parts);
    free(window->hosts);
    free(window->targets);
    free(window);
}

/* A communicator of this process alone whose errors are returned; MPI_COMM_NULL if there is none.
 * It is made once, and is there to the end. */
static MPI_Comm make_self(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int is_made;
    static MPI_Comm self;

    pthread_mutex_lock(&lock);
    if (!is_made) {
        is_made = 1;
        if ((PMPI_Comm_dup(MPI_COMM_SELF, &self) != MPI_SUCCESS) ||
            (PMPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN) != MPI_SUCCESS)) {
            self = MPI_COMM_NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return self;
}

/* The MPI's window of this process. It is of the memory, so that Fortran's functions that do not
 * call those of C find the attributes in it. Some modules of Open MPI refuse MPI_Win_create() on
 * one process; all have MPI_Win_allocate(). @return Whether it is made. */
static int make_handle(const ri_make_args_t *args, void *base, MPI_Win *handle_p)
{
    MPI_Comm self = make_self();

    if (self == MPI_COMM_NULL) {
        return 0;
    }
    if ((args->flavor == MPI_WIN_FLAVOR_DYNAMIC) &&
        (ri_real()->Win_create_dynamic(args->info, self, handle_p) == MPI_SUCCESS)) {
        return 1;
    }
    return (ri_real()->Win_create(base, args->size, (int)args->disp_unit, args->info,
                                  self, handle_p) == MPI_SUCCESS) ||
           (ri_real()->Win_allocate(0, (int)args->disp_unit, args->info, self, &base,
                                    handle_p) == MPI_SUCCESS);
}

/* The rest of what this process has of a window, which has all but a handle. @return Whether all
 * ranks have done it. */
static int make_finish(const ri_make_args_t *args, ri_window_t *window)
{
    int is_ok;

    is_ok = PMPI_Comm_group(args->comm, &window->group) == MPI_SUCCESS;
    if (is_ok && !make_handle(args, window->parts[window->rank].base, &window->handle)) {
        window->handle = MPI_WIN_NULL;
        is_ok          = 0;
    }
    is_ok = is_ok && ri_window_add(window);
    if (ri_make_agree_by_all(is_ok, args->comm)) {
        return 1;
    }
    if (is_ok) {
        ri_window_remove(window);
    }
    if (window->handle != MPI_WIN_NULL) {
        ri_real()->Win_free(&window->handle);
    }
    return 0;
}

/* Why the others are not asked, or NULL. The same on all ranks that are present. */
static const char *make_own_objection(const ri_make_args_t *args, int ranks,
                                      int *speaker_p)
{
    int is_init, is_over;

    *speaker_p = 0;
    if (ri_setting() == RI_SETTING_NO) {
        return "UCXRI_WIN=n";
    }
    if (ri_setting() == RI_SETTING_OFF) {
        return "UCX_RNDV_SCHEME is not recv_init";
    }
    if (ranks > MAKE_RANKS_MAX) {
        return "there are too many ranks";
    }
    if ((PMPI_Initialized(&is_init) != MPI_SUCCESS) || !is_init ||
        (PMPI_Finalized(&is_over) != MPI_SUCCESS) || is_over) {
        return "there is no MPI_COMM_WORLD";
    }
    return ri_ranks_here_objection(args->comm, ranks, speaker_p);
}

/* Make all of a window that the ranks have agreed on. @a ops leads to memory of the program's own;
 * NULL: the window has memory of the library's. @return Why there is none, or NULL: it is made. The
 * same on all ranks. */
static const char *make_agreed(const ri_make_args_t *args, const ri_window_ops_t *ops,
                               const ri_make_agree_t *told, int rank, int ranks,
                               ri_window_t **window_p)
{
    ri_window_t *window = make_window(args, told, rank, ranks);
    const char *objection;

    if (window == NULL) {
        return "there is no memory, or the ranks cannot map it";
    }
    if ((ops != NULL) && !ri_make_remote(window, ops, args->comm, args->base)) {
        objection = RI_MAKE_AGREE_UNREACHABLE;
    } else if (!ri_make_agree_is_one_host(told, ranks) &&
               !ri_make_net(window, ri_make_net_ops(), args->comm)) {
        objection = "the ranks cannot reach each other through the network";
    } else if (!make_finish(args, window)) {
        objection = "the MPI does not make a window of one rank";
    } else {
        *window_p = window;
        return NULL;
    }
    make_free_window(window);
    return objection;
}

int ri_make(const ri_make_args_t *args, void **base_p, MPI_Win *handle_p)
{
    const ri_window_ops_t *ops = NULL;
    ri_window_t *window        = NULL;
    const char *objection;
    ri_make_agree_t *told;
    int rank, ranks, speaker, is_inter;

    /* Nothing is there then but what ri_real() looks for */
    if ((ri_real()->Win_free == NULL) || (&PMPI_Comm_test_inter == NULL)) {
        ri_tell_left("the program has loaded its MPI later", 1);
        return 0;
    }
    if ((args->comm == MPI_COMM_NULL) ||
        (PMPI_Comm_test_inter(args->comm, &is_inter) != MPI_SUCCESS) || is_inter ||
        (PMPI_Comm_size(args->comm, &ranks) != MPI_SUCCESS) ||
        (PMPI_Comm_rank(args->comm, &rank) != MPI_SUCCESS)) {
        return 0;
    }
    objection = make_own_objection(args, ranks, &speaker);
    if (objection != NULL) {
        ri_tell_left(objection, (speaker < 0) || (rank == speaker));
        return 0;
    }
    if (ri_make_agree_is_remote(args->flavor)) {
        ops = ri_make_remote_ops(args->base, args->size);
    }
    told = ri_make_agree_exchange(args, ranks, ops != NULL, ri_make_net_ops() != NULL);
    if (told == NULL) {
        return 0;
    }
    objection = ri_make_agree_objection(told, ranks);
    if (objection == NULL) {
        objection = make_agreed(args, ops, told, rank, ranks, &window);
    }
    free(told);
    if (objection != NULL) {
        ri_tell_left(objection, rank == 0);
        return 0;
    }
    *handle_p = window->handle;
    if (base_p != NULL) {
        *(void **)base_p = window->parts[rank].base;
    }
    ri_tell_taken(ranks, window->file_size, (size_t)args->size);
    return 1;
}

int ri_make_free(ri_window_t *window, MPI_Win *handle_p)
{
    int settled = ri_remote_settle(window, -1);
    int error   = ri_epoch_barrier(window);

    error = (error == MPI_SUCCESS) ? settled : error;
    if (error != MPI_SUCCESS) {
        return ri_window_error(window, error);
    }
    ri_window_remove(window);
    /* Its attributes are deleted in there, by functions that may look at the memory */
    error = ri_real()->Win_free(handle_p);
    if (error != MPI_SUCCESS) { /* such a function has failed, and the window stays */
        ri_window_add(window);
        return error;
    }
    make_free_window(window);
    return MPI_SUCCESS;
}
