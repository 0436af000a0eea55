/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The version of ucxri. This is its one place: configure.ac reads the line below, and what cannot
 * read it (debian/changelog, the recipes in contrib/packaging) is compared by packages.test.
 */
#ifndef RI_VERSION_H
#define RI_VERSION_H

#define RI_VERSION_STRING "0.1.0"

#endif
