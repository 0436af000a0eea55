/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
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

typedef struct link_port {
    uint64_t out_free;
    uint64_t in_free;
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
    return sh_settings.link.message_ns +
           (uint64_t)((double)length * sh_settings.link.ns_per_byte);
}

/* Take the way out for @a wire ns. @return When the first bit leaves. */
static uint64_t link_take_out(unsigned device, uint64_t earliest, uint64_t wire)
{
    uint64_t start;

    pthread_mutex_lock(&link_lock);
    start = sh_max(earliest, link_ports[device].out_free);

    link_ports[device].out_free = start + wire;
    pthread_mutex_unlock(&link_lock);
    return start;
}

void sh_link_send(unsigned device, sh_msg_t *msg, uint64_t length)
{
    if (!sh_settings.link.enabled) {
        return;
    }
    msg->wire = link_wire_time(length);
    msg->sent = link_take_out(device, sh_now(), msg->wire);
}

uint64_t sh_link_respond(unsigned device, uint64_t earliest, uint64_t length)
{
    uint64_t wire;

    if (!sh_settings.link.enabled) {
        return 0;
    }
    wire = link_wire_time(length);
    return link_take_out(device, earliest, wire) + wire + sh_settings.link.latency_ns;
}

uint64_t sh_link_arrive(unsigned device, const sh_msg_t *msg)
{
    uint64_t first;

    if (!sh_settings.link.enabled) {
        return 0;
    }
    pthread_mutex_lock(&link_lock);
    first = sh_max(msg->sent + sh_settings.link.latency_ns, link_ports[device].in_free);

    link_ports[device].in_free = first + msg->wire;
    pthread_mutex_unlock(&link_lock);
    return first + msg->wire;
}

uint64_t sh_link_answer(const sh_msg_t *msg)
{
    return sh_settings.link.enabled ? msg->sent + sh_settings.link.latency_ns : 0;
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
