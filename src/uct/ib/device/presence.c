/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel has a folder with an entry for each device. A device that is made of software in this
 * process has none there, but is in the list of libibverbs.
 */
#include "presence.h"
#include "verbs.h"

#include <dirent.h>
#include <errno.h>

#define PRESENCE_FOLDER "/sys/class/infiniband"

static int presence_in_kernel(void)
{
    DIR *dir = opendir(PRESENCE_FOLDER);
    const struct dirent *entry;
    int is_present = 0;

    if (dir == NULL) {
        return errno != ENOENT;
    }
    while (!is_present && ((entry = readdir(dir)) != NULL)) {
        is_present = (entry->d_name[0] != '.');
    }
    closedir(dir);
    return is_present;
}

#if HAVE_VERBS
static int presence_in_list(void)
{
    struct ibv_device **list;
    int count = 0;

    if (ri_verbs_resolve() != UCS_OK) {
        return 0;
    }
    list = ri_verbs.get_device_list(&count);
    if (list == NULL) {
        return 0;
    }
    ri_verbs.free_device_list(list);
    return count > 0;
}
#else
static int presence_in_list(void)
{
    return 0;
}
#endif

int ri_ib_presence_is_likely(void)
{
    return presence_in_kernel() || presence_in_list();
}
