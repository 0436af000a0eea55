/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/select.c: how a receiver gets the data of a matched RTS or POOL, as a table.
 * (docs/protocol.md section 8) */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>

namespace {

const size_t LENGTH = 262144;

enum {
    F_POOL     = 1 << 0, /* else RTS */
    F_PUT      = 1 << 1, /* the sender wants to write */
    F_KEYS     = 1 << 2,
    F_NAMED    = 1 << 3, /* a slot is ... */
    F_THERE    = 1 << 4, /* ... and exists */
    F_OFFERED  = 1 << 5, /* the sender may have written */
    F_OTHER    = 1 << 6, /* ... another receive */
    F_ANSWER   = 1 << 7, /* a way out, not in error mode PEER */
    F_CONTIG   = 1 << 8,
    F_PIECES   = 1 << 9,
    F_NO_PLACE = 1 << 10, /* its address is NULL */
    F_DEVICE   = 1 << 11,
    F_HOST     = 1 << 12, /* a plane within the host */
    F_NET      = 1 << 13,
    F_SHORT    = 1 << 14, /* the receive is too short */
    F_SENDS    = 1 << 15, /* the sender wants to send it to where this side says */
    F_UD       = 1 << 16, /* a network that takes such messages; without F_NET */
    F_SPREAD   = 1 << 17, /* in known runs; without F_CONTIG */
    F_SHELF    = 1 << 18,
    F_RUNS     = 1 << 19, /* RTS: the sender's data is */
    F_EVERY    = 1 << 20,

    F_ONE  = F_CONTIG | F_PIECES | F_ANSWER | F_HOST,
    F_SLOT = F_NAMED | F_THERE
};

const unsigned FETCH_HOST = RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_LISTS |
                            RI_PLANE_INLINE;
const unsigned FETCH_NET = RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_NOTIFY |
                           RI_PLANE_LISTS | RI_PLANE_KEYS;
const unsigned FETCH_UD = RI_PLANE_LISTS | RI_PLANE_KEYS | RI_PLANE_MESSAGES;

const struct {
    unsigned what;
    ri_fetch_t fetch;
} FETCHES[] = {
        /* Read by the plane, or brought by UCP if there is none (any more) */
        {F_ONE, RI_FETCH_GET},
        {F_ONE | F_POOL, RI_FETCH_GET},
        {F_HOST, RI_FETCH_GET},            /* generic */
        {F_HOST | F_PIECES, RI_FETCH_GET}, /* IOV */
        {F_CONTIG, RI_FETCH_AM},
        {F_CONTIG | F_POOL, RI_FETCH_AM},
        /* What only UCP can place. The sender of a POOL need not be there. */
        {F_ONE | F_DEVICE, RI_FETCH_AM},
        {F_ONE | F_DEVICE | F_POOL, RI_FETCH_BOUNCE},
        /* Too short */
        {F_ONE | F_SHORT, RI_FETCH_NOTHING},
        {F_ONE | F_SHORT | F_POOL, RI_FETCH_NOTHING},
        {F_ONE | F_SHORT | F_PUT, RI_FETCH_NOTHING},
        {F_ONE | F_SHORT | F_KEYS | F_NET, RI_FETCH_NOTHING},
        {F_SHORT, RI_FETCH_NOTHING},
        /* The sender wants to write: one piece, of host memory, if it can be told where */
        {F_ONE | F_PUT, RI_FETCH_PUT},
        {F_CONTIG | F_ANSWER | F_PUT, RI_FETCH_PUT}, /* this side needs no plane */
        {(F_ONE & ~F_ANSWER) | F_PUT, RI_FETCH_GET},
        {(F_ONE & ~F_CONTIG) | F_PUT, RI_FETCH_GET},
        {F_ONE | F_DEVICE | F_PUT, RI_FETCH_AM},
        {F_ANSWER | F_PUT, RI_FETCH_AM},
        {F_ONE | F_PUT | F_POOL, RI_FETCH_GET}, /* means nothing there */
        /* Both sides copy: one piece of host memory, and this side can read */
        {F_ONE | F_SLOT, RI_FETCH_COOP},
        {F_ONE | F_SLOT | F_PUT, RI_FETCH_COOP},
        {F_ONE | F_SLOT | F_NO_PLACE, RI_FETCH_GET}, /* 0 is no address there */
        {F_ONE | F_NAMED, RI_FETCH_GET},
        {F_ONE | F_NAMED | F_PUT, RI_FETCH_PUT},
        {(F_ONE & ~F_CONTIG) | F_SLOT, RI_FETCH_GET},
        /* ... into runs, from a shelf */
        {F_HOST | F_SPREAD | F_SLOT | F_SHELF, RI_FETCH_COOP},
        {F_HOST | F_SPREAD | F_SLOT, RI_FETCH_GET},
        {F_HOST | F_SPREAD | F_SLOT | F_SHELF | F_NO_PLACE,
         RI_FETCH_COOP}, /* MPI_BOTTOM */
        {F_HOST | F_SPREAD | F_SLOT | F_SHELF | F_OFFERED, RI_FETCH_BROKEN},
        {F_HOST | F_SPREAD | F_SHELF | F_NAMED, RI_FETCH_GET},
        {F_SPREAD | F_SHELF | F_SLOT, RI_FETCH_AM},
        {F_HOST | F_SPREAD | F_SHELF | F_SLOT | F_SHORT, RI_FETCH_NOTHING},
        {F_HOST | F_SPREAD | F_SHELF | F_SLOT | F_DEVICE, RI_FETCH_AM},
        /* ... from runs, which nobody can read: this side needs no plane */
        {F_ONE | F_RUNS | F_SLOT | F_SHELF, RI_FETCH_COOP},
        {F_CONTIG | F_RUNS | F_SLOT | F_SHELF, RI_FETCH_COOP},
        {F_SPREAD | F_RUNS | F_SLOT | F_SHELF, RI_FETCH_COOP},
        {F_HOST | F_RUNS | F_SLOT | F_SHELF, RI_FETCH_AM}, /* generic, or IOV */
        {F_ONE | F_RUNS | F_SLOT, RI_FETCH_AM},
        {F_ONE | F_RUNS | F_SHELF, RI_FETCH_AM},
        {F_ONE | F_RUNS | F_SLOT | F_SHELF | F_NO_PLACE, RI_FETCH_AM},
        {F_ONE | F_RUNS | F_SLOT | F_SHELF | F_DEVICE, RI_FETCH_AM},
        {F_ONE | F_RUNS | F_SLOT | F_SHELF | F_SHORT, RI_FETCH_NOTHING},
        {F_ONE | F_RUNS | F_SLOT | F_SHELF | F_OFFERED, RI_FETCH_BROKEN},
        {F_ONE | F_RUNS | F_PUT | F_KEYS | F_NET, RI_FETCH_AM}, /* what nobody sends */
        {(F_ONE & ~F_HOST) | F_SLOT, RI_FETCH_AM},
        {F_ONE | F_SLOT | F_DEVICE, RI_FETCH_AM},
        {F_ONE | F_SLOT | F_SHORT, RI_FETCH_NOTHING},
        {F_ONE | F_SLOT | F_POOL, RI_FETCH_GET}, /* means nothing there */
        /* ... by a sender that knew where, so it may have begun, or ended */
        {F_ONE | F_SLOT | F_OFFERED, RI_FETCH_COOP},
        {(F_ONE & ~F_HOST) | F_SLOT | F_OFFERED, RI_FETCH_COOP},
        {F_ONE | F_NAMED | F_OFFERED, RI_FETCH_LOST},
        {F_ONE | F_NAMED | F_OFFERED | F_SHORT, RI_FETCH_LOST},
        {F_ONE | F_SLOT | F_OFFERED | F_OTHER, RI_FETCH_BROKEN},
        {F_ONE | F_SLOT | F_OFFERED | F_SHORT, RI_FETCH_BROKEN},
        {F_ONE | F_SLOT | F_OFFERED | F_DEVICE, RI_FETCH_BROKEN},
        {(F_ONE & ~F_CONTIG) | F_SLOT | F_OFFERED, RI_FETCH_BROKEN},
        /* Through a network: into the receive if that is in few pieces of host memory */
        {F_ONE | F_KEYS | F_NET, RI_FETCH_GET},
        {F_PIECES | F_KEYS | F_NET, RI_FETCH_GET},
        {F_KEYS | F_NET, RI_FETCH_BOUNCE},
        {F_ONE | F_KEYS | F_NET | F_DEVICE, RI_FETCH_BOUNCE},
        {F_ONE | F_KEYS | F_NET | F_POOL, RI_FETCH_GET},
        {F_ONE | F_KEYS, RI_FETCH_AM},
        {F_ONE | F_KEYS | F_NET | F_PUT | F_ANSWER, RI_FETCH_PUT},
        {F_ONE | F_KEYS | F_PUT | F_ANSWER, RI_FETCH_AM},
        {F_ONE | F_NET, RI_FETCH_GET},
        {F_CONTIG | F_NET, RI_FETCH_AM}, /* nothing is registered */
        /* ... sent to posted memory: the receive's, if it is as above */
        {F_ONE | F_SENDS | F_UD, RI_FETCH_SENT},
        {F_PIECES | F_SENDS | F_UD, RI_FETCH_SENT},
        {F_SENDS | F_UD, RI_FETCH_SENT_BOUNCE},
        {F_ONE | F_SENDS | F_UD | F_DEVICE, RI_FETCH_SENT_BOUNCE},
        {F_ONE | F_SENDS | F_UD | F_SHORT, RI_FETCH_NOTHING},
        {F_ONE | F_SENDS, RI_FETCH_SENT_AM},
        {F_ONE | F_SENDS | F_NET, RI_FETCH_SENT_AM},
};

ri_select_fetch_t make_fetch(unsigned what)
{
    ri_select_fetch_t param = {};

    param.is_pool       = !!(what & F_POOL);
    param.wants_put     = !!(what & F_PUT);
    param.sends         = !!(what & F_SENDS);
    param.has_keys      = !!(what & F_KEYS);
    param.slot_named    = !!(what & F_NAMED);
    param.slot_there    = !!(what & F_THERE);
    param.slot_offered  = !!(what & F_OFFERED);
    param.slot_is_other = !!(what & F_OTHER);
    param.can_answer    = !!(what & F_ANSWER);
    param.contig        = !!(what & F_CONTIG);
    param.spread        = !!(what & F_SPREAD);
    param.shelf         = !!(what & F_SHELF);
    param.sent_spread   = !!(what & F_RUNS);
    param.pieces        = !!(what & F_PIECES);
    param.has_address   = !(what & F_NO_PLACE);
    param.host_memory   = !(what & F_DEVICE);
    param.host_plane    = (what & F_HOST) ? FETCH_HOST : 0;
    param.net_plane     = (what & F_NET) ? FETCH_NET : (what & F_UD) ? FETCH_UD : 0;
    param.length        = LENGTH;
    param.room          = LENGTH - !!(what & F_SHORT);
    return param;
}

TEST(test_select_fetch, table)
{
    for (const auto &f : FETCHES) {
        ri_select_fetch_t param = make_fetch(f.what);

        EXPECT_EQ(f.fetch, ri_select_fetch(&param)) << "row " << &f - FETCHES;
    }
}

/* What each way needs, over all combinations */
void check_fetch(const ri_select_fetch_t &p, ri_fetch_t fetch)
{
    bool fits    = (p.length <= p.room);
    bool slot    = p.slot_named && !p.is_pool;
    bool written = slot && p.slot_offered; /* the sender knows only one way */

    EXPECT_EQ(written, (fetch == RI_FETCH_LOST) || (fetch == RI_FETCH_BROKEN) ||
                               ((fetch == RI_FETCH_COOP) && p.slot_offered));
    EXPECT_EQ(!fits && !written, fetch == RI_FETCH_NOTHING);
    EXPECT_TRUE(!p.sent_spread || p.is_pool || written || !fits ||
                (fetch == RI_FETCH_COOP) || (fetch == RI_FETCH_AM));
    switch (fetch) {
    case RI_FETCH_COOP:
        EXPECT_TRUE(slot && p.slot_there && fits && p.host_memory);
        EXPECT_TRUE((p.contig && p.has_address) ||
                    (p.spread && p.shelf && !p.slot_offered));
        EXPECT_TRUE(!p.sent_spread || (p.shelf && !p.slot_offered));
        EXPECT_FALSE(p.slot_offered && p.slot_is_other);
        break;
    case RI_FETCH_PUT:
        EXPECT_TRUE(p.wants_put && !p.is_pool && p.can_answer && p.contig &&
                    p.host_memory);
        EXPECT_TRUE(!p.has_keys || (p.net_plane & RI_PLANE_WRITE));
        break;
    case RI_FETCH_GET:
        EXPECT_TRUE(p.host_memory);
        EXPECT_TRUE(!p.has_keys || p.pieces);
        /* fall through */
    case RI_FETCH_BOUNCE:
        EXPECT_TRUE((p.has_keys ? p.net_plane : p.host_plane) & RI_PLANE_READ);
        break;
    case RI_FETCH_SENT:
        EXPECT_TRUE(p.host_memory && p.pieces);
        /* fall through */
    case RI_FETCH_SENT_BOUNCE:
        EXPECT_TRUE(p.sends && (p.net_plane & RI_PLANE_MESSAGES));
        break;
    case RI_FETCH_SENT_AM:
        EXPECT_TRUE(p.sends && !(p.net_plane & RI_PLANE_MESSAGES));
        break;
    case RI_FETCH_AM:
        EXPECT_TRUE(!p.sends || p.sent_spread);
        break;
    case RI_FETCH_LOST:
        EXPECT_FALSE(p.slot_there);
        break;
    default:
        break;
    }
}

TEST(test_select_fetch, needs)
{
    for (unsigned what = 0; what < F_EVERY; ++what) {
        ri_select_fetch_t param = make_fetch(what);

        check_fetch(param, ri_select_fetch(&param));
        ASSERT_FALSE(HasFailure()) << "flags " << what;
    }
}

} // namespace
