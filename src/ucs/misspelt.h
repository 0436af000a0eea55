/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How far a misspelt word is from the right one.
 */
#ifndef RI_MISSPELT_H
#define RI_MISSPELT_H

/* Longer words are nobody's misspelling. */
#define RI_MISSPELT_MAX 40

/** @return The number of letters that are wrong, missing, too many or swapped with their neighbour;
 * RI_MISSPELT_MAX if a word is longer than that. */
int ri_misspelt_letters(const char *a, const char *b);

#endif
