/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First memory and checked arithmetic, then loops, then lists.
 */
#include "layout.h"
#include "../../ucs/heap.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A list that is this short becomes a part of the list that it is in. */
#define LAYOUT_SPLICE_MAX 16

/* One piece of memory of a layout. */
struct ri_layout_block {
    ri_layout_block_t *next;
    alignas(max_align_t) uint8_t data[];
};

size_t ri_layout_peers_max = 64ul << 20;

static _Atomic(size_t) layout_peers_bytes;

static const ri_layout_part_t layout_nothing = {.size = 0};

static ri_layout_part_t layout_fail(ri_layout_builder_t *builder)
{
    builder->failed = 1;
    return layout_nothing;
}

static void layout_free(ri_layout_block_t *blocks)
{
    ri_layout_block_t *block;

    while ((block = blocks) != NULL) {
        blocks = block->next;
        free(block);
    }
}

/* Memory that is freed with the layout. NULL: the layout has failed. */
static void *layout_alloc(ri_layout_builder_t *builder, size_t size)
{
    ri_layout_block_t *block;

    if (builder->failed || (size > RI_LAYOUT_BYTES_MAX - builder->bytes)) {
        builder->failed = 1;
        return NULL;
    }
    block = malloc(sizeof(*block) + size);
    if (block == NULL) {
        builder->failed = 1;
        return NULL;
    }
    block->next     = builder->blocks;
    builder->blocks = block;
    builder->bytes += size;
    builder->heap += ri_heap_block(sizeof(*block) + size);
    return block->data;
}

static ri_layout_node_t *layout_node(ri_layout_builder_t *builder, ri_layout_kind_t kind,
                                     unsigned depth)
{
    ri_layout_node_t *node;

    if (depth > RI_LAYOUT_DEPTH_MAX) {
        builder->failed = 1;
        return NULL;
    }
    node = layout_alloc(builder, sizeof(*node));
    if (node != NULL) {
        *node = (ri_layout_node_t){.kind = kind, .depth = depth};
    }
    return node;
}

static unsigned layout_depth(const ri_layout_node_t *node)
{
    return (node == NULL) ? 0 : node->depth;
}

/* Statistics of a part. @return 0 if they overflow. */
static int layout_part_stats(const ri_layout_part_t *part, ri_layout_stats_t *stats)
{
    if (part->node == NULL) {
        *stats = (ri_layout_stats_t){.runs    = (part->size > 0),
                                     .run_min = part->size,
                                     .run_max = part->size,
                                     .hi      = (int64_t)part->size};
        if (part->size > INT64_MAX) {
            return 0;
        }
    } else {
        *stats = part->node->stats;
    }
    return !__builtin_add_overflow(stats->lo, part->disp, &stats->lo) &&
           !__builtin_add_overflow(stats->hi, part->disp, &stats->hi);
}

/* Count one more part in. @return As layout_part_stats(). */
static int layout_add_stats(ri_layout_stats_t *sum, const ri_layout_part_t *part)
{
    ri_layout_stats_t stats;

    if (!layout_part_stats(part, &stats)) {
        return 0;
    }
    if (sum->runs == 0) {
        *sum = stats;
        return 1;
    }
    sum->run_min = ri_min(sum->run_min, stats.run_min);
    sum->run_max = ri_max(sum->run_max, stats.run_max);
    sum->lo      = ri_min(sum->lo, stats.lo);
    sum->hi      = ri_max(sum->hi, stats.hi);
    return !__builtin_add_overflow(sum->runs, stats.runs, &sum->runs);
}

ri_layout_part_t ri_layout_move(ri_layout_builder_t *builder, ri_layout_part_t part,
                                int64_t disp)
{
    if (part.size == 0) {
        return layout_nothing;
    }
    return __builtin_add_overflow(part.disp, disp, &part.disp) ? layout_fail(builder) :
                                                                 part;
}

/* Statistics of @a count repetitions of @a part, which is at the origin. @return As
 * layout_part_stats(). */
static int layout_loop_stats(ri_layout_stats_t *stats, const ri_layout_part_t *part,
                             uint64_t count, int64_t stride)
{
    ri_layout_part_t last = *part;

    if (!layout_part_stats(part, stats) ||
        __builtin_mul_overflow((int64_t)count - 1, stride, &last.disp) ||
        !layout_add_stats(stats, &last)) {
        return 0;
    }
    /* twice one of them until here */
    return !__builtin_mul_overflow(stats->runs / 2, count, &stats->runs);
}

ri_layout_part_t ri_layout_repeat(ri_layout_builder_t *builder, ri_layout_part_t part,
                                  uint64_t count, int64_t stride)
{
    const ri_layout_node_t *child = part.node;
    ri_layout_part_t unit         = {.node = child, .size = part.size};
    ri_layout_part_t whole        = {.disp = part.disp};
    ri_layout_node_t *node;
    int64_t span;

    if ((part.size == 0) || (count == 0)) {
        return layout_nothing;
    }
    if (count == 1) {
        return part;
    }
    if ((count > INT64_MAX) || __builtin_mul_overflow(part.size, count, &whole.size) ||
        (whole.size > INT64_MAX)) {
        return layout_fail(builder);
    }
    if ((child == NULL) && (stride == (int64_t)part.size)) {
        return whole;
    }
    /* The next repetition goes on where the loop within this one ends. */
    if ((child != NULL) && (child->kind == RI_LAYOUT_LOOP) &&
        !__builtin_mul_overflow((int64_t)child->count, child->stride, &span) &&
        (span == stride)) {
        unit = (ri_layout_part_t){.node = child->child, .size = child->unit};
        count *= child->count; /* no more than there are bytes */
        stride = child->stride;
    }

    node = layout_node(builder, RI_LAYOUT_LOOP, layout_depth(unit.node) + 1);
    if (node == NULL) {
        return layout_nothing;
    }
    node->size   = whole.size;
    node->count  = count;
    node->unit   = unit.size;
    node->stride = stride;
    node->child  = unit.node;
    if (!layout_loop_stats(&node->stats, &unit, count, stride)) {
        return layout_fail(builder);
    }
    whole.node = node;
    return whole;
}

/* Where the entry of a list is from the list's origin, and what it is. */
static ri_layout_part_t layout_entry(const ri_layout_node_t *list, size_t i)
{
    ri_layout_part_t part = {.disp = list->disps[i], .size = list->unit};

    if (list->starts != NULL) {
        part.size = list->starts[i + 1] - list->starts[i];
    }
    if (list->children != NULL) {
        part.node = list->children[i];
    }
    return part;
}

static int layout_is_spliced(const ri_layout_part_t *part)
{
    return (part->node != NULL) && (part->node->kind != RI_LAYOUT_LOOP) &&
           (part->node->count <= LAYOUT_SPLICE_MAX);
}

/* Whether two parts are the same, but for their place. */
static int layout_is_same(const ri_layout_part_t *a, const ri_layout_part_t *b)
{
    const ri_layout_node_t *m = a->node;
    const ri_layout_node_t *n = b->node;

    if ((m == n) || (m == NULL) || (n == NULL)) {
        return (m == n) && (a->size == b->size);
    }
    return (m->kind == RI_LAYOUT_LOOP) && (n->kind == RI_LAYOUT_LOOP) &&
           (m->count == n->count) && (m->unit == n->unit) && (m->stride == n->stride) &&
           (m->child == n->child);
}

/* Put one more part behind the @a count that there are. Runs that adjoin become one. @return How
 * many there are now. */
static size_t layout_append(ri_layout_part_t *parts, size_t count, ri_layout_part_t part)
{
    ri_layout_part_t *prev = (count > 0) ? &parts[count - 1] : NULL;
    int64_t end;

    if (part.size == 0) {
        return count;
    }
    if ((prev != NULL) && (prev->node == NULL) && (part.node == NULL) &&
        !__builtin_add_overflow(prev->disp, (int64_t)prev->size, &end) &&
        (end == part.disp) && (part.size <= INT64_MAX - prev->size)) {
        prev->size += part.size;
        return count;
    }
    parts[count] = part;
    return count + 1;
}

/* The parts one after the other, with short lists taken apart, in @a out. @return How many. */
static size_t layout_splice(ri_layout_builder_t *builder, ri_layout_part_t *out,
                            const ri_layout_part_t *parts, size_t num)
{
    size_t count = 0;
    size_t i;
    size_t j;

    for (i = 0; i < num; ++i) {
        if (!layout_is_spliced(&parts[i])) {
            count = layout_append(out, count, parts[i]);
            continue;
        }
        for (j = 0; j < parts[i].node->count; ++j) {
            ri_layout_part_t entry = layout_entry(parts[i].node, j);

            count = layout_append(out, count,
                                  ri_layout_move(builder, entry, parts[i].disp));
        }
    }
    return count;
}

/* Whether the parts are one part, again and again at a stride. */
static int layout_is_regular(const ri_layout_part_t *parts, size_t count, int64_t *stride)
{
    int64_t step;
    size_t i;

    if (__builtin_sub_overflow(parts[1].disp, parts[0].disp, stride)) {
        return 0;
    }
    for (i = 1; i < count; ++i) {
        if (__builtin_sub_overflow(parts[i].disp, parts[i - 1].disp, &step) ||
            (step != *stride) || !layout_is_same(&parts[i], &parts[0])) {
            return 0;
        }
    }
    return 1;
}

static ri_layout_kind_t layout_list_kind(const ri_layout_part_t *parts, size_t count)
{
    ri_layout_kind_t kind = RI_LAYOUT_BLOCKS;
    size_t i;

    for (i = 0; i < count; ++i) {
        if (parts[i].node != NULL) {
            return RI_LAYOUT_LIST;
        }
        if (parts[i].size != parts[0].size) {
            kind = RI_LAYOUT_RUNS;
        }
    }
    return kind;
}

/* Fill what a list has of all its entries, whose places are from the first one on. @return 0 if a
 * number overflows. */
static int layout_list_sums(ri_layout_node_t *node, const ri_layout_part_t *parts)
{
    size_t i;

    for (i = 0; i < node->count; ++i) {
        if (!layout_add_stats(&node->stats, &parts[i]) ||
            __builtin_add_overflow(node->size, parts[i].size, &node->size) ||
            (node->size > INT64_MAX)) {
            return 0;
        }
    }
    return 1;
}

/* Write the arrays of a list. @return 0 if there is no memory for them. */
static int layout_list_arrays(ri_layout_builder_t *builder, ri_layout_node_t *node,
                              const ri_layout_part_t *parts)
{
    const ri_layout_node_t **children;
    size_t count = node->count;
    uint64_t *starts;
    int64_t *disps;
    size_t i;

    disps = layout_alloc(builder, count * sizeof(*disps));
    if (disps == NULL) {
        return 0;
    }
    for (i = 0; i < count; ++i) {
        disps[i] = parts[i].disp;
    }
    node->disps = disps;
    if (node->kind == RI_LAYOUT_BLOCKS) {
        node->unit = parts[0].size;
        return 1;
    }

    starts = layout_alloc(builder, (count + 1) * sizeof(*starts));
    if (starts == NULL) {
        return 0;
    }
    starts[0] = 0;
    for (i = 0; i < count; ++i) {
        starts[i + 1] = starts[i] + parts[i].size;
    }
    node->starts = starts;
    if (node->kind == RI_LAYOUT_RUNS) {
        return 1;
    }

    children = layout_alloc(builder, count * sizeof(*children));
    if (children == NULL) {
        return 0;
    }
    for (i = 0; i < count; ++i) {
        children[i] = parts[i].node;
    }
    node->children = children;
    return 1;
}

/* A list of two parts or more that nothing simpler describes. */
static ri_layout_part_t layout_list(ri_layout_builder_t *builder, ri_layout_part_t *parts,
                                    size_t count)
{
    ri_layout_part_t whole = {.disp = parts[0].disp};
    unsigned depth         = 0;
    ri_layout_node_t *node;
    size_t i;

    if (count > RI_LAYOUT_ENTRIES_MAX - builder->entries) {
        return layout_fail(builder);
    }
    builder->entries += count;
    for (i = 0; i < count; ++i) {
        depth = ri_max(depth, layout_depth(parts[i].node));
        if (__builtin_sub_overflow(parts[i].disp, whole.disp, &parts[i].disp)) {
            return layout_fail(builder);
        }
    }
    node = layout_node(builder, layout_list_kind(parts, count), depth + 1);
    if (node == NULL) {
        return layout_nothing;
    }
    node->count = count;
    if (!layout_list_sums(node, parts) || !layout_list_arrays(builder, node, parts)) {
        return layout_fail(builder);
    }
    whole.node = node;
    whole.size = node->size;
    return whole;
}

/* Describe parts that were put one behind the other by layout_append(). */
static ri_layout_part_t layout_join_parts(ri_layout_builder_t *builder,
                                          ri_layout_part_t *parts, size_t count)
{
    int64_t stride;

    if (count == 0) {
        return layout_nothing;
    }
    if (count == 1) {
        return parts[0];
    }
    return layout_is_regular(parts, count, &stride) ?
                   ri_layout_repeat(builder, parts[0], count, stride) :
                   layout_list(builder, parts, count);
}

ri_layout_part_t ri_layout_join(ri_layout_builder_t *builder, ri_layout_part_t *parts,
                                size_t count)
{
    size_t total            = 0;
    ri_layout_part_t *moved = parts;
    ri_layout_part_t whole;
    size_t i;

    for (i = 0; i < count; ++i) {
        total += layout_is_spliced(&parts[i]) ? parts[i].node->count : 1;
    }
    if (total > count) {
        moved = malloc(total * sizeof(*moved));
        if (moved == NULL) {
            return layout_fail(builder);
        }
    }
    whole = layout_join_parts(builder, moved,
                              layout_splice(builder, moved, parts, count));
    if (moved != parts) {
        free(moved);
    }
    return whole;
}

void ri_layout_begin(ri_layout_builder_t *builder)
{
    *builder = (ri_layout_builder_t){.blocks = NULL};
}

ri_layout_t *ri_layout_end(ri_layout_builder_t *builder, ri_layout_part_t root,
                           int64_t extent)
{
    ri_layout_stats_t stats = {.runs = 0};
    ri_layout_t *layout     = NULL;

    if (!builder->failed && ((root.size == 0) || layout_part_stats(&root, &stats))) {
        layout = malloc(sizeof(*layout));
    }
    if (layout == NULL) {
        layout_free(builder->blocks);
    } else {
        layout->root   = root;
        layout->size   = root.size;
        layout->extent = extent;
        layout->stats  = stats;
        layout->blocks = builder->blocks;
        layout->bytes  = builder->heap + ri_heap_block(sizeof(*layout));

        layout->is_peers = 0;
        atomic_store_explicit(&layout->wire_length, 0, memory_order_relaxed);
        atomic_store_explicit(&layout->wire_hash, 0, memory_order_relaxed);
        atomic_store_explicit(&layout->refs, 1, memory_order_relaxed);
    }
    ri_layout_begin(builder);
    return layout;
}

ri_layout_t *ri_layout_get(ri_layout_t *layout)
{
    atomic_fetch_add_explicit(&layout->refs, 1, memory_order_relaxed);
    return layout;
}

int ri_layout_count_for_peer(ri_layout_t *layout)
{
    size_t before = atomic_fetch_add_explicit(&layout_peers_bytes, layout->bytes,
                                              memory_order_relaxed);

    if (before + layout->bytes > ri_layout_peers_max) {
        atomic_fetch_sub_explicit(&layout_peers_bytes, layout->bytes,
                                  memory_order_relaxed);
        return 0;
    }
    layout->is_peers = 1;
    return 1;
}

size_t ri_layout_peers_bytes(void)
{
    return atomic_load_explicit(&layout_peers_bytes, memory_order_relaxed);
}

void ri_layout_put(ri_layout_t *layout)
{
    if ((layout != NULL) &&
        (atomic_fetch_sub_explicit(&layout->refs, 1, memory_order_acq_rel) == 1)) {
        if (layout->is_peers) {
            atomic_fetch_sub_explicit(&layout_peers_bytes, layout->bytes,
                                      memory_order_relaxed);
        }
        layout_free(layout->blocks);
        free(layout);
    }
}
