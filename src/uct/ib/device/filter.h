/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which devices and ports the user leaves to UCX. With UCXRI_IB_DEVICES=auto this library keeps to
 * these: who takes InfiniBand from UCX does not want it here either.
 */
#ifndef RI_IB_DEVICE_FILTER_H
#define RI_IB_DEVICE_FILTER_H

/**
 * @param transports  Value of UCX_TLS, or NULL.
 *
 * @return Whether UCX may use transports of InfiniBand.
 */
int ri_ib_filter_transports(const char *transports);

/**
 * @param devices  Value of UCX_NET_DEVICES, or NULL.
 * @param name     Of the device.
 * @param port     Number of the port, from 1.
 *
 * @return Whether UCX may use a port.
 */
int ri_ib_filter_port(const char *devices, const char *name, unsigned port);

#endif
