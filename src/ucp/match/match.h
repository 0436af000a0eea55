/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tag matching: posted receives and unexpected messages of one worker.
 *
 * A receive names a tag and a mask, a message a tag; they match if the tags agree in the
 * bits of the mask. A message takes the oldest receive that matches, a receive the oldest
 * message.
 *
 * Applications use few different masks (an MPI about four), each with many tags. So there
 * is a class per mask, up to RI_MATCH_CLASSES of them, and within a class everything is
 * found by the masked tag in a hash: posted receives in one index, and every unexpected
 * message in one index of each class. An arriving message looks once into each class that
 * has receives posted and takes the oldest of what it finds there; a receive looks into
 * the one index of its class. Both are O(1), whatever the number of tags. Receives whose
 * mask found no class (all are taken and in use) stand in a list that is searched.
 *
 * Rejected: one hash by the full tag (the exact masks of MPICH leave two bits open, so
 * nothing would ever be found by it), and lists per sender (the tag's layout is the
 * application's).
 */
#ifndef RI_MATCH_H
#define RI_MATCH_H

#include "../core/types/match_types.h"
#include "../core/types/request.h"

/** Set up an index without receives and messages. ri_match_cleanup() frees it. */
void ri_match_init(ri_match_t *match);

/** Free the indices; receives and messages are the caller's. */
void ri_match_cleanup(ri_match_t *match);

/** Make a class for a mask that has none yet. It may take the place of one without posted receives
 * that was not used for long. @return NULL if all are taken and in use, or there is no memory. */
ri_mask_class_t *ri_match_class_new(ri_match_t *match, uint64_t mask);

/** @return The class of a mask, made if need be as ri_match_class_new() does; NULL if it has
 * none. */
static inline ri_mask_class_t *ri_match_class(ri_match_t *match, uint64_t mask)
{
    ri_mask_class_t *class = match->latest; /* most times it is that one again */
    unsigned i;

    if (ri_unlikely((class == NULL) || (class->mask != mask))) {
        class = NULL;
        for (i = 0; i < match->num_classes; ++i) {
            if (match->classes[i].mask == mask) {
                class = &match->classes[i];
                break;
            }
        }
    }
    if (ri_unlikely(class == NULL)) {
        class = ri_match_class_new(match, mask);
        if (class == NULL) {
            return NULL;
        }
    }
    class->last_use = match->serial;
    return class;
}

/** The search behind @ref ri_match_find_unexpected. It may make a class for the mask. @return As
 * ri_match_find_unexpected(). */
ri_msg_t *ri_match_search_unexpected(ri_match_t *match, uint64_t tag, uint64_t mask,
                                     int remove);

/**
 * Find, and with @a remove take out, the oldest unexpected message for a receive or probe. Each
 * receive does this before it is posted, as its place in the order of receives comes from here.
 *
 * @return NULL if there is none.
 */
static inline ri_msg_t *ri_match_find_unexpected(ri_match_t *match, uint64_t tag,
                                                 uint64_t mask, int remove)
{
    ++match->serial;
    return (match->num_unexpected == 0) ?
                   NULL :
                   ri_match_search_unexpected(match, tag, mask, remove);
}

/** Add a message that found no receive, behind all others. Its tag is set, and it is in no list. It
 * is not freed here: whoever takes it out does so. */
void ri_match_add_unexpected(ri_match_t *match, ri_msg_t *msg);

/** Take an unexpected message out; it is the caller's then. */
void ri_match_remove_unexpected(ri_match_t *match, ri_msg_t *msg);

/** Add a receive that found no message; its tag and mask are set, and @ref ri_match_find_unexpected
 * has just said for it that there is none. */
static ri_inline void ri_match_post(ri_match_t *match, ri_recv_req_t *recv)
{
    recv->serial     = match->serial;
    recv->mask_class = ri_match_class(match, recv->mask);
    match->latest    = recv->mask_class;
    if (ri_likely(recv->mask_class != NULL)) {
        ri_tag_index_append(&recv->mask_class->posted, &recv->node,
                            recv->tag & recv->mask);
    } else {
        ucs_list_add_tail(&match->listed, &recv->list);
        ++match->num_listed;
    }
    ++match->num_posted;
    recv->waiters   = NULL;
    recv->rtr.early = 1;
    ri_req_set_flags(&recv->super, RI_REQ_POSTED);
}

/** Take a posted receive out, to cancel it or because it was matched. Those that wait among its
 * waiters are the caller's to look after. */
static inline void ri_match_unpost(ri_match_t *match, ri_recv_req_t *recv)
{
    if (ri_likely(recv->mask_class != NULL)) {
        ri_tag_index_remove(&recv->mask_class->posted, &recv->node);
    } else {
        assert(recv->rtr.state == RI_RTR_NONE); /* its link is that of the list */
        ucs_list_del(&recv->list);
        --match->num_listed;
    }
    --match->num_posted;
    ri_req_clear_flags(&recv->super, RI_REQ_POSTED);
}

/** @return The oldest posted receive that matches a message, and whose serial is @a from or later;
 * NULL if there is none. It stays posted. */
ri_recv_req_t *ri_match_peek_posted(ri_match_t *match, uint64_t tag, uint64_t from);

/**
 * Look for an older posted receive, of another mask or without a class, that could take a message
 * that @a recv could take, too. @a recv is posted.
 *
 * @return NULL: there is none. Else the waiters of that receive, where @a recv may wait until it
 *         leaves; or those of its class, if that is too large to look through, until @ref
 *         ri_match_is_searchable.
 */
ri_recv_req_t **ri_match_find_overlap(ri_match_t *match, const ri_recv_req_t *recv);

/** @return Whether a class has so few posted receives that all of them can be looked at one by one.
 * */
int ri_match_is_searchable(const ri_mask_class_t *class);

/** The search behind @ref ri_match_find_posted, through all classes and the list. @return As
 * ri_match_find_posted(). */
ri_recv_req_t *ri_match_search_posted(ri_match_t *match, uint64_t tag);

/** Find and take out the oldest receive that matches a message. Only if no receive of that tag is
 * promised (order/promises.h). @return NULL if there is none. */
static inline ri_recv_req_t *ri_match_find_posted(ri_match_t *match, uint64_t tag)
{
    ri_mask_class_t *class = match->latest;
    ri_tag_node_t *node;
    ri_recv_req_t *recv;

    if (match->num_posted == 0) {
        return NULL;
    }
    if (ri_unlikely((class == NULL) || (class->posted.count != match->num_posted))) {
        return ri_match_search_posted(match, tag);
    }

    /* All posted receives have the mask of the latest one. */
    node = ri_tag_index_pop(&class->posted, tag & class->mask);
    if (node == NULL) {
        return NULL;
    }
    recv = ri_container_of(node, ri_recv_req_t, node);
    --match->num_posted;
    ri_req_clear_flags(&recv->super, RI_REQ_POSTED);
    return recv;
}

#endif
