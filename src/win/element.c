/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A loop for each operation and type. Elements may lie at any address. On x86-64 there are two of
 * each, one of which has instructions that not every processor has.
 */
#include "element.h"
#include "../ucs/base.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* The loops become vectors. clang does that anyway. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* Kinds of operations. */
typedef enum op_kind {
    OP_NONE, /* not one of MPI's own */
    OP_REPLACE,
    OP_NO_OP,
    OP_SUM,
    OP_PROD,
    OP_MIN,
    OP_MAX,
    OP_BAND,
    OP_BOR,
    OP_BXOR,
    OP_LOGICAL,
    OP_LOCATION
} op_kind_t;

static op_kind_t op_kind(MPI_Op op)
{
    /* Handles need not be constants that a switch could have */
    return (op == MPI_SUM)                                           ? OP_SUM :
           (op == MPI_REPLACE)                                       ? OP_REPLACE :
           (op == MPI_NO_OP)                                         ? OP_NO_OP :
           (op == MPI_MIN)                                           ? OP_MIN :
           (op == MPI_MAX)                                           ? OP_MAX :
           (op == MPI_PROD)                                          ? OP_PROD :
           (op == MPI_BAND)                                          ? OP_BAND :
           (op == MPI_BOR)                                           ? OP_BOR :
           (op == MPI_BXOR)                                          ? OP_BXOR :
           ((op == MPI_LAND) || (op == MPI_LOR) || (op == MPI_LXOR)) ? OP_LOGICAL :
           ((op == MPI_MINLOC) || (op == MPI_MAXLOC))                ? OP_LOCATION :
                                                                       OP_NONE;
}

/* Predefined types and how their elements are computed: by size where C or Fortran leave it open. */
static ri_element_kind_t element_kind(MPI_Datatype handle, size_t size)
{
    const MPI_Datatype is_signed[] = {
            MPI_INT,      MPI_LONG,    MPI_SHORT,   MPI_SIGNED_CHAR, MPI_LONG_LONG_INT,
            MPI_INT8_T,   MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,     MPI_AINT,
            MPI_OFFSET,   MPI_COUNT,   MPI_INTEGER, MPI_INTEGER1,    MPI_INTEGER2,
            MPI_INTEGER4, MPI_INTEGER8};
    const MPI_Datatype is_unsigned[] = {
            MPI_UNSIGNED,      MPI_UNSIGNED_LONG,      MPI_UNSIGNED_SHORT,
            MPI_UNSIGNED_CHAR, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
            MPI_UINT16_T,      MPI_UINT32_T,           MPI_UINT64_T};
    const MPI_Datatype is_real[]          = {MPI_DOUBLE,           MPI_FLOAT, MPI_REAL,
                                             MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8};
    const ri_element_kind_t of_signed[]   = {[1] = RI_ELEMENT_I8,
                                             [2] = RI_ELEMENT_I16,
                                             [4] = RI_ELEMENT_I32,
                                             [8] = RI_ELEMENT_I64};
    const ri_element_kind_t of_unsigned[] = {[1] = RI_ELEMENT_U8,
                                             [2] = RI_ELEMENT_U16,
                                             [4] = RI_ELEMENT_U32,
                                             [8] = RI_ELEMENT_U64};
    size_t i;

    if ((handle == MPI_DATATYPE_NULL) || (size > 8)) {
        return RI_ELEMENT_OTHER;
    }
    if (handle == MPI_BYTE) {
        return RI_ELEMENT_BYTE;
    }
    for (i = 0; i < sizeof(is_signed) / sizeof(is_signed[0]); ++i) {
        if (handle == is_signed[i]) {
            return of_signed[size];
        }
    }
    for (i = 0; i < sizeof(is_unsigned) / sizeof(is_unsigned[0]); ++i) {
        if (handle == is_unsigned[i]) {
            return of_unsigned[size];
        }
    }
    for (i = 0; i < sizeof(is_real) / sizeof(is_real[0]); ++i) {
        if (handle == is_real[i]) {
            return (size == sizeof(float))  ? RI_ELEMENT_F32 :
                   (size == sizeof(double)) ? RI_ELEMENT_F64 :
                                              RI_ELEMENT_OTHER;
        }
    }
    return RI_ELEMENT_OTHER;
}

ri_element_t ri_element_of(MPI_Datatype handle)
{
    ri_element_t element = {.handle = handle};
    MPI_Aint lb;
    int size;

    if ((handle != MPI_DATATYPE_NULL) && (PMPI_Type_size(handle, &size) == MPI_SUCCESS) &&
        (PMPI_Type_get_extent(handle, &lb, &element.extent) == MPI_SUCCESS)) {
        element.size = (size_t)size;
        element.kind = element_kind(handle, element.size);
    }
    return element;
}

int ri_element_check(const ri_element_t *element, MPI_Op op)
{
    op_kind_t kind = op_kind(op);
    int is_bits    = (kind == OP_BAND) || (kind == OP_BOR) || (kind == OP_BXOR);
    int is_ok;

    if ((kind == OP_REPLACE) || (kind == OP_NO_OP)) {
        return MPI_SUCCESS;
    }
    switch (element->kind) {
    case RI_ELEMENT_OTHER: /* the MPI knows */
        is_ok = kind != OP_NONE;
        break;
    case RI_ELEMENT_BYTE:
        is_ok = is_bits;
        break;
    case RI_ELEMENT_F32:
    case RI_ELEMENT_F64:
        is_ok = (kind == OP_SUM) || (kind == OP_PROD) || (kind == OP_MIN) ||
                (kind == OP_MAX);
        break;
    default:
        is_ok = (kind != OP_NONE) && (kind != OP_LOCATION);
        break;
    }
    return is_ok ? MPI_SUCCESS : MPI_ERR_OP;
}

/* Numbers that wrap, and those at any address. */
#define ELEMENT_TYPES(_name, _type) \
    typedef struct { \
        _type value; \
    } __attribute__((packed)) any_##_name##_t;
RI_ELEMENT_NUMBERS(ELEMENT_TYPES)

/* What sums and products are computed in: integers wrap. */
#define ELEMENT_WIDE_I8  uint32_t
#define ELEMENT_WIDE_I16 uint32_t
#define ELEMENT_WIDE_I32 uint32_t
#define ELEMENT_WIDE_I64 uint64_t
#define ELEMENT_WIDE_U8  uint32_t
#define ELEMENT_WIDE_U16 uint32_t
#define ELEMENT_WIDE_U32 uint32_t
#define ELEMENT_WIDE_U64 uint64_t
#define ELEMENT_WIDE_F32 float
#define ELEMENT_WIDE_F64 double

#define ELEMENT_LOOP(_name, _type, _result) \
    do { \
        const any_##_name##_t *restrict in = from; \
        any_##_name##_t *restrict out      = to; \
        size_t i; \
        for (i = 0; i < count; ++i) { \
            const _type a = in[i].value; \
            const _type b = out[i].value; \
            out[i].value  = (_type)(_result); \
        } \
    } while (0)

/* For each type a function with the operations that integers and reals have. @return Whether it has
 * the operation. */
#define ELEMENT_FUNCTION(_name, _type) \
    static ri_inline int element_loop_##_name(op_kind_t op, const void *from, void *to, \
                                              size_t count) \
    { \
        typedef ELEMENT_WIDE_##_name wide_t; \
        switch (op) { \
        case OP_SUM: \
            ELEMENT_LOOP(_name, _type, (wide_t)a + (wide_t)b); \
            return 1; \
        case OP_PROD: \
            ELEMENT_LOOP(_name, _type, (wide_t)a *(wide_t)b); \
            return 1; \
        case OP_MIN: \
            ELEMENT_LOOP(_name, _type, (a < b) ? a : b); \
            return 1; \
        case OP_MAX: \
            ELEMENT_LOOP(_name, _type, (a > b) ? a : b); \
            return 1; \
        default: \
            return 0; \
        } \
    } \
    static int element_##_name(op_kind_t op, const void *from, void *to, size_t count) \
    { \
        return element_loop_##_name(op, from, to, count); \
    } \
    ELEMENT_AVX2 static int element_avx2_##_name(op_kind_t op, const void *from, \
                                                 void *to, size_t count) \
    { \
        return element_loop_##_name(op, from, to, count); \
    }

#ifdef __x86_64__
#define ELEMENT_AVX2 __attribute__((target("avx2")))
#else
#define ELEMENT_AVX2
#endif
RI_ELEMENT_NUMBERS(ELEMENT_FUNCTION)

/* Whether the processor has the other instructions. */
static int element_has_avx2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2");
#else
    return 0;
#endif
}

/* Bits, whatever they mean. @return Whether it has the operation. */
static int element_bits(op_kind_t op, const void *from, void *to, size_t bytes)
{
    size_t count = bytes;

    switch (op) {
    case OP_BAND:
        ELEMENT_LOOP(U8, uint8_t, a & b);
        return 1;
    case OP_BOR:
        ELEMENT_LOOP(U8, uint8_t, a | b);
        return 1;
    case OP_BXOR:
        ELEMENT_LOOP(U8, uint8_t, a ^ b);
        return 1;
    default:
        return 0;
    }
}

int ri_element_apply(const ri_element_t *element, MPI_Op op, const void *from, void *to,
                     size_t count)
{
    op_kind_t kind = op_kind(op);
    size_t bytes   = count * (size_t)element->extent;
    int has_avx2   = (count > 16) && element_has_avx2();
    int is_done    = 0;
    int now, error;

    if (kind == OP_REPLACE) {
        memcpy(to, from, bytes);
        return MPI_SUCCESS;
    }
    if (kind == OP_NO_OP) {
        return MPI_SUCCESS;
    }
    switch (element->kind) {
#define ELEMENT_CASE(_name, _type) \
    case RI_ELEMENT_##_name: \
        is_done = (has_avx2 ? element_avx2_##_name : element_##_name)(kind, from, to, \
                                                                      count); \
        break;
        RI_ELEMENT_NUMBERS(ELEMENT_CASE)
    default:
        break;
    }
    if (!is_done && (element->kind != RI_ELEMENT_OTHER)) {
        is_done = element_bits(kind, from, to, bytes);
    }
    while (!is_done && (count > 0)) {
        now   = (count < INT_MAX) ? (int)count : INT_MAX;
        error = PMPI_Reduce_local(from, to, now, element->handle, op);
        if (error != MPI_SUCCESS) {
            return error;
        }
        from = (const char *)from + (size_t)now * (size_t)element->extent;
        to   = (char *)to + (size_t)now * (size_t)element->extent;
        count -= (size_t)now;
    }
    return MPI_SUCCESS;
}
