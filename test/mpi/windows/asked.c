/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a program may ask of a window, and what it gets for calls that are wrong.
 */

#include "windows.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *attribute(const win_t *win, int keyval)
{
    void *value = NULL;
    int flag    = 0;

    MPI_Win_get_attr(win->win, keyval, &value, &flag);
    if (!flag) {
        mt_fail("attribute %d is not set", keyval);
    }
    return value;
}

static void ask_attributes(const win_t *win)
{
    const int flavors[] = {[WIN_ALLOCATED] = MPI_WIN_FLAVOR_ALLOCATE,
                           [WIN_SHARED]    = MPI_WIN_FLAVOR_SHARED,
                           [WIN_CREATED]   = MPI_WIN_FLAVOR_CREATE};
    int flavor          = flavors[win->kind];

    mt_stage("attributes");
    if (attribute(win, MPI_WIN_BASE) != win->memory) {
        mt_fail("the base of a window is not its memory");
    }
    if (*(MPI_Aint *)attribute(win, MPI_WIN_SIZE) != win->size) {
        mt_fail("the size of a window");
    }
    if (*(int *)attribute(win, MPI_WIN_DISP_UNIT) != win->disp_unit) {
        mt_fail("the unit of a window");
    }
    if (*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR) != flavor) {
        mt_fail("the flavor of a window");
    }
    if (*(int *)attribute(win, MPI_WIN_MODEL) != MPI_WIN_UNIFIED) {
        mt_fail("the memory model of a window");
    }
}

static int deleted;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win;
    (void)keyval;
    (void)value;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void ask_handle(win_t *win)
{
    char name[MPI_MAX_OBJECT_NAME];
    int keyval, length, size;
    MPI_Group group;

    mt_stage("name, group, attribute of one's own");
    MPI_Win_set_name(win->win, "a window");
    MPI_Win_get_name(win->win, name, &length);
    if (strcmp(name, "a window")) {
        mt_fail("the name of a window is '%s'", name);
    }
    MPI_Win_get_group(win->win, &group);
    MPI_Group_size(group, &size);
    MPI_Group_free(&group);
    if (size != mt_size) {
        mt_fail("the group of a window has %d ranks", size);
    }
    win->memory[0] = 1;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL);
    MPI_Win_set_attr(win->win, keyval, win->memory);
    MPI_Win_free_keyval(&keyval);
}

/* Memory of others, read and written by loads and stores. */
static void ask_memory(const win_t *win, int is_apart)
{
    MPI_Aint size;
    char *theirs, *first;
    int unit;

    mt_stage("memory of others");
    MPI_Win_lock_all(0, win->win);
    for (int r = 0; r < mt_size; r++) {
        MPI_Win_shared_query(win->win, r, &size, &unit, &theirs);
        if ((size != win->size) || (unit != win->disp_unit)) {
            mt_fail("rank %d has %ld bytes in units of %d", r, (long)size, unit);
        }
        MPI_Win_shared_query(win->win, MPI_PROC_NULL, &size, &unit, &first);
        if (!is_apart && (theirs != first + r * win->size)) {
            mt_fail("the memory of rank %d is not behind that of the rank before", r);
        }
        theirs[mt_rank] = (char)(mt_rank + 3 * r + 1);
    }
    MPI_Win_sync(win->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win->win);
    for (int r = 0; r < mt_size; r++) {
        if (win->memory[r] != (char)(r + 3 * mt_rank + 1)) {
            mt_fail("rank %d has stored %d", r, win->memory[r]);
        }
    }
    MPI_Win_unlock_all(win->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A put in one window does not move another one; sizes differ, and may be zero. */
static void ask_several(win_kind_t kind)
{
    win_t wins[3];
    int64_t value;

    mt_stage("several windows");
    for (int w = 0; w < MT_LEN(wins); w++) {
        wins[w] = win_make(MPI_COMM_WORLD, 800 * (w + 1), 8, kind, w % 2);
        MPI_Win_lock_all(0, wins[w].win);
    }
    for (int w = 0; w < MT_LEN(wins); w++) {
        value = w * 1000 + mt_rank;
        MPI_Put(&value, 1, MPI_INT64_T, (mt_rank + w) % mt_size, 99, 1, MPI_INT64_T,
                wins[w].win);
        MPI_Win_flush_all(wins[w].win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int w = 0; w < MT_LEN(wins); w++) {
        MPI_Win_sync(wins[w].win);
        value = w * 1000 + (mt_rank + mt_size - w % mt_size) % mt_size;
        if (((int64_t *)wins[w].memory)[99] != value) {
            mt_fail("window %d has %ld", w, (long)((int64_t *)wins[w].memory)[99]);
        }
        MPI_Win_unlock_all(wins[w].win);
    }
    win_free(&wins[1]);
    win_free(&wins[0]);
    win_free(&wins[2]);
}

/* A rank without memory among others, and a window of a part of the ranks. */
static void ask_parts(win_kind_t kind)
{
    int count = mt_rank, sum = 0, unit;
    MPI_Aint size;
    MPI_Comm half;
    int *memory;
    MPI_Win win;

    mt_stage("windows of parts");
    win_allocate(MPI_COMM_WORLD, (mt_rank % 2) * 4, 4, kind, MPI_INFO_NULL, &memory,
                 &win);
    if (kind == WIN_SHARED) {
        MPI_Win_shared_query(win, 0, &size, &unit, &memory);
        if ((size != 0) || (memory != NULL)) {
            mt_fail("a rank without memory has %ld bytes at %p", (long)size,
                    (void *)memory);
        }
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Put(&count, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_unlock(1, win);
    win_end(&win, kind, memory);

    MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, -mt_rank, &half);
    MPI_Comm_size(half, &count);
    win_allocate(half, 4, 4, kind, MPI_INFO_NULL, &memory, &win);
    *memory = 0;
    MPI_Win_fence(0, win);
    for (int r = 0; r < count; r++) {
        MPI_Accumulate(&count, 1, MPI_INT, r, 0, 1, MPI_INT, MPI_SUM, win);
    }
    MPI_Win_fence(0, win);
    sum = *memory;
    win_end(&win, kind, memory);
    MPI_Comm_free(&half);
    if (sum != count * count) {
        mt_fail("the sum in a window of %d ranks is %d", count, sum);
    }
}

/* Puts 4, 3, 2, 1 at 8 of the other rank's window, and 1 + 1 at 32. */
static void odd_types(MPI_Win win, int other, const int64_t *v)
{
    const MPI_Datatype kinds[2] = {MPI_INT64_T, MPI_DOUBLE};
    MPI_Datatype backwards, absolute, ints;
    MPI_Aint at[2] = {0, 8};
    int one[2]     = {1, 0};
    int64_t old    = 0;

    /* From the last to the first */
    MPI_Type_create_hvector(4, 1, -8, MPI_INT64_T, &backwards);
    MPI_Type_commit(&backwards);
    MPI_Put(v, 4, MPI_INT64_T, other, 24, 1, backwards, win);
    /* From an address */
    MPI_Get_address(v, &at[0]);
    MPI_Type_create_hindexed(1, one, at, MPI_INT64_T, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Put(MPI_BOTTOM, 1, absolute, other, 32, 1, MPI_INT64_T, win);
    /* A block without elements is of no type */
    at[0] = 0;
    MPI_Type_create_struct(2, one, at, kinds, &ints);
    MPI_Type_commit(&ints);
    MPI_Accumulate(v, 1, MPI_INT64_T, other, 32, 1, ints, MPI_SUM, win);
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &old, 1, MPI_INT64_T, other, 32, 1,
                       MPI_INT64_T, MPI_NO_OP, win);
    MPI_Win_flush(other, win);
    if (old != 2) {
        mt_fail("a sum of 1 and 1 is %ld", (long)old);
    }
    MPI_Type_free(&backwards);
    MPI_Type_free(&absolute);
    MPI_Type_free(&ints);
}

/* A type that is made with counts of MPI_Count. */
static void odd_counts(MPI_Win win, int other, int64_t *v)
{
#if MPI_VERSION >= 4
    MPI_Datatype ints;

    MPI_Type_vector_c(2, 1, 2, MPI_INT64_T, &ints);
    MPI_Type_commit(&ints);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Put_c(v, 1, ints, other, 64, 2, MPI_INT64_T, win);
    MPI_Win_flush(other, win);
    MPI_Get(v, 2, MPI_INT64_T, other, 64, 2, MPI_INT64_T, win);
    MPI_Win_unlock_all(win);
    if ((v[0] != 3) || (v[1] != 1)) {
        mt_fail("by a type with counts there is %ld %ld", (long)v[0], (long)v[1]);
    }
    MPI_Type_free(&ints);
#else
    (void)win;
    (void)other;
    (void)v;
#endif
}

void check_odd(win_kind_t kind)
{
    win_t win    = win_make(MPI_COMM_WORLD, 256, 1, kind, 0);
    int other    = (mt_rank + 1) % mt_size;
    int64_t v[4] = {1, 2, 3, 4}, old, now = 5;

    mt_stage("odd calls");
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, MPI_MODE_NOCHECK, win.win);
    MPI_Put(NULL, 0, MPI_INT, other, 0, 0, MPI_INT, win.win);
    odd_types(win.win, other, v);
    /* What is expected is where the result goes */
    old = 7;
    MPI_Compare_and_swap(&now, &old, &old, MPI_INT64_T, other, 32, win.win);
    MPI_Win_flush(other, win.win);
    if (old != 2) {
        mt_fail("a swap has found %ld", (long)old);
    }
    MPI_Compare_and_swap(&now, &old, &old, MPI_INT64_T, other, 32, win.win);
    MPI_Win_flush(other, win.win);
    MPI_Get(v, 4, MPI_INT64_T, other, 8, 4, MPI_INT64_T, win.win);
    MPI_Win_unlock(other, win.win);
    if ((v[0] != 3) || (v[1] != 2) || (v[2] != 1) || (v[3] != 5)) {
        mt_fail("there is %ld %ld %ld %ld", (long)v[0], (long)v[1], (long)v[2],
                (long)v[3]);
    }
    odd_counts(win.win, other, v);
    MPI_Barrier(MPI_COMM_WORLD);
    win_free(&win);
}

void check_asked(win_kind_t kind)
{
    for (int is_apart = 0; is_apart < 2; is_apart++) {
        win_t win = win_make(MPI_COMM_WORLD, 4096 + 64, 4, kind, is_apart);

        ask_attributes(&win);
        if (kind == WIN_SHARED) {
            ask_memory(&win, is_apart);
        }
        deleted = 0;
        ask_handle(&win);
        MPI_Barrier(MPI_COMM_WORLD);
        win_free(&win);
        if (deleted != 1) {
            mt_fail("an attribute was not deleted with its window");
        }
    }
    ask_several(kind);
    ask_parts(kind);
}

static void expect_error(int error, int expected, const char *what)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(error, &class);
    if (class != expected) {
        mt_fail("%s: error class %d, not %d", what, class, expected);
    }
}

/* Calls outside of an epoch. */
static void errors_outside(MPI_Win w, int other)
{
    int64_t v[2] = {0, 0};

    expect_error(MPI_Put(v, 1, MPI_INT64_T, other, 0, 1, MPI_INT64_T, w),
                 MPI_ERR_RMA_SYNC, "a put outside of an epoch");
    expect_error(MPI_Win_unlock(other, w), MPI_ERR_RMA_SYNC, "unlock without lock");
    expect_error(MPI_Win_unlock_all(w), MPI_ERR_RMA_SYNC, "unlock_all without lock_all");
    expect_error(MPI_Win_complete(w), MPI_ERR_RMA_SYNC, "complete without start");
    expect_error(MPI_Win_wait(w), MPI_ERR_RMA_SYNC, "wait without post");
    expect_error(MPI_Win_flush(other, w), MPI_ERR_RMA_SYNC, "flush without lock");
    expect_error(MPI_Win_lock(-5, other, 0, w), MPI_ERR_LOCKTYPE, "a kind of lock");
    expect_error(MPI_Win_lock(MPI_LOCK_SHARED, mt_size, 0, w), MPI_ERR_RANK,
                 "lock of a rank");
    expect_error(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, w), MPI_SUCCESS,
                 "a lock of nobody");
    expect_error(MPI_Win_unlock(MPI_PROC_NULL, w), MPI_SUCCESS, "an unlock of nobody");
}

/* Calls that do not go together with a lock of the other rank. */
static void errors_in_lock(MPI_Win w, int other)
{
    expect_error(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w), MPI_ERR_RMA_SYNC,
                 "a lock of what is locked");
    expect_error(MPI_Win_lock_all(0, w), MPI_ERR_RMA_SYNC,
                 "lock_all in an epoch of a lock");
    expect_error(MPI_Win_fence(0, w), MPI_ERR_RMA_SYNC, "fence in an epoch of a lock");
    expect_error(MPI_Win_start(MPI_GROUP_EMPTY, 0, w), MPI_ERR_RMA_SYNC,
                 "start in an epoch of a lock");
    expect_error(MPI_Win_free(&w), MPI_ERR_RMA_SYNC, "free in an epoch of a lock");
}

/* Counts, ranks and places of operations; the other rank is locked. */
static void errors_of_places(MPI_Win w, int other)
{
    int64_t v[2] = {0, 0};

    expect_error(MPI_Put(v, -1, MPI_INT64_T, other, 0, 1, MPI_INT64_T, w), MPI_ERR_COUNT,
                 "a negative count");
    expect_error(MPI_Get_accumulate(v, 1, MPI_INT64_T, v + 1, -1, MPI_INT64_T, other, 0,
                                    1, MPI_INT64_T, MPI_SUM, w),
                 MPI_ERR_COUNT, "a negative count of a result");
    expect_error(MPI_Put(v, 1, MPI_INT64_T, mt_size, 0, 1, MPI_INT64_T, w), MPI_ERR_RANK,
                 "a rank that there is not");
    expect_error(MPI_Put(v, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, w),
                 MPI_SUCCESS, "a put to nobody");
    expect_error(MPI_Put(v, 1, MPI_INT64_T, other, -1, 1, MPI_INT64_T, w), MPI_ERR_DISP,
                 "a negative displacement");
    expect_error(MPI_Put(v, 2, MPI_INT64_T, other, 7, 2, MPI_INT64_T, w),
                 MPI_ERR_RMA_RANGE, "a put behind the end");
    expect_error(MPI_Put(v, 1, MPI_INT64_T, other, (MPI_Aint)1 << 61, 1, MPI_INT64_T, w),
                 MPI_ERR_RMA_RANGE, "a displacement that overflows");
    expect_error(MPI_Put(v, 1, MPI_DATATYPE_NULL, other, 0, 1, MPI_INT64_T, w),
                 MPI_ERR_TYPE, "no type");
    expect_error(MPI_Put(v, 2, MPI_INT64_T, other, 0, 1, MPI_INT64_T, w),
                 MPI_ERR_TRUNCATE, "more than there is room for");
}

/* Types that an operation does not take; the other rank is locked. */
static void errors_of_types(MPI_Win w, int other)
{
    const int one[2]                 = {1, 1};
    const MPI_Aint places[2]         = {0, 8};
    const MPI_Datatype both_kinds[2] = {MPI_INT64_T, MPI_DOUBLE};
    int64_t v[2]                     = {0, 0};
    MPI_Datatype mixed;

    expect_error(MPI_Accumulate(v, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, MPI_BAND, w),
                 MPI_ERR_OP, "bits of a real");
    expect_error(MPI_Accumulate(v, 2, MPI_WCHAR, other, 0, 2, MPI_WCHAR, MPI_SUM, w),
                 MPI_ERR_OP, "a sum of text");
    expect_error(MPI_Compare_and_swap(v, v + 1, v, MPI_DOUBLE, other, 0, w), MPI_ERR_TYPE,
                 "compare and swap of a real");
    expect_error(MPI_Accumulate(v, 8, MPI_CHAR, other, 0, 8, MPI_CHAR, MPI_SUM, w),
                 MPI_SUCCESS, "a sum of characters");
    MPI_Type_contiguous(8, MPI_BYTE, &mixed);
    MPI_Type_commit(&mixed);
    expect_error(MPI_Compare_and_swap(v, v + 1, v, mixed, other, 0, w), MPI_ERR_TYPE,
                 "compare and swap of a derived type");
    MPI_Type_free(&mixed);
    MPI_Type_create_struct(2, one, places, both_kinds, &mixed);
    MPI_Type_commit(&mixed);
    expect_error(MPI_Accumulate(v, 1, mixed, other, 0, 1, mixed, MPI_SUM, w),
                 MPI_ERR_TYPE, "an accumulate of several types");
    MPI_Type_free(&mixed);
}

void check_errors(win_kind_t kind)
{
    win_t win    = win_make(MPI_COMM_WORLD, 64, 8, kind, 0);
    int other    = (mt_rank + 1) % mt_size;
    MPI_Win w    = win.win;
    int64_t v[2] = {0, 0};

    mt_stage("errors");
    MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
    errors_outside(w, other);
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w);
    errors_in_lock(w, other);
    errors_of_places(w, other);
    errors_of_types(w, other);
    MPI_Win_unlock(other, w);
    MPI_Win_fence(0, w);
    MPI_Put(v, 1, MPI_INT64_T, other, 0, 1, MPI_INT64_T, w);
    expect_error(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w), MPI_ERR_RMA_SYNC,
                 "a lock in an epoch of a fence");
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
    MPI_Barrier(MPI_COMM_WORLD);
    win_free(&win);
}

int check_killed(win_kind_t kind, long how)
{
    win_t win = win_make(MPI_COMM_WORLD, 64, 8, kind, 0);
    int last = mt_size - 1, error = MPI_SUCCESS, class, flag;
    MPI_Group all, group;

    mt_stage("a rank is killed, way %ld", how);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &last, &group);
    MPI_Win_set_errhandler(win.win, MPI_ERRORS_RETURN);
    if (mt_rank == last) {
        if (how == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win.win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < last; i++) { /* the others have left the barrier, too */
            MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_BYTE, last, 0, MPI_COMM_WORLD);
    if (how == 1) {
        error = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win.win);
    } else if (how == 2) {
        error = MPI_Win_start(group, 0, win.win);
    } else if (how == 3) {
        MPI_Win_post(group, 0, win.win);
        error = MPI_Win_wait(win.win);
    } else if (how == 5) {
        MPI_Win_post(group, 0, win.win);
        for (flag = 0; !flag && (error == MPI_SUCCESS);) {
            error = MPI_Win_test(win.win, &flag);
        }
    } else {
        error = MPI_Win_fence(0, win.win);
    }
    MPI_Error_class(error, &class);
    printf("%s windows ranks=%d kill=%ld: error class %d\n",
           (class == MPI_ERR_OTHER) ? "PASS" : "FAIL", mt_size, how, class);
    fflush(stdout);
    _exit((class == MPI_ERR_OTHER) ? 0 : 1);
}
