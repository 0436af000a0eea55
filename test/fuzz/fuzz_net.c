/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Both planes have the same table of functions; their capabilities tell them apart. An operation
 * stays in a list until the input or the library ends it, and its protocol is told in the next
 * progress of either plane. When a way is closed, its operations end at once. Memory is touched
 * byte by byte, so that a sanitizer sees what goes beyond it: that of a received message when the
 * receive has ended well, all other when the operation starts. A peer's address can be reached if
 * its first byte is even. Notifications are told latest first.
 */

#include "fuzz_net.h"
#include "uct/ib/ud/ud.h"

#include <stdlib.h>
#include <string.h>

#define NET_NEWS_MAX 64

typedef struct net_op net_op_t;

typedef struct net_ep {
    ri_plane_ep_t super;
    struct net_ep *next;
    int broken;
} net_ep_t;

/* Of a plane with remote memory, or, if it has ud, a message. */
struct net_op {
    net_op_t *next;
    net_ep_t *ep;
    ri_plane_op_t *op;
    ri_ud_op_t *ud;
    int is_recv, is_waiting, heard;
    uint32_t number;
    uint64_t length;
    ri_segment_t *local; /* a receive's, written when it ends well */
    size_t num_local;
    ucs_status_t status; /* INPROGRESS: it has not ended */
};

typedef struct net_news {
    net_ep_t *ep;
    uint32_t immediate;
    size_t length;
} net_news_t;

/* All zero between inputs. */
static struct {
    ri_plane_t rc, ud;
    unsigned open, keys, mode;
    uint32_t last_number;
    net_ep_t *eps;
    net_op_t *ops;
    ri_plane_notified_func_t notified;
    net_news_t news[NET_NEWS_MAX];
    unsigned num_news;
} net;

static net_op_t *net_start(ri_plane_ep_t *ep, const ri_segment_t *local, size_t count)
{
    net_op_t *op = calloc(1, sizeof(*op)), **end = &net.ops;

    FUZZ_CHECK(op != NULL);
    op->ep        = (net_ep_t *)ep;
    op->status    = UCS_INPROGRESS;
    op->num_local = count;
    op->local     = calloc(count, sizeof(*local));
    FUZZ_CHECK(op->local != NULL);
    memcpy(op->local, local, count * sizeof(*local));
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = op;
    return op;
}

/* Touch the memory of an operation from some byte on. */
static void net_touch(const ri_segment_t *local, size_t count, uint64_t skip,
                      uint64_t left, int write)
{
    static volatile uint8_t sink;
    uint64_t piece, k;
    uint8_t *at;
    size_t i;

    for (i = 0; i < count; ++i) {
        if (skip >= local[i].length) {
            skip -= local[i].length;
            continue;
        }
        at    = (uint8_t *)(uintptr_t)local[i].address + skip;
        piece = ri_min(local[i].length - skip, left);
        skip  = 0;
        left -= piece;
        for (k = 0; k < piece; ++k) {
            if (write) {
                at[k] = 0x5a;
            } else {
                sink = at[k];
            }
        }
    }
    (void)sink;
    FUZZ_CHECK(left == 0);
}

static void net_close(ri_plane_t *plane)
{
    FUZZ_CHECK((plane == &net.rc) || (plane == &net.ud));
    --net.open;
}

static ucs_status_t net_prepare(ri_plane_t *plane, ri_plane_ep_t **ep_p)
{
    net_ep_t *ep;

    if (net.mode & FUZZ_NET_NO_WAY) {
        return UCS_ERR_NO_RESOURCE;
    }
    ep = calloc(1, sizeof(*ep));
    FUZZ_CHECK(ep != NULL);
    ep->super.plane         = plane;
    ep->super.notifications = (plane == &net.rc) ? 32 : 0;
    ep->next                = net.eps;
    net.eps                 = ep;
    *ep_p                   = &ep->super;
    return UCS_OK;
}

static size_t net_ep_address(ri_plane_ep_t *ep, void *address)
{
    (void)ep;
    memset(address, 0x33, 8);
    return 8;
}

static ucs_status_t net_connect(ri_plane_t *plane, const void *address, size_t length,
                                ri_plane_ep_t **ep_p)
{
    FUZZ_CHECK((*ep_p)->plane == plane);
    return ((length == 0) || (*(const uint8_t *)address & 1)) ? UCS_ERR_UNREACHABLE :
                                                                UCS_OK;
}

/* Tell of the end of all operations of a way, or of all, that have one. Others may begin and end
 * meanwhile. */
static unsigned net_tell(const net_ep_t *only)
{
    net_op_t **at  = &net.ops, *op;
    unsigned count = 0;

    while ((op = *at) != NULL) {
        if ((op->status == UCS_INPROGRESS) || ((only != NULL) && (op->ep != only))) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        if (op->ud != NULL) {
            if (op->is_recv && (op->status == UCS_OK)) {
                net_touch(op->local, op->num_local, 0, op->length, 1);
            }
            op->ud->done(op->ud, op->status);
        } else {
            op->op->done(op->op, op->status);
        }
        free(op->local);
        free(op);
        ++count;
        at = &net.ops;
    }
    return count;
}

static void net_disconnect(ri_plane_ep_t *super)
{
    net_ep_t *ep = (net_ep_t *)super, **at = &net.eps;
    unsigned i, kept                       = 0;
    net_op_t *op;

    for (i = 0; i < net.num_news; ++i) {
        if (net.news[i].ep != ep) {
            net.news[kept++] = net.news[i];
        }
    }
    net.num_news = kept;
    for (op = net.ops; op != NULL; op = op->next) {
        if ((op->ep == ep) && (op->status == UCS_INPROGRESS)) {
            op->status = UCS_ERR_UNREACHABLE;
            if (op->ud != NULL) {
                op->ud->heard = op->heard;
            }
        }
    }
    net_tell(ep);
    while (*at != ep) {
        FUZZ_CHECK(*at != NULL);
        at = &(*at)->next;
    }
    *at = ep->next;
    free(ep);
}

static ucs_status_t net_reg(ri_plane_t *plane, void *address, size_t length,
                            ri_plane_memory_t *memory)
{
    (void)plane;
    (void)length;
    if (net.mode & FUZZ_NET_NO_MEMORY) {
        return UCS_ERR_NO_MEMORY;
    }
    ++net.keys;
    memory->registration = (address != NULL) ? address : memory;
    memory->local_key    = 1;
    memory->remote_key   = 2;
    return UCS_OK;
}

static void net_release(ri_plane_t *plane, ri_plane_memory_t *memory)
{
    (void)plane;
    (void)memory;
    FUZZ_CHECK(net.keys > 0);
    --net.keys;
}

static unsigned net_progress(ri_plane_t *plane)
{
    net_news_t news;
    net_op_t *op;

    while ((plane == &net.rc) && (net.num_news > 0)) {
        news = net.news[--net.num_news];
        if ((net.notified != NULL) && (news.ep->super.user != NULL)) {
            net.notified(&news.ep->super, news.immediate, news.length);
        }
    }
    if (!(net.mode & FUZZ_NET_FULL)) {
        for (op = net.ops; op != NULL;) {
            if (op->is_waiting && (op->status == UCS_INPROGRESS)) {
                ri_ud_target_t target = {.qp         = 2,
                                         .number     = op->number,
                                         .granted    = 1,
                                         .piece_size = 2048,
                                         .length     = op->length};

                op->is_waiting = 0;
                op->ud->ready(op->ud, &target);
                op = net.ops;
            } else {
                op = op->next;
            }
        }
    }
    return net_tell(NULL);
}

static ucs_status_t net_transfer(ri_plane_ep_t *ep, const ri_transfer_t *t, int read)
{
    if (((net_ep_t *)ep)->broken) {
        return UCS_ERR_UNREACHABLE;
    }
    if (net.mode & FUZZ_NET_NO_START) {
        return UCS_ERR_INVALID_ADDR;
    }
    net_touch(t->local, t->num_local, t->offset, t->length, read);
    net_start(ep, t->local, t->num_local)->op = t->op;
    return UCS_INPROGRESS;
}

static ucs_status_t net_read(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
{
    return net_transfer(ep, transfer, 1);
}

static ucs_status_t net_write(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
{
    return net_transfer(ep, transfer, 0);
}

static ucs_status_t net_check(ri_plane_ep_t *ep)
{
    return ((net_ep_t *)ep)->broken ? UCS_ERR_UNREACHABLE : UCS_OK;
}

static ucs_status_t net_listen(ri_plane_t *plane, ri_plane_notified_func_t func)
{
    (void)plane;
    net.notified = func;
    return UCS_OK;
}

/* Messages */

static ucs_status_t net_ud_recv(ri_plane_ep_t *ep, const ri_ud_list_t *list, int is_offer,
                                ri_ud_op_t *ud, ri_ud_target_t *target)
{
    int full = !!(net.mode & FUZZ_NET_FULL);
    net_op_t *op;

    if (((net_ep_t *)ep)->broken || (net.mode & FUZZ_NET_NO_START) ||
        (full && is_offer)) {
        return full ? UCS_ERR_NO_RESOURCE : UCS_ERR_UNREACHABLE;
    }
    FUZZ_CHECK(list->length > 0);
    op             = net_start(ep, list->segments, list->count);
    op->ud         = ud;
    op->is_recv    = 1;
    op->is_waiting = full;
    op->number     = net.last_number++;
    op->length     = list->length;
    ud->transfer   = op;
    *target        = (ri_ud_target_t){.qp         = 2,
                                      .number     = op->number,
                                      .granted    = 1,
                                      .piece_size = 2048,
                                      .length     = op->length};
    return full ? UCS_INPROGRESS : UCS_OK;
}

static ucs_status_t net_ud_send(ri_plane_ep_t *ep, const ri_ud_list_t *list,
                                const ri_ud_target_t *target, ri_ud_op_t *ud)
{
    net_op_t *op;

    if ((ri_ud_wire_check_target(target) != NULL) || (target->length != list->length)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (((net_ep_t *)ep)->broken || (net.mode & FUZZ_NET_NO_START)) {
        return UCS_ERR_UNREACHABLE;
    }
    net_touch(list->segments, list->count, 0, list->length, 0);
    op           = net_start(ep, list->segments, list->count);
    op->ud       = ud;
    op->number   = target->number;
    op->length   = list->length;
    ud->transfer = op;
    return UCS_INPROGRESS;
}

static void net_ud_cancel(ri_ud_op_t *ud)
{
    net_op_t *op = ud->transfer;

    if (op->status == UCS_INPROGRESS) {
        op->status = UCS_ERR_CANCELED;
        ud->heard  = op->heard;
    }
}

static int net_ud_withdraw(ri_ud_op_t *ud)
{
    if (((net_op_t *)ud->transfer)->heard) {
        return 0;
    }
    net_ud_cancel(ud);
    return 1;
}

static void net_ud_claim(ri_ud_op_t *ud)
{
    FUZZ_CHECK(((net_op_t *)ud->transfer)->ud == ud);
}

static void net_ud_forget(ri_plane_ep_t *ep, uint32_t number)
{
    (void)ep;
    (void)number;
}

static unsigned net_ud_unheard(ri_plane_ep_t *ep, uint32_t *numbers, unsigned max)
{
    unsigned i, count = (net.mode & FUZZ_NET_UNHEARD) ? 3 : 0;

    (void)ep;
    for (i = 0; (i < max) && (i < count); ++i) {
        numbers[i] = i;
    }
    return count;
}

static int net_ud_remind(ri_plane_ep_t *ep)
{
    (void)ep;
    return 0;
}

static void net_ud_heard(ri_plane_ep_t *ep, uint32_t number)
{
    net_op_t *op;

    for (op = net.ops; op != NULL; op = op->next) {
        if ((&op->ep->super == ep) && (op->ud != NULL) && !op->is_recv &&
            (op->number == number) && (op->status == UCS_INPROGRESS)) {
            op->status = UCS_OK;
        }
    }
}

static const ri_ud_counters_t *net_ud_counters(const ri_plane_t *plane)
{
    static const ri_ud_counters_t none;

    (void)plane;
    return &none;
}

static const ri_ud_ops_t net_ud_ops = {.recv     = net_ud_recv,
                                       .send     = net_ud_send,
                                       .cancel   = net_ud_cancel,
                                       .withdraw = net_ud_withdraw,
                                       .claim    = net_ud_claim,
                                       .forget   = net_ud_forget,
                                       .unheard  = net_ud_unheard,
                                       .remind   = net_ud_remind,
                                       .heard    = net_ud_heard,
                                       .counters = net_ud_counters};

static const ri_plane_ops_t net_ops = {.name       = "fuzz net",
                                       .close      = net_close,
                                       .connect    = net_connect,
                                       .disconnect = net_disconnect,
                                       .prepare    = net_prepare,
                                       .ep_address = net_ep_address,
                                       .reg        = net_reg,
                                       .release    = net_release,
                                       .progress   = net_progress,
                                       .read       = net_read,
                                       .write      = net_write,
                                       .check      = net_check,
                                       .listen     = net_listen,
                                       .ud         = &net_ud_ops};

void fuzz_net_open(ri_worker_t *worker)
{
    net.rc         = (ri_plane_t){.ops          = &net_ops,
                                  .capabilities = RI_PLANE_READ | RI_PLANE_WRITE |
                                                  RI_PLANE_NOTIFY | RI_PLANE_LISTS |
                                                  RI_PLANE_KEYS,
                                  .notify_max = 1ul << 20};
    net.ud         = (ri_plane_t){.ops          = &net_ops,
                                  .capabilities = RI_PLANE_LISTS | RI_PLANE_KEYS |
                                                  RI_PLANE_MESSAGES};
    net.open       = 2;
    worker->net.rc = &net.rc;
    worker->net.ud = &net.ud;
}

void fuzz_net_closed(void)
{
    FUZZ_CHECK(net.open == 0);
    FUZZ_CHECK(net.ops == NULL);
    FUZZ_CHECK(net.eps == NULL);
    FUZZ_CHECK(net.keys == 0);
    memset(&net, 0, sizeof(net));
}

void fuzz_net_mode(unsigned mode)
{
    net.mode = mode;
}

static net_op_t *net_pick_op(unsigned n)
{
    net_op_t *op = net.ops;

    for (; (op != NULL) && (n > 0); --n) {
        op = op->next;
    }
    return op;
}

static net_ep_t *net_pick_ep(unsigned n)
{
    net_ep_t *ep = net.eps;

    for (; (ep != NULL) && (n > 0); --n) {
        ep = ep->next;
    }
    return ep;
}

void fuzz_net_end(unsigned n, unsigned how)
{
    static const ucs_status_t statuses[] = {UCS_OK, UCS_OK, UCS_ERR_INVALID_ADDR,
                                            UCS_ERR_UNREACHABLE};
    net_op_t *op                         = net_pick_op(n);

    if ((op != NULL) && (op->status == UCS_INPROGRESS) && !op->is_waiting) {
        op->status = statuses[how % 4];
        op->heard |= op->is_recv && (op->status == UCS_OK);
        if (op->ud != NULL) {
            op->ud->heard = op->heard;
        }
    }
}

void fuzz_net_hear(unsigned n)
{
    net_op_t *op = net_pick_op(n);

    if ((op != NULL) && op->is_recv && !op->is_waiting &&
        (op->status == UCS_INPROGRESS)) {
        op->heard = 1;
    }
}

void fuzz_net_notify(unsigned n, uint32_t immediate, size_t length)
{
    net_ep_t *ep = net_pick_ep(n);

    if ((ep != NULL) && (ep->super.plane == &net.rc) && (net.num_news < NET_NEWS_MAX)) {
        net.news[net.num_news++] = (net_news_t){ep, immediate, length};
    }
}

void fuzz_net_break(unsigned n)
{
    net_ep_t *ep = net_pick_ep(n);

    if ((ep != NULL) && !ep->broken) {
        ep->broken = 1;
        ++ep->super.plane->failures;
    }
}
