/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The modules, each with its table at the end of its file.
 */
#ifndef RI_MODULES_H
#define RI_MODULES_H

#include "../core/module.h"

extern const ri_module_t ri_module_assembly;
extern const ri_module_t ri_module_control;
extern const ri_module_t ri_module_ring;
extern const ri_module_t ri_module_rtr;
extern const ri_module_t ri_module_rndv;
extern const ri_module_t ri_module_channel;
extern const ri_module_t ri_module_hybrid;
extern const ri_module_t ri_module_coop;
extern const ri_module_t ri_module_planes;
extern const ri_module_t ri_module_ud_ends;
extern const ri_module_t ri_module_rtr_message;
extern const ri_module_t ri_module_recv_rndv;
extern const ri_module_t ri_module_ep_op;

#endif
