/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A dynamic window: each rank attaches pieces of memory, all ranks use those of all, and then they are
 * detached, and others are attached.
 */

#include "windows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PIECES 5
#define PIECE  3000 /* bytes, not whole pages */

/* The pieces of this rank, and where those of all ranks are. */
typedef struct {
    MPI_Win win;
    char *mine[PIECES];
    MPI_Aint *places; /* PIECES of each rank */
} dynamic_t;

static void attach(dynamic_t *d, int is_new)
{
    MPI_Aint places[PIECES];

    for (int p = 0; p < PIECES; p++) {
        if (is_new) {
            d->mine[p] = malloc(PIECE);
            memset(d->mine[p], 0, PIECE);
        }
        MPI_Win_attach(d->win, d->mine[p], PIECE);
        MPI_Get_address(d->mine[p], &places[p]);
    }
    MPI_Allgather(places, PIECES, MPI_AINT, d->places, PIECES, MPI_AINT, MPI_COMM_WORLD);
}

static void detach(dynamic_t *d)
{
    for (int p = PIECES; p-- > 0;) {
        MPI_Win_detach(d->win, d->mine[p]);
    }
}

/* Each rank has a word in each piece of each rank, and adds to a common one. */
static void use(const dynamic_t *d, uint64_t key, long round)
{
    int64_t one = 1, old, value[2], all = 0;

    MPI_Win_lock_all(0, d->win);
    for (int r = 0; r < mt_size; r++) {
        for (int p = 0; p < PIECES; p++) {
            MPI_Aint at = d->places[r * PIECES + p];

            value[0] = (int64_t)mt_key(key, (uint64_t)round, (uint64_t)(r * PIECES + p),
                                       (uint64_t)mt_rank);
            MPI_Put(value, 1, MPI_INT64_T, r, MPI_Aint_add(at, 8 + 8 * mt_rank), 1,
                    MPI_INT64_T, d->win);
            MPI_Accumulate(&one, 1, MPI_INT64_T, r, at, 1, MPI_INT64_T, MPI_SUM, d->win);
            MPI_Win_flush(r, d->win);
            MPI_Get(value + 1, 1, MPI_INT64_T, r, MPI_Aint_add(at, 8 + 8 * mt_rank), 1,
                    MPI_INT64_T, d->win);
            MPI_Win_flush(r, d->win);
            if (value[0] != value[1]) {
                mt_fail("round %ld: piece %d of rank %d has %lx, not %lx", round, p, r,
                        (long)value[1], (long)value[0]);
            }
            MPI_Fetch_and_op(&one, &old, MPI_INT64_T, r, MPI_Aint_add(at, PIECE - 8),
                             MPI_SUM, d->win);
            MPI_Win_flush(r, d->win);
        }
    }
    MPI_Win_unlock_all(d->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_rank, 0, d->win);
    for (int p = 0; p < PIECES; p++) {
        int64_t *words = (int64_t *)d->mine[p];

        for (int r = 0; r < mt_size; r++) {
            if (words[1 + r] != (int64_t)mt_key(key, (uint64_t)round,
                                                (uint64_t)(mt_rank * PIECES + p),
                                                (uint64_t)r)) {
                mt_fail("round %ld: piece %d has not what rank %d has put", round, p, r);
            }
        }
        all += words[0] + words[PIECE / 8 - 1];
        words[0] = words[PIECE / 8 - 1] = 0;
    }
    MPI_Win_unlock(mt_rank, d->win);
    if (all != 2 * PIECES * mt_size) {
        mt_fail("round %ld: %ld additions, not %d", round, (long)all,
                2 * PIECES * mt_size);
    }
}

void check_dynamic(long rounds, uint64_t key)
{
    dynamic_t d = {.places = calloc((size_t)mt_size * PIECES, sizeof(*d.places))};
    int *flavor, flag;

    mt_stage("dynamic windows");
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &d.win);
    MPI_Win_get_attr(d.win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    if (!flag || (*flavor != MPI_WIN_FLAVOR_DYNAMIC)) {
        mt_fail("the flavor of a dynamic window");
    }
    for (long round = 0; round < rounds; round++) {
        attach(&d, round == 0);
        use(&d, key, round);
        MPI_Barrier(MPI_COMM_WORLD);
        detach(&d);
    }
    MPI_Win_free(&d.win);
    for (int p = 0; (p < PIECES) && (rounds > 0); p++) {
        free(d.mine[p]);
    }
    free(d.places);
}

/* A put to memory that is not there is this rank's error. The others pass the fence. */
void check_bad_put(void)
{
    int64_t value = 5, good = 0, *mine = calloc(1, sizeof(*mine));
    int error = MPI_SUCCESS, other, class = MPI_SUCCESS;
    MPI_Aint places[2];
    MPI_Win win;
    void *page;

    mt_stage("a put to memory that is not there");
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_attach(win, mine, sizeof(*mine));
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Get_address(page, &places[0]);
    MPI_Get_address(mine, &places[1]);
    munmap(page, 4096);
    MPI_Bcast(places, 2, MPI_AINT, 1, MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++) {
        MPI_Win_fence(0, win);
        if (mt_rank == 0) {
            error = MPI_Put(&value, 1, MPI_INT64_T, 1, places[0], 1, MPI_INT64_T, win);
        }
        other = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        error = (error == MPI_SUCCESS) ? other : error;
        MPI_Error_class(error, &class);
        if (class != ((mt_rank == 0) ? MPI_ERR_RMA_RANGE : MPI_SUCCESS)) {
            mt_fail("round %d: error class %d", round, class);
        }
    }
    if (mt_rank == 0) { /* others go on */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Accumulate(&value, 1, MPI_INT64_T, 1, places[1], 1, MPI_INT64_T, MPI_SUM,
                       win);
        MPI_Get(&good, 1, MPI_INT64_T, 1, places[1], 1, MPI_INT64_T, win);
        MPI_Win_unlock(1, win);
        if (good != value) {
            mt_fail("behind a bad put there is %ld, not %ld", (long)good, (long)value);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, mine);
    MPI_Win_free(&win);
    free(mine);
}
