/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCXRI_WIN and UCXRI_WIN_HOSTS.
 */
#ifndef RI_WIN_SETTING_H
#define RI_WIN_SETTING_H

typedef enum ri_setting {
    RI_SETTING_NO,
    RI_SETTING_OFF, /* auto, and UCX_RNDV_SCHEME does not switch libucxri.so on */
    RI_SETTING_YES, /* and a window that is not taken over is warned of */
    RI_SETTING_AUTO
} ri_setting_t;

/** @return Whether windows of several hosts are taken, as UCXRI_WIN_HOSTS says. */
int ri_setting_takes_hosts(void);

/** @return What UCXRI_WIN says. It is read once, when the library is loaded. */
ri_setting_t ri_setting(void);

/** Warn of values that are not good. Not when the library is loaded, as programs that start others
 * load it as well. */
void ri_setting_warn(void);

#endif
