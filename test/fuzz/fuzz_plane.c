/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* A plane within the host, for the fuzz target: what an RTS points to is nobody's business, so a
 * read makes the data up. */

#include "fuzz_state.h"

#include <stdlib.h>
#include <string.h>

static void fuzz_plane_close(ri_plane_t *plane)
{
    CHECK((plane == &g.plane) && (g.num_plane_eps == 0));
}

static size_t fuzz_plane_address(ri_plane_t *plane, void *address)
{
    (void)plane;
    memset(address, 0x77, RI_PLANE_ADDRESS_MAX);
    return RI_PLANE_ADDRESS_MAX;
}

static ucs_status_t fuzz_plane_connect(ri_plane_t *plane, const void *address,
                                       size_t length, ri_plane_ep_t **ep_p)
{
    CHECK(length <= RI_PLANE_ADDRESS_MAX);
    if ((length == 0) || (*(const uint8_t *)address & 1)) {
        return UCS_ERR_UNREACHABLE;
    }
    *ep_p = calloc(1, sizeof(**ep_p));
    CHECK(*ep_p != NULL);
    (*ep_p)->plane = plane;
    ++g.num_plane_eps;
    return UCS_OK;
}

static void fuzz_plane_disconnect(ri_plane_ep_t *ep)
{
    --g.num_plane_eps;
    free(ep);
}

static ucs_status_t fuzz_plane_read(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
{
    size_t skip = transfer->offset;
    size_t left = transfer->length;
    size_t i, piece;

    CHECK(ep->plane == &g.plane);
    if (g.read_fails) {
        return g.read_unreachable ? UCS_ERR_UNREACHABLE : UCS_ERR_INVALID_ADDR;
    }
    for (i = 0; i < transfer->num_local; ++i) {
        piece = ri_min(transfer->local[i].length - skip, left);
        memset((void *)(uintptr_t)(transfer->local[i].address + skip), 0x5a, piece);
        left -= piece;
        skip = 0;
    }
    CHECK(left == 0);
    return UCS_OK;
}

/* Where an RTR or CTS points to is nobody's business either; what is written is ours. */
static ucs_status_t fuzz_plane_write(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
{
    static volatile uint8_t sink;
    size_t skip = transfer->offset;
    size_t left = transfer->length;
    size_t i, k, piece;

    CHECK(ep->plane == &g.plane);
    if (g.read_fails) {
        return g.read_unreachable ? UCS_ERR_UNREACHABLE : UCS_ERR_INVALID_ADDR;
    }
    for (i = 0; i < transfer->num_local; ++i) {
        piece = ri_min(transfer->local[i].length - skip, left);
        for (k = 0; k < piece; ++k) {
            sink = ((const uint8_t *)(uintptr_t)transfer->local[i].address)[skip + k];
        }
        left -= piece;
        skip = 0;
    }
    (void)sink;
    CHECK(left == 0);
    return UCS_OK;
}

static ucs_status_t fuzz_plane_check(ri_plane_ep_t *ep)
{
    CHECK(ep->plane == &g.plane);
    return g.read_unreachable ? UCS_ERR_UNREACHABLE : UCS_OK;
}

const ri_plane_ops_t fuzz_plane_ops = {.name       = "fuzz",
                                       .close      = fuzz_plane_close,
                                       .address    = fuzz_plane_address,
                                       .connect    = fuzz_plane_connect,
                                       .disconnect = fuzz_plane_disconnect,
                                       .read       = fuzz_plane_read,
                                       .write      = fuzz_plane_write,
                                       .check      = fuzz_plane_check};
