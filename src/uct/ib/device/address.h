/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the port that this process uses is in its network. That may change while it is used: a
 * subnet manager gives out other LIDs, an interface of RoCE gets another address, a partition moves
 * within its table. The device tells so (events.h), and the port is asked again.
 */
#ifndef RI_IB_DEVICE_ADDRESS_H
#define RI_IB_DEVICE_ADDRESS_H

#include "device_types.h"

#if HAVE_VERBS

/**
 * Ask a port for its address.
 *
 * @param address  Zeros, or what it was: an entry of the GID table that is there still is kept.
 *
 * @return 0 if it has none that can be used; @a address means nothing then.
 */
int ri_ib_address_query(const ri_ib_device_t *device, const struct ibv_port_attr *attr,
                        ri_ib_address_t *address);

/** Ask the device's port again; with the lock of its events held. If it has no address now the
 * old one stays: it is down, or about to get one, of which the device will tell. */
void ri_ib_address_update(ri_ib_device_t *device);

/** @return A copy of the address that the device's port has now. Any thread may change it. */
ri_ib_address_t ri_ib_address_get(ri_ib_device_t *device);

/** @return Whether a GID is an IPv4 address in the form of IPv6. */
int ri_ib_address_is_ipv4(const union ibv_gid *gid);

/** @return Whether a remote port of this kind, LID and GID, which are wire input, can be reached
 * from @a address. */
int ri_ib_address_reaches(const ri_ib_address_t *address, unsigned link, uint16_t lid,
                          const union ibv_gid *gid);

/** @return Whether queue pairs of @a address and of a remote port with this P_Key hear each other:
 * both are in one partition, of which one is a full member at least, or one of the P_Keys is 0: not
 * known. If not the user is told, once per process: packets would get lost silently. */
int ri_ib_address_shares_partition(const ri_ib_address_t *address, uint16_t pkey);

#endif

#endif
