/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a receive of a generic datatype reads a message, or a part of it, from where its sender has
 * it: straight into its runs if its layout is known and they are long, otherwise by a stage.
 */
#ifndef RI_READ_GENERIC_H
#define RI_READ_GENERIC_H

#include "../../core/worker.h"

/**
 * Read by the plane within the host, within the call.
 *
 * @param transfer       Remote pieces, offset and length of what is to be read: all of the message
 *                       if the receive does not take parts (ri_dt_takes_parts()). `verify` is
 *                       heeded, and all other fields are overwritten.
 * @param unpack_status  Set if the datatype's callback returns an error.
 *
 * @return What the plane returns, or UCS_ERR_NO_MEMORY. The callback may do things that end the way
 *         to the peer, and then this returns UCS_ERR_UNREACHABLE.
 */
ucs_status_t ri_read_generic(ri_recv_req_t *recv, const ri_peer_t *peer,
                             ri_transfer_t *transfer, ucs_status_t *unpack_status);

#endif
