/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hca.h"

#include <cstdio>

int main(int argc, char **argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    if (!on_softhca()) {
        struct ibv_context *context = open_device();

        if (context == nullptr) {
            fprintf(stderr, "no device: run this with LD_PRELOAD=libsofthca.so\n");
            return 1;
        }
        printf("without softhca, on %s\n", ibv_get_device_name(context->device));
        ibv_close_device(context);
    }
    return RUN_ALL_TESTS();
}
