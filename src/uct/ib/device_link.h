/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How packets of a port are marked: partition, service level and traffic class.
 */
#ifndef RI_IB_DEVICE_LINK_H
#define RI_IB_DEVICE_LINK_H

#include "device.h"

#if HAVE_VERBS

/**
 * Set what UCXRI_IB_PKEY, _SL and _TRAFFIC_CLASS say of the port of a device.
 *
 * @param table_length  Of its table of P_Keys.
 * @param address       Whose link is known.
 *
 * @return 0 if the port is not in that partition.
 */
int ri_ib_device_set_marks(const ri_ib_device_t *device, unsigned table_length,
                           ri_ib_address_t *address);

/** Mark what goes from an address by an address vector, whose other fields are set. */
void ri_ib_device_mark(const ri_ib_address_t *address, struct ibv_ah_attr *attr);

#endif

#endif
