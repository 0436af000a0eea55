/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Derived datatypes that come and go, in several threads at a time, and messages that are packed
 * otherwise than they are received.
 *
 * Run: mpiexec -n 2 type_storm [--seed N] [--iters N] [--threads N]
 *
 * Each thread of rank 0 sends to one of rank 1. For each message both make a type, commit it, use
 * it once or more, and free it right after the call that uses it, so that handles are used again
 * for types of another form. What comes is compared byte by byte, gaps included. Then long messages
 * of MPI_PACKED are received as structs, whose elements end where no fragment does.
 */

#include "mpitest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_THREADS = 8
};

static long iters   = 150;
static long threads = 3;
static long packed  = 1;

/* The bytes of a type: blocks of one length at a stride, in rows at another one. */
typedef struct {
    int rows, blocks, length, stride, row_stride;
} shape_t;

static shape_t random_shape(mt_rng_t *rng)
{
    shape_t s;

    s.length     = 1 + (int)mt_below(rng, mt_chance(rng, 20) ? 3000 : 60);
    s.stride     = s.length + (int)mt_below(rng, 20);
    s.blocks     = 1 + (int)mt_below(rng, 60);
    s.rows       = 1 + (int)mt_below(rng, mt_chance(rng, 20) ? 60 : 6);
    s.row_stride = s.blocks * s.stride + (int)mt_below(rng, 50);
    return s;
}

static size_t shape_bytes(const shape_t *s)
{
    return (size_t)s->rows * (size_t)s->blocks * (size_t)s->length;
}

static MPI_Datatype shape_type(const shape_t *s)
{
    MPI_Datatype row, type;

    MPI_Type_vector(s->blocks, s->length, s->stride, MPI_BYTE, &row);
    MPI_Type_create_hvector(s->rows, 1, s->row_stride, row, &type);
    MPI_Type_free(&row);
    MPI_Type_commit(&type);
    return type;
}

/* Where a packed byte is. */
static size_t shape_place(const shape_t *s, size_t i)
{
    size_t block = i / (size_t)s->length;

    return block / (size_t)s->blocks * (size_t)s->row_stride +
           block % (size_t)s->blocks * (size_t)s->stride + i % (size_t)s->length;
}

static char byte_of(uint64_t key, size_t i)
{
    return (char)(mt_mix(key + i / 8) >> (i % 8 * 8));
}

static void send_one(const shape_t *s, uint64_t key, int tag, int uses)
{
    size_t span = (size_t)s->rows * (size_t)s->row_stride;
    size_t size = shape_bytes(s);
    char *buf   = mt_buf_alloc(span);
    MPI_Request request[4];
    MPI_Datatype type = shape_type(s);

    for (size_t i = 0; i < size; i++) {
        buf[shape_place(s, i)] = byte_of(key, i);
    }
    for (int i = 0; i < uses; i++) {
        MPI_Isend(buf, 1, type, 1, tag, MPI_COMM_WORLD, &request[i]);
    }
    MPI_Type_free(&type);
    MPI_Waitall(uses, request, MPI_STATUSES_IGNORE);
    free(buf);
}

/* Receive the bytes, in another form than they were sent in. */
static void recv_one(const shape_t *s, size_t sent, uint64_t key, int tag, int uses)
{
    size_t span       = (size_t)s->rows * (size_t)s->row_stride;
    size_t size       = shape_bytes(s);
    int count         = (int)((sent + size - 1) / size);
    size_t extent     = shape_place(s, size - 1) + 1;
    size_t whole      = extent * (size_t)count + span;
    char *buf         = mt_buf_alloc(whole);
    char *expected    = mt_alloc(whole);
    MPI_Datatype type = shape_type(s);
    MPI_Request request;

    memset(expected, 0x5a, whole);
    for (size_t i = 0; i < sent; i++) {
        expected[i / size * extent + shape_place(s, i % size)] = byte_of(key, i);
    }
    for (int i = 0; i < uses; i++) {
        memset(buf, 0x5a, whole);
        MPI_Irecv(buf, count, type, 0, tag, MPI_COMM_WORLD, &request);
        if (i == uses - 1) {
            MPI_Type_free(&type);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (memcmp(buf, expected, whole) != 0) {
            mt_fail("use %d of %d, tag %d: %zu bytes came wrong", i, uses, tag, sent);
        }
    }
    mt_buf_guard(buf, whole, whole, 0, tag);
    free(buf);
    free(expected);
}

static void *storm(void *arg)
{
    int thread = (int)(intptr_t)arg;

    for (int i = 0; i < iters; i++) {
        mt_rng_t rng = mt_rng(mt_key((uint64_t)thread, (uint64_t)i, 0, 3));
        shape_t from = random_shape(&rng);
        shape_t to   = random_shape(&rng);
        uint64_t key = mt_rand(&rng);
        int uses     = 1 + (int)mt_below(&rng, 4);

        if (mt_rank == 0) {
            send_one(&from, key, thread, uses);
        } else if (mt_rank == 1) {
            recv_one(&to, shape_bytes(&from), key, thread, uses);
        }
    }
    return NULL;
}

/* 28 bytes in 40. */
static MPI_Datatype struct_type(void)
{
    int lengths[]        = {3, 1};
    MPI_Aint places[]    = {0, 3 * sizeof(double)};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype inner, type;

    MPI_Type_create_struct(2, lengths, places, types, &inner);
    MPI_Type_create_resized(inner, 0, 40, &type);
    MPI_Type_free(&inner);
    MPI_Type_commit(&type);
    return type;
}

/* A message of packed bytes, which a receive takes as structs, or as the first of more of them. */
static void packed_to_structs(MPI_Datatype type, int count, int more)
{
    size_t size = 28ul * (size_t)count;
    size_t span = 40ul * (size_t)(count + more);
    char *buf;

    mt_stage("%d structs of %d", count, count + more);
    if (mt_rank == 0) {
        buf = mt_buf_alloc(size);
        mt_fill(buf, size, 9);
        MPI_Send(buf, (int)size, MPI_PACKED, 1, 7, MPI_COMM_WORLD);
        free(buf);
    } else if (mt_rank == 1) {
        char *expected = mt_alloc(span);
        char *message  = mt_alloc(size);

        buf = mt_buf_alloc(span);
        memset(buf, 0x5a, span);
        memset(expected, 0x5a, span);
        mt_fill(message, size, 9);
        for (size_t i = 0; i < size; i++) {
            expected[i / 28 * 40 + i % 28] = message[i];
        }
        MPI_Recv(buf, count + more, type, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (size_t i = 0; i < span; i++) {
            if (buf[i] != expected[i]) {
                mt_fail("byte %zu of %zu is wrong", i, span);
            }
        }
        mt_buf_guard(buf, span, span, 0, 7);
        free(buf);
        free(expected);
        free(message);
    }
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {{"iters", &iters, "messages of each thread"},
                             {"threads", &threads, "threads of each rank, at most 8"},
                             {"packed", &packed, "0: no messages of MPI_PACKED"}};
    pthread_t ids[MAX_THREADS];
    MPI_Datatype type;

    mt_start(&argc, &argv, "type_storm", "derived datatypes that come and go", opts,
             MT_LEN(opts), MPI_THREAD_MULTIPLE, 2);
    if ((threads < 1) || (threads > MAX_THREADS) ||
        (mt_thread_level < MPI_THREAD_MULTIPLE)) {
        mt_skip("%ld threads, thread level %d", threads, mt_thread_level);
    }
    mt_stage("storm");
    for (int i = 0; i < threads; i++) {
        pthread_create(&ids[i], NULL, storm, (void *)(intptr_t)i);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    type = struct_type();
    for (int i = 0; (i < 4) && packed; i++) {
        packed_to_structs(type, 40000 + 111 * i, (i % 2) * 500);
    }
    MPI_Type_free(&type);
    return mt_pass("%ld threads, %ld messages each", threads, iters);
}
