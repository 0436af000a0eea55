/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements of predefined types, and the operations of MPI on them. Those of numbers that C has are
 * done here, all others by MPI_Reduce_local().
 */
#ifndef RI_WIN_ELEMENT_H
#define RI_WIN_ELEMENT_H

#include "weak_mpi.h"

#include <stddef.h>

/* Types of C by which elements are computed. */
#define RI_ELEMENT_NUMBERS(_f) \
    _f(I8, int8_t) _f(I16, int16_t) _f(I32, int32_t) _f(I64, int64_t) _f(U8, uint8_t) \
            _f(U16, uint16_t) _f(U32, uint32_t) _f(U64, uint64_t) _f(F32, float) \
                    _f(F64, double)

#define RI_ELEMENT_KIND(_name, _type) RI_ELEMENT_##_name,

typedef enum ri_element_kind {
    RI_ELEMENT_OTHER, /* by the MPI, as the next three */
    RI_ELEMENT_COMPLEX,
    RI_ELEMENT_LOGICAL,
    RI_ELEMENT_PAIR, /* a value and a place */
    RI_ELEMENT_TEXT, /* nothing but to replace and to fetch */
    RI_ELEMENT_BYTE, /* bits only */
    RI_ELEMENT_NUMBERS(RI_ELEMENT_KIND)
} ri_element_kind_t;

typedef struct ri_element {
    MPI_Datatype handle;
    ri_element_kind_t kind;
    size_t size;     /* bytes of data */
    MPI_Aint extent; /* from one to the next; more than size: there are gaps */
} ri_element_t;

/** @return What is known of a predefined type. @a handle may be null. */
ri_element_t ri_element_of(MPI_Datatype handle);

/** @return MPI_SUCCESS if accumulates may use the operation for such elements, or MPI_ERR_OP. */
int ri_element_check(const ri_element_t *element, MPI_Op op);

/**
 * @a to becomes @a to, combined with @a from, for @a count elements one after the other.
 * ri_element_check() allows the operation. The caller sees to it that nobody else changes @a to.
 *
 * @return An MPI error class.
 */
int ri_element_apply(const ri_element_t *element, MPI_Op op, const void *from, void *to,
                     size_t count);

/** @return A number that stands for an operation on elements that are done here, the same in all
 * processes with this library; 0: others are done by the MPI. */
unsigned ri_element_code(const ri_element_t *element, MPI_Op op);

/* The bits of such a number. */
#define RI_ELEMENT_CODE_MASK 0x3ffu

/** @return Whether @a bytes are whole elements of a number, which may be any one, of an operation
 * that is done here. */
int ri_element_code_fits(unsigned code, size_t bytes);

/** @return Whether the operation of a number puts the data of the origin in the place of the
 * target's. */
int ri_element_code_replaces(unsigned code);

/** @return Whether the operation of a number does without data of the origin. */
int ri_element_code_has_no_data(unsigned code);

/** ri_element_apply() by such a number, which may be any number. It calls nothing of MPI. @return
 * Whether it is done, as ri_element_code_fits(). */
int ri_element_apply_code(unsigned code, const void *from, void *to, size_t bytes);

#endif
