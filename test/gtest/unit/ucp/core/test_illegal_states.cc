/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Each function that changes a state ends the process in a debug build if the change is not legal.
 * Which changes are is tested beside each of them. */

#include "unit/common/ri_cpp.h"

#include <limits> /* verbs.h wants it in C++, and not as C */

extern "C" {
#include "ucp/core/recv_req.h"
#include "ucp/core/send_req.h"
#include "ucp/core/stream_ring.h"
#include "ucp/proto/rndv/rndv_ud.h"
#include "ucp/proto/rtr/rtr_state.h"
#include "ucp/rma/rkey.h"
#include "uct/ib/rc/rc_base.h"
#include "uct/ib/ud/ud_base.h"
}

#include <gtest/gtest.h>

namespace {

class test_illegal_states : public testing::Test {
protected:
    void SetUp() override
    {
#ifdef NDEBUG
        GTEST_SKIP() << "no assertions in this build";
#endif
    }
};

TEST_F(test_illegal_states, conn)
{
    ri_conn_t conn = {};

    conn.flags = RI_CONN_BYE;
    EXPECT_DEATH(ri_conn_set_life(&conn, 0), "ri_conn_may_become");
}

TEST_F(test_illegal_states, conn_flags)
{
    ri_conn_t conn = {};

    EXPECT_DEATH(ri_conn_set_flags(&conn, RI_CONN_PLANE_WRITE), "flags_may_become");
    ri_conn_set_flags(&conn, RI_CONN_PLANE_ASKED);
    ri_conn_set_flags(&conn, RI_CONN_PLANE_WRITE);
    EXPECT_DEATH(ri_conn_clear_flags(&conn, RI_CONN_PLANE_ASKED), "flags_may_become");
    /* And one of those that another function changes */
    EXPECT_DEATH(ri_conn_set_flags(&conn, RI_CONN_BYE), "flags_may_become");
}

TEST_F(test_illegal_states, stream)
{
    ri_stream_t stream = {};

    ri_stream_set_acked(&stream);
    EXPECT_DEATH(ri_stream_set_acked(&stream), "acked");
    ri_stream_set_resumes(&stream);
    EXPECT_DEATH(ri_stream_resume(&stream), "resumes");
    ri_stream_stall(&stream);
    EXPECT_DEATH(ri_stream_resume(&stream), "resumes");
    ri_stream_set_resumes(&stream);
    ri_stream_resume(&stream);
    stream.broken = 1;
    EXPECT_DEATH(ri_stream_stall(&stream), "broken");
}

TEST_F(test_illegal_states, way)
{
    ri_peer_t peer = {};

    EXPECT_DEATH(ri_way_set_state(&peer, RI_WAY_CONNECTED), "ri_way_may_become");
    /* And a state that is not that of its end */
    EXPECT_DEATH(ri_way_set_state(&peer, RI_WAY_PREPARED), "way.ep");
}

TEST_F(test_illegal_states, ring)
{
    ri_stream_t stream = {};

    EXPECT_DEATH(ri_stream_ring_set_state(&stream, RI_STREAM_RING_DEAD), "may_become");
}

TEST_F(test_illegal_states, channel)
{
    ri_channel_out_t out = {};

    out.state = RI_CHANNEL_AGAIN;
    EXPECT_DEATH(ri_channel_out_set_state(&out, RI_CHANNEL_STOPPING),
                 "ri_channel_out_may_become");
}

TEST_F(test_illegal_states, channel_in)
{
    ri_channel_in_t in = {};
    uint64_t memory;

    /* Read to its end and waiting for more, or with memory */
    in.dead = 1;
    ri_channel_life_check_in(&in);
    in.memory = &memory;
    ri_channel_life_check_in(&in);
    in.all_told = 1;
    ri_channel_life_check_in(&in);

    in.dead = 0;
    EXPECT_DEATH(ri_channel_life_check_in(&in), "in->dead");
    in.dead = in.closed = 1;
    EXPECT_DEATH(ri_channel_life_check_in(&in), "in->closed");
    in.all_told = 0;
    ri_channel_life_check_in(&in);
    in.memory = nullptr;
    EXPECT_DEATH(ri_channel_life_check_in(&in), "in->memory");
}

TEST_F(test_illegal_states, pool_buffer)
{
    ri_pool_buffer_t buffer = {};

    buffer.state = RI_POOL_FREE;
    EXPECT_DEATH(ri_pool_set_state(&buffer, RI_POOL_FREE), "ri_pool_may_become");
}

TEST_F(test_illegal_states, received)
{
    ri_recv_req_t recv = {};

    recv.rndv.written = RI_RECV_BY_CTS;
    EXPECT_DEATH(ri_rndv_recv_set_written(&recv, RI_RECV_NOT_WRITTEN), "may_become");
}

TEST_F(test_illegal_states, remote_key)
{
    ri_rkey_t rkey = {};

    EXPECT_DEATH(ri_rkey_set_access(&rkey, RI_RKEY_STOCK), "ri_rkey_may_become");
    rkey.access = RI_RKEY_MAPPED;
    EXPECT_DEATH(ri_rkey_set_access(&rkey, RI_RKEY_STOCK), "ri_rkey_may_become");
}

TEST_F(test_illegal_states, grant)
{
    ri_ring_grant_t grant = {};

    EXPECT_DEATH(ri_grant_change(&grant, 0, RI_RING_GRANT_WRITTEN), "SHARING");
    EXPECT_DEATH(ri_grant_end(&grant, 0, RI_RING_GRANT_OUT), "WRITTEN");
}

TEST_F(test_illegal_states, offered)
{
    ri_recv_req_t recv = {};

    recv.rtr.state = RI_RTR_WRITTEN;
    EXPECT_DEATH(ri_rtr_state_set(&recv, RI_RTR_BY_KEY), "may_become");
}

/* Fields that share memory are read in the states that they are for. */
TEST_F(test_illegal_states, shared_fields)
{
    ri_recv_req_t recv = {};

    recv.rtr.state = RI_RTR_NAMED;
    ri_recv_sn(&recv);
    EXPECT_DEATH(ri_recv_grant_conn(&recv), "BY_GRANT");
    EXPECT_DEATH(ri_recv_generation(&recv), "BY_UD");
    EXPECT_DEATH(ri_recv_awaits(&recv), "QUEUED");
    EXPECT_DEATH(ri_recv_op(&recv), "BY_UD");
    recv.rtr.state = RI_RTR_BY_GRANT;
    ri_recv_grant_conn(&recv);
    ri_recv_generation(&recv);
    EXPECT_DEATH(ri_recv_sn(&recv), "NAMED");
}

TEST_F(test_illegal_states, sent)
{
    ri_send_req_t send = {};

    EXPECT_DEATH(ri_rndv_ud_set_target(&send, RI_SEND_TARGET_USED), "may_become");
}

TEST_F(test_illegal_states, send_waits)
{
    ri_send_req_t send = {};

    send.waiting = RI_SEND_WAIT_MATCH;
    ri_send_begin_wait(&send, RI_SEND_WAIT_RING);
    EXPECT_DEATH(ri_send_begin_wait(&send, RI_SEND_WAIT_STOCK), "ri_send_may_wait_for");
}

TEST_F(test_illegal_states, ud_receive)
{
    ri_ud_recv_t recv = {};

    EXPECT_DEATH(ri_ud_recv_set_state(&recv, RI_UD_RECV_READY), "may_become");
}

TEST_F(test_illegal_states, ud_way)
{
    ri_ud_ep_t ep = {};

    ep.state = RI_UD_EP_FAILED;
    EXPECT_DEATH(ri_ud_ep_set_state(&ep, RI_UD_EP_CONNECTED), "RI_UD_EP_INIT");
}

TEST_F(test_illegal_states, rc_way)
{
    ri_rc_ep_t ep = {};

    ep.state = RI_RC_FAILED;
    EXPECT_DEATH(ri_rc_ep_set_state(&ep, RI_RC_CONNECTED), "RI_RC_INIT");
}

} // namespace
