/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of a put with what follows it is that of MPI: none, until it is settled.
 */
#include "window_memory.h"
#include "mail.h"
#include "mail_parts.h"
#include "reach_copy.h"
#include "region.h"
#include "serve.h"
#include "window_net.h"
#include "window_net_reach.h"

#include <string.h>
#include <unistd.h>

static int window_self(ri_window_address_t *address)
{
    memset(address, 0, sizeof(*address));
    address->pid     = (uint32_t)getpid();
    address->length  = (uint32_t)ri_reach_address(address->plane);
    address->mailbox = (uint32_t)(ri_serve_start() + 1);
    return address->length > 0;
}

static void *window_connect(const ri_window_address_t *address)
{
    ri_reach_t *reach = ri_reach_get(address->plane, address->length);

    if ((reach != NULL) && (address->mailbox != 0)) {
        ri_reach_open_mail(reach, address->pid, address->mailbox - 1);
    }
    return reach;
}

static void window_disconnect(void *reach)
{
    ri_reach_put(reach);
}

/* The result of a window's operation for a status of a plane. */
static ri_window_fate_t window_fate(ri_reach_t *reach, ucs_status_t status)
{
    if (ri_likely(status == UCS_OK)) {
        return RI_WINDOW_OPS_DONE;
    }
    if (reach->ep->plane->ops->check(reach->ep) != UCS_OK) {
        return RI_WINDOW_OPS_GONE;
    }
    return (status == UCS_ERR_INVALID_ADDR) ? RI_WINDOW_OPS_BAD : RI_WINDOW_OPS_FAILED;
}

/* Puts that were lost. */
static ri_window_fate_t window_puts_fate(ri_reach_t *reach)
{
    return window_fate(reach, reach->lost);
}

static ri_window_fate_t window_settle(void *arg)
{
    ri_reach_t *reach  = arg;
    unsigned withdrawn = 0;

    ri_mail_settle(reach, &withdrawn);
    return window_puts_fate(reach);
}

static ri_window_fate_t window_put(void *arg, uint64_t region, uint64_t address,
                                   const void *data, size_t length)
{
    const ri_mailbox_head_t head = {
            .kind = RI_SERVE_PUT, .region = region, .address = address};
    ri_reach_t *reach  = arg;
    unsigned withdrawn = 0;
    ri_window_fate_t fate;
    size_t done;

    if (ri_unlikely(ri_reach_is_out(reach))) {
        return window_fate(reach, ri_reach_copy_long(reach, 1, data, address, length));
    }
    done = ri_mail_parts_put(reach, &head, data, length, &withdrawn);
    if (done < length) {
        fate = window_fate(reach, ri_reach_copy_long(reach, 1, (const char *)data + done,
                                                     address + done, length - done));
        if ((fate != RI_WINDOW_OPS_DONE) && (done > 0)) {
            window_settle(reach); /* the caller does not know of the posted ones */
        }
        if ((fate != RI_WINDOW_OPS_DONE) || (done == 0)) {
            return fate;
        }
    }
    return RI_WINDOW_OPS_POSTED;
}

static ri_window_fate_t window_get(void *arg, uint64_t region, uint64_t address,
                                   void *data, size_t length)
{
    const ri_mailbox_head_t head = {
            .kind = RI_SERVE_GET, .region = region, .address = address};
    ri_reach_t *reach  = arg;
    unsigned withdrawn = 0;
    size_t done        = 0;

    if (ri_likely(!ri_reach_is_out(reach))) {
        done = ri_mail_parts_get(reach, &head, data, length, &withdrawn);
    }
    if (done == length) {
        return RI_WINDOW_OPS_DONE;
    }
    return window_fate(reach, ri_reach_copy_long(reach, 0, (char *)data + done,
                                                 address + done, length - done));
}

static ri_window_fate_t window_copy(void *arg, int is_put, const ri_segment_t *local,
                                    size_t num_local, const ri_segment_t *remote,
                                    size_t num_remote, size_t length)
{
    const ri_transfer_t moving = {.local      = local,
                                  .num_local  = num_local,
                                  .remote     = remote,
                                  .num_remote = num_remote,
                                  .length     = length};

    ucs_status_t status = ri_reach_copy_transfer(arg, is_put, &moving);

    ri_serve(); /* who is on this way for long is asked meanwhile */
    return window_fate(arg, status);
}

static int window_pays(void *reach, size_t length, unsigned calls)
{
    return ri_mail_pays(reach, length, calls);
}

static ri_window_fate_t window_ask(void *arg, const ri_mailbox_head_t *head,
                                   const void *data, void *result, unsigned calls)
{
    ri_reach_t *reach   = arg;
    ri_mail_fate_t fate = RI_MAIL_WITHDRAWN;
    unsigned withdrawn  = 0;

    if (!ri_reach_is_out(reach) && (reach->mail.area != NULL)) {
        fate = ri_mail_ask_quickly(reach, head, data, result, calls, &withdrawn);
    }
    switch (fate) {
    case RI_MAIL_DONE:
        return RI_WINDOW_OPS_DONE;
    case RI_MAIL_REFUSED:
        return RI_WINDOW_OPS_REFUSED;
    default:
        return RI_WINDOW_OPS_NOT_DONE;
    }
}

static void window_serve(void)
{
    ri_serve();
    ri_window_net_progress();
}

const ri_window_ops_t *ri_window_memory(unsigned version)
{
    static const ri_window_reach_ops_t reach = {.most       = RI_MAILBOX_DATA,
                                                .disconnect = window_disconnect,
                                                .put        = window_put,
                                                .get        = window_get,
                                                .copy       = window_copy,
                                                .pays       = window_pays,
                                                .ask        = window_ask,
                                                .settle     = window_settle};
    static const ri_window_ops_t ops         = {.reach   = &reach,
                                                .net     = &ri_window_net_ops,
                                                .self    = window_self,
                                                .open    = ri_region_open,
                                                .close   = ri_region_close,
                                                .connect = window_connect,
                                                .serve   = window_serve};

    return (version == RI_WINDOW_OPS_VERSION) ? &ops : NULL;
}
