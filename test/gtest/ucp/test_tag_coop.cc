/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Long messages that the library lets both sides copy at the same time: sizes around its
 * parts, many at once, sides that are not in the library meanwhile, and receives that only
 * one side can fill.
 */

#include "generic_dt.h"
#include "long_test.h"
#include "peer.h"

#include <algorithm>
#include <random>

using namespace ucp_test;

namespace {

const size_t KB = 1024;

/* At the threshold and around it, around whole parts, odd ones */
const std::vector<size_t> COOP_SIZES = {256 * KB - 1,  256 * KB,      256 * KB + 1,
                                        300001,        512 * KB,      512 * KB + 4095,
                                        1024 * KB - 7, 1024 * KB,     1024 * KB + 4097,
                                        4096 * KB,     4096 * KB + 1, 16384 * KB - 3};

} // namespace

class test_tag_coop : public long_test {
protected:
    void SetUp() override
    {
        make_pair();
        warm_up();
        for (uint64_t i = 0; i < 8; ++i) {
            size_t size = (i % 2) ? 8 : 100000;

            exchange(ab(), b(), size, i);
            exchange(ba(), a(), size, i);
        }
    }

    void expect_received(op &r, op &s, guarded_buffer &in, const std::string &out)
    {
        wait(r, "receive");
        wait(s, "send");
        EXPECT_EQ(UCS_OK, r.status());
        EXPECT_EQ(UCS_OK, s.status());
        EXPECT_EQ(1, r.calls());
        EXPECT_LE(s.calls(), 1);
        EXPECT_EQ(out.size(), r.info().length);
        EXPECT_EQ(0, memcmp(in.data(), out.data(), out.size()));
        in.expect_guard_intact();
    }
};

TEST_P(test_tag_coop, sizes)
{
    for (size_t size : COOP_SIZES) {
        for (bool expected : {true, false}) {
            for (bool sync : {true, false}) {
                SCOPED_TRACE("size " + std::to_string(size) +
                             (expected ? " expected" : "") + (sync ? " sync" : ""));
                std::string out = pattern(size, size);
                guarded_buffer in(size);
                op_ptr r, s;

                if (expected) {
                    r = recv(b().worker(), in.data(), size, 5);
                    calm_down();
                }
                s = sync ? send_sync(ab(), out.data(), size, 5) :
                           send(ab(), out.data(), size, 5);
                if (!expected) {
                    EXPECT_EQ(size, wait_unexpected(b(), 5).length);
                    r = recv(b().worker(), in.data(), size, 5);
                }
                expect_received(*r, *s, in, out);
            }
        }
    }
}

/* Neither side may rely on the other one's progress, once the message is matched. */
TEST_P(test_tag_coop, sides_take_turns)
{
    std::mt19937 random(1);

    for (unsigned chance = 0; chance <= 100; chance += 10) {
        size_t size     = 1000001;
        std::string out = pattern(size, chance);
        guarded_buffer in(size);
        op_ptr r = recv(b().worker(), in.data(), size, 5);
        op_ptr s = send(ab(), out.data(), size, 5);

        for (unsigned i = 0; i < 300; ++i) {
            ((random() % 100 < chance) ? a() : b()).progress();
        }
        expect_received(*r, *s, in, out);
    }
}

TEST_P(test_tag_coop, many_at_once)
{
    const size_t count = 40;
    std::mt19937 random(2);

    for (bool expected : {true, false}) {
        std::vector<std::string> out;
        std::vector<guarded_buffer> in;
        std::vector<op_ptr> sends(count), recvs(count);
        std::vector<size_t> order;

        for (size_t i = 0; i < count; ++i) {
            out.push_back(pattern(256 * KB + random() % (256 * KB), i));
            in.emplace_back(out[i].size());
            order.push_back(i);
        }
        auto post = [&](size_t i) {
            recvs[i] = recv(b().worker(), in[i].data(), in[i].size(), i);
        };
        if (expected) {
            for (size_t i = 0; i < count; ++i) {
                post(i);
            }
            calm_down();
        }
        for (size_t i = 0; i < count; ++i) {
            sends[i] = send(ab(), out[i].data(), out[i].size(), i);
        }
        if (!expected) {
            calm_down();
            std::shuffle(order.begin(), order.end(), random);
            for (size_t i : order) {
                post(i);
            }
        }
        for (size_t i = 0; i < count; ++i) {
            expect_received(*recvs[i], *sends[i], in[i], out[i]);
        }
    }
}

TEST_P(test_tag_coop, both_ways_at_once)
{
    const size_t count = 10, size = 700001;
    std::vector<std::string> out;
    std::vector<guarded_buffer> in;
    std::vector<op_ptr> sends, recvs;

    for (size_t i = 0; i < 2 * count; ++i) {
        out.push_back(pattern(size, i));
        in.emplace_back(size);
    }
    for (size_t i = 0; i < 2 * count; ++i) {
        entity &to = (i % 2) ? a() : b();

        sends.push_back(send((i % 2) ? ba() : ab(), out[i].data(), size, i));
        recvs.push_back(recv(to.worker(), in[i].data(), size, i));
    }
    for (size_t i = 0; i < 2 * count; ++i) {
        expect_received(*recvs[i], *sends[i], in[i], out[i]);
    }
}

TEST_P(test_tag_coop, lists)
{
    for (size_t pieces : {1, 2, 16, 17, 50}) {
        for (bool list_in : {false, true}) {
            size_t size     = 1000001;
            std::string out = pattern(size, pieces);
            guarded_buffer in(size);
            auto cut = [&](void *buffer) {
                std::vector<ucp_dt_iov_t> iov;
                char *at = static_cast<char *>(buffer);

                for (size_t i = 0; i < pieces; ++i) {
                    iov.push_back({at, size / pieces + (i < size % pieces)});
                    at += iov.back().length;
                }
                return iov;
            };
            std::vector<ucp_dt_iov_t> from = cut(&out[0]), to = cut(in.data());
            op_ptr s = send_dt(ab(), from.data(), pieces, ucp_dt_make_iov(), 5);
            op_ptr r = list_in ? recv_dt(b().worker(), to.data(), pieces,
                                         ucp_dt_make_iov(), 5) :
                                 recv(b().worker(), in.data(), size, 5);
            expect_received(*r, *s, in, out);
        }
    }
}

TEST_P(test_tag_coop, receive_into_a_generic_type)
{
    generic_dt dt;
    const size_t count = 300000;
    std::string out    = pattern(count, 1);
    std::string memory(generic_dt::extent(count), '\0');

    for (bool expected : {true, false}) {
        op_ptr r = expected ? recv_dt(b().worker(), &memory[0], count, dt.handle(), 5) :
                              nullptr;
        op_ptr s = send(ab(), out.data(), count, 5);

        if (!expected) {
            wait_unexpected(b(), 5);
            r = recv_dt(b().worker(), &memory[0], count, dt.handle(), 5);
        }
        wait(*r);
        wait(*s);
        EXPECT_EQ(UCS_OK, r->status());
        EXPECT_EQ(out, generic_dt::packed(memory, count));
        dt.expect_balanced(0, 1);
    }
}

TEST_P(test_tag_coop, truncation)
{
    for (bool expected : {true, false}) {
        const size_t size = 1000001;
        std::string out   = pattern(size, 1);
        guarded_buffer in(size - 1);
        op_ptr r = expected ? recv(b().worker(), in.data(), in.size(), 5) : nullptr;
        op_ptr s = send(ab(), out.data(), size, 5);

        if (!expected) {
            wait_unexpected(b(), 5);
            r = recv(b().worker(), in.data(), in.size(), 5);
        }
        wait(*r);
        wait(*s);
        EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status());
        EXPECT_EQ(UCS_OK, s->status());
        in.expect_guard_intact();
        exchange(ab(), b(), size, 2);
    }
}

TEST_P(test_tag_coop, order_and_one_tag)
{
    const size_t count = 30;
    std::vector<std::string> out;
    std::vector<guarded_buffer> in;
    std::vector<op_ptr> sends, recvs;

    for (size_t i = 0; i < count; ++i) {
        out.push_back(pattern((i % 3) ? 400000 + i : 8 + i, i));
        in.emplace_back(500000);
    }
    for (size_t i = 0; i < count; ++i) {
        sends.push_back(send(ab(), out[i].data(), out[i].size(), 7));
        recvs.push_back(recv(b().worker(), in[i].data(), in[i].size(), 7));
    }
    for (size_t i = 0; i < count; ++i) {
        expect_received(*recvs[i], *sends[i], in[i], out[i]);
    }
}

INSTANTIATE_TRANSPORTS(test_tag_coop);

/* Two processes */

namespace {

/* Each side computes at times, instead of calling progress. */
void coop_traffic(endpoint_pair &p, bool first)
{
    for (size_t size : COOP_SIZES) {
        for (int i = 0; i < 20; ++i) {
            bool sends      = (i % 2 == 0) == first;
            std::string out = pattern(size, i), in(size, '\0');
            op_ptr o        = sends ? send(p.ep(), out.data(), size, i) :
                                      recv(p.worker(), &in[0], size, i);

            if ((i % 4 == 1) == first) {
                usleep(300);
            }
            p.wait(*o, "coop");
            EXPECT_EQ(UCS_OK, o->status());
            if (!sends) {
                ASSERT_TRUE(in == out) << "size " << size << " round " << i;
            }
        }
    }
}

void coop_windows(endpoint_pair &p)
{
    const size_t count = 24, size = 300001;

    for (int round = 0; round < 5; ++round) {
        std::vector<std::string> out(count), in(count, std::string(size, '\0'));
        std::vector<op_ptr> ops;

        for (size_t i = 0; i < count; ++i) {
            out[i] = pattern(size, i + round);
            ops.push_back(recv(p.worker(), &in[i][0], size, i));
            ops.push_back(send(p.ep(), out[i].data(), size, i));
        }
        p.wait_all(ops, "window");
        for (size_t i = 0; i < count; ++i) {
            EXPECT_TRUE(in[i] == out[i]) << "message " << i << " round " << round;
        }
    }
}

void coop_role(peer_env &env)
{
    endpoint_pair p(env.ch, env.tr);

    coop_traffic(p, false);
    coop_windows(p);
    p.close();
}

peer_role coop("coop", coop_role);

} // namespace

class test_two_process_coop : public transport_test {};

TEST_P(test_two_process_coop, traffic)
{
    peer other("coop", GetParam());
    endpoint_pair p(other.ch(), GetParam());

    coop_traffic(p, true);
    coop_windows(p);
    p.close();
    other.finish();
}

INSTANTIATE_REMOTE_TRANSPORTS(test_two_process_coop);
