/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Derived datatypes at random, by all constructors that MPI has, of which only MPI knows the bytes.
 */
#ifndef RANDOM_TYPE_H
#define RANDOM_TYPE_H

#include "../mpitest.h"

/**
 * @return A committed type whose bytes are within a few megabytes of its address. The caller frees
 *         it. It may be of no bytes, may have negative bounds, and its bytes may overlap if @a
 *         overlap is set.
 */
MPI_Datatype random_type(mt_rng_t *rng, int overlap);

#endif
