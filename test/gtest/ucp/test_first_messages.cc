/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The first messages of a connection over shared memory arrive although their sender, after it
 * has started them, calls nothing of UCP: it may compute. Whether the receiver has an endpoint to
 * the sender makes no difference. A message must not wait behind what UCX or the library exchange
 * to know each other, as that takes the sender's progress.
 */

#include "ucp_test.h"

using namespace ucp_test;

namespace {

class test_first_messages : public transport_test {
protected:
    void TearDown() override
    {
        m_sends.clear(); /* before their worker */
        transport_test::TearDown();
    }

    /* A sender, and a receiver that may have an endpoint to it. */
    void connect(bool both)
    {
        m_sender   = &create();
        m_receiver = &create();
        m_ep       = m_sender->connect(*m_receiver);
        if (both) {
            m_receiver->connect(*m_sender);
        }
    }

    void start(const std::string &data, ucp_tag_t tag)
    {
        op_ptr o(new op);
        ucp_request_param_t p = o->send_param(UCP_OP_ATTR_FIELD_MEMORY_TYPE);

        p.memory_type =
                UCS_MEMORY_TYPE_HOST; /* also where memory_kinds.c says otherwise */
        o->started(ucp_tag_send_nbx(m_ep, data.data(), data.size(), tag, &p));
        m_sends.push_back(std::move(o));
    }

    /* One message; the receiver alone makes progress. */
    void pass(size_t size, ucp_tag_t tag)
    {
        SCOPED_TRACE("message " + std::to_string(tag) + " of " + std::to_string(size));
        m_out.push_back(pattern(size, tag));
        guarded_buffer in(size);
        op_ptr r = recv(m_receiver->worker(), in.data(), size, tag);

        start(m_out.back(), tag);
        EXPECT_TRUE(poll_until([&] { return r->done(); },
                               [&] { return m_receiver->progress(); },
                               deadline_sec() / 4))
                << "it waits for its sender";
        wait(*r);
        EXPECT_EQ(UCS_OK, r->status());
        expect_pattern(in.data(), size, tag);
        in.expect_guard_intact();
    }

    void pass_all(const std::vector<size_t> &sizes)
    {
        ucp_tag_t tag = 0;

        m_out.reserve(sizes.size()); /* sends that wait read it */
        for (size_t size : sizes) {
            pass(size, ++tag);
            if (HasFailure()) {
                break;
            }
        }
        wait_all(m_sends);
    }

    entity *m_sender   = nullptr;
    entity *m_receiver = nullptr;
    ucp_ep_h m_ep      = nullptr;
    std::vector<std::string> m_out;
    std::vector<op_ptr> m_sends;
};

/* As MPICH 4.2 does in MPI_Init, and the program's first message after that. */
TEST_P(test_first_messages, short_ones)
{
    connect(true);
    pass_all({4, 64, 8});
}

TEST_P(test_first_messages, short_ones_one_way)
{
    connect(false);
    pass_all({4, 64, 8});
}

TEST_P(test_first_messages, longer_ones)
{
    connect(true);
    pass_all({1000, 8, 500, 8, 1000});
}

TEST_P(test_first_messages, longer_ones_one_way)
{
    connect(false);
    pass_all({1000, 8, 500, 8, 1000});
}

/* Its pieces are nearly all that UCX's shared memory takes at once. */
TEST_P(test_first_messages, a_page)
{
    connect(true);
    pass_all({4096, 8});
}

/* More than the library lets pass before it asks who the receiver is. */
TEST_P(test_first_messages, many)
{
    connect(true);
    pass_all(std::vector<size_t>(40, 200));
}

TEST_P(test_first_messages, many_one_way)
{
    connect(false);
    pass_all(std::vector<size_t>(40, 200));
}

INSTANTIATE_TEST_SUITE_P(ucp, test_first_messages, ::testing::Values(SHM),
                         transport_name);

} // namespace
