/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Long messages from and to memory whose pages are replaced at the same address between them, while
 * other messages are under way. Who keeps registrations of memory must notice that. The data tell
 * on adapters; on the software HCA with SOFTHCA_PAGES=check.
 *
 * Run: mpiexec -n 2..4 replaced_memory [--rounds N] [--max-size BYTES] [--raw 1] [--seed N]
 *
 * Ranks form pairs of an even rank and the odd one behind it. With --raw 1 the pages are replaced
 * by system calls of which nobody is told, and which nobody can notice: the control of what judges
 * registrations.
 */

/* mremap */
#define _GNU_SOURCE

#include "mpitest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How memory goes, and comes again */
typedef enum {
    UNMAPPED, /* and mapped again where it was */
    MAPPED_OVER,
    GIVEN_BACK, /* madvise */
    MOVED,      /* elsewhere, and new memory is mapped in its place */
    FREED,      /* and allocated again */
    NUM_WAYS
} way_t;

typedef struct {
    way_t way;
    char *data;
} memory_t;

/* One message after the other in either direction */
typedef struct {
    memory_t out, in;
    size_t out_size, in_size;
    long round;
    MPI_Request reqs[2];
} lane_t;

enum {
    LANES = 2 * NUM_WAYS,
    PAGE  = 4096,
    MIN   = 20000
};

static long rounds   = 20;
static long max_size = 2500000;
static long raw      = 0;
static long replaced; /* with the same address as before */

static size_t length(void)
{
    return ((size_t)max_size + 2 * PAGE - 1) / PAGE * PAGE;
}

/* At an address that is only a wish, unless MAP_FIXED is among the flags */
static char *map(void *address, size_t size, int fixed)
{
    int prot  = PROT_READ | PROT_WRITE;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | fixed;
    void *p   = raw ? (void *)syscall(SYS_mmap, address, size, prot, flags, -1, 0) :
                      mmap(address, size, prot, flags, -1, 0);

    if (p == MAP_FAILED) {
        mt_fail("no memory");
    }
    return p;
}

static void unmap(void *address, size_t size)
{
    if (raw) {
        syscall(SYS_munmap, address, size);
    } else {
        munmap(address, size);
    }
}

/* Maps memory that has gone again, where it was: the page behind it is still there. A thread of the
 * process may have mapped something in that hole meanwhile; the memory is elsewhere then. */
static void map_again(memory_t *memory)
{
    char *before = memory->data;

    memory->data = map(before, length(), 0);
    if (memory->data != before) {
        unmap(memory->data, length());
        unmap(before + length(), PAGE);
        memory->data = map(NULL, length() + PAGE, 0);
    }
}

static void memory_make(memory_t *memory, way_t way)
{
    memory->way = way;
    /* Behind what moves is a page that is in its way */
    memory->data = (way == FREED) ? mt_alloc(length()) : map(NULL, length() + PAGE, 0);
}

static void memory_free(memory_t *memory)
{
    if (memory->way == FREED) {
        free(memory->data);
    } else {
        munmap(memory->data, length() + PAGE);
    }
}

static void memory_replace(memory_t *memory)
{
    char *before = memory->data;
    void *other;

    switch (memory->way) {
    case UNMAPPED:
        unmap(memory->data, length());
        map_again(memory);
        break;
    case MAPPED_OVER:
        map(memory->data, length(), MAP_FIXED);
        break;
    case GIVEN_BACK:
        if (raw) {
            syscall(SYS_madvise, memory->data, length(), MADV_DONTNEED);
        } else {
            madvise(memory->data, length(), MADV_DONTNEED);
        }
        break;
    case MOVED:
        other = raw ? (void *)syscall(SYS_mremap, memory->data, length(), length() + PAGE,
                                      MREMAP_MAYMOVE) :
                      mremap(memory->data, length(), length() + PAGE, MREMAP_MAYMOVE);
        if (other == MAP_FAILED) {
            mt_fail("no memory");
        }
        unmap(other, length() + PAGE);
        map_again(memory);
        break;
    default:
        free(memory->data);
        memory->data = mt_alloc(length());
    }
    replaced += (memory->data == before);
}

/* Of a message: both ranks know it */
static uint64_t key(int from, int lane, long round)
{
    return mt_key((uint64_t)from, (uint64_t)lane, (uint64_t)round, 1);
}

static size_t size_of(int from, int lane, long round)
{
    mt_rng_t rng = mt_rng(key(from, lane, round));

    return MIN + (size_t)mt_below(&rng, (uint64_t)max_size - MIN);
}

static void start(lane_t *lane, int number, int peer)
{
    int early = (lane->round + number) % 2;

    lane->out_size = size_of(mt_rank, number, lane->round);
    lane->in_size  = size_of(peer, number, lane->round);
    mt_fill(lane->out.data, lane->out_size, key(mt_rank, number, lane->round));
    memset(lane->in.data, 0, lane->in_size);
    for (int step = 0; step < 2; step++) {
        if (step == early) {
            MPI_Isend(lane->out.data, (int)lane->out_size, MPI_BYTE, peer, number,
                      MPI_COMM_WORLD, &lane->reqs[0]);
        } else {
            MPI_Irecv(lane->in.data, (int)lane->in_size, MPI_BYTE, peer, number,
                      MPI_COMM_WORLD, &lane->reqs[1]);
        }
    }
}

static void finish(lane_t *lane, int number, int peer)
{
    mt_expect(lane->in.data, lane->in_size, key(peer, number, lane->round), peer, number);
    if (lane->round % 3 != 0) {
        memory_replace(&lane->out);
    }
    if (lane->round % 3 != 1) {
        memory_replace(&lane->in);
    }
}

static void exchange(int peer)
{
    lane_t lanes[LANES];
    int left = LANES;

    for (int i = 0; i < LANES; i++) {
        memory_make(&lanes[i].out, (way_t)(i % NUM_WAYS));
        memory_make(&lanes[i].in, (way_t)((i + i / NUM_WAYS) % NUM_WAYS));
        lanes[i].round = 0;
        start(&lanes[i], i, peer);
    }
    while (left > 0) {
        for (int i = 0; i < LANES; i++) {
            int done;

            if (lanes[i].round == rounds) {
                continue;
            }
            mt_stage("lane %d, round %ld", i, lanes[i].round);
            MPI_Testall(2, lanes[i].reqs, &done, MPI_STATUSES_IGNORE);
            if (!done) {
                continue;
            }
            finish(&lanes[i], i, peer);
            if (++lanes[i].round < rounds) {
                start(&lanes[i], i, peer);
            } else {
                left--;
            }
        }
        mt_idle();
    }
    for (int i = 0; i < LANES; i++) {
        memory_free(&lanes[i].out);
        memory_free(&lanes[i].in);
    }
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"rounds", &rounds, "messages of each of ten lanes in either direction"},
            {"max-size", &max_size, "of a message"},
            {"raw", &raw,
             "1: memory is replaced by system calls of which nobody is told"},
    };
    int peer;

    mt_start(&argc, &argv, "replaced_memory",
             "messages from and to memory that is replaced at the same address", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    if (max_size <= MIN) {
        mt_fail("--max-size: expected more than %d", MIN);
    }
    peer = mt_rank ^ 1;
    if (peer < mt_size) {
        exchange(peer);
        if ((rounds >= 3) && (replaced == 0)) {
            mt_fail("no memory came again at the same address");
        }
    }
    return mt_pass("%ld pieces of memory replaced by rank 0", replaced);
}
