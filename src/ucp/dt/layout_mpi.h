/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts of the derived datatypes of an MPI in this process, MPICH or Open MPI. It is found at run
 * time, and asked by its profiling interface how a type was made. What both may be asked, and when:
 *
 * - MPICH holds a lock while it calls UCX, if MPI_THREAD_MULTIPLE was asked for, and must not be
 *   asked then. It may be asked where it may be called as by an application.
 * - Open MPI may be asked within a call of UCX, too.
 *
 * A handle is a number of 32 bits for MPICH and a pointer for Open MPI.
 */
#ifndef RI_LAYOUT_MPI_H
#define RI_LAYOUT_MPI_H

#include "layout.h"

/**
 * Read the layout of a datatype that exists, when the MPI may be asked: the head of this file says
 * when that is. Any thread may call it.
 *
 * @return The caller's reference; NULL if there is anything that is not understood, or no memory.
 */
ri_layout_t *ri_layout_mpi_read(uintptr_t handle);

#endif
