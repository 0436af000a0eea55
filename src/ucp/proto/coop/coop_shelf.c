/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of shelves at the receiver comes first, then how parts are taken from one, and then the
 * sender's side.
 */
#include "coop_shelf.h"
#include "coop_methods.h"
#include "../../../uct/shm/ring.h"
#include "../../../uct/shm/shelf.h"
#include "../../../ucs/clock.h"
#include "../../../ucs/log.h"
#include "../../../ucs/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number of messages after which a stream gets a shelf. Messages count that both sides have
 * copied, or that could come only by a shelf. A shelf takes as long to make as a few messages. */
#define SHELF_AFTER 4

/* The most parts that are put or taken in one step. One part alone would not be worth the call that
 * has brought the process here. */
#define SHELF_PARTS 4

/* Bytes that are packed at a time for a far receiver: they stay in the nearest cache. Runs of this
 * mean length go past the caches by themselves. */
#define SHELF_PACKED   4096
#define SHELF_RUN_LONG 2048

/* Methods of a message (coop_methods.h). */
enum {
    SHELF_METHOD_SHELF,
    SHELF_METHOD_PLANE
};

/* A shelf at the receiver. */
struct ri_coop_shelf {
    ri_shelf_rx_t rx;
    ri_worker_t *worker;
    unsigned users; /* copies that need it, and the stream that has it */
    ri_coop_methods_t methods;
};

static void shelf_release(ri_coop_shelf_t *shelf)
{
    if (--shelf->users == 0) {
        --shelf->worker->rings.num_shelves;
        ri_shelf_rx_close(&shelf->rx);
        free(shelf);
    }
}

/* @return A shelf for the ring of a stream, or NULL. */
static ri_coop_shelf_t *shelf_new(ri_stream_t *stream)
{
    ri_worker_t *worker    = stream->worker;
    ri_coop_shelf_t *shelf = calloc(1, sizeof(*shelf));

    if (shelf == NULL) {
        return NULL;
    }
    if (ri_shelf_create(&shelf->rx, ri_config.shelf_size, stream->ring_life.cookie) !=
        UCS_OK) {
        ri_debug("no shelf of %zu bytes: %s%s", ri_config.shelf_size, strerror(errno),
                 ri_ring_remedy(errno));
        free(shelf);
        return NULL;
    }
    shelf->worker = worker;
    shelf->users  = 1;
    ++worker->rings.num_shelves;
    ++worker->counters.shelves_made;
    return shelf;
}

/* Make a shelf, if it is time, and tell the sender of it. */
static void shelf_consider(ri_stream_t *stream)
{
    ri_ring_control_t *control = stream->ring->control;
    ri_worker_t *worker        = stream->worker;

    if (++stream->coop.copies < SHELF_AFTER) {
        return;
    }
    stream->coop.copies = 0; /* as many again until the next try */
    if (worker->rings.num_shelves >= ri_config.shelf_peers) {
        return;
    }
    stream->coop.shelf = shelf_new(stream);
    if (stream->coop.shelf != NULL) {
        control->shelf_size = ri_config.shelf_size;
        atomic_store_explicit(&control->shelf_fd, stream->coop.shelf->rx.fd + 1,
                              memory_order_release);
    }
}

/* See what the sender has made of the shelf. @return Whether it may put parts there. */
static int shelf_is_shared(ri_stream_t *stream)
{
    uint32_t state = atomic_load_explicit(&stream->ring->control->shelf_state,
                                          memory_order_acquire);

    if (state != RI_RING_SHELF_UNSEEN) {
        ri_shelf_rx_mapped(&stream->coop.shelf->rx);
    }
    return state != RI_RING_SHELF_REFUSED;
}

int ri_coop_shelf_is_there(ri_stream_t *stream)
{
    if (ri_config.shelf_peers == 0) {
        return 0;
    }
    if (stream->coop.shelf == NULL) {
        shelf_consider(stream);
    }
    return (stream->coop.shelf != NULL) && shelf_is_shared(stream);
}

void ri_coop_shelf_use(ri_coop_t *coop)
{
    ri_stream_t *stream = coop->stream;
    int has_choice      = !ri_coop_side_has_runs(coop);
    uint32_t method     = RI_RING_SLOT_METHOD_SHELF_ONLY;

    /* Where there is no choice, there is a shelf: that was asked before. */
    if (has_choice && !ri_coop_shelf_is_there(stream)) {
        return;
    }
    stream->coop.shelf->methods.disturbed |= !has_choice;
    coop->shelf = stream->coop.shelf;
    ++coop->shelf->users;
    coop->matched_at = ri_clock_ticks();
    if (has_choice) {
        method = (ri_coop_methods_of(&coop->shelf->methods, coop->memory.length) ==
                  SHELF_METHOD_SHELF) ?
                         RI_RING_SLOT_METHOD_SHELF :
                         RI_RING_SLOT_METHOD_BOTH;
    }
    coop->takes = (method != RI_RING_SLOT_METHOD_BOTH);
    atomic_store_explicit(&coop->slot->method, method, memory_order_release);
}

void ri_coop_shelf_pass(ri_stream_t *stream)
{
    if (stream->coop.shelf != NULL) {
        stream->coop.shelf->methods.disturbed = 1;
    }
}

void ri_coop_shelf_leave(ri_coop_t *coop, int is_done)
{
    if (coop->shelf == NULL) {
        return;
    }
    if (is_done && !ri_coop_side_has_runs(coop)) {
        ri_coop_methods_note(&coop->shelf->methods, coop->memory.length,
                             coop->takes ? SHELF_METHOD_SHELF : SHELF_METHOD_PLANE,
                             coop->matched_at);
    }
    shelf_release(coop->shelf);
    coop->shelf = NULL;
    coop->takes = 0;
}

void ri_coop_shelf_drop(ri_stream_t *stream)
{
    if (stream->coop.shelf != NULL) {
        shelf_release(stream->coop.shelf);
        stream->coop.shelf  = NULL;
        stream->coop.copies = 0;
    }
}

/* Whether a part is of this copy. */
static int shelf_part_is_of(const ri_shelf_part_t *part, const ri_coop_t *coop)
{
    return (part->slot == coop->number) && (part->id == coop->req_id);
}

/* @return The copy that a part is of: @a coop, or another one that takes parts from the same shelf;
 * NULL: none. */
static ri_coop_t *shelf_copy_of(const ri_shelf_part_t *part, ri_coop_t *coop)
{
    ri_coop_t *other;

    if (shelf_part_is_of(part, coop)) {
        return coop;
    }
    ucs_list_for_each(other, &coop->worker->coop.list, list) {
        if (other->takes && (other->shelf == coop->shelf) &&
            shelf_part_is_of(part, other)) {
            return other;
        }
    }
    return NULL;
}

/* Copy what lies on the shelf into the receive. */
static void shelf_place(ri_coop_t *coop, size_t offset, const void *from, size_t length)
{
    if (coop->spread) {
        ri_dt_unpack_part(&coop->recv->data, offset, from, length);
    } else {
        memcpy((char *)coop->memory.address + offset, from, length);
    }
}

/* Copy the part at the head of the shelf to its place. @return What has become of the copy. */
static ri_coop_state_t shelf_take_part(ri_coop_t *coop, const ri_shelf_part_t *mark)
{
    const ri_slot_part_t part = {.first = mark->first, .count = mark->count};
    ri_timeline_t *timeline   = &coop->worker->timeline;
    uint64_t start            = ri_timeline_now(timeline);
    size_t offset, length;

    if ((part.count == 0) || (part.count > RI_SHELF_UNITS) ||
        (part.first >= coop->total) || (part.count > coop->total - part.first)) {
        return RI_COOP_BROKEN;
    }
    offset = ri_slot_offset(&part);
    length = ri_slot_length(&part, coop->memory.length);
    shelf_place(coop, offset, ri_shelf_rx_place(&coop->shelf->rx), length);
    coop->by_shelf = 1;
    coop->in_vain  = 0;
    coop->stream->counters.rx_shelf_bytes += length;
    ri_trace(&coop->worker->trace, RI_TRACE_COOP_PART, offset, length);
    ri_timeline_copied(timeline, start, RI_TIMELINE_COPY_SHELF_IN, length,
                       coop->stream->peer->uid);
    return ri_coop_side_count(coop, part.count);
}

ri_coop_state_t ri_coop_shelf_take(ri_coop_t *coop)
{
    ri_coop_state_t state = RI_COOP_WAITS;
    ri_shelf_part_t mark;
    ri_coop_t *owner;
    unsigned i;

    for (i = 0; (i < SHELF_PARTS) && !ri_coop_side_has_ended(state); ++i) {
        if (!ri_shelf_rx_look(&coop->shelf->rx, &mark)) {
            break;
        }
        owner = shelf_copy_of(&mark, coop);
        if (owner == coop) {
            state = shelf_take_part(coop, &mark);
        } else if (owner != NULL) {
            /* The result for the owner is seen when the owner has its turn. */
            owner->broken |= (shelf_take_part(owner, &mark) == RI_COOP_BROKEN);
            state = RI_COOP_WORKED;
        }
        ri_shelf_rx_advance(&coop->shelf->rx);
    }
    return state;
}

/* Map the shelf that the receiver has made. */
static void shelf_open(ri_conn_t *conn)
{
    ri_ring_control_t *control = conn->ring->control;
    uint32_t fd = atomic_load_explicit(&control->shelf_fd, memory_order_acquire);
    ucs_status_t status;

    if ((fd == 0) || (atomic_load_explicit(&control->shelf_state, memory_order_relaxed) !=
                      RI_RING_SHELF_UNSEEN)) {
        return;
    }
    conn->coop.refused = 0; /* what went before had none */
    status             = ri_shelf_open(&conn->coop.shelf, conn->ring->pid, fd - 1,
                                       control->shelf_size, control->cookie);
    if (status != UCS_OK) {
        ri_debug("shelf of process %u not used", conn->ring->pid);
    }
    atomic_store_explicit(&control->shelf_state,
                          (status == UCS_OK) ? RI_RING_SHELF_MAPPED :
                                               RI_RING_SHELF_REFUSED,
                          memory_order_release);
}

int ri_coop_shelf_is_only_method(const ri_coop_t *coop)
{
    return ri_slot_method(coop->slot) == RI_RING_SLOT_METHOD_SHELF_ONLY;
}

int ri_coop_shelf_goes_by(ri_coop_t *coop)
{
    ri_conn_t *conn = coop->send->conn;
    uint32_t method = ri_slot_method(coop->slot);

    if ((method != RI_RING_SLOT_METHOD_SHELF) &&
        (method != RI_RING_SLOT_METHOD_SHELF_ONLY)) {
        return 0;
    }
    if (!ri_shelf_tx_is_open(&conn->coop.shelf)) {
        shelf_open(conn);
    }
    return ri_shelf_tx_is_open(&conn->coop.shelf);
}

int ri_coop_shelf_is_expected(const ri_coop_t *coop)
{
    return coop->send->conn->coop.shelf_used &&
           (ri_slot_method(coop->slot) == RI_RING_SLOT_METHOD_UNKNOWN);
}

/* A place that is filled line by line, and the bytes of the next line that are there already. */
typedef struct shelf_lines {
    ri_shelf_tx_t *tx;
    char *place;
    size_t count;
    char line[RI_CACHE_LINE];
} shelf_lines_t;

/* Copy what there is of the next line. */
static void shelf_flush_line(shelf_lines_t *lines)
{
    ri_shelf_tx_copy(lines->tx, lines->place, lines->line, lines->count);
    lines->place += lines->count;
    lines->count = 0;
}

/* Keep @a length bytes for the next line, which it has room for. */
static void shelf_keep(shelf_lines_t *lines, const char *from, size_t length)
{
    memcpy(lines->line + lines->count, from, length);
    lines->count += length;
}

/* Copy a run: whole lines of it at once. */
static void shelf_copy_run(shelf_lines_t *lines, const char *from, size_t length)
{
    size_t head  = (lines->count > 0) ?
                           ri_min(sizeof(lines->line) - lines->count, length) :
                           0;
    size_t whole = (length - head) / sizeof(lines->line) * sizeof(lines->line);

    shelf_keep(lines, from, head);
    if (lines->count == sizeof(lines->line)) {
        shelf_flush_line(lines);
    }
    if (whole > 0) { /* the next line is empty then */
        ri_shelf_tx_copy(lines->tx, lines->place, from + head, whole);
        lines->place += whole;
    }
    shelf_keep(lines, from + head + whole, length - head - whole);
}

/* Copy a part of a message in long runs to a place. */
static void shelf_pack_runs(ri_coop_t *coop, char *place, size_t offset, size_t length)
{
    shelf_lines_t lines = {.tx = &coop->send->conn->coop.shelf, .place = place};
    ri_segment_t runs[RI_SHELF_PLACE / SHELF_RUN_LONG];
    size_t bytes, count, i;

    for (; length > 0; length -= bytes, offset += bytes) {
        bytes = length;
        count = ri_dt_runs(&coop->send->data, offset, &bytes, runs,
                           sizeof(runs) / sizeof(runs[0]));
        for (i = 0; i < count; ++i) {
            shelf_copy_run(&lines, (const char *)runs[i].address, runs[i].length);
        }
    }
    shelf_flush_line(&lines);
}

/* Copy a part of a message in runs to a place. Far from the receiver it is packed bit by bit, and
 * from there goes past the caches. */
static void shelf_pack(ri_coop_t *coop, char *place, size_t offset, size_t length)
{
    ri_shelf_tx_t *tx  = &coop->send->conn->coop.shelf;
    ri_dt_data_t *data = &coop->send->data;
    char packed[SHELF_PACKED];
    size_t count;

    if (!ri_distance_is_far(&tx->distance)) {
        ri_dt_pack_part(data, offset, place, length);
        return;
    }
    if (ri_dt_run_mean(data) >= SHELF_RUN_LONG) {
        shelf_pack_runs(coop, place, offset, length);
        return;
    }
    for (; length > 0; length -= count) {
        count = ri_min(length, sizeof(packed));
        ri_dt_pack_part(data, offset, packed, count);
        ri_shelf_tx_copy(tx, place, packed, count);
        offset += count;
        place += count;
    }
}

/* Copy a part of the message, which may be in pieces, to a place. */
static void shelf_gather(ri_coop_t *coop, char *place, size_t offset, size_t length)
{
    ri_shelf_tx_t *tx = &coop->send->conn->coop.shelf;
    const ri_segment_t *piece;
    size_t count;

    if (coop->spread) {
        shelf_pack(coop, place, offset, length);
        return;
    }
    if (coop->num_segments == 1) {
        ri_shelf_tx_copy(tx, place, (const char *)coop->segments[0].address + offset,
                         length);
        return;
    }
    for (piece = coop->segments; length > 0; ++piece) {
        if (offset >= piece->length) {
            offset -= piece->length;
            continue;
        }
        count = ri_min(piece->length - offset, length);
        memcpy(place, (const char *)piece->address + offset, count);
        place += count;
        length -= count;
        offset = 0;
    }
}

static void shelf_put_part(ri_coop_t *coop, char *place, const ri_slot_part_t *part)
{
    const ri_shelf_part_t mark = {.id    = coop->send->id,
                                  .first = part->first,
                                  .count = part->count,
                                  .slot  = coop->number};
    ri_conn_t *conn            = coop->send->conn;
    size_t offset              = ri_slot_offset(part);
    size_t length              = ri_slot_length(part, coop->memory.length);
    uint64_t start             = ri_timeline_now(&coop->worker->timeline);

    shelf_gather(coop, place, offset, length);
    ri_shelf_tx_put(&conn->coop.shelf, &mark);
    coop->by_shelf = 1;
    coop->in_vain  = 0;
    conn->counters.tx_shelf_bytes += length;
    ri_trace(&coop->worker->trace, RI_TRACE_COOP_PART, offset, length);
    ri_timeline_copied(&coop->worker->timeline, start, RI_TIMELINE_COPY_SHELF_OUT, length,
                       (conn->peer != NULL) ? conn->peer->uid : 0);
}

ri_coop_state_t ri_coop_shelf_put(ri_coop_t *coop)
{
    ri_coop_state_t state = RI_COOP_WAITS;
    ri_slot_part_t part;
    void *place;
    unsigned i;

    for (i = 0; i < SHELF_PARTS; ++i) {
        place = ri_shelf_tx_place(&coop->send->conn->coop.shelf);
        if (place == NULL) {
            break;
        }
        if (ri_slot_claim(coop->slot, coop->total, RI_SLOT_BACK, RI_SHELF_UNITS, &part) !=
            UCS_OK) {
            return RI_COOP_BROKEN;
        }
        if (part.count == 0) {
            coop->exhausted = 1;
            break;
        }
        shelf_put_part(coop, place, &part);
        state = RI_COOP_WORKED;
    }
    return state;
}

void ri_coop_shelf_close(ri_conn_t *conn)
{
    if (ri_shelf_tx_is_open(&conn->coop.shelf)) {
        ri_shelf_tx_close(&conn->coop.shelf);
    }
}
