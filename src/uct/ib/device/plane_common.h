/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the planes rc and ud have in common: the device, the ids of their ways, and the functions of
 * ri_plane_ops_t that do the same in both.
 */
#ifndef RI_IB_PLANE_COMMON_H
#define RI_IB_PLANE_COMMON_H

#include "device_types.h"
#include "../../api/plane.h"
#include "../../../ucs/id_table.h"

#if HAVE_VERBS

/* The head of a plane of verbs. */
typedef struct ri_ib_plane {
    ri_plane_t super;
    ri_ib_device_t *device;
    int is_broken;     /* the device, or a queue of all ways, cannot be used any more */
    ri_id_table_t ids; /* of ways: completions and messages name them by their ids */
    ri_ib_events_seen_t events_seen;
} ri_ib_plane_t;

/** @return The head of a plane of verbs. */
static inline ri_ib_plane_t *ri_ib_plane(ri_plane_t *plane)
{
    return ri_container_of(plane, ri_ib_plane_t, super);
}

/**
 * Take the device for a plane, and begin to look at its events.
 *
 * @param plane    Zeros. What is set here is undone by ri_ib_plane_close(), which does not free it.
 * @param ops      Of the plane, which keeps the pointer.
 * @param id_bits  Bits of an id that count ways.
 *
 * @return UCS_OK. UCS_ERR_UNSUPPORTED: there is no device, or it has failed; nothing is to be
 *         closed.
 */
ucs_status_t ri_ib_plane_open(ri_ib_plane_t *plane, const ri_plane_ops_t *ops,
                              unsigned id_bits);

/** Give the device back. All ways are gone, and all that the plane had of the device. The memory of
 * the plane is the caller's to free. */
void ri_ib_plane_close(ri_ib_plane_t *plane);

/** reg() of planes: for reading and writing. @return See ri_ib_memory_reg(). */
ucs_status_t ri_ib_plane_reg(ri_plane_t *plane, void *address, size_t length,
                             ri_plane_memory_t *memory);

/** reg_source() of planes: for reading alone. @return See ri_ib_memory_reg(). */
ucs_status_t ri_ib_plane_reg_source(ri_plane_t *plane, void *address, size_t length,
                                    ri_plane_memory_t *memory);

/** release() of planes. */
void ri_ib_plane_release(ri_plane_t *plane, ri_plane_memory_t *memory);

/** counters() of planes: those of the registration cache. */
void ri_ib_plane_counters(ri_plane_t *plane, ri_plane_counters_t *counters);

/**
 * Allocate the memory of a new way, and give it an id.
 *
 * @param size      Of the plane's structure for a way.
 * @param id_p      Set to the id.
 * @param status_p  Of an error, if NULL is returned; else it means nothing.
 *
 * @return The memory, all zeros: ri_ib_plane_free_way() frees it. NULL: there can be no way.
 *         UCS_ERR_UNREACHABLE: the device or the plane has failed. UCS_ERR_NO_MEMORY: there is no
 *         memory, or no id.
 */
void *ri_ib_plane_new_way(ri_ib_plane_t *plane, size_t size, uint32_t *id_p,
                          ucs_status_t *status_p);

/** Free the memory of a way and its id. */
void ri_ib_plane_free_way(ri_ib_plane_t *plane, void *way, uint32_t id);

/** Connect a way of a plane with the remote end at @a address. @return UCS_ERR_UNREACHABLE: that is
 * not possible. Then the way stays as it was. */
typedef ucs_status_t (*ri_ib_plane_connect_func_t)(ri_plane_ep_t *ep,
                                                   const void *address);

/**
 * Do what connect() of planes does once the address is known to be good: make the way unless it was
 * prepared, and connect it.
 *
 * @param address  In host form, as @a connect takes it.
 * @param drop     Frees a way that was made here, and that could not be connected.
 * @param ep_p     The way that was prepared, which stays if it cannot be connected; or NULL: set to
 *                 the way that was made, if it is connected.
 *
 * @return As prepare() of the plane, or as @a connect.
 */
ucs_status_t ri_ib_plane_connect(ri_plane_t *plane, const void *address,
                                 ri_ib_plane_connect_func_t connect,
                                 void (*drop)(ri_plane_ep_t *ep), ri_plane_ep_t **ep_p);

/** @return What to add to the text of an error, a value of errno, when a completion queue with @a
 * capacity entries cannot be made: that the limit of locked memory is the cause, or "". */
const char *ri_ib_plane_cq_hint(int error, unsigned capacity);

#endif

#endif
