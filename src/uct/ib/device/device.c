/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices are opened and rated; the best one, or those that the user has named, are chosen. A
 * device is shared by planes of one process.
 */
#include "device.h"
#include "address.h"
#include "events.h"
#include "filter.h"
#include "memory.h"

#if HAVE_VERBS

#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <ucs/sys/string.h>

#define DEVICE_ALL  "all"
#define DEVICE_AUTO "auto"

/* Above, a length would not fit the fields of a work request on every device. */
#define DEVICE_MESSAGE_MAX (1u << 30)

/* Datagrams need windows of some pieces. */
#define DEVICE_WR_MIN 4

/* Guards what follows. */
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static ri_ib_device_t *device_shared;
static unsigned device_users;
static int device_warned; /* that those of the user's choice do not exist */
static int device_short;  /* one was left out for its queues */

/* How fast a port is, in Mb/s; 0: not known. */
static unsigned device_rate(const struct ibv_port_attr *attr)
{
    /* by the bits of the fields */
    static const unsigned lanes[] = {1, 4, 8, 12, 2};
    static const unsigned speed[] = {2500,  5000,  10000, 10000,
                                     14000, 25000, 50000, 100000};
    int width_bit                 = ffs(attr->active_width) - 1;
    int speed_bit                 = ffs(attr->active_speed) - 1;

    if ((width_bit < 0) || ((size_t)width_bit >= sizeof(lanes) / sizeof(lanes[0])) ||
        (speed_bit < 0)) {
        return 0;
    }
    return lanes[width_bit] * speed[speed_bit];
}

static int device_set_port(ri_ib_device_t *device, const struct ibv_port_attr *attr)
{
    if ((attr->state != IBV_PORT_ACTIVE) || (attr->active_mtu < IBV_MTU_256) ||
        (attr->active_mtu > IBV_MTU_4096)) {
        return 0;
    }
    device->rate        = device_rate(attr);
    device->mtu         = attr->active_mtu;
    device->max_message = ri_min(attr->max_msg_sz, DEVICE_MESSAGE_MAX);
    if (device->max_message == 0) {
        device->max_message = DEVICE_MESSAGE_MAX;
    }
    memset(&device->address, 0, sizeof(device->address));
    return ri_ib_address_query(device, attr, &device->address);
}

/* With the lock held, as all that chooses. */
static int device_set_limits(ri_ib_device_t *device, const struct ibv_device_attr *attr)
{
    int max_sge   = (attr->max_sge_rd > 0) ? ri_min(attr->max_sge, attr->max_sge_rd) :
                                             attr->max_sge;
    int rd_atomic = ri_min(attr->max_qp_rd_atom, attr->max_qp_init_rd_atom);

    if ((attr->max_qp_wr < 1) || (max_sge < 1) || (attr->max_cqe < 1) ||
        (rd_atomic < 1)) {
        return 0;
    }
    if (attr->max_qp_wr < DEVICE_WR_MIN) {
        device_short = 1;
        ri_info("%s is not used: its queues have room for %d work requests, and %d are "
                "needed",
                ri_verbs.get_device_name(device->context->device), attr->max_qp_wr,
                DEVICE_WR_MIN);
        return 0;
    }
    device->max_wr    = attr->max_qp_wr;
    device->max_sge   = max_sge;
    device->max_cqe   = attr->max_cqe;
    device->rd_atomic = ri_min(rd_atomic, UINT8_MAX);
    return 1;
}

/* Ports of a device to choose from. */
typedef struct device_ports {
    unsigned number;    /* 0: any */
    const char *filter; /* UCX_NET_DEVICES, or NULL */
} device_ports_t;

/* Find the fastest port that fits. */
static int device_find_port(ri_ib_device_t *device, const device_ports_t *ports)
{
    const char *name = ri_verbs.get_device_name(device->context->device);
    struct ibv_port_attr port_attr;
    struct ibv_device_attr attr;
    ri_ib_device_t best = {.port = 0};
    unsigned i;

    memset(&attr, 0, sizeof(attr));
    if ((ri_verbs.query_device(device->context, &attr) != 0) ||
        !device_set_limits(device, &attr)) {
        return 0;
    }
    for (i = 1; i <= attr.phys_port_cnt; ++i) {
        device->port = i;
        if (((ports->number != 0) && (ports->number != i)) ||
            !ri_ib_filter_port(ports->filter, name, i) ||
            (ri_verbs_query_port(device->context, i, &port_attr) != 0) ||
            !device_set_port(device, &port_attr)) {
            continue;
        }
        if ((best.port == 0) || (device->rate > best.rate)) {
            best        = *device;
            best.equals = 0;
        } else if (device->rate == best.rate) {
            ++best.equals;
        }
    }
    if (best.port != 0) {
        *device = best;
    }
    return best.port != 0;
}

static ri_ib_device_t *device_open(struct ibv_device *ibv_device,
                                   const device_ports_t *ports)
{
    ri_ib_device_t *device;

    if (ibv_device->transport_type != IBV_TRANSPORT_IB) {
        return NULL;
    }
    device = calloc(1, sizeof(*device));
    if (device == NULL) {
        return NULL;
    }
    device->context = ri_verbs.open_device(ibv_device);
    if (device->context == NULL) {
        ri_debug("%s cannot be opened: %s", ri_verbs.get_device_name(ibv_device),
                 strerror(errno));
        goto err_free;
    }
    if (!device_find_port(device, ports)) {
        ri_debug("%s has no port that fits", ri_verbs.get_device_name(ibv_device));
        goto err_close;
    }
    device->pd = ri_verbs.alloc_pd(device->context);
    if (device->pd == NULL) {
        ri_debug("%s has no protection domain: %s", ri_verbs.get_device_name(ibv_device),
                 strerror(errno));
        goto err_close;
    }
    ri_ib_events_open(device);
    ri_debug("verbs device %s:%u, gid index %u", ri_verbs.get_device_name(ibv_device),
             device->port, device->address.gid_index);
    return device;

err_close:
    ri_verbs.close_device(device->context);
err_free:
    free(device);
    return NULL;
}

static void device_close(ri_ib_device_t *device)
{
    if (device->cache != NULL) {
        ri_reg_cache_destroy(device->cache);
    }
    if (ri_verbs.dealloc_pd(device->pd) != 0) {
        ri_debug("a protection domain is still in use");
    }
    pthread_mutex_destroy(&device->events.lock);
    ri_verbs.close_device(device->context);
    free(device);
}

/* Close one of two, of which either may be NULL. @return The other: the faster one. */
static ri_ib_device_t *device_better(ri_ib_device_t *first, ri_ib_device_t *second)
{
    if ((first == NULL) || (second == NULL)) {
        return (first == NULL) ? second : first;
    }
    if (second->rate > first->rate) {
        device_close(first);
        return second;
    }
    if (second->rate == first->rate) {
        first->equals += second->equals + 1;
    }
    device_close(second);
    return first;
}

/* The port behind a colon, up to @a end. @return 0: that is none. */
static unsigned device_parse_port(const char *text, const char *end)
{
    unsigned long port;
    char *last;

    port = strtoul(text, &last, 10);
    return ((last == end) && (port <= UINT8_MAX)) ? port : 0;
}

/* The fastest of some ports, of all devices or of those with a name of @a length characters. */
static ri_ib_device_t *device_open_best(struct ibv_device **list, const char *name,
                                        size_t length, const device_ports_t *ports)
{
    ri_ib_device_t *best = NULL;

    for (; *list != NULL; ++list) {
        const char *of_device = ri_verbs.get_device_name(*list);

        if ((name == NULL) ||
            ((strlen(of_device) == length) && !strncmp(of_device, name, length))) {
            best = device_better(best, device_open(*list, ports));
        }
    }
    return best;
}

/* One of UCXRI_IB_DEVICES: name or name:port, of @a length characters. */
static ri_ib_device_t *device_open_named(struct ibv_device **list, const char *name,
                                         size_t length)
{
    const char *colon    = memchr(name, ':', length);
    device_ports_t ports = {.number = 0};

    if ((length == strlen(DEVICE_ALL)) && !strncmp(name, DEVICE_ALL, length)) {
        name = NULL;
    } else if (colon != NULL) {
        ports.number = device_parse_port(colon + 1, name + length);
        if (ports.number == 0) {
            return NULL;
        }
        length = colon - name;
    }
    return device_open_best(list, name, length, &ports);
}

/* The first of UCXRI_IB_DEVICES that is there. */
static ri_ib_device_t *device_open_listed(struct ibv_device **list)
{
    const char *names      = ri_config.ib_devices;
    ri_ib_device_t *device = NULL;
    size_t length;

    for (; (*names != '\0') && (device == NULL);
         names += length + (names[length] != '\0')) {
        length = strcspn(names, ",");
        device = device_open_named(list, names, length);
    }
    return device;
}

/* The fastest port of those that UCX may use. If several are equally fast UCX may send by all of
 * them, and which is near to a process is known better by who set up the machine. */
static ri_ib_device_t *device_open_auto(struct ibv_device **list)
{
    const device_ports_t ports = {.filter = getenv("UCX_NET_DEVICES")};
    ri_ib_device_t *best;

    if (!ri_ib_filter_transports(getenv("UCX_TLS"))) {
        ri_debug("no verbs devices: UCX_TLS has no transports of InfiniBand");
        return NULL;
    }
    best = device_open_best(list, NULL, 0, &ports);
    if ((best != NULL) && (best->equals > 0)) {
        ri_info("%u InfiniBand or RoCE ports are as fast as %s:%u: name the one to be "
                "used in UCXRI_IB_DEVICES",
                best->equals, ri_verbs.get_device_name(best->context->device),
                best->port);
        device_close(best);
        device_short = 0; /* is not why */
        return NULL;
    }
    return best;
}

/* Once per process: what the user has named cannot be had. */
static void device_warn_named(const char *why, const char *detail)
{
    const char *names = ri_config.ib_devices;

    if ((names[0] != '\0') && strcmp(names, DEVICE_AUTO) && strcmp(names, DEVICE_ALL) &&
        !device_warned) {
        device_warned = 1;
        ri_warn("UCXRI_IB_DEVICES=%s: no transfers by verbs: %s%s", names, why, detail);
    }
}

static ri_ib_device_t *device_choose(void)
{
    struct ibv_device **list = ri_verbs.get_device_list(NULL);
    int is_auto              = !strcmp(ri_config.ib_devices, DEVICE_AUTO);
    ri_ib_device_t *device   = NULL;

    device_short = 0;
    if (list == NULL) {
        ri_debug("no verbs devices: %s", strerror(errno));
        device_warn_named("the list of devices cannot be had: ", strerror(errno));
    } else {
        device = is_auto ? device_open_auto(list) : device_open_listed(list);
        ri_verbs.free_device_list(list);
    }
    if ((device != NULL) && (ri_ib_memory_open(device) != UCS_OK)) {
        device_close(device);
        return NULL; /* as it has said */
    }

    if ((device == NULL) && device_short) {
        ri_warn("no transfers by verbs: no device that fits has queues with room for %d "
                "work requests",
                DEVICE_WR_MIN);
    }
    if (device == NULL) {
        device_warn_named("no device of that name has an active port that fits",
                          "; UCXRI_LOG_LEVEL=debug says more");
    }
    return device;
}

ucs_status_t ri_ib_device_get(ri_ib_device_t **device_p)
{
    if (ri_config.ib_devices[0] == '\0') {
        return UCS_ERR_UNSUPPORTED;
    }
    if (ri_verbs_resolve() != UCS_OK) {
        pthread_mutex_lock(&device_lock);
        device_warn_named("libibverbs.so.1 cannot be used", "");
        pthread_mutex_unlock(&device_lock);
        return UCS_ERR_UNSUPPORTED;
    }

    pthread_mutex_lock(&device_lock);
    if (device_users == 0) {
        device_shared = device_choose();
    }
    device_users += (device_shared != NULL);
    *device_p = device_shared;
    pthread_mutex_unlock(&device_lock);
    return (*device_p == NULL) ? UCS_ERR_UNSUPPORTED : UCS_OK;
}

void ri_ib_device_put(ri_ib_device_t *device)
{
    pthread_mutex_lock(&device_lock);
    if (--device_users == 0) {
        device_shared = NULL;
        device_close(device);
    }
    pthread_mutex_unlock(&device_lock);
}

#endif
