/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The header is found by pkg-config, and the preloaded library by its functions.
 */
#include <ucxri/ucxri.h>

#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    const char *(*version)(void);

    *(void **)&version = dlsym(RTLD_DEFAULT, "ucxri_version_string");
    printf("%s\n", (version == NULL) ? "not preloaded" : version());
    return 0;
}
