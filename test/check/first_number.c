/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Numbers that begin shortly before they wrap: of messages, of positions in rings, channels and shelves,
 * of work requests, of transfers by ud. Linked with the library's objects, whose calls to the
 * functions below are redirected (ld --wrap), as a library to preload in place of the library
 * itself, and into gtest_unit. Nothing of that is in the library itself.
 *
 * RI_TEST_FIRST_NUMBER says where the numbers begin, in all processes that talk to each other, and
 * RI_TEST_FIRST_POSITION the positions. Without them everything is as usual. When a process ends it
 * adds a line to the file RI_TEST_FIRST_LOG: how many conns and rings have come to numbers below.
 */
#include "ucp/core/worker.h"
#include "ucp/core/rma_order.h"
#include "ucp/link/channel_life.h"
#include "uct/ib/rc/rc_notify.h"
#include "uct/ib/ud/ud_number.h"
#include "uct/shm/ring.h"
#include "uct/shm/shelf.h"

#include <stdio.h>
#include <stdlib.h>

static int is_set(const char *name, uint32_t *value)
{
    const char *text = getenv(name);

    *value = (text == NULL) ? 0 : strtoul(text, NULL, 0);
    return text != NULL;
}

static unsigned num_conns, num_rings;

__attribute__((destructor)) static void tell(void)
{
    const char *name = getenv("RI_TEST_FIRST_LOG");
    FILE *file       = (name != NULL) ? fopen(name, "a") : NULL;

    if (file != NULL) {
        fprintf(file, "wrapped: %u conns, %u rings\n", num_conns, num_rings);
        fclose(file);
    }
}

void __real_ri_conn_stop_timeout(ri_conn_t *conn);

/* The end of each conn, and other times at which it may have asked its peer: counted as often. */
void __wrap_ri_conn_stop_timeout(ri_conn_t *conn)
{
    uint32_t first;

    if (is_set("RI_TEST_FIRST_NUMBER", &first) && (conn->tx_sn < first - 1)) {
        __atomic_fetch_add(&num_conns, 1, __ATOMIC_RELAXED);
    }
    __real_ri_conn_stop_timeout(conn);
}

void __real_ri_ring_tx_close(ri_ring_tx_t *tx);

void __wrap_ri_ring_tx_close(ri_ring_tx_t *tx)
{
    uint32_t first;

    if (is_set("RI_TEST_FIRST_POSITION", &first) && (tx->pos < first)) {
        __atomic_fetch_add(&num_rings, 1, __ATOMIC_RELAXED);
    }
    __real_ri_ring_tx_close(tx);
}

ucs_status_t __real_ri_conn_create(ri_worker_t *worker, ucp_ep_h ep,
                                   const ri_wire_worker_t *remote,
                                   ucs_status_t address_status, uint32_t flags,
                                   ri_conn_t **conn_p);

ucs_status_t __wrap_ri_conn_create(ri_worker_t *worker, ucp_ep_h ep,
                                   const ri_wire_worker_t *remote,
                                   ucs_status_t address_status, uint32_t flags,
                                   ri_conn_t **conn_p)
{
    uint32_t serial = worker->conn_serial;
    uint32_t first;
    ucs_status_t status;

    status = __real_ri_conn_create(worker, ep, remote, address_status, flags, conn_p);
    if ((status == UCS_OK) && (worker->conn_serial != serial) &&
        is_set("RI_TEST_FIRST_NUMBER", &first)) {
        (*conn_p)->tx_sn = first - 1;
    }
    return status;
}

ri_stream_t *__real_ri_stream_get(ri_worker_t *worker, const ri_wire_hello_t *hello);

ri_stream_t *__wrap_ri_stream_get(ri_worker_t *worker, const ri_wire_hello_t *hello)
{
    const ri_stream_t *old = ri_stream_find(worker, hello->uid, hello->conn_id);
    int is_old             = (old != NULL) && (old->remote_serial == hello->serial);
    ri_stream_t *stream    = __real_ri_stream_get(worker, hello);
    uint32_t first;

    if (!is_old && (stream != NULL) && is_set("RI_TEST_FIRST_NUMBER", &first)) {
        stream->next_sn = first;
    }
    return stream;
}

ucs_status_t __real_ri_ring_create(ri_ring_rx_t *rx, size_t size, uint64_t cookie);

ucs_status_t __wrap_ri_ring_create(ri_ring_rx_t *rx, size_t size, uint64_t cookie)
{
    ucs_status_t status = __real_ri_ring_create(rx, size, cookie);
    uint32_t first;

    if ((status == UCS_OK) && is_set("RI_TEST_FIRST_POSITION", &first)) {
        rx->pos               = first;
        rx->published         = first;
        rx->control->consumed = first;
    }
    return status;
}

ucs_status_t __real_ri_ring_open(ri_ring_tx_t *tx, uint32_t pid, uint32_t fd, size_t size,
                                 uint64_t cookie);

ucs_status_t __wrap_ri_ring_open(ri_ring_tx_t *tx, uint32_t pid, uint32_t fd, size_t size,
                                 uint64_t cookie)
{
    ucs_status_t status = __real_ri_ring_open(tx, pid, fd, size, cookie);
    uint32_t first;

    if ((status == UCS_OK) && is_set("RI_TEST_FIRST_POSITION", &first)) {
        tx->pos = first;
        tx->limit += first;
    }
    return status;
}

ucs_status_t __real_ri_shelf_create(ri_shelf_rx_t *rx, size_t size, uint64_t cookie);

ucs_status_t __wrap_ri_shelf_create(ri_shelf_rx_t *rx, size_t size, uint64_t cookie)
{
    ucs_status_t status = __real_ri_shelf_create(rx, size, cookie);
    uint32_t first;

    if ((status == UCS_OK) && is_set("RI_TEST_FIRST_POSITION", &first)) {
        rx->shelf.pos         = first;
        rx->shelf.head->taken = first;
    }
    return status;
}

ucs_status_t __real_ri_shelf_open(ri_shelf_tx_t *tx, uint32_t pid, uint32_t fd,
                                  size_t size, uint64_t cookie);

ucs_status_t __wrap_ri_shelf_open(ri_shelf_tx_t *tx, uint32_t pid, uint32_t fd,
                                  size_t size, uint64_t cookie)
{
    ucs_status_t status = __real_ri_shelf_open(tx, pid, fd, size, cookie);
    uint32_t first;

    if ((status == UCS_OK) && is_set("RI_TEST_FIRST_POSITION", &first)) {
        tx->shelf.pos = first;
        tx->taken     = first;
    }
    return status;
}

void __real_ri_channel_tx_init(ri_channel_tx_t *tx, void *shadow, size_t size,
                               uint64_t key, const uint64_t *credit);

void __wrap_ri_channel_tx_init(ri_channel_tx_t *tx, void *shadow, size_t size,
                               uint64_t key, const uint64_t *credit)
{
    uint32_t first;

    __real_ri_channel_tx_init(tx, shadow, size, key, credit);
    if (is_set("RI_TEST_FIRST_POSITION", &first)) {
        tx->pos      = first;
        tx->acked    = first;
        tx->consumed = first;
    }
}

void __real_ri_channel_rx_init(ri_channel_rx_t *rx, void *buffer, size_t size,
                               uint64_t key);

/* The library's are part of an ri_channel_in_t; gtest_unit is not run with positions. */
void __wrap_ri_channel_rx_init(ri_channel_rx_t *rx, void *buffer, size_t size,
                               uint64_t key)
{
    uint32_t first;

    __real_ri_channel_rx_init(rx, buffer, size, key);
    if (is_set("RI_TEST_FIRST_POSITION", &first)) {
        rx->pos       = first;
        rx->published = first;

        ri_container_of(rx, ri_channel_in_t, rx)->looked = first;
    }
}

#if HAVE_VERBS

void __real_ri_rc_notify_start(ri_rc_plane_t *plane, ri_rc_ep_t *ep);

void __wrap_ri_rc_notify_start(ri_rc_plane_t *plane, ri_rc_ep_t *ep)
{
    uint32_t first;

    if (is_set("RI_TEST_FIRST_NUMBER", &first)) {
        ep->posted = first; /* it is new */
        ep->ended  = first;
    }
    __real_ri_rc_notify_start(plane, ep);
}

ucs_status_t __real_ri_ud_number_reserve(ri_ud_ep_t *ep);

ucs_status_t __wrap_ri_ud_number_reserve(ri_ud_ep_t *ep)
{
    uint32_t first;

    if ((ep->max_cancelled == 0) && is_set("RI_TEST_FIRST_NUMBER", &first)) {
        ep->next_number = first; /* it has not had any */
    }
    return __real_ri_ud_number_reserve(ep);
}

#endif
