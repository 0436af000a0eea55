/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The index of tags has the receives of a tag and mask as a ring in the order of posting, by which
 * a receive finds the one before it and the one behind it.
 */
#include "rtr_deep.h"
#include "rtr_queue.h"
#include "rtr_state.h"

/* Number of tags at once that need no search, at least. */
#define DEEP_TAGS 4

static int deep_is_waiting(const ri_recv_req_t *recv)
{
    return (recv->rtr.state == RI_RTR_QUEUED) &&
           (ri_recv_awaits(recv) == &recv->super.worker->rtr.deep);
}

int ri_rtr_deep_is_behind(const ri_recv_req_t *recv)
{
    const ri_recv_req_t *previous = ri_container_of(recv->node.prev, ri_recv_req_t, node);

    return (previous->serial < recv->serial) && deep_is_waiting(previous);
}

void ri_rtr_deep_await(ri_recv_req_t *recv)
{
    recv->rtr.first = 0;
    ri_rtr_queue_await(recv, &recv->super.worker->rtr.deep);
}

/* The first receive with a full count ahead of those that @a left has left, if that is known
 * without a search: it is marked, near the head of the ring. */
static ri_recv_req_t *deep_find_marked(const ri_worker_t *worker,
                                       const ri_recv_req_t *left)
{
    ri_recv_req_t *recv = worker->rtr.deep;
    int i;

    for (i = 0; i < DEEP_TAGS; ++i) {
        if (recv->rtr.first && (recv->mask_class == left->mask_class) &&
            (recv->node.key == left->node.key)) {
            return recv;
        }
        recv = ucs_container_of(recv->list.next, ri_recv_req_t, list);
    }
    return NULL;
}

/* Find that receive by a search. NULL: fewer are posted. */
static ri_recv_req_t *deep_find_first(const ri_recv_req_t *left)
{
    const ri_tag_node_t *head = ri_tag_index_find(&left->mask_class->posted,
                                                  left->node.key);
    ri_tag_node_t *node       = (ri_tag_node_t *)head;
    int i;

    for (i = 1; (node != NULL) && (i < RI_RTR_DEPTH); ++i) {
        node = (node->next == head) ? NULL : node->next;
    }
    return (node != NULL) ? ri_container_of(node, ri_recv_req_t, node) : NULL;
}

/* A receive is the first one now with a full count ahead. */
static void deep_mark(ri_worker_t *worker, ri_recv_req_t *recv)
{
    if (worker->rtr.deep != recv) {
        ucs_list_del(&recv->list);
        ucs_list_add_tail(&worker->rtr.deep->list, &recv->list);
        worker->rtr.deep = recv;
    }
    recv->rtr.first = 1;
}

void ri_rtr_deep_release(ri_worker_t *worker, const ri_recv_req_t *left)
{
    ri_recv_req_t *recv = deep_find_marked(worker, left);
    ri_recv_req_t *next;

    if (recv == NULL) {
        recv = deep_find_first(left);
    } else if (left->serial > recv->serial) {
        return;
    }
    if (recv == NULL) {
        return;
    }
    /* All before it are no news, or were woken by it. */
    next = ri_container_of(recv->node.next, ri_recv_req_t, node);
    if ((next->serial > recv->serial) && deep_is_waiting(next)) {
        deep_mark(worker, next);
    }
    if (deep_is_waiting(recv)) {
        ri_rtr_queue_again(recv);
    }
}
