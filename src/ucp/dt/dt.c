/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First the description of data of each class, then the moves between data and a buffer, then the
 * carrier datatype by which UCP moves generic data.
 */
#include "dt.h"
#include "layout_copy.h"
#include "layout_grid.h"
#include "layout_wire.h"
#include "layout_mpi.h"
#include "mpi_abi.h"
#include "../../ucs/handle_map.h"
#include "../../ucs/log.h"
#include "../../ucs/settings.h"
#include "../../ucs/stock.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* From this size on, it pays to learn the layout of a type that is used again. */
#define DT_LONG_BYTES 4096

static ri_map_t dt_map = RI_MAP_INITIALIZER;

static pthread_once_t dt_carrier_once = PTHREAD_ONCE_INIT;
static ucp_datatype_t dt_carrier;
static ucs_status_t dt_carrier_status;

ucs_status_t ri_dt_register(ucp_datatype_t datatype, const ucp_generic_dt_ops_t *ops,
                            void *context)
{
    ri_dt_generic_t *generic = malloc(sizeof(*generic));
    ucs_status_t status;

    if (generic == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    generic->ops     = *ops;
    generic->context = context;
    atomic_store_explicit(&generic->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&generic->layout, NULL, memory_order_relaxed);
    atomic_store_explicit(&generic->long_uses, 0, memory_order_relaxed);
    status = ri_map_put(&dt_map, datatype, generic);
    if (status != UCS_OK) {
        free(generic);
    }
    return status;
}

static void dt_generic_put(ri_dt_generic_t *generic)
{
    if (atomic_fetch_sub_explicit(&generic->refs, 1, memory_order_acq_rel) == 1) {
        ri_layout_put(atomic_load_explicit(&generic->layout, memory_order_relaxed));
        free(generic);
    }
}

void ri_dt_unregister(ucp_datatype_t datatype)
{
    ri_dt_generic_t *generic = ri_map_remove(&dt_map, datatype);

    if (generic != NULL) {
        dt_generic_put(generic);
    }
}

/* Say what came of a question for the layout of an MPI's type. */
static void dt_log_layout(const ri_layout_t *layout)
{
    if (layout != NULL) {
        ri_debug("MPI datatype of %lu bytes in %lu runs: layout known", layout->size,
                 layout->stats.runs);
    } else {
        ri_debug("MPI datatype: layout not known");
    }
}

void ri_dt_set_layout(ucp_datatype_t datatype, ri_layout_t *layout)
{
    ri_dt_generic_t *generic = ri_map_get(&dt_map, datatype);

    dt_log_layout(layout);
    if ((generic == NULL) ||
        (atomic_load_explicit(&generic->layout, memory_order_relaxed) != NULL)) {
        ri_layout_put(layout);
        return;
    }
    atomic_store_explicit(&generic->layout, layout, memory_order_release);
}

/* A type is used for long data and has no layout. Open MPI's types are asked at their second use,
 * as many types are used once; their context is their handle. Others are not asked here. */
static ri_noinline ri_layout_t *dt_learn_layout(ri_dt_generic_t *generic)
{
    const void *callback = (const void *)generic->ops.pack;
    ri_layout_t *layout  = NULL;

    if ((atomic_fetch_add_explicit(&generic->long_uses, 1, memory_order_relaxed) == 1) &&
        (ri_mpi_kind() == RI_MPI_OPEN_MPI) && ri_mpi_is_open_mpi(callback)) {
        layout = ri_layout_mpi_read((uintptr_t)generic->context);
        dt_log_layout(layout);
        atomic_store_explicit(&generic->layout, layout, memory_order_release);
    }
    return layout;
}

/* Use the layout of generic data, if there is one for it. */
static void dt_use_layout(ri_dt_data_t *data)
{
    ri_layout_t *layout = atomic_load_explicit(&data->generic->layout,
                                               memory_order_acquire);
    uint64_t length;

    if (!ri_config.dt_layouts) {
        data->has_layout = 0;
        return;
    }
    if ((layout == NULL) && (data->length >= DT_LONG_BYTES)) {
        layout = dt_learn_layout(data->generic);
    }
    data->has_layout = (layout != NULL) &&
                       !__builtin_mul_overflow(layout->size, data->count, &length) &&
                       (length == data->length);
}

static size_t dt_iov_length(const ucp_dt_iov_t *iov, size_t count)
{
    size_t length = 0;
    size_t i;

    for (i = 0; i < count; ++i) {
        length += iov[i].length;
    }
    return length;
}

/* Fills all but the state of a generic type; not for contiguous types. */
static ucs_status_t dt_init(ri_dt_data_t *data, ucp_datatype_t datatype, void *buffer,
                            size_t count)
{
    data->buffer  = buffer;
    data->generic = NULL;
    data->is_iov  = 0;

    switch (datatype & UCP_DATATYPE_CLASS_MASK) {
    case UCP_DATATYPE_IOV:
        data->length = dt_iov_length(buffer, count);
        data->count  = count;
        data->is_iov = 1;
        return UCS_OK;
    case UCP_DATATYPE_GENERIC:
        data->count   = count;
        data->generic = ri_map_get(&dt_map, datatype);
        if (data->generic == NULL) {
            return UCS_ERR_INVALID_PARAM;
        }
        atomic_fetch_add_explicit(&data->generic->refs, 1, memory_order_relaxed);
        return UCS_OK;
    default:
        return UCS_ERR_INVALID_PARAM;
    }
}

ucs_status_t ri_dt_send_init_other(ri_dt_data_t *data, ucp_datatype_t datatype,
                                   const void *buffer, size_t count)
{
    ucs_status_t status = dt_init(data, datatype, (void *)buffer, count);

    if ((status == UCS_OK) && (data->generic != NULL)) {
        const ri_dt_generic_t *generic = data->generic;

        data->state  = generic->ops.start_pack(generic->context, buffer, count);
        data->length = generic->ops.packed_size(data->state);
        dt_use_layout(data);
    }
    return status;
}

ucs_status_t ri_dt_recv_init_other(ri_dt_data_t *data, ucp_datatype_t datatype,
                                   void *buffer, size_t count)
{
    ucs_status_t status = dt_init(data, datatype, buffer, count);

    if ((status == UCS_OK) && (data->generic != NULL)) {
        const ri_dt_generic_t *generic = data->generic;

        data->state  = generic->ops.start_unpack(generic->context, buffer, count);
        data->length = generic->ops.packed_size(data->state);
        dt_use_layout(data);
    }
    return status;
}

void ri_dt_finish_generic(ri_dt_data_t *data)
{
    ri_dt_generic_t *generic = data->generic;

    data->generic = NULL;
    generic->ops.finish(data->state);
    dt_generic_put(generic);
}

size_t ri_dt_pack_part(ri_dt_data_t *data, size_t offset, void *dest, size_t max_length)
{
    const ri_layout_t *layout = ri_dt_layout(data);
    size_t length;

    if (layout == NULL) {
        return data->generic->ops.pack(data->state, offset, dest, max_length);
    }
    if (offset >= data->length) {
        return 0;
    }
    length = ri_min(max_length, data->length - offset);
    ri_layout_copy_pack(layout, data->buffer, data->count, offset, dest, length);
    return length;
}

void ri_dt_pack(ri_dt_data_t *data, void *dest)
{
    size_t offset = 0;
    size_t i;

    if (data->generic != NULL) {
        while (offset < data->length) {
            size_t packed = ri_dt_pack_part(data, offset, (char *)dest + offset,
                                            data->length - offset);

            if (packed == 0) {
                break; /* a type that does not keep what packed_size promised */
            }
            offset += packed;
        }
    } else if (data->is_iov) {
        const ucp_dt_iov_t *iov = data->buffer;

        for (i = 0; i < data->count; ++i) {
            ri_copy((char *)dest + offset, iov[i].buffer, iov[i].length);
            offset += iov[i].length;
        }
    } else {
        ri_copy(dest, data->buffer, data->length);
    }
}

ucs_status_t ri_dt_unpack_part(ri_dt_data_t *data, size_t offset, const void *src,
                               size_t length)
{
    const ri_layout_t *layout = ri_dt_layout(data);

    if (layout == NULL) {
        return data->generic->ops.unpack(data->state, offset, src, length);
    }
    if ((offset > data->length) || (length > data->length - offset)) {
        return UCS_ERR_MESSAGE_TRUNCATED;
    }
    ri_layout_copy_unpack(layout, data->buffer, data->count, offset, src, length);
    return UCS_OK;
}

int ri_dt_takes_parts(const ri_dt_data_t *data)
{
    return data->has_layout || (ri_mpi_kind() != RI_MPI_MPICH);
}

ucs_status_t ri_dt_unpack_other(ri_dt_data_t *data, const void *src, size_t length)
{
    const ucp_dt_iov_t *iov = data->buffer;
    size_t offset           = 0;
    size_t i;

    if (data->generic != NULL) {
        return (length == 0) ? UCS_OK : ri_dt_unpack_part(data, 0, src, length);
    }

    for (i = 0; offset < length; ++i) {
        size_t piece = ri_min(iov[i].length, length - offset);

        ri_copy(iov[i].buffer, (const char *)src + offset, piece);
        offset += piece;
    }
    return UCS_OK;
}

/* The carrier: a stock generic datatype whose "buffer" is the ri_dt_data_t itself. */

static void *dt_carrier_start_pack(void *context, const void *buffer, size_t count)
{
    return (void *)buffer;
}

static void *dt_carrier_start_unpack(void *context, void *buffer, size_t count)
{
    return buffer;
}

static size_t dt_carrier_packed_size(void *state)
{
    ri_dt_data_t *data = state;

    return data->length;
}

static size_t dt_carrier_pack(void *state, size_t offset, void *dest, size_t max_length)
{
    return ri_dt_pack_part(state, offset, dest, max_length);
}

static ucs_status_t dt_carrier_unpack(void *state, size_t offset, const void *src,
                                      size_t length)
{
    return ri_dt_unpack_part(state, offset, src, length);
}

static void dt_carrier_finish(void *state)
{
    ri_dt_finish(state);
}

static void dt_carrier_create(void)
{
    static const ucp_generic_dt_ops_t ops = {.start_pack   = dt_carrier_start_pack,
                                             .start_unpack = dt_carrier_start_unpack,
                                             .packed_size  = dt_carrier_packed_size,
                                             .pack         = dt_carrier_pack,
                                             .unpack       = dt_carrier_unpack,
                                             .finish       = dt_carrier_finish};

    dt_carrier_status = ri_stock.dt_create_generic(&ops, NULL, &dt_carrier);
}

ucs_status_t ri_dt_to_stock(ri_dt_data_t *data, void **buffer, size_t *count,
                            ucp_datatype_t *datatype)
{
    if (data->generic == NULL) {
        *buffer   = data->buffer;
        *count    = data->count;
        *datatype = data->is_iov ? ucp_dt_make_iov() : ucp_dt_make_contig(1);
        return UCS_OK;
    }

    pthread_once(&dt_carrier_once, dt_carrier_create);
    *buffer   = data;
    *count    = 1;
    *datatype = dt_carrier;
    return dt_carrier_status;
}

size_t ri_dt_segments(const ri_dt_data_t *data, ri_segment_t *segments, size_t max)
{
    const ucp_dt_iov_t *iov = data->buffer;
    size_t length           = data->length;
    size_t count            = 0;
    size_t i;

    if (data->generic != NULL) {
        assert(data->has_layout);
        count = (length > 0) ? ri_dt_runs(data, 0, &length, segments, max) : 0;
        return (length == data->length) ? count :
                                          0; /* not all: there are more than max */
    }
    if (!data->is_iov) {
        segments[0] = (ri_segment_t){(uintptr_t)data->buffer, data->length};
        return 1;
    }
    for (i = 0; i < data->count; ++i) {
        if (iov[i].length == 0) {
            continue;
        }
        if (count == max) {
            return 0;
        }
        segments[count++] = (ri_segment_t){(uintptr_t)iov[i].buffer, iov[i].length};
    }
    return count;
}

int ri_dt_grid(const ri_dt_data_t *data, uint64_t *address, ri_wire_grid_t *grid)
{
    const ri_layout_t *layout = ri_dt_layout(data);
    int64_t disp;

    if ((layout == NULL) || (data->count == 0) ||
        !ri_layout_grid(layout, data->count, &disp, grid) ||
        (grid->run < ri_config.dt_run_min)) {
        return 0;
    }
    *address = (uintptr_t)data->buffer + disp;
    return ri_grid_is_valid(grid, *address, data->length);
}

ri_layout_t *ri_dt_described(const ri_dt_data_t *data)
{
    ri_layout_t *layout = (ri_layout_t *)ri_dt_layout(data);

    return ((layout != NULL) && ri_dt_has_long_runs(data) &&
            !ri_layout_wire_is_long(layout) &&
            ri_layout_wire_may_be_at(layout, data->count, (uintptr_t)data->buffer,
                                     data->length)) ?
                   layout :
                   NULL;
}

size_t ri_dt_run_mean(const ri_dt_data_t *data)
{
    const ri_layout_t *layout = ri_dt_layout(data);

    return ((layout == NULL) || (layout->stats.runs == 0)) ?
                   0 :
                   layout->size / layout->stats.runs;
}

int ri_dt_has_long_runs(const ri_dt_data_t *data)
{
    return ri_dt_is_spread(data) && (ri_dt_run_mean(data) >= ri_config.dt_run_min);
}

size_t ri_dt_runs(const ri_dt_data_t *data, size_t offset, size_t *length_p,
                  ri_segment_t *segments, size_t max)
{
    return ri_layout_copy_segments(ri_dt_layout(data), data->buffer, data->count, offset,
                                   length_p, segments, max);
}

static int dt_is_in_few(const ri_dt_data_t *data)
{
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];

    return (data->length > 0) &&
           (ri_dt_segments(data, segments, RI_WIRE_SEGMENTS_MAX) != 0);
}

int ri_dt_fits(const ri_dt_data_t *data)
{
    return (data->generic == NULL) && dt_is_in_few(data);
}

int ri_dt_fits_net(const ri_dt_data_t *data)
{
    return ((data->generic == NULL) || ri_dt_has_long_runs(data)) && dt_is_in_few(data);
}
