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

ri_serve_kind_t ri_serve_kind(ucp_atomic_op_t op)
{
    static const ri_serve_kind_t kinds[UCP_ATOMIC_OP_LAST] = {
            [UCP_ATOMIC_OP_ADD] = RI_SERVE_ADD,     [UCP_ATOMIC_OP_SWAP] = RI_SERVE_SWAP,
            [UCP_ATOMIC_OP_CSWAP] = RI_SERVE_CSWAP, [UCP_ATOMIC_OP_AND] = RI_SERVE_AND,
            [UCP_ATOMIC_OP_OR] = RI_SERVE_OR,       [UCP_ATOMIC_OP_XOR] = RI_SERVE_XOR,
    };

    return kinds[op];
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

static int serve_atomic(ucp_atomic_op_t op, const ri_mailbox_head_t *head, uint8_t *data,
                        void *memory)
{
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

    if (head->kind & RI_WINDOW_OPS_KIND) {
        return ri_region_apply(head, data);
    }
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
        if (head->data_length != 0) {
            return -1;
        }
        ri_word_copy(data, memory, head->length);
        return head->length;
    case RI_SERVE_ADD:
        return serve_atomic(UCP_ATOMIC_OP_ADD, head, data, memory);
    case RI_SERVE_SWAP:
        return serve_atomic(UCP_ATOMIC_OP_SWAP, head, data, memory);
    case RI_SERVE_CSWAP:
        return serve_atomic(UCP_ATOMIC_OP_CSWAP, head, data, memory);
    case RI_SERVE_AND:
        return serve_atomic(UCP_ATOMIC_OP_AND, head, data, memory);
    case RI_SERVE_OR:
        return serve_atomic(UCP_ATOMIC_OP_OR, head, data, memory);
    case RI_SERVE_XOR:
        return serve_atomic(UCP_ATOMIC_OP_XOR, head, data, memory);
    default:
        return -1;
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
