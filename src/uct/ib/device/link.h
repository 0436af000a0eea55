/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How packets of a port are marked: partition, service level and traffic class.
 */
#ifndef RI_IB_DEVICE_LINK_H
#define RI_IB_DEVICE_LINK_H

#include "device_types.h"

#if HAVE_VERBS

/**
 * Set how packets from a port are marked, as UCXRI_IB_PKEY, _SL and _TRAFFIC_CLASS say.
 *
 * @param table_length  Of the port's table of P_Keys.
 * @param address       Its link is known; its marks are set.
 *
 * @return 0 if the port is not in that partition.
 */
int ri_ib_link_set_marks(const ri_ib_device_t *device, unsigned table_length,
                         ri_ib_address_t *address);

/** Set in an address vector how packets from @a address are marked. All other fields are set
 * already. */
void ri_ib_link_mark(const ri_ib_address_t *address, struct ibv_ah_attr *attr);

#endif

#endif
