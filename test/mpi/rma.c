/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * One-sided communication: put, get, accumulate with fence, PSCW, lock and flush.
 *
 * Run: mpiexec -n 2..4 rma [--seed N] [--iters N] [--max-size BYTES]
 *
 * Only one window exists at a time, always of the same page-aligned memory: MPICH over
 * UCX 1.13 takes the wrong base address for overlapping or unaligned windows. Gets in
 * fence epochs are small, because with larger ones MPICH's fence over UCX 1.13 may end
 * before the data is there; large gets are completed by a flush. Ordinary messages go on
 * between the epochs.
 */

#define _POSIX_C_SOURCE 200809L

#include "mpitest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long iters    = 6;
static long max_size = 1 << 20;
static long locks    = 1;

/* The largest get that a fence completes; see above. */
enum {
    FENCE_GET = 4096
};

static char *memory;
static size_t slot; /* bytes of the window for each origin */
static MPI_Win win;

static char *part(int origin)
{
    return memory + (size_t)origin * slot;
}

static MPI_Aint offset_of(int origin)
{
    return (MPI_Aint)((size_t)origin * slot);
}

static uint64_t pair_key(uint64_t base, int from, int to)
{
    return mt_key(base, (uint64_t)from, (uint64_t)to, 21);
}

/* A message among the one-sided operations. */
static void exchange(size_t size, uint64_t base)
{
    int to    = (mt_rank + 1) % mt_size;
    int from  = (mt_rank + mt_size - 1) % mt_size;
    char *out = mt_alloc(size);
    char *in  = mt_buf_alloc(size);
    MPI_Status status;

    mt_fill(out, size, pair_key(base + 77, mt_rank, to));
    MPI_Sendrecv(out, (int)size, MPI_BYTE, to, 6, in, (int)size, MPI_BYTE, from, 6,
                 MPI_COMM_WORLD, &status);
    mt_expect(in, size, pair_key(base + 77, from, mt_rank), from, 6);
    free(in);
    free(out);
}

static void check_window(const char *what, size_t size, uint64_t base)
{
    for (int r = 0; r < mt_size; r++) {
        long at = mt_diff(part(r), size, pair_key(base, r, mt_rank));

        if (at >= 0) {
            mt_fail("%s of %zu bytes by rank %d: first wrong byte %ld", what, size, r,
                    at);
        }
    }
}

/* Every rank puts into all others, then gets what all others have. */
static void fence(size_t size, uint64_t base)
{
    size_t small = (size < FENCE_GET) ? size : FENCE_GET;
    char *out    = mt_alloc(size * (size_t)mt_size);
    char *in     = mt_buf_alloc(small);

    mt_stage("fence, %zu bytes", size);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    for (int r = 0; r < mt_size; r++) {
        mt_fill(out + (size_t)r * size, size, pair_key(base, mt_rank, r));
        MPI_Put(out + (size_t)r * size, (int)size, MPI_BYTE, r, offset_of(mt_rank),
                (int)size, MPI_BYTE, win);
    }
    MPI_Win_fence(0, win);
    check_window("Put", size, base);
    for (int r = 0; r < mt_size; r++) {
        int target = (mt_rank + r) % mt_size;

        memset(in, 0, small);
        MPI_Get(in, (int)small, MPI_BYTE, target, offset_of(r), (int)small, MPI_BYTE,
                win);
        MPI_Win_fence(0, win);
        mt_expect(in, small, pair_key(base, r, target), target, -1);
        mt_buf_guard(in, small, small, target, -1);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    free(out);
    free(in);
}

/* All add to the same elements of all. */
static void accumulate(size_t size, uint64_t base)
{
    size_t n      = size / sizeof(uint64_t);
    uint64_t *in  = mt_alloc(size);
    uint64_t *sum = (uint64_t *)memory;

    n = (n > 65536) ? 65536 : n;
    mt_stage("accumulate, %zu elements", n);
    memset(memory, 0, n * sizeof(*sum));
    for (size_t i = 0; i < n; i++) {
        in[i] = mt_mix(base + (uint64_t)mt_rank * 1000 + i) >> 8;
    }
    MPI_Win_fence(0, win);
    for (int r = 0; r < mt_size; r++) {
        MPI_Accumulate(in, (int)n, MPI_UINT64_T, r, 0, (int)n, MPI_UINT64_T, MPI_SUM,
                       win);
    }
    MPI_Win_fence(0, win);
    for (size_t i = 0; i < n; i++) {
        uint64_t expected = 0;

        for (int r = 0; r < mt_size; r++) {
            expected += mt_mix(base + (uint64_t)r * 1000 + i) >> 8;
        }
        if (sum[i] != expected) {
            mt_fail("Accumulate: element %zu of %zu is %llx, expected %llx", i, n,
                    (unsigned long long)sum[i], (unsigned long long)expected);
        }
    }
    MPI_Win_fence(0, win);
    free(in);
}

/* Post, start, complete, wait in a ring. */
static void pscw(size_t size, uint64_t base)
{
    int right = (mt_rank + 1) % mt_size;
    int left  = (mt_rank + mt_size - 1) % mt_size;
    char *out = mt_alloc(size);
    MPI_Group world, targets, origins;
    long at;

    mt_stage("PSCW, %zu bytes", size);
    memset(memory, 0, slot * (size_t)mt_size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &right, &targets);
    MPI_Group_incl(world, 1, &left, &origins);
    mt_fill(out, size, pair_key(base, mt_rank, right));
    MPI_Win_post(origins, 0, win);
    MPI_Win_start(targets, 0, win);
    MPI_Put(out, (int)size, MPI_BYTE, right, offset_of(mt_rank), (int)size, MPI_BYTE,
            win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    at = mt_diff(part(left), size, pair_key(base, left, mt_rank));
    if (at >= 0) {
        mt_fail("PSCW put of %zu bytes by rank %d: first wrong byte %ld", size, left, at);
    }
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Lock, put, flush, read back, unlock; then a counter that all ranks add to. */
static void passive(size_t size, uint64_t base, int all)
{
    char *out    = mt_alloc(size);
    char *in     = mt_buf_alloc(size);
    uint64_t one = 1;
    uint64_t old, expected;

    mt_stage("%s, %zu bytes", all ? "lock_all" : "lock", size);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_rank, 0, win);
    memset(memory, 0, slot * (size_t)mt_size + 64);
    MPI_Win_unlock(mt_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (all) {
        MPI_Win_lock_all(0, win);
    }
    for (int i = 0; i < mt_size; i++) {
        int target = (mt_rank + i) % mt_size;

        mt_fill(out, size, pair_key(base, mt_rank, target));
        if (!all) {
            MPI_Win_lock((i % 2) ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
        }
        MPI_Put(out, (int)size, MPI_BYTE, target, offset_of(mt_rank), (int)size, MPI_BYTE,
                win);
        MPI_Win_flush(target, win);
        memset(out, 0, size);
        MPI_Get(in, (int)size, MPI_BYTE, target, offset_of(mt_rank), (int)size, MPI_BYTE,
                win);
        MPI_Win_flush(target, win);
        mt_expect(in, size, pair_key(base, mt_rank, target), target, -1);
        MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, target,
                         (MPI_Aint)(slot * (size_t)mt_size), MPI_SUM, win);
        MPI_Win_flush(target, win);
        if (old >= (uint64_t)mt_size) {
            mt_fail("Fetch_and_op at rank %d returned %llu", target,
                    (unsigned long long)old);
        }
        if (!all) {
            MPI_Win_unlock(target, win);
        }
    }
    if (all) {
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_rank, 0, win);
    check_window("passive Put", size, base);
    expected = (uint64_t)mt_size;
    memcpy(&old, memory + slot * (size_t)mt_size, sizeof(old));
    if (old != expected) {
        mt_fail("counter is %llu, expected %llu", (unsigned long long)old,
                (unsigned long long)expected);
    }
    MPI_Win_unlock(mt_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"iters", &iters, "number of windows"},
            {"max-size", &max_size, "largest operation"},
            {"locks", &locks, "0 leaves out lock, lock_all and flush"},
    };
    size_t page, length;
    void *aligned;
    mt_rng_t rng;

    mt_start(&argc, &argv, "rma", "one-sided communication", opts, MT_LEN(opts),
             MPI_THREAD_SINGLE, 2);
    page   = (size_t)sysconf(_SC_PAGESIZE);
    slot   = ((size_t)max_size + page - 1) / page * page;
    slot   = (slot > 0) ? slot : page;
    length = slot * (size_t)mt_size + page;
    if (posix_memalign(&aligned, page, length) != 0) {
        mt_fail("out of memory");
    }
    memory = aligned;

    /* The same on all ranks, which have to agree on the sizes. */
    rng = mt_rng(mt_key(5, 5, 5, 5));
    for (long i = 0; i < iters; i++) {
        memset(memory, 0, length);
        mt_stage("window %ld", i);
        MPI_Win_create(memory, (MPI_Aint)length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        for (int j = 0; j < 4; j++) {
            size_t size   = (j == 0) ? (size_t)max_size >> (i % 8) :
                                       mt_rand_size(&rng, (size_t)max_size);
            uint64_t base = mt_rand(&rng);

            fence(size, base);
            exchange(size, base);
            accumulate(size, base + 1);
            pscw(size, base + 2);
            exchange(size, base + 1);
            if (locks) {
                passive(size, base + 3, j % 2);
            }
        }
        MPI_Win_free(&win);
    }
    free(memory);
    return mt_pass("windows=%ld:", iters);
}
