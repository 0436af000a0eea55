/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * No memory may be unmapped while it is worked on: what is served holds the lock of the regions.
 */
#include "serve.h"
#include "region.h"
#include "word.h"
#include "../../ucs/log.h"
#include "../../ucs/process.h"

#include <stdlib.h>

_Atomic(ri_mailbox_rx_t *) ri_serve_mailbox;

/* The process that has made the mailbox. */
static unsigned serve_generation;

int ri_serve_start(void)
{
    ri_mailbox_rx_t *rx;
    int fd = -1;

    ri_region_lock();
    rx = atomic_load(&ri_serve_mailbox);
    if ((rx != NULL) && (serve_generation == ri_process_generation)) {
        fd = rx->fd;
    } else {
        /* A parent's by fork() is left alone */
        rx = malloc(sizeof(*rx));
        if ((rx != NULL) && (ri_mailbox_rx_make(rx) == UCS_OK)) {
            fd               = rx->fd;
            serve_generation = ri_process_generation;
            atomic_store(&ri_serve_mailbox, rx);
        } else {
            ri_debug("one-sided: no mailbox");
            free(rx);
        }
    }
    ri_region_unlock();
    return fd;
}

/* Operands of the operation's own size. */
static uint64_t serve_operand(const uint8_t *data, size_t size)
{
    uint32_t value_32;
    uint64_t value;

    if (size == sizeof(value_32)) {
        memcpy(&value_32, data, sizeof(value_32));
        return value_32;
    }
    memcpy(&value, data, sizeof(value));
    return value;
}

static int serve_atomic(const ri_mailbox_head_t *head, uint8_t *data, void *memory)
{
    unsigned op      = head->kind - RI_SERVE_ATOMIC;
    size_t size      = head->length;
    unsigned operand = (op == UCP_ATOMIC_OP_CSWAP) ? 2 : 1;
    uint64_t old, swap;

    if (!ri_word_can(op, size, head->address) || (head->data_length != operand * size)) {
        return -1;
    }
    swap = (operand == 2) ? serve_operand(data + size, size) : 0;
    old  = ri_word_atomic(memory, size, op, serve_operand(data, size), swap);
    memcpy(data, &old, size); /* of 4 bytes, the lower half */
    return size;
}

/* The regions are locked. */
static int serve_one(const ri_mailbox_head_t *head, uint8_t *data)
{
    void *memory = (void *)(uintptr_t)head->address;

    if (!ri_region_has(head->region, head->address, head->length)) {
        return -1;
    }
    switch (head->kind) {
    case RI_SERVE_PUT:
        if (head->data_length != head->length) {
            return -1;
        }
        ri_word_copy(memory, data, head->length);
        return 0;
    case RI_SERVE_GET:
        ri_word_copy(data, memory, head->length);
        return head->length;
    default:
        return serve_atomic(head, data, memory);
    }
}

/* The regions are locked. */
static unsigned serve_all(void)
{
    ri_mailbox_rx_t *rx = atomic_load(&ri_serve_mailbox);

    return (serve_generation == ri_process_generation) ?
                   ri_mailbox_rx_serve(rx, serve_one) :
                   0;
}

unsigned ri_serve_rung(void)
{
    unsigned count;

    if (!ri_region_trylock()) {
        return 0; /* another thread is at it, or a region goes */
    }
    count = serve_all();
    ri_region_unlock();
    return count;
}

unsigned ri_serve_called(void)
{
    unsigned count;

    ri_region_lock();
    count = serve_all();
    ri_region_unlock();
    return count;
}
