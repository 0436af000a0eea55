/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A port is a set of times at which it is free again. A message that is sent, or taken out of a
 * ring, moves them on with link_lock held and gets its own times. Nothing waits here: other files
 * see to it that nothing is seen too early. The sender's process reserves the way out, and the
 * receiver's process the way in, in the order in which it takes messages out of its rings. The rate
 * of copies is learned from those that were made; it is used with sh_proc.lock held.
 */
#include "link.h"
#include "counters.h"
#include "settings.h"
#include "util.h"

#include <pthread.h>
#include <string.h>

/* A copy's fixed cost, and the rate until one has been measured. */
#define LINK_COPY_NS   1500
#define LINK_COPY_RATE 4.0 /* bytes per ns */

/* Smaller copies tell more about the fixed cost. */
#define LINK_COPY_LEARN 16384

/* A process may write any time into its messages. What comes later than that from now takes no turn
 * on the way in: the messages of others would have to wait for it. */
#define LINK_FAR_NS 10000000000UL

/* One direction of a port. */
typedef struct link_way {
    uint64_t free;        /* when all that is on it is through */
    uint64_t single_free; /* when all single packets on it are through */
} link_way_t;

typedef struct link_port {
    uint64_t ready; /* when the adapter is done with what it makes of each message */
    link_way_t out;
    link_way_t in;
} link_port_t;

static pthread_mutex_t link_lock = PTHREAD_MUTEX_INITIALIZER;
static link_port_t link_ports[SH_MAX_DEVICES];
static double link_copy_rate;

void sh_link_init(void)
{
    sh_mutex_init(&link_lock);
    memset(link_ports, 0, sizeof(link_ports));
    link_copy_rate = LINK_COPY_RATE;
}

static uint64_t link_wire_time(uint64_t length)
{
    return (uint64_t)((double)length * sh_settings.link.ns_per_byte);
}

/* Take a way for @a wire ns. A single packet waits for at most one packet of a longer message. That
 * message ends later by the time of the single packet, though its end that was already told stays
 * as it is. With link_lock. @return When the first bit is on it. */
static uint64_t link_take(link_way_t *way, uint64_t earliest, uint64_t length,
                          uint64_t wire)
{
    uint64_t start = sh_max(earliest, way->free);
    uint64_t single;

    if (length > sh_settings.mtu) {
        way->free = start + wire;
        return start;
    }
    single = sh_max(earliest, way->single_free) + link_wire_time(sh_settings.mtu);
    start  = sh_min(start, single);

    way->single_free = start + wire;
    way->free        = sh_max(way->free, start) + wire;
    return start;
}

/* Take the way out, behind what the same QP has sent. With link_lock. @return When the first bit
 * leaves. */
static uint64_t link_take_out(link_port_t *port, uint64_t earliest, uint64_t length,
                              uint64_t wire, uint64_t *turn)
{
    uint64_t start = link_take(&port->out, sh_max(earliest, *turn), length, wire);

    *turn = start + wire;
    return start;
}

/* An adapter makes a message ready while those before it leave. With link_lock. */
static void link_send(link_port_t *port, sh_msg_t *msg, uint64_t length, uint64_t now,
                      uint64_t *turn)
{
    port->ready = sh_max(port->ready, now) + sh_settings.link.message_ns;
    msg->wire   = link_wire_time(length);
    msg->sent   = link_take_out(port, port->ready, length, msg->wire, turn);
}

void sh_link_send(unsigned device, sh_msg_t *msg, uint64_t length, uint64_t *turn)
{
    uint64_t now;

    if (sh_settings.link.enabled) {
        now = sh_now();
        pthread_mutex_lock(&link_lock);
        link_send(&link_ports[device], msg, length, now, turn);
        pthread_mutex_unlock(&link_lock);
    }
}

void sh_link_send_all(unsigned device, sh_msg_t *msgs, unsigned count, uint64_t *turn)
{
    uint64_t now;
    unsigned i;

    if (sh_settings.link.enabled) {
        now = sh_now();
        pthread_mutex_lock(&link_lock);
        for (i = 0; i < count; ++i) {
            link_send(&link_ports[device], &msgs[i], msgs[i].length, now, turn);
        }
        pthread_mutex_unlock(&link_lock);
    }
}

uint64_t sh_link_respond(unsigned device, uint64_t earliest, uint64_t length,
                         uint64_t *turn)
{
    uint64_t wire, start;

    if (!sh_settings.link.enabled) {
        return 0;
    }
    wire = link_wire_time(length);
    pthread_mutex_lock(&link_lock);
    start = link_take_out(&link_ports[device], earliest + sh_settings.link.message_ns,
                          length, wire, turn);
    pthread_mutex_unlock(&link_lock);
    return start + wire + sh_settings.link.latency_ns;
}

/* Take the way in, unless that is far from now. With link_lock. @return When the first bit is
 * there. */
static uint64_t link_take_in(link_way_t *way, uint64_t earliest, uint64_t length,
                             uint64_t wire)
{
    uint64_t far = sh_now() + LINK_FAR_NS;
    uint64_t first;

    if (sh_link_is_far(earliest) || sh_link_is_far(earliest + wire)) {
        return earliest;
    }
    first     = link_take(way, earliest, length, wire);
    way->free = sh_min(way->free, far); /* of many messages, all of which are near */
    way->single_free = sh_min(way->single_free, far);
    return first;
}

int sh_link_is_far(uint64_t time)
{
    return time > sh_now() + LINK_FAR_NS;
}

uint64_t sh_link_arrive(unsigned device, const sh_msg_t *msg, uint64_t length)
{
    uint64_t sent = sh_min(msg->sent, UINT64_MAX / 4); /* the sum is a time as well */
    uint64_t wire = sh_min(msg->wire, UINT64_MAX / 4);
    uint64_t first;

    if (!sh_settings.link.enabled) {
        return 0;
    }
    pthread_mutex_lock(&link_lock);
    first = link_take_in(&link_ports[device].in, sent + sh_settings.link.latency_ns,
                         length, wire);
    pthread_mutex_unlock(&link_lock);
    return first + wire;
}

uint64_t sh_link_answer(const sh_msg_t *msg)
{
    return sh_settings.link.enabled ? sh_min(msg->sent, sh_now() + LINK_FAR_NS) +
                                              sh_settings.link.latency_ns :
                                      0;
}

uint64_t sh_link_copy_time(uint64_t length)
{
    return LINK_COPY_NS + (uint64_t)((double)length / link_copy_rate);
}

void sh_link_copied(uint64_t length, uint64_t ns)
{
    double rate;

    if ((length >= LINK_COPY_LEARN) && (ns > 0)) {
        rate           = sh_min(sh_max((double)length / (double)ns, 0.5), 50.0);
        link_copy_rate = link_copy_rate * 0.9 + rate * 0.1;
    }
}

void sh_link_count(uint64_t length, unsigned mtu)
{
    sh_count(messages, 1);
    sh_count(packets, (length == 0) ? 1 : (length + mtu - 1) / mtu);
    sh_count(bytes, length);
}
