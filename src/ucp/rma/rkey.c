/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The best way that works is taken when a key is unpacked.
 */
#include "rkey.h"
#include "../../ucs/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

ri_map_t ri_rkey_map = RI_MAP_INITIALIZER;

static const char *const rkey_ways[] = {
        [RI_RKEY_MAPPED] = "mapped by both", [RI_RKEY_CMA] = "by direct copies"};

static int rkey_is_of_this_process(const ri_wire_rkey_t *wire,
                                   const ri_host_process_t *self)
{
    return !memcmp(&wire->process, self, sizeof(*self));
}

/* @return Whether the process is of this host, as a number of a file means another one elsewhere. */
static int rkey_is_of_this_host(ri_rkey_t *rkey, const ri_wire_rkey_t *wire,
                                const ri_host_process_t *self)
{
    if (wire->process.host == self->host) {
        return 1;
    }
    rkey->reach = ri_reach_get(wire->plane,
                               wire->plane_length); /* what it reads proves it */
    return rkey->reach != NULL;
}

/* @return Whether this process has the memory in its address space. */
static int rkey_map(ri_rkey_t *rkey, const ri_wire_rkey_t *wire,
                    const ri_host_process_t *self)
{
    if (!rkey_is_of_this_process(wire, self)) {
        if (!rkey_is_of_this_host(rkey, wire, self)) {
            return 0;
        }
        if (ri_mapping_view_make(&wire->place, wire->size, &rkey->view) != UCS_OK) {
            return 0;
        }
        rkey->shift = (uintptr_t)rkey->view.address - wire->address;
    }
    rkey->way = RI_RKEY_MAPPED;
    return 1;
}

static int rkey_reach(ri_rkey_t *rkey, const ri_wire_rkey_t *wire)
{
    if (rkey->reach == NULL) {
        rkey->reach = ri_reach_get(wire->plane, wire->plane_length);
    }
    if ((rkey->reach != NULL) && (wire->mailbox != 0)) {
        ri_reach_open_mail(rkey->reach, wire->process.pid, wire->mailbox - 1);
    }
    rkey->way = RI_RKEY_CMA;
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
    ri_host_process_t self = ri_host_process_self();
    ri_rkey_t *rkey;

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
    if ((!rkey_map(rkey, wire, &self) && !rkey_reach(rkey, wire)) ||
        (ri_map_put(&ri_rkey_map, (uintptr_t)stock, rkey) != UCS_OK)) {
        rkey_free(rkey);
        return;
    }
    ri_debug("one-sided: %" PRIu64 " bytes of process %u: %s", rkey->size,
             wire->process.pid, rkey_ways[rkey->way]);
}

void ri_rkey_remove(ucp_rkey_h stock)
{
    ri_rkey_t *rkey = ri_map_remove(&ri_rkey_map, (uintptr_t)stock);

    if (rkey != NULL) {
        rkey_free(rkey);
    }
}
