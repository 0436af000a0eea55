/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

#ifndef UCP_TEST_COUNTER_H
#define UCP_TEST_COUNTER_H

#include <ucp/api/ucp.h>

#include <cstdint>

namespace ucp_test {

/* A counter of the library, which is looked for at run time; -1 without it. */
int64_t counter(ucp_worker_h worker, const char *name);

} // namespace ucp_test

#endif
