/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Remote keys that the application has unpacked, and the access of each: how its memory is reached.
 * The application has stock's handle; what is known here is found by that.
 */
#ifndef RI_RKEY_H
#define RI_RKEY_H

#include "reach.h"
#include "../wire/rkey.h"
#include "../../ucs/handle_map.h"

#include <assert.h>
#include <ucp/api/ucp.h>

/*
 * How the memory of a key is reached (ri_rkey_t.access). Legal changes, which ri_rkey_set_access()
 * asserts:
 *
 *   NONE -> MAPPED, CMA   the key is unpacked
 *   CMA  -> STOCK         a copy has failed
 */
typedef enum ri_rkey_access {
    RI_RKEY_NONE,   /* no access was found yet; no key in the map is so */
    RI_RKEY_MAPPED, /* this process has it in its own address space */
    RI_RKEY_CMA,    /* by system calls that copy between processes */
    RI_RKEY_STOCK,  /* by stock only: others have failed */
    RI_RKEY_ACCESS_LAST
} ri_rkey_access_t;

typedef struct ri_rkey {
    ri_rkey_access_t access; /* changed by ri_rkey_set_access() */
    int atomics;             /* processors of this host carry atomic operations out */
    uint64_t address;        /* of the memory in its process */
    uint64_t size;
    uint64_t shift;         /* MAPPED: what is to be added to an address there */
    ri_mapping_view_t view; /* MAPPED, of another process */
    uint64_t region;        /* CMA: number of the memory in its process */
    ri_reach_t *reach;      /* CMA; else it may be NULL */
} ri_rkey_t;

/* By stock's handle. */
extern ri_map_t ri_rkey_map;

/** @return Whether the access of a key may change, see ri_rkey_access_t. */
int ri_rkey_may_become(ri_rkey_access_t from, ri_rkey_access_t to);

/** Reach the memory of a key in another way, as ri_rkey_access_t allows it. */
static inline void ri_rkey_set_access(ri_rkey_t *rkey, ri_rkey_access_t access)
{
    assert(ri_rkey_may_become(rkey->access, access));
    rkey->access = access;
}

/** @return What is known of a key, or NULL: nothing, it is stock's alone. */
static inline ri_rkey_t *ri_rkey_find(ucp_rkey_h stock)
{
    return (ri_rkey_t *)ri_map_get_ptr(&ri_rkey_map, stock);
}

/** @return Whether @a length bytes at @a address are all of the memory of a key. */
static inline int ri_rkey_has(const ri_rkey_t *rkey, uint64_t address, size_t length)
{
    return (address >= rkey->address) && (length <= rkey->size) &&
           (address - rkey->address <= rkey->size - length);
}

/** @return Where this process has mapped the address @a address of the memory of a key that is
 * MAPPED. */
static inline void *ri_rkey_local(const ri_rkey_t *rkey, uint64_t address)
{
    return (void *)(uintptr_t)(address + rkey->shift);
}

/** Look for an access to the memory of a key that was unpacked, and remember it. Without one, or
 * without memory, nothing is known of the key, and stock serves it. @param wire Wire input, as
 * ri_wire_rkey_parse() has found it. */
void ri_rkey_add(ucp_rkey_h stock, const ri_wire_rkey_t *wire);

/** Remove what is known of a key that is about to be destroyed, and that nobody uses. A key that
 * was not added is ignored. */
void ri_rkey_remove(ucp_rkey_h stock);

#endif
