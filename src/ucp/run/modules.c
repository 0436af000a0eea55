/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "modules.h"

/* What comes before what, and why:
 *
 * peer_freed      planes before rtr_message: a way that ends gives up the slots of RTRs, which go then
 * conn_loses      control first: the peer is asked for its id as long as the conn may send
 * conn_fails      ring and channel before hybrid: nothing gives a buffer back by them any more
 * conn_closes     channel before hybrid: as above. recv_rndv last: it keeps what RTRs were used for
 * stream_breaks   control first: the sender is told. rtr before coop: after that no slot becomes ready
 *                 for a receive that was offered
 * stream_ends     rtr before rndv: receives that offered themselves are no receives that wait
 * stream_freed    rndv before channel: what waits is dropped before its way
 * ring_tx_closes  rtr before coop: grants in the ring are taken back before slots
 * ring_rx_closed  assembly before rtr: a message in parts has left the receives that offered themselves
 */
const ri_module_t *const ri_modules[] = {&ri_module_assembly,    &ri_module_control,
                                         &ri_module_ring,        &ri_module_rtr,
                                         &ri_module_rndv,        &ri_module_channel,
                                         &ri_module_hybrid,      &ri_module_coop,
                                         &ri_module_planes,      &ri_module_ud_ends,
                                         &ri_module_rtr_message, &ri_module_recv_rndv,
                                         &ri_module_ep_op,       NULL};
