/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that serves an order does not wait: it takes a ticket of a gate at once, and looks at it
 * again until it is inside; of stripes it takes all or none.
 */
#include "order.h"
#include "remote.h"

/* Bit of the state of an order to enter a gate: it has a ticket, in the lower bits. */
#define ORDER_HAS_TICKET (UINT64_C(1) << 32)

/* A gate of this host. */
static ri_gate_t *order_gate(const ri_window_t *window, int rank, int is_all)
{
    const ri_window_part_t *part = &window->parts[rank];

    return is_all ? &window->parts[part->first].control->all : &part->control->lock;
}

static ri_window_order_t order_of_gate(const ri_window_t *window,
                                       const ri_order_gate_t *gate, unsigned kind)
{
    return (ri_window_order_t){.kind     = kind,
                               .rank     = (uint32_t)window->rank,
                               .is_all   = (uint8_t)gate->is_all,
                               .is_b     = (gate->kind == RI_GATE_B),
                               .is_alone = (uint8_t)gate->is_alone};
}

/* Have an order carried out, and wait for it. */
static int order_wait(ri_window_t *window, const ri_window_part_t *part,
                      const ri_window_order_t *order)
{
    ri_window_wait_t wait = {.window = window};

    return ri_remote_error(part->net->order(part->reach, order, ri_window_wait, &wait));
}

int ri_order_enter(ri_window_t *window, const ri_order_gate_t *gate, int joins)
{
    const ri_window_part_t *part = &window->parts[gate->rank];
    ri_window_wait_t wait        = {.window = window};
    ri_window_order_t order;
    ri_gate_t *word;

    if (ri_unlikely(part->net != NULL)) {
        order = order_of_gate(window, gate,
                              joins ? RI_WINDOW_ORDER_JOIN : RI_WINDOW_ORDER_ENTER);
        return order_wait(window, part, &order);
    }
    word = order_gate(window, gate->rank, gate->is_all);
    return joins ? ri_gate_join(word, gate->kind, ri_window_wait, &wait) :
                   ri_gate_enter(word, gate->kind, gate->is_alone, ri_window_wait, &wait);
}

void ri_order_leave(ri_window_t *window, const ri_order_gate_t *gate)
{
    const ri_window_part_t *part = &window->parts[gate->rank];
    ri_window_order_t order;

    if (ri_unlikely(part->net != NULL)) {
        order = order_of_gate(window, gate, RI_WINDOW_ORDER_LEAVE);
        part->net->order(part->reach, &order, NULL, NULL);
    } else {
        ri_gate_leave(order_gate(window, gate->rank, gate->is_all), gate->kind);
    }
}

int ri_order_lock(ri_window_t *window, const ri_window_part_t *part, ri_stripes_t stripes)
{
    const ri_window_order_t order = {.kind    = RI_WINDOW_ORDER_LOCK,
                                     .rank    = (uint32_t)window->rank,
                                     .stripes = stripes};
    int error;

    if (ri_likely(part->net == NULL)) {
        ri_stripes_lock(window, part->control, stripes);
        return MPI_SUCCESS;
    }
    error = ri_remote_error(part->ops->settle(part->reach));
    return (error == MPI_SUCCESS) ? order_wait(window, part, &order) : error;
}

int ri_order_unlock(ri_window_t *window, const ri_window_part_t *part,
                    ri_stripes_t stripes)
{
    const ri_window_order_t order = {.kind    = RI_WINDOW_ORDER_UNLOCK,
                                     .rank    = (uint32_t)window->rank,
                                     .stripes = stripes};
    int error;

    if (ri_likely(part->net == NULL)) {
        ri_stripes_unlock(part->control, stripes);
        return MPI_SUCCESS;
    }
    /* Not what another thread has asked for: that may wait for these locks */
    error = ri_remote_error(part->net->settle_moves(part->reach));
    part->net->order(part->reach, &order, NULL, NULL);
    return error;
}

int ri_order_write(ri_window_t *window, int rank, size_t offset, uint32_t value)
{
    const ri_window_part_t *part = &window->parts[rank];
    ri_window_order_t order;

    if (ri_likely(part->net == NULL)) {
        atomic_store_explicit((_Atomic(uint32_t) *)((char *)part->control + offset),
                              value, memory_order_release);
        return MPI_SUCCESS;
    }
    order = (ri_window_order_t){.kind   = RI_WINDOW_ORDER_WORD,
                                .rank   = (uint32_t)window->rank,
                                .offset = (uint32_t)offset,
                                .value  = value};
    return ri_remote_error(part->net->say(part->reach, &order));
}

/* @return The word that another rank may write, or NULL: that of a round, or one of its own
 * cell. */
static _Atomic(uint32_t) *order_word(ri_window_control_t *control,
                                     const ri_window_order_t *order)
{
    const ri_window_cell_t *cell = &control->cells[order->rank];
    size_t at                    = order->offset;
    size_t i;

    for (i = 0; i < RI_WINDOW_ROUNDS; ++i) {
        if (at == (size_t)((char *)&control->rounds[i].value - (char *)control)) {
            return &control->rounds[i].value;
        }
    }
    if (at == (size_t)((char *)&cell->posted - (char *)control)) {
        return &control->cells[order->rank].posted;
    }
    return (at == (size_t)((char *)&cell->completed - (char *)control)) ?
                   &control->cells[order->rank].completed :
                   NULL;
}

/* Write a number for another rank. @return Whether there is such a word. */
static int order_serve_word(ri_window_control_t *control, const ri_window_order_t *order)
{
    _Atomic(uint32_t) *word = order_word(control, order);

    /* Numbers count up, and messages may come in another order than they were sent */
    if ((word != NULL) && ((int32_t)(order->value - atomic_load(word)) > 0)) {
        atomic_store_explicit(word, order->value, memory_order_release);
    }
    return word != NULL;
}

/* Enter a gate for another rank. */
static int order_serve_enter(ri_gate_t *gate, const ri_window_order_t *order,
                             ri_gate_kind_t kind, uint64_t *state)
{
    uint64_t ticket;

    if (*state & ORDER_HAS_TICKET) {
        return ri_gate_try(gate, kind, order->is_alone, *state & ~ORDER_HAS_TICKET);
    }
    if (ri_gate_take(gate, kind, order->is_alone, &ticket)) {
        return 1;
    }
    *state = ORDER_HAS_TICKET | ticket;
    return 0;
}

static int order_serve_join(ri_gate_t *gate, ri_gate_kind_t kind, uint64_t *state)
{
    if (*state == 0) {
        ri_gate_push(gate, kind);
        *state = 1;
    }
    return ri_gate_is_joined(gate, kind);
}

ri_window_ordered_t ri_order_serve(void *arg, const ri_window_order_t *order,
                                   uint64_t *state)
{
    ri_window_t *window          = arg;
    ri_window_control_t *control = window->parts[window->rank].control;
    ri_gate_t *gate              = order_gate(window, window->rank, order->is_all);
    ri_gate_kind_t kind          = order->is_b ? RI_GATE_B : RI_GATE_A;
    int is_done                  = 1;

    if ((order->rank >= (uint32_t)window->size) ||
        (window->parts[order->rank].net == NULL)) {
        return RI_WINDOW_ORDERED_BAD;
    }
    switch (order->kind) {
    case RI_WINDOW_ORDER_ENTER:
        is_done = order_serve_enter(gate, order, kind, state);
        break;
    case RI_WINDOW_ORDER_JOIN:
        is_done = order_serve_join(gate, kind, state);
        break;
    case RI_WINDOW_ORDER_LEAVE:
        ri_gate_leave(gate, kind);
        break;
    case RI_WINDOW_ORDER_LOCK:
        is_done = ri_stripes_trylock((int)order->rank, control, order->stripes);
        break;
    case RI_WINDOW_ORDER_UNLOCK:
        ri_stripes_unlock_of((int)order->rank, control, order->stripes);
        break;
    case RI_WINDOW_ORDER_WORD:
        return order_serve_word(control, order) ? RI_WINDOW_ORDERED_DONE :
                                                  RI_WINDOW_ORDERED_BAD;
    default:
        return RI_WINDOW_ORDERED_BAD;
    }
    return is_done ? RI_WINDOW_ORDERED_DONE : RI_WINDOW_ORDERED_LATER;
}
