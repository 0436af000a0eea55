/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Registration by the cache if there is one, else for each use. What the limit of locked memory
 * does not allow is warned of once.
 */
#include "memory.h"

#if HAVE_VERBS

#include "memlock.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

/* Why the latest registration of this thread failed. */
static __thread int memory_error;

/* Once per process: what follows every such error is the same. */
static void memory_warn(size_t length, int error)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    ri_memlock_t memlock;

    if (atomic_flag_test_and_set(&warned)) {
        return;
    }
    ri_memlock_query(&memlock);
    if (ri_memlock_forbids(&memlock, length)) {
        ri_warn("%zu bytes cannot be registered with the network device: the limit of "
                "locked memory is %" PRIu64 " bytes, and %" PRIu64
                " are locked; set it to unlimited (ulimit -l, /etc/security/limits.conf, "
                "or --ulimit memlock=-1 for a container). Such messages go through UCX",
                length, memlock.limit, memlock.locked);
    } else {
        ri_warn("%zu bytes cannot be registered with the network device: %s; the "
                "limit of locked memory is not the cause. Such messages go through UCX",
                length, strerror(error));
    }
}

static ucs_status_t memory_reg(void *arg, void *address, size_t length, unsigned access,
                               ri_reg_keys_t *keys)
{
    const ri_ib_device_t *device = arg;
    int ibv_access               = 0;
    struct ibv_mr *mr;

    if (access & RI_REG_READ) {
        ibv_access |= IBV_ACCESS_REMOTE_READ;
    }
    if (access & RI_REG_WRITE) {
        ibv_access |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    }
    mr = ri_verbs.reg_mr(device->pd, address, length, ibv_access);
    if (mr != NULL) {
        keys->handle = mr;
        keys->lkey   = mr->lkey;
        keys->rkey   = mr->rkey;
        return UCS_OK;
    }

    memory_error = errno;
    switch (memory_error) {
    case EFAULT:
    case EACCES:
        return UCS_ERR_INVALID_ADDR;
    case ENOMEM:
    case EAGAIN:
    case EPERM: /* no memory may be locked at all */
        return UCS_ERR_NO_MEMORY;
    default:
        ri_debug("%zu bytes cannot be registered: %s", length, strerror(errno));
        return UCS_ERR_IO_ERROR;
    }
}

static void memory_dereg(void *arg, const ri_reg_keys_t *keys)
{
    int ret = ri_verbs.dereg_mr(keys->handle);

    if (ret != 0) {
        ri_debug("memory cannot be deregistered: %s", strerror(ret));
    }
}

static const ri_reg_ops_t memory_ops = {.reg = memory_reg, .dereg = memory_dereg};

ucs_status_t ri_ib_memory_open(ri_ib_device_t *device)
{
    const ri_reg_cache_params_t params = {
            .ops               = &memory_ops,
            .arg               = device,
            .enable            = ri_config.reg_cache,
            .max_bytes         = ri_config.reg_cache_size,
            .max_registrations = ri_config.reg_cache_count,
    };

    return ri_reg_cache_create(&params, &device->cache);
}

static ucs_status_t memory_get(ri_ib_device_t *device, void *address, size_t length,
                               unsigned access, ri_registration_t **registration_p)
{
    ucs_status_t status = ri_reg_cache_get(device->cache, address, length, access,
                                           registration_p);

    /* Not earlier: there may be room when others are given up. */
    if (ri_unlikely(status == UCS_ERR_NO_MEMORY)) {
        memory_warn(length, memory_error);
    }
    return status;
}

/* Constant memory costs an attempt that fails, but only while it is not registered: the cache asks
 * for more than it needs, and keeps what it gets. */
ucs_status_t ri_ib_memory_reg(ri_ib_device_t *device, void *address, size_t length,
                              unsigned access, ri_plane_memory_t *memory)
{
    ri_registration_t *registration = NULL;
    ucs_status_t status = memory_get(device, address, length, access, &registration);

    memory->registration = registration;
    if (status == UCS_OK) {
        memory->local_key  = registration->keys.lkey;
        memory->remote_key = registration->keys.rkey;
    }
    return status;
}

void ri_ib_memory_release(ri_ib_device_t *device, ri_plane_memory_t *memory)
{
    if (memory->registration != NULL) {
        ri_reg_cache_put(device->cache, memory->registration);
        memory->registration = NULL;
    }
}

#endif
