/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Walks through the model; see rndv_walk.cc. */
#ifndef RI_TEST_RNDV_WALK_H
#define RI_TEST_RNDV_WALK_H

#include "rndv_model.h"

/* Make @a per_seed walks for each seed, with all settings of datagrams. Prints what it does, and
 * the steps of a walk that fails. @return Whether no walk has failed. */
bool walk(const config_t &config, unsigned per_seed);

#endif
