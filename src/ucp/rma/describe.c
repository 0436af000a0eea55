/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the memory is mapped from is looked up when it is described: a program may map a file there
 * after it has the handle.
 *
 * Who carries out atomic operations is decided here, for all who get the key. A network adapter and
 * a processor are not atomic towards each other, so where there is an adapter all is left to UCX,
 * which may choose it. Else UCX has the processor of the target do them, in its progress. Any
 * processor that has the memory mapped may do the same, and so may the target when it looks into
 * its mailbox.
 */
#include "describe.h"
#include "attend.h"
#include "reach.h"
#include "region.h"
#include "serve.h"
#include "../../uct/ib/device/presence.h"

/* The host is looked at once. */
static ri_wire_atomics_t describe_atomics(void)
{
    static _Atomic(int) known; /* 1 + what it is */
    int atomics = atomic_load(&known) - 1;

    if (atomics < 0) {
        atomics = ri_ib_presence_is_likely() ? RI_WIRE_ATOMICS_STOCK :
                                               RI_WIRE_ATOMICS_CPU;
        atomic_store(&known, atomics + 1);
    }
    return atomics;
}

/* Have a mailbox for private memory. */
static void describe_mailbox(int has_atomics, ri_wire_rkey_t *rkey)
{
    rkey->mailbox = ri_serve_start() + 1;
    if ((rkey->mailbox != 0) && has_atomics && (rkey->atomics == RI_WIRE_ATOMICS_CPU)) {
        ri_attend_start();
    }
}

ucs_status_t ri_describe(ucp_mem_h memh, int has_atomics, ri_wire_rkey_t *rkey)
{
    ri_host_process_t process = ri_reach_self();
    ri_region_t region;

    if ((process.host == 0) || !ri_region_find(memh, &region)) {
        return UCS_ERR_NO_ELEM;
    }
    ri_wire_rkey_init(rkey);
    rkey->process      = process;
    rkey->address      = region.address;
    rkey->size         = region.size;
    rkey->region       = region.number;
    rkey->atomics      = describe_atomics();
    rkey->plane_length = ri_reach_address(rkey->plane);
    ri_mapping_find((const void *)(uintptr_t)region.address, region.size, &rkey->place);
    if (rkey->place.inode == 0) {
        describe_mailbox(has_atomics, rkey);
    }
    return UCS_OK;
}
