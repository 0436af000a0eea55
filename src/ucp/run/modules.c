/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "modules.h"

/* What comes before what among the modules that have an event, and why. Where an event has no line
 * its order does not matter:
 *
 * worker_says     rndv and ud_ends before coop_recv: what has come is told before receives end,
 *                 whose callbacks may do anything. rtr_notified after these: it gives ways up, and
 *                 ud_ends speaks by them
 * worker_stops    channel before net_transfer: callbacks open no channel any more. net_transfer
 *                 before release: what was being read from pools is released, too. release before
 *                 planes: what is sent before is by rings that nobody has left
 * worker_ends     flush before ring: it waits for conns only. ring before rndv_recv: a ring brings
 *                 nothing any more to receives that wait. rndv_recv before match: its callbacks may
 *                 post receives, which take messages that wait
 * worker_closes   pool before planes: its memory is registered with them
 * peer_freed      planes before rtr_notified: a way that ends gives up entries of RTRs, which go
 *                 then
 * conn_fails      ring and channel before release and pool_send: nothing releases a buffer by them
 *                 any more
 * conn_closes     channel before release and pool_send: nothing releases a buffer by it any more
 * stream_breaks   control before rtr: the sender is told to stop before rtr waits for what the
 *                 sender is writing. rtr before coop_recv: after that no slot becomes ready for a
 *                 receive that was offered
 * stream_ends     rtr before rndv_recv: a receive that was offered may become one that waits for
 *                 its data, and not the other way round, so none is left
 * stream_freed    rndv_recv before channel: what waits is dropped before its way
 * way_ended       channel before rtr_notified: what is sent when RTRs are given up takes no channel
 *                 of the way
 * ring_tx_closes  rtr before coop_send: grants in the ring are withdrawn before slots
 * ring_rx_closes  rtr_known before rtr_layout: RTRs refer to the layouts that they name
 * ring_rx_closed  assembly before rtr: a message in parts has left the receives that were
 *                 offered
 *
 * test_modules.cc has the same rules. */
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
                                         &ri_module_rtr_send_net,
                                         &ri_module_rtr_send_ud,
                                         &ri_module_sender_map,
                                         &ri_module_am,
                                         &ri_module_bounce,
                                         &ri_module_gone,
                                         &ri_module_report_file,
                                         NULL};
