/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Insertions and removals walk down and balance on the way back up.
 */
#include "interval_tree.h"

#include <assert.h>

static int interval_height(const ri_interval_t *node)
{
    return (node == NULL) ? 0 : node->height;
}

/* Compute what a node knows of its children. */
static void interval_update(ri_interval_t *node)
{
    int i;

    node->height  = 1 + ri_max(interval_height(node->child[0]),
                               interval_height(node->child[1]));
    node->max_end = node->end;
    for (i = 0; i < 2; ++i) {
        if (node->child[i] != NULL) {
            node->max_end = ri_max(node->max_end, node->child[i]->max_end);
        }
    }
}

/* Put the child of @a side in the place of @a node. @return The child. */
static ri_interval_t *interval_lift(ri_interval_t *node, int side)
{
    ri_interval_t *child = node->child[side];

    node->child[side]   = child->child[!side];
    child->child[!side] = node;
    interval_update(node);
    interval_update(child);
    return child;
}

/* After one side of @a node may have become higher or lower by one. @return The node that
 * is in its place now. */
static ri_interval_t *interval_balance(ri_interval_t *node)
{
    int lean = interval_height(node->child[1]) - interval_height(node->child[0]);
    int side = lean > 0;
    ri_interval_t *child;

    if ((lean >= -1) && (lean <= 1)) {
        interval_update(node);
        return node;
    }

    child = node->child[side];
    if (interval_height(child->child[!side]) > interval_height(child->child[side])) {
        node->child[side] = interval_lift(child, !side);
    }
    return interval_lift(node, side);
}

/* Intervals of one start are in the order of their addresses. */
static int interval_is_behind(const ri_interval_t *interval, const ri_interval_t *node)
{
    return (interval->start != node->start) ? (interval->start > node->start) :
                                              (interval > node);
}

static ri_interval_t *interval_insert_below(ri_interval_t *node, ri_interval_t *interval)
{
    int side;

    if (node == NULL) {
        return interval;
    }
    side              = interval_is_behind(interval, node);
    node->child[side] = interval_insert_below(node->child[side], interval);
    return interval_balance(node);
}

void ri_interval_insert(ri_interval_tree_t *tree, ri_interval_t *interval)
{
    assert(interval->start < interval->end);
    interval->child[0] = NULL;
    interval->child[1] = NULL;
    interval_update(interval);
    tree->root = interval_insert_below(tree->root, interval);
}

/* Take the first interval out. @return What is left below @a node. */
static ri_interval_t *interval_take_first(ri_interval_t *node, ri_interval_t **first_p)
{
    if (node->child[0] == NULL) {
        *first_p = node;
        return node->child[1];
    }
    node->child[0] = interval_take_first(node->child[0], first_p);
    return interval_balance(node);
}

static ri_interval_t *interval_remove_below(ri_interval_t *node, ri_interval_t *interval)
{
    ri_interval_t *next;
    int side;

    assert(node != NULL);
    if (node != interval) {
        side              = interval_is_behind(interval, node);
        node->child[side] = interval_remove_below(node->child[side], interval);
        return interval_balance(node);
    }
    if (node->child[1] == NULL) {
        return node->child[0];
    }
    node->child[1] = interval_take_first(node->child[1], &next);
    next->child[0] = node->child[0];
    next->child[1] = node->child[1];
    return interval_balance(next);
}

void ri_interval_remove(ri_interval_tree_t *tree, ri_interval_t *interval)
{
    tree->root = interval_remove_below(tree->root, interval);
}

static ri_interval_t *interval_find_below(ri_interval_t *node, uintptr_t start_max,
                                          uintptr_t end_min,
                                          ri_interval_accept_func_t accept, void *arg)
{
    ri_interval_t *found;

    while ((node != NULL) && (node->max_end >= end_min)) {
        if (node->start > start_max) {
            node = node->child[0];
            continue;
        }
        found = interval_find_below(node->child[0], start_max, end_min, accept, arg);
        if (found != NULL) {
            return found;
        }
        if ((node->end >= end_min) && ((accept == NULL) || accept(node, arg))) {
            return node;
        }
        node = node->child[1];
    }
    return NULL;
}

ri_interval_t *ri_interval_find(const ri_interval_tree_t *tree, uintptr_t start_max,
                                uintptr_t end_min, ri_interval_accept_func_t accept,
                                void *arg)
{
    return interval_find_below(tree->root, start_max, end_min, accept, arg);
}
