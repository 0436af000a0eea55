/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An operation becomes a chain of work requests, waits for room in the send queue, and ends when
 * the completion of its last one, or of a later one, is found.
 */
#include "rc_queue.h"
#include "rc_end.h"
#include "rc_notify.h"

#if HAVE_VERBS

#include "../../../ucs/log.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_POLL_BATCH 16

#define QUEUE_OPS_BLOCK 64

/* Bytes of a write from which on what is behind it waits for some time. */
#define QUEUE_LONG 4096

/* Memory of operations, which is kept until the plane is closed. */
typedef struct queue_op_block {
    struct queue_op_block *next;
    ri_rc_op_t ops[QUEUE_OPS_BLOCK];
} queue_op_block_t;

static ri_rc_op_t *queue_op_alloc(ri_rc_plane_t *plane)
{
    queue_op_block_t *block;
    int i;

    if (ri_unlikely(ucs_list_is_empty(&plane->free_ops))) {
        block = malloc(sizeof(*block));
        if (block == NULL) {
            return NULL;
        }
        block->next      = plane->op_blocks;
        plane->op_blocks = block;
        for (i = 0; i < QUEUE_OPS_BLOCK; ++i) {
            ucs_list_add_tail(&plane->free_ops, &block->ops[i].list);
        }
    }
    return ucs_list_extract_head(&plane->free_ops, ri_rc_op_t, list);
}

void ri_rc_queue_init(ri_rc_plane_t *plane)
{
    ucs_list_head_init(&plane->eps);
    ucs_list_head_init(&plane->waiting);
    ucs_list_head_init(&plane->failing);
    ucs_list_head_init(&plane->ended);
    ucs_list_head_init(&plane->free_ops);
}

void ri_rc_queue_cleanup(ri_rc_plane_t *plane)
{
    queue_op_block_t *block;

    assert(ucs_list_is_empty(&plane->eps) && ucs_list_is_empty(&plane->ended));
    while ((block = plane->op_blocks) != NULL) {
        plane->op_blocks = block->next;
        free(block);
    }
}

/* Describe up to @a max bytes of local memory by at most @a max_sge entries. @return Their
 * length. */
static uint32_t queue_build_sges(ri_rc_cursor_t *local, uint32_t max, unsigned max_sge,
                                 struct ibv_sge *sge, int *count_p)
{
    uint32_t total = 0;
    unsigned count = 0;
    uint64_t length;

    while ((total < max) && (count < max_sge)) {
        length = ri_min(local->segment->length - local->offset, max - total);
        if (length > 0) {
            sge[count].addr   = local->segment->address + local->offset;
            sge[count].length = length;
            sge[count].lkey   = *local->key;
            ++count;
            total += length;
            local->offset += length;
        }
        if (local->offset == local->segment->length) {
            ++local->segment;
            ++local->key;
            local->offset = 0;
        }
    }
    *count_p = count;
    return total;
}

/* Describe the next part of a transfer, of which something is left. */
static void queue_build_wr(const ri_rc_plane_t *plane, const ri_rc_ep_t *ep,
                           ri_rc_op_t *op, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
    ri_rc_cursor_t *remote = &op->remote;
    uint64_t length;

    while (remote->offset == remote->segment->length) {
        ++remote->segment;
        ++remote->key;
        remote->offset = 0;
    }
    length = ri_min(remote->segment->length - remote->offset, op->left);
    length = ri_min(length, plane->ib.device->max_message);

    wr->opcode              = op->opcode;
    wr->send_flags          = 0;
    wr->sg_list             = sge;
    wr->wr.rdma.remote_addr = remote->segment->address + remote->offset;
    wr->wr.rdma.rkey        = *remote->key;
    length = queue_build_sges(&op->local, length, plane->max_sge, sge, &wr->num_sge);
    if ((length <= ep->max_inline) && (op->opcode == IBV_WR_RDMA_WRITE)) {
        wr->send_flags = IBV_SEND_INLINE;
    }
    remote->offset += length;
    op->left -= length;
}

/* Describe what comes next on a way, as a chain of at most @a room. @return Its length. */
static unsigned queue_build_chain(ri_rc_plane_t *plane, ri_rc_ep_t *ep, unsigned room)
{
    unsigned max_silent = ri_max(plane->depth / 4, 1u);
    struct ibv_sge *sge = plane->sges;
    struct ibv_send_wr *wr;
    unsigned count;
    ri_rc_op_t *op;

    for (count = 0; (count < room) && (ep->next != NULL); ++count) {
        op = ep->next;
        wr = &plane->wrs[count];
        queue_build_wr(plane, ep, op, wr, sge);
        sge += wr->num_sge;
        wr->wr_id = ((uint64_t)ep->id << 32) | (uint32_t)(ep->posted + count + 1);
        wr->next  = wr + 1;
        if (op->left == 0) {
            if (op->notify) {
                wr->opcode   = IBV_WR_RDMA_WRITE_WITH_IMM;
                wr->imm_data = htobe32(op->immediate);
            }
            op->end = ep->posted + count + 1;
            wr->send_flags |= IBV_SEND_SIGNALED;
            ep->next = (op->list.next == &ep->ops) ?
                               NULL :
                               ucs_list_next(&op->list, ri_rc_op_t, list);
        }
        if ((++ep->unsignalled >= max_silent) || (count + 1 == room)) {
            wr->send_flags |= IBV_SEND_SIGNALED;
        }
        if (wr->send_flags & IBV_SEND_SIGNALED) {
            ep->unsignalled = 0;
        }
    }
    plane->wrs[count - 1].next = NULL;
    return count;
}

/* Post what waits, as far as there is room. If that fails some of it may have been posted,
 * and counts as if all had. @return 0 or an error number. */
static int queue_post(ri_rc_plane_t *plane, ri_rc_ep_t *ep)
{
    struct ibv_send_wr *bad = NULL;
    unsigned room, count;
    int ret = 0;

    while ((ep->next != NULL) && (ret == 0)) {
        room = ri_min(plane->depth - (ep->posted - ep->ended),
                      plane->capacity - plane->outstanding);
        room = ri_min(room, RI_RC_CHAIN_MAX);
        if (room == 0) {
            break;
        }
        count = queue_build_chain(plane, ep, room);
        ret   = ibv_post_send(ep->qp, plane->wrs, &bad);
        ep->posted += count;
        plane->outstanding += count;
    }
    if (ri_unlikely(ret != 0)) {
        ri_info("no more transfers by verbs with queue pair %u: posting failed: %s",
                ep->remote_qp, strerror(ret));
    }
    return ret;
}

/* How many segments from @a cursor on have @a length bytes. */
static size_t queue_count(const ri_rc_cursor_t *cursor, size_t length)
{
    uint64_t offset = cursor->offset;
    size_t count    = 0;

    while (length > 0) {
        length -= ri_min(cursor->segment[count].length - offset, length);
        offset = 0;
        ++count;
    }
    return count;
}

static void queue_keep_list(ri_rc_cursor_t *cursor, size_t count, ri_segment_t *segments,
                            uint32_t *keys)
{
    memcpy(segments, cursor->segment, count * sizeof(*segments));
    memcpy(keys, cursor->key, count * sizeof(*keys));
    cursor->segment = segments;
    cursor->key     = keys;
}

/* Copy the caller's lists, as far as they are still needed. */
static int queue_keep_lists(ri_rc_op_t *op)
{
    size_t num_local  = queue_count(&op->local, op->left);
    size_t num_remote = queue_count(&op->remote, op->left);
    size_t count      = num_local + num_remote;
    ri_segment_t *segments;
    uint32_t *keys;

    segments = malloc(count * (sizeof(*segments) + sizeof(*keys)));
    if (segments == NULL) {
        return 0;
    }
    keys      = (uint32_t *)(segments + count);
    op->lists = segments;
    queue_keep_list(&op->local, num_local, segments, keys);
    queue_keep_list(&op->remote, num_remote, segments + num_local, keys + num_local);
    return 1;
}

/* Go to @a offset. @return Whether the list has @a length bytes from there on. */
static int queue_cursor_init(ri_rc_cursor_t *cursor, const ri_segment_t *list,
                             const uint32_t *keys, size_t count, size_t offset,
                             size_t length)
{
    size_t i = 0;
    uint64_t part;

    while ((i < count) && (list[i].length <= offset)) {
        offset -= list[i++].length;
    }
    cursor->segment = list + i;
    cursor->key     = keys + i;
    cursor->offset  = offset;
    for (; (i < count) && (length > 0); ++i) {
        part = list[i].length - offset;
        length -= ri_min(part, length);
        offset = 0;
    }
    return length == 0;
}

/* Post what can be posted of an operation that was added, and keep the rest. */
static ucs_status_t queue_start_op(ri_rc_plane_t *plane, ri_rc_ep_t *ep, ri_rc_op_t *op)
{
    size_t length       = op->left;
    ucs_status_t status = UCS_OK;

    if (ep->next == NULL) {
        ep->next = op;
        status   = (queue_post(plane, ep) == 0) ? UCS_OK : UCS_ERR_UNREACHABLE;
    }
    if (ri_likely((status == UCS_OK) && (op->left == 0))) {
        return UCS_INPROGRESS;
    }
    if ((status == UCS_OK) && queue_keep_lists(op)) {
        if (ucs_list_is_empty(&ep->waiting)) {
            ucs_list_add_tail(&plane->waiting, &ep->waiting);
        }
        return UCS_INPROGRESS;
    }

    /* The caller is told at once, so nothing of it may go on. */
    ep->next = (ep->next == op) ? NULL : ep->next;
    if ((status == UCS_OK) && (op->left == length)) {
        status = UCS_ERR_NO_MEMORY;
    } else {
        status = UCS_ERR_UNREACHABLE;
    }
    ucs_list_del(&op->list);
    ep->super.long_writes -= op->is_long;
    ri_rc_op_free(plane, op);
    if (status == UCS_ERR_UNREACHABLE) {
        ri_rc_end_failed(ep, status);
    }
    return status;
}

ucs_status_t ri_rc_queue_start(ri_rc_ep_t *ep, const ri_transfer_t *transfer,
                               enum ibv_wr_opcode opcode)
{
    ri_rc_plane_t *plane = ri_rc_plane(ep);
    ri_rc_cursor_t local, remote;
    ri_rc_op_t *op;

    if (ri_unlikely(ep->state != RI_RC_CONNECTED)) {
        return UCS_ERR_UNREACHABLE;
    }
    if (transfer->length == 0) {
        return UCS_OK;
    }
    if (!queue_cursor_init(&local, transfer->local, transfer->local_keys,
                           transfer->num_local, transfer->offset, transfer->length) ||
        !queue_cursor_init(&remote, transfer->remote, transfer->remote_keys,
                           transfer->num_remote, transfer->offset, transfer->length)) {
        return UCS_ERR_INVALID_PARAM;
    }
    op = queue_op_alloc(plane);
    if (op == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    op->user      = transfer->op;
    op->ep        = ep;
    op->opcode    = opcode;
    op->local     = local;
    op->remote    = remote;
    op->left      = transfer->length;
    op->lists     = NULL;
    op->is_long   = (opcode == IBV_WR_RDMA_WRITE) && (transfer->length >= QUEUE_LONG);
    op->notify    = transfer->notify && (opcode == IBV_WR_RDMA_WRITE);
    op->immediate = transfer->immediate;
    ep->super.long_writes += op->is_long;
    ucs_list_add_tail(&ep->ops, &op->list);
    return queue_start_op(plane, ep, op);
}

/* All work requests up to @a number have ended well. */
static void queue_ep_advance(ri_rc_plane_t *plane, ri_rc_ep_t *ep, uint32_t number)
{
    ri_rc_op_t *op;

    plane->outstanding -= number - ep->ended;
    ep->ended = number;
    while (!ucs_list_is_empty(&ep->ops)) {
        op = ucs_list_head(&ep->ops, ri_rc_op_t, list);
        if ((op->left > 0) || ((int32_t)(number - op->end) < 0)) {
            break;
        }
        ri_rc_op_end(plane, op, UCS_OK);
    }
}

static ucs_status_t queue_wc_status(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_REM_ACCESS_ERR:
        return UCS_ERR_INVALID_ADDR;
    default:
        return UCS_ERR_UNREACHABLE;
    }
}

static void queue_completed(ri_rc_plane_t *plane, const struct ibv_wc *wc)
{
    ri_rc_ep_t *ep = ri_id_get(&plane->ib.ids, wc->wr_id >> 32);

    if ((ep == NULL) || (ep->qp == NULL)) {
        return; /* of those in plane->dead */
    }
    if (ri_likely(wc->status == IBV_WC_SUCCESS)) {
        queue_ep_advance(plane, ep, (uint32_t)wc->wr_id);
        return;
    }

    /* Operations before that of the work request have told their ends already. */
    ri_info("no more transfers by verbs with queue pair %u: %s (%d, vendor's %u)",
            ep->remote_qp, ri_verbs_status_string(wc->status), wc->status,
            wc->vendor_err);
    ri_rc_end_failed(ep, queue_wc_status(wc->status));
}

/* @return Whether anything has ended, so that there may be room. */
static int queue_poll(ri_rc_plane_t *plane)
{
    struct ibv_wc wcs[QUEUE_POLL_BATCH];
    int any = 0;
    unsigned dead;
    int i, count;

    do {
        dead  = plane->dead;
        count = ibv_poll_cq(plane->cq, QUEUE_POLL_BATCH, wcs);
        if (ri_unlikely(count < 0)) {
            ri_rc_end_all(plane, "the completion queue cannot be read");
            return 0;
        }
        for (i = 0; i < count; ++i) {
            queue_completed(plane, &wcs[i]);
        }
        any |= count > 0;
    } while (count == QUEUE_POLL_BATCH);

    /* The queue was empty after these were gone, so that they have no completions left. */
    plane->dead -= dead;
    plane->outstanding -= dead;
    return any || (dead > 0);
}

/* Post what waited for room, each way once. */
static void queue_go_on(ri_rc_plane_t *plane)
{
    ucs_list_link_t now;
    ri_rc_ep_t *ep;

    ucs_list_head_init(&now);
    ucs_list_splice_tail(&now, &plane->waiting);
    ucs_list_head_init(&plane->waiting);
    while (!ucs_list_is_empty(&now)) {
        ep = ucs_list_head(&now, ri_rc_ep_t, waiting);
        ri_rc_ep_stop_waiting(ep);
        if (queue_post(plane, ep) != 0) {
            ri_rc_end_failed(ep, UCS_ERR_UNREACHABLE);
        } else if (ep->next != NULL) {
            ucs_list_add_tail(&plane->waiting, &ep->waiting);
        }
    }
}

/* Take what receives tell. @return How many have. */
static unsigned queue_take_notifications(ri_rc_plane_t *plane)
{
    unsigned count = 0;

    if (ri_unlikely(plane->ib.is_broken)) {
        return 0;
    }
    if (ri_unlikely(!ri_rc_notify_poll(plane, &count))) {
        ri_rc_end_all(plane, "the queue of receives cannot be read");
    }
    ri_rc_end_failing(plane);
    return count;
}

unsigned ri_rc_queue_progress(ri_rc_plane_t *plane)
{
    unsigned count = 0;
    ri_plane_op_t *user;
    ucs_status_t status;
    ri_rc_op_t *op;

    if ((plane->outstanding > 0) && queue_poll(plane)) {
        queue_go_on(plane);
    }
    if ((plane->recv_used > 0) || !ucs_list_is_empty(&plane->failing)) {
        count += queue_take_notifications(plane);
    }

    /* The functions that are called may start other transfers, and end ways */
    while (ri_unlikely(!ucs_list_is_empty(&plane->ended))) {
        op     = ucs_list_extract_head(&plane->ended, ri_rc_op_t, list);
        user   = op->user;
        status = op->status;
        ri_rc_op_free(plane, op);
        user->done(user, status);
        ++count;
    }
    return count;
}

#endif
