/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that serves a command does not wait: it takes a ticket of a gate at once, and looks at it
 * again until it is inside; of stripes it takes all or none.
 */
#include "rank_command.h"
#include "remote.h"

/* Bit of the state of a command to enter a gate: it has a ticket, in the lower bits. */
#define COMMAND_HAS_TICKET (UINT64_C(1) << 32)

/* A gate of this host. */
static ri_gate_t *command_gate(const ri_window_t *window, int rank, int is_all)
{
    const ri_window_part_t *part = &window->parts[rank];

    return is_all ? &window->parts[part->first].control->all : &part->control->lock;
}

static ri_window_command_t command_of_gate(const ri_window_t *window,
                                           const ri_command_gate_t *gate, unsigned kind)
{
    return (ri_window_command_t){.kind     = kind,
                                 .rank     = (uint32_t)window->rank,
                                 .is_all   = (uint8_t)gate->is_all,
                                 .is_b     = (gate->kind == RI_GATE_B),
                                 .is_alone = (uint8_t)gate->is_alone};
}

/* Have a command carried out, and wait for it. */
static int command_wait(ri_window_t *window, const ri_window_part_t *part,
                        const ri_window_command_t *command)
{
    ri_window_wait_t wait = {.window = window};

    return ri_remote_error(
            part->net->command(part->reach, command, ri_window_wait, &wait));
}

int ri_command_enter(ri_window_t *window, const ri_command_gate_t *gate, int joins)
{
    const ri_window_part_t *part = &window->parts[gate->rank];
    ri_window_wait_t wait        = {.window = window};
    ri_window_command_t command;
    ri_gate_t *word;

    if (ri_unlikely(part->net != NULL)) {
        command = command_of_gate(
                window, gate, joins ? RI_WINDOW_COMMAND_JOIN : RI_WINDOW_COMMAND_ENTER);
        return command_wait(window, part, &command);
    }
    word = command_gate(window, gate->rank, gate->is_all);
    return joins ? ri_gate_join(word, gate->kind, ri_window_wait, &wait) :
                   ri_gate_enter(word, gate->kind, gate->is_alone, ri_window_wait, &wait);
}

void ri_command_leave(ri_window_t *window, const ri_command_gate_t *gate)
{
    const ri_window_part_t *part = &window->parts[gate->rank];
    ri_window_command_t command;

    if (ri_unlikely(part->net != NULL)) {
        command = command_of_gate(window, gate, RI_WINDOW_COMMAND_LEAVE);
        part->net->command(part->reach, &command, NULL, NULL);
    } else {
        ri_gate_leave(command_gate(window, gate->rank, gate->is_all), gate->kind);
    }
}

int ri_command_lock(ri_window_t *window, const ri_window_part_t *part,
                    ri_stripes_t stripes)
{
    const ri_window_command_t command = {.kind    = RI_WINDOW_COMMAND_LOCK,
                                         .rank    = (uint32_t)window->rank,
                                         .stripes = stripes};
    int error;

    if (ri_likely(part->net == NULL)) {
        ri_stripes_lock(window, part->control, stripes);
        return MPI_SUCCESS;
    }
    error = ri_remote_error(part->ops->settle(part->reach));
    return (error == MPI_SUCCESS) ? command_wait(window, part, &command) : error;
}

int ri_command_unlock(ri_window_t *window, const ri_window_part_t *part,
                      ri_stripes_t stripes)
{
    const ri_window_command_t command = {.kind    = RI_WINDOW_COMMAND_UNLOCK,
                                         .rank    = (uint32_t)window->rank,
                                         .stripes = stripes};
    int error;

    if (ri_likely(part->net == NULL)) {
        ri_stripes_unlock(part->control, stripes);
        return MPI_SUCCESS;
    }
    /* Not what another thread has asked for: that may wait for these locks */
    error = ri_remote_error(part->net->settle_moves(part->reach));
    part->net->command(part->reach, &command, NULL, NULL);
    return error;
}

int ri_command_write(ri_window_t *window, int rank, size_t offset, uint32_t value)
{
    const ri_window_part_t *part = &window->parts[rank];
    ri_window_command_t command;

    if (ri_likely(part->net == NULL)) {
        atomic_store_explicit((_Atomic(uint32_t) *)((char *)part->control + offset),
                              value, memory_order_release);
        return MPI_SUCCESS;
    }
    command = (ri_window_command_t){.kind   = RI_WINDOW_COMMAND_WORD,
                                    .rank   = (uint32_t)window->rank,
                                    .offset = (uint32_t)offset,
                                    .value  = value};
    return ri_remote_error(part->net->say(part->reach, &command));
}

/* @return The word that another rank may write, or NULL: that of a round, or one of its own
 * cell. */
static _Atomic(uint32_t) *command_word(ri_window_control_t *control,
                                       const ri_window_command_t *command)
{
    const ri_window_cell_t *cell = &control->cells[command->rank];
    size_t at                    = command->offset;
    size_t i;

    for (i = 0; i < RI_WINDOW_ROUNDS; ++i) {
        if (at == (size_t)((char *)&control->rounds[i].value - (char *)control)) {
            return &control->rounds[i].value;
        }
    }
    if (at == (size_t)((char *)&cell->posted - (char *)control)) {
        return &control->cells[command->rank].posted;
    }
    return (at == (size_t)((char *)&cell->completed - (char *)control)) ?
                   &control->cells[command->rank].completed :
                   NULL;
}

/* Write a number for another rank. @return Whether there is such a word. */
static int command_serve_word(ri_window_control_t *control,
                              const ri_window_command_t *command)
{
    _Atomic(uint32_t) *word = command_word(control, command);

    /* Numbers count up, and messages may come in another order than they were sent */
    if ((word != NULL) && ((int32_t)(command->value - atomic_load(word)) > 0)) {
        atomic_store_explicit(word, command->value, memory_order_release);
    }
    return word != NULL;
}

/* Enter a gate for another rank. */
static int command_serve_enter(ri_gate_t *gate, const ri_window_command_t *command,
                               ri_gate_kind_t kind, uint64_t *state)
{
    uint64_t ticket;

    if (*state & COMMAND_HAS_TICKET) {
        return ri_gate_try(gate, kind, command->is_alone, *state & ~COMMAND_HAS_TICKET);
    }
    if (ri_gate_take(gate, kind, command->is_alone, &ticket)) {
        return 1;
    }
    *state = COMMAND_HAS_TICKET | ticket;
    return 0;
}

static int command_serve_join(ri_gate_t *gate, ri_gate_kind_t kind, uint64_t *state)
{
    if (*state == 0) {
        ri_gate_push(gate, kind);
        *state = 1;
    }
    return ri_gate_is_joined(gate, kind);
}

ri_window_served_t ri_command_serve(void *arg, const ri_window_command_t *command,
                                    uint64_t *state)
{
    ri_window_t *window          = arg;
    ri_window_control_t *control = window->parts[window->rank].control;
    ri_gate_t *gate              = command_gate(window, window->rank, command->is_all);
    ri_gate_kind_t kind          = command->is_b ? RI_GATE_B : RI_GATE_A;
    int is_done                  = 1;

    if ((command->rank >= (uint32_t)window->size) ||
        (window->parts[command->rank].net == NULL)) {
        return RI_WINDOW_SERVED_BAD;
    }
    switch (command->kind) {
    case RI_WINDOW_COMMAND_ENTER:
        is_done = command_serve_enter(gate, command, kind, state);
        break;
    case RI_WINDOW_COMMAND_JOIN:
        is_done = command_serve_join(gate, kind, state);
        break;
    case RI_WINDOW_COMMAND_LEAVE:
        ri_gate_leave(gate, kind);
        break;
    case RI_WINDOW_COMMAND_LOCK:
        is_done = ri_stripes_trylock((int)command->rank, control, command->stripes);
        break;
    case RI_WINDOW_COMMAND_UNLOCK:
        ri_stripes_unlock_of((int)command->rank, control, command->stripes);
        break;
    case RI_WINDOW_COMMAND_WORD:
        return command_serve_word(control, command) ? RI_WINDOW_SERVED_DONE :
                                                      RI_WINDOW_SERVED_BAD;
    default:
        return RI_WINDOW_SERVED_BAD;
    }
    return is_done ? RI_WINDOW_SERVED_DONE : RI_WINDOW_SERVED_LATER;
}
