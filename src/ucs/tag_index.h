/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash from 64-bit keys to queues of nodes: first in, first out for each key, any node
 * removable, all in O(1) however many keys and nodes there are. Nodes are embedded in
 * what they index; nothing is allocated but the bucket array.
 *
 * The oldest node of each key is its head: heads of one bucket form a chain, and the
 * nodes of one key a ring, in which the head's predecessor is the youngest.
 */
#ifndef RI_TAG_INDEX_H
#define RI_TAG_INDEX_H

#include "base.h"

typedef struct ri_tag_node {
    struct ri_tag_node *next; /* younger node of the key; of the youngest: the head */
    struct ri_tag_node *prev;
    struct ri_tag_node *chain; /* heads only: next head of the bucket */
    uint64_t key;
} ri_tag_node_t;

typedef struct ri_tag_index {
    ri_tag_node_t **buckets;
    unsigned shift; /* 64 - log2(buckets) */
    size_t keys;    /* different keys: heads */
    size_t count;   /* nodes */
} ri_tag_index_t;

/** Begin with an empty index. @return UCS_OK or UCS_ERR_NO_MEMORY: it is not to be used then. */
ucs_status_t ri_tag_index_init(ri_tag_index_t *index);

/** Free the memory of the index itself; nodes belong to who has put them in. */
void ri_tag_index_cleanup(ri_tag_index_t *index);

/** Double the buckets; without memory for more, the chains just get longer. */
void ri_tag_index_grow(ri_tag_index_t *index);

/** @return The list of heads among which @a key is, if it is in the index. */
static inline ri_tag_node_t **ri_tag_index_bucket(const ri_tag_index_t *index,
                                                  uint64_t key)
{
    return &index->buckets[(key * 0x9e3779b97f4a7c15ul) >> index->shift];
}

/** @return The oldest node of @a key, or NULL. */
static inline ri_tag_node_t *ri_tag_index_find(const ri_tag_index_t *index, uint64_t key)
{
    ri_tag_node_t *node = *ri_tag_index_bucket(index, key);

    while ((node != NULL) && (node->key != key)) {
        node = node->chain;
    }
    return node;
}

/** Add @a node, which is in no index, as the youngest of @a key. It stays the caller's, and has to
 * be there until it is removed. */
static inline void ri_tag_index_append(ri_tag_index_t *index, ri_tag_node_t *node,
                                       uint64_t key)
{
    ri_tag_node_t **bucket = ri_tag_index_bucket(index, key);
    ri_tag_node_t *head    = *bucket;

    while ((head != NULL) && (head->key != key)) {
        head = head->chain;
    }

    node->key = key;
    ++index->count;
    if (head != NULL) {
        node->next       = head;
        node->prev       = head->prev;
        head->prev->next = node;
        head->prev       = node;
        return;
    }

    node->next  = node;
    node->prev  = node;
    node->chain = *bucket;
    *bucket     = node;
    if (ri_unlikely((++index->keys >> (64 - index->shift)) != 0)) {
        ri_tag_index_grow(index);
    }
}

/** Take out the oldest node of @a key. @return It, or NULL if there is none. */
static inline ri_tag_node_t *ri_tag_index_pop(ri_tag_index_t *index, uint64_t key)
{
    ri_tag_node_t **link = ri_tag_index_bucket(index, key);
    ri_tag_node_t *node;

    while (((node = *link) != NULL) && (node->key != key)) {
        link = &node->chain;
    }
    if (node == NULL) {
        return NULL;
    }

    --index->count;
    if (ri_likely(node->next == node)) {
        *link = node->chain;
        --index->keys;
    } else {
        node->next->chain = node->chain;
        node->next->prev  = node->prev;
        node->prev->next  = node->next;
        *link             = node->next;
    }
    return node;
}

/** Take @a node, which is in the index, out, wherever it stands. */
static inline void ri_tag_index_remove(ri_tag_index_t *index, ri_tag_node_t *node)
{
    ri_tag_node_t **link = ri_tag_index_bucket(index, node->key);

    /* Find the link to the head of the node's key; it is the node itself, most times. */
    while ((*link)->key != node->key) {
        link = &(*link)->chain;
    }

    --index->count;
    if (*link == node) {
        if (node->next == node) {
            *link = node->chain;
            --index->keys;
            return;
        }
        node->next->chain = node->chain;
        *link             = node->next;
    }
    node->prev->next = node->next;
    node->next->prev = node->prev;
}

#endif
