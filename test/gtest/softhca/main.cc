/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char **argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    if (dlsym(RTLD_DEFAULT, "softhca_get_counters") == nullptr) {
        fprintf(stderr, "run this with LD_PRELOAD=libsofthca.so\n");
        return 1;
    }
    return RUN_ALL_TESTS();
}
