/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCP datatypes on both sides of a message: contiguous, lists of buffers (IOV), and
 * generic ones that the application packs and unpacks by callbacks.
 *
 * A generic type has state between its start and finish callbacks, and there is exactly
 * one such pair per operation, because applications count references there. Where the
 * data is finally moved by UCP, the pair is not started again: UCP is given a carrier
 * datatype that hands the existing state through.
 *
 * Where the layout of a generic type is known, the library copies by itself, and of the callbacks
 * only start, packed_size and finish are called.
 */
#ifndef RI_DT_H
#define RI_DT_H

#include "../../ucs/copy.h"
#include "../../ucs/base.h"
#include "../wire/grid.h"
#include "../wire/wire.h"
#include "layout.h"

/* The arguments of ucp_dt_create_generic; the stock handle only names them. */
typedef struct ri_dt_generic {
    ucp_generic_dt_ops_t ops;
    void *context;
    _Atomic(unsigned) refs;        /* the datatype's, and those of operations */
    _Atomic(unsigned) long_uses;   /* without a layout */
    _Atomic(ri_layout_t *) layout; /* NULL: not known; set once */
} ri_dt_generic_t;

/* One side's description of its data. For a generic type, between init and finish the
 * state is started. */
typedef struct ri_dt_data {
    void *buffer;             /* the memory, or the ucp_dt_iov_t array */
    size_t count;             /* bytes if contiguous, entries of an IOV, elements */
    size_t length;            /* bytes in all; of a receive: its capacity */
    ri_dt_generic_t *generic; /* NULL unless generic; with a reference */
    void *state;              /* of the generic type */
    int is_iov;
    uint8_t has_layout;  /* of generic data: the library copies by the type's layout */
    uint8_t memory_type; /* ucs_memory_type_t; only of receives, and only where there are
                            kinds besides the host's */
} ri_dt_data_t;

/** Remember the callbacks of a stock generic datatype, which are copied. Any thread may call it.
 * @return UCS_OK, or UCS_ERR_NO_MEMORY, and the datatype is not known. */
ucs_status_t ri_dt_register(ucp_datatype_t datatype, const ucp_generic_dt_ops_t *ops,
                            void *context);

/** Forget a datatype that no operation uses any more; for a type that is not known, does nothing.
 * Any thread may call it. */
void ri_dt_unregister(ucp_datatype_t datatype);

/** Set the layout of a datatype that was remembered, and has none. Takes the reference over. No
 * operation uses the type yet. NULL: it was asked for and is not known. */
void ri_dt_set_layout(ucp_datatype_t datatype, ri_layout_t *layout);

/** What @ref ri_dt_send_init does for data that is not contiguous. @return As ri_dt_send_init(). */
ucs_status_t ri_dt_send_init_other(ri_dt_data_t *data, ucp_datatype_t datatype,
                                   const void *buffer, size_t count);

/** What @ref ri_dt_recv_init does for data that is not contiguous. @return As ri_dt_recv_init(). */
ucs_status_t ri_dt_recv_init_other(ri_dt_data_t *data, ucp_datatype_t datatype,
                                   void *buffer, size_t count);

/** What @ref ri_dt_finish does for generic data. Calls the application's finish. */
void ri_dt_finish_generic(ri_dt_data_t *data);

/** @return The layout of generic data, or NULL if the callbacks copy it. */
static inline const ri_layout_t *ri_dt_layout(const ri_dt_data_t *data)
{
    return data->has_layout ?
                   atomic_load_explicit(&data->generic->layout, memory_order_relaxed) :
                   NULL;
}

/** Pack a part of generic data to @a dest: at most @a max_length bytes, @a offset bytes from its
 * start. @return How many bytes; 0 at the end. With a layout it is as many as there are. */
size_t ri_dt_pack_part(ri_dt_data_t *data, size_t offset, void *dest, size_t max_length);

/** Place a part of a message in a generic receive: @a length bytes, @a offset bytes from its start.
 * Where there is no layout, it is the application that says in what order and parts that may be.
 * @return As ri_dt_unpack(). */
ucs_status_t ri_dt_unpack_part(ri_dt_data_t *data, size_t offset, const void *src,
                               size_t length);

/** @return Whether data is in many runs, of which the library knows where they are. */
static inline int ri_dt_is_spread(const ri_dt_data_t *data)
{
    return (data->generic != NULL) && data->has_layout;
}

/** @return Whether a generic receive can be given a message in parts that begin and end anywhere.
 * MPICH drops an element that a part ends in. */
int ri_dt_takes_parts(const ri_dt_data_t *data);

/** What @ref ri_dt_unpack does for data that is not contiguous. @return As ri_dt_unpack(). */
ucs_status_t ri_dt_unpack_other(ri_dt_data_t *data, const void *src, size_t length);

/** What @ref ri_dt_send_init and @ref ri_dt_recv_init do for contiguous data. @return 0 if the
 * type is not contiguous: nothing was done. */
static inline int ri_dt_init_contig(ri_dt_data_t *data, ucp_datatype_t datatype,
                                    const void *buffer, size_t count)
{
    if (ri_unlikely((datatype & UCP_DATATYPE_CLASS_MASK) != UCP_DATATYPE_CONTIG)) {
        return 0;
    }
    data->buffer  = (void *)buffer;
    data->count   = count * (datatype >> UCP_DATATYPE_SHIFT);
    data->length  = data->count;
    data->generic = NULL;
    data->is_iov  = 0;
    return 1;
}

/**
 * Describe data to be sent. Starts the state of a generic type, which is to be ended by @ref
 * ri_dt_finish. The buffer, and the list of an IOV, stay the application's and are not copied.
 *
 * @return UCS_OK; UCS_ERR_INVALID_PARAM for a datatype that does not exist, and no state was
 *         started.
 */
static inline ucs_status_t ri_dt_send_init(ri_dt_data_t *data, ucp_datatype_t datatype,
                                           const void *buffer, size_t count)
{
    return ri_dt_init_contig(data, datatype, buffer, count) ?
                   UCS_OK :
                   ri_dt_send_init_other(data, datatype, buffer, count);
}

/** Describe the place for data to be received, as @ref ri_dt_send_init describes data to be sent:
 * the state of a generic type is to be ended by @ref ri_dt_finish. @return As ri_dt_send_init(). */
static inline ucs_status_t ri_dt_recv_init(ri_dt_data_t *data, ucp_datatype_t datatype,
                                           void *buffer, size_t count)
{
    return ri_dt_init_contig(data, datatype, buffer, count) ?
                   UCS_OK :
                   ri_dt_recv_init_other(data, datatype, buffer, count);
}

/** End the state of a generic type, once: it may be called again. Generic data must not be
 * touched after it. */
static inline void ri_dt_finish(ri_dt_data_t *data)
{
    if (ri_unlikely(data->generic != NULL)) {
        ri_dt_finish_generic(data);
    }
}

/** Copy the data of a send, all data->length bytes, to @a dest. If a generic type packs less than
 * it has promised, the rest of @a dest is left as it was. */
void ri_dt_pack(ri_dt_data_t *data, void *dest);

/**
 * Place @a length bytes, at most data->length, from the start of the receive's memory.
 *
 * @return UCS_OK, or what a generic type's unpack returned.
 */
static inline ucs_status_t ri_dt_unpack(ri_dt_data_t *data, const void *src,
                                        size_t length)
{
    if (ri_unlikely((data->generic != NULL) || data->is_iov)) {
        return ri_dt_unpack_other(data, src, length);
    }
    ri_copy(data->buffer, src, length);
    return UCS_OK;
}

/**
 * What to hand to a stock function that is to move this data: its buffer, count and datatype. The
 * data, and @a data itself if it is generic, must stay where it is until that operation has ended;
 * for a generic type it has then also finished the state, and ri_dt_finish does nothing more.
 *
 * @return UCS_OK or an error of creating the carrier datatype, for generic data; it is not tried
 *         again.
 */
ucs_status_t ri_dt_to_stock(ri_dt_data_t *data, void **buffer, size_t *count,
                            ucp_datatype_t *datatype);

/** @return Whether the data is in one place. */
static inline int ri_dt_is_contig(const ri_dt_data_t *data)
{
    return !data->is_iov && (data->generic == NULL);
}

/**
 * The pieces that contiguous or listed data is in, or the runs of generic data with a layout. Empty
 * pieces of a list are left out; contiguous data is one piece, empty or not. @a max is not 0.
 *
 * @return How many; 0 if there are more than @a max, or if a list or a layout has none that is not
 *         empty.
 */
size_t ri_dt_segments(const ri_dt_data_t *data, ri_segment_t *segments, size_t max);

/**
 * Describe data that is not contiguous for a sender that is to write it, run by run: generic data
 * whose layout is a grid of long runs, not too many of them.
 *
 * @param address  Set to where the first run is.
 *
 * @return Whether it is so.
 */
int ri_dt_grid(const ri_dt_data_t *data, uint64_t *address, ri_wire_grid_t *grid);

/** @return The layout of generic data for a sender that is to write it run by run, if the runs are
 * long in the mean, not too many, and its definition is not known to have no room; else NULL. */
ri_layout_t *ri_dt_described(const ri_dt_data_t *data);

/** @return Whether data is in runs that are known, and so long that each may be moved by itself. */
int ri_dt_has_long_runs(const ri_dt_data_t *data);

/* Runs shorter than this in the mean are packed whichever protocol moves them. */
#define RI_DT_SHORT_RUN 1024

/** @return The mean length of the runs of generic data; 0 if its layout is not known. */
size_t ri_dt_run_mean(const ri_dt_data_t *data);

/** List the runs of generic data with a layout, and set @a length_p to their length, as
 * ri_layout_copy_segments() does. @return As ri_layout_copy_segments(). */
size_t ri_dt_runs(const ri_dt_data_t *data, size_t offset, size_t *length_p,
                  ri_segment_t *segments, size_t max);

/** @return Whether data is in few pieces of memory, so that it can be described in an RTS: not
 * generic, not empty, and in at most RI_WIRE_SEGMENTS_MAX. */
int ri_dt_fits(const ri_dt_data_t *data);

/** @return Whether a network moves data from where it is, or to there, rather than by a copy: it is
 * in few pieces (ri_dt_fits()), or in as few runs, which are known and long. */
int ri_dt_fits_net(const ri_dt_data_t *data);

#endif
