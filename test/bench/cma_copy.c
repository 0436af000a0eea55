/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bare system call costs: moving N bytes from the memory of one process into that
 * of another, without any protocol. What large messages take is judged against this.
 *
 *   cc -O2 -o cma_copy cma_copy.c && ./cma_copy 0 1
 *
 *   cma_read  the receiving process alone, by one process_vm_readv
 *   cma_both  both processes, which claim chunks from a shared counter: one reads them,
 *             the other one writes them (process_vm_writev)
 *   cma_ends  both processes, of which each takes half of what is left, one from the front, the other
 *             one from the back, so that what it has in its cache stays there
 *   shm_copy  the receiving process alone, by memcpy from memory that both map: as if the
 *             data were there already
 *   shm_pipe  both processes, by memcpy: one into a small shared buffer, the other one out
 *             of it
 *
 * Prints "RESULT <case> <size> <us> us <core probe>" for each size, the median over the
 * batches; a batch is the mean of some transfers, from the moment at which both processes
 * are there to the moment at which both have finished.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_SLOTS 8
#define PIPE_SLOT  (32ul << 10)
#define MAX_SIZE   (64ul << 20)

/* What the two processes share. Counters only grow. */
typedef struct {
    bench_probe_line_t probe;
    _Alignas(128) atomic_ulong ready[2]; /* transfers that each side has come to */
    _Alignas(128) atomic_ulong done[2];  /* ... and finished */
    _Alignas(128) atomic_ulong next;     /* bytes claimed of this transfer */
    _Alignas(128) atomic_ulong written;  /* slots of the pipe */
    _Alignas(128) atomic_ulong taken;
    _Alignas(4096) char slots[PIPE_SLOTS][PIPE_SLOT];
    char data[MAX_SIZE]; /* of the sender */
} shared_t;

typedef struct {
    shared_t *shared;
    char *own; /* private memory, at the same address in both processes */
    pid_t peer;
    int receiver;
    size_t chunk;
    unsigned long count; /* transfers so far */
    unsigned long slots; /* of the pipe so far */
} side_t;

typedef void (*transfer_func_t)(side_t *side, size_t size);


static pid_t waiting_parent; /* of this process, which is the sender; or 0 */

static void fail(const char *what)
{
    fprintf(stderr, "cma_copy: %s: %s\n", what, strerror(errno));
    if (waiting_parent != 0) {
        kill(waiting_parent, SIGTERM);
    }
    exit(EXIT_FAILURE);
}

/* The piece at @a offset: the receiver reads it, the sender writes it. */
static void cma_piece(side_t *side, size_t offset, size_t size)
{
    struct iovec iov = {side->own + offset, size};
    ssize_t ret = side->receiver ? process_vm_readv(side->peer, &iov, 1, &iov, 1, 0) :
                                   process_vm_writev(side->peer, &iov, 1, &iov, 1, 0);

    if (ret != (ssize_t)size) {
        fail(side->receiver ? "process_vm_readv" : "process_vm_writev");
    }
}

static void cma_read(side_t *side, size_t size)
{
    if (side->receiver) {
        cma_piece(side, 0, size);
    }
}

static void cma_both(side_t *side, size_t size)
{
    size_t at;

    while ((at = atomic_fetch_add(&side->shared->next, side->chunk)) < size) {
        cma_piece(side, at, (size - at < side->chunk) ? size - at : side->chunk);
    }
}

/* Pages claimed from the front in the lower half of the counter, from the back in the upper.
 * @return How many pages this side has now, from *first on. */
static size_t claim_end(side_t *side, size_t pages, size_t *first)
{
    unsigned long claimed = atomic_load(&side->shared->next);
    unsigned long next;
    size_t front, back, share;

    do {
        front  = (unsigned)claimed;
        back   = claimed >> 32;
        share  = (pages - front - back) / 2;
        share  = (share < 4) ? 4 : (share > 64) ? 64 : share;
        share  = (share > pages - front - back) ? pages - front - back : share;
        *first = side->receiver ? front : (pages - back - share);
        next   = side->receiver ? (claimed + share) :
                                  (claimed + ((unsigned long)share << 32));
    } while ((share > 0) &&
             !atomic_compare_exchange_weak(&side->shared->next, &claimed, next));
    return share;
}

static void cma_ends(side_t *side, size_t size)
{
    size_t first, count, at;

    while ((count = claim_end(side, (size + 4095) / 4096, &first)) > 0) {
        at = first * 4096;
        cma_piece(side, at, (size - at < count * 4096) ? size - at : count * 4096);
    }
}

static void shm_copy(side_t *side, size_t size)
{
    if (side->receiver) {
        memcpy(side->own, side->shared->data, size);
    }
}

static void shm_pipe(side_t *side, size_t size)
{
    shared_t *shared = side->shared;
    size_t at, now;
    char *slot;

    for (at = 0; at < size; at += now, ++side->slots) {
        now  = (size - at < PIPE_SLOT) ? size - at : PIPE_SLOT;
        slot = shared->slots[side->slots % PIPE_SLOTS];
        if (side->receiver) {
            while (atomic_load_explicit(&shared->written, memory_order_acquire) ==
                   side->slots) {}
            memcpy(side->own + at, slot, now);
            atomic_store_explicit(&shared->taken, side->slots + 1, memory_order_release);
        } else {
            while (side->slots -
                           atomic_load_explicit(&shared->taken, memory_order_acquire) ==
                   PIPE_SLOTS) {}
            memcpy(slot, side->own + at, now);
            atomic_store_explicit(&shared->written, side->slots + 1,
                                  memory_order_release);
        }
    }
}

static const struct {
    const char *name;
    transfer_func_t func;
} cases[] = {{"cma_read", cma_read},
             {"cma_both", cma_both},
             {"cma_ends", cma_ends},
             {"shm_copy", shm_copy},
             {"shm_pipe", shm_pipe}};

/* Tell the other side, and wait for it. */
static void meet(side_t *side, atomic_ulong *counters)
{
    atomic_store_explicit(&counters[side->receiver], side->count, memory_order_release);
    while (atomic_load_explicit(&counters[!side->receiver], memory_order_acquire) <
           side->count) {}
}

/* Both sides call this with the same arguments. @return Seconds for one transfer. */
static double batch(side_t *side, transfer_func_t func, size_t size, int transfers)
{
    double total = 0;
    double start;
    int i;

    for (i = 0; i < transfers; ++i) {
        ++side->count;
        if (side->receiver) {
            atomic_store_explicit(&side->shared->next, 0, memory_order_relaxed);
        }
        meet(side, side->shared->ready);
        start = bench_now();
        func(side, size);
        meet(side, side->shared->done);
        total += bench_now() - start;
    }
    return total / transfers;
}

static void check(const side_t *side, const char *name, size_t size)
{
    size_t i;

    for (i = 0; i < size; ++i) {
        if (side->own[i] != (char)(i * 7 + 1)) {
            fprintf(stderr, "cma_copy: %s, %zu bytes: wrong data at %zu\n", name, size,
                    i);
            exit(EXIT_FAILURE);
        }
    }
}

static void run(side_t *side, const size_t *sizes, int num_sizes, int batches)
{
    bench_probe_t probe = {.line = &side->shared->probe, .leader = side->receiver};
    double times[BENCH_MAX_BATCHES];
    double before;
    int i, j, transfers;
    size_t c;

    for (i = 0; i < num_sizes; ++i) {
        /* A batch moves 4 MB, but at most a hundred messages */
        transfers = (sizes[i] < (4ul << 20) / 100) ? 100 : (4ul << 20) / sizes[i];
        transfers = (transfers > 0) ? transfers : 1;
        for (c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
            if (side->receiver) {
                memset(side->own, 0, sizes[i]);
            }
            before = bench_probe(&probe);
            batch(side, cases[c].func, sizes[i], 1);
            for (j = 0; j < batches; ++j) {
                times[j] = batch(side, cases[c].func, sizes[i], transfers);
            }
            before = perf_state_join(before, bench_probe(&probe));
            if (side->receiver) {
                check(side, cases[c].name, sizes[i]);
                bench_print(cases[c].name, sizes[i], bench_median(times, batches) * 1e6,
                            "us", before);
            }
        }
    }
}

static void pin(double cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((int)cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        fail("sched_setaffinity");
    }
}

static void usage(void)
{
    printf("Usage: cma_copy [-s SIZES] [-b BATCHES] [-c CHUNK] CPU CPU\n"
           "Copies between two processes, by the bare system calls and by memcpy.\n"
           "  -s  sizes, with commas: 64k,1m (1k,4k,16k,64k,256k,1m,4m,16m)\n"
           "  -b  batches of each size and case (21)\n"
           "  -c  what is claimed at once if both copy (64k)\n");
}

/* What the command line says. */
typedef struct settings {
    size_t sizes[BENCH_MAX_SIZES];
    int num_sizes;
    size_t chunk;   /* what is claimed at once if both copy */
    double batches; /* of each size and case */
    double cpus[2];
} settings_t;

/* Reads the command line. Returns 0 if the program is to go on; else it has said why not. */
static int parse(int argc, char **argv, settings_t *settings, int *status)
{
    const char *list = "1k,4k,16k,64k,256k,1m,4m,16m";
    size_t chunk[BENCH_MAX_SIZES];
    int opt, i;

    *status           = EXIT_FAILURE;
    settings->chunk   = 64 << 10;
    settings->batches = 21;
    while ((opt = getopt(argc, argv, "s:b:c:h")) != -1) {
        switch (opt) {
        case 's':
            list = optarg;
            break;
        case 'b':
            if (bench_parse_number("-b", optarg, 1, BENCH_MAX_BATCHES,
                                   &settings->batches)) {
                return -1;
            }
            break;
        case 'c':
            if ((bench_parse_sizes(optarg, chunk) != 1) || (chunk[0] == 0)) {
                return -1;
            }
            settings->chunk = chunk[0];
            break;
        case 'h':
            usage();
            *status = EXIT_SUCCESS;
            return -1;
        default:
            return -1;
        }
    }
    settings->num_sizes = bench_parse_sizes(list, settings->sizes);
    if ((settings->num_sizes < 0) || (argc - optind != 2) ||
        bench_parse_number("cpu", argv[optind], 0, CPU_SETSIZE - 1, &settings->cpus[0]) ||
        bench_parse_number("cpu", argv[optind + 1], 0, CPU_SETSIZE - 1,
                           &settings->cpus[1])) {
        fprintf(stderr, "cma_copy: two CPUs are needed; see -h\n");
        return -1;
    }
    for (i = 0; i < settings->num_sizes; ++i) {
        if ((settings->sizes[i] == 0) || (settings->sizes[i] > MAX_SIZE)) {
            fprintf(stderr, "cma_copy: sizes are from 1 to %lu\n", MAX_SIZE);
            return -1;
        }
    }
    return 0;
}

/* The second process: the sender, which ends with the first one. */
static void run_child(side_t *side, const settings_t *settings, pid_t parent)
{
    size_t at;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    pin(settings->cpus[1]);
    waiting_parent = parent;
    side->peer     = parent;
    for (at = 0; at < MAX_SIZE; ++at) {
        side->own[at] = side->shared->data[at] = (char)(at * 7 + 1);
    }
    run(side, settings->sizes, settings->num_sizes, (int)settings->batches);
    _exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    settings_t settings;
    side_t side = {0};
    int status, wait_status;
    pid_t parent, child;

    if (parse(argc, argv, &settings, &status) != 0) {
        return status;
    }
    side.chunk  = settings.chunk;
    side.shared = mmap(NULL, sizeof(*side.shared), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    side.own = mmap(NULL, MAX_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
    if ((side.shared == MAP_FAILED) || (side.own == MAP_FAILED)) {
        fail("mmap");
    }

    pin(settings.cpus[1]); /* fails before there is a second process that would wait */
    pin(settings.cpus[0]);
    parent = getpid();
    child  = fork();
    if (child < 0) {
        fail("fork");
    }
    if (child == 0) {
        run_child(&side, &settings, parent);
    }

    side.peer     = child;
    side.receiver = 1;
    memset(side.own, 0, MAX_SIZE);
    run(&side, settings.sizes, settings.num_sizes, (int)settings.batches);
    waitpid(child, &wait_status, 0);
    return EXIT_SUCCESS;
}
