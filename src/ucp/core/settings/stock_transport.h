/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which transport UCX has chosen for an endpoint.
 */
#ifndef RI_STOCK_TRANSPORT_H
#define RI_STOCK_TRANSPORT_H

#include <ucp/api/ucp.h>

/** @return Whether a lane of the endpoint is by TCP: UCX can end a flush of it only while the peer
 * calls UCX. 0 as well if that cannot be found out. UCX formats text for it: not for what is called
 * often. */
int ri_stock_transport_is_tcp(ucp_ep_h ep);

#endif
