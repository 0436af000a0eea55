/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/select.c: what each protocol needs, over all combinations of what the choice depends
 * on. */

#include "select_param.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

bool is_eager(ri_proto_t proto)
{
    return (proto >= RI_PROTO_EAGER_RING) && (proto <= RI_PROTO_EAGER_FRAGS);
}

bool can(unsigned plane, unsigned what)
{
    return (plane & what) == what;
}

/* What follows from the facts and a choice */
struct needs {
    needs(const ri_select_param_t &p, ri_choice_t choice)
        : proto(choice.proto),
          by_plane((proto >= RI_PROTO_POOL) && (proto <= RI_PROTO_RNDV_UD)),
          in_host(choice.plane & RI_PLANE_INLINE),
          early((p.rtr_room >= p.length) && !p.is_behind),
          is_ud(can(p.net_plane, RI_PLANE_MESSAGES)),
          net_early(early && p.rtr_by_net &&
                    (can(p.net_plane, RI_PLANE_WRITE | RI_PLANE_NOTIFY) || is_ud))
    {
    }

    ri_proto_t proto;
    bool by_plane, in_host, early, is_ud, net_early;
};

/* What all protocols need */
void check_common(const ri_select_param_t &p, ri_choice_t choice, const needs &n)
{
    ri_proto_t proto = n.proto;
    bool by_plane    = n.by_plane;

    EXPECT_EQ(p.self != 0, proto == RI_PROTO_SELF);
    EXPECT_TRUE(p.host_memory || p.self || (proto >= RI_PROTO_BULK));
    EXPECT_TRUE(!is_eager(proto) || (p.length <= p.eager_thresh));
    EXPECT_TRUE(!by_plane || (p.length > p.eager_thresh));
    EXPECT_TRUE(!by_plane || !p.peer_mode);
    EXPECT_TRUE(!by_plane || p.pieces || (proto == RI_PROTO_POOL) ||
                (proto == RI_PROTO_RTR_POOL) || (p.spread && (proto == RI_PROTO_COOP)));
    /* Not complete before it was matched */
    EXPECT_FALSE(p.sync && ((proto == RI_PROTO_POOL) || (proto == RI_PROTO_BULK) ||
                            (proto == RI_PROTO_RTR_POOL)));
    /* One of the planes, the one within the host if it can, or that of the RTR */
    EXPECT_EQ(by_plane, choice.plane != 0);
    EXPECT_TRUE(!by_plane || (choice.plane == p.host_plane) ||
                (choice.plane == p.net_plane));
    EXPECT_TRUE(!by_plane || n.in_host || n.net_early || (p.host_plane == 0) ||
                !p.pieces);
}

/* What the protocol needs */
void check_one(const ri_select_param_t &p, ri_choice_t choice, const needs &n)
{
    bool in_host = n.in_host, early = n.early, net_early = n.net_early, is_ud = n.is_ud;

    switch (n.proto) {
    case RI_PROTO_EAGER_RING:
        EXPECT_TRUE(p.has_ring && (p.length <= p.ring_max));
        break;
    case RI_PROTO_EAGER_RDMA:
        EXPECT_TRUE(p.has_channel && (p.length <= p.channel_max) && !p.has_ring);
        break;
    case RI_PROTO_EAGER_GATHER:
        EXPECT_TRUE(p.contig);
        break;
    case RI_PROTO_POOL:
        EXPECT_TRUE(p.pool_free &&
                    (p.length <= (in_host ? std::max(p.hybrid_thresh, p.hybrid_away) :
                                            p.hybrid_net)));
        EXPECT_TRUE(can(choice.plane, RI_PLANE_READ));
        EXPECT_FALSE(in_host && (p.awaited || p.rtr_expected));
        break;
    case RI_PROTO_RTR_POOL:
        EXPECT_TRUE(p.pool_free && (p.length <= p.hybrid_net));
        EXPECT_TRUE(!in_host && net_early && !is_ud);
        break;
    case RI_PROTO_RTR_UD:
        EXPECT_TRUE(!in_host && net_early && is_ud);
        break;
    case RI_PROTO_RTR_HOST:
        EXPECT_TRUE(early && can(choice.plane, RI_PLANE_WRITE));
        EXPECT_TRUE(in_host ? !p.rtr_by_net : net_early);
        break;
    case RI_PROTO_RTR_COOP:
        EXPECT_TRUE(early && !p.rtr_by_net && p.ring_open && p.pieces);
        /* fall through */
    case RI_PROTO_COOP:
        EXPECT_TRUE(in_host && can(choice.plane, RI_PLANE_READ | RI_PLANE_WRITE));
        EXPECT_TRUE(p.has_ring && p.slot_free && p.polls && (p.length >= p.coop_thresh));
        break;
    case RI_PROTO_RNDV_GET:
        EXPECT_TRUE(can(choice.plane, RI_PLANE_READ));
        break;
    case RI_PROTO_RNDV_PUT:
        EXPECT_TRUE(can(choice.plane, RI_PLANE_WRITE));
        break;
    case RI_PROTO_RNDV_UD:
        EXPECT_TRUE(can(choice.plane, RI_PLANE_MESSAGES));
        break;
    case RI_PROTO_BULK:
    case RI_PROTO_BULK_RNDV:
        /* UCP only has what no plane can move */
        EXPECT_TRUE(!p.host_memory || p.peer_mode || !p.pieces ||
                    !(p.host_plane || p.net_plane));
        break;
    default:
        break;
    }
}

/* An RTR that can be used is used. */
void check_rtr(const ri_select_param_t &p, const needs &n)
{
    ri_proto_t proto = n.proto;
    bool by_plane = n.by_plane, early = n.early, net_early = n.net_early, is_ud = n.is_ud;

    EXPECT_TRUE(!by_plane || !early || p.rtr_by_net ||
                !can(p.host_plane, RI_PLANE_WRITE) || !p.pieces ||
                (proto == RI_PROTO_RTR_HOST) || (proto == RI_PROTO_RTR_COOP) ||
                (p.has_ring && !p.ring_open));
    EXPECT_TRUE(!by_plane || !net_early || !p.pieces || (proto == RI_PROTO_RTR_NET) ||
                (proto == RI_PROTO_RTR_POOL) || (proto == RI_PROTO_RTR_UD));
    EXPECT_TRUE(!net_early || p.pieces || is_ud || !p.pool_free || p.sync ||
                p.peer_mode || !p.host_memory || p.self || (p.length <= p.eager_thresh) ||
                (p.length > p.hybrid_net) || (proto == RI_PROTO_RTR_POOL));
    EXPECT_TRUE(!by_plane || !net_early || !p.pieces ||
                (is_ud == (proto == RI_PROTO_RTR_UD)));
}

/* What each protocol needs, over all combinations */
void check_needs(const ri_select_param_t &p, ri_choice_t choice)
{
    needs n(p, choice);

    check_common(p, choice, n);
    check_one(p, choice, n);
    check_rtr(p, n);
}

void check_all(unsigned which, const std::vector<size_t> &lengths)
{
    /* All subsets of bits */
    for (unsigned what = which;; what = (what - 1) & which) {
        for (size_t length : lengths) {
            ri_select_param_t param = make_param(what, length);

            check_needs(param, ri_select(&param));
            ASSERT_FALSE(::testing::Test::HasFailure())
                    << "flags " << what << ", length " << length;
        }
        if (what == 0) {
            break;
        }
    }
}

TEST(test_select_needs, all)
{
    check_all(ALL - 1, {0, SHORT, AM_INLINE + 1, RING_MAX + 1, EAGER_THRESH,
                        EAGER_THRESH + 1, HYBRID_THRESH, COOP_THRESH});
}

TEST(test_select_needs, of_channels)
{
    check_all(CHANNEL | SELF | SYNC | RING | READY | HELLO | PACKED | DEVICE | PEER |
                      READ | PIECES | NET,
              {0, CHANNEL_MAX, CHANNEL_MAX + 1, RING_MAX + 1, EAGER_THRESH,
               EAGER_THRESH + 1});
}

TEST(test_select_needs, of_long_messages)
{
    check_all((EVERY - 1) & ~(SELF | READY | HELLO | DEVICE | PEER | GET | UD | CHANNEL),
              {EAGER_THRESH + 1, HYBRID_THRESH, HYBRID_THRESH + 1, COOP_THRESH - 1,
               COOP_THRESH});
}

TEST(test_select_needs, of_runs)
{
    const unsigned which = SYNC | READ | WRITE | EARLY | POOL | SLOT | RING | AWAITED |
                           EXPECTED | BEHIND | FULL_RING | SLEEPS | NET | NET_EARLY;

    for (unsigned what = which;; what = (what - 1) & which) {
        for (size_t length : {HYBRID_THRESH, COOP_THRESH - 1, COOP_THRESH}) {
            ri_select_param_t param = make_param(what | PACKED | RUNS, length);

            check_needs(param, ri_select(&param));
            ASSERT_FALSE(HasFailure()) << "flags " << what << ", length " << length;
        }
        if (what == 0) {
            break;
        }
    }
}

/* Where either side's data is in runs the sender writes by the RTR, unless the receiver waits */
TEST(test_select_needs, of_rtrs_and_runs)
{
    const unsigned which = SYNC | WRITE | EARLY | POOL | SLOT | RING | AWAITED | BEHIND |
                           FULL_RING | SLEEPS | SHORT_RTR;

    for (unsigned what = which;; what = (what - 1) & which) {
        for (size_t length : {HYBRID_THRESH, COOP_THRESH - 1, COOP_THRESH}) {
            for (unsigned of : {1, 2, 3}) {
                ri_select_param_t p = make_param(what | READ, length);
                ri_proto_t proto;

                p.rtr_in_runs = !!(of & 1);
                p.gathers = p.spread = !!(of & 2);
                p.pieces = p.contig = !p.spread;
                proto               = ri_select(&p).proto;

                bool can_write = (what & EARLY) && (what & WRITE) && !p.awaited &&
                                 !(what & (BEHIND | SHORT_RTR)) &&
                                 (p.ring_open || !p.has_ring);
                EXPECT_EQ(can_write, proto == RI_PROTO_RTR_HOST);
                EXPECT_NE(RI_PROTO_RTR_COOP, proto);
                /* Both sides copy, if the pool does not take it */
                bool both = (what & WRITE) && (what & RING) && (what & SLOT) && p.polls &&
                            (length >= COOP_THRESH) && !can_write;
                EXPECT_TRUE(!both || (proto == RI_PROTO_COOP));
                ASSERT_FALSE(HasFailure())
                        << "flags " << what << ", length " << length << ", of " << of;
            }
        }
        if (what == 0) {
            break;
        }
    }
}

TEST(test_select_needs, of_datagrams)
{
    check_all((EVERY - 1) & ~(SELF | READY | HELLO | NET | GET | SLEEPS | CHANNEL),
              {EAGER_THRESH + 1, HYBRID_THRESH, HYBRID_NET + 1});
}

} // namespace
