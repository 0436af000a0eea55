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

#include "tag_index.h"
#include "../core/request.h"

#define RI_MATCH_CLASSES 6

/* Where the payload of a message is that waits for its receive or for its turn. */
typedef enum ri_msg_kind {
    RI_MSG_COPY,    /* in msg->data */
    RI_MSG_AM_DATA, /* in a descriptor of UCP's, to be released to it */
    RI_MSG_AM_RNDV, /* at the sender, to be fetched by UCP */
    RI_MSG_RTS,     /* at the sender, to be read by a plane; msg->data says where */
    RI_MSG_PLACED,  /* in the receive's memory */
    RI_MSG_USED,    /* likewise, or on its way there */
    RI_MSG_SELF     /* in the buffer of a send of this worker */
} ri_msg_kind_t;

/* A message that waits: unexpected, or early. */
struct ri_msg {
    ri_tag_node_t nodes[RI_MATCH_CLASSES]; /* in the index of each class */
    ucs_list_link_t
            list; /* unexpected, in order; or in its stream's early or probed list */
    uint64_t tag;
    size_t length;       /* of the payload */
    size_t received;     /* of it, while pieces are missing */
    ri_stream_t *stream; /* that it came by; NULL for a self-send */
    uint32_t sn;
    uint32_t req_id; /* of the sender's synchronous request, else 0 */
    uint8_t kind;    /* ri_msg_kind_t */
    uint8_t wire_type;
    uint8_t queued;     /* among the unexpected */
    uint8_t size_class; /* of its own memory */
    union {
        void *desc; /* AM_DATA, AM_RNDV */
        ri_send_req_t
                *send; /* SELF; NULL: it was given up after a probe took the message */
    };
    const void *payload; /* COPY, RTS: data; AM_DATA: within desc */
    uint8_t data[];      /* COPY */
};

typedef struct ri_mask_class {
    uint64_t mask;
    uint64_t last_use; /* ri_match_t.serial when it was last asked for */
    unsigned index;    /* own place in ri_match_t.classes */
    ri_tag_index_t posted;
    ri_tag_index_t unexpected;
    ri_recv_req_t *waiters; /* as those of a receive, see ri_match_find_overlap() */
} ri_mask_class_t;

typedef struct ri_match {
    unsigned num_classes;
    ri_mask_class_t classes[RI_MATCH_CLASSES];
    uint64_t serial; /* counts receives and probes; orders receives */
    size_t num_posted;
    size_t num_listed;       /* posted receives in the list */
    ri_mask_class_t *latest; /* of the receive posted last; NULL: none or listed */
    ucs_list_link_t listed;
    size_t num_unexpected;
    ucs_list_link_t unexpected; /* all, oldest first */
} ri_match_t;

ucs_status_t ri_match_init(ri_match_t *match);

/** Free the indices; receives and messages are the caller's. */
void ri_match_cleanup(ri_match_t *match);

/** A class for a mask that has none yet; NULL if all are taken and in use. */
ri_mask_class_t *ri_match_class_new(ri_match_t *match, uint64_t mask);

/** @return The class of a mask, made if need be; NULL if it has none. */
static inline ri_mask_class_t *ri_match_class(ri_match_t *match, uint64_t mask)
{
    ri_mask_class_t *class = NULL;
    unsigned i;

    for (i = 0; i < match->num_classes; ++i) {
        if (match->classes[i].mask == mask) {
            class = &match->classes[i];
            break;
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

/** The search behind @ref ri_match_find_unexpected. */
ri_msg_t *ri_match_search_unexpected(ri_match_t *match, uint64_t tag, uint64_t mask,
                                     int remove);

/**
 * Find, and with @a remove take out, the oldest unexpected message for a receive or
 * probe.
 */
static inline ri_msg_t *ri_match_find_unexpected(ri_match_t *match, uint64_t tag,
                                                 uint64_t mask, int remove)
{
    ++match->serial;
    return (match->num_unexpected == 0) ?
                   NULL :
                   ri_match_search_unexpected(match, tag, mask, remove);
}

/** Add a message that found no receive. */
void ri_match_add_unexpected(ri_match_t *match, ri_msg_t *msg);

/** Take a message out. */
void ri_match_remove_unexpected(ri_match_t *match, ri_msg_t *msg);

/** Add a receive that found no message; its tag and mask are set. */
static inline void ri_match_post(ri_match_t *match, ri_recv_req_t *recv)
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
    recv->waiters = NULL;
    recv->early   = 1;
    ri_req_set_flags(&recv->super, RI_REQ_POSTED);
}

/** Take a posted receive out, to cancel it or because it was matched. */
static inline void ri_match_unpost(ri_match_t *match, ri_recv_req_t *recv)
{
    if (ri_likely(recv->mask_class != NULL)) {
        ri_tag_index_remove(&recv->mask_class->posted, &recv->node);
    } else {
        ucs_list_del(&recv->list);
        --match->num_listed;
    }
    --match->num_posted;
    ri_req_clear_flags(&recv->super, RI_REQ_POSTED);
}

/** Find the oldest receive that matches a message, and whose serial is @a from or later. */
ri_recv_req_t *ri_match_peek_posted(ri_match_t *match, uint64_t tag, uint64_t from);

/**
 * Look for an older posted receive, of another mask, that could take a message that a posted
 * one could take.
 *
 * @return NULL: there is none. Else the waiters of that receive, where the other one may wait
 *         until it leaves; or those of its class, if that is too large to look through, until
 *         @ref ri_match_is_searchable.
 */
ri_recv_req_t **ri_match_find_overlap(ri_match_t *match, const ri_recv_req_t *recv);

/** @return Whether all posted receives of a class can be looked at. */
int ri_match_is_searchable(const ri_mask_class_t *class);

/** The search behind @ref ri_match_find_posted, through all classes and the list. */
ri_recv_req_t *ri_match_search_posted(ri_match_t *match, uint64_t tag);

/** Find and take out the oldest receive that matches a message. */
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
