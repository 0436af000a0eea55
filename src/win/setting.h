/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCXRI_WIN, and what is said of windows that are left to the MPI.
 */
#ifndef RI_WIN_SETTING_H
#define RI_WIN_SETTING_H

typedef enum ri_setting {
    RI_SETTING_NO,
    RI_SETTING_OFF, /* auto, and UCX_RNDV_SCHEME does not switch libucxri.so on */
    RI_SETTING_YES, /* and a window that is not taken over is warned of */
    RI_SETTING_AUTO
} ri_setting_t;

/** @return What UCXRI_WIN says. It is read once, when the library is loaded. */
ri_setting_t ri_setting(void);

/** Say that a window was left to the MPI: at level info, and as a warning if the user has asked for
 * windows of this library. The reason of the window before is not said again.
 *
 * @param why       A string that stays.
 * @param is_first  Whether this rank speaks for the others. */
void ri_setting_tell_left(const char *why, int is_first);

#endif
