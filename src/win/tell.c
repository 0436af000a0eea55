/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * libucxri.so is looked for by name: this library works without it.
 */
#include "tell.h"
#include "setting.h"
#include "../ucp/api/ucxri.h"
#include "../ucs/log.h"

#include <dlfcn.h>
#include <stdatomic.h>

static void tell_note(ucxri_window_t whose, size_t bytes)
{
    void (*note)(ucxri_window_t whose, uint64_t bytes) = dlsym(RTLD_DEFAULT,
                                                               "ucxri_note_window");

    if (note != NULL) {
        note(whose, bytes);
    }
}

void ri_tell_taken(int ranks, size_t all, size_t own)
{
    tell_note(UCXRI_WINDOW_TAKEN, own);
    ri_info("window of %d ranks, %zu bytes: by this library", ranks, all);
}

void ri_tell_left(const char *why, int is_first)
{
    static _Atomic(const char *) last;

    tell_note(UCXRI_WINDOW_LEFT, 0);
    /* A program may make a thousand windows of a kind */
    if (!is_first || (atomic_exchange(&last, why) == why)) {
        return;
    }
    if (ri_setting() == RI_SETTING_YES) {
        ri_warn("a window is left to the MPI: %s", why);
    } else {
        ri_info("a window is left to the MPI: %s", why);
    }
}
