/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The modules, each with its table at the end of its file.
 */
#ifndef RI_MODULES_H
#define RI_MODULES_H

#include "../core/types/module.h"

extern const ri_module_t ri_module_flush;         /* run/flush.c */
extern const ri_module_t ri_module_rma_order;     /* core/rma_order.c */
extern const ri_module_t ri_module_posts;         /* rma/posts.c */
extern const ri_module_t ri_module_assembly;      /* order/assembly.c */
extern const ri_module_t ri_module_control;       /* link/control.c */
extern const ri_module_t ri_module_ring;          /* link/ring_life.c */
extern const ri_module_t ri_module_frag;          /* proto/eager/frag.c */
extern const ri_module_t ri_module_rtr;           /* proto/rtr/rtr_ends.c */
extern const ri_module_t ri_module_rndv;          /* proto/rndv/rndv.c */
extern const ri_module_t ri_module_rndv_recv;     /* proto/rndv/rndv_recv.c */
extern const ri_module_t ri_module_net_read;      /* proto/rndv/net_read.c */
extern const ri_module_t ri_module_match;         /* match/match.c */
extern const ri_module_t ri_module_channel;       /* link/channel_life.c */
extern const ri_module_t ri_module_channel_send;  /* link/channel_send.c */
extern const ri_module_t ri_module_net_transfer;  /* link/net_transfer.c */
extern const ri_module_t ri_module_release;       /* link/release.c */
extern const ri_module_t ri_module_pool_send;     /* proto/pool/pool_send.c */
extern const ri_module_t ri_module_pool;          /* link/pool.c */
extern const ri_module_t ri_module_coop_send;     /* proto/coop/coop_send.c */
extern const ri_module_t ri_module_ud_ends;       /* proto/rndv/ud_ends.c */
extern const ri_module_t ri_module_coop_recv;     /* proto/coop/coop_recv.c */
extern const ri_module_t ri_module_coop_exchange; /* proto/coop/coop_exchange.c */
extern const ri_module_t ri_module_planes;        /* link/planes.c */
extern const ri_module_t ri_module_rtr_net;       /* proto/rtr/rtr_net.c */
extern const ri_module_t ri_module_rtr_notified;  /* proto/rtr/rtr_notified.c */
extern const ri_module_t ri_module_rtr_known;     /* proto/rtr/rtr_known.c */
extern const ri_module_t ri_module_rtr_layout;    /* proto/rtr/rtr_layout.c */
extern const ri_module_t ri_module_rtr_send_net;  /* proto/rtr/rtr_send_net.c */
extern const ri_module_t ri_module_rtr_send_ud;   /* proto/rtr/rtr_send_ud.c */
extern const ri_module_t ri_module_sender_map;    /* match/sender_map.c */
extern const ri_module_t ri_module_am;            /* link/am.c */
extern const ri_module_t ri_module_bounce;        /* link/bounce.c */
extern const ri_module_t ri_module_gone;          /* link/gone.c */
extern const ri_module_t ri_module_report_file;   /* run/report_file.c */

#endif
