/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Open MPI opens its way to UCX, the component pml ucx, when it starts. So no list of libraries
 * shows whether it is there, and which component is taken is the user's choice.
 */
#ifndef UCXRI_CHECK_OPENMPI_H
#define UCXRI_CHECK_OPENMPI_H

#include <stddef.h>

/** Find mca_pml_ucx.so where the Open MPI with this libmpi.so looks for components.
 *
 * @param path  Gets where it is; @a max bytes with the end.
 *
 * @return Whether it was found. */
int check_openmpi_find_component(const char *libmpi, char *path, size_t max);

/**
 * Find what is set for a parameter of Open MPI: by the user, in the environment or in
 * ~/.openmpi/mca-params.conf, or for the whole system, in a file openmpi-mca-params.conf. (Debian's
 * excludes UCX.)
 *
 * @param name    For instance "pml".
 * @param libmpi  The library whose installation may have such a file; NULL: only what the user has
 *                set counts.
 * @param value   Gets the value; what does not fit @a max bytes with the end is cut off.
 * @param where   Gets "OMPI_MCA_pml", or the path of a file; of the same size.
 *
 * @return Whether it is set.
 */
int check_openmpi_get(const char *name, const char *libmpi, char *value, char *where,
                      size_t max);

/** @return Whether a value of the parameter pml leaves ucx a chance: "ucx", "ucx,ob1", "^cm". */
int check_openmpi_allows_ucx(const char *pml);

#endif
