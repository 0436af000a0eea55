/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Shared code of the MPI test programs; see mpitest.h. */

#define _GNU_SOURCE

#include "mpitest.h"

#include <execinfo.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int mt_rank;
int mt_size;
long mt_seed = 1;
int mt_thread_level;

static const char *test_name;
static char stage[160] = "start";
static double start_time;
static volatile sig_atomic_t in_finalize;

/* MPI_Finalize behind a barrier takes no time; this many seconds are a hang. */
enum {
    FINALIZE_LIMIT = 15
};

static void watchdog(int signo)
{
    void *frames[48];
    char line[256];
    int n;

    (void)signo;
    n = snprintf(line, sizeof(line), "HANG %s: rank %d of %d, seed %ld, at: %s\n",
                 test_name, mt_rank, mt_size, mt_seed, stage);
    if (write(STDERR_FILENO, line, (size_t)n) < 0) {
        return;
    }

    /* The runner's timeout ends the job; ending it here would cut off other reports. */
    backtrace_symbols_fd(frames, backtrace(frames, MT_LEN(frames)), STDERR_FILENO);
    if (in_finalize) {
        _exit(3);
    }
}

static void watchdog_start(long seconds)
{
    struct sigaction action;
    void *frames[2];

    /* The first call loads libgcc, which a signal handler must not do. */
    (void)backtrace(frames, MT_LEN(frames));
    memset(&action, 0, sizeof(action));
    action.sa_handler = watchdog;
    action.sa_flags   = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    alarm((unsigned)seconds);
}

static void usage(const char *about, const mt_opt_t *opts, int nopts)
{
    printf("%s: %s\n\nRun: mpiexec -n RANKS %s [options]\n", test_name, about, test_name);
    for (int i = 0; i < nopts; i++) {
        printf("  --%-12s %s (default %ld)\n", opts[i].name, opts[i].help,
               *opts[i].value);
    }
    printf("  --%-12s all contents and choices derive from it (default %ld)\n", "seed",
           mt_seed);
    printf("  --%-12s report where every rank is after this many seconds\n", "hang");
    printf("  --%-12s this text\n", "help");
}

static void quit(int code)
{
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    exit(code);
}

static int parse_number(const char *text, long *value)
{
    char *end;

    *value = strtol(text, &end, 0);
    if (end == text) {
        return -1;
    }

    if ((*end == 'k') || (*end == 'K')) {
        *value *= 1024;
        end++;
    } else if ((*end == 'm') || (*end == 'M')) {
        *value *= 1024 * 1024;
        end++;
    }

    return ((*end == '\0') && (*value >= 0)) ? 0 : -1;
}

/* Returns 0, or -1 with the reason printed by rank 0. */
static int parse_options(int argc, char **argv, const mt_opt_t *opts, int nopts)
{
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        const char *name = text + 2;
        size_t len       = strcspn(text, "=");
        long *value      = NULL;

        if (strncmp(text, "--", 2) == 0) {
            len -= 2;
            for (int j = 0; j < nopts; j++) {
                if ((strlen(opts[j].name) == len) &&
                    (strncmp(opts[j].name, name, len) == 0)) {
                    value = opts[j].value;
                }
            }
        }

        if (value == NULL) {
            if (mt_rank == 0) {
                fprintf(stderr, "%s: unknown option %s, see --help\n", test_name, text);
            }
            return -1;
        }

        if (name[len] == '=') {
            text = name + len + 1;
        } else {
            text = (++i < argc) ? argv[i] : "";
        }

        if (parse_number(text, value) != 0) {
            if (mt_rank == 0) {
                fprintf(stderr, "%s: --%.*s needs a number, not \"%s\"\n", test_name,
                        (int)len, name, text);
            }
            return -1;
        }
    }

    return 0;
}

void mt_start(int *argc, char ***argv, const char *name, const char *about,
              const mt_opt_t *opts, int nopts, int thread_level, int min_ranks)
{
    long hang = 0;
    mt_opt_t all[16];
    int n = 0;

    test_name = name;
    MPI_Init_thread(argc, argv, thread_level, &mt_thread_level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mt_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mt_size);
    start_time = MPI_Wtime();

    for (int i = 1; i < *argc; i++) {
        if (!strcmp((*argv)[i], "--help") || !strcmp((*argv)[i], "-h")) {
            if (mt_rank == 0) {
                usage(about, opts, nopts);
            }
            quit(0);
        }
    }

    if (nopts > MT_LEN(all) - 2) {
        mt_fail("too many options");
    }
    while (n < nopts) {
        all[n] = opts[n];
        n++;
    }
    all[n++] = (mt_opt_t){"seed", &mt_seed, ""};
    all[n++] = (mt_opt_t){"hang", &hang, ""};
    if (parse_options(*argc, *argv, all, n) != 0) {
        quit(2);
    }

    if (mt_size < min_ranks) {
        mt_skip("needs %d ranks", min_ranks);
    }

    if (hang > 0) {
        watchdog_start(hang);
    }
}

int mt_pass(const char *fmt, ...)
{
    va_list ap;

    mt_stage("final barrier");
    MPI_Barrier(MPI_COMM_WORLD);
    if (mt_rank == 0) {
        printf("PASS %s ranks=%d seed=%ld ", test_name, mt_size, mt_seed);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        printf(" %.2f s\n", MPI_Wtime() - start_time);
        fflush(stdout);
    }

    mt_stage("MPI_Finalize");
    if (alarm(0) > 0) {
        in_finalize = 1;
        alarm(FINALIZE_LIMIT);
    }
    MPI_Finalize();
    return 0;
}

void mt_skip(const char *fmt, ...)
{
    va_list ap;

    if (mt_rank == 0) {
        printf("SKIP %s: ", test_name);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        printf("\n");
    }
    quit(0);
    abort();
}

void mt_fail(const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fprintf(stderr, "FAIL %s: rank %d of %d, seed %ld, at: %s: %s\n", test_name, mt_rank,
            mt_size, mt_seed, stage, text);
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void mt_stage(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(stage, sizeof(stage), fmt, ap);
    va_end(ap);
}

void mt_idle(void)
{
    sched_yield();
}

uint64_t mt_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

uint64_t mt_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t part[] = {a, b, c, d};
    uint64_t key          = mt_mix((uint64_t)mt_seed + 0x9e3779b97f4a7c15ull);

    for (int i = 0; i < MT_LEN(part); i++) {
        key = mt_mix(key + part[i] + 0x9e3779b97f4a7c15ull);
    }
    return key;
}

mt_rng_t mt_rng(uint64_t key)
{
    return (mt_rng_t){key};
}

uint64_t mt_rand(mt_rng_t *rng)
{
    rng->state += 0x9e3779b97f4a7c15ull;
    return mt_mix(rng->state);
}

uint64_t mt_below(mt_rng_t *rng, uint64_t n)
{
    return mt_rand(rng) % n;
}

int mt_chance(mt_rng_t *rng, int percent)
{
    return mt_below(rng, 100) < (uint64_t)percent;
}

size_t mt_rand_size(mt_rng_t *rng, size_t max)
{
    int bits = 0;
    size_t size;
    int exponent, other;

    if ((max == 0) || (mt_below(rng, 16) == 0)) {
        return 0;
    }

    while ((bits < 62) && (((size_t)2 << bits) <= max)) {
        bits++;
    }

    /* The smaller of two draws: small messages prevail, large ones still come. */
    exponent = (int)mt_below(rng, (uint64_t)bits + 1);
    other    = (int)mt_below(rng, (uint64_t)bits + 1);
    exponent = (other < exponent) ? other : exponent;
    size     = (size_t)1 << exponent;
    switch (mt_below(rng, 4)) {
    case 0:
        break;
    case 1:
        size += 1 - 2 * (size_t)mt_below(rng, 2);
        break;
    default:
        size += mt_below(rng, size);
        break;
    }

    return (size > max) ? max : size;
}

void mt_shuffle(mt_rng_t *rng, int *array, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j   = (int)mt_below(rng, (uint64_t)i + 1);
        int tmp = array[i];

        array[i] = array[j];
        array[j] = tmp;
    }
}

static uint64_t pattern_word(uint64_t key, size_t word)
{
    return mt_mix(key + (uint64_t)word * 0x9e3779b97f4a7c15ull);
}

void mt_fill(void *buf, size_t len, uint64_t key)
{
    unsigned char *p = buf;

    for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
        uint64_t word = pattern_word(key, i / sizeof(word));
        size_t n      = (len - i < sizeof(word)) ? len - i : sizeof(word);

        memcpy(p + i, &word, n);
    }
}

long mt_diff_at(const void *buf, size_t len, uint64_t key, size_t offset)
{
    const unsigned char *p = buf;
    size_t i               = 0;

    while (i < len) {
        size_t at     = offset + i;
        size_t skip   = at % sizeof(uint64_t);
        uint64_t word = pattern_word(key, at / sizeof(word));
        size_t n      = sizeof(word) - skip;

        n = (len - i < n) ? len - i : n;
        if (memcmp(p + i, (const unsigned char *)&word + skip, n) != 0) {
            while (p[i] == ((const unsigned char *)&word)[skip]) {
                i++;
                skip++;
            }
            return (long)i;
        }
        i += n;
    }

    return -1;
}

long mt_diff(const void *buf, size_t len, uint64_t key)
{
    return mt_diff_at(buf, len, key, 0);
}

void mt_expect(const void *buf, size_t len, uint64_t key, int peer, int tag)
{
    long at = mt_diff(buf, len, key);

    if (at >= 0) {
        mt_fail("wrong data from peer %d, tag %d, size %zu: first wrong byte at %ld is "
                "0x%02x",
                peer, tag, len, at, ((const unsigned char *)buf)[at]);
    }
}

void mt_expect_status(MPI_Status *status, int peer, int tag, size_t len)
{
    int count;

    MPI_Get_count(status, MPI_BYTE, &count);
    if ((status->MPI_SOURCE != peer) || (status->MPI_TAG != tag) ||
        ((size_t)count != len)) {
        mt_fail("status says source %d, tag %d, %d bytes; expected source %d, tag %d, "
                "%zu bytes",
                status->MPI_SOURCE, status->MPI_TAG, count, peer, tag, len);
    }
}

void *mt_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (p == NULL) {
        mt_fail("out of memory: %zu bytes", size);
    }
    return p;
}

void *mt_buf_alloc(size_t size)
{
    void *p = calloc(1, size + MT_GUARD);

    if (p == NULL) {
        mt_fail("out of memory: %zu bytes", size);
    }
    return p;
}

void mt_buf_guard(const void *buf, size_t received, size_t size, int peer, int tag)
{
    const unsigned char *p = buf;
    size_t end             = received + MT_GUARD;

    end = (end < size) ? end : size;
    for (size_t i = received; i < size + MT_GUARD; i++) {
        if (i == end) {
            i = size;
        }
        if (p[i] != 0) {
            mt_fail("byte %zu behind a message of %zu bytes in a buffer of %zu was "
                    "changed: peer %d, tag %d",
                    i, received, size, peer, tag);
        }
    }
}
