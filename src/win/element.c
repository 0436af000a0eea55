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

/* @return Whether an operation is done here, on elements that are. It may be any number. */
static int op_is_done_here(op_kind_t op)
{
    switch (op) {
    case OP_REPLACE:
    case OP_NO_OP:
    case OP_SUM:
    case OP_PROD:
    case OP_MIN:
    case OP_MAX:
    case OP_BAND:
    case OP_BOR:
    case OP_BXOR:
        return 1;
    default:
        return 0;
    }
}

#define ELEMENT_HERE(_name, _type) case RI_ELEMENT_##_name:

/* @return Whether elements of this kind are combined here. */
static int element_is_done_here(ri_element_kind_t kind)
{
    switch (kind) {
    case RI_ELEMENT_BYTE:
        RI_ELEMENT_NUMBERS(ELEMENT_HERE)
        return 1;
    default:
        return 0;
    }
}

/* A predefined type. The size of integers and reals is left open by C and Fortran: the kind of
 * eight bytes stands for all of them. */
typedef struct element_type {
    MPI_Datatype handle;
    ri_element_kind_t kind;
} element_type_t;

/* The kind of numbers of another size, or RI_ELEMENT_OTHER if there is none. */
static ri_element_kind_t element_of_size(ri_element_kind_t kind, size_t size)
{
    switch (kind) {
    case RI_ELEMENT_I64:
        return (size == 8) ? RI_ELEMENT_I64 :
               (size == 4) ? RI_ELEMENT_I32 :
               (size == 2) ? RI_ELEMENT_I16 :
               (size == 1) ? RI_ELEMENT_I8 :
                             RI_ELEMENT_OTHER;
    case RI_ELEMENT_U64:
        return (size == 8) ? RI_ELEMENT_U64 :
               (size == 4) ? RI_ELEMENT_U32 :
               (size == 2) ? RI_ELEMENT_U16 :
               (size == 1) ? RI_ELEMENT_U8 :
                             RI_ELEMENT_OTHER;
    case RI_ELEMENT_F64:
        return (size == sizeof(double)) ? RI_ELEMENT_F64 :
               (size == sizeof(float))  ? RI_ELEMENT_F32 :
                                          RI_ELEMENT_OTHER;
    default:
        return kind;
    }
}

static ri_element_kind_t element_kind(MPI_Datatype handle, size_t size)
{
    const element_type_t types[] = {
            {MPI_INT, RI_ELEMENT_I64},
            {MPI_LONG, RI_ELEMENT_I64},
            {MPI_SHORT, RI_ELEMENT_I64},
            {MPI_SIGNED_CHAR, RI_ELEMENT_I64},
            /* No number by the standard, but both MPIs add it */
            {MPI_CHAR, (CHAR_MIN < 0) ? RI_ELEMENT_I64 : RI_ELEMENT_U64},
            {MPI_LONG_LONG_INT, RI_ELEMENT_I64},
            {MPI_INT8_T, RI_ELEMENT_I64},
            {MPI_INT16_T, RI_ELEMENT_I64},
            {MPI_INT32_T, RI_ELEMENT_I64},
            {MPI_INT64_T, RI_ELEMENT_I64},
            {MPI_AINT, RI_ELEMENT_I64},
            {MPI_OFFSET, RI_ELEMENT_I64},
            {MPI_COUNT, RI_ELEMENT_I64},
            {MPI_INTEGER, RI_ELEMENT_I64},
            {MPI_INTEGER1, RI_ELEMENT_I64},
            {MPI_INTEGER2, RI_ELEMENT_I64},
            {MPI_INTEGER4, RI_ELEMENT_I64},
            {MPI_INTEGER8, RI_ELEMENT_I64},
            {MPI_UNSIGNED, RI_ELEMENT_U64},
            {MPI_UNSIGNED_LONG, RI_ELEMENT_U64},
            {MPI_UNSIGNED_SHORT, RI_ELEMENT_U64},
            {MPI_UNSIGNED_CHAR, RI_ELEMENT_U64},
            {MPI_UNSIGNED_LONG_LONG, RI_ELEMENT_U64},
            {MPI_UINT8_T, RI_ELEMENT_U64},
            {MPI_UINT16_T, RI_ELEMENT_U64},
            {MPI_UINT32_T, RI_ELEMENT_U64},
            {MPI_UINT64_T, RI_ELEMENT_U64},
            {MPI_DOUBLE, RI_ELEMENT_F64},
            {MPI_FLOAT, RI_ELEMENT_F64},
            {MPI_REAL, RI_ELEMENT_F64},
            {MPI_DOUBLE_PRECISION, RI_ELEMENT_F64},
            {MPI_REAL4, RI_ELEMENT_F64},
            {MPI_REAL8, RI_ELEMENT_F64},
            {MPI_C_FLOAT_COMPLEX, RI_ELEMENT_COMPLEX},
            {MPI_C_DOUBLE_COMPLEX, RI_ELEMENT_COMPLEX},
            {MPI_COMPLEX, RI_ELEMENT_COMPLEX},
            {MPI_DOUBLE_COMPLEX, RI_ELEMENT_COMPLEX},
            {MPI_C_BOOL, RI_ELEMENT_LOGICAL},
            {MPI_LOGICAL, RI_ELEMENT_LOGICAL},
            {MPI_2INT, RI_ELEMENT_PAIR},
            {MPI_FLOAT_INT, RI_ELEMENT_PAIR},
            {MPI_DOUBLE_INT, RI_ELEMENT_PAIR},
            {MPI_LONG_INT, RI_ELEMENT_PAIR},
            {MPI_SHORT_INT, RI_ELEMENT_PAIR},
            {MPI_WCHAR, RI_ELEMENT_TEXT},
            {MPI_CHARACTER, RI_ELEMENT_TEXT},
            {MPI_PACKED, RI_ELEMENT_TEXT},
            {MPI_BYTE, RI_ELEMENT_BYTE},
    };
    size_t i;

    for (i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        /* An MPI without Fortran has null handles in the place of Fortran's types */
        if ((handle == types[i].handle) && (handle != MPI_DATATYPE_NULL)) {
            return element_of_size(types[i].kind, size);
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
    case RI_ELEMENT_COMPLEX:
        is_ok = (kind == OP_SUM) || (kind == OP_PROD);
        break;
    case RI_ELEMENT_LOGICAL:
        is_ok = kind == OP_LOGICAL;
        break;
    case RI_ELEMENT_PAIR:
        is_ok = kind == OP_LOCATION;
        break;
    case RI_ELEMENT_TEXT:
        is_ok = 0;
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

/* The types that sums and products are computed in: integers wrap. */
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

/* @return Whether it is done: this library has a loop for it. */
static int element_loop(ri_element_kind_t element, op_kind_t op, const void *from,
                        void *to, size_t count, size_t bytes)
{
    int has_avx2 = (count > 16) && element_has_avx2();
    int is_done  = 0;

    switch (op) {
    case OP_REPLACE:
        memcpy(to, from, bytes);
        return 1;
    case OP_NO_OP:
        return 1;
    default:
        break;
    }
    switch (element) {
#define ELEMENT_CASE(_name, _type) \
    case RI_ELEMENT_##_name: \
        is_done = (has_avx2 ? element_avx2_##_name : element_##_name)(op, from, to, \
                                                                      count); \
        break;
        RI_ELEMENT_NUMBERS(ELEMENT_CASE)
    default:
        break;
    }
    return is_done ||
           (element_is_done_here(element) && element_bits(op, from, to, bytes));
}

int ri_element_apply(const ri_element_t *element, MPI_Op op, const void *from, void *to,
                     size_t count)
{
    int now, error;

    if (element_loop(element->kind, op_kind(op), from, to, count,
                     count * (size_t)element->extent)) {
        return MPI_SUCCESS;
    }
    while (count > 0) {
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

/* The bits of a code: above those of the element is the operation, which is not OP_NONE. */
#define CODE_ELEMENT_BITS 6

unsigned ri_element_code(const ri_element_t *element, MPI_Op op)
{
    ri_element_kind_t kind = element->kind;
    op_kind_t which        = op_kind(op);

    if ((which == OP_REPLACE) || (which == OP_NO_OP)) {
        kind = RI_ELEMENT_BYTE; /* whatever it is */
    } else if (!element_is_done_here(kind) || !op_is_done_here(which)) {
        return 0;
    }
    return ((unsigned)which << CODE_ELEMENT_BITS) | (unsigned)kind;
}

_Static_assert(((OP_LOCATION << CODE_ELEMENT_BITS) | ((1u << CODE_ELEMENT_BITS) - 1)) <=
                       RI_ELEMENT_CODE_MASK,
               "room for all operations");

static ri_element_kind_t code_kind(unsigned code)
{
    return (ri_element_kind_t)(code & ((1u << CODE_ELEMENT_BITS) - 1));
}

static op_kind_t code_op(unsigned code)
{
    return (op_kind_t)((code & RI_ELEMENT_CODE_MASK) >> CODE_ELEMENT_BITS);
}

/* @return The size of elements that are done here; 0: others. */
static size_t code_size(unsigned code)
{
    switch (code_kind(code)) {
    case RI_ELEMENT_BYTE:
        return 1;
#define ELEMENT_SIZE(_name, _type) \
    case RI_ELEMENT_##_name: \
        return sizeof(_type);
        RI_ELEMENT_NUMBERS(ELEMENT_SIZE)
    default:
        return 0;
    }
}

int ri_element_code_fits(unsigned code, size_t bytes)
{
    size_t size = code_size(code);

    return (size > 0) && (bytes % size == 0) && op_is_done_here(code_op(code));
}

int ri_element_code_replaces(unsigned code)
{
    return code_op(code) == OP_REPLACE;
}

int ri_element_code_has_no_data(unsigned code)
{
    return code_op(code) == OP_NO_OP;
}

int ri_element_apply_code(unsigned code, const void *from, void *to, size_t bytes)
{
    return ri_element_code_fits(code, bytes) &&
           element_loop(code_kind(code), code_op(code), from, to, bytes / code_size(code),
                        bytes);
}
