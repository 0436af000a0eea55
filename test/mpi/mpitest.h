/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the MPI test programs share: options, reproducible random numbers, message
 * patterns, error reports and a watchdog that tells where a hung rank is.
 */

#ifndef MPITEST_H
#define MPITEST_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define MT_LEN(_array) ((int)(sizeof(_array) / sizeof((_array)[0])))

/* Bytes behind every receive buffer of mt_buf_alloc that nobody may write. */
#define MT_GUARD 64

typedef struct {
    uint64_t state;
} mt_rng_t;

/* An integer option, given as "--name value" or "--name=value"; k, m suffixes allowed. */
typedef struct {
    const char *name;
    long *value;
    const char *help;
} mt_opt_t;

extern int mt_rank; /* in MPI_COMM_WORLD */
extern int mt_size;
extern long mt_seed; /* of every pattern; --seed */
extern int mt_thread_level;

/*
 * Initialise MPI with the given thread level and parse the options, to which --seed,
 * --hang and --help are added. The program ends here on --help or a wrong option, and
 * with a SKIP line when there are fewer than min_ranks ranks.
 */
void mt_start(int *argc, char ***argv, const char *name, const char *about,
              const mt_opt_t *opts, int nopts, int thread_level, int min_ranks);

/*
 * Wait for all ranks, print the PASS line with these details, finalise. Returns 0. With
 * --hang, a hang in MPI_Finalize is reported and ends the program with status 3.
 */
int mt_pass(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* All ranks: print a SKIP line with the reason from rank 0, finalise, exit with 0. */
void mt_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Report an error with the rank and the current stage, and abort all ranks. */
void mt_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Name what this rank does now, for error reports and the watchdog. */
void mt_stage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Give the processor to a peer; polling loops call it where ranks outnumber cores. */
void mt_idle(void);

uint64_t mt_mix(uint64_t x);

/* A key that depends on the seed and all arguments and their order. */
uint64_t mt_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

mt_rng_t mt_rng(uint64_t key);
uint64_t mt_rand(mt_rng_t *rng);

/* Uniform in 0..n-1; n > 0. */
uint64_t mt_below(mt_rng_t *rng, uint64_t n);

/* True with a probability of percent/100. */
int mt_chance(mt_rng_t *rng, int percent);

/* 0..max, mostly small, often at or next to a power of two. */
size_t mt_rand_size(mt_rng_t *rng, size_t max);

void mt_shuffle(mt_rng_t *rng, int *array, int n);

void mt_fill(void *buf, size_t len, uint64_t key);

/* Index of the first byte that differs from the pattern of the key, or -1. */
long mt_diff(const void *buf, size_t len, uint64_t key);

/* As mt_diff, for a piece that starts at the given offset of the pattern. */
long mt_diff_at(const void *buf, size_t len, uint64_t key, size_t offset);

/* Fail with peer, tag, size and first wrong byte unless buf holds the pattern. */
void mt_expect(const void *buf, size_t len, uint64_t key, int peer, int tag);

/* Fail unless the status names this source, tag and number of bytes. */
void mt_expect_status(MPI_Status *status, int peer, int tag, size_t len);

/* A zeroed buffer with a guard behind it; freed by free(). Never NULL. */
void *mt_buf_alloc(size_t size);

/* Fail if bytes behind the received part, or the guard behind the buffer, changed. */
void mt_buf_guard(const void *buf, size_t received, size_t size, int peer, int tag);

/* malloc that fails the test instead of returning NULL. */
void *mt_alloc(size_t size);

#endif
