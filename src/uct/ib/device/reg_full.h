/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a registration cache has learnt of a device that is full.
 *
 * Where a device has no room, idle registrations are given up. What then still does not fit would
 * empty the cache each time that it is asked for, as a message does that is longer than the limit
 * of locked memory. So the cache notes how much was in use together with it, and for a while
 * refuses what comes to as much. The next failure is followed by a longer pause. What is in use
 * counts, as there may be room when transfers have ended. No locks: the cache has one.
 */
#ifndef RI_REG_FULL_H
#define RI_REG_FULL_H

#include <stddef.h>

/** The first pause, in seconds; the longest is 100 times as long. Tests change it. */
extern double ri_reg_full_backoff;

typedef struct ri_reg_full {
    size_t used_bytes; /* of registrations in use, with those that are being registered */
    size_t used_registrations; /* how many used_bytes is of */
    size_t bytes; /* that were in use at a failure, with what failed; SIZE_MAX: none */
    size_t registrations; /* how many were in use at that failure, without the one that failed */
    unsigned failures; /* failures in a row */
    double retry;      /* when as much is tried again */
} ri_reg_full_t;

/** Set up: nothing is in use, and nothing is known of the device's room. */
void ri_reg_full_init(ri_reg_full_t *full);

/** A registration of @a length bytes comes into use. */
void ri_reg_full_use(ri_reg_full_t *full, size_t length);

/** A registration of @a length bytes goes out of use. */
void ri_reg_full_unuse(ri_reg_full_t *full, size_t length);

/** @return Up to which length another registration may fit, as far as is known. */
size_t ri_reg_full_room(const ri_reg_full_t *full);

/** The device had no room for a registration that counts as used, although no idle one was left. A
 * pause begins. */
void ri_reg_full_fails(ri_reg_full_t *full);

/** The device had room for a registration that counts as used. */
void ri_reg_full_fits(ri_reg_full_t *full);

#endif
