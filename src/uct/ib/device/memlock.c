/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "memlock.h"
#include "../../../ucs/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#define MEMLOCK_CAP_IPC_LOCK 14

/* In a user namespace of its own a process has capabilities that the kernel's limits do not care
 * for: those of the first one count, in which users are numbered as they are. */
static int memlock_is_first_namespace(void)
{
    FILE *map = fopen("/proc/self/uid_map", "re");
    uint64_t inside, outside, count;
    int is_first;

    if (map == NULL) {
        return 1; /* a kernel without namespaces */
    }
    is_first = (fscanf(map, "%" SCNu64 " %" SCNu64 " %" SCNu64, &inside, &outside,
                       &count) == 3) &&
               (inside == 0) && (outside == 0) && (count >= UINT32_MAX);
    fclose(map);
    return is_first;
}

void ri_memlock_query(ri_memlock_t *memlock)
{
    FILE *status          = fopen("/proc/self/status", "re");
    uint64_t capabilities = 0, locked = 0, pinned = 0;
    struct rlimit limit;
    char line[256];

    /* mlock() counts in the one, verbs in the other or, with older kernels, in the first. */
    while ((status != NULL) && (fgets(line, sizeof(line), status) != NULL)) {
        (void)(sscanf(line, "VmLck: %" SCNu64, &locked) ||
               sscanf(line, "VmPin: %" SCNu64, &pinned) ||
               sscanf(line, "CapEff: %" SCNx64, &capabilities));
    }
    if (status != NULL) {
        fclose(status);
    }

    memlock->limit      = ((getrlimit(RLIMIT_MEMLOCK, &limit) == 0) &&
                      (limit.rlim_cur != RLIM_INFINITY)) ?
                                  limit.rlim_cur :
                                  UINT64_MAX;
    memlock->locked     = ri_max(locked, pinned) * 1024;
    memlock->may_exceed = ((capabilities >> MEMLOCK_CAP_IPC_LOCK) & 1) &&
                          memlock_is_first_namespace();
}

int ri_memlock_forbids(const ri_memlock_t *memlock, size_t length)
{
    return !memlock->may_exceed && (memlock->limit != UINT64_MAX) &&
           ((memlock->locked >= memlock->limit) ||
            (length > memlock->limit - memlock->locked));
}
