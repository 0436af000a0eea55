/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Free messages are kept in a list for each size class. How a message is given up depends on its
 * kind (msg_kind.h).
 */
#include "msg.h"
#include "types/msg_kind.h"
#include "../../ucs/stock.h"

#include <stdlib.h>

/* Data bytes of each class; larger messages are allocated and freed one by one. */
static const size_t msg_class_size[RI_MSG_CLASSES] = {64,    1024,  8192,
                                                      16384, 32768, 65536};

/* Free messages kept per class: a burst of unexpected messages is not held for ever. A message of a
 * large ring that malloc has given back to the system takes several times as long as its copy. */
static const size_t msg_class_keep[RI_MSG_CLASSES] = {8192, 512, 64, 64, 64, 64};

ri_msg_t *ri_msg_alloc(ri_worker_t *worker, size_t length)
{
    ri_msg_pool_t *pool = &worker->msgs;
    ri_msg_t *msg;
    unsigned class;

    for (class = 0; (class < RI_MSG_CLASSES) && (length > msg_class_size[class]);
         ++class) {}

    if (class == RI_MSG_CLASSES) {
        msg = malloc(sizeof(*msg) + length);
    } else if (pool->free[class] != NULL) {
        msg               = pool->free[class];
        pool->free[class] = (ri_msg_t *)msg->list.next;
        --pool->num_free[class];
    } else {
        msg = malloc(sizeof(*msg) + msg_class_size[class]);
    }
    if (msg != NULL) {
        msg->size_class = class;
    }
    return msg;
}

void ri_msg_free(ri_worker_t *worker, ri_msg_t *msg)
{
    ri_msg_pool_t *pool = &worker->msgs;
    unsigned class      = msg->size_class;

    if ((class == RI_MSG_CLASSES) || (pool->num_free[class] == msg_class_keep[class])) {
        free(msg);
        return;
    }
    msg->list.next    = (ucs_list_link_t *)pool->free[class];
    pool->free[class] = msg;
    ++pool->num_free[class];
}

void ri_msg_discard(ri_worker_t *worker, ri_msg_t *msg)
{
    const ri_msg_ops_t *ops = ri_msg_ops[msg->kind];

    if (ops->is_held) {
        ri_msg_unhold(worker, msg->stream, msg->length);
    }
    if (ops->has_desc) {
        ri_stock.am_data_release(worker->stock, msg->desc);
    }
    if (ops->discard != NULL) {
        ops->discard(msg);
    }
    ri_msg_free(worker, msg);
}

void ri_msg_pool_cleanup(ri_worker_t *worker)
{
    unsigned class;

    for (class = 0; class < RI_MSG_CLASSES; ++class) {
        ri_msg_t *msg = worker->msgs.free[class];

        while (msg != NULL) {
            ri_msg_t *next = (ri_msg_t *)msg->list.next;

            free(msg);
            msg = next;
        }
        worker->msgs.free[class]     = NULL;
        worker->msgs.num_free[class] = 0;
    }
}
