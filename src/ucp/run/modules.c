/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "modules.h"

/* What comes before what among the modules that have an event, and why. Where an event has no line
 * its order does not matter:
 *
 * worker_says     rndv and ud_ends before coop_recv: what has come is told before receives end,
 *                 whose callbacks may do anything. rtr_notified last: it gives ways up, and ud_ends
 *                 speaks by them
 * worker_stops    channel before net_transfer: callbacks open no channel any more. net_transfer
 *                 before release: what was being read from pools is released, too. planes last:
 *                 what is sent before is by rings that nobody has left
 * worker_ends     flush first: it waits for conns only. ring before rndv_recv: a ring brings
 *                 nothing any more to receives that wait. match last: until then a callback may
 *                 post a receive that takes a message
 * worker_closes   pool before planes: its memory is registered with them
 * peer_freed      planes before rtr_notified: a way that ends gives up entries of RTRs, which go
 *                 then
 * conn_loses      control first: the peer is asked for its id as long as the conn may send
 * conn_fails      ring and channel before release and pool_send: nothing releases a buffer by them
 *                 any more
 * conn_closes     channel before release and pool_send: nothing releases a buffer by it any more.
 *                 rtr_send_net last: it keeps what RTRs were used for
 * stream_breaks   control first: the sender is told. rtr before coop_recv: after that no slot
 *                 becomes ready for a receive that was offered
 * stream_ends     rtr before rndv_recv: receives that were offered are no receives that wait
 * stream_freed    rndv_recv before channel: what waits is dropped before its way
 * way_ended       channel before rtr_net: nothing goes by a channel any more
 * ring_tx_closes  rtr before coop_send: grants in the ring are withdrawn before slots
 * ring_rx_closes  rtr_known before rtr_layout: RTRs that name layouts go before these
 * ring_rx_closed  assembly before rtr: a message in parts has left the receives that were
 *                 offered
 */
const ri_module_t *const ri_modules[] = {
        &ri_module_flush,        &ri_module_rma_order,
        &ri_module_posts,        &ri_module_assembly,
        &ri_module_frag,         &ri_module_control,
        &ri_module_ring,         &ri_module_rtr,
        &ri_module_rndv,         &ri_module_rndv_recv,
        &ri_module_net_read,     &ri_module_match,
        &ri_module_channel,      &ri_module_channel_send,
        &ri_module_net_transfer, &ri_module_release,
        &ri_module_pool_send,    &ri_module_pool,
        &ri_module_coop_send,    &ri_module_ud_ends,
        &ri_module_coop_recv,    &ri_module_coop_exchange,
        &ri_module_planes,       &ri_module_rtr_net,
        &ri_module_rtr_notified, &ri_module_rtr_known,
        &ri_module_rtr_layout,   &ri_module_rtr_send_net,
        &ri_module_sender_map,   &ri_module_am,
        &ri_module_bounce,       &ri_module_gone,
        &ri_module_report_file,  NULL};
