/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A request has the places of the pieces, and behind them their data. Pieces of one length at one
 * stride have one place for all.
 */
#include "pieces.h"
#include "element.h"
#include "stripe.h"
#include "../ucp/dt/layout_copy.h"

#include <string.h>

/* The beginning of a request. Places of a list are behind it. */
typedef struct pieces_head {
    uint32_t count;
    uint32_t length; /* of each piece at a stride; 0: there is a list */
    int64_t stride;
} pieces_head_t;

/* A piece of a list. */
typedef struct pieces_place {
    int32_t offset; /* from the address of the request on */
    uint32_t length;
} pieces_place_t;

/* Room for places and data. */
#define PIECES_ROOM (RI_MAILBOX_DATA - sizeof(pieces_head_t))

/* The longest stride that is looked at for all pieces at once. */
#define PIECES_STRIDE_MAX (INT64_C(1) << 48)

/* Number of pieces for which a system call takes about as long as the call itself takes. */
#define PIECES_OF_A_CALL 4

/* A request that is being made. */
typedef struct pieces_request {
    uint8_t data[RI_MAILBOX_DATA];
    size_t size;  /* bytes of the request, without data of the pieces */
    size_t bytes; /* of the pieces */
    size_t count; /* pieces */
} pieces_request_t;

/* Runs at a stride, as many as there is room for. */
static void pieces_fill_runs(pieces_request_t *request, const ri_layout_runs_t *runs)
{
    pieces_head_t *head = (pieces_head_t *)request->data;

    request->count = ri_min(runs->count, PIECES_ROOM / runs->length);
    request->bytes = request->count * runs->length;
    request->size  = sizeof(*head);
    *head          = (pieces_head_t){.count  = (uint32_t)request->count,
                                     .length = (uint32_t)runs->length,
                                     .stride = runs->stride};
}

/* A list, in the same way. */
static void pieces_fill_list(pieces_request_t *request, const ri_segment_t *pieces,
                             size_t count)
{
    pieces_head_t *head   = (pieces_head_t *)request->data;
    pieces_place_t *place = (pieces_place_t *)(head + 1);
    size_t used           = 0;
    size_t i;

    request->bytes = 0;
    for (i = 0; i < count; ++i, ++place) {
        int64_t offset = (int64_t)(pieces[i].address - pieces[0].address);

        used += sizeof(*place) + pieces[i].length;
        if ((used > PIECES_ROOM) || (offset != (int32_t)offset)) {
            break;
        }
        *place = (pieces_place_t){(int32_t)offset, (uint32_t)pieces[i].length};
        request->bytes += pieces[i].length;
    }
    request->count = i;
    request->size  = sizeof(*head) + i * sizeof(*place);
    *head          = (pieces_head_t){.count = (uint32_t)i};
}

/* Ask for what is in a request, at an address. @return As ri_pieces_ask(). */
static size_t pieces_ask(ri_window_t *window, const ri_window_part_t *part, unsigned kind,
                         const char *from, char *result, uint64_t address,
                         pieces_request_t *request)
{
    ri_mailbox_head_t head = {
            .kind    = (uint16_t)(RI_WINDOW_OPS_KIND | RI_PIECES_KIND | kind),
            .length  = RI_MAILBOX_DATA,
            .region  = part->region,
            .address = address};
    unsigned calls = 1 + (unsigned)request->count / PIECES_OF_A_CALL;
    ri_window_fate_t fate;

    if (request->count == 0) {
        return 0; /* a long one */
    }
    if (from != NULL) {
        memcpy(request->data + request->size, from, request->bytes);
        request->size += request->bytes;
    }
    head.data_length = (uint16_t)request->size;
    if (result != NULL) {
        head.kind |= RI_PIECES_FETCH;
    }
    fate = part->ops->ask(part->reach, &head, request->data,
                          (result != NULL) ? request->data : NULL, calls);
    if ((fate != RI_WINDOW_OPS_DONE) && (fate != RI_WINDOW_OPS_POSTED)) {
        return 0;
    }
    if (result != NULL) {
        memcpy(result, request->data, request->bytes);
    }
    return request->count;
}

/* @return Whether the runs of data are such ones; then @a runs is set to those of @a size bytes. */
static int pieces_are_runs(const ri_typed_t *there, size_t size, ri_layout_runs_t *runs)
{
    const ri_layout_t *layout = there->type->layout;

    if (there->type->is_contiguous || (layout == NULL) ||
        !ri_layout_copy_is_runs(layout, there->buffer, (size_t)there->count, runs) ||
        (runs->length > RI_PIECES_SHORT)) {
        return 0;
    }
    runs->count = ri_min(runs->count, size / runs->length);
    return 1;
}

size_t ri_pieces_ask_runs(ri_window_t *window, const ri_window_part_t *part,
                          unsigned kind, const char *from, char *result,
                          const ri_typed_t *there, size_t size)
{
    _Alignas(pieces_head_t) pieces_request_t request;
    size_t bytes = 0, done;
    ri_layout_runs_t runs;

    if (!pieces_are_runs(there, size, &runs)) {
        return 0;
    }
    while (runs.count > 0) {
        pieces_fill_runs(&request, &runs);
        done = pieces_ask(window, part, kind, (from != NULL) ? from + bytes : NULL,
                          (result != NULL) ? result + bytes : NULL, runs.address,
                          &request);
        if (done == 0) {
            break;
        }
        bytes += done * runs.length;
        runs.address += done * (uint64_t)runs.stride;
        runs.count -= done;
    }
    return bytes;
}

size_t ri_pieces_ask(ri_window_t *window, const ri_window_part_t *part, unsigned kind,
                     const char *from, char *result, const ri_segment_t *pieces,
                     size_t count)
{
    _Alignas(pieces_head_t) pieces_request_t request;

    pieces_fill_list(&request, pieces, count);
    return pieces_ask(window, part, kind, from, result, pieces[0].address, &request);
}

/* A request that is served, as it was copied. */
typedef struct pieces_served {
    _Alignas(pieces_head_t) uint8_t data[RI_MAILBOX_DATA];
    pieces_head_t head;
    uint64_t address;
    size_t size;      /* bytes, without the data of the pieces */
    uint8_t *operand; /* that data; NULL: there is none */
} pieces_served_t;

/* @return A piece of a request that is valid. */
static ri_segment_t pieces_get(const pieces_served_t *request, size_t i)
{
    const pieces_place_t *places =
            (const pieces_place_t *)(request->data + sizeof(request->head));

    if (request->head.length > 0) {
        return (ri_segment_t){request->address + i * (uint64_t)request->head.stride,
                              request->head.length};
    }
    return (ri_segment_t){request->address + (uint64_t)(int64_t)places[i].offset,
                          places[i].length};
}

/* @return Whether all pieces at a stride are in one piece of memory that others may use. */
static int pieces_are_within(ri_window_t *window, const pieces_served_t *request)
{
    uint64_t length = request->head.length;
    int64_t stride  = request->head.stride;
    uint64_t span;

    /* At most 4096 strides of PIECES_STRIDE_MAX bytes do not overflow */
    if ((length == 0) || (stride < -PIECES_STRIDE_MAX) || (stride > PIECES_STRIDE_MAX)) {
        return 0;
    }
    span = (request->head.count - 1) * (uint64_t)((stride < 0) ? -stride : stride);
    return ri_window_has(window, request->address - ((stride < 0) ? span : 0),
                         span + length);
}

/* @return Whether the places of a request are there, and all of its pieces are memory that others
 * may use. */
static int pieces_are_valid(ri_window_t *window, pieces_served_t *request, size_t size,
                            unsigned kind)
{
    size_t bytes = 0;
    ri_segment_t piece;
    int are_within;
    uint32_t i;

    if ((request->head.count == 0) || (request->head.count > RI_MAILBOX_DATA)) {
        return 0;
    }
    request->size = sizeof(request->head);
    if (request->head.length == 0) {
        request->size += request->head.count * sizeof(pieces_place_t);
    }
    if (request->size > size) {
        return 0;
    }
    are_within = pieces_are_within(window, request);
    if (are_within) {
        bytes      = (size_t)request->head.count * request->head.length;
        are_within = (bytes <= RI_MAILBOX_DATA) &&
                     ri_element_code_fits(kind, request->head.length);
    }
    for (i = 0; !are_within && (i < request->head.count); ++i) {
        piece = pieces_get(request, i);
        bytes += piece.length;
        if ((piece.length == 0) || (bytes > RI_MAILBOX_DATA) ||
            !ri_window_has(window, piece.address, piece.length) ||
            !ri_element_code_fits(kind, piece.length)) {
            return 0;
        }
    }
    request->operand = (request->size == size) ? NULL : request->data + request->size;
    return (request->operand == NULL) ? ri_element_code_has_no_data(kind) :
                                        (bytes == size - request->size);
}

/* @return The locks of all pieces of a request that is valid. */
static ri_stripes_t pieces_stripes(const ri_window_part_t *part,
                                   const pieces_served_t *request)
{
    ri_stripes_t stripes = 0;
    ri_segment_t piece;
    uint32_t i;

    for (i = 0; i < request->head.count; ++i) {
        piece = pieces_get(request, i);
        stripes |= ri_stripes_of(part, piece.address, piece.length);
    }
    return stripes;
}

/* Put data in the place of pieces at a stride. */
static void pieces_put(const pieces_served_t *request)
{
    const ri_layout_runs_t runs = {.address = request->address,
                                   .stride  = request->head.stride,
                                   .length  = request->head.length,
                                   .count   = request->head.count};

    ri_layout_copy_unpack_runs(&runs, request->operand);
}

/* Do a request that is valid. @return The length of the result. */
static int pieces_do(const pieces_served_t *request, unsigned kind, uint8_t *result)
{
    unsigned code          = kind & RI_ELEMENT_CODE_MASK;
    const uint8_t *operand = request->operand;
    int length             = 0;
    ri_segment_t piece;
    void *memory;
    uint32_t i;

    if ((request->head.length > 0) && (operand != NULL) && !(kind & RI_PIECES_FETCH) &&
        ri_element_code_replaces(code)) {
        pieces_put(request);
        return 0;
    }
    for (i = 0; i < request->head.count; ++i) {
        piece  = pieces_get(request, i);
        memory = (void *)(uintptr_t)piece.address;
        if (kind & RI_PIECES_FETCH) {
            memcpy(result + length, memory, piece.length);
            length += (int)piece.length;
        }
        if (operand != NULL) {
            ri_element_apply_code(code, operand, memory, piece.length);
            operand += piece.length;
        }
    }
    return length;
}

int ri_pieces_serve(ri_window_t *window, const ri_mailbox_head_t *head, uint8_t *data)
{
    const ri_window_part_t *part = &window->parts[window->rank];
    unsigned kind                = head->kind & ~RI_WINDOW_OPS_KIND;
    ri_stripes_t stripes         = 0;
    pieces_served_t request;
    int length;

    if ((head->length != RI_MAILBOX_DATA) || (head->data_length < sizeof(request.head)) ||
        (head->data_length > RI_MAILBOX_DATA)) {
        return -1;
    }
    /* The other side may still write there */
    memcpy(request.data, data, head->data_length);
    memcpy(&request.head, request.data, sizeof(request.head));
    request.address = head->address;
    if (!pieces_are_valid(window, &request, head->data_length, kind)) {
        return -1;
    }
    if (kind & RI_PIECES_LOCK) {
        stripes = pieces_stripes(part, &request);
        if (!ri_stripes_trylock(window->rank, part->control, stripes)) {
            return RI_WINDOW_OPS_BUSY;
        }
    }
    length = pieces_do(&request, kind, data);
    ri_stripes_unlock(part->control, stripes);
    return length;
}
