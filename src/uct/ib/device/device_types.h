/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device is to the files of this folder, and to the planes: its handles, its port with the
 * address, what it can do, and the events that it has told. device.h opens and closes it.
 */
#ifndef RI_IB_DEVICE_TYPES_H
#define RI_IB_DEVICE_TYPES_H

#include "reg_cache.h"
#include "verbs.h"

#if HAVE_VERBS

#include <pthread.h>

/* Kinds of ports: those of one kind understand each other. On the wire. */
typedef enum ri_ib_link {
    RI_IB_LINK_INFINIBAND = 1,
    RI_IB_LINK_ROCE       = 2, /* of a version that is not known */
    RI_IB_LINK_ROCE_V1    = 3,
    RI_IB_LINK_ROCE_V2    = 4,
    RI_IB_LINK_LAST
} ri_ib_link_t;

/* Where a port is in its network (address.h), and how its packets are marked (link.h). */
typedef struct ri_ib_address {
    ri_ib_link_t link;
    uint16_t lid;          /* InfiniBand: the port's; else not used */
    union ibv_gid gid;     /* RoCE: the port's address; InfiniBand: tells the subnet */
    uint8_t gid_index;     /* place of gid in the port's table */
    uint16_t pkey;         /* partition, with the bit of a full member; 0: not known */
    uint16_t pkey_index;   /* place of pkey in the port's table */
    uint8_t sl;            /* service level of packets from here */
    uint8_t traffic_class; /* traffic class of packets that have room for one */
    unsigned moves; /* how often the address has changed since the device was opened */
} ri_ib_address_t;

/* Events of a device that are kept for those who have not seen them. */
#define RI_IB_EVENTS_KEPT 64u

/* The events of a device, see events.h. */
typedef struct ri_ib_event {
    enum ibv_event_type type;
    uint32_t qp; /* number of the queue pair that the event is about, or 0 */
    /* completion queue that the event is about, or NULL: only to be compared with. An
     * event with neither was forgotten */
    const struct ibv_cq *cq;
} ri_ib_event_t;

/* The events of a device, which the planes of all workers read. */
typedef struct ri_ib_events {
    pthread_mutex_t lock; /* over all fields here and the device's address */
    int is_open;          /* events can be read from the device */
    int is_fatal;         /* the device has said that it has failed */
    unsigned count;       /* events ever put into the ring */
    /* the latest events, event i at i modulo the size */
    ri_ib_event_t ring[RI_IB_EVENTS_KEPT];
} ri_ib_events_t;

/* One plane's view of the events of its device. */
typedef struct ri_ib_events_seen {
    unsigned count; /* ri_ib_events_t.count at the latest look */
    unsigned moves; /* ri_ib_address_t.moves at the latest look */
    unsigned calls; /* calls of progress to come until the clock is read again */
    unsigned step;  /* what calls was set to when the clock was read last */
    unsigned total; /* calls of progress since the latest look */
    double ticked;  /* when the clock was read last */
    double looked;  /* when the plane looked for events last */
    int fatal_told; /* the plane has been told that the device has failed */
} ri_ib_events_seen_t;

/* The device and port that this process uses (device.h). */
typedef struct ri_ib_device {
    struct ibv_context *context;
    struct ibv_pd *pd;
    ri_reg_cache_t *cache; /* what the process has registered for pd */
    uint8_t port;

    /* Of the port: */
    unsigned rate;   /* Mb/s, 0: not known */
    unsigned equals; /* other ports that could have been chosen as well */
    enum ibv_mtu mtu;
    ri_ib_address_t address; /* under events.lock: ri_ib_address_get() copies it */

    /* The capabilities of the device: */
    uint32_t max_message; /* bytes of a work request */
    unsigned max_wr;      /* work requests of a queue */
    unsigned max_sge;     /* segments of a work request */
    unsigned max_cqe;     /* entries of a completion queue */
    unsigned rd_atomic;   /* reads of a queue pair that may be under way, either way */

    ri_ib_events_t events;
} ri_ib_device_t;

#endif

#endif
