/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The facts of a datatype that operations need. They are found out once: for predefined types,
 * which stay, in a table of this file, for others as an attribute of the type, which goes with it.
 */
#ifndef RI_WIN_DATATYPE_H
#define RI_WIN_DATATYPE_H

#include "weak_mpi.h"
#include "element.h"
#include "../ucp/dt/layout.h"

typedef struct ri_datatype {
    MPI_Datatype handle;
    size_t size;     /* bytes of data */
    MPI_Aint extent; /* from one element to the next one */
    MPI_Aint lo;     /* the first byte, and behind the last one, of an element */
    MPI_Aint hi;
    int is_contiguous; /* the data of any number of elements is one piece, from the address on */
    ri_layout_t *
            layout; /* of one that is not; NULL: it is not understood, and the MPI packs */
    ri_element_t
            basic; /* the predefined type that it is made of; a null handle: of several */
} ri_datatype_t;

/** @return What is known of a type, which is freed with the type; NULL: there is no such type, or
 * no memory. Any thread may call it. */
const ri_datatype_t *ri_datatype_get(MPI_Datatype handle);

/** The bytes that @a count elements lie in, from the address of the buffer. @return Whether there
 * are any. */
static inline int ri_datatype_bounds(const ri_datatype_t *type, MPI_Aint count,
                                     MPI_Aint *lo, MPI_Aint *hi)
{
    MPI_Aint last = (count - 1) * type->extent;

    *lo = type->lo + ((last < 0) ? last : 0);
    *hi = type->hi + ((last > 0) ? last : 0);
    return (count > 0) && (type->size > 0);
}

#endif
