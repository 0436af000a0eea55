/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The connection and the remote key are made with the first use of a reach: of many processes, one
 * mostly uses few.
 */
#include "window_net_ask.h"
#include "serve.h"
#include "../../ucs/id_table.h"
#include "../../ucs/log.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Looks at what is waited for, until the processor is given away for once. */
#define ASK_LOOKS 64

/* Looks at what a peer that is gone has left: UCX ends its operations a little later. */
#define ASK_LAST_LOOKS 10000

/* Ids: bits of the index, and in all. */
#define ASK_ID_INDEX 20
#define ASK_ID_BITS  32

/* Something that was asked for. */
typedef struct ask {
    ucs_list_link_t list;
    ri_window_net_reach_t *reach;
    uint32_t id;
    void *result;             /* NULL: none is wanted */
    size_t length;            /* of the result */
    int is_waited;            /* by a thread, which frees it */
    int is_undone;            /* the wait was given up */
    ri_window_command_t undo; /* what is done then (ri_window_net_message_undo()) */
    _Atomic(unsigned) *count; /* in which it is counted */
    _Atomic(int) answer; /* of one that is waited for: ASK_OPEN, or how it has ended */
} ask_t;

#define ASK_OPEN (-1)

/* Under the lock; set up with the first id. */
static ri_id_table_t ask_ids;

ri_window_fate_t ri_window_net_ask_why_unreachable(const ri_window_net_reach_t *reach)
{
    return atomic_load(&reach->peer->is_gone) ? RI_WINDOW_OPS_GONE : RI_WINDOW_OPS_FAILED;
}

int ri_window_net_ask_pause(void *arg)
{
    unsigned *looks = arg;

    ri_window_net_progress();
    ri_serve();
    ri_relax();
    if ((++*looks % ASK_LOOKS) == 0) {
        sched_yield();
    }
    return 0;
}

void ri_window_net_ask_wait(ri_window_net_reach_t *reach, _Atomic(unsigned) *count,
                            unsigned most)
{
    unsigned looks = 0, last = 0;

    while ((atomic_load_explicit(count, memory_order_acquire) >= most) &&
           (last < ASK_LAST_LOOKS)) {
        ri_window_net_ask_pause(&looks);
        last += (unsigned)atomic_load(&reach->peer->is_gone);
    }
}

void ri_window_net_ask_lose(ri_window_net_reach_t *reach, ri_window_fate_t fate)
{
    int done = RI_WINDOW_OPS_DONE;

    atomic_compare_exchange_strong(&reach->lost, &done, (int)fate);
}

ri_window_fate_t ri_window_net_ask_take_loss(ri_window_net_reach_t *reach)
{
    if (ri_unlikely(atomic_load(&reach->peer->is_gone))) {
        return RI_WINDOW_OPS_GONE;
    }
    return (ri_window_fate_t)atomic_exchange(&reach->lost, RI_WINDOW_OPS_DONE);
}

ucp_ep_h ri_window_net_ask_open(ri_window_net_reach_t *reach)
{
    ucp_ep_h ep = atomic_load(&reach->peer->is_gone) ? NULL :
                                                       ri_window_net_ep(reach->peer);
    ucs_status_t status;

    if ((ep == NULL) || (reach->key != NULL) || (reach->told.key_length == 0)) {
        return ep;
    }
    status = ri_stock.ep_rkey_unpack(ep, reach->packed_key, &reach->key);
    if (status != UCS_OK) {
        reach->key = NULL;
        ri_error("memory of a window on another host cannot be reached: %s",
                 ri_stock_status_string(status));
        return NULL;
    }
    return ep;
}

/* Under the lock. */
static void ask_forget(ask_t *asked)
{
    ri_id_free(&ask_ids, asked->id);
    ucs_list_del(&asked->list);
    atomic_fetch_sub(asked->count, 1);
}

/* Under the lock: ask. @return Whether it is sent. */
static int ask_send(ask_t *asked, ri_window_net_head_t *head, const void *data,
                    size_t length)
{
    if (ri_window_net_ask_open(asked->reach) == NULL) {
        return 0;
    }
    if (ask_ids.index_bits == 0) {
        ri_id_table_init(&ask_ids, ASK_ID_INDEX, ASK_ID_BITS);
    }
    asked->id = ri_id_alloc(&ask_ids, asked);
    if (asked->id == 0) {
        return 0;
    }
    head->id = asked->id;
    ucs_list_add_tail(&asked->reach->asked, &asked->list);
    atomic_fetch_add(asked->count, 1);
    if (ri_window_net_message_send(asked->reach->peer, head, data, length) != UCS_OK) {
        ask_forget(asked);
        return 0;
    }
    return 1;
}

ri_window_fate_t ri_window_net_ask_post(ri_window_net_reach_t *reach,
                                        ri_window_net_head_t *head, const void *data,
                                        size_t length, void *result,
                                        _Atomic(unsigned) *count)
{
    ask_t *asked = calloc(1, sizeof(*asked));
    int is_sent;

    if (asked == NULL) {
        return RI_WINDOW_OPS_FAILED;
    }
    asked->reach  = reach;
    asked->count  = count;
    asked->result = result;
    asked->length = head->head.length;
    ri_window_net_ask_wait(reach, asked->count, RI_WINDOW_NET_DEPTH);
    ri_window_net_lock();
    is_sent = ask_send(asked, head, data, length);
    ri_window_net_unlock();
    if (!is_sent) {
        free(asked);
    }
    return is_sent ? RI_WINDOW_OPS_POSTED : ri_window_net_ask_why_unreachable(reach);
}

/* @return The command that undoes the one of @a head. It is used if that is carried out after its
 * origin has given up the wait. */
static ri_window_command_t ask_undo(const ri_window_net_head_t *head, const void *data)
{
    ri_window_command_t command = {.kind = RI_WINDOW_COMMAND_KINDS};

    if (head->kind == RI_WINDOW_NET_COMMAND) {
        memcpy(&command, data, sizeof(command));
        command = ri_window_net_message_undo(&command);
    }
    return command;
}

/* Under the lock: what was asked for is not waited for any more. */
static void ask_give_up(ask_t *asked)
{
    asked->is_waited = 0;
    asked->is_undone = 1;
    asked->result    = NULL;
}

ri_window_fate_t ri_window_net_ask_request(ri_window_net_reach_t *reach,
                                           ri_window_net_head_t *head, const void *data,
                                           size_t data_length, void *result,
                                           size_t length,
                                           const ri_window_net_patience_t *patience)
{
    ask_t *asked          = calloc(1, sizeof(*asked));
    ri_window_fate_t fate = RI_WINDOW_OPS_GONE;
    int is_sent;

    if (asked == NULL) {
        return RI_WINDOW_OPS_FAILED;
    }
    *asked = (ask_t){.reach     = reach,
                     .result    = result,
                     .length    = length,
                     .is_waited = 1,
                     .undo      = ask_undo(head, data),
                     .count     = &reach->num_asked,
                     .answer    = ASK_OPEN};
    ri_window_net_lock();
    is_sent = ask_send(asked, head, data, data_length);
    ri_window_net_unlock();
    if (!is_sent) {
        free(asked);
        return ri_window_net_ask_why_unreachable(reach);
    }
    while ((atomic_load_explicit(&asked->answer, memory_order_acquire) == ASK_OPEN) &&
           !atomic_load(&reach->peer->is_gone) && (patience->wait(patience->arg) == 0)) {}
    ri_window_net_lock();
    if (atomic_load(&asked->answer) == ASK_OPEN) {
        ask_give_up(asked);
    } else {
        fate = (ri_window_fate_t)atomic_load(&asked->answer);
        free(asked);
    }
    ri_window_net_unlock();
    return fate;
}

/* Under the lock: give back what was taken after all. */
static void ask_send_undo(const ask_t *asked)
{
    const ri_window_net_head_t said = {.kind        = RI_WINDOW_NET_SAY,
                                       .head.region = asked->reach->told.region};

    if ((asked->undo.kind != RI_WINDOW_COMMAND_KINDS) &&
        (ri_window_net_ask_open(asked->reach) != NULL)) {
        ri_window_net_message_send(asked->reach->peer, &said, &asked->undo,
                                   sizeof(asked->undo));
    }
}

/* Under the lock: what an answer says of what was asked for. */
static ri_window_fate_t ask_look(const ask_t *asked, const ri_window_net_head_t *head,
                                 const void *data, size_t length)
{
    if (atomic_load(&asked->reach->peer->is_gone)) {
        return RI_WINDOW_OPS_GONE; /* and nobody waits for the result */
    }
    if (head->result < 0) {
        return RI_WINDOW_OPS_BAD;
    }
    if (asked->result != NULL) {
        if (length > asked->length) {
            return RI_WINDOW_OPS_FAILED;
        }
        memcpy(asked->result, data, length);
    }
    return RI_WINDOW_OPS_DONE;
}

void ri_window_net_ask_answered(const ri_window_net_peer_t *peer,
                                const ri_window_net_head_t *head, const void *data,
                                size_t length)
{
    ask_t *asked = ri_id_get(&ask_ids, head->id);
    ri_window_fate_t fate;

    if ((asked == NULL) || (asked->reach->peer != peer)) {
        return;
    }
    fate = ask_look(asked, head, data, length);
    ask_forget(asked);
    if (asked->is_waited) {
        atomic_store_explicit(&asked->answer, (int)fate, memory_order_release);
        return;
    }
    if (asked->is_undone && (fate == RI_WINDOW_OPS_DONE)) {
        ask_send_undo(asked);
    } else if (!asked->is_undone && (fate != RI_WINDOW_OPS_DONE)) {
        ri_window_net_ask_lose(asked->reach, fate);
    }
    free(asked);
}

void ri_window_net_ask_forget(ri_window_net_reach_t *reach)
{
    ask_t *asked, *next;

    ucs_list_for_each_safe(asked, next, &reach->asked, list) {
        ask_forget(asked);
        free(asked);
    }
}
