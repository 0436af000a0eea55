/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The configuration of UCX, read with a value of UCX_RNDV_SCHEME that UCX does not know.
 */
#ifndef RI_STOCK_CONFIG_H
#define RI_STOCK_CONFIG_H

#include <ucp/api/ucp.h>

/** Call ucp_config_read() of stock, with that value hidden. Any thread may call it. @a config_p is
 * set as by stock, and @a is_selected to whether the value switches the library on. @return As
 * stock does. */
ucs_status_t ri_stock_config_read(const char *env_prefix, const char *filename,
                                  ucp_config_t **config_p, int *is_selected);

#endif
