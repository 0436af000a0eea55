/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the bytes of a derived datatype are: a tree of loops and lists that is made once and never
 * changed. What is regular stays a loop, however often it repeats. Runs that adjoin are one run.
 *
 * A layout has an order, which is that of the packed bytes. Runs may overlap, and may be anywhere
 * around the address of the buffer. A builder makes a layout from its innermost part outwards. It
 * notes what goes wrong (a number that overflows, too long a list, no memory) and goes on, so only
 * the end has to be asked.
 */
#ifndef RI_LAYOUT_H
#define RI_LAYOUT_H

#include "../../ucs/base.h"

/* Bounds of one layout. A type that exceeds them is not described. */
#define RI_LAYOUT_ENTRIES_MAX 65536ul
#define RI_LAYOUT_BYTES_MAX   (1ul << 20)
#define RI_LAYOUT_DEPTH_MAX   32

typedef enum ri_layout_kind {
    RI_LAYOUT_LOOP,   /* one child again and again, at a stride */
    RI_LAYOUT_BLOCKS, /* a list of runs of one length */
    RI_LAYOUT_RUNS,   /* a list of runs of any length */
    RI_LAYOUT_LIST    /* a list of runs and nodes */
} ri_layout_kind_t;

/* The properties by which a scheme is chosen. The mean run has bytes / runs bytes. */
typedef struct ri_layout_stats {
    uint64_t runs; /* pieces of memory, in all repetitions */
    uint64_t run_min;
    uint64_t run_max;
    int64_t lo; /* the first byte, and behind the last one, from the address of the buffer */
    int64_t hi;
} ri_layout_stats_t;

typedef struct ri_layout_node ri_layout_node_t;

struct ri_layout_node {
    ri_layout_kind_t kind;
    unsigned depth;                /* of nodes below it, with itself */
    uint64_t size;                 /* packed bytes in all */
    uint64_t count;                /* repetitions, or entries; not 0 */
    uint64_t unit;                 /* LOOP, BLOCKS: packed bytes of one of them */
    int64_t stride;                /* LOOP */
    const ri_layout_node_t *child; /* LOOP; NULL: a run of unit bytes */
    const int64_t *disps;          /* lists: where each entry is */
    const uint64_t *starts;        /* RUNS, LIST: packed bytes before each, and all */
    const ri_layout_node_t *const *children; /* LIST: each NULL for a run */
    ri_layout_stats_t stats;                 /* from the node's own origin */
};

/* A node at a place, or a run of bytes, which has no node. One of no bytes is nothing. */
typedef struct ri_layout_part {
    const ri_layout_node_t *node;
    int64_t disp;
    uint64_t size;
} ri_layout_part_t;

typedef struct ri_layout_block ri_layout_block_t;

/* The layout of one element of a type. */
typedef struct ri_layout {
    _Atomic(unsigned) refs;
    ri_layout_part_t root;
    uint64_t size;           /* bytes of an element */
    int64_t extent;          /* from one element to the next one */
    ri_layout_stats_t stats; /* of one element; all 0 if it has no bytes */
    /* of its definition (layout_wire.h): 0 until it was written once; UINT32_MAX: it has no room in
     * a message */
    _Atomic(uint32_t) wire_length;
    _Atomic(uint64_t) wire_hash; /* of the bytes of its definition */
    size_t bytes;                /* that it takes of the heap */
    uint8_t is_peers; /* the layout is a peer's, and counts among the memory of those */
    ri_layout_block_t *blocks;
} ri_layout_t;

typedef struct ri_layout_builder {
    ri_layout_block_t *blocks;
    size_t bytes;
    size_t heap; /* the same with what the heap adds */
    size_t entries;
    int failed;
} ri_layout_builder_t;

/** Begin a layout, which ri_layout_end() ends. */
void ri_layout_begin(ri_layout_builder_t *builder);

/** @return A run of bytes at the origin. */
static inline ri_layout_part_t ri_layout_run(uint64_t size)
{
    return (ri_layout_part_t){.size = size};
}

/** @return @a part, moved by @a disp bytes. */
ri_layout_part_t ri_layout_move(ri_layout_builder_t *builder, ri_layout_part_t part,
                                int64_t disp);

/** @return @a part, @a count times, each @a stride bytes behind the one before. */
ri_layout_part_t ri_layout_repeat(ri_layout_builder_t *builder, ri_layout_part_t part,
                                  uint64_t count, int64_t stride);

/** @return The parts one after the other, each at its own place. The array is overwritten, and
 * stays the caller's. */
ri_layout_part_t ri_layout_join(ri_layout_builder_t *builder, ri_layout_part_t *parts,
                                size_t count);

/**
 * End a layout. The builder is empty then.
 *
 * @return A layout with one reference, or NULL if it could not be made.
 */
ri_layout_t *ri_layout_end(ri_layout_builder_t *builder, ri_layout_part_t root,
                           int64_t extent);

/** Take one more reference, which is the caller's until ri_layout_put(). Any thread may call it.
 * @return @a layout. */
ri_layout_t *ri_layout_get(ri_layout_t *layout);

/* Layouts of peers take no more than this of the heap, all together. Only tests change it. */
extern size_t ri_layout_peers_max;

/** Count a layout, which nobody else knows yet, in what layouts of peers take, until it is freed.
 * @return 0: that would be too much, and it was not counted. Any thread may call it. */
int ri_layout_count_for_peer(ri_layout_t *layout);

/** @return How many bytes of the heap layouts of peers take in all. Any thread may call it. */
size_t ri_layout_peers_bytes(void);

/** Give a reference back; the last one frees the layout. NULL will do. Any thread may call it. */
void ri_layout_put(ri_layout_t *layout);

#endif
