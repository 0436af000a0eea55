/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First the loops that copy blocks of one length, with a length that the compiler knows where that
 * is short. Then a walk through a range of a layout, which calls them for whatever repeats. Both
 * directions have the same loops, as only the sides change.
 *
 * Addresses are numbers here: runs may be anywhere around a buffer, which may be no address.
 */
#include "layout_copy.h"
#include "../../ucs/copy.h"

/* One side of blocks: where the next one is. */
typedef struct copy_side {
    uintptr_t at;
    int64_t stride;
} copy_side_t;

/* A walk, in either direction. */
typedef struct copy_walk {
    uintptr_t packed; /* where it is in the packed bytes */
    int unpack;
} copy_walk_t;

/* Copy a block of @a length bytes, of which the compiler knows a lower and an upper bound that are
 * at most a factor of two apart: from both of its ends, so the middle is copied twice. */
static ri_inline void copy_two(void *dst, const void *src, size_t length, size_t half)
{
    uint8_t *d       = (uint8_t *)dst;
    const uint8_t *s = (const uint8_t *)src;
    uint8_t first[64], last[64];

    memcpy(first, s, half);
    memcpy(last, s + length - half, half);
    memcpy(d, first, half);
    memcpy(d + length - half, last, half);
}

#define COPY_LOOP(_copy) \
    for (; count >= 4; count -= 4) { \
        _copy; \
        d += dst.stride; \
        s += src.stride; \
        _copy; \
        d += dst.stride; \
        s += src.stride; \
        _copy; \
        d += dst.stride; \
        s += src.stride; \
        _copy; \
        d += dst.stride; \
        s += src.stride; \
    } \
    for (; count > 0; --count) { \
        _copy; \
        d += dst.stride; \
        s += src.stride; \
    }

#define COPY_FIXED(_length) \
    case _length: \
        COPY_LOOP(memcpy((void *)d, (const void *)s, _length)) \
        return;

/* Copy @a count blocks of one length. */
static void copy_blocks(copy_side_t dst, copy_side_t src, size_t length, size_t count)
{
    uintptr_t d = dst.at;
    uintptr_t s = src.at;

    switch (length) {
        COPY_FIXED(1)
        COPY_FIXED(2)
        COPY_FIXED(4)
        COPY_FIXED(8)
        COPY_FIXED(12)
        COPY_FIXED(16)
        COPY_FIXED(24)
        COPY_FIXED(32)
        COPY_FIXED(48)
        COPY_FIXED(64)
    default:
        break;
    }
    if (length < 4) {
        COPY_LOOP(ri_copy_short((void *)d, (const void *)s, length))
    } else if (length < 8) {
        COPY_LOOP(copy_two((void *)d, (const void *)s, length, 4))
    } else if (length < 16) {
        COPY_LOOP(copy_two((void *)d, (const void *)s, length, 8))
    } else if (length < 32) {
        COPY_LOOP(copy_two((void *)d, (const void *)s, length, 16))
    } else if (length < 64) {
        COPY_LOOP(copy_two((void *)d, (const void *)s, length, 32))
    } else if (length < 128) {
        COPY_LOOP(copy_two((void *)d, (const void *)s, length, 64))
    } else {
        for (; count > 0; --count) {
            memcpy((void *)d, (const void *)s, length);
            d += dst.stride;
            s += src.stride;
        }
    }
}

#define COPY_LISTED(_length) \
    case _length: \
        for (i = 0; i < count; ++i) { \
            memcpy((void *)(unpack ? base + disps[i] : packed), \
                   (const void *)(unpack ? packed : base + disps[i]), _length); \
            packed += _length; \
        } \
        return;

/* Copy @a count blocks of one length that are at listed places. */
static ri_inline void copy_listed_by(uintptr_t base, const int64_t *disps, size_t count,
                                     size_t length, uintptr_t packed, int unpack)
{
    size_t i;

    switch (length) {
        COPY_LISTED(4)
        COPY_LISTED(8)
        COPY_LISTED(16)
        COPY_LISTED(24)
        COPY_LISTED(32)
        COPY_LISTED(64)
    default:
        break;
    }
    for (i = 0; i < count; ++i) {
        ri_copy((void *)(unpack ? base + disps[i] : packed),
                (const void *)(unpack ? packed : base + disps[i]), length);
        packed += length;
    }
}

static void copy_listed(copy_walk_t *walk, uintptr_t base, const int64_t *disps,
                        size_t count, size_t length)
{
    if (walk->unpack) {
        copy_listed_by(base, disps, count, length, walk->packed, 1);
    } else {
        copy_listed_by(base, disps, count, length, walk->packed, 0);
    }
    walk->packed += count * length;
}

static inline void copy_run(copy_walk_t *walk, uintptr_t address, size_t length)
{
    if (walk->unpack) {
        ri_copy((void *)address, (const void *)walk->packed, length);
    } else {
        ri_copy((void *)walk->packed, (const void *)address, length);
    }
    walk->packed += length;
}

/* Copy @a count whole runs at a stride. */
static void copy_strided(copy_walk_t *walk, uintptr_t address, int64_t stride,
                         size_t length, size_t count)
{
    copy_side_t strided = {address, stride};
    copy_side_t packed  = {walk->packed, (int64_t)length};

    if (walk->unpack) {
        copy_blocks(strided, packed, length, count);
    } else {
        copy_blocks(packed, strided, length, count);
    }
    walk->packed += count * length;
}

/* The entry of a list in which the packed byte @a offset is. */
static size_t copy_find(const ri_layout_node_t *list, uint64_t offset)
{
    size_t low  = 0;
    size_t high = list->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (list->starts[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void copy_node(copy_walk_t *walk, const ri_layout_node_t *node, uintptr_t base,
                      uint64_t skip, uint64_t length);

/* Copy @a length bytes of a node or a run, without the first @a skip bytes. */
static inline void copy_child(copy_walk_t *walk, const ri_layout_node_t *child,
                              uintptr_t base, uint64_t skip, uint64_t length)
{
    if (child == NULL) {
        copy_run(walk, base + skip, length);
    } else {
        copy_node(walk, child, base, skip, length);
    }
}

static void copy_loop(copy_walk_t *walk, const ri_layout_node_t *loop, uintptr_t base,
                      uint64_t skip, uint64_t length)
{
    uint64_t unit = loop->unit;
    uint64_t piece;
    uint64_t i;

    if (skip > 0) {
        base += (skip / unit) * loop->stride;
        skip %= unit;
        if (skip > 0) {
            piece = ri_min(unit - skip, length);
            copy_child(walk, loop->child, base, skip, piece);
            length -= piece;
            base += loop->stride;
        }
    }
    if (length >= unit) {
        uint64_t count = length / unit;

        if (loop->child == NULL) {
            copy_strided(walk, base, loop->stride, unit, count);
        } else {
            for (i = 0; i < count; ++i) {
                copy_node(walk, loop->child, base + i * loop->stride, 0, unit);
            }
        }
        base += count * loop->stride;
        length -= count * unit;
    }
    if (length > 0) {
        copy_child(walk, loop->child, base, 0, length);
    }
}

static void copy_list_of_blocks(copy_walk_t *walk, const ri_layout_node_t *list,
                                uintptr_t base, uint64_t skip, uint64_t length)
{
    const int64_t *disps = list->disps;
    uint64_t unit        = list->unit;
    uint64_t count;
    uint64_t piece;

    if (skip > 0) {
        disps += skip / unit;
        skip %= unit;
        if (skip > 0) {
            piece = ri_min(unit - skip, length);
            copy_run(walk, base + *disps + skip, piece);
            length -= piece;
            ++disps;
        }
    }
    count = (length >= unit) ? length / unit : 0;
    copy_listed(walk, base, disps, count, unit);
    if (length > count * unit) {
        copy_run(walk, base + disps[count], length - count * unit);
    }
}

static void copy_list(copy_walk_t *walk, const ri_layout_node_t *list, uintptr_t base,
                      uint64_t skip, uint64_t length)
{
    size_t i = (skip > 0) ? copy_find(list, skip) : 0;

    for (skip -= list->starts[i]; length > 0; ++i, skip = 0) {
        uint64_t size  = list->starts[i + 1] - list->starts[i];
        uint64_t piece = ri_min(size - skip, length);

        copy_child(walk, (list->children != NULL) ? list->children[i] : NULL,
                   base + list->disps[i], skip, piece);
        length -= piece;
    }
}

/* @a skip + @a length is at most the node's size, and @a length is not 0. */
static void copy_node(copy_walk_t *walk, const ri_layout_node_t *node, uintptr_t base,
                      uint64_t skip, uint64_t length)
{
    switch (node->kind) {
    case RI_LAYOUT_LOOP:
        copy_loop(walk, node, base, skip, length);
        break;
    case RI_LAYOUT_BLOCKS:
        copy_list_of_blocks(walk, node, base, skip, length);
        break;
    default:
        copy_list(walk, node, base, skip, length);
        break;
    }
}

/* All elements as one loop, which is the loop of an element where that goes on in the next one. */
static ri_layout_node_t copy_elements(const ri_layout_t *layout, size_t count)
{
    const ri_layout_node_t *root = layout->root.node;
    ri_layout_node_t all         = {.kind   = RI_LAYOUT_LOOP,
                                    .count  = count,
                                    .size   = count * layout->size,
                                    .unit   = layout->size,
                                    .stride = layout->extent,
                                    .child  = root};

    if ((root != NULL) && (root->kind == RI_LAYOUT_LOOP) &&
        ((uint64_t)layout->extent == root->count * (uint64_t)root->stride)) {
        all.count  = count * root->count;
        all.unit   = root->unit;
        all.stride = root->stride;
        all.child  = root->child;
    }
    if ((all.child == NULL) && (all.stride == (int64_t)all.unit)) {
        all.unit *= all.count;
        all.count = 1;
    }
    return all;
}

int ri_layout_copy_is_runs(const ri_layout_t *layout, const void *buffer, size_t count,
                           ri_layout_runs_t *runs)
{
    ri_layout_node_t loop = copy_elements(layout, count);

    if ((loop.count == 1) && (loop.child != NULL) &&
        (loop.child->kind == RI_LAYOUT_LOOP)) {
        loop = *loop.child;
    }
    *runs = (ri_layout_runs_t){.address = (uintptr_t)buffer + (uint64_t)layout->root.disp,
                               .stride  = loop.stride,
                               .length  = loop.unit,
                               .count   = loop.count};
    return (loop.child == NULL) && (loop.unit > 0);
}

void ri_layout_copy_unpack_runs(const ri_layout_runs_t *runs, const void *src)
{
    copy_blocks((copy_side_t){runs->address, runs->stride},
                (copy_side_t){(uintptr_t)src, (int64_t)runs->length}, runs->length,
                runs->count);
}

int ri_layout_copy_loops(const ri_layout_t *from, const void *src, size_t from_count,
                         const ri_layout_t *to, void *dst, size_t to_count, size_t length)
{
    ri_layout_runs_t in, out;

    if (!ri_layout_copy_is_runs(from, src, from_count, &in) ||
        !ri_layout_copy_is_runs(to, dst, to_count, &out) || (in.length != out.length) ||
        (length % in.length != 0)) {
        return 0;
    }
    copy_blocks((copy_side_t){out.address, out.stride},
                (copy_side_t){in.address, in.stride}, in.length, length / in.length);
    return 1;
}

static void copy_range(copy_walk_t *walk, const ri_layout_t *layout, uintptr_t buffer,
                       size_t count, size_t offset, size_t length)
{
    ri_layout_node_t all;

    if (length > 0) {
        all = copy_elements(layout, count);
        copy_loop(walk, &all, buffer + layout->root.disp, offset, length);
    }
}

void ri_layout_copy_pack(const ri_layout_t *layout, const void *buffer, size_t count,
                         size_t offset, void *dest, size_t length)
{
    copy_walk_t walk = {.packed = (uintptr_t)dest, .unpack = 0};

    copy_range(&walk, layout, (uintptr_t)buffer, count, offset, length);
}

void ri_layout_copy_unpack(const ri_layout_t *layout, void *buffer, size_t count,
                           size_t offset, const void *src, size_t length)
{
    copy_walk_t walk = {.packed = (uintptr_t)src, .unpack = 1};

    copy_range(&walk, layout, (uintptr_t)buffer, count, offset, length);
}

/* Pieces that are collected. */
typedef struct copy_pieces {
    ri_segment_t *segments;
    size_t count;
    size_t max;
    uint64_t left; /* bytes that have no piece yet */
} copy_pieces_t;

/* @return Whether there was room for it. */
static int pieces_add(copy_pieces_t *pieces, uintptr_t address, uint64_t length)
{
    ri_segment_t *last = (pieces->count > 0) ? &pieces->segments[pieces->count - 1] :
                                               NULL;

    if ((last != NULL) && (last->address + last->length == address)) {
        last->length += length;
    } else if (pieces->count < pieces->max) {
        pieces->segments[pieces->count++] = (ri_segment_t){address, length};
    } else {
        return 0;
    }
    pieces->left -= length;
    return 1;
}

/* Collect the pieces of a node or a run, of @a size bytes, without the first @a skip bytes. @return
 * Whether there was room for all of them. */
static int pieces_of(copy_pieces_t *pieces, const ri_layout_node_t *node, uint64_t size,
                     uintptr_t base, uint64_t skip)
{
    uint64_t i;

    if (node == NULL) {
        return pieces_add(pieces, base + skip, ri_min(size - skip, pieces->left));
    }
    if (node->starts != NULL) {
        for (i = copy_find(node, skip), skip -= node->starts[i];
             (i < node->count) && (pieces->left > 0); ++i, skip = 0) {
            if (!pieces_of(pieces, (node->children != NULL) ? node->children[i] : NULL,
                           node->starts[i + 1] - node->starts[i], base + node->disps[i],
                           skip)) {
                return 0;
            }
        }
        return 1;
    }
    for (i = skip / node->unit, skip %= node->unit;
         (i < node->count) && (pieces->left > 0); ++i, skip = 0) {
        uint64_t disp = (node->kind == RI_LAYOUT_LOOP) ? i * (uint64_t)node->stride :
                                                         (uint64_t)node->disps[i];

        if (!pieces_of(pieces, node->child, node->unit, base + disp, skip)) {
            return 0;
        }
    }
    return 1;
}

size_t ri_layout_copy_segments(const ri_layout_t *layout, const void *buffer,
                               size_t count, size_t offset, size_t *length_p,
                               ri_segment_t *segments, size_t max)
{
    ri_layout_node_t all = copy_elements(layout, count);
    copy_pieces_t pieces = {.segments = segments, .max = max, .left = *length_p};

    pieces_of(&pieces, &all, all.size, (uintptr_t)buffer + layout->root.disp, offset);
    *length_p -= pieces.left;
    return pieces.count;
}
