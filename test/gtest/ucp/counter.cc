/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

#include "counter.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

#include "ucp/api/ucxri.h"

int64_t ucp_test::counter(ucp_worker_h worker, const char *name)
{
    auto func = reinterpret_cast<decltype(&ucxri_worker_counters)>(
            dlsym(RTLD_DEFAULT, "ucxri_worker_counters"));
    ucxri_counter_t counters[256];
    size_t count = (func == nullptr) ? 0 : func(worker, counters, 256);

    for (size_t i = 0; i < std::min<size_t>(count, 256); ++i) {
        if (strcmp(counters[i].name, name) == 0) {
            return counters[i].value;
        }
    }
    return -1;
}
