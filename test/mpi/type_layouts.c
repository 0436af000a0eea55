/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The layouts that the library reads of derived datatypes, against MPI_Pack.
 *
 * Run: type_layouts [--seed N] [--iters N]
 *
 * The files of src/ucp/dt that read and copy layouts are a part of this program. Each type is
 * packed by MPI and by its layout, in random parts too, and unpacked by its layout over a pattern,
 * of which all bytes are compared. A type whose layout is not known is an error.
 */

#include "type_layouts/random_type.h"
#include "ucp/dt/layout_copy.h"
#include "ucp/dt/layout_mpi.h"

#include <stdlib.h>
#include <string.h>

static long iters = 3000;

/* What is around the address of a buffer. */
static char *memory;
static char *copy;
static char *expected;
static const size_t memory_bytes = 16 << 20;

/* A handle as the library knows it. */
static uintptr_t handle_of(MPI_Datatype type)
{
    uintptr_t handle = 0;

    memcpy(&handle, &type, sizeof(type));
    return handle;
}

/* Compare parts of the packed bytes, from anywhere to anywhere. */
static void check_parts(mt_rng_t *rng, const ri_layout_t *layout, const char *address,
                        int count, const char *packed, size_t size)
{
    for (int i = 0; i < 6; i++) {
        size_t offset = mt_below(rng, size + 1);
        size_t length = mt_below(rng, size - offset + 1);
        char *part    = mt_buf_alloc(length);

        ri_layout_copy_pack(layout, address, (size_t)count, offset, part, length);
        if (memcmp(part, packed + offset, length) != 0) {
            mt_fail("bytes %zu to %zu are wrong", offset, offset + length);
        }
        mt_buf_guard(part, length, length, 0, 0);
        free(part);
    }
}

/* The pieces of memory, put together, are the packed bytes as well. */
static void check_segments(mt_rng_t *rng, const ri_layout_t *layout, const char *address,
                           int count, const char *packed, size_t size)
{
    ri_segment_t segments[50];
    size_t max = 1 + mt_below(rng, 50);
    size_t offset, length, n;

    for (offset = 0; offset < size; offset += length) {
        size_t at = offset;

        length = size - offset;
        n      = ri_layout_copy_segments(layout, address, (size_t)count, offset, &length,
                                         segments, max);
        if ((n == 0) || (length == 0) || (length > size - offset)) {
            mt_fail("%zu segments have %zu bytes", n, length);
        }
        for (size_t i = 0; i < n; i++) {
            if (memcmp((void *)(uintptr_t)segments[i].address, packed + at,
                       segments[i].length) != 0) {
                mt_fail("segment %zu is wrong", i);
            }
            at += segments[i].length;
        }
        if (at != offset + length) {
            mt_fail("segments have %zu bytes, not %zu", at - offset, length);
        }
    }
}

/* Unpack all by MPI, and by the layout in parts: all memory is the same, gaps included. */
static void check_unpack(mt_rng_t *rng, const ri_layout_t *layout, MPI_Datatype type,
                         int count, const char *packed, size_t size)
{
    size_t middle = memory_bytes / 2;
    size_t offset, length;
    int position = 0;

    memset(expected, 0x5a, memory_bytes);
    memset(copy, 0x5a, memory_bytes);
    MPI_Unpack(packed, (int)size, &position, expected + middle, count, type,
               MPI_COMM_SELF);
    for (offset = 0; offset < size; offset += length) {
        length = 1 + mt_below(rng, mt_chance(rng, 50) ? size - offset :
                                                        (size - offset) / 8 + 1);
        ri_layout_copy_unpack(layout, copy + middle, (size_t)count, offset,
                              packed + offset, length);
    }
    if (memcmp(copy, expected, memory_bytes) != 0) {
        mt_fail("memory is not as after MPI_Unpack");
    }
}

static void check_stats(const ri_layout_t *layout, MPI_Datatype type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    if (layout->extent != extent) {
        mt_fail("extent %ld, not %ld", (long)layout->extent, (long)extent);
    }
    if (layout->size == 0) {
        return;
    }
    if ((layout->stats.run_min == 0) || (layout->stats.run_min > layout->stats.run_max) ||
        (layout->stats.runs * layout->stats.run_min > layout->size) ||
        (layout->stats.runs * layout->stats.run_max < layout->size)) {
        mt_fail("runs do not fit %ld bytes", (long)layout->size);
    }
}

static void check_type(int index)
{
    mt_rng_t rng      = mt_rng(mt_key((uint64_t)index, 0, 0, 7));
    int overlap       = mt_chance(&rng, 30);
    MPI_Datatype type = random_type(&rng, overlap);
    int count         = 1 + (int)mt_below(&rng, 4);
    char *address     = memory + memory_bytes / 2;
    int position      = 0;
    ri_layout_t *layout;
    char *packed, *by_layout;
    int size;

    mt_stage("type %d", index);
    layout = ri_layout_mpi_read(handle_of(type));
    if (layout == NULL) {
        mt_fail("the layout is not known");
    }
    MPI_Type_size(type, &size);
    if (layout->size != (uint64_t)size) {
        mt_fail("%ld bytes, not %d", (long)layout->size, size);
    }
    check_stats(layout, type);

    size *= count;
    packed    = mt_buf_alloc((size_t)size);
    by_layout = mt_buf_alloc((size_t)size);
    if (size > 0) { /* or MPICH divides by it */
        MPI_Pack(address, count, type, packed, size, &position, MPI_COMM_SELF);
    }
    ri_layout_copy_pack(layout, address, (size_t)count, 0, by_layout, (size_t)size);
    if (memcmp(packed, by_layout, (size_t)size) != 0) {
        mt_fail("%d elements of %d bytes in all are wrong", count, size);
    }
    mt_buf_guard(by_layout, (size_t)size, (size_t)size, 0, 0);
    check_parts(&rng, layout, address, count, packed, (size_t)size);
    check_segments(&rng, layout, address, count, packed, (size_t)size);
    if (!overlap && (size > 0) && mt_chance(&rng, 20)) {
        check_unpack(&rng, layout, type, count, packed, (size_t)size);
    }
    free(packed);
    free(by_layout);
    ri_layout_put(layout);
    MPI_Type_free(&type);
}

/* Places in memory that are relative to no buffer. */
static void check_absolute(void)
{
    static int here[100];
    static double there[50];
    int lengths[]        = {100, 50};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    char packed[800], by_layout[800];
    ri_layout_t *layout;
    MPI_Datatype type;
    MPI_Aint places[2];

    mt_stage("absolute addresses");
    mt_fill(here, sizeof(here), 1);
    mt_fill(there, sizeof(there), 2);
    MPI_Get_address(here, &places[0]);
    MPI_Get_address(there, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    layout = ri_layout_mpi_read(handle_of(type));
    if (layout == NULL) {
        mt_fail("the layout is not known");
    }
    memcpy(packed, here, sizeof(here));
    memcpy(packed + sizeof(here), there, sizeof(there));
    ri_layout_copy_pack(layout, MPI_BOTTOM, 1, 0, by_layout, sizeof(by_layout));
    if (memcmp(packed, by_layout, sizeof(packed)) != 0) {
        mt_fail("wrong bytes");
    }
    ri_layout_put(layout);
    MPI_Type_free(&type);
}

/* Arguments that no int can hold. */
static void check_counts(void)
{
#if MPI_VERSION >= 4
    MPI_Count length[] = {(MPI_Count)5 << 31, 7}, place[] = {-((MPI_Count)3 << 33), 64};
    ri_layout_t *layout;
    MPI_Datatype type;

    MPI_Type_create_hindexed_c(2, length, place, MPI_INT, &type);
    MPI_Type_commit(&type);
    layout = ri_layout_mpi_read(handle_of(type));
    if ((layout == NULL) ||
        (layout->size != (uint64_t)(length[0] + length[1]) * sizeof(int)) ||
        (layout->stats.lo != place[0]) || (layout->stats.runs != 2)) {
        mt_fail("a type made with counts is not known");
    }
    ri_layout_put(layout);
    MPI_Type_free(&type);
#endif
}

/* More bytes than an int can count, and more runs than a layout lists. */
static void check_limits(void)
{
    MPI_Datatype row, type;
    ri_layout_t *layout;
    int *disps = mt_alloc(200000 * sizeof(*disps));

    mt_stage("limits");
    MPI_Type_vector(1 << 20, 1 << 10, 1 << 11, MPI_INT, &row);
    MPI_Type_contiguous(1 << 10, row, &type);
    MPI_Type_commit(&type);
    layout = ri_layout_mpi_read(handle_of(type));
    if ((layout == NULL) || (layout->size != (uint64_t)1 << 42)) {
        mt_fail("4 TB are not known");
    }
    ri_layout_put(layout);
    MPI_Type_free(&type);
    MPI_Type_free(&row);
    check_counts();

    for (int i = 0; i < 200000; i++) {
        disps[i] = 3 * i + i % 7 / 6;
    }
    MPI_Type_create_indexed_block(200000, 1, disps, MPI_INT, &type);
    if (ri_layout_mpi_read(handle_of(type)) != NULL) {
        mt_fail("too long a list is described");
    }
    MPI_Type_free(&type);
    free(disps);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {{"iters", &iters, "types"}};

    mt_start(&argc, &argv, "type_layouts", "layouts of derived datatypes", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 1);
    memory   = mt_alloc(memory_bytes);
    copy     = mt_alloc(memory_bytes);
    expected = mt_alloc(memory_bytes);
    mt_fill(memory, memory_bytes, 3);
    for (int i = 0; i < iters; i++) {
        check_type(i);
    }
    check_absolute();
    check_limits();
    free(memory);
    free(copy);
    free(expected);
    return mt_pass("%ld types", iters);
}
