/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * One-sided operations: remote keys as a peer may have made them up, and what the application does
 * with them (KEY, RMA), the mailbox of this process as an origin may have written it (MAIL), and the
 * mail of this process as a target may have answered it (POST). The memory that all
 * of this may touch is in blocks of its own, so that the sanitizer sees what goes beyond them.
 */

#include "fuzz_state.h"
#include "ucp/rma/describe.h"
#include "ucp/rma/direct.h"
#include "ucp/core/settings/costs.h"
#include "ucp/rma/mail.h"
#include "ucp/rma/posts.h"
#include "ucp/rma/region.h"
#include "ucp/rma/serve.h"
#include "uct/shm/shared_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RMA_SIZE 8192
#define RMA_KEYS 4

enum {
    RMA_OWN,    /* private */
    RMA_SHARED, /* of a file */
    RMA_REGIONS
};

static struct {
    int is_used;
    uint8_t *memory[RMA_REGIONS];
    int handles[RMA_REGIONS]; /* their addresses are stock's handles */
    int fd;
    ri_wire_rkey_t wires[RMA_REGIONS];
    int keys[RMA_KEYS];
    uint64_t addresses[RMA_KEYS]; /* as the key says */
    ri_reach_t *reach;            /* to this process */
} rma;

static ucp_mem_h rma_handle(int which)
{
    return (ucp_mem_h)&rma.handles[which];
}

static ucp_rkey_h rma_key(unsigned which)
{
    return (ucp_rkey_h)&rma.keys[which % RMA_KEYS];
}

/* What is there from the first operation of an input on. */
static void rma_start(void)
{
    int i;

    if (rma.is_used) {
        return;
    }
    rma.is_used            = 1;
    rma.memory[RMA_OWN]    = calloc(1, RMA_SIZE);
    rma.memory[RMA_SHARED] = ri_shared_file_make("fuzz", RMA_SIZE, 0, &rma.fd);
    CHECK((rma.memory[RMA_OWN] != NULL) && (rma.memory[RMA_SHARED] != NULL));
    for (i = 0; i < RMA_REGIONS; ++i) {
        ri_region_add(rma_handle(i), rma.memory[i], RMA_SIZE);
        CHECK(ri_describe(rma_handle(i), 0, &rma.wires[i]) == UCS_OK);
    }
    CHECK(ri_serve_start() >= 0);
    rma.reach = ri_reach_get(rma.wires[RMA_OWN].plane, rma.wires[RMA_OWN].plane_length);
    CHECK(rma.reach != NULL);
    ri_reach_open_mail(rma.reach, getpid(), ri_serve_start());
    CHECK(rma.reach->mail.area != NULL);
    /* Nothing is measured here: mail is the better way */
    ri_costs.line       = 100;
    ri_costs.plane.call = 1000;
    ri_costs.plane.rate = 10;
}

void fuzz_rma_stop(void)
{
    ri_mailbox_rx_t *rx = atomic_load(&ri_serve_mailbox);
    unsigned i;

    if (!rma.is_used) {
        return;
    }
    for (i = 0; i < RMA_KEYS; ++i) {
        ri_rkey_remove(rma_key(i));
    }
    ri_reach_put(rma.reach);
    for (i = 0; i < RMA_REGIONS; ++i) {
        ri_region_remove(rma_handle(i));
    }
    free(rma.memory[RMA_OWN]);
    munmap(rma.memory[RMA_SHARED], RMA_SIZE);
    close(rma.fd);
    atomic_store(&ri_serve_mailbox, NULL);
    ri_mailbox_rx_end(rx);
    free(rx);
    memset(&rma, 0, sizeof(rma));
}

/* Put bytes of the input anywhere in a block. */
static void rma_patch(input_t *in, void *block, size_t size)
{
    uint8_t *bytes = block;
    unsigned count = take(in) % 16;
    size_t at;

    for (; count > 0; --count) {
        at        = take16(in) % size;
        bytes[at] = take(in);
    }
}

void fuzz_op_key(input_t *in)
{
    uint8_t what  = take(in);
    uint8_t which = take(in);
    ri_wire_rkey_t wire;
    const void *stock;
    uint8_t *packed;
    size_t length;

    rma_start();
    wire = rma.wires[what % RMA_REGIONS];
    if (what & 0x40) {
        /* As of another process of this host, whose memory is not copied */
        wire.process.start ^= 1;
        wire.plane_length = 0;
        wire.address += 0x10000;
    }
    rma_patch(in, &wire, sizeof(wire));
    length = (wire.magic == RI_WIRE_RKEY_MAGIC) ? ri_max(wire.length, sizeof(wire)) + 8 :
                                                  sizeof(wire.magic);
    packed = fuzz_take_bytes(in, length);
    memcpy(packed, &wire, ri_min(length, sizeof(wire)));
    ri_rkey_remove(rma_key(which));
    if (ri_wire_rkey_parse(packed, &stock, &wire) == UCS_OK) {
        rma.addresses[which % RMA_KEYS] = wire.address;
        ri_rkey_add(rma_key(which), &wire);
    }
    CHECK(((const uint8_t *)stock >= packed) &&
          ((const uint8_t *)stock < packed + length));
    free(packed);
}

/* An operation with a key: put, get, or an atomic one. */
void fuzz_op_rma(input_t *in)
{
    uint8_t what     = take(in);
    uint8_t which    = take(in);
    uint64_t address = rma.addresses[which % RMA_KEYS] + (int16_t)take16(in);
    size_t length    = take16(in) % (RMA_SIZE + 256);
    ri_conn_t *conn  = fuzz_pick_conn(0);
    uint64_t result  = take(in);
    ucs_status_t status;
    uint8_t *local;

    if (conn == NULL) {
        return;
    }
    local = fuzz_take_bytes(in, length);
    ri_worker_lock(conn->worker);
    switch (what % 4) {
    case 0:
        status = ri_direct_put(conn, rma_key(which), local, length, address);
        break;
    case 1:
        status = ri_direct_get(conn, rma_key(which), local, length, address);
        break;
    default:
        status = ri_direct_atomic(conn, rma_key(which), (what >> 2) % 8,
                                  (what & 1) ? 4 : 8, length,
                                  (what & 0x80) ? NULL : &result, address);
        break;
    }
    ri_worker_unlock(conn->worker);
    CHECK((status == UCS_OK) || (status == UCS_ERR_UNSUPPORTED) ||
          (status == UCS_ERR_CONNECTION_RESET));
    free(local);
}

/* An operation as an origin has written it: of the private memory, if its address is not patched. */
static void mail_write(input_t *in, ri_mailbox_area_t *area, unsigned slot)
{
    _Atomic(uint32_t) *doorbell = (_Atomic(uint32_t) *)area->doorbells + slot;
    uint32_t number             = atomic_load(doorbell);
    ri_mailbox_entry_t *entry   = &area->slots[slot][number % RI_MAILBOX_DEPTH];

    entry->head = (ri_mailbox_head_t){.kind        = take(in) % 12,
                                      .length      = take16(in),
                                      .data_length = take16(in),
                                      .region      = rma.wires[RMA_OWN].region,
                                      .address     = rma.wires[RMA_OWN].address +
                                                 (int16_t)take16(in)};
    atomic_store(&entry->state, RI_MAILBOX_WORD(number, RI_MAILBOX_POSTED));
    atomic_store(doorbell, number + 1);
    rma_patch(in, entry, sizeof(*entry));
}

/* What other processes can do to the mailbox of this one. */
void fuzz_op_mail(input_t *in)
{
    uint8_t what = take(in);
    ri_mailbox_area_t *area;
    unsigned slot;

    rma_start();
    area = atomic_load(&ri_serve_mailbox)->area;
    slot = 1 + what % 4; /* the first one is this process's own */
    atomic_store(&area->num_words, RI_MAILBOX_WORDS);
    if (what & 0x80) {
        rma_patch(in, area, offsetof(ri_mailbox_area_t, owners));
    }
    mail_write(in, area, slot);
    if (what & 0x40) {
        mail_write(in, area, slot);
    }
    ri_serve();
}

/* A target may write what it likes, but nobody ends a wait for one that says that it is at it. */
static void post_end_serving(const ri_mailbox_tx_t *tx)
{
    ri_mailbox_entry_t *entries = tx->area->slots[tx->slot];
    unsigned i;

    for (i = 0; i < RI_MAILBOX_DEPTH; ++i) {
        if ((atomic_load(&entries[i].state) & 0xff) == RI_MAILBOX_SERVING) {
            atomic_store(&entries[i].state, RI_MAILBOX_DONE);
        }
    }
}

/* Mail of this process, to itself, which was answered in any way. */
void fuzz_op_post(input_t *in)
{
    uint8_t what           = take(in);
    ri_mailbox_head_t head = {.kind   = take(in) % 9,
                              .length = take16(in) % (RI_MAILBOX_DATA + 1),
                              .region = 1}; /* none: what is served here is refused */
    unsigned withdrawn     = 0;
    ri_mailbox_tx_t *tx;
    uint8_t *data;

    rma_start();
    tx               = &rma.reach->mail;
    head.address     = rma.wires[RMA_OWN].address + take16(in) % RMA_SIZE;
    head.length      = ri_min(head.length,
                              RMA_SIZE - (head.address - rma.wires[RMA_OWN].address));
    head.data_length = head.length;
    data             = fuzz_take_bytes(in, head.length);
    if (head.kind == RI_SERVE_PUT) {
        CHECK(ri_mail_put(rma.reach, &head, data, &withdrawn) == RI_MAIL_DONE);
        rma_patch(in, tx->area->slots[tx->slot], sizeof(tx->area->slots[tx->slot]));
        post_end_serving(tx);
    } else {
        ri_mail_ask(rma.reach, &head, data, data, &withdrawn);
    }
    free(data);
    if (what & 1) {
        ri_mail_settle(rma.reach, &withdrawn);
        CHECK(ri_mail_is_settled(rma.reach));
    }
}
