/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The rings to and from other processes. Whoever writes to a ring holds the lock of the peer,
 * whoever reads one holds sh_proc.lock. A peer's memory is mapped when it is first needed, and anew
 * when another process has taken the slot. The old mapping stays until sh_fabric_flush(), as a
 * responder may still have a guard in it. In a full ring an answer is kept for later, all else is
 * refused. An acknowledgement wakes the other agent only if a completion is wanted there or the
 * ring fills up.
 */
#include "counters.h"
#include "fabric.h"
#include "ring.h"
#include "util.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread that polled not longer ago polls still, or its agent looks soon. */
#define PEERS_POLLED_NS 10000

/* Messages taken out in one go; the agent looks after other things in between. */
#define PEERS_BATCH 64

/* The number of peers that are let go of together. */
#define PEERS_RELEASE 32

typedef struct peers_kept {
    struct peers_kept *next;
    sh_msg_t msg;
} peers_kept_t;

/* What this process has of the one in a slot. The lock is for all but the head, which is
 * used with sh_proc.lock. */
typedef struct peers_entry {
    pthread_mutex_t lock;
    uint32_t generation; /* of what is mapped; 0: nothing */
    sh_inbox_t *inbox;
    sh_ring_t *ring; /* to it */
    uint64_t tail;   /* never read back from shared memory */
    uint64_t placed; /* where the next message of sh_fabric_begin() will be */
    peers_kept_t *kept;
    peers_kept_t **kept_end;
    uint64_t head; /* of its ring to us */
} peers_entry_t;

/* A mapping that nobody uses any more, but for a guard that the agent may have at hand. */
typedef struct peers_grave {
    struct peers_grave *next;
    void *memory;
    size_t size;
} peers_grave_t;

static peers_entry_t peers_table[SH_MAX_PROCS];

/* Whose agents the thread has to wake when it has let go of its locks. */
static __thread uint64_t peers_to_wake[SH_MAX_PROCS / 64];
static peers_grave_t *peers_graves;
static unsigned peers_num_kept;

void sh_peers_init(void)
{
    unsigned slot;

    memset(peers_table, 0, sizeof(peers_table));
    peers_graves   = NULL;
    peers_num_kept = 0;
    for (slot = 0; slot < SH_MAX_PROCS; ++slot) {
        sh_mutex_init(&peers_table[slot].lock);
        peers_table[slot].kept_end = &peers_table[slot].kept;
    }
}

static void peers_bury(void *memory, size_t size)
{
    peers_grave_t *grave = (memory == NULL) ? NULL : malloc(sizeof(*grave));

    if (grave == NULL) {
        return; /* stays mapped, which does no harm */
    }
    grave->memory = memory;
    grave->size   = size;
    grave->next   = __atomic_load_n(&peers_graves, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&peers_graves, &grave->next, grave, 0,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

static void peers_empty_graves(void)
{
    peers_grave_t *grave = __atomic_exchange_n(&peers_graves, NULL, __ATOMIC_ACQUIRE);
    peers_grave_t *next;

    for (; grave != NULL; grave = next) {
        next = grave->next;
        munmap(grave->memory, grave->size);
        free(grave);
    }
}

/* Forget the first of the messages that are kept. With the lock held. */
static void peers_unkeep(peers_entry_t *peer)
{
    peers_kept_t *kept = peer->kept;

    peer->kept = kept->next;
    free(kept);
    __atomic_fetch_sub(&peers_num_kept, 1, __ATOMIC_RELAXED);
}

static void peers_close(peers_entry_t *peer)
{
    peers_bury(peer->inbox, sizeof(*peer->inbox));
    peers_bury(peer->ring, sizeof(*peer->ring));
    while (peer->kept != NULL) {
        peers_unkeep(peer);
    }
    peer->kept_end   = &peer->kept;
    peer->inbox      = NULL;
    peer->ring       = NULL;
    peer->generation = 0;
}

void sh_peers_cleanup(int forked)
{
    unsigned slot;

    for (slot = 0; slot < SH_MAX_PROCS; ++slot) {
        /* A child must not trust what another thread had half done */
        if (!forked) {
            peers_close(&peers_table[slot]);
        }
    }
    if (!forked) {
        peers_empty_graves();
    }
}

/* Map what the process that is in the slot now has for us. With the lock held.
 * @return 0, or ENOENT. */
static int peers_open(peers_entry_t *peer, unsigned slot)
{
    uint32_t generation = sh_fabric_generation(slot);

    if (generation == 0) {
        return ENOENT;
    }
    if (peer->generation == generation) {
        return 0;
    }
    peers_close(peer);
    peer->inbox = sh_fabric_map(slot, 0, sizeof(sh_inbox_t));
    if (peer->inbox == NULL) {
        return ENOENT;
    }
    peer->ring = sh_fabric_map(slot, sh_ring_offset(sh_fabric_slot()), sizeof(sh_ring_t));
    if ((peer->ring == NULL) || (peer->inbox->magic != SH_MAGIC) ||
        (peer->inbox->version != SH_VERSION) || (peer->inbox->generation != generation)) {
        peers_close(peer);
        return ENOENT;
    }
    /* A process that was in our slot before us may have used the ring */
    peer->tail       = __atomic_load_n(&peer->ring->tail, __ATOMIC_RELAXED);
    peer->generation = generation;
    return 0;
}

static void peers_ring_bell(sh_inbox_t *inbox)
{
    __atomic_store_n(&inbox->asleep, 0, __ATOMIC_RELAXED);
    __atomic_fetch_add(&inbox->doorbell, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &inbox->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int peers_polled(const sh_inbox_t *inbox)
{
    uint64_t polled = __atomic_load_n(&inbox->polled, __ATOMIC_RELAXED);

    /* It may be newer than the time, but nobody can set it for ever */
    return sh_now() - polled + PEERS_POLLED_NS < 2 * PEERS_POLLED_NS;
}

static void peers_wake(sh_inbox_t *inbox)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&inbox->asleep, __ATOMIC_RELAXED) && !peers_polled(inbox)) {
        peers_ring_bell(inbox);
    }
}

/* Wake the agent of another process, for what is in its segment: a thread that is busy there looks
 * at that before it leaves, but at nothing else that an agent has to do. */
static void peers_wake_other(sh_inbox_t *inbox)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&inbox->busy, __ATOMIC_RELAXED) == 0) {
        peers_wake(inbox);
    }
}

void sh_fabric_kick(void)
{
    peers_wake(sh_fabric_inbox());
}

void sh_fabric_ring(void)
{
    peers_ring_bell(sh_fabric_inbox());
}

void sh_fabric_rouse(void)
{
    sh_inbox_t *inbox = sh_fabric_inbox();

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&inbox->asleep, __ATOMIC_RELAXED)) {
        peers_ring_bell(inbox);
    }
}

/* See whether there is room in the ring, with the lock held. @return 0, or EAGAIN: the reader
 * tells when there is some. */
static int ring_room(peers_entry_t *peer, uint64_t tail, size_t size)
{
    sh_ring_t *ring = peer->ring;
    uint64_t used   = tail - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

    if ((used > SH_RING_SIZE) || (size > SH_RING_SIZE - used)) {
        __atomic_store_n(&ring->want_space, 1, __ATOMIC_SEQ_CST);
        used = tail - __atomic_load_n(&ring->head, __ATOMIC_SEQ_CST);
        if ((used > SH_RING_SIZE) || (size > SH_RING_SIZE - used)) {
            return EAGAIN;
        }
    }
    return 0;
}

/* Put a message in the ring, with the lock held. @return 0, or EAGAIN. */
static int ring_put(peers_entry_t *peer, sh_msg_t *msg, const void *payload)
{
    sh_ring_t *ring = peer->ring;
    size_t size     = sh_ring_align(msg->size);

    if (ring_room(peer, peer->tail, size)) {
        return EAGAIN;
    }
    msg->generation = sh_fabric_inbox()->generation;
    sh_ring_write(ring, peer->tail, msg, sizeof(*msg));
    sh_ring_write(ring, peer->tail + sizeof(*msg), payload, msg->size - sizeof(*msg));
    peer->tail += size;
    __atomic_store_n(&ring->tail, peer->tail, __ATOMIC_RELEASE);
    return 0;
}

/* There is something in its ring. */
static void peers_mark(peers_entry_t *peer)
{
    unsigned own = sh_fabric_slot();

    __atomic_fetch_or(&peer->inbox->pending[own / 64], 1UL << (own % 64),
                      __ATOMIC_RELEASE);
}

static void peers_ring(peers_entry_t *peer, unsigned slot)
{
    peers_mark(peer);
    peers_to_wake[slot / 64] |= 1UL << (slot % 64);
}

/* Whether somebody has to look at a message that is in the ring: an acknowledgement can wait for
 * the next poll, as long as there is room and nothing else is wanted of it. */
static int peers_is_urgent(const peers_entry_t *peer, const sh_msg_t *msg)
{
    uint64_t used = peer->tail - __atomic_load_n(&peer->ring->head, __ATOMIC_RELAXED);

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return (msg->answer != SH_ANSWER_ACK) || (msg->opcode != 0) ||
           (used > SH_RING_SIZE / 2) ||
           (__atomic_load_n(&peer->inbox->wanted[msg->qkey % SH_WANTS],
                            __ATOMIC_RELAXED) != 0);
}

void sh_fabric_wake(void)
{
    peers_entry_t *peer;
    unsigned i, slot;

    for (i = 0; i < SH_MAX_PROCS / 64; ++i) {
        for (; peers_to_wake[i] != 0; peers_to_wake[i] &= peers_to_wake[i] - 1) {
            slot = i * 64 + (unsigned)__builtin_ctzl(peers_to_wake[i]);
            peer = &peers_table[slot];
            pthread_mutex_lock(&peer->lock);
            if (peer->inbox != NULL) {
                peers_wake_other(peer->inbox);
            }
            pthread_mutex_unlock(&peer->lock);
        }
    }
}

int sh_fabric_send(unsigned slot, sh_msg_t *msg, const void *payload)
{
    peers_entry_t *peer = &peers_table[slot];
    int error;

    pthread_mutex_lock(&peer->lock);
    error = peers_open(peer, slot);
    if (!error) {
        error = ring_put(peer, msg, payload);
    }
    if (!error) {
        peers_ring(peer, slot);
    }
    pthread_mutex_unlock(&peer->lock);
    return error;
}

int sh_fabric_begin(unsigned slot)
{
    peers_entry_t *peer = &peers_table[slot];

    pthread_mutex_lock(&peer->lock);
    if (peers_open(peer, slot)) {
        pthread_mutex_unlock(&peer->lock);
        return ENOENT;
    }
    peer->placed = peer->tail;
    return 0;
}

int sh_fabric_place(unsigned slot, size_t size, struct iovec data[2])
{
    peers_entry_t *peer = &peers_table[slot];

    if (ring_room(peer, peer->placed, sh_ring_align(size))) {
        return EAGAIN;
    }
    sh_ring_places(peer->ring, peer->placed + sizeof(sh_msg_t), size - sizeof(sh_msg_t),
                   data);
    peer->placed += sh_ring_align(size);
    return 0;
}

void sh_fabric_unplace(unsigned slot, size_t size)
{
    peers_table[slot].placed -= sh_ring_align(size);
}

void sh_fabric_end(unsigned slot, sh_msg_t *msgs, unsigned count, sh_fetch_t *end)
{
    peers_entry_t *peer = &peers_table[slot];
    unsigned i;

    for (i = 0; i < count; ++i) {
        msgs[i].generation = sh_fabric_inbox()->generation;
        sh_ring_write(peer->ring, peer->tail, &msgs[i], sizeof(msgs[i]));
        peer->tail += sh_ring_align(msgs[i].size);
    }
    if (count > 0) {
        __atomic_store_n(&peer->ring->tail, peer->tail, __ATOMIC_RELEASE);
        peers_ring(peer, slot);
    }
    if (end != NULL) {
        *end = (sh_fetch_t){slot, peer->generation, peer->tail, 0};
    }
    pthread_mutex_unlock(&peer->lock);
}

int sh_fabric_is_taken(const sh_fetch_t *fetch)
{
    peers_entry_t *peer = &peers_table[fetch->slot];
    int taken           = 1;

    pthread_mutex_lock(&peer->lock);
    if ((peer->ring != NULL) && (peer->generation == fetch->generation)) {
        taken = __atomic_load_n(&peer->ring->head, __ATOMIC_ACQUIRE) >= fetch->position;
    }
    pthread_mutex_unlock(&peer->lock);
    return taken;
}

const uint32_t *sh_fabric_fetching(unsigned slot, uint32_t generation)
{
    peers_entry_t *peer  = &peers_table[slot];
    const uint32_t *word = NULL;

    pthread_mutex_lock(&peer->lock);
    if ((peer->inbox != NULL) && (peer->generation == generation)) {
        word = &peer->inbox->fetching;
    }
    pthread_mutex_unlock(&peer->lock);
    return word;
}

int sh_fabric_room(unsigned slot, size_t size)
{
    peers_entry_t *peer = &peers_table[slot];
    int error;

    pthread_mutex_lock(&peer->lock);
    error = peers_open(peer, slot);
    if (!error) {
        error = ring_room(peer, peer->tail, sh_ring_align(size));
    }
    pthread_mutex_unlock(&peer->lock);
    return error;
}

void sh_fabric_send_kept(unsigned slot, sh_msg_t *msg)
{
    peers_entry_t *peer = &peers_table[slot];
    peers_kept_t *kept;
    int error;

    pthread_mutex_lock(&peer->lock);
    error = peers_open(peer, slot);
    if (!error) {
        error = (peer->kept != NULL) ? EAGAIN : ring_put(peer, msg, NULL);
        if (!error) {
            peers_mark(peer);
            if (peers_is_urgent(peer, msg)) {
                peers_ring(peer, slot);
            }
        } else if ((kept = malloc(sizeof(*kept))) != NULL) {
            kept->next      = NULL;
            kept->msg       = *msg;
            *peer->kept_end = kept;
            peer->kept_end  = &kept->next;
            __atomic_fetch_add(&peers_num_kept, 1, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&peer->lock);
}

static void peers_flush(peers_entry_t *peer, unsigned slot)
{
    int sent = 0;

    pthread_mutex_lock(&peer->lock);
    if (peers_open(peer, slot)) {
        peers_close(peer);
    }
    while ((peer->kept != NULL) && !ring_put(peer, &peer->kept->msg, NULL)) {
        peers_unkeep(peer);
        sent = 1;
    }
    if (peer->kept == NULL) {
        peer->kept_end = &peer->kept;
    }
    if (sent) {
        peers_ring(peer, slot);
    }
    pthread_mutex_unlock(&peer->lock);
}

void sh_fabric_flush(void)
{
    unsigned slot;

    if (__atomic_load_n(&peers_graves, __ATOMIC_RELAXED) != NULL) {
        peers_empty_graves();
    }
    if (__atomic_load_n(&peers_num_kept, __ATOMIC_RELAXED) == 0) {
        return;
    }
    for (slot = 0; slot < SH_MAX_PROCS; ++slot) {
        if (peers_table[slot].kept != NULL) {
            peers_flush(&peers_table[slot], slot);
        }
    }
}

/* The sender waits for room, and there is some: wake its agent. */
static void peers_make_room(unsigned slot, sh_ring_t *ring)
{
    peers_entry_t *peer = &peers_table[slot];

    if (!__atomic_load_n(&ring->want_space, __ATOMIC_SEQ_CST)) {
        return;
    }
    __atomic_store_n(&ring->want_space, 0, __ATOMIC_RELAXED);
    pthread_mutex_lock(&peer->lock);
    if (!peers_open(peer, slot)) {
        __atomic_store_n(&peer->inbox->room, 1, __ATOMIC_RELEASE);
        peers_wake_other(peer->inbox);
    }
    pthread_mutex_unlock(&peer->lock);
}

/* Take messages out of the ring of one sender. @return How many. */
static unsigned peers_receive(unsigned slot, sh_fabric_handler_t handler,
                              sh_fabric_release_t release)
{
    static sh_ring_msg_t message; /* of the holder of sh_proc.lock */
    sh_ring_t *ring =
            (sh_ring_t *)(void *)((char *)sh_fabric_inbox() + sh_ring_offset(slot));
    peers_entry_t *peer = &peers_table[slot];
    unsigned count      = 0;
    struct iovec data[2];
    uint64_t tail;

    tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    while ((peer->head != tail) && (count < PEERS_BATCH)) {
        if (sh_ring_get(ring, peer->head, tail - peer->head, &message, data)) {
            /* Nothing tells where the next message begins */
            sh_count(malformed, 1);
            peer->head = tail;
            break;
        }
        peer->head += sh_ring_align(message.msg.size);
        ++count;
        if ((message.msg.generation != 0) &&
            (message.msg.generation == sh_fabric_last_generation(slot))) {
            handler(slot, sh_fabric_pid(slot), &message.msg, data);
        }
        if (count % PEERS_RELEASE == 0) {
            release();
            __atomic_store_n(&ring->head, peer->head, __ATOMIC_RELEASE);
        }
    }
    release();
    __atomic_store_n(&ring->head, peer->head, __ATOMIC_SEQ_CST);
    peers_make_room(slot, ring);
    if (peer->head != tail) {
        __atomic_fetch_or(&sh_fabric_inbox()->pending[slot / 64], 1UL << (slot % 64),
                          __ATOMIC_RELAXED);
    }
    return count;
}

unsigned sh_fabric_receive(sh_fabric_handler_t handler, sh_fabric_release_t release)
{
    sh_inbox_t *inbox = sh_fabric_inbox();
    unsigned count    = 0;
    unsigned i, slot;
    uint64_t pending;

    for (i = 0; i < SH_MAX_PROCS / 64; ++i) {
        if (__atomic_load_n(&inbox->pending[i], __ATOMIC_RELAXED) == 0) {
            continue;
        }
        pending = __atomic_exchange_n(&inbox->pending[i], 0, __ATOMIC_ACQUIRE);
        for (; pending != 0; pending &= pending - 1) {
            slot = i * 64 + (unsigned)__builtin_ctzl(pending);
            count += peers_receive(slot, handler, release);
        }
    }
    return count;
}

int sh_fabric_pending(void)
{
    sh_inbox_t *inbox = sh_fabric_inbox();
    unsigned i;

    for (i = 0; i < SH_MAX_PROCS / 64; ++i) {
        if (__atomic_load_n(&inbox->pending[i], __ATOMIC_RELAXED) != 0) {
            return 1;
        }
    }
    return __atomic_load_n(&inbox->room, __ATOMIC_RELAXED) != 0;
}

uint32_t *sh_fabric_guard(unsigned slot, uint32_t index)
{
    peers_entry_t *peer = &peers_table[slot];
    uint32_t *guard     = NULL;

    if (index >= SH_MAX_QPS) {
        return NULL;
    }
    pthread_mutex_lock(&peer->lock);
    if (!peers_open(peer, slot)) {
        guard = &peer->inbox->guards[index];
    }
    pthread_mutex_unlock(&peer->lock);
    return guard;
}
