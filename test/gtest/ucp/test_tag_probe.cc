/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Probing for unexpected messages, with and without removal. */

#include "ucp_test.h"

using namespace ucp_test;

class test_tag_probe : public transport_test {
protected:
    void SetUp() override { make_pair(); }

    ucp_tag_message_h probe(ucp_tag_t tag, bool remove, ucp_tag_t mask = TAG_FULL)
    {
        m_info = {};
        return ucp_tag_probe_nb(b().worker(), tag, mask, remove, &m_info);
    }

    ucp_tag_message_h wait_probe(ucp_tag_t tag, bool remove, ucp_tag_t mask = TAG_FULL)
    {
        ucp_tag_message_h m;
        wait([&] { return (m = probe(tag, remove, mask)) != nullptr; }, "probe");
        return m;
    }

    op_ptr msg_recv(ucp_tag_message_h m, void *buffer, size_t size)
    {
        op_ptr o(new op);
        ucp_request_param_t p = o->recv_param();
        o->started(ucp_tag_msg_recv_nbx(b().worker(), buffer, size, m, &p), b().worker());
        return o;
    }

    ucp_tag_recv_info_t m_info;
};

TEST_P(test_tag_probe, miss)
{
    char byte = 1;

    EXPECT_EQ(nullptr, probe(1, false));
    EXPECT_EQ(nullptr, probe(1, true));
    EXPECT_EQ(nullptr, probe(0, true, 0));

    op_ptr s = send(ab(), &byte, 1, 0x101);
    wait_probe(0x101, false);
    EXPECT_EQ(nullptr, probe(0x100, false));
    EXPECT_EQ(nullptr, probe(0x100, true));
    EXPECT_EQ(nullptr, probe(0x002, true, 0xff));
    op_ptr r = recv(b().worker(), &byte, 1, 0x101);
    wait(*r);
    wait(*s);
    EXPECT_EQ(nullptr, probe(0x101, false));
}

/* What a posted receive takes is never seen by a probe. */
TEST_P(test_tag_probe, does_not_see_expected_messages)
{
    for (size_t size : ALL_SIZES) {
        std::string out = pattern(size, 1), in(size, '\0');
        op_ptr r        = recv(b().worker(), &in[0], size, 1);
        op_ptr s        = send(ab(), out.data(), size, 1);
        wait([&] {
            EXPECT_EQ(nullptr, probe(0, false, 0));
            return r->done();
        });
        wait(*s);
    }
}

TEST_P(test_tag_probe, without_removal_any_number_of_times)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1), in(size, '\0');
        op_ptr s        = send(ab(), out.data(), size, 1);
        wait_probe(1, false);
        for (int i = 0; i < 10; ++i) {
            EXPECT_NE(nullptr, probe(1, false));
            EXPECT_EQ(size, m_info.length);
            EXPECT_EQ(1u, m_info.sender_tag);
            progress();
        }
        op_ptr r = recv(b().worker(), &in[0], size, 1);
        wait(*r);
        wait(*s);
        EXPECT_TRUE(in == out);
        EXPECT_EQ(nullptr, probe(1, false));
    }
}

TEST_P(test_tag_probe, message_by_nbx)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out     = pattern(size, 1), in(size, '\0');
        op_ptr s            = send(ab(), out.data(), size, 0xabc);
        ucp_tag_message_h m = wait_probe(0xab0, true, ~ucp_tag_t(0xf));
        EXPECT_EQ(size, m_info.length);
        EXPECT_EQ(0xabcu, m_info.sender_tag);
        op_ptr r = msg_recv(m, &in[0], size);
        wait(*r);
        wait(*s);
        EXPECT_EQ(UCS_OK, r->status());
        EXPECT_EQ(1, r->calls());
        EXPECT_EQ(size, r->info().length);
        EXPECT_EQ(0xabcu, r->info().sender_tag);
        EXPECT_TRUE(in == out);
    }
}

namespace {

int g_calls;
ucs_status_t g_status;
ucp_tag_recv_info_t g_info;

void on_msg(void *, ucs_status_t status, ucp_tag_recv_info_t *info)
{
    ++g_calls;
    g_status = status;
    g_info   = *info;
}

} // namespace

TEST_P(test_tag_probe, message_by_nb)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out     = pattern(size, 1), in(size, '\0');
        op_ptr s            = send(ab(), out.data(), size, 5);
        ucp_tag_message_h m = wait_probe(5, true);
        g_calls             = 0;
        void *request       = ucp_tag_msg_recv_nb(b().worker(), &in[0], size,
                                                  ucp_dt_make_contig(1), m, on_msg);
        ASSERT_TRUE(UCS_PTR_IS_PTR(request));
        wait([&] { return g_calls > 0; });
        EXPECT_EQ(1, g_calls);
        EXPECT_EQ(UCS_OK, g_status);
        EXPECT_EQ(size, g_info.length);
        EXPECT_EQ(5u, g_info.sender_tag);
        EXPECT_EQ(UCS_OK, ucp_request_check_status(request));
        EXPECT_TRUE(in == out);
        ucp_request_free(request);
        wait(*s);
    }
}

TEST_P(test_tag_probe, truncated_message)
{
    for (size_t size : ALL_SIZES) {
        if (size == 0) {
            continue;
        }
        SCOPED_TRACE(size);
        std::string out = pattern(size, 1);
        guarded_buffer in(size - 1);
        op_ptr s            = send(ab(), out.data(), size, 5);
        ucp_tag_message_h m = wait_probe(5, true);
        op_ptr r            = msg_recv(m, in.data(), in.size());
        wait(*r);
        wait(*s);
        EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status());
        EXPECT_EQ(size, r->info().length);
        EXPECT_EQ(UCS_OK, s->status());
        in.expect_guard_intact();
    }
}

TEST_P(test_tag_probe, oldest_first_under_a_mask)
{
    const size_t sizes[]   = {8, 65536, 0, 1048576, 9216, 41};
    const ucp_tag_t tags[] = {0x11, 0x22, 0x12, 0x21, 0x22, 0x11};
    std::vector<std::string> out;
    std::vector<op_ptr> sends;

    for (int i = 0; i < 6; ++i) {
        out.push_back(pattern(sizes[i], i));
    }
    for (int i = 0; i < 6; ++i) {
        sends.push_back(send(ab(), out[i].data(), sizes[i], tags[i]));
    }
    calm_down();

    struct {
        ucp_tag_t tag, mask;
        int expected;
    } const steps[] = {{0x20, 0xf0, 1}, {0x02, 0x0f, 2}, {0x22, TAG_FULL, 4},
                       {0, 0, 0},       {0, 0, 3},       {0, 0, 5}};
    std::vector<std::pair<int, ucp_tag_message_h>> messages;
    for (const auto &step : steps) {
        SCOPED_TRACE(step.expected);
        ucp_tag_message_h m = wait_probe(step.tag, true, step.mask);
        EXPECT_EQ(tags[step.expected], m_info.sender_tag);
        EXPECT_EQ(sizes[step.expected], m_info.length);
        messages.emplace_back(step.expected, m);
    }
    EXPECT_EQ(nullptr, probe(0, true, 0));

    /* They may be received in any order. */
    for (auto it = messages.rbegin(); it != messages.rend(); ++it) {
        std::string in(sizes[it->first], '\0');
        op_ptr r = msg_recv(it->second, &in[0], in.size());
        wait(*r);
        EXPECT_TRUE(in == out[it->first]);
    }
    wait_all(sends);
}

/* Between removal and msg_recv the message is nobody else's. */
TEST_P(test_tag_probe, removed_message_is_not_matched)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out[2]  = {pattern(size, 1), pattern(size, 2)};
        std::string in[3]   = {std::string(size, 0), std::string(size, 0),
                               std::string(size, 0)};
        op_ptr s0           = send(ab(), out[0].data(), size, 7);
        ucp_tag_message_h m = wait_probe(7, true);
        EXPECT_EQ(nullptr, probe(7, false));
        EXPECT_EQ(nullptr, probe(0, true, 0));

        op_ptr exact = recv(b().worker(), &in[1][0], size, 7);
        op_ptr any   = recv(b().worker(), &in[2][0], size, 0, 0);
        calm_down();
        EXPECT_FALSE(exact->done());
        EXPECT_FALSE(any->done());

        op_ptr s1 = send(ab(), out[1].data(), size, 7);
        wait(*exact);
        EXPECT_TRUE(in[1] == out[1]);
        EXPECT_FALSE(any->done());

        op_ptr r = msg_recv(m, &in[0][0], size);
        wait(*r);
        EXPECT_TRUE(in[0] == out[0]);
        wait(*s0);
        wait(*s1);
        any->cancel();
        EXPECT_EQ(UCS_ERR_CANCELED, any->status());
    }
}

/* A synchronous send waits for msg_recv; the removal alone is no match for it. */
TEST_P(test_tag_probe, removal_does_not_complete_sync_send)
{
    for (size_t size : {size_t(8), size_t(9216), size_t(1048576)}) {
        SCOPED_TRACE(size);
        std::string out     = pattern(size, 1), in(size, '\0');
        op_ptr s            = send_sync(ab(), out.data(), size, 7);
        ucp_tag_message_h m = wait_probe(7, true);
        calm_down();
        EXPECT_FALSE(s->done());
        op_ptr r = msg_recv(m, &in[0], size);
        wait(*r);
        wait(*s);
        EXPECT_TRUE(in == out);
    }
}

TEST_P(test_tag_probe, own_worker)
{
    make_loopback();
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out     = pattern(size, 1), in(size, '\0');
        op_ptr s            = send(ab(), out.data(), size, 5);
        ucp_tag_message_h m = wait_probe(5, true);
        EXPECT_EQ(size, m_info.length);
        op_ptr r = msg_recv(m, &in[0], size);
        wait(*r);
        wait(*s);
        EXPECT_TRUE(in == out);
    }
}

INSTANTIATE_TRANSPORTS(test_tag_probe);
