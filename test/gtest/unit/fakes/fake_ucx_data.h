/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the stock functions of fake_ucx.cc move data by; for that file only.
 */
#ifndef RI_TEST_FAKE_UCX_DATA_H
#define RI_TEST_FAKE_UCX_DATA_H

#include "fake_ucx.h"

namespace fake {

/* ucp_dt_create_generic() */
ucs_status_t dt_create_generic(const ucp_generic_dt_ops_t *ops, void *context,
                               ucp_datatype_t *datatype);

/* The datatype of an operation; bytes if it names none. */
ucp_datatype_t datatype_of(const ucp_request_param_t *param);

/* @return What a buffer holds. */
bytes gather(const void *buffer, size_t count, ucp_datatype_t datatype);

/* Place that in a buffer, which must be large enough. @return What the datatype's functions say. */
ucs_status_t scatter(void *buffer, size_t count, ucp_datatype_t datatype,
                     const bytes &content);

} // namespace fake

#endif
