/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a process does for others with its own memory in a window (src/win/accumulate_remote.c):
 * right requests, wrong ones, and any bytes. Is linked with the library for windows of an MPI, and
 * runs as one process of it.
 */
#include "win/accumulate_remote.h"
#include "win/attached.h"
#include "win/rank_command.h"
#include "win/pieces.h"
#include "win/stripe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE   16384
#define FETCH  0x4000u
#define SWAP   0x2000u
#define NUMBER 8 /* bytes of an element */

static int number, failed;

static void result(int is_ok, const char *what)
{
    printf("%sok %d - win_serve: %s\n", is_ok ? "" : "not ", ++number, what);
    failed |= !is_ok;
}

static ri_window_t window;
static ri_window_part_t part;
static char memory[SIZE] __attribute__((aligned(4096)));

static void make_window(void)
{
    memset(memory, 0, sizeof(memory));
    window = (ri_window_t){.rank = 0, .size = 1, .parts = &part};
    part   = (ri_window_part_t){.base = memory, .size = SIZE, .disp_unit = 1};
    if (part.control == NULL) {
        part.control = aligned_alloc(RI_CACHE_LINE,
                                     RI_CACHE_LINES(sizeof(*part.control)));
        memset(part.control, 0, sizeof(*part.control));
    }
}

/* @return As ri_accumulate_remote_serve(). */
static int ask(unsigned kind, size_t offset, size_t length, size_t data_length,
               void *data)
{
    const ri_mailbox_head_t head = {.kind        = (uint16_t)(RI_WINDOW_OPS_KIND | kind),
                                    .length      = (uint16_t)length,
                                    .data_length = (uint16_t)data_length,
                                    .address     = (uintptr_t)memory + offset};

    return ri_accumulate_remote_serve(&window, &head, data);
}

/* A number for an operation on numbers of eight bytes. */
static unsigned code_of(MPI_Op op)
{
    const ri_element_t element = ri_element_of(MPI_INT64_T);

    return ri_element_code(&element, op);
}

static int64_t at(size_t offset)
{
    int64_t value;

    memcpy(&value, memory + offset, sizeof(value));
    return value;
}

static void check_right(void)
{
    int64_t data[2] = {5, 0};
    int is_ok;

    make_window();
    is_ok   = (ask(code_of(MPI_SUM), 8, NUMBER, NUMBER, data) == 0) && (at(8) == 5);
    data[0] = 7;
    is_ok = is_ok && (ask(code_of(MPI_SUM) | FETCH, 8, NUMBER, NUMBER, data) == NUMBER) &&
            (at(8) == 12) && (data[0] == 5);
    data[0] = 3;
    is_ok   = is_ok && (ask(code_of(MPI_NO_OP) | FETCH, 8, NUMBER, 0, data) == NUMBER) &&
            (at(8) == 12) && (data[0] == 12);
    data[0] = 30;
    is_ok   = is_ok && (ask(code_of(MPI_REPLACE), 8, NUMBER, NUMBER, data) == 0) &&
            (at(8) == 30);
    result(is_ok, "accumulate, fetch, replace");

    data[0] = 40;
    data[1] = 31; /* is not there */
    is_ok   = (ask(SWAP, 8, NUMBER, 2 * NUMBER, data) == NUMBER) && (at(8) == 30) &&
            (data[0] == 30);
    data[0] = 40;
    data[1] = 30;
    is_ok   = is_ok && (ask(SWAP, 8, NUMBER, 2 * NUMBER, data) == NUMBER) &&
            (at(8) == 40) && (data[0] == 30);
    result(is_ok, "compare and swap");
}

static void check_wrong(void)
{
    static char data[RI_MAILBOX_DATA];
    unsigned sum = code_of(MPI_SUM);
    int is_ok;

    make_window();
    is_ok = (ask(sum, 0, 0, 0, data) == -1) && (ask(sum, 0, 4, 4, data) == -1) &&
            (ask(sum, 0, 12, 12, data) == -1) && (ask(sum, 0, 8, 4, data) == -1) &&
            (ask(sum, 0, RI_MAILBOX_DATA + 8, 8, data) == -1) &&
            (ask(SWAP, 0, 8, 8, data) == -1) && (ask(SWAP, 0, 64, 128, data) == -1) &&
            (ask(0, 0, 8, 8, data) == -1) && (ask(FETCH, 0, 8, 8, data) == -1);
    is_ok = is_ok && (ask(sum, 0, 8, 0, data) == -1) &&
            (ask(code_of(MPI_NO_OP) | FETCH, 0, 8, 8, data) == -1) &&
            (ask(sum | 0x400u, 0, 8, 8, data) == -1) &&
            (ask(SWAP | sum, 0, 8, 8, data) == -1);
    result(is_ok, "wrong lengths, no operation");
    is_ok = (ask(sum, SIZE, 8, 8, data) == -1) &&
            (ask(sum, SIZE - 4, 8, 8, data) == -1) &&
            (ask(sum, (size_t)-8, 8, 8, data) == -1) &&
            (ask(SWAP, SIZE, 8, 16, data) == -1);
    result(is_ok, "memory that is not in the window");
    result(code_of(MPI_MAXLOC) == 0, "an operation that the MPI has to do");
}

/* A process that waits for a lock may be waited for by its holder. */
static void check_locked(void)
{
    int64_t one[2] = {1, 0};
    int is_ok;

    make_window();
    ri_stripes_lock(&window, part.control, ri_stripes_of(&part, (uintptr_t)memory, 1));
    is_ok = (ask(code_of(MPI_SUM), 0, NUMBER, NUMBER, one) == RI_WINDOW_OPS_BUSY) &&
            (at(0) == 0) &&
            /* In the next stripe, and across both: that one is free afterwards */
            (ask(code_of(MPI_SUM), 4096, NUMBER, NUMBER, one) == 0) &&
            (ask(code_of(MPI_SUM), 4092, NUMBER, NUMBER, one) == RI_WINDOW_OPS_BUSY) &&
            (ask(code_of(MPI_SUM), 4096, NUMBER, NUMBER, one) == 0) && (at(4096) == 2);
    ri_stripes_unlock(part.control, ri_stripes_of(&part, (uintptr_t)memory, 1));
    is_ok = is_ok && (ask(code_of(MPI_SUM), 4092, NUMBER, NUMBER, one) == 0);
    result(is_ok, "what is locked is refused, and nothing stays locked");
}

/* Any request changes nothing but its own bytes, and leaves no lock. */
static void check_any(void)
{
    static char data[RI_MAILBOX_DATA], before[SIZE];
    int is_ok = 1, done = 0;

    make_window();
    srand(1);
    for (int i = 0; (i < 200000) && is_ok; ++i) {
        size_t length     = (size_t)rand() % ((i % 4 == 0) ? RI_MAILBOX_DATA + 2 : 40);
        size_t offset     = (size_t)rand() % (SIZE - length);
        size_t lengths[4] = {length, 2 * length, 0, (size_t)rand() % (length + 1)};
        unsigned kind     = (unsigned)rand() % ((i % 3 == 0) ? 0x8000u : 0x400u);
        int got;

        memcpy(before, memory, SIZE);
        data[0] = (char)i;
        got     = ask(kind, offset, length, lengths[rand() % 4], data);
        is_ok = (got >= -1) && (got <= (int)length) && !memcmp(before, memory, offset) &&
                !memcmp(before + offset + length, memory + offset + length,
                        SIZE - offset - length) &&
                ((got != -1) || !memcmp(before, memory, SIZE));
        done += (got != -1);
    }
    for (int i = 0; i < RI_WINDOW_STRIPES; ++i) {
        is_ok = is_ok && (atomic_load(&part.control->stripes[i].value) == 0);
    }
    result(is_ok && (done > 1000), "any request");
}

/* A request on pieces. places: of a list, or NULL for pieces at a stride. */
static int ask_pieces(unsigned kind, size_t base, uint32_t count, uint32_t length,
                      int64_t stride, const int32_t (*places)[2], const void *operand,
                      size_t operand_size, void *data)
{
    struct {
        uint32_t count, length;
        int64_t stride;
    } head                 = {count, length, stride};
    ri_mailbox_head_t mail = {
            .kind    = (uint16_t)(RI_WINDOW_OPS_KIND | RI_PIECES_KIND | kind),
            .length  = RI_MAILBOX_DATA,
            .address = (uintptr_t)memory + base};
    size_t size  = sizeof(head);
    size_t known = (count < 5) ? count : 3; /* there are no more */

    memcpy(data, &head, sizeof(head));
    if (places != NULL) {
        memcpy((char *)data + size, places, known * sizeof(*places));
        size += known * sizeof(*places);
    }
    memcpy((char *)data + size, operand, operand_size);
    mail.data_length = (uint16_t)(size + operand_size);
    return ri_accumulate_remote_serve(&window, &mail, data);
}

static void check_pieces(void)
{
    static char data[RI_MAILBOX_DATA];
    const int32_t places[3][2]  = {{0, 8}, {4096, 16}, {-64, 8}};
    const int32_t outside[2][2] = {{0, 8}, {SIZE, 8}};
    const int64_t numbers[4]    = {1, 2, 3, 4};
    unsigned sum                = code_of(MPI_SUM) | RI_PIECES_LOCK;
    int is_ok;

    make_window();
    is_ok = (ask_pieces(sum, 64, 4, 8, 1000, NULL, numbers, 32, data) == 0) &&
            (at(64) == 1) && (at(1064) == 2) && (at(2064) == 3) && (at(3064) == 4);
    is_ok = is_ok &&
            (ask_pieces(sum | RI_PIECES_FETCH, 64, 3, 0, 0, places, numbers, 32, data) ==
             32) &&
            (at(64) == 2) && (at(4160) == 2) && (at(4168) == 3) && (at(0) == 4) &&
            (((int64_t *)data)[0] == 1) && (((int64_t *)data)[1] == 0);
    is_ok = is_ok &&
            (ask_pieces(code_of(MPI_NO_OP) | RI_PIECES_FETCH, 64, 3, 0, 0, places, NULL,
                        0, data) == 32) &&
            (((int64_t *)data)[0] == 2) && (((int64_t *)data)[3] == 4);
    result(is_ok, "pieces at a stride, and of a list");

    is_ok = (ask_pieces(sum, 64, 4, 8, SIZE, NULL, numbers, 32, data) == -1) &&
            (ask_pieces(sum, 64, 2, 0, 0, outside, numbers, 16, data) == -1) &&
            (ask_pieces(sum, 64, 3, 0, 0, places, numbers, 24, data) == -1) &&
            (ask_pieces(sum, 64, 3, 0, 0, places, NULL, 0, data) == -1) &&
            (ask_pieces(sum, 64, 0, 8, 8, NULL, NULL, 0, data) == -1) &&
            (ask_pieces(sum, 64, UINT32_MAX, 0, 0, places, NULL, 0, data) == -1) &&
            (ask_pieces(sum, 64, 1, UINT32_MAX, 0, NULL, numbers, 8, data) == -1) &&
            (ask_pieces(RI_PIECES_LOCK, 64, 1, 8, 0, NULL, numbers, 8, data) == -1);
    ri_stripes_lock(&window, part.control,
                    ri_stripes_of(&part, (uintptr_t)memory + 4160, 1));
    is_ok = is_ok &&
            (ask_pieces(sum, 64, 3, 0, 0, places, numbers, 32, data) ==
             RI_WINDOW_OPS_BUSY) &&
            /* a put takes no lock */
            (ask_pieces(code_of(MPI_REPLACE), 64, 3, 0, 0, places, numbers, 32, data) ==
             0);
    ri_stripes_unlock(part.control, ri_stripes_of(&part, (uintptr_t)memory + 4160, 1));
    result(is_ok && (at(64) == 1), "wrong pieces, and locked ones");
}

/* Any request on pieces leaves the bytes around the window, and no lock. */
static void check_any_pieces(void)
{
    static char data[RI_MAILBOX_DATA];
    int is_ok = 1, done = 0;

    make_window();
    part.base = memory + 4096;
    part.size = 8192;
    for (int i = 0; i < 200000; ++i) {
        int32_t places[4][2];
        uint32_t length = (uint32_t)rand() % 40;
        uint32_t count  = (uint32_t)rand() % 5;
        size_t size     = (rand() % 2) ? (size_t)rand() % 64 : count * length;
        int64_t stride  = rand() % 2000 - 1000;

        for (int p = 0; p < 4; ++p) {
            places[p][0] = rand() % 6000 - 1000;
            places[p][1] = rand() % 20;
        }
        if (rand() % 50 == 0) {
            length = (uint32_t)rand();
            stride = ((int64_t)rand() << 32) + rand();
        }
        done += ask_pieces((unsigned)rand() & 0x7fffu & ~RI_PIECES_KIND,
                           4096 + (size_t)rand() % 8192, count, (rand() % 2) ? length : 0,
                           stride, (rand() % 2) ? NULL : places, memory, size,
                           data) != -1;
    }
    for (int i = 0; i < SIZE; ++i) {
        is_ok = is_ok && (memory[i] == 0 || ((i >= 4096) && (i < 12288)));
    }
    for (int i = 0; i < RI_WINDOW_STRIPES; ++i) {
        is_ok = is_ok && (atomic_load(&part.control->stripes[i].value) == 0);
    }
    result(is_ok && (done > 100), "any request on pieces");
}

static void check_attached(void)
{
    ri_attached_t attached;
    int is_ok;

    ri_attached_init(&attached);
    is_ok = !ri_attached_has(&attached, (uintptr_t)memory, 1);
    for (int i = 0; i < 20; ++i) { /* every second piece of 100 bytes */
        is_ok = is_ok && ri_attached_add(&attached, memory + 200 * i, 100);
    }
    is_ok = is_ok && !ri_attached_add(&attached, memory + 99, 2) &&
            ri_attached_add(&attached, memory + 100, 100) &&
            ri_attached_has(&attached, (uintptr_t)memory + 200, 100) &&
            !ri_attached_has(&attached, (uintptr_t)memory + 200, 101) &&
            !ri_attached_has(&attached, (uintptr_t)memory + 399, 1) &&
            !ri_attached_has(&attached, (uintptr_t)memory - 1, 2) &&
            !ri_attached_has(&attached, UINT64_MAX, 2) &&
            !ri_attached_remove(&attached, memory + 1) &&
            ri_attached_remove(&attached, memory + 200) &&
            !ri_attached_has(&attached, (uintptr_t)memory + 200, 1) &&
            ri_attached_has(&attached, (uintptr_t)memory + 3800, 100);
    /* Nothing is attached at the same address as something, and is detached behind it */
    is_ok = is_ok && ri_attached_add(&attached, memory + 8000, 0) &&
            ri_attached_add(&attached, memory + 8000, 50) &&
            ri_attached_remove(&attached, memory + 8000) &&
            !ri_attached_has(&attached, (uintptr_t)memory + 8000, 1) &&
            ri_attached_add(&attached, memory + 8000, 50) &&
            ri_attached_remove(&attached, memory + 8000) &&
            ri_attached_remove(&attached, memory + 8000) &&
            !ri_attached_remove(&attached, memory + 8000);
    ri_attached_end(&attached);
    result(is_ok, "memory that is attached");
}

/* A window of three ranks, the last of which is on another host. */
static ri_window_part_t three[3];

static void make_ranks(void)
{
    static const ri_window_net_ops_t net;
    size_t size = RI_CACHE_LINES(sizeof(*part.control) + 3 * sizeof(ri_window_cell_t));

    make_window();
    three[0].control = aligned_alloc(RI_CACHE_LINE, size);
    memset(three[0].control, 0, size);
    three[2].net = &net;
    window.parts = three;
    window.size  = 3;
}

static ri_window_served_t command_of(unsigned kind, int is_b, int is_alone,
                                     uint64_t *state)
{
    const ri_window_command_t command = {.kind     = kind,
                                         .rank     = 2,
                                         .is_b     = (uint8_t)is_b,
                                         .is_alone = (uint8_t)is_alone};
    uint64_t none                     = 0;

    return ri_command_serve(&window, &command, (state == NULL) ? &none : state);
}

static int never(void *arg)
{
    return arg == NULL;
}

static void check_gates(void)
{
    uint64_t first = 0, second = 0, third = 0;
    int is_ok;

    make_ranks();
    is_ok = (command_of(RI_WINDOW_COMMAND_ENTER, 1, 1, &first) ==
             RI_WINDOW_SERVED_DONE) &&
            (command_of(RI_WINDOW_COMMAND_ENTER, 0, 0, &second) ==
             RI_WINDOW_SERVED_LATER) &&
            (command_of(RI_WINDOW_COMMAND_ENTER, 1, 1, &third) ==
             RI_WINDOW_SERVED_LATER) &&
            (command_of(RI_WINDOW_COMMAND_ENTER, 0, 0, &second) ==
             RI_WINDOW_SERVED_LATER) &&
            (command_of(RI_WINDOW_COMMAND_LEAVE, 1, 1, NULL) == RI_WINDOW_SERVED_DONE) &&
            (command_of(RI_WINDOW_COMMAND_ENTER, 1, 1, &third) ==
             RI_WINDOW_SERVED_LATER) &&
            (command_of(RI_WINDOW_COMMAND_ENTER, 0, 0, &second) ==
             RI_WINDOW_SERVED_DONE) &&
            (command_of(RI_WINDOW_COMMAND_LEAVE, 0, 0, NULL) == RI_WINDOW_SERVED_DONE) &&
            (command_of(RI_WINDOW_COMMAND_ENTER, 1, 1, &third) == RI_WINDOW_SERVED_DONE);
    /* A rank of this host stands in the same row */
    is_ok = is_ok &&
            (ri_gate_enter(&three[0].control->lock, RI_GATE_A, 0, never, NULL) != 0) &&
            (ri_gate_enter(&three[0].control->all, RI_GATE_A, 0, never, NULL) == 0);
    result(is_ok, "gates, in the order in which ranks have come");

    make_ranks();
    first = second = 0;
    is_ok          = (command_of(RI_WINDOW_COMMAND_ENTER, 0, 0, &first) ==
             RI_WINDOW_SERVED_DONE) &&
            (command_of(RI_WINDOW_COMMAND_JOIN, 1, 0, &second) ==
             RI_WINDOW_SERVED_LATER) &&
            (command_of(RI_WINDOW_COMMAND_JOIN, 1, 0, &second) ==
             RI_WINDOW_SERVED_LATER) &&
            (command_of(RI_WINDOW_COMMAND_LEAVE, 0, 0, NULL) == RI_WINDOW_SERVED_DONE) &&
            (command_of(RI_WINDOW_COMMAND_JOIN, 1, 0, &second) ==
             RI_WINDOW_SERVED_DONE) &&
            (command_of(RI_WINDOW_COMMAND_LEAVE, 1, 0, NULL) == RI_WINDOW_SERVED_DONE) &&
            (atomic_load(&three[0].control->lock) >> 32 == 0);
    result(is_ok, "a gate that is joined");
}

static void check_stripes(void)
{
    ri_window_command_t command = {
            .kind = RI_WINDOW_COMMAND_LOCK, .rank = 2, .stripes = 6};
    uint64_t state = 0;
    int is_ok;

    make_ranks();
    ri_stripes_lock(&window, three[0].control, 4);
    is_ok = (ri_command_serve(&window, &command, &state) == RI_WINDOW_SERVED_LATER) &&
            (atomic_load(&three[0].control->stripes[1].value) == 0); /* all or none */
    ri_stripes_unlock(three[0].control, 4);
    is_ok = is_ok &&
            (ri_command_serve(&window, &command, &state) == RI_WINDOW_SERVED_DONE) &&
            (atomic_load(&three[0].control->stripes[1].value) == 3) &&
            (atomic_load(&three[0].control->stripes[2].value) == 3);
    ri_stripes_lock(&window, three[0].control, 8);
    command.kind    = RI_WINDOW_COMMAND_UNLOCK;
    command.stripes = UINT64_MAX; /* those that others have stay */
    is_ok           = is_ok &&
            (ri_command_serve(&window, &command, &state) == RI_WINDOW_SERVED_DONE) &&
            (atomic_load(&three[0].control->stripes[1].value) == 0) &&
            (atomic_load(&three[0].control->stripes[3].value) == 1);
    result(is_ok, "locks of elements for another host");
}

static int write_word(uint32_t offset, uint32_t value)
{
    const ri_window_command_t command = {
            .kind = RI_WINDOW_COMMAND_WORD, .rank = 2, .offset = offset, .value = value};
    uint64_t state = 0;

    return ri_command_serve(&window, &command, &state) == RI_WINDOW_SERVED_DONE;
}

static void check_words(void)
{
    uint32_t cell = (uint32_t)(offsetof(ri_window_control_t, cells) +
                               2 * sizeof(ri_window_cell_t));
    uint32_t size = (uint32_t)(offsetof(ri_window_control_t, cells) +
                               3 * sizeof(ri_window_cell_t));
    uint32_t at;
    int is_ok, written = 0;

    make_ranks();
    is_ok = write_word(cell, 1) && write_word(cell, 2) && write_word(cell, 1) &&
            (atomic_load(&three[0].control->cells[2].posted) == 2); /* it counts up */
    is_ok = is_ok && write_word(cell, 0x7ffffff0u) && write_word(cell, 0xffffff00u) &&
            write_word(cell, 3) &&
            (atomic_load(&three[0].control->cells[2].posted) == 3); /* and wraps */
    for (at = 0; at < size + 4096; ++at) {
        written += write_word(at, 9);
    }
    /* The rounds of the barrier, and the two of its own cell */
    is_ok = is_ok && (written == RI_WINDOW_ROUNDS + 2) &&
            (atomic_load(&three[0].control->cells[1].posted) == 0) &&
            (atomic_load(&three[0].control->stripes[0].value) == 0) &&
            (atomic_load(&three[0].control->lock) == 0);
    result(is_ok, "words that another host may write");
}

static void check_wrong_commands(void)
{
    ri_window_command_t command = {.kind = RI_WINDOW_COMMAND_ENTER};
    uint64_t state              = 0;
    int is_ok                   = 1;

    make_ranks();
    for (command.rank = 0; command.rank < 6;
         ++command.rank) { /* ranks of this host, and none */
        if (command.rank != 2) {
            is_ok = is_ok &&
                    (ri_command_serve(&window, &command, &state) == RI_WINDOW_SERVED_BAD);
        }
    }
    command.rank = UINT32_MAX;
    is_ok        = is_ok &&
            (ri_command_serve(&window, &command, &state) == RI_WINDOW_SERVED_BAD);
    command.rank = 2;
    for (command.kind = RI_WINDOW_COMMAND_KINDS; command.kind != 0; command.kind <<= 1) {
        is_ok = is_ok &&
                (ri_command_serve(&window, &command, &state) == RI_WINDOW_SERVED_BAD);
    }
    result(is_ok && (atomic_load(&three[0].control->lock) == 0), "wrong commands");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_right();
    check_wrong();
    check_locked();
    check_any();
    check_pieces();
    check_any_pieces();
    check_attached();
    check_gates();
    check_stripes();
    check_words();
    check_wrong_commands();
    MPI_Finalize();
    return failed;
}
