/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "modules.h"

/* In an order that keeps all of RI_MODULES_RULES. */
const ri_module_t *const ri_modules[] = {&ri_module_flush,
                                         &ri_module_rma_order,
                                         &ri_module_posts,
                                         &ri_module_assembly,
                                         &ri_module_frag,
                                         &ri_module_control,
                                         &ri_module_ring,
                                         &ri_module_rtr,
                                         &ri_module_rndv,
                                         &ri_module_rndv_recv,
                                         &ri_module_net_read,
                                         &ri_module_match,
                                         &ri_module_channel,
                                         &ri_module_channel_send,
                                         &ri_module_net_transfer,
                                         &ri_module_release,
                                         &ri_module_pool_send,
                                         &ri_module_pool,
                                         &ri_module_coop_send,
                                         &ri_module_ud_ends,
                                         &ri_module_coop_recv,
                                         &ri_module_coop_exchange,
                                         &ri_module_planes,
                                         &ri_module_rtr_net,
                                         &ri_module_rtr_notified,
                                         &ri_module_rtr_known,
                                         &ri_module_rtr_layout,
                                         &ri_module_rtr_send_words,
                                         &ri_module_rtr_send_ud,
                                         &ri_module_sender_map,
                                         &ri_module_am,
                                         &ri_module_bounce,
                                         &ri_module_gone,
                                         &ri_module_report_file,
                                         NULL};
