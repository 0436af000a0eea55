/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways of the ud plane: each is one remote process, by its address. A datagram is taken for a way's
 * only if it comes from the queue pair and the port that its address names.
 */
#ifndef RI_UD_WAY_H
#define RI_UD_WAY_H

#include "ud_base.h"

#if HAVE_VERBS

/** prepare() of the plane: set @a ep_p to a way in state INIT, with an id; ri_ud_way_free() frees
 * it. @return UCS_OK, or what ri_ib_plane_new_way() says. */
ucs_status_t ri_ud_way_prepare(ri_plane_t *super, ri_plane_ep_t **ep_p);

/** Free a way that has no transfers, and whose ended ones have been taken out of plane->ended. */
void ri_ud_way_free(ri_ud_ep_t *ep);

/** ep_address() of the plane: write this side's address of a way to @a address_p, which has room
 * for RI_PLANE_ADDRESS_MAX bytes. @return Its length. */
size_t ri_ud_way_address(ri_plane_ep_t *super, void *address_p);

/**
 * connect() of the plane.
 *
 * @param address_p  The remote side's address: wire input.
 * @param ep_p       A way that was prepared, or NULL, in whose place one is made.
 *
 * @return UCS_OK. UCS_ERR_UNREACHABLE: that is no address, or one that cannot be reached; or what
 *         ri_ud_way_prepare() returns. After an error a way that was prepared stays, and none was
 *         made.
 */
ucs_status_t ri_ud_way_connect(ri_plane_t *super, const void *address_p, size_t length,
                               ri_plane_ep_t **ep_p);

/**
 * @param ep   CONNECTED.
 * @param qp   The number of one of the peer's queue pairs.
 * @param wc   The completion of a datagram.
 * @param grh  The 40 bytes in front of it.
 *
 * @return Whether the datagram comes from that queue pair of the peer.
 */
int ri_ud_way_is_from(const ri_ud_ep_t *ep, uint32_t qp, const struct ibv_wc *wc,
                      const void *grh);

/** Destroy address handles, which no work request may name any more.
 * @param all  0: only those that no way uses. */
void ri_ud_way_forget_ports(ri_ud_plane_t *plane, int all);

#endif

#endif
