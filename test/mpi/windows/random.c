/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Random operations with random datatypes. A rank has a part of each window to itself, and a copy of
 * what has to be in it, which it changes as the operation should. What it fetches is compared with
 * the copy, and at the end all of the part.
 */

#include "windows.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the part of an origin in each window, in a row for each type, and elements of an
 * operation. */
#define TYPES 5
#define ROW   3264
#define PART  (TYPES * ROW)
#define ELEMS 100

typedef enum {
    PUT,
    GET,
    RPUT,
    RGET,
    ACCUMULATE,
    GET_ACCUMULATE,
    RACCUMULATE,
    RGET_ACCUMULATE,
    FETCH_AND_OP,
    KINDS
} kind_t;

/* Where elements are, in elements from a start, and a datatype that says so. */
typedef struct {
    int count;
    int at[ELEMS];
    int extent; /* elements from the start to behind the last one */
    MPI_Datatype type;
} places_t;

/* One operation. What it reads and writes stays until it is complete. */
typedef struct {
    kind_t kind;
    int target;
    MPI_Datatype basic;
    int size; /* of an element */
    MPI_Op op;
    MPI_Aint start; /* of the target's places, in bytes from the start of the part */
    places_t there, here, result;
    char *out, *in, *expected;
    MPI_Request request;
} op_t;

/* Elements in a row, at a stride, or anywhere; max is at least count. */
static void places_make(places_t *places, mt_rng_t *rng, int count, int max,
                        MPI_Datatype basic)
{
    int kind = (int)mt_below(rng, 3), stride = 1, at = 0;

    places->count = count;
    if (kind == 1) {
        stride = 1 + (int)mt_below(rng, (uint64_t)(max / count));
    }
    for (int i = 0; i < count; i++) {
        int room = (max - at) - (count - i) * stride;

        if ((kind == 2) && (room > 0) && mt_chance(rng, 30)) {
            at += (int)mt_below(rng, (uint64_t)((room < 9) ? room : 9)) + 1;
        }
        places->at[i] = at;
        at += stride;
    }
    places->extent = places->at[count - 1] + 1;
    if (kind == 2) { /* the order of the data is not that of the memory */
        mt_shuffle(rng, places->at, count);
    }
    if (kind == 1) {
        MPI_Type_vector(count, 1, stride, basic, &places->type);
    } else {
        MPI_Type_create_indexed_block(count, 1, places->at, basic, &places->type);
    }
    MPI_Type_commit(&places->type);
}

#define COMBINE(_type) \
    do { \
        _type a = *(const _type *)from, b = *(_type *)to; \
        *(_type *)to = (op == MPI_SUM)     ? (_type)(a + b) : \
                       (op == MPI_PROD)    ? (_type)(a * b) : \
                       (op == MPI_MIN)     ? ((a < b) ? a : b) : \
                       (op == MPI_MAX)     ? ((a > b) ? a : b) : \
                       (op == MPI_REPLACE) ? a : \
                                             b; \
    } while (0)

static void combine(MPI_Datatype basic, MPI_Op op, const void *from, void *to)
{
    if (basic == MPI_INT32_T) {
        COMBINE(int32_t);
    } else if (basic == MPI_UINT64_T) {
        COMBINE(uint64_t);
    } else if (basic == MPI_UINT8_T) {
        COMBINE(uint8_t);
    } else if (basic == MPI_DOUBLE) {
        COMBINE(double);
    } else {
        COMBINE(uint16_t);
    }
}

static int is_fetch(kind_t kind)
{
    return (kind == GET) || (kind == RGET) || (kind == GET_ACCUMULATE) ||
           (kind == RGET_ACCUMULATE) || (kind == FETCH_AND_OP);
}

static int is_move(kind_t kind)
{
    return (kind == PUT) || (kind == GET) || (kind == RPUT) || (kind == RGET);
}

/* Values of which sums stay exact in doubles: small integers. */
static void fill_elements(char *memory, int count, MPI_Datatype basic, mt_rng_t *rng,
                          int size)
{
    for (int i = 0; i < count; i++) {
        unsigned value = (unsigned)mt_below(rng, 3);

        memset(memory + (size_t)i * (size_t)size, 0, (size_t)size);
        if (basic == MPI_DOUBLE) {
            *(double *)(memory + (size_t)i * (size_t)size) = value;
        } else {
            memory[(size_t)i * (size_t)size] = (char)value;
        }
    }
}

/* Choose an operation, and do it to the copy. */
static void op_make(op_t *op, mt_rng_t *rng, int target, char *copy, int may_request)
{
    const MPI_Datatype basics[TYPES] = {MPI_INT32_T, MPI_UINT64_T, MPI_UINT8_T,
                                        MPI_DOUBLE, MPI_UINT16_T};
    const MPI_Op ops[] = {MPI_PROD, MPI_SUM, MPI_MIN, MPI_MAX, MPI_REPLACE, MPI_NO_OP};
    int row            = (int)mt_below(rng, TYPES);
    int count, max, first, last;

    memset(op, 0, sizeof(*op));
    do {
        op->kind = (kind_t)mt_below(rng, KINDS);
    } while (!may_request &&
             ((op->kind == RPUT) || (op->kind == RGET) || (op->kind == RACCUMULATE) ||
              (op->kind == RGET_ACCUMULATE)));
    op->target  = target;
    op->request = MPI_REQUEST_NULL;
    op->basic   = basics[row];
    /* Products of doubles would soon be no numbers; MPI_NO_OP fetches */
    first  = (op->basic == MPI_DOUBLE) ? 1 : 0;
    last   = MT_LEN(ops) - (is_fetch(op->kind) ? 1 : 2);
    op->op = ops[first + (int)mt_below(rng, (uint64_t)(last - first) + 1)];
    op->op = is_move(op->kind) ? MPI_REPLACE : op->op;
    MPI_Type_size(op->basic, &op->size);
    max   = ROW / op->size;
    count = 1 + (int)mt_below(rng, mt_chance(rng, 50) ? 8 : ELEMS);
    count = (op->kind == FETCH_AND_OP) ? 1 : count;
    max   = (max > 4 * count) ? 4 * count : max;
    places_make(&op->there, rng, count, max, op->basic);
    places_make(&op->here, rng, count, max, op->basic);
    places_make(&op->result, rng, count, max, op->basic);
    op->start = row * ROW;
    op->start += (MPI_Aint)mt_below(rng,
                                    (uint64_t)(ROW / op->size - op->there.extent) + 1) *
                 op->size;

    op->out      = mt_buf_alloc((size_t)op->here.extent * (size_t)op->size);
    op->in       = mt_buf_alloc((size_t)op->result.extent * (size_t)op->size);
    op->expected = mt_buf_alloc((size_t)op->result.extent * (size_t)op->size);
    fill_elements(op->out, op->here.extent, op->basic, rng, op->size);
    for (int i = 0; i < count; i++) {
        char *there = copy + op->start + (size_t)op->there.at[i] * (size_t)op->size;

        if (is_fetch(op->kind)) {
            memcpy(op->expected + (size_t)op->result.at[i] * (size_t)op->size, there,
                   (size_t)op->size);
        }
        if ((op->kind != GET) && (op->kind != RGET)) {
            combine(op->basic, op->op,
                    op->out + (size_t)op->here.at[i] * (size_t)op->size, there);
        }
    }
}

static void op_start(op_t *op, const win_t *win)
{
    MPI_Aint disp     = (MPI_Aint)mt_rank * PART + op->start;
    MPI_Datatype here = op->here.type, there = op->there.type, in = op->result.type;

    switch (op->kind) {
    case PUT:
        MPI_Put(op->out, 1, here, op->target, disp, 1, there, win->win);
        break;
    case GET:
        MPI_Get(op->in, 1, in, op->target, disp, 1, there, win->win);
        break;
    case RPUT:
        MPI_Rput(op->out, 1, here, op->target, disp, 1, there, win->win, &op->request);
        break;
    case RGET:
        MPI_Rget(op->in, 1, in, op->target, disp, 1, there, win->win, &op->request);
        break;
    case ACCUMULATE:
        MPI_Accumulate(op->out, 1, here, op->target, disp, 1, there, op->op, win->win);
        break;
    case RACCUMULATE:
        MPI_Raccumulate(op->out, 1, here, op->target, disp, 1, there, op->op, win->win,
                        &op->request);
        break;
    case GET_ACCUMULATE:
        MPI_Get_accumulate(op->out, 1, here, op->in, 1, in, op->target, disp, 1, there,
                           op->op, win->win);
        break;
    case RGET_ACCUMULATE:
        MPI_Rget_accumulate(op->out, 1, here, op->in, 1, in, op->target, disp, 1, there,
                            op->op, win->win, &op->request);
        break;
    default:
        MPI_Fetch_and_op(op->out + op->here.at[0] * op->size,
                         op->in + op->result.at[0] * op->size, op->basic, op->target,
                         disp + op->there.at[0] * op->size, op->op, win->win);
        break;
    }
}

/* It is complete. */
static void op_end(op_t *op)
{
    size_t length = (size_t)op->result.extent * (size_t)op->size;

    if (memcmp(op->in, op->expected, is_fetch(op->kind) ? length : 0)) {
        mt_fail("operation %d on %d elements of %d bytes of rank %d has fetched "
                "something else",
                op->kind, op->there.count, op->size, op->target);
    }
    mt_buf_guard(op->in, length, length, op->target, -1);
    MPI_Type_free(&op->there.type);
    MPI_Type_free(&op->here.type);
    MPI_Type_free(&op->result.type);
    free(op->out);
    free(op->in);
    free(op->expected);
}

/* Some operations on one target, one after the other. */
static void ops_with_flush(const win_t *win, mt_rng_t *rng, int target, char *copy)
{
    int count = 1 + (int)mt_below(rng, 6);
    op_t op;

    for (int i = 0; i < count; i++) {
        op_make(&op, rng, target, copy, 1);
        op_start(&op, win);
        MPI_Wait(&op.request, MPI_STATUS_IGNORE);
        MPI_Win_flush(target, win->win);
        op_end(&op);
    }
}

/* One operation on each target, which the end of the epoch completes. */
static void ops_of_epoch(const win_t *win, mt_rng_t *rng, char *copies, op_t *ops)
{
    for (int r = 0; r < mt_size; r++) {
        op_make(&ops[r], rng, r, copies + (size_t)r * PART, 0);
        op_start(&ops[r], win);
    }
}

/* Operations on all targets in an epoch that this rank shares with them: of fences, or of post and
 * start. */
static void epoch_of_all(const win_t *win, mt_rng_t *rng, char *copies, op_t *ops,
                         MPI_Group all, int by_fence)
{
    if (by_fence) {
        MPI_Win_fence(0, win->win);
        ops_of_epoch(win, rng, copies, ops);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win->win);
    } else {
        MPI_Win_post(all, 0, win->win);
        MPI_Win_start(all, 0, win->win);
        ops_of_epoch(win, rng, copies, ops);
        MPI_Win_complete(win->win);
        MPI_Win_wait(win->win);
    }
    for (int r = 0; r < mt_size; r++) {
        op_end(&ops[r]);
    }
}

/* Operations in an epoch of this rank alone: on some targets with all of them locked, or on one. */
static void epoch_of_locks(const win_t *win, mt_rng_t *rng, char *copies, int of_all)
{
    int r;

    if (of_all) {
        MPI_Win_lock_all(0, win->win);
        for (int i = 0; i < mt_size; i++) {
            r = (int)mt_below(rng, (uint64_t)mt_size);
            ops_with_flush(win, rng, r, copies + (size_t)r * PART);
        }
        MPI_Win_unlock_all(win->win);
    } else {
        r = (int)mt_below(rng, (uint64_t)mt_size);
        MPI_Win_lock(mt_chance(rng, 50) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, r, 0,
                     win->win);
        ops_with_flush(win, rng, r, copies + (size_t)r * PART);
        MPI_Win_unlock(r, win->win);
    }
}

void check_random(win_kind_t kind, long rounds, uint64_t key)
{
    win_t win      = win_make(MPI_COMM_WORLD, (MPI_Aint)mt_size * PART, 1, kind, 1);
    char *copies   = mt_buf_alloc((size_t)mt_size * PART);
    char *now      = mt_buf_alloc((size_t)PART);
    op_t *ops      = mt_alloc((size_t)mt_size * sizeof(*ops));
    mt_rng_t rng   = mt_rng(mt_key(key, (uint64_t)mt_rank, 0, 0));
    mt_rng_t modes = mt_rng(key); /* the same on all ranks */
    MPI_Group all;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (long round = 0; round < rounds; round++) {
        int mode = (int)mt_below(&modes, 4);

        mt_stage("random operations, round %ld, mode %d", round, mode);
        if (mode <= 1) {
            epoch_of_all(&win, &rng, copies, ops, all, mode == 0);
        } else {
            epoch_of_locks(&win, &rng, copies, mode == 2);
        }
        if (mt_chance(&modes, 30)) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    for (int r = 0; r < mt_size; r++) {
        MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win.win);
        MPI_Get(now, PART, MPI_BYTE, r, (MPI_Aint)mt_rank * PART, PART, MPI_BYTE,
                win.win);
        MPI_Win_unlock(r, win.win);
        if (memcmp(now, copies + (size_t)r * PART, PART)) {
            mt_fail("the memory of rank %d is not what was put there", r);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_free(&all);
    free(copies);
    free(now);
    free(ops);
    win_free(&win);
}
