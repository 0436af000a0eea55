/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that reach each other through a network only: rendezvous, whichever side moves the
 * data, and whether the network reaches memory (rdma_test.h) or takes messages (rndv_ud_test.h).
 */
#ifndef RI_TEST_NET_RNDV_TEST_H
#define RI_TEST_NET_RNDV_TEST_H

#include "rndv_test.h"
#include "unit/fakes/fake_rdma.h"

namespace {

class net_rndv_test : public rndv_test {
protected:
    void SetUp() override
    {
        m_has_planes = false;
        rndv_test::SetUp();
        with_net();
    }

    void TearDown() override
    {
        stop_net();
        rndv_test::TearDown();
    }

    /* A network for the workers that are there; before they meet */
    virtual void with_net() = 0;

    /* The workers, and then the network */
    virtual void stop_net() = 0;

    /* What the sender reaches the receiver by */
    virtual rdma &sender_net() = 0;

    /* When nothing is under way */
    virtual void check_idle() = 0;

    void restart()
    {
        stop_net();
        start();
        with_net();
    }

    /* One long message by UCP makes the sender ask. */
    virtual void connect()
    {
        memory from(CONTIG, LONG), to(CONTIG, LONG);
        recv_ptr r = recv(to, 1);
        rndv_ptr s = send(from, 1);

        pump();
        ASSERT_TRUE(r->done && s->done);
        ASSERT_TRUE(m_conn->flags & RI_CONN_WAY);
        check_idle();
    }

    /* A long message of each shape of either side, expected or not, synchronous or not. then: what
     * holds after each */
    void exchange_shapes(const std::function<void(shape_t in)> &then)
    {
        for (shape_t out : {CONTIG, IOV_1, IOV_16, IOV_EMPTY}) {
            for (shape_t in : SHAPES_IN) {
                for (unsigned i = 0; i < 4; ++i) {
                    SCOPED_TRACE(std::to_string(out) + " " + std::to_string(in));
                    exchange_shape(out, in, i & 1, i & 2);
                    then(in);
                }
            }
        }
    }

    void exchange_shape(shape_t out, shape_t in, bool expected, bool sync)
    {
        bytes content = pattern(out * 8 + in, LONG);
        memory from(out, LONG, content), to(in, LONG + (expected ? 100 : 0));
        recv_ptr r = expected ? recv(to, 5) : nullptr;
        rndv_ptr s = send(from, 5, sync);

        EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
        if (!expected) {
            pump();
            EXPECT_FALSE(s->done);
            r = recv(to, 5);
        }
        pump();
        check(r, to, content, 5);
        EXPECT_TRUE(s->done);
        EXPECT_EQ(UCS_OK, s->status);
        check_idle();
    }

    /* The sender can register some pieces of its message only: all of it goes by UCP. */
    void check_unregistered(unsigned good)
    {
        bytes content = pattern(good, LONG);
        memory from(IOV_16, LONG, content), to(CONTIG, LONG);

        sender_net().reg_status = UCS_ERR_NO_MEMORY;
        sender_net().good_regs  = good;
        recv_ptr r              = recv(to, 5);
        rndv_ptr s              = send(from, 5);
        EXPECT_EQ(1u, m_ab->count(RI_WIRE_BULK));
        pump();
        check(r, to, content, 5);
        check_idle();
    }

    /* Long messages that are sent, each with its number as its tag */
    std::vector<random_message> send_several(unsigned count)
    {
        std::vector<random_message> several(count);

        for (unsigned i = 0; i < count; ++i) {
            random_message &m = several[i];

            m.content = pattern(i, LONG);
            m.from    = std::make_unique<memory>(CONTIG, LONG, m.content);
            m.to      = std::make_unique<memory>(CONTIG, LONG);
            m.send    = send(*m.from, i);
        }
        return several;
    }

    void post_several(std::vector<random_message> &several)
    {
        for (unsigned i = 0; i < several.size(); ++i) {
            several[i].recv = recv(*several[i].to, i);
        }
    }

    void check_received(const std::vector<random_message> &several)
    {
        for (unsigned i = 0; i < several.size(); ++i) {
            check(several[i].recv, *several[i].to, several[i].content, i);
        }
    }

    void check_several(const std::vector<random_message> &several)
    {
        check_received(several);
        for (const random_message &m : several) {
            EXPECT_TRUE(m.send->done);
        }
        check_idle();
    }

    static constexpr shape_t SHAPES_IN[] = {CONTIG,    IOV_1,  IOV_16,
                                            IOV_EMPTY, IOV_17, PACKED};
};

} // namespace

#endif
