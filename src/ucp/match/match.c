/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Classes by mask are found or recycled first. Then searches and changes of the two queues, and
 * whether a receive may be found by its tag alone.
 */
#include "match.h"
#include "../core/types/module.h"
#include "../core/worker.h"

/* Operations during which a class has to go unasked for until it may give way. */
#define MATCH_CLASS_IDLE 1024

/* Receives of another mask that are looked at for whether they overlap. */
#define MATCH_SCAN_MAX 64

void ri_match_init(ri_match_t *match)
{
    match->num_classes    = 0;
    match->serial         = 0;
    match->num_posted     = 0;
    match->num_listed     = 0;
    match->latest         = NULL;
    match->num_unexpected = 0;
    ucs_list_head_init(&match->listed);
    ucs_list_head_init(&match->unexpected);
}

void ri_match_cleanup(ri_match_t *match)
{
    unsigned i;

    for (i = 0; i < match->num_classes; ++i) {
        ri_tag_index_cleanup(&match->classes[i].posted);
        ri_tag_index_cleanup(&match->classes[i].unexpected);
    }
    match->num_classes = 0;
}

/* Make @a class the one of @a mask, with all unexpected messages indexed by it. Its
 * indices exist and are empty. */
static void match_class_set(ri_match_t *match, ri_mask_class_t *class, uint64_t mask)
{
    ri_msg_t *msg;

    class->mask = mask;
    ucs_list_for_each(msg, &match->unexpected, list) {
        ri_tag_index_append(&class->unexpected, &msg->nodes[class->index],
                            msg->tag & mask);
    }
}

/* Give the class that was not used for longest to another mask, if it is idle. */
static ri_mask_class_t *match_class_recycle(ri_match_t *match, uint64_t mask)
{
    ri_mask_class_t *victim = NULL;
    ri_msg_t *msg;
    unsigned i;

    for (i = 0; i < match->num_classes; ++i) {
        ri_mask_class_t *class = &match->classes[i];

        if ((class->posted.count == 0) &&
            ((victim == NULL) || (class->last_use < victim->last_use))) {
            victim = class;
        }
    }
    if ((victim == NULL) || (match->serial - victim->last_use < MATCH_CLASS_IDLE)) {
        return NULL;
    }

    ucs_list_for_each(msg, &match->unexpected, list) {
        ri_tag_index_remove(&victim->unexpected, &msg->nodes[victim->index]);
    }
    match_class_set(match, victim, mask);
    return victim;
}

ri_mask_class_t *ri_match_class_new(ri_match_t *match, uint64_t mask)
{
    ri_mask_class_t *class;

    if (match->num_classes == RI_MATCH_CLASSES) {
        return match_class_recycle(match, mask);
    }

    class = &match->classes[match->num_classes];
    if (ri_tag_index_init(&class->posted) != UCS_OK) {
        return NULL;
    }
    if (ri_tag_index_init(&class->unexpected) != UCS_OK) {
        ri_tag_index_cleanup(&class->posted);
        return NULL;
    }

    class->index   = match->num_classes++;
    class->waiters = NULL;
    match_class_set(match, class, mask);
    return class;
}

ri_msg_t *ri_match_search_unexpected(ri_match_t *match, uint64_t tag, uint64_t mask,
                                     int remove)
{
    ri_mask_class_t *class;
    ri_tag_node_t *node;
    ri_msg_t *msg;

    class = ri_match_class(match, mask);
    if (ri_likely(class != NULL)) {
        node = ri_tag_index_find(&class->unexpected, tag & mask);
        msg  = (node == NULL) ? NULL :
                                ri_container_of(node - class->index, ri_msg_t, nodes);
    } else {
        msg = NULL;
        ucs_list_for_each(msg, &match->unexpected, list) {
            if (((msg->tag ^ tag) & mask) == 0) {
                break;
            }
        }
        if (&msg->list == &match->unexpected) {
            msg = NULL;
        }
    }

    if ((msg != NULL) && remove) {
        ri_match_remove_unexpected(match, msg);
    }
    return msg;
}

void ri_match_add_unexpected(ri_match_t *match, ri_msg_t *msg)
{
    unsigned i;

    for (i = 0; i < match->num_classes; ++i) {
        ri_mask_class_t *class = &match->classes[i];

        ri_tag_index_append(&class->unexpected, &msg->nodes[i], msg->tag & class->mask);
    }
    msg->queued = 1;
    ucs_list_add_tail(&match->unexpected, &msg->list);
    ++match->num_unexpected;
}

void ri_match_remove_unexpected(ri_match_t *match, ri_msg_t *msg)
{
    unsigned i;

    for (i = 0; i < match->num_classes; ++i) {
        ri_tag_index_remove(&match->classes[i].unexpected, &msg->nodes[i]);
    }
    msg->queued = 0;
    ucs_list_del(&msg->list);
    --match->num_unexpected;
}

/* The oldest receive of a class for a message, from a serial on. */
static ri_recv_req_t *match_class_peek(const ri_mask_class_t *class, uint64_t tag,
                                       uint64_t from)
{
    ri_tag_node_t *head = ri_tag_index_find(&class->posted, tag & class->mask);
    ri_tag_node_t *node = head;
    ri_recv_req_t *recv;

    if (head == NULL) {
        return NULL;
    }
    do {
        recv = ri_container_of(node, ri_recv_req_t, node);
        if (recv->serial >= from) {
            return recv;
        }
        node = node->next;
    } while (node != head);
    return NULL;
}

ri_recv_req_t *ri_match_peek_posted(ri_match_t *match, uint64_t tag, uint64_t from)
{
    ri_recv_req_t *best = NULL;
    ri_recv_req_t *recv;
    unsigned i;

    for (i = 0; i < match->num_classes; ++i) {
        if (match->classes[i].posted.count == 0) {
            continue;
        }
        recv = match_class_peek(&match->classes[i], tag, from);
        if ((recv != NULL) && ((best == NULL) || (recv->serial < best->serial))) {
            best = recv;
        }
    }

    if (ri_unlikely(match->num_listed != 0)) {
        ucs_list_for_each(recv, &match->listed, list) {
            if ((((recv->tag ^ tag) & recv->mask) == 0) && (recv->serial >= from)) {
                if ((best == NULL) || (recv->serial < best->serial)) {
                    best = recv;
                }
                break;
            }
        }
    }
    return best;
}

ri_recv_req_t *ri_match_search_posted(ri_match_t *match, uint64_t tag)
{
    ri_recv_req_t *recv = ri_match_peek_posted(match, tag, 0);

    if (recv != NULL) {
        ri_match_unpost(match, recv);
    }
    return recv;
}

/* Whether a receive is older than another one, and both fit some message. */
static int match_overlaps(const ri_recv_req_t *older, const ri_recv_req_t *recv)
{
    return (older->serial < recv->serial) &&
           (((older->tag ^ recv->tag) & older->mask & recv->mask) == 0);
}

int ri_match_is_searchable(const ri_mask_class_t *class)
{
    size_t buckets = (size_t)1 << (64 - class->posted.shift);

    return (class->posted.count == 0) ||
           ((buckets <= MATCH_SCAN_MAX) && (class->posted.count <= MATCH_SCAN_MAX));
}

/* Look at all receives of a class. */
static ri_recv_req_t **match_class_overlap(ri_mask_class_t *class,
                                           const ri_recv_req_t *recv)
{
    size_t buckets = (size_t)1 << (64 - class->posted.shift);
    ri_recv_req_t *older;
    ri_tag_node_t *head;
    size_t i;

    if (!ri_match_is_searchable(class)) {
        return &class->waiters;
    }
    /* The oldest of each tag will do. */
    for (i = 0; i < buckets; ++i) {
        for (head = class->posted.buckets[i]; head != NULL; head = head->chain) {
            older = ri_container_of(head, ri_recv_req_t, node);
            if (match_overlaps(older, recv)) {
                return &older->waiters;
            }
        }
    }
    return NULL;
}

/* Look at those of a class whose mask has no bit that the receive's has not: all that overlap
 * have one key. */
static ri_recv_req_t **match_key_overlap(const ri_mask_class_t *class,
                                         const ri_recv_req_t *recv)
{
    ri_tag_node_t *head = ri_tag_index_find(&class->posted, recv->tag & class->mask);
    ri_recv_req_t *older;

    if (head == NULL) {
        return NULL;
    }
    older = ri_container_of(head, ri_recv_req_t, node);
    return match_overlaps(older, recv) ? &older->waiters : NULL;
}

ri_recv_req_t **ri_match_find_overlap(ri_match_t *match, const ri_recv_req_t *recv)
{
    ri_recv_req_t **waiters;
    ri_recv_req_t *listed;
    unsigned i;

    for (i = 0; i < match->num_classes; ++i) {
        ri_mask_class_t *class = &match->classes[i];

        if ((class->posted.count == 0) || (class == recv->mask_class)) {
            continue;
        }
        waiters = ((class->mask & ~recv->mask) != 0) ? match_class_overlap(class, recv) :
                                                       match_key_overlap(class, recv);
        if (waiters != NULL) {
            return waiters;
        }
    }

    ucs_list_for_each(listed, &match->listed, list) {
        if (match_overlaps(listed, recv)) {
            return &listed->waiters;
        }
    }
    return NULL;
}

static ucs_status_t match_worker_made(ri_worker_t *worker)
{
    ri_match_init(&worker->match);
    return UCS_OK;
}

/* Nobody will receive what has come. */
static void match_worker_ends(ri_worker_t *worker)
{
    ri_msg_t *msg, *tmp;

    ucs_list_for_each_safe(msg, tmp, &worker->match.unexpected, list) {
        ri_match_remove_unexpected(&worker->match, msg);
        ri_msg_discard(worker, msg);
    }
}

static void match_worker_freed(ri_worker_t *worker)
{
    ri_match_cleanup(&worker->match);
}

static int match_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return (need == RI_STREAM_NEED_ITSELF) && (stream->num_msgs > 0);
}

const ri_module_t ri_module_match = {.name             = "match",
                                     .stream_is_needed = match_stream_is_needed,
                                     .worker_made      = match_worker_made,
                                     .worker_ends      = match_worker_ends,
                                     .worker_freed     = match_worker_freed};
