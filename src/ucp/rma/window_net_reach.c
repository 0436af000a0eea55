/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts and gets are UCX's, which writes and reads by the adapter where there is one. All else is
 * asked for. What needs no result is not waited for.
 */
#include "window_net_reach.h"
#include "serve.h"
#include "window_net.h"
#include "window_net_ask.h"
#include "window_net_serve.h"
#include "../../uct/api/cursor.h"

#include <stdlib.h>
#include <string.h>

/* So often it is looked for the end of what a peer that is gone has left. */
#define NET_LAST_LOOKS 100000

/* Memory of this process. */
typedef struct net_shown {
    ucp_mem_h memory; /* NULL: there are no bytes */
} net_shown_t;

/* A request of UCX has ended, of which @a count counts those under way. */
static void net_ended(ri_window_net_reach_t *reach, _Atomic(unsigned) *count,
                      void *request, ucs_status_t status)
{
    if (status != UCS_OK) {
        ri_window_net_ask_lose(reach, RI_WINDOW_OPS_FAILED);
    }
    atomic_fetch_sub(count, 1);
    ri_stock.request_free(request);
}

static void net_moved(void *request, ucs_status_t status, void *user_data)
{
    ri_window_net_reach_t *reach = user_data;

    net_ended(reach, &reach->num_moves, request, status);
}

/* Under the lock: put or get, not waiting for the end. @return POSTED, FAILED or GONE. */
static ri_window_fate_t net_start_move(ri_window_net_reach_t *reach, ucp_ep_h ep,
                                       int is_put, uint64_t address, void *data,
                                       size_t length)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                       UCP_OP_ATTR_FIELD_USER_DATA,
                                       .cb.send   = net_moved,
                                       .user_data = reach};
    ucs_status_ptr_t request;

    if ((ep == NULL) || (reach->key == NULL)) {
        return ri_window_net_ask_why_unreachable(reach);
    }
    atomic_fetch_add(&reach->num_moves, 1);
    if (is_put) {
        atomic_store(&reach->is_dirty, 1);
        request = ri_stock.put_nbx(ep, data, length, address, reach->key, &param);
    } else {
        request = ri_stock.get_nbx(ep, data, length, address, reach->key, &param);
    }
    if (!UCS_PTR_IS_PTR(request)) {
        atomic_fetch_sub(&reach->num_moves, 1);
    }
    return UCS_PTR_IS_ERR(request) ? ri_window_net_ask_why_unreachable(reach) :
                                     RI_WINDOW_OPS_POSTED;
}

/* Put or get where there is no key: the memory of a dynamic window, which comes and goes. */
static ri_window_fate_t net_move_asked(ri_window_net_reach_t *reach, int is_put,
                                       uint64_t address, char *data, size_t length)
{
    ri_window_net_head_t asked = {.kind = RI_WINDOW_NET_ASK,
                                  .head = {.kind   = is_put ? RI_SERVE_PUT : RI_SERVE_GET,
                                           .region = reach->told.region}};
    ri_window_fate_t fate      = RI_WINDOW_OPS_POSTED;
    size_t now;

    for (; (length > 0) && (fate == RI_WINDOW_OPS_POSTED); length -= now) {
        now                    = ri_min(length, RI_WINDOW_NET_DATA);
        asked.head.length      = (uint16_t)now;
        asked.head.data_length = (uint16_t)(is_put ? now : 0);
        asked.head.address     = address;
        fate = ri_window_net_ask_post(reach, &asked, data, asked.head.data_length,
                                      is_put ? NULL : data, &reach->num_moves);
        address += now;
        data += now;
    }
    return fate;
}

static ri_window_fate_t net_move(ri_window_net_reach_t *reach, int is_put,
                                 uint64_t address, void *data, size_t length)
{
    ri_window_fate_t fate;

    if (reach->told.key_length == 0) {
        return net_move_asked(reach, is_put, address, data, length);
    }
    ri_window_net_ask_wait(reach, &reach->num_moves, RI_WINDOW_NET_DEPTH);
    ri_window_net_lock();
    fate = net_start_move(reach, ri_window_net_ask_open(reach), is_put, address, data,
                          length);
    ri_window_net_unlock();
    return fate;
}

static ri_window_fate_t net_put(void *reach, uint64_t region, uint64_t address,
                                const void *data, size_t length)
{
    (void)region;
    return net_move(reach, 1, address, (void *)data, length);
}

static ri_window_fate_t net_get(void *reach, uint64_t region, uint64_t address,
                                void *data, size_t length)
{
    (void)region;
    return net_move(reach, 0, address, data, length);
}

static ri_window_fate_t net_copy(void *reach, int is_put, const ri_segment_t *local,
                                 size_t num_local, const ri_segment_t *remote,
                                 size_t num_remote, size_t length)
{
    ri_window_fate_t fate = RI_WINDOW_OPS_POSTED;
    ri_cursor_t here      = ri_cursor_at(local, num_local, 0);
    ri_cursor_t there     = ri_cursor_at(remote, num_remote, 0);
    size_t now;

    for (; (length > 0) && (fate == RI_WINDOW_OPS_POSTED); length -= now) {
        now = ri_min(ri_min(ri_cursor_rest(&here), ri_cursor_rest(&there)), length);
        if (now == 0) {
            break; /* a list ends */
        }
        fate = net_move(reach, is_put, ri_cursor_address(&there),
                        (char *)(uintptr_t)ri_cursor_address(&here), now);
        ri_cursor_advance(&here, now);
        ri_cursor_advance(&there, now);
    }
    return fate;
}

/* The other process is all that there is for an operation. */
static int net_pays(void *reach, size_t length, unsigned calls)
{
    (void)reach;
    (void)length;
    (void)calls;
    return 1;
}

static ri_window_fate_t net_ask(void *arg, const ri_mailbox_head_t *head,
                                const void *data, void *result, unsigned calls)
{
    ri_window_net_reach_t *reach      = arg;
    ri_window_net_head_t asked        = {.kind = RI_WINDOW_NET_ASK, .head = *head};
    unsigned looks                    = 0;
    ri_window_net_patience_t patience = {ri_window_net_ask_pause, &looks};

    (void)calls;
    asked.head.region = reach->told.region;
    return (result == NULL) ?
                   ri_window_net_ask_post(arg, &asked, data, head->data_length, NULL,
                                          &reach->num_asked) :
                   ri_window_net_ask_request(arg, &asked, data, head->data_length, result,
                                             head->length, &patience);
}

static ri_window_fate_t net_command(void *arg, const ri_window_command_t *command,
                                    int (*wait)(void *arg), void *wait_arg)
{
    ri_window_net_reach_t *reach      = arg;
    ri_window_net_patience_t patience = {wait, wait_arg};
    ri_window_net_head_t asked        = {.kind        = RI_WINDOW_NET_COMMAND,
                                         .head.region = reach->told.region};

    return (wait == NULL) ?
                   ri_window_net_ask_post(reach, &asked, command, sizeof(*command), NULL,
                                          &reach->num_asked) :
                   ri_window_net_ask_request(reach, &asked, command, sizeof(*command),
                                             NULL, 0, &patience);
}

static void net_flushed(void *request, ucs_status_t status, void *user_data)
{
    ri_window_net_reach_t *reach = user_data;

    net_ended(reach, &reach->num_flushes, request, status);
}

/* Under the lock: begin to flush what UCX has put. */
static void net_flush(ri_window_net_reach_t *reach, ucp_ep_h ep)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                       UCP_OP_ATTR_FIELD_USER_DATA,
                                       .cb.send   = net_flushed,
                                       .user_data = reach};
    ucs_status_ptr_t request;

    atomic_fetch_add(&reach->num_flushes, 1);
    request = ri_stock.ep_flush_nbx(ep, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        atomic_fetch_sub(&reach->num_flushes, 1);
    }
    if (UCS_PTR_IS_ERR(request)) {
        ri_window_net_ask_lose(reach, RI_WINDOW_OPS_FAILED);
    }
}

/* Flush what was put. A flush says nothing of a put that ends after it has begun (facts.md): while
 * some are under way, what they have made dirty stays dirty. */
static void net_flush_ended(ri_window_net_reach_t *reach)
{
    int is_dirty;

    ri_window_net_lock();
    /* A thread that finds it clean sees the flush, which is counted before */
    atomic_fetch_add(&reach->num_flushes, 1);
    is_dirty = (atomic_load(&reach->num_moves) > 0) ?
                       atomic_load(&reach->is_dirty) :
                       atomic_exchange(&reach->is_dirty, 0);
    if (is_dirty && (ri_window_net_ask_open(reach) != NULL)) {
        net_flush(reach, reach->peer->ep);
    }
    atomic_fetch_sub(&reach->num_flushes, 1);
    ri_window_net_unlock();
}

static void net_settle_begin(void *arg)
{
    ri_window_net_reach_t *reach = arg;

    if (atomic_load(&reach->is_dirty) && (atomic_load(&reach->num_moves) == 0)) {
        net_flush_ended(reach);
    }
}

/* Wait until all that was put is there, and all that was got is here. What other threads have
 * started since the moves of this one have ended is not waited for, and is flushed again. */
static void net_wait_moves(ri_window_net_reach_t *reach)
{
    ri_window_net_ask_wait(reach, &reach->num_moves, 1);
    if (atomic_load(&reach->is_dirty)) {
        net_flush_ended(reach);
    }
    ri_window_net_ask_wait(reach, &reach->num_flushes, 1);
}

static ri_window_fate_t net_settle_moves(void *arg)
{
    ri_window_net_reach_t *reach = arg;

    net_wait_moves(reach);
    return ri_window_net_ask_take_loss(reach);
}

static ri_window_fate_t net_settle(void *arg)
{
    ri_window_net_reach_t *reach = arg;

    net_wait_moves(reach);
    ri_window_net_ask_wait(reach, &reach->num_asked, 1);
    return ri_window_net_ask_take_loss(reach);
}

static ri_window_fate_t net_settle_here(void *arg)
{
    ri_window_net_reach_t *reach = arg;

    ri_window_net_ask_wait(reach, &reach->num_moves, 1);
    return ri_window_net_ask_take_loss(reach);
}

/* The first message of a connection that is being made would wait for progress of this process,
 * which may compute from now on. */
static ri_window_fate_t net_say(void *arg, const ri_window_command_t *command)
{
    ri_window_net_reach_t *reach    = arg;
    const ri_window_net_head_t said = {.kind        = RI_WINDOW_NET_SAY,
                                       .head.region = reach->told.region};
    int is_wired                    = reach->peer->is_wired;
    int is_sent;
    ucp_ep_h ep;

    ri_window_net_lock();
    ep      = ri_window_net_ask_open(reach);
    is_sent = (ep != NULL) && (ri_window_net_message_send(reach->peer, &said, command,
                                                          sizeof(*command)) == UCS_OK);
    if (is_sent && !is_wired) {
        net_flush(reach, ep);
    }
    ri_window_net_unlock();
    if (!is_sent) {
        return ri_window_net_ask_why_unreachable(reach);
    }
    if (!is_wired) {
        ri_window_net_ask_wait(reach, &reach->num_flushes, 1);
        reach->peer->is_wired = 1;
    }
    return RI_WINDOW_OPS_DONE;
}

/* Under the lock: register memory. @return Whether it is registered, or there is none. */
static int net_map(void *memory, size_t size, ucp_mem_h *mem_p, void **key_p,
                   size_t *length_p)
{
    ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                                 UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                   .address = memory,
                                   .length  = size};

    *mem_p    = NULL;
    *key_p    = NULL;
    *length_p = 0;
    if (size == 0) {
        return 1;
    }
    if (ri_stock.mem_map(ri_window_net_context(), &params, mem_p) != UCS_OK) {
        *mem_p = NULL;
        return 0;
    }
    return ri_stock.rkey_pack(ri_window_net_context(), *mem_p, key_p, length_p) == UCS_OK;
}

/* Under the lock. */
static void net_unmap(net_shown_t *shown)
{
    if (shown->memory != NULL) {
        ri_stock.mem_unmap(ri_window_net_context(), shown->memory);
    }
    free(shown);
}

/* Under the lock: what others are to know. */
static uint8_t *net_tell(const ri_window_net_memory_t *memory, const void *key,
                         size_t key_length, size_t *length_p)
{
    ri_window_net_told_t told = {.region     = memory->region,
                                 .base       = (uintptr_t)memory->base,
                                 .key_length = (uint32_t)key_length};
    const void *address;
    size_t address_length;
    uint8_t *bytes;

    told.uid = ri_window_net_uid();
    ri_window_net_address(&address, &address_length);
    told.address_length = (uint32_t)address_length;
    *length_p           = sizeof(told) + address_length + key_length;
    bytes               = malloc(*length_p);
    if (bytes == NULL) {
        return NULL;
    }
    memcpy(bytes, &told, sizeof(told));
    memcpy(bytes + sizeof(told), address, address_length);
    if (key_length > 0) {
        memcpy(bytes + sizeof(told) + address_length, key, key_length);
    }
    return bytes;
}

/* Under the lock. */
static net_shown_t *net_show_it(const ri_window_net_memory_t *memory, void **told_p,
                                size_t *length_p)
{
    net_shown_t *shown = calloc(1, sizeof(*shown));
    void *key          = NULL;
    size_t key_length;

    *told_p = NULL;
    if (shown == NULL) {
        return NULL;
    }
    if (net_map(memory->base, memory->size, &shown->memory, &key, &key_length)) {
        *told_p = net_tell(memory, key, key_length, length_p);
    }
    if (key != NULL) {
        ri_stock.rkey_buffer_release(key);
    }
    if (*told_p == NULL) {
        net_unmap(shown);
        shown = NULL;
    }
    return shown;
}

/* A message of the worker, by its handler: wire input. */
static ucs_status_t net_message(void *arg, const void *header, size_t header_length,
                                void *data, size_t length,
                                const ucp_am_recv_param_t *param)
{
    static uint8_t nothing[1];
    ri_window_net_head_t head;
    ri_window_net_peer_t *peer;

    (void)arg;
    if ((header_length != sizeof(head)) || (length > RI_WINDOW_NET_DATA) ||
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        return UCS_OK;
    }
    memcpy(&head, header, sizeof(head));
    data = (data != NULL) ? data : nothing; /* of no bytes */
    peer = ri_window_net_find_peer(head.uid);
    if (peer == NULL) {
        return UCS_OK;
    }
    if (head.kind == RI_WINDOW_NET_ANSWER) {
        ri_window_net_ask_answered(peer, &head, data, length);
    } else {
        ri_window_net_serve_asked(peer, &head, data, length);
    }
    return UCS_OK;
}

/* The functions that the worker calls. */
static const ri_window_net_hooks_t net_hooks = {.message = net_message,
                                                .serve   = ri_window_net_serve,
                                                .drop    = ri_window_net_serve_drop};

static void *net_show(const ri_window_net_memory_t *memory, void **told_p,
                      size_t *length_p)
{
    net_shown_t *shown;

    if (!ri_window_net_start(&net_hooks)) {
        return NULL;
    }
    ri_window_net_lock();
    shown = net_show_it(memory, told_p, length_p);
    ri_window_net_unlock();
    return shown;
}

static void net_hide(void *shown)
{
    ri_window_net_lock();
    if (atomic_load(&ri_window_net_is_there)) {
        net_unmap(shown);
    } else {
        free(shown); /* its mappings have gone with the context */
    }
    ri_window_net_unlock();
}

/* @return Whether what was told is as long as it says. */
static int net_is_told(const ri_window_net_told_t *told, size_t length)
{
    return (told->address_length > 0) &&
           (length - sizeof(*told) >= (uint64_t)told->address_length + told->key_length);
}

static void *net_connect(const void *bytes, size_t length, uint64_t *base_p)
{
    ri_window_net_reach_t *reach;
    ri_window_net_told_t told;

    if (length < sizeof(told)) {
        return NULL;
    }
    memcpy(&told, bytes, sizeof(told));
    reach = net_is_told(&told, length) ? calloc(1, sizeof(*reach) + length) : NULL;
    if (reach == NULL) {
        return NULL;
    }
    reach->told = told;
    memcpy(reach + 1, (const uint8_t *)bytes + sizeof(told), length - sizeof(told));
    reach->packed_key = (const uint8_t *)(reach + 1) + told.address_length;
    ucs_list_head_init(&reach->asked);
    ri_window_net_lock();
    if (atomic_load(&ri_window_net_is_there)) {
        reach->peer = ri_window_net_get_peer(told.uid, reach + 1, told.address_length);
    }
    ri_window_net_unlock();
    if (reach->peer == NULL) {
        free(reach);
        return NULL;
    }
    *base_p = told.base;
    return reach;
}

/* Let go of a peer. Questions that it has not answered are forgotten. Operations that UCX does not
 * end are left to UCX, with the memory that it may still write to. */
static void net_disconnect(void *arg)
{
    ri_window_net_reach_t *reach = arg;
    unsigned looks               = 0;
    int is_over;

    while ((atomic_load(&reach->num_moves) + atomic_load(&reach->num_flushes) > 0) &&
           (looks < NET_LAST_LOOKS) && atomic_load(&ri_window_net_is_there)) {
        ri_window_net_ask_pause(&looks);
    }
    ri_window_net_lock();
    ri_window_net_ask_forget(reach);
    if ((reach->key != NULL) && atomic_load(&ri_window_net_is_there)) {
        ri_stock.rkey_destroy(reach->key);
    }
    ri_window_net_put_peer(reach->peer);
    is_over = (atomic_load(&reach->num_moves) + atomic_load(&reach->num_flushes) == 0);
    ri_window_net_unlock();
    if (is_over) {
        free(reach);
    }
}

static int net_is_gone(void *arg, int looks)
{
    const ri_window_net_head_t nothing = {.kind = RI_WINDOW_NET_NOTHING};
    ri_window_net_reach_t *reach       = arg;

    ri_window_net_lock();
    if (looks && (reach->peer->ep == NULL) && (ri_window_net_ask_open(reach) != NULL)) {
        ri_window_net_message_send(reach->peer, &nothing, NULL, 0);
    }
    ri_window_net_unlock();
    return atomic_load(&reach->peer->is_gone);
}

const ri_window_net_ops_t ri_window_net_ops = {.reach       = {.most       = RI_WINDOW_NET_DATA,
                                                               .disconnect = net_disconnect,
                                                               .put        = net_put,
                                                               .get        = net_get,
                                                               .copy       = net_copy,
                                                               .pays       = net_pays,
                                                               .ask        = net_ask,
                                                               .settle     = net_settle},
                                               .show        = net_show,
                                               .hide        = net_hide,
                                               .connect     = net_connect,
                                               .say         = net_say,
                                               .command     = net_command,
                                               .settle_here = net_settle_here,
                                               .settle_begin = net_settle_begin,
                                               .settle_moves = net_settle_moves,
                                               .is_gone      = net_is_gone};
