/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The device and port that this process uses: the first active port of UCXRI_IB_DEVICES
 * that fits, the fastest where a name there stands for several, or the fastest that UCX may
 * use. It is opened once per process and shared by its workers, because memory is registered
 * for a protection domain: what one worker has registered the others can use, and a page is
 * pinned once. So the registration cache is the device's, too.
 *
 * ibv_fork_init is not called here. UCX calls it in ucp_init for each device it finds,
 * whatever its transports (UCX_IB_FORK_INIT, default try), and so before there is a worker
 * that could ask for this; who turned that off meant all of the process. Since Linux 5.12
 * fork copies pinned pages, and nothing has to be done.
 */
#ifndef RI_IB_DEVICE_H
#define RI_IB_DEVICE_H

#include "../api/plane.h"
#include "reg_cache.h"
#include "verbs.h"

#if HAVE_VERBS

#include <errno.h>
#include <pthread.h>

/* What kinds of ports understand each other. On the wire. */
typedef enum ri_ib_link {
    RI_IB_LINK_INFINIBAND = 1,
    RI_IB_LINK_ROCE       = 2, /* of a version that is not known */
    RI_IB_LINK_ROCE_V1    = 3,
    RI_IB_LINK_ROCE_V2    = 4,
    RI_IB_LINK_LAST
} ri_ib_link_t;

/* Where a port is in its network (device_address.h), and how its packets are marked
 * (device_link.h). */
typedef struct ri_ib_address {
    ri_ib_link_t link;
    uint16_t lid; /* InfiniBand */
    union ibv_gid gid;
    uint8_t gid_index;
    uint16_t pkey; /* 0: not known */
    uint16_t pkey_index;
    uint8_t sl;
    uint8_t traffic_class;
    unsigned moves; /* how often it has changed */
} ri_ib_address_t;

/* Events of a device that are kept for those who have not seen them. */
#define RI_IB_EVENTS_KEPT 64u

/* What a device has told, see device_events.h. */
typedef struct ri_ib_event {
    enum ibv_event_type type;
    uint32_t qp;             /* number of the queue pair that it is about, or 0 */
    const struct ibv_cq *cq; /* likewise, not to be used, or NULL; neither: forgotten */
} ri_ib_event_t;

typedef struct ri_ib_events {
    pthread_mutex_t lock;
    int is_open;    /* there is something to be read */
    int is_fatal;   /* the device has failed */
    unsigned count; /* ever, of those that are kept */
    ri_ib_event_t ring[RI_IB_EVENTS_KEPT];
} ri_ib_events_t;

/* What a plane has seen of it. */
typedef struct ri_ib_events_seen {
    unsigned count;
    unsigned moves; /* of the address */
    unsigned calls; /* to come, until the time is looked at */
    unsigned step;  /* so many there were from the latest time on */
    unsigned total; /* calls since the latest look */
    double ticked;  /* when the time was looked at */
    double looked;
    int fatal_told; /* that the device has failed */
} ri_ib_events_seen_t;

typedef struct ri_ib_device {
    struct ibv_context *context;
    struct ibv_pd *pd;
    ri_reg_cache_t *cache;
    uint8_t port;

    /* Of the port: */
    unsigned rate;   /* Mb/s, 0: not known */
    unsigned equals; /* other ports that could have been chosen as well */
    enum ibv_mtu mtu;
    ri_ib_address_t address; /* see ri_ib_device_address() */

    /* What it can do: */
    uint32_t max_message; /* bytes of a work request */
    unsigned max_wr;      /* of a queue */
    unsigned max_sge;     /* of a work request */
    unsigned max_cqe;
    unsigned rd_atomic; /* reads of a queue pair that may be under way, either way */

    ri_ib_events_t events;
} ri_ib_device_t;

/**
 * Take the device of this process, and open it if nobody has it yet. Any thread.
 *
 * @return UCS_OK: to be given back. UCS_ERR_UNSUPPORTED: there is none, which is logged at
 *         level debug, or as a warning if the user has named one.
 */
ucs_status_t ri_ib_device_get(ri_ib_device_t **device_p);

/** Give the device back; it is closed with the last one who has it. */
void ri_ib_device_put(ri_ib_device_t *device);

/** @return What to add to the text of an error when a completion queue with @a capacity entries
 * cannot be made: whether the limit of locked memory is the cause. */
const char *ri_ib_cq_hint(int error, unsigned capacity);

/**
 * Have memory registered.
 *
 * @param access    RI_REG_*: what the device does to it.
 * @param region_p  To be given back.
 *
 * @return UCS_ERR_INVALID_ADDR: it cannot be accessed in this way. UCS_ERR_NO_MEMORY: a limit
 *         was reached; what to do is said once per process. Or what ri_reg_cache_get()
 *         returns.
 */
ucs_status_t ri_ib_device_reg(ri_ib_device_t *device, void *address, size_t length,
                              unsigned access, ri_reg_region_t **region_p);

/**
 * reg() and reg_source() of planes.
 *
 * @param access  RI_REG_*: what is needed.
 */
ucs_status_t ri_ib_device_reg_memory(ri_ib_device_t *device, void *address, size_t length,
                                     unsigned access, ri_plane_memory_t *memory);

/** Give a region back. */
void ri_ib_device_release(ri_ib_device_t *device, ri_reg_region_t *region);

/** release() of planes. */
void ri_ib_device_release_memory(ri_ib_device_t *device, ri_plane_memory_t *memory);

#endif

#endif
