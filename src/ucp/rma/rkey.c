/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The best access that works is taken when a key is unpacked.
 */
#include "rkey.h"
#include "region.h"
#include "../../ucs/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

ri_map_t ri_rkey_map = RI_MAP_INITIALIZER;

static const char *const rkey_accesses[RI_RKEY_ACCESS_LAST] = {
        [RI_RKEY_MAPPED] = "mapped by both",
        [RI_RKEY_CMA]    = "by direct copies",
};

/* By the access before: those that may follow. */
static const uint8_t rkey_may_become[RI_RKEY_ACCESS_LAST] = {
        [RI_RKEY_NONE] = (1u << RI_RKEY_MAPPED) | (1u << RI_RKEY_CMA),
        [RI_RKEY_CMA]  = 1u << RI_RKEY_STOCK,
};

int ri_rkey_may_become(ri_rkey_access_t from, ri_rkey_access_t to)
{
    return (rkey_may_become[from] >> to) & 1;
}

/* @return Whether a key is of memory that this process has mapped for others. Any peer may say that
 * a key is. */
static int rkey_is_own(const ri_wire_rkey_t *wire, const ri_host_process_t *self)
{
    int is_own;

    if (memcmp(&wire->process, self, sizeof(*self)) != 0) {
        return 0;
    }
    ri_region_lock();
    is_own = ri_region_has(wire->region, wire->address, wire->size);
    ri_region_unlock();
    return is_own;
}

/* Get the reach of the process of a key, which must be the one that its plane leads to. The plane
 * refuses an address that is shorter than its own. */
static void rkey_reach(ri_rkey_t *rkey, const ri_wire_rkey_t *wire)
{
    if (!memcmp(wire->plane, &wire->process, sizeof(wire->process))) {
        rkey->reach = ri_reach_get(wire->plane, wire->plane_length);
    }
}

/* The number of a file means another one on another host. What was read by the plane proves that it
 * is this one; where one of the two has no plane, its name has to do. */
static int rkey_is_of_this_host(const ri_rkey_t *rkey, const ri_wire_rkey_t *wire,
                                const ri_host_process_t *self)
{
    return (rkey->reach != NULL) || ((wire->process.host == self->host) &&
                                     ((wire->plane_length == 0) || !ri_reach_works()));
}

/* @return Whether there is an access. */
static int rkey_find_access(ri_rkey_t *rkey, const ri_wire_rkey_t *wire,
                            const ri_host_process_t *self)
{
    if (!memcmp(&wire->process, self, sizeof(*self))) {
        ri_rkey_set_access(rkey, RI_RKEY_MAPPED);
        return rkey_is_own(wire, self);
    }
    rkey_reach(rkey, wire);
    if (rkey_is_of_this_host(rkey, wire, self) &&
        (ri_mapping_view_make(&wire->place, wire->size, &rkey->view) == UCS_OK)) {
        rkey->shift = (uintptr_t)rkey->view.address - wire->address;
        ri_rkey_set_access(rkey, RI_RKEY_MAPPED);
        return 1;
    }
    if ((rkey->reach != NULL) && (wire->mailbox != 0)) {
        ri_reach_open_mail(rkey->reach, wire->process.pid, wire->mailbox - 1);
    }
    ri_rkey_set_access(rkey, RI_RKEY_CMA);
    return rkey->reach != NULL;
}

static void rkey_free(ri_rkey_t *rkey)
{
    ri_mapping_view_end(&rkey->view);
    ri_reach_put(rkey->reach);
    free(rkey);
}

void ri_rkey_add(ucp_rkey_h stock, const ri_wire_rkey_t *wire)
{
    ri_host_process_t self;
    ri_rkey_t *rkey;

    self = ri_reach_self();
    if ((wire->size == 0) || !ri_host_may_reach(wire->process.host, self.host)) {
        return;
    }
    rkey = calloc(1, sizeof(*rkey));
    if (rkey == NULL) {
        return;
    }
    rkey->address = wire->address;
    rkey->size    = wire->size;
    rkey->region  = wire->region;
    rkey->atomics = (wire->atomics == RI_WIRE_ATOMICS_CPU);
    if (!rkey_find_access(rkey, wire, &self) ||
        (ri_map_put(&ri_rkey_map, (uintptr_t)stock, rkey) != UCS_OK)) {
        rkey_free(rkey);
        return;
    }
    ri_debug("one-sided: %" PRIu64 " bytes of process %u: %s", rkey->size,
             wire->process.pid, rkey_accesses[rkey->access]);
}

void ri_rkey_remove(ucp_rkey_h stock)
{
    ri_rkey_t *rkey = ri_map_remove(&ri_rkey_map, (uintptr_t)stock);

    if (rkey != NULL) {
        rkey_free(rkey);
    }
}
