/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tag_index.h"

#include <stdlib.h>

#define TAG_INDEX_MIN_LOG2 6

ucs_status_t ri_tag_index_init(ri_tag_index_t *index)
{
    index->buckets = calloc((size_t)1 << TAG_INDEX_MIN_LOG2, sizeof(*index->buckets));
    index->shift   = 64 - TAG_INDEX_MIN_LOG2;
    index->keys    = 0;
    index->count   = 0;
    return (index->buckets == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void ri_tag_index_cleanup(ri_tag_index_t *index)
{
    free(index->buckets);
    index->buckets = NULL;
}

void ri_tag_index_grow(ri_tag_index_t *index)
{
    ri_tag_index_t grown = *index;
    size_t old_buckets   = (size_t)1 << (64 - index->shift);
    ri_tag_node_t **bucket;
    ri_tag_node_t *node, *chain;
    size_t i;

    grown.shift   = index->shift - 1;
    grown.buckets = calloc(old_buckets * 2, sizeof(*grown.buckets));
    if (grown.buckets == NULL) {
        return;
    }

    for (i = 0; i < old_buckets; ++i) {
        for (node = index->buckets[i]; node != NULL; node = chain) {
            chain       = node->chain;
            bucket      = ri_tag_index_bucket(&grown, node->key);
            node->chain = *bucket;
            *bucket     = node;
        }
    }

    free(index->buckets);
    *index = grown;
}
