/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Registration cache: memory that was registered with a device stays so while nobody uses
 * it, until its memory goes away or others need the room.
 *
 * It knows nothing of devices: its owner gives it two functions that register memory and
 * end that. It may be used by several threads. A registration belongs to the cache; between get
 * and put its keys are valid.
 */
#ifndef RI_REG_CACHE_H
#define RI_REG_CACHE_H

#include "../../api/plane.h"
#include "../../../ucs/interval_tree.h"
#include "../../../ucs/base.h"

typedef struct ri_reg_cache ri_reg_cache_t;

/* The kinds of access to memory, of the device and of remote processes through it. */
enum {
    RI_REG_READ  = 1 << 0,
    RI_REG_WRITE = 1 << 1
};

/* The results of a registration; the cache only keeps them. */
typedef struct ri_reg_keys {
    void *handle;
    uint32_t lkey;
    uint32_t rkey;
} ri_reg_keys_t;

/*
 * Where a registration is (ri_registration_t.state). Legal changes:
 *
 *   NEW         -> REGISTERING   a get puts it into the tree, and registers it
 *   NEW         -> DETACHED      the cache is off: it is registered for one get
 *   REGISTERING -> CACHED        it is registered
 *   REGISTERING -> DETACHED      that has failed, or its memory went away meanwhile
 *   CACHED      -> DETACHED      its memory went away, it was given up, or another one contains it
 *
 * A detached registration is deregistered when its last reference is gone.
 */
typedef enum ri_reg_state {
    RI_REG_NEW,         /* in no tree and no list */
    RI_REG_REGISTERING, /* in the tree for events to find, but given to nobody */
    RI_REG_CACHED,      /* in the tree; idle if it has no references */
    RI_REG_DETACHED     /* not in the tree: only those who have a reference use it */
} ri_reg_state_t;

typedef struct ri_registration {
    ri_interval_t range; /* whole pages */
    ri_reg_keys_t keys;
    unsigned access; /* RI_REG_* */

    /* Of the cache: */
    ri_reg_state_t state;
    int is_registered;    /* keys are valid */
    unsigned refs;        /* gets without a put */
    ucs_list_link_t list; /* without references: in lru, or in dead if detached */
} ri_registration_t;

/* The functions of the cache's device. Called by the threads that get and put, several
 * at a time, and with no lock held; they may map and unmap memory, but not call the cache. */
typedef struct ri_reg_ops {
    /**
     * Register whole pages.
     *
     * @return UCS_OK. UCS_ERR_NO_MEMORY: it may work when others are deregistered. Any other
     *         error: it may not.
     */
    ucs_status_t (*reg)(void *arg, void *address, size_t length, unsigned access,
                        ri_reg_keys_t *keys);

    /** Deregister what reg() has registered. The memory may be gone. */
    void (*dereg)(void *arg, const ri_reg_keys_t *keys);
} ri_reg_ops_t;

typedef struct ri_reg_cache_params {
    const ri_reg_ops_t *ops;
    void *arg;        /* argument of the functions of ops */
    int enable;       /* 0: keep nothing, each get registers and each put deregisters */
    size_t max_bytes; /* what may be registered before idle registrations are given up */
    size_t max_registrations; /* how many there may be before idle ones are given up */
    int is_told; /* @ref ri_reg_cache_invalidate will be called for all memory that goes;
                    0: the cache sees to that itself */
} ri_reg_cache_params_t;

/**
 * Make a cache. If it cannot know when memory goes away it keeps nothing, and says so in a warning.
 *
 * @param params   Is copied; its ops and arg have to stay.
 * @param cache_p  Set to the cache, which ri_reg_cache_destroy() frees.
 *
 * @return UCS_OK; UCS_ERR_NO_MEMORY; UCS_ERR_UNSUPPORTED: a fork would not be noticed. The user has
 *         been told of either.
 */
ucs_status_t ri_reg_cache_create(const ri_reg_cache_params_t *params,
                                 ri_reg_cache_t **cache_p);

/** Deregister everything and free the cache. No registration may be in use: those that are stay
 * registered, and the user is warned. In a child process that has it by fork, do nothing. */
void ri_reg_cache_destroy(ri_reg_cache_t *cache);

/**
 * Have memory registered.
 *
 * @param access          RI_REG_*: what is needed; the registration may allow more.
 * @param registration_p  One that has all of the memory, which ri_reg_cache_put() gives back when
 *                        the device is done.
 *
 * @return UCS_OK; UCS_ERR_NO_MEMORY: too much is registered and in use, or as much was too much
 *         a while ago (reg_full.h), or there is no memory for a registration of the cache;
 *         UCS_ERR_BUSY: the memory went away again and again meanwhile;
 *         UCS_ERR_UNSUPPORTED in a child process; UCS_ERR_INVALID_PARAM if there is no such
 *         memory; or what registration returned.
 */
ucs_status_t ri_reg_cache_get(ri_reg_cache_t *cache, const void *address, size_t length,
                              unsigned access, ri_registration_t **registration_p);

/** Give a registration back, which is not to be used any more. In a child process that has it by
 * fork, do nothing. */
void ri_reg_cache_put(ri_reg_cache_t *cache, ri_registration_t *registration);

/**
 * Tell that memory goes away: no get that begins when this has returned gets a registration that
 * has any of it and was registered before. May be called by any thread, anywhere, also from
 * inside of the functions above. Does not wait, allocate, or deregister.
 */
void ri_reg_cache_invalidate(ri_reg_cache_t *cache, uintptr_t start, uintptr_t end);

/** Deregister all registrations whose memory is gone and that nobody uses, then copy the counters.
 * In a child process that has the cache by fork, only copy them. */
void ri_reg_cache_get_counters(ri_reg_cache_t *cache, ri_plane_counters_t *counters);

#endif
