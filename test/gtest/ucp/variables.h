/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

#ifndef UCP_TEST_VARIABLES_H
#define UCP_TEST_VARIABLES_H

#include <string>

namespace ucp_test {

/* Set variables of the library in the environment, from "NAME=VALUE NAME=VALUE" without UCXRI_. */
void set_variables(const std::string &settings);

} // namespace ucp_test

#endif
