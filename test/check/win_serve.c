/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a process does for others with its own memory in a window (src/win/accumulate_remote.c): right
 * requests, wrong ones, and any bytes. Is linked with the library for windows of an MPI, and runs as
 * one process of it.
 */
#include "win/accumulate_remote.h"
#include "win/attached.h"
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

/* @return As ri_accumulate_serve(). */
static int ask(unsigned kind, size_t offset, size_t length, size_t data_length,
               void *data)
{
    const ri_mailbox_head_t head = {.kind        = (uint16_t)(RI_WINDOW_OPS_KIND | kind),
                                    .length      = (uint16_t)length,
                                    .data_length = (uint16_t)data_length,
                                    .address     = (uintptr_t)memory + offset};

    return ri_accumulate_serve(&window, &head, data);
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
    result(is_ok, "wrong lengths, no operation");
    result(code_of(MPI_MAXLOC) == 0, "an operation that the MPI has to do");
}

/* A process that waits for a lock may be waited for by its holder. */
static void check_locked(void)
{
    int64_t one[2] = {1, 0};
    int is_ok;

    make_window();
    ri_stripes_lock(&window, part.control, ri_stripes_of(&part, (uintptr_t)memory, 1));
    is_ok = (ask(code_of(MPI_SUM), 0, NUMBER, NUMBER, one) == -1) && (at(0) == 0) &&
            /* In the next stripe, and across both: that one is free afterwards */
            (ask(code_of(MPI_SUM), 4096, NUMBER, NUMBER, one) == 0) &&
            (ask(code_of(MPI_SUM), 4092, NUMBER, NUMBER, one) == -1) &&
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
    ri_attached_end(&attached);
    result(is_ok, "memory that is attached");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_right();
    check_wrong();
    check_locked();
    check_any();
    check_attached();
    MPI_Finalize();
    return failed;
}
