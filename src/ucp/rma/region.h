/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of this process that the application has mapped for one-sided operations, or has in a
 * window of MPI. Any thread may call.
 */
#ifndef RI_REGION_H
#define RI_REGION_H

#include "../core/types/window_ops.h"

#include <ucp/api/ucp.h>

#include <stdint.h>

typedef struct ri_region {
    uint64_t address;
    uint64_t size;
    uint64_t number;           /* never used again */
    unsigned users;            /* mappings of the application by one handle */
    ri_window_server_t server; /* of a window; has is NULL: it is not one */
} ri_region_t;

/** The application has mapped @a length bytes at @a address; @a memh is stock's handle. UCX 1.13
 * has one handle for several mappings of memory that it has registered as one: then the region is
 * all of them, until the last one goes. Without
 * memory to note it, or if there are no bytes, it is not added, and goes by stock. */
void ri_region_add(ucp_mem_h memh, const void *address, size_t length);

/** Remove the region of a handle that is about to be given back to stock. When this returns, nobody
 * uses its memory by ri_region_has(). A handle that was not added is ignored. */
void ri_region_remove(ucp_mem_h memh);

/** @return Whether the handle was added; then @a found is set. */
int ri_region_find(ucp_mem_h memh, ri_region_t *found);

/** Lock the regions: none is removed until ri_region_unlock(). */
void ri_region_lock(void);

/** Unlock the regions. */
void ri_region_unlock(void);

/** Lock the regions, unless somebody else has locked them. @return Whether this thread has locked
 * them. */
int ri_region_trylock(void);

/** @return Whether @a length bytes at @a address are all of the region of a number, which is there:
 * wire input. The regions are locked. */
int ri_region_has(uint64_t number, uint64_t address, size_t length);

/** Have a region for a window, whose memory is what @a server has. @return Its number; 0: there is
 * no memory. */
uint64_t ri_region_open(const ri_window_server_t *server);

/** Remove the region of a window, by its number. When this returns, nobody calls its server. */
void ri_region_close(uint64_t number);

/** An operation of a window: wire input. The regions are locked. @return As ri_mailbox_func_t: -1
 * also if the region is not of a window. */
int ri_region_apply(const ri_mailbox_head_t *head, uint8_t *data);

/** A command for a window: wire input. The regions are locked. @return As command() of a server. */
ri_window_served_t ri_region_command(uint64_t number, const ri_window_command_t *command,
                                     uint64_t *state);

#endif
