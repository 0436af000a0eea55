/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A definition is the tree from its root on, each node in front of its children. Numbers have 7
 * bits a byte. Places and lengths are divided by the power of two that divides them all, and the
 * place of an entry counts from the end of the entry before: so most numbers are short.
 */
#include "layout_wire.h"
#include "../wire/grid.h"

#include <stdlib.h>
#include <string.h>

/* The head of a node. */
enum {
    LAYOUT_WIRE_RUN,    /* length */
    LAYOUT_WIRE_LOOP,   /* count, stride, a node */
    LAYOUT_WIRE_BLOCKS, /* count, length, then for each its place */
    LAYOUT_WIRE_RUNS,   /* count, then for each its place and length */
    LAYOUT_WIRE_LIST,   /* count, then for each its place and a node */
    LAYOUT_WIRE_SAME    /* in a list: the same node as the one before */
};

/* Bytes of a number, at most. */
#define LAYOUT_WIRE_NUMBER_MAX 10

/* Places and lengths are divided by this power of two at most. */
#define LAYOUT_WIRE_SHIFT_MAX 32

/* Addresses of programs have fewer bits, as for grids. */
#define LAYOUT_WIRE_ADDRESS_BITS 62

/* A definition that is written. */
typedef struct wire_out {
    uint8_t *bytes;
    size_t length;
    unsigned shift; /* of places and lengths */
    int full;
} wire_out_t;

/* A definition that is read. */
typedef struct wire_in {
    const uint8_t *at;
    const uint8_t *end;
    unsigned shift;
    int malformed;
    ri_layout_builder_t builder;
} wire_in_t;

/* All bits of places and lengths, as far as the entries that are left go. */
typedef struct wire_bits {
    uint64_t all;
    size_t left; /* entries that may still come */
} wire_bits_t;

static uint64_t wire_entry_size(const ri_layout_node_t *list, uint64_t i)
{
    return (list->starts != NULL) ? list->starts[i + 1] - list->starts[i] : list->unit;
}

static const ri_layout_node_t *wire_entry_child(const ri_layout_node_t *list, uint64_t i)
{
    return (list->children != NULL) ? list->children[i] : NULL;
}

/* Whether the entry of a list is the node that the one before is. */
static int wire_is_same(const ri_layout_node_t *list, uint64_t i)
{
    return (i > 0) && (wire_entry_child(list, i) == wire_entry_child(list, i - 1)) &&
           (wire_entry_size(list, i) == wire_entry_size(list, i - 1));
}

/* @return 0 if there are more entries than a definition has room for. */
static int wire_collect(wire_bits_t *bits, const ri_layout_node_t *node, uint64_t size)
{
    uint64_t i;

    if (node == NULL) {
        bits->all |= size;
        return 1;
    }
    if (node->kind == RI_LAYOUT_LOOP) {
        bits->all |= (uint64_t)node->stride;
        return wire_collect(bits, node->child, node->unit);
    }
    if (node->count > bits->left) {
        return 0;
    }
    bits->left -= node->count;
    for (i = 0; i < node->count; ++i) {
        bits->all |= (uint64_t)node->disps[i];
        if (!wire_is_same(node, i) &&
            !wire_collect(bits, wire_entry_child(node, i), wire_entry_size(node, i))) {
            return 0;
        }
    }
    return 1;
}

static void wire_put(wire_out_t *out, uint64_t number)
{
    do {
        if (out->length == RI_WIRE_LAYOUT_MAX) {
            out->full = 1;
            return;
        }
        out->bytes[out->length++] = (number & 0x7f) | ((number > 0x7f) ? 0x80 : 0);
        number >>= 7;
    } while (number != 0);
}

static void wire_put_length(wire_out_t *out, uint64_t length)
{
    wire_put(out, length >> out->shift);
}

/* Numbers that are near 0 are short, whatever their sign. */
static void wire_put_place(wire_out_t *out, uint64_t place)
{
    int64_t number = (int64_t)place >> out->shift;

    wire_put(out, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63));
}

static void wire_put_node(wire_out_t *out, const ri_layout_node_t *node, uint64_t size);

/* The entries of a list; each place is from where the entry before ends. */
static void wire_put_entries(wire_out_t *out, const ri_layout_node_t *node)
{
    uint64_t end = 0;
    uint64_t i;

    for (i = 0; (i < node->count) && !out->full; ++i) {
        wire_put_place(out, (uint64_t)node->disps[i] - end);
        end = (uint64_t)node->disps[i] + wire_entry_size(node, i);
        if (node->kind == RI_LAYOUT_RUNS) {
            wire_put_length(out, wire_entry_size(node, i));
        } else if (node->kind == RI_LAYOUT_LIST) {
            if (wire_is_same(node, i)) {
                wire_put(out, LAYOUT_WIRE_SAME);
            } else {
                wire_put_node(out, wire_entry_child(node, i), wire_entry_size(node, i));
            }
        }
    }
}

static void wire_put_node(wire_out_t *out, const ri_layout_node_t *node, uint64_t size)
{
    static const uint8_t kinds[] = {[RI_LAYOUT_LOOP]   = LAYOUT_WIRE_LOOP,
                                    [RI_LAYOUT_BLOCKS] = LAYOUT_WIRE_BLOCKS,
                                    [RI_LAYOUT_RUNS]   = LAYOUT_WIRE_RUNS,
                                    [RI_LAYOUT_LIST]   = LAYOUT_WIRE_LIST};

    if (node == NULL) {
        wire_put(out, LAYOUT_WIRE_RUN);
        wire_put_length(out, size);
        return;
    }
    wire_put(out, kinds[node->kind]);
    wire_put(out, node->count);
    if (node->kind == RI_LAYOUT_LOOP) {
        wire_put_place(out, (uint64_t)node->stride);
        wire_put_node(out, node->child, node->unit);
        return;
    }
    if (node->kind == RI_LAYOUT_BLOCKS) {
        wire_put_length(out, node->unit);
    }
    wire_put_entries(out, node);
}

/* FNV-1a, with 64 bits */
static uint64_t wire_hash(const uint8_t *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325ul;
    size_t i;

    for (i = 0; i < length; ++i) {
        hash = (hash ^ bytes[i]) * 0x100000001b3ul;
    }
    return hash;
}

/* @return The length of the definition; 0: it has no room. */
static size_t wire_write(const ri_layout_t *layout, uint8_t *bytes)
{
    wire_bits_t bits = {.all  = (uint64_t)layout->extent | (uint64_t)layout->root.disp,
                        .left = RI_WIRE_LAYOUT_MAX};
    wire_out_t out   = {.bytes = bytes};

    assert(layout->size > 0);
    out.full = !wire_collect(&bits, layout->root.node, layout->root.size);
    if (!out.full) {
        /* The length of a run is in it, so it is not 0 */
        out.shift = ri_min((unsigned)__builtin_ctzll(bits.all), LAYOUT_WIRE_SHIFT_MAX);
        wire_put(&out, out.shift);
        wire_put_place(&out, (uint64_t)layout->extent);
        wire_put_place(&out, (uint64_t)layout->root.disp);
        wire_put_node(&out, layout->root.node, layout->root.size);
    }
    return out.full ? 0 : out.length;
}

size_t ri_layout_wire_define(ri_layout_t *layout, uint8_t *bytes)
{
    size_t length = wire_write(layout, bytes);

    atomic_store_explicit(&layout->wire_hash, wire_hash(bytes, length),
                          memory_order_relaxed);
    atomic_store_explicit(&layout->wire_length, (length > 0) ? length : UINT32_MAX,
                          memory_order_release);
    return length;
}

int ri_layout_wire_is_defined_by(const ri_layout_t *layout, const ri_layout_t *of,
                                 const uint8_t *bytes, size_t length)
{
    uint8_t own[RI_WIRE_LAYOUT_MAX];

    if ((atomic_load_explicit(&layout->wire_length, memory_order_acquire) != length) ||
        (atomic_load_explicit(&layout->wire_hash, memory_order_relaxed) !=
         atomic_load_explicit(&of->wire_hash, memory_order_relaxed))) {
        return 0;
    }
    /* Hashes of others may be the same. */
    return (wire_write(layout, own) == length) && (memcmp(own, bytes, length) == 0);
}

static uint64_t wire_get(wire_in_t *in)
{
    uint64_t number = 0;
    uint64_t bits;
    unsigned i;

    for (i = 0; (i < LAYOUT_WIRE_NUMBER_MAX) && (in->at < in->end); ++i) {
        bits = *in->at & 0x7f;
        if ((bits << (7 * i)) >> (7 * i) != bits) {
            break;
        }
        number |= bits << (7 * i);
        if (!(*in->at++ & 0x80)) {
            return number;
        }
    }
    in->malformed = 1;
    return 0;
}

/* A length, which is not 0. */
static uint64_t wire_get_length(wire_in_t *in)
{
    uint64_t number = wire_get(in);

    if ((number == 0) || (number > ((uint64_t)INT64_MAX >> in->shift))) {
        in->malformed = 1;
        return 1;
    }
    return number << in->shift;
}

static int64_t wire_get_place(wire_in_t *in)
{
    uint64_t number = wire_get(in);
    int64_t place   = (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
    int64_t whole   = (int64_t)((uint64_t)place << in->shift);

    in->malformed |= (whole >> in->shift) != place;
    return whole;
}

/* A number of repetitions, or of entries that have at least one byte each. */
static uint64_t wire_get_count(wire_in_t *in, int of_entries)
{
    uint64_t count = wire_get(in);

    if ((count == 0) || (of_entries && (count > (size_t)(in->end - in->at)))) {
        in->malformed = 1;
        return 0;
    }
    return count;
}

static ri_layout_part_t wire_get_node(wire_in_t *in, unsigned depth, uint64_t kind);

/* The entry of a list. */
static ri_layout_part_t wire_get_entry(wire_in_t *in, unsigned depth, uint64_t kind,
                                       const ri_layout_part_t *before)
{
    uint64_t what;

    if (kind == LAYOUT_WIRE_RUNS) {
        return ri_layout_run(wire_get_length(in));
    }
    what = wire_get(in);
    if (what != LAYOUT_WIRE_SAME) {
        return wire_get_node(in, depth, what);
    }
    if (before == NULL) {
        in->malformed = 1;
        return ri_layout_run(0);
    }
    return *before;
}

/* A list. */
static ri_layout_part_t wire_get_list(wire_in_t *in, unsigned depth, uint64_t kind)
{
    uint64_t count         = wire_get_count(in, 1);
    ri_layout_part_t entry = ri_layout_run(0);
    ri_layout_part_t whole = ri_layout_run(0);
    uint64_t at            = 0;
    ri_layout_part_t *parts;
    uint64_t i;

    parts = malloc(count * sizeof(*parts) + 1);
    if (parts == NULL) {
        in->builder.failed = 1;
        return whole;
    }
    if (kind == LAYOUT_WIRE_BLOCKS) {
        entry = ri_layout_run(wire_get_length(in));
    }
    for (i = 0; (i < count) && !in->malformed && !in->builder.failed; ++i) {
        at += (uint64_t)wire_get_place(in);
        if (kind != LAYOUT_WIRE_BLOCKS) {
            entry = wire_get_entry(in, depth, kind, (i > 0) ? &entry : NULL);
        }
        parts[i] = ri_layout_move(&in->builder, entry, (int64_t)at);
        at += entry.size;
    }
    if (!in->malformed && !in->builder.failed) {
        whole = ri_layout_join(&in->builder, parts, count);
    }
    free(parts);
    return whole;
}

/* Read the bytes behind the kind of a node. */
static ri_layout_part_t wire_get_node(wire_in_t *in, unsigned depth, uint64_t kind)
{
    ri_layout_part_t part = ri_layout_run(0);
    uint64_t count;
    int64_t stride;

    if (in->malformed || in->builder.failed || (depth > RI_LAYOUT_DEPTH_MAX)) {
        in->malformed |= !in->builder.failed;
        return part;
    }
    switch (kind) {
    case LAYOUT_WIRE_RUN:
        return ri_layout_run(wire_get_length(in));
    case LAYOUT_WIRE_LOOP:
        count  = wire_get_count(in, 0);
        stride = wire_get_place(in);
        part   = wire_get_node(in, depth + 1, wire_get(in));
        return ri_layout_repeat(&in->builder, part, count, stride);
    case LAYOUT_WIRE_BLOCKS:
    case LAYOUT_WIRE_RUNS:
    case LAYOUT_WIRE_LIST:
        return wire_get_list(in, depth + 1, kind);
    default:
        in->malformed = 1;
        return part;
    }
}

ri_layout_t *ri_layout_wire_parse(const void *bytes, size_t length, int *malformed_p)
{
    wire_in_t in = {.at = bytes, .end = (const uint8_t *)bytes + length};
    ri_layout_part_t root;
    ri_layout_t *layout;
    uint64_t shift;
    int64_t extent;
    int64_t disp;

    ri_layout_begin(&in.builder);
    shift        = wire_get(&in);
    in.malformed = in.malformed || (length > RI_WIRE_LAYOUT_MAX) ||
                   (shift > LAYOUT_WIRE_SHIFT_MAX);
    in.shift     = in.malformed ? 0 : (unsigned)shift;
    extent       = wire_get_place(&in);
    disp         = wire_get_place(&in);
    root         = wire_get_node(&in, 0, wire_get(&in));
    root         = ri_layout_move(&in.builder, root, disp);
    in.malformed = in.malformed || (!in.builder.failed && (in.at != in.end));
    in.builder.failed |= in.malformed;
    *malformed_p = in.malformed;
    layout       = ri_layout_end(&in.builder, root, extent);
    if ((layout != NULL) && !ri_layout_count_for_peer(layout)) {
        ri_layout_put(layout);
        return NULL;
    }
    return layout;
}

void ri_layout_wire_hull(const ri_layout_t *layout, uint64_t count, int64_t *lo,
                         int64_t *hi)
{
    int64_t reach = ((int64_t)count - 1) * layout->extent;

    *lo = layout->stats.lo + ri_min(reach, 0);
    *hi = layout->stats.hi + ri_max(reach, 0);
}

int ri_layout_wire_may_be_at(const ri_layout_t *layout, uint64_t count, uint64_t address,
                             uint64_t length)
{
    int64_t lo = layout->stats.lo;
    int64_t hi = layout->stats.hi;
    uint64_t bytes, runs;
    int64_t reach;

    if ((address >> LAYOUT_WIRE_ADDRESS_BITS) || (length == 0) ||
        (length > RI_WIRE_LENGTH_MAX) ||
        __builtin_mul_overflow(layout->size, count, &bytes) || (bytes != length) ||
        __builtin_mul_overflow(layout->stats.runs, count, &runs) ||
        (runs > RI_GRID_RUNS_MAX) ||
        __builtin_mul_overflow((int64_t)count - 1, layout->extent, &reach) ||
        __builtin_add_overflow((reach < 0) ? lo : hi, reach, (reach < 0) ? &lo : &hi) ||
        __builtin_add_overflow(lo, (int64_t)address, &lo) || (lo < 0)) {
        return 0;
    }
    return hi <= (INT64_C(1) << LAYOUT_WIRE_ADDRESS_BITS) - (int64_t)address;
}
