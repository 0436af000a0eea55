/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Derived datatypes at random, and the bytes that they select.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "../mpitest.h"

/* A datatype and the bytes it selects, in the order of its type map. */
typedef struct {
    MPI_Datatype type;
    MPI_Aint extent;
    size_t size;
    size_t end; /* behind the last byte */
    int count;
    int space;
    struct {
        size_t offset, length;
    } * pieces;
} layout_t;

/* A predefined datatype */
typedef struct {
    MPI_Datatype type;
    size_t size;
} layout_base_t;

enum {
    NUM_BASES = 4
};

/* What layouts are made of. */
extern const layout_base_t bases[NUM_BASES];

/**
 * @return A committed type of exactly that many bytes, a multiple of the base's size: a random
 *         type as often as it fits, and the rest as a block behind it.
 */
layout_t layout_random(mt_rng_t *rng, int base, size_t size);

/** Free a layout, and its datatype unless that is predefined. */
void layout_free(layout_t *layout, int predefined);

/** Place packed bytes, of which there may be less than the layout selects. */
void layout_scatter(const layout_t *layout, char *to, const char *packed, size_t size);

#endif
