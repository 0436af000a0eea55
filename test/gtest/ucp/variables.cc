/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

#include "variables.h"

#include <cstdlib>
#include <sstream>

void ucp_test::set_variables(const std::string &settings)
{
    std::istringstream in(settings);
    std::string item;

    while (in >> item) {
        size_t at = item.find('=');
        setenv(("UCXRI_" + item.substr(0, at)).c_str(), item.c_str() + at + 1, 1);
    }
}
