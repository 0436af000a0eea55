/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Entries of the table of predefined types are never changed and never removed, so reading it takes
 * no lock.
 */
#include "datatype.h"
#include "../ucp/dt/layout_mpi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE 256 /* more than twice as many as there are predefined types */

/* Types within types that are looked into, to find what all are made of. */
#define BASIC_DEPTH 64

static _Atomic(const ri_datatype_t *) table[TABLE_SIZE];
static pthread_mutex_t datatype_lock = PTHREAD_MUTEX_INITIALIZER;
static int datatype_keyval           = MPI_KEYVAL_INVALID;
static _Atomic(int) datatype_has_keyval;

static size_t table_place(MPI_Datatype handle)
{
    uint64_t bits = (uint64_t)(uintptr_t)handle;

    return (size_t)((bits * UINT64_C(0x9e3779b97f4a7c15)) >> 56) % TABLE_SIZE;
}

static const ri_datatype_t *table_find(MPI_Datatype handle)
{
    size_t place = table_place(handle);
    const ri_datatype_t *type;
    size_t i;

    for (i = 0; i < TABLE_SIZE; ++i, place = (place + 1) % TABLE_SIZE) {
        type = atomic_load_explicit(&table[place], memory_order_acquire);
        if ((type == NULL) || (type->handle == handle)) {
            return type;
        }
    }
    return NULL;
}

/* The lock is held. @return Whether there was room. */
static int table_add(const ri_datatype_t *type)
{
    size_t place = table_place(type->handle);
    size_t i;

    for (i = 0; i < TABLE_SIZE; ++i, place = (place + 1) % TABLE_SIZE) {
        if (atomic_load_explicit(&table[place], memory_order_relaxed) == NULL) {
            atomic_store_explicit(&table[place], type, memory_order_release);
            return 1;
        }
    }
    return 0;
}

/* How a type was made. MPI 3 has no arguments that are counts. */
typedef struct envelope {
#if MPI_VERSION >= 4
    MPI_Count num_ints, num_addresses, num_counts, num_types;
#else
    int num_ints, num_addresses, num_types;
#endif
    int combiner;
    int *ints; /* the arguments, by envelope_read_contents() */
    MPI_Aint *addresses;
    MPI_Count *counts;
    MPI_Datatype *types;
} envelope_t;

/* @return Whether the MPI has told. */
static int envelope_read(MPI_Datatype handle, envelope_t *envelope)
{
    memset(envelope, 0, sizeof(*envelope));
#if MPI_VERSION >= 4
    return PMPI_Type_get_envelope_c(handle, &envelope->num_ints, &envelope->num_addresses,
                                    &envelope->num_counts, &envelope->num_types,
                                    &envelope->combiner) == MPI_SUCCESS;
#else
    return PMPI_Type_get_envelope(handle, &envelope->num_ints, &envelope->num_addresses,
                                  &envelope->num_types,
                                  &envelope->combiner) == MPI_SUCCESS;
#endif
}

/* Read the arguments, which envelope_free() frees. @return Whether the MPI has told. */
static int envelope_read_contents(MPI_Datatype handle, envelope_t *envelope)
{
    envelope->ints      = calloc((size_t)envelope->num_ints + 1, sizeof(int));
    envelope->addresses = calloc((size_t)envelope->num_addresses + 1, sizeof(MPI_Aint));
    envelope->types     = calloc((size_t)envelope->num_types + 1, sizeof(MPI_Datatype));
#if MPI_VERSION >= 4
    envelope->counts = calloc((size_t)envelope->num_counts + 1, sizeof(MPI_Count));
    return (envelope->ints != NULL) && (envelope->addresses != NULL) &&
           (envelope->types != NULL) && (envelope->counts != NULL) &&
           (PMPI_Type_get_contents_c(handle, envelope->num_ints, envelope->num_addresses,
                                     envelope->num_counts, envelope->num_types,
                                     envelope->ints, envelope->addresses,
                                     envelope->counts, envelope->types) == MPI_SUCCESS);
#else
    return (envelope->ints != NULL) && (envelope->addresses != NULL) &&
           (envelope->types != NULL) &&
           (PMPI_Type_get_contents(handle, envelope->num_ints, envelope->num_addresses,
                                   envelope->num_types, envelope->ints,
                                   envelope->addresses, envelope->types) == MPI_SUCCESS);
#endif
}

static void envelope_free(envelope_t *envelope)
{
    free(envelope->ints);
    free(envelope->addresses);
    free(envelope->counts);
    free(envelope->types);
}

/* Whether the type @a i of those that a type is made of has no elements in it: it is in a block of
 * a struct that has none. The lengths of blocks are integers, or counts if there are no
 * integers. */
static int envelope_is_empty(const envelope_t *envelope, size_t i)
{
    if (envelope->combiner != MPI_COMBINER_STRUCT) {
        return 0;
    }
    if ((size_t)envelope->num_ints > i + 1) {
        return envelope->ints[i + 1] == 0;
    }
#if MPI_VERSION >= 4
    return ((size_t)envelope->num_counts > i + 1) && (envelope->counts[i + 1] == 0);
#else
    return 0;
#endif
}

/* Whether a type has no others that it is made of. */
static int combiner_is_basic(int combiner)
{
    return (combiner == MPI_COMBINER_NAMED) || (combiner == MPI_COMBINER_F90_REAL) ||
           (combiner == MPI_COMBINER_F90_COMPLEX) ||
           (combiner == MPI_COMBINER_F90_INTEGER);
}

/* Give back a type that was an argument of another one. */
static void basic_release(MPI_Datatype handle)
{
    envelope_t envelope;

    if (envelope_read(handle, &envelope) && !combiner_is_basic(envelope.combiner)) {
        PMPI_Type_free(&handle);
    }
}

/* The one basic type that a type is made of. @a basic_p is null before the first one is found. What
 * has no data, as a marker of a bound, is of no type. @return Whether there is no other one. */
static int basic_find(MPI_Datatype handle, unsigned depth, MPI_Datatype *basic_p)
{
    envelope_t envelope;
    MPI_Count size;
    int is_one = 1;
    size_t i;

    if ((depth == 0) || (PMPI_Type_size_x(handle, &size) != MPI_SUCCESS) ||
        !envelope_read(handle, &envelope)) {
        return 0;
    }
    if (size == 0) {
        return 1;
    }
    if (combiner_is_basic(envelope.combiner)) {
        is_one   = (*basic_p == MPI_DATATYPE_NULL) || (*basic_p == handle);
        *basic_p = handle;
        return is_one;
    }
    if (envelope_read_contents(handle, &envelope)) {
        for (i = 0; i < (size_t)envelope.num_types; ++i) {
            if (is_one && !envelope_is_empty(&envelope, i)) {
                is_one = basic_find(envelope.types[i], depth - 1, basic_p);
            }
            basic_release(envelope.types[i]);
        }
    } else {
        is_one = 0;
    }
    envelope_free(&envelope);
    return is_one;
}

static void datatype_free(ri_datatype_t *type)
{
    ri_layout_put(type->layout);
    free(type);
}

/* A copy of the type is another type, of which nothing is known. */
static int datatype_no_copy(MPI_Datatype handle, int keyval, void *extra, void *value,
                            void *copy, int *flag)
{
    (void)handle;
    (void)keyval;
    (void)extra;
    (void)value;
    (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

/* The type is freed. */
static int datatype_delete(MPI_Datatype handle, int keyval, void *value, void *extra)
{
    (void)handle;
    (void)keyval;
    (void)extra;
    datatype_free(value);
    return MPI_SUCCESS;
}

static ri_datatype_t *datatype_read(MPI_Datatype handle, int is_basic)
{
    MPI_Count size, lb, extent, true_lb, true_extent;
    MPI_Datatype basic = MPI_DATATYPE_NULL;
    ri_datatype_t *type;

    if ((PMPI_Type_size_x(handle, &size) != MPI_SUCCESS) || (size == MPI_UNDEFINED) ||
        (PMPI_Type_get_extent_x(handle, &lb, &extent) != MPI_SUCCESS) ||
        (PMPI_Type_get_true_extent_x(handle, &true_lb, &true_extent) != MPI_SUCCESS)) {
        return NULL;
    }
    type = calloc(1, sizeof(*type));
    if (type == NULL) {
        return NULL;
    }
    type->handle = handle;
    type->size   = (size_t)size;
    type->extent = (MPI_Aint)extent;
    type->lo     = (MPI_Aint)true_lb;
    type->hi     = (MPI_Aint)(true_lb + true_extent);
    if (is_basic) {
        basic = handle;
    } else if (!basic_find(handle, BASIC_DEPTH, &basic)) {
        basic = MPI_DATATYPE_NULL;
    }
    type->basic         = ri_element_of(basic);
    type->is_contiguous = is_basic && (size == extent) && (size == true_extent);
    if (!type->is_contiguous && (size > 0)) {
        type->layout = ri_layout_mpi_read((uintptr_t)handle);
        if ((type->layout != NULL) && (type->layout->stats.runs == 1) && (true_lb == 0) &&
            (size == extent)) {
            type->is_contiguous = 1;
        }
    }
    return type;
}

/* The lock is held. Nothing is known of the type. */
static const ri_datatype_t *datatype_add(MPI_Datatype handle)
{
    ri_datatype_t *type;
    envelope_t envelope;
    int is_kept;

    if (!envelope_read(handle, &envelope)) {
        return NULL;
    }
    type = datatype_read(handle, combiner_is_basic(envelope.combiner));
    if (type == NULL) {
        return NULL;
    }
    if (combiner_is_basic(envelope.combiner)) {
        is_kept = table_add(type);
    } else {
        if (!datatype_has_keyval &&
            (PMPI_Type_create_keyval(datatype_no_copy, datatype_delete, &datatype_keyval,
                                     NULL) == MPI_SUCCESS)) {
            datatype_has_keyval = 1;
        }
        is_kept = datatype_has_keyval &&
                  (PMPI_Type_set_attr(handle, datatype_keyval, type) == MPI_SUCCESS);
    }
    if (!is_kept) {
        datatype_free(type);
        type = NULL;
    }
    return type;
}

static const ri_datatype_t *datatype_find(MPI_Datatype handle)
{
    const ri_datatype_t *type = table_find(handle);
    void *value;
    int flag;

    if ((type == NULL) && datatype_has_keyval &&
        (PMPI_Type_get_attr(handle, datatype_keyval, &value, &flag) == MPI_SUCCESS) &&
        flag) {
        type = value;
    }
    return type;
}

const ri_datatype_t *ri_datatype_get(MPI_Datatype handle)
{
    const ri_datatype_t *type;

    if (handle == MPI_DATATYPE_NULL) {
        return NULL;
    }
    type = datatype_find(handle);
    if (type == NULL) {
        pthread_mutex_lock(&datatype_lock);
        type = datatype_find(handle); /* another thread may have been here */
        if (type == NULL) {
            type = datatype_add(handle);
        }
        pthread_mutex_unlock(&datatype_lock);
    }
    return type;
}
