/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Small one-sided operations on memory that only its own process can touch without a system call. A
 * process (the target) has one mailbox in shared memory. Each process that asks for operations (an
 * origin) has a slot there with eight entries, and posts its operations to one after the other. The
 * target carries them out in that order when it looks, which it does in its progress. An origin
 * that does not want to wait any longer withdraws an operation, by compare-and-swap, and does it
 * by other means; so it never depends on a target that computes. Longer data has a page for each
 * entry. A long operation, which brings no data, takes four entries and the pages of all: its
 * origin reads a page of the result while the target writes the next one.
 *
 * A target does not look at entries but at doorbells, 32 bits for each slot, two at once. An origin
 * rings by counting them up, with a plain store; so a doorbell also says which operations were
 * posted. Nobody resets it: the target remembers what it has seen. The state of an entry names its
 * operation: a target that has lost its processor between a doorbell and an entry does not take a
 * later operation for the one that it means, which would be out of order.
 *
 * The target may have a thread that sleeps until an origin calls it, and then looks in place of the
 * rest of the process. That costs some microseconds, so it is for operations that cannot be done by
 * other means.
 *
 * The other side may write anything at any time. The target copies an operation before it looks at
 * it, and the origin takes from an entry no more than it has asked for.
 */
#ifndef RI_MAILBOX_H
#define RI_MAILBOX_H

#include "../../ucs/base.h"

#include <assert.h>
#include <stdint.h>

/* Processes that may use a mailbox at the same time. */
#define RI_MAILBOX_SLOTS 128

/* Operations of one origin at the same time: a power of two. */
#define RI_MAILBOX_DEPTH 8

/* The most data of an operation, and of its result: RI_MAILBOX_INLINE bytes in the entry itself,
 * RI_MAILBOX_DATA bytes at all. */
#define RI_MAILBOX_INLINE 96
#define RI_MAILBOX_DATA   4096

/* A long operation is one of more than RI_MAILBOX_DATA bytes, and of RI_MAILBOX_LONG at the most.
 * It takes RI_MAILBOX_LONG_ENTRIES entries in a row, and the number of the first one is a multiple
 * of that. */
#define RI_MAILBOX_LONG_ENTRIES 4
#define RI_MAILBOX_LONG         (RI_MAILBOX_LONG_ENTRIES * RI_MAILBOX_DATA)

/*
 * The state of an entry, and who changes it:
 *
 *   FREE -> POSTED             origin: ri_mailbox_tx_post()
 *   POSTED -> SERVING          target: it has seen the doorbell
 *   POSTED -> FREE             origin: it withdraws the operation; ri_mailbox_tx_withdraw()
 *   SERVING -> DONE, REFUSED   target
 *   DONE, REFUSED -> FREE      origin: it has seen the result; ri_mailbox_tx_free()
 */
typedef enum ri_mailbox_state {
    RI_MAILBOX_FREE,    /* there is no operation in the entry */
    RI_MAILBOX_POSTED,  /* whoever changes this first has the operation */
    RI_MAILBOX_SERVING, /* the target is carrying the operation out */
    RI_MAILBOX_DONE,    /* the operation is over, and its result is there */
    RI_MAILBOX_REFUSED  /* the operation is over, and nothing was done */
} ri_mailbox_state_t;

/* What stands in an entry: its state, and above that the lower bits of the number of its
 * operation. */
#define RI_MAILBOX_STATE_BITS 8
#define RI_MAILBOX_WORD(_number, _state) \
    (((uint32_t)(_number) << RI_MAILBOX_STATE_BITS) | (_state))

/* The description of an operation. The mailbox looks at the lengths only. */
typedef struct ri_mailbox_head {
    uint16_t kind;   /* which operation (rma/serve.h) */
    uint16_t length; /* bytes of the memory that it is about, at most RI_MAILBOX_LONG */
    /* bytes of data that come with it: at most the larger of length and RI_MAILBOX_INLINE */
    uint16_t data_length;
    uint16_t reserved; /* 0 */
    uint64_t region;   /* number of the memory of the target (ri_wire_rkey_t.region) */
    uint64_t address;  /* where the memory begins that it is about */
} ri_mailbox_head_t;

/* An entry of a slot. */
typedef struct ri_mailbox_entry {
    _Atomic(uint32_t) state; /* RI_MAILBOX_WORD() */
    _Atomic(uint32_t) ready; /* bytes of the result of a long operation that is SERVING */
    ri_mailbox_head_t head;  /* of the operation, by the origin */
    /* data of the operation, and then its result, if its length is at most RI_MAILBOX_INLINE; the
     * first 32 bytes are in the cache line of the state and the head */
    uint8_t data[RI_MAILBOX_INLINE];
} __attribute__((aligned(2 * RI_CACHE_LINE))) ri_mailbox_entry_t;

static_assert(sizeof(ri_mailbox_entry_t) == 2 * RI_CACHE_LINE, "no false sharing");

/* The number of doorbells in a word, and the number of words. */
#define RI_MAILBOX_BELLS 2
#define RI_MAILBOX_WORDS (RI_MAILBOX_SLOTS / RI_MAILBOX_BELLS)

/* The shared memory. */
typedef struct ri_mailbox_area {
    uint32_t version;             /* RI_MAILBOX_VERSION, written once */
    _Atomic(uint32_t) num_words;  /* words of doorbells that have ever been used */
    _Atomic(uint32_t) calls;      /* how often the thread was called: a futex */
    _Atomic(uint32_t) has_thread; /* 1: a thread of the target comes when it is called */
    uint8_t pad[RI_CACHE_LINE - 16];
    /* by slot, 32 bits each: the number of the next operation, by the origin */
    _Atomic(uint64_t) doorbells[RI_MAILBOX_WORDS];
    /* who has the slot: pid and start of the process (ri_host_process_t); 0: nobody */
    _Atomic(uint64_t) owners[RI_MAILBOX_SLOTS];
    /* the entries of each slot, by the lower bits of the number of the operation */
    ri_mailbox_entry_t slots[RI_MAILBOX_SLOTS][RI_MAILBOX_DEPTH];
    /* data of operations whose length is above RI_MAILBOX_INLINE; pages come with their first
     * use */
    uint8_t bulk[RI_MAILBOX_SLOTS][RI_MAILBOX_DEPTH][RI_MAILBOX_DATA]
            __attribute__((aligned(RI_MAILBOX_DATA)));
} ri_mailbox_area_t;

/* The version of ri_mailbox_area_t. */
#define RI_MAILBOX_VERSION 3

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "halves of operands, and doorbells");

/* The target's side. */
typedef struct ri_mailbox_rx {
    ri_mailbox_area_t *area; /* NULL: there is none */
    int fd;                  /* of the shared memory, for origins to open */
    _Atomic(uint64_t) seen[RI_MAILBOX_WORDS]; /* doorbells at the latest look */
} ri_mailbox_rx_t;

/* An origin's side of its slot. */
typedef struct ri_mailbox_tx {
    ri_mailbox_area_t *area;     /* NULL: it has no slot */
    unsigned slot;               /* number of its slot */
    _Atomic(uint32_t) *doorbell; /* of its slot */
    /* what the doorbell says: the number of the next operation, whose lower bits name the entry */
    uint32_t next;
} ri_mailbox_tx_t;

/** Make a mailbox, which ri_mailbox_rx_end() ends. @return UCS_OK, or UCS_ERR_NO_MEMORY: area is
 * NULL. */
ucs_status_t ri_mailbox_rx_make(ri_mailbox_rx_t *rx);

/** End a mailbox, if there is one. Origins that have it open withdraw what they post. */
void ri_mailbox_rx_end(ri_mailbox_rx_t *rx);

/** Carries out an operation, or RI_MAILBOX_DATA bytes of a long one. It is wire input. Nobody else
 * has the memory of @a head. @a data has head->data_length bytes of data, and room for head->length
 * bytes and for RI_MAILBOX_INLINE bytes. If head->length is above RI_MAILBOX_INLINE the origin may
 * be writing there meanwhile. The function may replace the data by a result. @return The length of
 * the result; -1: the operation is refused. */
typedef int (*ri_mailbox_func_t)(const ri_mailbox_head_t *head, uint8_t *data);

/** Carry out what was posted since the latest call, by @a func, and what is posted meanwhile, for a
 * limited number of rounds. One thread at a time may do so.
 * @return How many operations were carried out or refused. */
unsigned ri_mailbox_rx_serve(ri_mailbox_rx_t *rx, ri_mailbox_func_t func);

/** @return Whether a doorbell has rung since the latest call of ri_mailbox_rx_serve(). */
static inline int ri_mailbox_rx_is_rung(const ri_mailbox_rx_t *rx)
{
    unsigned count = atomic_load_explicit(&rx->area->num_words, memory_order_relaxed);
    unsigned i;

    for (i = 0; i < ri_min(count, (unsigned)RI_MAILBOX_WORDS); ++i) {
        if (atomic_load_explicit(&rx->area->doorbells[i], memory_order_relaxed) !=
            atomic_load_explicit(&rx->seen[i], memory_order_relaxed)) {
            return 1;
        }
    }
    return 0;
}

/** @return How often the thread was called. */
static inline uint32_t ri_mailbox_rx_calls(const ri_mailbox_rx_t *rx)
{
    return atomic_load_explicit(&rx->area->calls, memory_order_acquire);
}

/* How a sleep has ended. */
typedef enum ri_mailbox_sleep {
    RI_MAILBOX_NO_SLEEP, /* the system does not let this process sleep so */
    RI_MAILBOX_CALLED,   /* at once: the thread was called before */
    RI_MAILBOX_SLEPT     /* the thread was called, or a signal came */
} ri_mailbox_sleep_t;

/** Sleep until the thread was called, unless ri_mailbox_rx_calls() is not @a calls any more; it may
 * return early. @return How that has ended. */
ri_mailbox_sleep_t ri_mailbox_rx_sleep(ri_mailbox_rx_t *rx, uint32_t calls);

/** Tell origins that there is a thread that sleeps, and serves when it is called (@a is_there is
 * 1), or that there is none any more (0). */
static inline void ri_mailbox_rx_announce_thread(ri_mailbox_rx_t *rx, int is_there)
{
    atomic_store(&rx->area->has_thread, is_there);
}

/**
 * Open the mailbox of a process and take a slot.
 *
 * @param pid, fd  Of the target, and of its ri_mailbox_rx_t: wire input.
 *
 * @return UCS_OK. UCS_ERR_UNREACHABLE: it is not there, or not this process's to open, or another
 *         version. UCS_ERR_NO_RESOURCE: all slots have living owners. UCS_ERR_NO_MEMORY. After an
 *         error area is NULL.
 */
ucs_status_t ri_mailbox_tx_open(ri_mailbox_tx_t *tx, uint32_t pid, uint32_t fd);

/** Give the slot back and unmap the mailbox, if there is one. All that was posted is over, or was
 * withdrawn. */
void ri_mailbox_tx_close(ri_mailbox_tx_t *tx);

/** @return Whether the target has a thread that can be called. */
static inline int ri_mailbox_tx_has_thread(const ri_mailbox_tx_t *tx)
{
    return (tx->area != NULL) && (atomic_load(&tx->area->has_thread) == 1);
}

/** Call the thread of the target, for what was posted. */
void ri_mailbox_tx_call(ri_mailbox_tx_t *tx);

/** @return Where the data is of operation @a number, which is about @a length bytes. */
static inline uint8_t *ri_mailbox_data(ri_mailbox_area_t *area, unsigned slot,
                                       uint32_t number, size_t length)
{
    return (length <= RI_MAILBOX_INLINE) ?
                   area->slots[slot][number % RI_MAILBOX_DEPTH].data :
                   area->bulk[slot][number % RI_MAILBOX_DEPTH];
}

/** @return The entry of operation @a number. */
static inline ri_mailbox_entry_t *ri_mailbox_tx_entry(const ri_mailbox_tx_t *tx,
                                                      uint32_t number)
{
    return &tx->area->slots[tx->slot][number % RI_MAILBOX_DEPTH];
}

/** Post an operation. The entry of operation tx->next is free. The head->data_length bytes of @a
 * data are copied. @return The number of the operation. */
uint32_t ri_mailbox_tx_post(ri_mailbox_tx_t *tx, const ri_mailbox_head_t *head,
                            const void *data);

/** @return The number of a long operation that is posted next, if @a next is the next number: those
 * before it are left out. */
static inline uint32_t ri_mailbox_next_long(uint32_t next)
{
    return (next + RI_MAILBOX_LONG_ENTRIES - 1) &
           ~(uint32_t)(RI_MAILBOX_LONG_ENTRIES - 1);
}

/** Post a long operation under the number that ri_mailbox_next_long() says; RI_MAILBOX_LONG_ENTRIES
 * entries are free from there on, whose numbers it takes. It brings no data, and may be as short as
 * others. @return Its number. */
uint32_t ri_mailbox_tx_post_long(ri_mailbox_tx_t *tx, const ri_mailbox_head_t *head);

/** @return How many bytes of the result of a long operation may be read, before it is DONE: the
 * other side may say anything. */
static inline uint32_t ri_mailbox_tx_ready(const ri_mailbox_tx_t *tx, uint32_t number)
{
    return atomic_load_explicit(&ri_mailbox_tx_entry(tx, number)->ready,
                                memory_order_acquire);
}

/** @return The state of operation @a number, any number if the target is broken; RI_MAILBOX_FREE if
 * another operation stands in its entry, or none. The result of an operation that is DONE may be
 * read. */
static inline ri_mailbox_state_t ri_mailbox_tx_state(const ri_mailbox_tx_t *tx,
                                                     uint32_t number)
{
    uint32_t word  = atomic_load_explicit(&ri_mailbox_tx_entry(tx, number)->state,
                                          memory_order_acquire);
    uint32_t state = word ^ RI_MAILBOX_WORD(number, 0);

    return (state < (1u << RI_MAILBOX_STATE_BITS)) ? (ri_mailbox_state_t)state :
                                                     RI_MAILBOX_FREE;
}

/** Free the entry of operation @a number, which is DONE or REFUSED, and whose result was taken. */
static inline void ri_mailbox_tx_free(ri_mailbox_tx_t *tx, uint32_t number)
{
    atomic_store_explicit(&ri_mailbox_tx_entry(tx, number)->state, RI_MAILBOX_FREE,
                          memory_order_relaxed);
}

/** Withdraw operation @a number. @return Whether its entry is free now and nothing was done; else
 * the target has begun with it. */
static inline int ri_mailbox_tx_withdraw(ri_mailbox_tx_t *tx, uint32_t number)
{
    uint32_t posted = RI_MAILBOX_WORD(number, RI_MAILBOX_POSTED);

    return atomic_compare_exchange_strong(&ri_mailbox_tx_entry(tx, number)->state,
                                          &posted, RI_MAILBOX_FREE);
}

#endif
