/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations are done in the order in which they have come, as MPI wants it of accumulates: behind
 * one that has to wait, all wait. Commands do not wait behind operations, nor behind each other:
 * one that gives locks back may be what an operation waits for, and gates know by themselves who is
 * next.
 */
#include "window_net_serve.h"
#include "region.h"
#include "serve.h"
#include "../../ucs/log.h"

#include <ucs/datastruct/list.h>

#include <stdlib.h>
#include <string.h>

/* Something that could not be done at once. */
typedef struct net_waiting {
    ucs_list_link_t list;
    ri_window_net_peer_t *peer; /* who has asked */
    ri_window_net_head_t head;
    ri_window_command_t command;
    uint64_t state; /* of the command */
    size_t done;    /* bytes of the operation; of an answer all of them */
    _Alignas(16) uint8_t data[];
} net_waiting_t;

static UCS_LIST_HEAD(net_operations);
static UCS_LIST_HEAD(net_commands);

static UCS_LIST_HEAD(net_answers); /* that UCX has not taken */

/* Keep something for later. @return NULL: there is no memory. */
static net_waiting_t *net_keep(ucs_list_link_t *list, ri_window_net_peer_t *peer,
                               const ri_window_net_head_t *head, size_t room)
{
    net_waiting_t *waiting = malloc(sizeof(*waiting) + room);

    if (waiting == NULL) {
        ri_error("no memory for what a process of another host asks for");
        return NULL;
    }
    waiting->peer = peer;
    ++peer->users;
    waiting->head = *head;
    ucs_list_add_tail(list, &waiting->list);
    return waiting;
}

/* Drop something that was kept; NULL: nothing. */
static void net_drop_one(net_waiting_t *waiting)
{
    if (waiting != NULL) {
        ucs_list_del(&waiting->list);
        ri_window_net_put_peer(waiting->peer);
        free(waiting);
    }
}

/* @return Whether that is over: it is sent, or the peer is gone. */
static int net_send_answer(ri_window_net_peer_t *peer, const ri_window_net_head_t *answer,
                           const void *data, size_t length)
{
    return atomic_load(&peer->is_gone) || (ri_window_net_ep(peer) == NULL) ||
           (ri_window_net_message_send(peer, answer, data, length) == UCS_OK);
}

/* Answer. Who has asked waits for it: what cannot be sent now is sent later. */
static void net_answer(ri_window_net_peer_t *peer, const ri_window_net_head_t *head,
                       int result, const void *data)
{
    const ri_window_net_head_t answer = {
            .kind = RI_WINDOW_NET_ANSWER, .id = head->id, .result = result};
    size_t length = (result > 0) ? (size_t)result : 0;
    net_waiting_t *waiting;

    if ((head->kind == RI_WINDOW_NET_SAY) ||
        net_send_answer(peer, &answer, data, length)) {
        return;
    }
    waiting = net_keep(&net_answers, peer, &answer, length);
    if (waiting != NULL) {
        waiting->done = length;
        if (length > 0) {
            memcpy(waiting->data, data, length);
        }
    }
}

/* Put or get memory of which the other process has no key. The regions are locked. */
static int net_copy(const ri_mailbox_head_t *head, uint8_t *data)
{
    void *memory = (void *)(uintptr_t)head->address;

    if ((head->length > RI_MAILBOX_DATA) ||
        !ri_region_has(head->region, head->address, head->length)) {
        return -1;
    }
    if (head->kind == RI_SERVE_GET) {
        memcpy(data, memory, head->length);
        return head->length;
    }
    if ((head->kind != RI_SERVE_PUT) || (head->data_length != head->length)) {
        return -1;
    }
    memcpy(memory, data, head->length);
    return 0;
}

/* Do a piece of an operation, or all of it. @a data has room for the result. @return As apply() of
 * a server. */
static int net_apply_piece(const ri_mailbox_head_t *head, uint8_t *data)
{
    int result;

    ri_region_lock();
    result = (head->kind & RI_WINDOW_OPS_KIND) ? ri_region_apply(head, data) :
                                                 net_copy(head, data);
    ri_region_unlock();
    return (result > RI_MAILBOX_DATA) ? -1 : result;
}

/* Try an operation, or go on with it: @a done_p bytes of it are done. @a data has room for the
 * result.
 * @return As apply() of a server, of the whole operation. */
static int net_apply(const ri_mailbox_head_t *head, uint8_t *data, size_t *done_p)
{
    ri_mailbox_head_t piece = *head;
    int result              = 0;

    if (head->length <= RI_MAILBOX_DATA) {
        return net_apply_piece(head, data);
    }
    if ((head->data_length != 0) && (head->data_length != head->length)) {
        return -1;
    }
    while ((*done_p < head->length) && (result >= 0)) {
        piece.address     = head->address + *done_p;
        piece.length      = (uint16_t)ri_min(head->length - *done_p, RI_MAILBOX_DATA);
        piece.data_length = (head->data_length > 0) ? piece.length : 0;
        result            = net_apply_piece(&piece, data + *done_p);
        if ((result > 0) && (result != piece.length)) {
            result = -1;
        }
        *done_p += (result >= 0) ? piece.length : 0;
    }
    return (result > 0) ? head->length : result;
}

static ri_window_served_t net_command(uint64_t region, const ri_window_command_t *command,
                                      uint64_t *state)
{
    ri_window_served_t served;

    ri_region_lock();
    served = ri_region_command(region, command, state);
    ri_region_unlock();
    return served;
}

/* Keep what was asked for. Without memory it is not done. */
static net_waiting_t *net_keep_asked(ucs_list_link_t *list, ri_window_net_peer_t *peer,
                                     const ri_window_net_head_t *head, size_t room)
{
    net_waiting_t *waiting = net_keep(list, peer, head, room);

    if (waiting == NULL) {
        net_answer(peer, head, -1, NULL);
    }
    return waiting;
}

/* @return Bytes of room for the data of an operation, and for its result; 0: it is too long. */
static size_t net_room(const ri_mailbox_head_t *head)
{
    size_t room = ri_max(ri_max((size_t)head->length, (size_t)head->data_length),
                         (size_t)RI_MAILBOX_DATA);

    return (room <= RI_WINDOW_NET_DATA) ? room : 0;
}

/* A copy needs no locks, and does not wait behind operations: who has the locks that those wait for
 * may need it. */
static void net_asked_copy(ri_window_net_peer_t *peer, const ri_window_net_head_t *head,
                           const void *data, size_t length)
{
    size_t size   = net_room(&head->head);
    uint8_t *room = (size > 0) ? malloc(size) : NULL;
    size_t done   = 0;
    int result    = -1;

    if ((head->head.data_length == length) && (room != NULL)) {
        memcpy(room, data, length);
        result = net_apply(&head->head, room, &done);
    }
    net_answer(peer, head, result, room);
    free(room);
}

static void net_asked_operation(ri_window_net_peer_t *peer,
                                const ri_window_net_head_t *head, const void *data,
                                size_t length)
{
    _Alignas(16) uint8_t stack[RI_MAILBOX_DATA];
    size_t size            = net_room(&head->head);
    net_waiting_t *waiting = NULL;
    uint8_t *room          = stack;
    size_t done            = 0;
    int result;

    if ((head->head.data_length != length) || (size == 0)) {
        net_answer(peer, head, -1, NULL);
        return;
    }
    if (!ucs_list_is_empty(&net_operations) || (size > sizeof(stack))) {
        waiting = net_keep_asked(&net_operations, peer, head, size);
        if (waiting == NULL) {
            return;
        }
        waiting->done = 0;
        room          = waiting->data;
    }
    memcpy(room, data, length);
    if ((waiting != NULL) && (net_operations.next != &waiting->list)) {
        return; /* behind others */
    }
    result = net_apply(&head->head, room, (waiting != NULL) ? &waiting->done : &done);
    if (result != RI_WINDOW_OPS_BUSY) {
        net_answer(peer, head, result, room);
        net_drop_one(waiting);
    } else if (waiting == NULL) {
        waiting = net_keep_asked(&net_operations, peer, head, size);
        if (waiting != NULL) {
            waiting->done = 0;
            memcpy(waiting->data, room, length);
        }
    }
}

/* Look at a command again. Who has ended does not give back what it takes now. @return Whether that
 * is over. */
static int net_look(net_waiting_t *waiting)
{
    uint64_t region           = waiting->head.head.region;
    ri_window_served_t served = net_command(region, &waiting->command, &waiting->state);
    ri_window_command_t undo  = ri_window_net_message_undo(&waiting->command);
    uint64_t state            = 0;

    if (served == RI_WINDOW_SERVED_LATER) {
        return 0;
    }
    if ((served == RI_WINDOW_SERVED_DONE) && (undo.kind != RI_WINDOW_COMMAND_KINDS) &&
        atomic_load(&waiting->peer->is_gone)) {
        net_command(region, &undo, &state);
    }
    net_answer(waiting->peer, &waiting->head, (served == RI_WINDOW_SERVED_DONE) ? 0 : -1,
               NULL);
    return 1;
}

static void net_asked_command(ri_window_net_peer_t *peer,
                              const ri_window_net_head_t *head, const void *data,
                              size_t length)
{
    net_waiting_t *waiting;

    if (length != sizeof(waiting->command)) {
        net_answer(peer, head, -1, NULL);
        return;
    }
    waiting = net_keep_asked(&net_commands, peer, head, 0);
    if (waiting == NULL) {
        return;
    }
    memcpy(&waiting->command, data, length);
    waiting->state = 0;
    if (net_look(waiting)) {
        net_drop_one(waiting);
    }
}

void ri_window_net_serve_asked(ri_window_net_peer_t *peer,
                               const ri_window_net_head_t *head, const void *data,
                               size_t length)
{
    if ((head->kind == RI_WINDOW_NET_ASK) && !(head->head.kind & RI_WINDOW_OPS_KIND)) {
        net_asked_copy(peer, head, data, length);
    } else if (head->kind == RI_WINDOW_NET_ASK) {
        net_asked_operation(peer, head, data, length);
    } else if ((head->kind == RI_WINDOW_NET_COMMAND) ||
               (head->kind == RI_WINDOW_NET_SAY)) {
        net_asked_command(peer, head, data, length);
    }
}

/* Send the answers that were kept. @return How many that is over for. */
static unsigned net_send_kept(void)
{
    net_waiting_t *waiting, *next;
    unsigned count = 0;

    ucs_list_for_each_safe(waiting, next, &net_answers, list) {
        if (net_send_answer(waiting->peer, &waiting->head, waiting->data,
                            waiting->done)) {
            net_drop_one(waiting);
            ++count;
        }
    }
    return count;
}

unsigned ri_window_net_serve(void)
{
    net_waiting_t *waiting, *next;
    unsigned count = net_send_kept();
    int result;

    ucs_list_for_each_safe(waiting, next, &net_commands, list) {
        if (net_look(waiting)) {
            net_drop_one(waiting);
            ++count;
        }
    }
    ucs_list_for_each_safe(waiting, next, &net_operations, list) {
        result = net_apply(&waiting->head.head, waiting->data, &waiting->done);
        if (result == RI_WINDOW_OPS_BUSY) {
            break;
        }
        net_answer(waiting->peer, &waiting->head, result, waiting->data);
        net_drop_one(waiting);
        ++count;
    }
    return count;
}

void ri_window_net_serve_drop(void)
{
    ucs_list_link_t *const lists[] = {&net_operations, &net_commands, &net_answers};
    net_waiting_t *waiting, *next;
    size_t i;

    for (i = 0; i < sizeof(lists) / sizeof(lists[0]); ++i) {
        ucs_list_for_each_safe(waiting, next, lists[i], list) {
            net_drop_one(waiting);
        }
    }
}
