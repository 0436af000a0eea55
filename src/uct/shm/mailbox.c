/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The target's side, then the origin's.
 */
#include "mailbox.h"
#include "host.h"
#include "shared_file.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An origin may post an operation while others of its operations are carried out. The owner carries
 * it out in a further round, as its next look may be some time away. This is the most rounds, as
 * the application of the owner waits meanwhile. */
#define MAILBOX_ROUNDS 4

ucs_status_t ri_mailbox_rx_make(ri_mailbox_rx_t *rx)
{
    memset(rx, 0, sizeof(*rx));
    rx->area = ri_shared_file_make("ucxri-mailbox", sizeof(*rx->area), 0, &rx->fd);
    if (rx->area == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    rx->area->version = RI_MAILBOX_VERSION;
    return UCS_OK;
}

void ri_mailbox_rx_end(ri_mailbox_rx_t *rx)
{
    if (rx->area != NULL) {
        munmap(rx->area, sizeof(*rx->area));
        close(rx->fd);
        rx->area = NULL;
    }
}

/* A long operation, page by page: the origin reads the ones before meanwhile. @return 0, or -1. */
static int mailbox_serve_long(ri_mailbox_area_t *area, unsigned slot, uint32_t number,
                              const ri_mailbox_head_t *head, ri_mailbox_func_t func)
{
    ri_mailbox_entry_t *entry = &area->slots[slot][number % RI_MAILBOX_DEPTH];
    uint8_t *data             = ri_mailbox_data(area, slot, number, head->length);
    ri_mailbox_head_t piece   = *head;
    unsigned done;

    if ((head->length > RI_MAILBOX_LONG) || (head->data_length > 0) ||
        (number % RI_MAILBOX_LONG_ENTRIES != 0)) {
        return -1;
    }
    for (done = 0; done < head->length; done += piece.length) {
        piece.address = head->address + done;
        piece.length  = ri_min(head->length - done, (unsigned)RI_MAILBOX_DATA);
        atomic_store_explicit(&entry->ready, done, memory_order_release);
        if (func(&piece, data + done) < 0) {
            return -1;
        }
    }
    return 0;
}

/* @return The length of the result, or -1. */
static int mailbox_serve_op(ri_mailbox_area_t *area, unsigned slot, uint32_t number,
                            ri_mailbox_func_t func)
{
    ri_mailbox_entry_t *entry = &area->slots[slot][number % RI_MAILBOX_DEPTH];
    ri_mailbox_head_t head    = entry->head;
    _Alignas(8) uint8_t data[RI_MAILBOX_INLINE];
    int length;

    /* The compiler must use the copy that is checked, and read no field from the entry again */
    __asm__ volatile("" : "+m"(head));

    if (head.length > RI_MAILBOX_DATA) {
        return mailbox_serve_long(area, slot, number, &head, func);
    }
    if (head.data_length > ri_max(head.length, (unsigned)RI_MAILBOX_INLINE)) {
        return -1;
    }
    if (head.length > RI_MAILBOX_INLINE) {
        return func(&head, ri_mailbox_data(area, slot, number, head.length));
    }
    memcpy(data, entry->data, head.data_length);
    length = func(&head, data);
    if (length > 0) {
        memcpy(entry->data, data, ri_min((size_t)length, sizeof(data)));
    }
    return length;
}

/* @return Whether there was something in the entry. */
static int mailbox_serve_entry(ri_mailbox_area_t *area, unsigned slot, uint32_t number,
                               ri_mailbox_func_t func)
{
    ri_mailbox_entry_t *entry = &area->slots[slot][number % RI_MAILBOX_DEPTH];
    uint32_t posted           = RI_MAILBOX_WORD(number, RI_MAILBOX_POSTED);
    int length;

    if (!atomic_compare_exchange_strong(&entry->state, &posted,
                                        RI_MAILBOX_WORD(number, RI_MAILBOX_SERVING))) {
        return 0; /* it was withdrawn */
    }
    length = mailbox_serve_op(area, slot, number, func);
    atomic_store_explicit(
            &entry->state,
            RI_MAILBOX_WORD(number, (length < 0) ? RI_MAILBOX_REFUSED : RI_MAILBOX_DONE),
            memory_order_release);
    return 1;
}

/* A doorbell has gone on from a number to another one. */
static unsigned mailbox_serve_slot(ri_mailbox_area_t *area, unsigned slot, uint32_t from,
                                   uint32_t to, ri_mailbox_func_t func)
{
    uint32_t number = (to - from > RI_MAILBOX_DEPTH) ? to - RI_MAILBOX_DEPTH : from;
    unsigned count  = 0;

    for (; number != to; ++number) {
        count += mailbox_serve_entry(area, slot, number, func);
    }
    return count;
}

/* Doorbells of a word, some of which have rung. */
static unsigned mailbox_serve_word(ri_mailbox_rx_t *rx, unsigned word, uint64_t rung,
                                   ri_mailbox_func_t func)
{
    uint64_t seen = atomic_load_explicit(&rx->seen[word], memory_order_relaxed);
    uint32_t now[RI_MAILBOX_BELLS], before[RI_MAILBOX_BELLS];
    unsigned count = 0;
    unsigned i;

    memcpy(now, &rung, sizeof(now));
    memcpy(before, &seen, sizeof(before));
    atomic_store_explicit(&rx->seen[word], rung, memory_order_relaxed);
    for (i = 0; i < RI_MAILBOX_BELLS; ++i) {
        count += mailbox_serve_slot(rx->area, word * RI_MAILBOX_BELLS + i, before[i],
                                    now[i], func);
    }
    return count;
}

/* One look at all doorbells. */
static unsigned mailbox_serve_round(ri_mailbox_rx_t *rx, ri_mailbox_func_t func)
{
    unsigned num_words = atomic_load_explicit(&rx->area->num_words, memory_order_relaxed);
    unsigned count     = 0;
    uint64_t rung;
    unsigned i;

    for (i = 0; i < ri_min(num_words, (unsigned)RI_MAILBOX_WORDS); ++i) {
        rung = atomic_load_explicit(&rx->area->doorbells[i], memory_order_acquire);
        if (rung != atomic_load_explicit(&rx->seen[i], memory_order_relaxed)) {
            count += mailbox_serve_word(rx, i, rung, func);
        }
    }
    return count;
}

unsigned ri_mailbox_rx_serve(ri_mailbox_rx_t *rx, ri_mailbox_func_t func)
{
    unsigned rounds = MAILBOX_ROUNDS;
    unsigned total  = 0;
    unsigned count;

    do {
        count = mailbox_serve_round(rx, func);
        total += count;
    } while ((count > 0) && (--rounds > 0));
    return total;
}

ri_mailbox_sleep_t ri_mailbox_rx_sleep(ri_mailbox_rx_t *rx, uint32_t calls)
{
    if (syscall(SYS_futex, &rx->area->calls, FUTEX_WAIT, calls, NULL, NULL, 0) == 0) {
        return RI_MAILBOX_SLEPT;
    }
    if (errno == EAGAIN) {
        return RI_MAILBOX_CALLED;
    }
    return (errno == EINTR) ? RI_MAILBOX_SLEPT : RI_MAILBOX_NO_SLEEP;
}

/* How a process is named in a slot that it has. */
static uint64_t mailbox_owner(const ri_host_process_t *process)
{
    return ((uint64_t)process->pid << 32) | process->start;
}

static int mailbox_owner_is_gone(uint64_t owner, uint64_t host)
{
    ri_host_process_t process = {.host = host, .pid = owner >> 32, .start = owner};

    return ri_host_process_look(&process) == RI_HOST_GONE;
}

/* @return Whether the slot of a process that is gone may be used: the target is not at it. */
static int mailbox_slot_clear(ri_mailbox_entry_t *entries)
{
    uint32_t state;
    unsigned i;

    for (i = 0; i < RI_MAILBOX_DEPTH; ++i) {
        state = atomic_load(&entries[i].state);
        if (((state & ((1u << RI_MAILBOX_STATE_BITS) - 1)) == RI_MAILBOX_SERVING) ||
            !atomic_compare_exchange_strong(&entries[i].state, &state, RI_MAILBOX_FREE)) {
            return 0;
        }
    }
    return 1;
}

/* Take a slot that nobody has, or with @a of_gone one whose owner is gone. @return Its number, or
 * RI_MAILBOX_SLOTS. */
static unsigned mailbox_claim(ri_mailbox_area_t *area, const ri_host_process_t *self,
                              int of_gone)
{
    uint64_t owner;
    unsigned i;

    for (i = 0; i < RI_MAILBOX_SLOTS; ++i) {
        owner = atomic_load(&area->owners[i]);
        if ((of_gone ? ((owner != 0) && mailbox_owner_is_gone(owner, self->host)) :
                       (owner == 0)) &&
            atomic_compare_exchange_strong(&area->owners[i], &owner,
                                           mailbox_owner(self))) {
            if (mailbox_slot_clear(area->slots[i])) {
                return i;
            }
            atomic_store(&area->owners[i], owner);
        }
    }
    return RI_MAILBOX_SLOTS;
}

/* From now on the target looks at the doorbell of a slot. */
static void mailbox_announce(ri_mailbox_area_t *area, unsigned slot)
{
    uint32_t words = slot / RI_MAILBOX_BELLS + 1;
    uint32_t now   = atomic_load(&area->num_words);

    while ((now < words) &&
           !atomic_compare_exchange_weak(&area->num_words, &now, words)) {}
}

/* Have the pages of long data of a slot now: where there is no memory for them that shows here, and
 * not as a bus error later. Kernels before 5.14 cannot be asked for that. @return Whether they are
 * there. */
static int mailbox_reserve(ri_mailbox_area_t *area, unsigned slot)
{
#ifdef MADV_POPULATE_WRITE
    return (madvise(area->bulk[slot], sizeof(area->bulk[slot]), MADV_POPULATE_WRITE) ==
            0) ||
           (errno == EINVAL);
#else
    (void)area;
    (void)slot;
    return 1;
#endif
}

ucs_status_t ri_mailbox_tx_open(ri_mailbox_tx_t *tx, uint32_t pid, uint32_t fd)
{
    ri_host_process_t self = ri_host_process_self();
    ri_mailbox_area_t *area;
    unsigned slot;

    memset(tx, 0, sizeof(*tx));
    area = ri_shared_file_open(pid, fd, sizeof(*area), 0);
    if (area == NULL) {
        return UCS_ERR_UNREACHABLE;
    }
    if (area->version != RI_MAILBOX_VERSION) {
        munmap(area, sizeof(*area));
        return UCS_ERR_UNREACHABLE;
    }
    slot = mailbox_claim(area, &self, 0);
    if (slot == RI_MAILBOX_SLOTS) {
        slot = mailbox_claim(area, &self, 1);
    }
    if (slot == RI_MAILBOX_SLOTS) {
        munmap(area, sizeof(*area));
        return UCS_ERR_NO_RESOURCE;
    }
    if (!mailbox_reserve(area, slot)) {
        atomic_store(&area->owners[slot], 0);
        munmap(area, sizeof(*area));
        return UCS_ERR_NO_MEMORY;
    }
    mailbox_announce(area, slot);
    tx->area     = area;
    tx->slot     = slot;
    tx->doorbell = (_Atomic(uint32_t) *)area->doorbells + slot;
    tx->next     = atomic_load(tx->doorbell);
    return UCS_OK;
}

void ri_mailbox_tx_close(ri_mailbox_tx_t *tx)
{
    if (tx->area != NULL) {
        atomic_store(&tx->area->owners[tx->slot], 0);
        munmap(tx->area, sizeof(*tx->area));
        tx->area = NULL;
    }
}

uint32_t ri_mailbox_tx_post(ri_mailbox_tx_t *tx, const ri_mailbox_head_t *head,
                            const void *data)
{
    uint32_t number           = tx->next++;
    ri_mailbox_entry_t *entry = ri_mailbox_tx_entry(tx, number);

    entry->head = *head;
    if (head->data_length > 0) {
        memcpy(ri_mailbox_data(tx->area, tx->slot, number, head->length), data,
               head->data_length);
    }
    atomic_store_explicit(&entry->state, RI_MAILBOX_WORD(number, RI_MAILBOX_POSTED),
                          memory_order_release);
    atomic_store_explicit(tx->doorbell, tx->next, memory_order_release);
    return number;
}

uint32_t ri_mailbox_tx_post_long(ri_mailbox_tx_t *tx, const ri_mailbox_head_t *head)
{
    uint32_t number = ri_mailbox_next_long(tx->next);

    atomic_store_explicit(&ri_mailbox_tx_entry(tx, number)->ready, 0,
                          memory_order_relaxed);
    tx->next = number;
    ri_mailbox_tx_post(tx, head, NULL);
    tx->next = number + RI_MAILBOX_LONG_ENTRIES;
    return number;
}

void ri_mailbox_tx_call(ri_mailbox_tx_t *tx)
{
    atomic_fetch_add(&tx->area->calls, 1);
    syscall(SYS_futex, &tx->area->calls, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
