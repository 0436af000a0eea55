/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of intervals that may overlap, kept in the structures that they belong to.
 *
 * It is a balanced tree (AVL) by the start of the intervals; each node knows the greatest
 * end below it. Nothing is ever allocated, so that it can be changed where memory must not
 * be, and calls are nested no deeper than the tree is high.
 */
#ifndef RI_INTERVAL_TREE_H
#define RI_INTERVAL_TREE_H

#include "base.h"

typedef struct ri_interval ri_interval_t;

struct ri_interval {
    uintptr_t start; /* while the interval is in a tree, start and end do not change */
    uintptr_t end;   /* the first address behind the interval; greater than start */

    /* Of the tree: */
    ri_interval_t *child[2]; /* those that start earlier, and later */
    uintptr_t max_end;       /* the greatest end of this one and all below it */
    int height;
};

/* All bits 0: an empty one. */
typedef struct ri_interval_tree {
    ri_interval_t *root;
} ri_interval_tree_t;

/** Whether an interval is one that is looked for. */
typedef int (*ri_interval_accept_func_t)(const ri_interval_t *interval, void *arg);

/** Add @a interval, whose start and end are set, and which is in no tree. */
void ri_interval_insert(ri_interval_tree_t *tree, ri_interval_t *interval);

/** Remove @a interval, which is in the tree. */
void ri_interval_remove(ri_interval_tree_t *tree, ri_interval_t *interval);

/**
 * Find the interval with the least start among those that start at @a start_max or earlier,
 * end at @a end_min or later, and are accepted.
 *
 * @param accept  Called in the order of starts, must not change the tree. NULL: all are.
 *
 * @return The interval or NULL.
 */
ri_interval_t *ri_interval_find(const ri_interval_tree_t *tree, uintptr_t start_max,
                                uintptr_t end_min, ri_interval_accept_func_t accept,
                                void *arg);

/** @return An accepted interval that has all of @a start to @a end (not included), the one with the
 * least start; or NULL. */
static inline ri_interval_t *ri_interval_covering(const ri_interval_tree_t *tree,
                                                  uintptr_t start, uintptr_t end,
                                                  ri_interval_accept_func_t accept,
                                                  void *arg)
{
    return ri_interval_find(tree, start, end, accept, arg);
}

/** @return An accepted interval that has anything of @a start to @a end (not included), the one
 * with the least start; or NULL. */
static inline ri_interval_t *ri_interval_overlapping(const ri_interval_tree_t *tree,
                                                     uintptr_t start, uintptr_t end,
                                                     ri_interval_accept_func_t accept,
                                                     void *arg)
{
    return (start < end) ? ri_interval_find(tree, end - 1, start + 1, accept, arg) : NULL;
}

#endif
