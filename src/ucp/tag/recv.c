/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A receive looks for its message first among those that wait. If there is none it is posted, and
 * may be offered.
 */
#include "recv.h"
#include "../order/deliver.h"
#include "send.h"
#include "../core/timeline_notes.h"
#include "../core/memory.h"
#include "../in/channel_in.h"
#include "../../ucs/settings.h"
#include "../link/bounce.h"
#include "../link/channel_life.h"
#include "../proto/rtr/rtr.h"

/* Where there is more than one kind of memory: note which one it is, and get ready to have
 * data moved there. */
static ucs_status_t recv_note_memory(ri_recv_req_t *recv,
                                     const ucp_request_param_t *param)
{
    recv->data.memory_type = ri_memory_type_slow(&recv->data, param);
    if (recv->data.memory_type == UCS_MEMORY_TYPE_HOST) {
        return UCS_OK;
    }
    if (param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL) {
        return UCS_ERR_NO_RESOURCE; /* moving it may take longer than the call */
    }
    return ri_bounce_init(recv->super.worker);
}

/* A new receive: it was not offered, and its message is not known. */
static inline void recv_begin(ri_recv_req_t *recv)
{
    recv->rtr.state    = RI_RTR_NONE;
    recv->rtr.early    = 0;
    recv->rtr.slot     = 0;
    recv->rtr.canceled = 0;
}

/* Get and fill a receive request. */
static ucs_status_t recv_req_get(ri_worker_t *worker, void *buffer, size_t count,
                                 const ucp_request_param_t *param, ri_recv_req_t **recv_p)
{
    ri_recv_req_t *recv = (ri_recv_req_t *)ri_req_get(worker, param, RI_REQ_RECV);
    ucs_status_t status;

    if (ri_unlikely(recv == NULL)) {
        return UCS_ERR_NO_MEMORY;
    }

    status = ri_dt_recv_init(&recv->data, RI_SEND_PARAM_DATATYPE(param), buffer, count);
    if (ri_unlikely(status != UCS_OK)) {
        ri_req_drop(&recv->super);
        return status;
    }
    ri_memory_note_generic(worker, &recv->data, param);
    if (ri_unlikely(!worker->host_memory)) {
        status = recv_note_memory(recv, param);
        if (status != UCS_OK) {
            ri_dt_finish(&recv->data);
            ri_req_drop(&recv->super);
            return status;
        }
    }
    recv_begin(recv);
    *recv_p = recv;
    return UCS_OK;
}

/* Receive a message that is there. */
static ucs_status_ptr_t recv_msg(ri_recv_req_t *recv, ri_msg_t *msg,
                                 const ucp_request_param_t *param)
{
    ri_worker_t *worker = recv->super.worker;
    ucs_status_t status;

    /* A receive that ends later ends by callback, maybe before this returns */
    ri_req_set_recv_cb(&recv->super, param);
    ri_timeline_call_begins(worker);
    status = ri_recv_start_msg(recv, msg);
    ri_timeline_call_ends(worker);
    if (status == UCS_INPROGRESS) {
        return ri_req_handle(&recv->super);
    }
    return ri_req_done_recv(recv, param, status);
}

/* Whether a receive can complete within the call, if FORCE_IMM_CMPL demands that. */
static inline int recv_can_end_now(const ri_msg_t *msg, const ucp_request_param_t *param)
{
    return !(param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL) ||
           ((msg != NULL) && !ri_msg_ops[msg->kind]->is_elsewhere);
}

/* The message of a long receive that nothing matches may have come by a channel: its data is
 * fetched while the application computes, and not from the wait on. */
static ri_msg_t *recv_look(ri_worker_t *worker, uint64_t tag, uint64_t mask)
{
    if (worker->progressing) {
        return NULL;
    }
    ri_channel_in_keep_announced(worker);
    return ri_match_find_unexpected(&worker->match, tag, mask, 0);
}

/* What ri_tag_recv() does with all but short contiguous receives whose message is not there. */
static ri_noinline ucs_status_ptr_t recv_slow(ri_worker_t *worker, void *buffer,
                                              size_t count, uint64_t tag, uint64_t mask,
                                              const ucp_request_param_t *param)
{
    ri_recv_req_t *recv;
    ucs_status_t status;
    ri_msg_t *msg;
    int is_long;

    msg = ri_match_find_unexpected(&worker->match, tag, mask, 0);
    if (ri_unlikely(!recv_can_end_now(msg, param))) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }

    status = recv_req_get(worker, buffer, count, param, &recv);
    if (ri_unlikely(status != UCS_OK)) {
        return UCS_STATUS_PTR(status);
    }
    ri_trace(&worker->trace, RI_TRACE_RECV, tag, mask);
    recv->tag  = tag;
    recv->mask = mask;

    is_long = (recv->data.length > ri_config.eager_thresh);
    if ((msg == NULL) && is_long && ri_unlikely(worker->channels.num_in > 0)) {
        msg = recv_look(worker, tag, mask);
    }
    if (msg != NULL) {
        ri_match_remove_unexpected(&worker->match, msg);
        return recv_msg(recv, msg, param);
    }

    ri_req_set_recv_cb(&recv->super, param);
    ri_match_post(&worker->match, recv);
    if (is_long) {
        ri_rtr_posted(recv);
    }
    return ri_req_handle(&recv->super);
}

/* Whether a receive of @a length bytes can be posted at once: there are a request and a class of
 * its mask, no message might match, and neither trace nor timeline is to be told. */
static inline int recv_is_fast(const ri_worker_t *worker, size_t length, uint64_t mask,
                               const ucp_request_param_t *param)
{
    const ri_mask_class_t *class = worker->match.latest;

    return !(param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL) &&
           ((RI_SEND_PARAM_DATATYPE(param) & UCP_DATATYPE_CLASS_MASK) ==
            UCP_DATATYPE_CONTIG) &&
           (length <= ri_config.eager_thresh) && ((int64_t)length <= worker->unnoted) &&
           worker->host_memory && (worker->match.num_unexpected == 0) &&
           (class != NULL) && (class->mask == mask) &&
           ((worker->reqs.free != NULL) ||
            (param->op_attr_mask & UCP_OP_ATTR_FIELD_REQUEST));
}

ucs_status_ptr_t ri_tag_recv(ri_worker_t *worker, void *buffer, size_t count,
                             uint64_t tag, uint64_t mask,
                             const ucp_request_param_t *param)
{
    ucp_datatype_t datatype = RI_SEND_PARAM_DATATYPE(param);
    size_t length           = count * (datatype >> UCP_DATATYPE_SHIFT);
    ri_recv_req_t *recv;

    if (ri_unlikely(!recv_is_fast(worker, length, mask, param))) {
        return recv_slow(worker, buffer, count, tag, mask, param);
    }
    (void)ri_match_find_unexpected(&worker->match, tag, mask, 0); /* there is none */
    recv       = (ri_recv_req_t *)ri_req_get(worker, param, RI_REQ_RECV);
    recv->tag  = tag;
    recv->mask = mask;
    ri_dt_init_contig(&recv->data, datatype, buffer, count);
    recv_begin(recv);
    ri_req_set_recv_cb(&recv->super, param);
    ri_match_post(&worker->match, recv);
    return ri_req_handle(&recv->super);
}

ucs_status_ptr_t ri_tag_recv_msg(ri_worker_t *worker, void *buffer, size_t count,
                                 ri_msg_t *msg, const ucp_request_param_t *param)
{
    ri_recv_req_t *recv;
    ucs_status_t status;

    if (ri_unlikely(!recv_can_end_now(msg, param))) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE); /* the caller keeps the message */
    }
    status = recv_req_get(worker, buffer, count, param, &recv);
    if (ri_unlikely(status != UCS_OK)) {
        return UCS_STATUS_PTR(status);
    }
    ri_trace(&worker->trace, RI_TRACE_RECV, msg->tag, ~0ul);
    recv->tag  = msg->tag;
    recv->mask = ~0ul;
    if (msg->kind == RI_MSG_RTS) {
        ucs_list_del(&msg->list);
    }
    return recv_msg(recv, msg, param);
}

ri_msg_t *ri_tag_recv_probe(ri_worker_t *worker, uint64_t tag, uint64_t mask, int remove,
                            ucp_tag_recv_info_t *info)
{
    ri_msg_t *msg = ri_match_find_unexpected(&worker->match, tag, mask, remove);

    if (msg != NULL) {
        info->sender_tag = msg->tag;
        info->length     = msg->length;
        if (remove && (msg->kind == RI_MSG_RTS)) {
            ucs_list_add_tail(&msg->stream->probed, &msg->list);
        }
    }
    return msg;
}

void ri_tag_recv_cancel(ri_recv_req_t *recv)
{
    if (ri_req_flags(&recv->super) &
        RI_REQ_POSTED) { /* else it is matched, and will complete */
        ri_rtr_cancel(recv);
    }
}
