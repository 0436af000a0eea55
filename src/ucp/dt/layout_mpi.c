/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First what the combiners have in common, then one function for each, then named types, and then
 * the walk from a type to those that it is made of. Bounds of types (lb, extent) are the MPI's own.
 */
#include "layout_mpi.h"
#include "mpi_abi.h"

#include <stdlib.h>
#include <string.h>

/* How many types are asked for, with those that are met again and again. */
#define READ_TYPES_MAX 4096

/* The most arguments of each kind, of a type and of each type that it is made of. */
#define READ_ARGS_MAX (2 * RI_LAYOUT_ENTRIES_MAX + 2)

/* The most dimensions of an array. */
#define READ_DIMS_MAX 64

/* A type that others are made of. */
typedef struct read_type {
    ri_layout_part_t part;
    int64_t extent;
} read_type_t;

/* A type whose arguments are known. */
typedef struct read_args {
    ri_mpi_envelope_t envelope;
    int64_t *ints;
    intptr_t *addresses;
    uintptr_t *types;
    read_type_t child; /* the first of the types, if it has any */
} read_args_t;

typedef struct reader {
    ri_layout_builder_t builder;
    unsigned types; /* that were asked for */
} reader_t;

static int read_type(reader_t *reader, uintptr_t handle, read_type_t *type);

/* @return Whether the type has as many arguments of each kind, and more of the first kind than that
 * if @a each is set: @a each for each of a number that is the first of them. */
static int read_has(const read_args_t *args, int ints, int each, int addresses_each)
{
    const ri_mpi_envelope_t *envelope = &args->envelope;
    int64_t count;

    if (envelope->num_ints < ints) {
        return 0;
    }
    count = (ints > 0) ? args->ints[0] : 0;
    if ((each + addresses_each > 0) && (count > (int64_t)READ_ARGS_MAX)) {
        return 0;
    }
    return (count >= 0) && (envelope->num_ints >= ints + each * count) &&
           (envelope->num_addresses >= addresses_each * count) &&
           (envelope->num_types >= 1);
}

static ri_layout_part_t read_fail(reader_t *reader)
{
    reader->builder.failed = 1;
    return ri_layout_run(0);
}

/* @a a * @a b; the layout fails if that overflows. */
static int64_t read_product(reader_t *reader, int64_t a, int64_t b)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product)) {
        reader->builder.failed = 1;
        return 0;
    }
    return product;
}

/* Elements of a type one behind the other. */
static ri_layout_part_t read_elements(reader_t *reader, const read_type_t *type,
                                      int64_t count)
{
    if (count < 0) {
        return read_fail(reader);
    }
    return ri_layout_repeat(&reader->builder, type->part, count, type->extent);
}

static ri_layout_part_t read_contiguous(reader_t *reader, const read_args_t *args)
{
    return read_has(args, 1, 0, 0) ? read_elements(reader, &args->child, args->ints[0]) :
                                     read_fail(reader);
}

static ri_layout_part_t read_vector(reader_t *reader, const read_args_t *args,
                                    int is_bytes)
{
    ri_layout_part_t block;
    int64_t stride;

    if (!read_has(args, is_bytes ? 2 : 3, 0, 0) ||
        (is_bytes && (args->envelope.num_addresses < 1))) {
        return read_fail(reader);
    }
    block  = read_elements(reader, &args->child, args->ints[1]);
    stride = is_bytes ? args->addresses[0] :
                        read_product(reader, args->ints[2], args->child.extent);
    return ri_layout_repeat(&reader->builder, block, args->ints[0], stride);
}

/* Blocks at listed places. Lengths of blocks: @a lengths, or @a length if that is NULL. Places in
 * bytes: @a addresses; or in elements: @a disps, if that is NULL. */
static ri_layout_part_t read_blocks(reader_t *reader, const read_args_t *args,
                                    const int64_t *lengths, int64_t length,
                                    const int64_t *disps, const intptr_t *addresses)
{
    int64_t count          = args->ints[0];
    ri_layout_part_t block = ri_layout_run(0);
    int64_t last           = -1;
    ri_layout_part_t *parts;
    ri_layout_part_t whole;
    int64_t i;

    parts = malloc((count + 1ul) * sizeof(*parts));
    if (parts == NULL) {
        return read_fail(reader);
    }
    for (i = 0; i < count; ++i) {
        int64_t disp = (addresses != NULL) ?
                               addresses[i] :
                               read_product(reader, disps[i], args->child.extent);

        if (lengths != NULL) {
            length = lengths[i];
        }
        if ((i == 0) || (length != last)) {
            block = read_elements(reader, &args->child, length);
            last  = length;
        }
        parts[i] = ri_layout_move(&reader->builder, block, disp);
    }
    whole = ri_layout_join(&reader->builder, parts, count);
    free(parts);
    return whole;
}

static ri_layout_part_t read_indexed(reader_t *reader, const read_args_t *args,
                                     int combiner)
{
    int is_bytes = (combiner == RI_MPI_HINDEXED) || (combiner == RI_MPI_HINDEXED_BLOCK);
    int is_block = (combiner == RI_MPI_INDEXED_BLOCK) ||
                   (combiner == RI_MPI_HINDEXED_BLOCK);
    const int64_t *ints = args->ints;

    if (!read_has(args, is_block ? 2 : 1, !is_block + !is_bytes, is_bytes)) {
        return read_fail(reader);
    }
    return read_blocks(reader, args, is_block ? NULL : &ints[1], is_block ? ints[1] : 0,
                       is_bytes ? NULL : &ints[is_block ? 2 : 1 + ints[0]],
                       is_bytes ? args->addresses : NULL);
}

static ri_layout_part_t read_struct(reader_t *reader, const read_args_t *args)
{
    int64_t count = (args->envelope.num_ints > 0) ? args->ints[0] : -1;
    ri_layout_part_t *parts;
    ri_layout_part_t whole;
    read_type_t type = args->child;
    int64_t i;

    if ((count < 0) || (args->envelope.num_ints - 1 < count) ||
        (args->envelope.num_addresses < count) || (args->envelope.num_types < count)) {
        return read_fail(reader);
    }
    parts = malloc((count + 1ul) * sizeof(*parts));
    if (parts == NULL) {
        return read_fail(reader);
    }
    for (i = 0; i < count; ++i) {
        parts[i] = ri_layout_run(0);
        if ((i > 0) && (args->types[i] != args->types[i - 1]) &&
            !read_type(reader, args->types[i], &type)) {
            reader->builder.failed = 1;
            break;
        }
        parts[i] = ri_layout_move(&reader->builder,
                                  read_elements(reader, &type, args->ints[1 + i]),
                                  args->addresses[i]);
    }
    whole = reader->builder.failed ? ri_layout_run(0) :
                                     ri_layout_join(&reader->builder, parts, count);
    free(parts);
    return whole;
}

/* The dimensions of an array, the fastest one first. */
static int read_dim(int i, int num, int is_fortran)
{
    return is_fortran ? i : num - 1 - i;
}

static ri_layout_part_t read_subarray(reader_t *reader, const read_args_t *args)
{
    const ri_mpi_abi_t *abi = ri_mpi_abi();
    const int64_t *ints     = args->ints;
    ri_layout_part_t part   = args->child.part;
    int64_t stride          = args->child.extent;
    int64_t order;
    int num;
    int i;

    if (!read_has(args, 2, 3, 0) || (ints[0] > READ_DIMS_MAX)) {
        return read_fail(reader);
    }
    num   = (int)ints[0];
    order = ints[1 + 3 * num];
    if ((order != abi->order_c) && (order != abi->order_fortran)) {
        return read_fail(reader);
    }
    for (i = 0; i < num; ++i) {
        int dim         = read_dim(i, num, order == abi->order_fortran);
        int64_t size    = ints[1 + dim];
        int64_t subsize = ints[1 + num + dim];
        int64_t start   = ints[1 + 2 * num + dim];

        if ((size < 0) || (subsize < 0)) {
            return read_fail(reader);
        }
        part   = ri_layout_repeat(&reader->builder, part, subsize, stride);
        part   = ri_layout_move(&reader->builder, part,
                                read_product(reader, start, stride));
        stride = read_product(reader, stride, size);
    }
    return part;
}

/* One dimension of a distributed array. */
typedef struct read_share {
    int64_t size; /* of the whole array */
    int64_t procs;
    int64_t coord; /* of the process among them */
    int64_t block; /* elements of a block */
    int is_cyclic;
} read_share_t;

/* The part of a dimension that belongs to a process: whole blocks, each @a procs blocks behind the
 * one before, and the rest of one. */
static ri_layout_part_t read_share(reader_t *reader, ri_layout_part_t part,
                                   int64_t stride, const read_share_t *share)
{
    ri_layout_builder_t *builder = &reader->builder;
    int64_t cycle                = read_product(reader, share->procs, share->block);
    int64_t first                = read_product(reader, share->coord, share->block);
    int64_t left                 = ri_max(share->size - first, 0);
    int64_t whole                = (share->is_cyclic && (cycle > 0)) ? left / cycle : 0;
    int64_t rest                 = ri_min(left - whole * cycle, share->block);
    ri_layout_part_t parts[2];
    int64_t step;

    if (rest == share->block) { /* the last one is whole, too */
        ++whole;
        rest = 0;
    }
    step     = read_product(reader, cycle, stride);
    parts[0] = ri_layout_repeat(builder, part, share->block, stride);
    parts[0] = ri_layout_repeat(builder, parts[0], whole, step);
    parts[1] = ri_layout_repeat(builder, part, rest, stride);
    parts[1] = ri_layout_move(builder, parts[1], read_product(reader, whole, step));
    return ri_layout_move(builder, ri_layout_join(builder, parts, 2),
                          read_product(reader, first, stride));
}

/* Read a dimension's arguments. @return Whether they can be. */
static int read_share_init(read_share_t *share, const read_args_t *args, int dim,
                           int64_t coord)
{
    const ri_mpi_abi_t *abi = ri_mpi_abi();
    const int64_t *ints     = args->ints;
    int64_t num             = ints[2];
    int64_t distribution    = ints[3 + num + dim];
    int64_t argument        = ints[3 + 2 * num + dim];
    int is_default          = (argument == abi->distribute_default);

    *share = (read_share_t){
            .size = ints[3 + dim], .procs = ints[3 + 3 * num + dim], .coord = coord};
    if ((share->size <= 0) || (share->procs <= 0)) {
        return 0;
    }
    if (distribution == abi->distribute_none) {
        share->block = share->size;
        return share->procs == 1;
    }
    if (distribution == abi->distribute_block) {
        share->block = is_default ? (share->size - 1) / share->procs + 1 : argument;
    } else if (distribution == abi->distribute_cyclic) {
        share->block     = is_default ? 1 : argument;
        share->is_cyclic = 1;
    }
    return share->block > 0;
}

static ri_layout_part_t read_darray(reader_t *reader, const read_args_t *args)
{
    const ri_mpi_abi_t *abi = ri_mpi_abi();
    const int64_t *ints     = args->ints;
    ri_layout_part_t part   = args->child.part;
    int64_t stride          = args->child.extent;
    int64_t coords[READ_DIMS_MAX];
    read_share_t share;
    int64_t order;
    int64_t rank;
    int num;
    int i;

    if ((args->envelope.num_ints < 4) || (args->envelope.num_types < 1) ||
        (ints[2] < 0) || (ints[2] > READ_DIMS_MAX) ||
        (args->envelope.num_ints < 4 + 4 * ints[2])) {
        return read_fail(reader);
    }
    rank  = ints[1];
    num   = (int)ints[2];
    order = ints[3 + 4 * num];
    if ((order != abi->order_c) && (order != abi->order_fortran)) {
        return read_fail(reader);
    }
    /* Processes are in the order of C, whatever that of the array is. */
    for (i = num - 1; i >= 0; --i) {
        int64_t procs = ints[3 + 3 * num + i];

        if (procs <= 0) {
            return read_fail(reader);
        }
        coords[i] = rank % procs;
        rank /= procs;
    }
    for (i = 0; i < num; ++i) {
        int dim = read_dim(i, num, order == abi->order_fortran);

        if (!read_share_init(&share, args, dim, coords[dim])) {
            return read_fail(reader);
        }
        part   = read_share(reader, part, stride, &share);
        stride = read_product(reader, stride, share.size);
    }
    return part;
}

static ri_layout_part_t read_by_combiner(reader_t *reader, const read_args_t *args)
{
    switch (args->envelope.combiner) {
    case RI_MPI_DUP:
    case RI_MPI_RESIZED:
        return (args->envelope.num_types == 1) ? args->child.part : read_fail(reader);
    case RI_MPI_CONTIGUOUS:
        return read_contiguous(reader, args);
    case RI_MPI_VECTOR:
        return read_vector(reader, args, 0);
    case RI_MPI_HVECTOR:
        return read_vector(reader, args, 1);
    case RI_MPI_INDEXED:
    case RI_MPI_HINDEXED:
    case RI_MPI_INDEXED_BLOCK:
    case RI_MPI_HINDEXED_BLOCK:
        return read_indexed(reader, args, args->envelope.combiner);
    case RI_MPI_STRUCT:
        return read_struct(reader, args);
    case RI_MPI_SUBARRAY:
        return read_subarray(reader, args);
    case RI_MPI_DARRAY:
        return read_darray(reader, args);
    default: /* what no MPI of today makes, or is not known */
        return read_fail(reader);
    }
}

static int read_is_basic(int combiner)
{
    return (combiner == RI_MPI_NAMED) || (combiner == RI_MPI_F90_REAL) ||
           (combiner == RI_MPI_F90_COMPLEX) || (combiner == RI_MPI_F90_INTEGER);
}

/* A type without arguments is a run, with padding that is copied where it counts as data. A pair
 * of a value and an int is a run, too, but for that of a short int, which has a gap. */
static int read_basic(reader_t *reader, uintptr_t handle, ri_layout_part_t *part)
{
    int64_t size = ri_mpi_size(handle);
    ri_layout_part_t parts[2];
    intptr_t lb, extent;

    if ((size < 0) || !ri_mpi_extent(handle, 1, &lb, &extent)) {
        return 0;
    }
    if ((size == 0) || ((lb == 0) && (extent == size))) {
        *part = ri_layout_run(size);
        return 1;
    }
    if ((lb != 0) || (size != sizeof(short) + sizeof(int)) ||
        (extent != 2 * sizeof(int))) {
        return 0;
    }
    parts[0] = ri_layout_run(sizeof(short));
    parts[1] = ri_layout_move(&reader->builder, ri_layout_run(sizeof(int)), sizeof(int));
    *part    = ri_layout_join(&reader->builder, parts, 2);
    return 1;
}

static void read_free_types(const read_args_t *args)
{
    ri_mpi_envelope_t envelope;
    int i;

    for (i = 0; i < args->envelope.num_types; ++i) {
        /* Whether a type is basic is not the MPI's secret; those must not be freed. */
        if (ri_mpi_envelope(args->types[i], &envelope) &&
            !read_is_basic(envelope.combiner)) {
            ri_mpi_type_free(args->types[i]);
        }
    }
}

/* Read a type that has arguments. */
static int read_derived(reader_t *reader, uintptr_t handle,
                        const ri_mpi_envelope_t *envelope, ri_layout_part_t *part)
{
    read_args_t args = {.envelope = *envelope};
    int is_read      = 0;

    if ((envelope->num_ints > (int64_t)READ_ARGS_MAX) ||
        (envelope->num_addresses > (int64_t)READ_ARGS_MAX) ||
        (envelope->num_types > (int64_t)READ_ARGS_MAX)) {
        return 0;
    }
    args.ints      = calloc(envelope->num_ints + 1ul, sizeof(*args.ints));
    args.addresses = calloc(envelope->num_addresses + 1ul, sizeof(*args.addresses));
    args.types     = calloc(envelope->num_types + 1ul, sizeof(*args.types));
    if ((args.ints != NULL) && (args.addresses != NULL) && (args.types != NULL) &&
        ri_mpi_contents(handle, envelope, args.ints, args.addresses, args.types)) {
        if ((envelope->num_types == 0) || read_type(reader, args.types[0], &args.child)) {
            *part   = read_by_combiner(reader, &args);
            is_read = !reader->builder.failed;
        }
        read_free_types(&args);
    }
    free(args.ints);
    free(args.addresses);
    free(args.types);
    return is_read;
}

/* Read a type, and those that it is made of. @return Whether all of it was understood. */
static int read_type(reader_t *reader, uintptr_t handle, read_type_t *type)
{
    ri_mpi_envelope_t envelope;
    intptr_t lb, extent;
    int is_read;

    if ((++reader->types > READ_TYPES_MAX) || !ri_mpi_envelope(handle, &envelope) ||
        !ri_mpi_extent(handle, 0, &lb, &extent)) {
        return 0;
    }
    is_read      = read_is_basic(envelope.combiner) ?
                           read_basic(reader, handle, &type->part) :
                           read_derived(reader, handle, &envelope, &type->part);
    type->extent = extent;
    return is_read && (ri_mpi_size(handle) == (int64_t)type->part.size);
}

/* Whether the MPI sees the bytes of a layout where the layout has them. Open MPI 4.1 takes a vector
 * of single elements with stride -1 for one that goes forward. */
static int read_is_agreed(uintptr_t handle, const ri_layout_t *layout)
{
    intptr_t lb, extent;
    int64_t end;

    return (layout->size == 0) ||
           (ri_mpi_extent(handle, 1, &lb, &extent) && (layout->stats.lo >= lb) &&
            !__builtin_add_overflow(lb, extent, &end) && (layout->stats.hi <= end));
}

ri_layout_t *ri_layout_mpi_read(uintptr_t handle)
{
    reader_t reader = {.types = 0};
    ri_layout_t *layout;
    read_type_t type;

    if (ri_mpi_kind() == RI_MPI_NONE) {
        return NULL;
    }
    ri_layout_begin(&reader.builder);
    if (!read_type(&reader, handle, &type)) {
        reader.builder.failed = 1;
        type                  = (read_type_t){.extent = 0};
    }
    layout = ri_layout_end(&reader.builder, type.part, type.extent);
    if ((layout != NULL) && !read_is_agreed(handle, layout)) {
        ri_layout_put(layout);
        layout = NULL;
    }
    return layout;
}
