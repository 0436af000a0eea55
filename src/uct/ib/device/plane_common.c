/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What planes of both kinds answer in the same way.
 */
#include "plane_common.h"

#if HAVE_VERBS

#include "device.h"
#include "events.h"
#include "memlock.h"
#include "memory.h"

#include <errno.h>
#include <stdlib.h>

/* Ids that a new table has room for. */
#define PLANE_IDS 32

/* The fewest bytes of an entry of a completion queue, on any device. */
#define PLANE_CQE_BYTES (size_t)64

ucs_status_t ri_ib_plane_open(ri_ib_plane_t *plane, const ri_plane_ops_t *ops,
                              unsigned id_bits)
{
    ucs_status_t status = ri_ib_device_get(&plane->device);

    if (status != UCS_OK) {
        return status;
    }
    if (ri_ib_events_is_fatal(plane->device)) {
        ri_ib_device_put(plane->device);
        return UCS_ERR_UNSUPPORTED;
    }
    ri_id_table_init(&plane->ids, id_bits, PLANE_IDS);
    ri_ib_events_start(plane->device, &plane->events_seen);
    plane->super.ops = ops;
    return UCS_OK;
}

void ri_ib_plane_close(ri_ib_plane_t *plane)
{
    ri_id_table_cleanup(&plane->ids);
    ri_ib_device_put(plane->device);
}

ucs_status_t ri_ib_plane_reg(ri_plane_t *plane, void *address, size_t length,
                             ri_plane_memory_t *memory)
{
    return ri_ib_memory_reg(ri_ib_plane(plane)->device, address, length,
                            RI_REG_READ | RI_REG_WRITE, memory);
}

ucs_status_t ri_ib_plane_reg_source(ri_plane_t *plane, void *address, size_t length,
                                    ri_plane_memory_t *memory)
{
    return ri_ib_memory_reg(ri_ib_plane(plane)->device, address, length, RI_REG_READ,
                            memory);
}

void ri_ib_plane_release(ri_plane_t *plane, ri_plane_memory_t *memory)
{
    ri_ib_memory_release(ri_ib_plane(plane)->device, memory);
}

void ri_ib_plane_counters(ri_plane_t *plane, ri_plane_counters_t *counters)
{
    ri_reg_cache_get_counters(ri_ib_plane(plane)->device->cache, counters);
}

void *ri_ib_plane_new_way(ri_ib_plane_t *plane, size_t size, uint32_t *id_p,
                          ucs_status_t *status_p)
{
    void *way;

    /* Events of the device must be known first: the peer is told its address next, for one */
    if (plane->is_broken || ri_ib_events_is_fatal(plane->device)) {
        *status_p = UCS_ERR_UNREACHABLE;
        return NULL;
    }
    *status_p = UCS_ERR_NO_MEMORY;
    way       = calloc(1, size);
    if (way == NULL) {
        return NULL;
    }
    *id_p = ri_id_alloc(&plane->ids, way);
    if (*id_p == 0) {
        free(way);
        return NULL;
    }
    return way;
}

void ri_ib_plane_free_way(ri_ib_plane_t *plane, void *way, uint32_t id)
{
    ri_id_free(&plane->ids, id);
    free(way);
}

ucs_status_t ri_ib_plane_connect(ri_plane_t *plane, const void *address,
                                 ri_ib_plane_connect_func_t connect,
                                 void (*drop)(ri_plane_ep_t *ep), ri_plane_ep_t **ep_p)
{
    int is_prepared = *ep_p != NULL;
    ucs_status_t status;

    if (!is_prepared) {
        status = plane->ops->prepare(plane, ep_p);
        if (status != UCS_OK) {
            return status;
        }
    }
    status = connect(*ep_p, address);
    if ((status != UCS_OK) && !is_prepared) {
        drop(*ep_p);
        *ep_p = NULL;
    }
    return status;
}

const char *ri_ib_plane_cq_hint(int error, unsigned capacity)
{
    ri_memlock_t memlock;

    if (error != ENOMEM) {
        return "";
    }
    ri_memlock_query(&memlock);
    return ri_memlock_forbids(&memlock, capacity * PLANE_CQE_BYTES) ?
                   "; the limit of locked memory is too low, see ulimit -l" :
                   "";
}

#endif
