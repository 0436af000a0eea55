/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * FIELD_RECV_INFO: where a receive that completes at once says what it got. UCX fills it from 1.16
 * on; before, it is left as it was, and so it is by a receive that does not complete at once.
 */

#include "ucp_test.h"

using namespace ucp_test;

class test_recv_info : public transport_test {
protected:
    static constexpr ucp_tag_t TAG = 0x1234567800000009;

    void SetUp() override
    {
        make_pair();
        warm_up();
    }

    ucp_request_param_t param(op &o)
    {
        ucp_request_param_t p = o.recv_param(UCP_OP_ATTR_FIELD_RECV_INFO);

        p.op_attr_mask &= ~uint32_t(UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
        m_info.sender_tag    = UNTOUCHED;
        m_info.length        = size_t(UNTOUCHED);
        p.recv_info.tag_info = &m_info;
        return p;
    }

    /* What the field has to say of a receive, and whether it was complete at once. */
    bool expect(const op &o, size_t length)
    {
        const bool at_once = (o.handle() == nullptr);

        if (at_once && ucx_at_least(1, 16)) {
            EXPECT_EQ(TAG, m_info.sender_tag);
            EXPECT_EQ(length, m_info.length);
        } else {
            EXPECT_EQ(UNTOUCHED, m_info.sender_tag);
            EXPECT_EQ(size_t(UNTOUCHED), m_info.length);
        }
        return at_once;
    }

    static constexpr ucp_tag_t UNTOUCHED = 0xa5a5a5a5a5a5a5a5;
    ucp_tag_recv_info_t m_info           = {};
};

TEST_P(test_recv_info, message_is_there)
{
    for (size_t size : ALL_SIZES) {
        for (ucp_tag_t mask : {TAG_FULL, ucp_tag_t(0xff)}) {
            SCOPED_TRACE(size);
            std::string out = pattern(size, 1), in(size, '\0');
            op_ptr s        = send(ab(), out.data(), size, TAG);
            op r;

            wait_unexpected(b(), TAG, mask);
            const ucp_request_param_t p = param(r);
            r.started(ucp_tag_recv_nbx(b().worker(), &in[0], size, TAG & mask, mask, &p),
                      b().worker());
            wait(r);
            wait(*s);
            EXPECT_EQ(UCS_OK, r.status());
            EXPECT_TRUE(in == out);
            /* what fits one fragment has come whole */
            EXPECT_TRUE(expect(r, size) || (size > 1024));
        }
    }
}

TEST_P(test_recv_info, message_is_too_long)
{
    for (size_t size : ALL_SIZES) {
        if (size < 2) {
            continue;
        }
        SCOPED_TRACE(size);
        std::string out = pattern(size, 2), in(size / 2, '\0');
        op_ptr s        = send(ab(), out.data(), size, TAG);
        op r;

        wait_unexpected(b(), TAG);
        const ucp_request_param_t p = param(r);
        r.started(ucp_tag_recv_nbx(b().worker(), &in[0], in.size(), TAG, TAG_FULL, &p),
                  b().worker());
        wait(r);
        wait(*s);
        EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r.status());
        /* stock leaves the field alone then, the library fills it */
        if (m_info.sender_tag != UNTOUCHED) {
            expect(r, size);
        }
    }
}

TEST_P(test_recv_info, message_that_was_removed)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 3), in(size, '\0');
        op_ptr s        = send(ab(), out.data(), size, TAG);
        ucp_tag_recv_info_t info;
        ucp_tag_message_h message = nullptr;
        op r;

        wait([&] {
            message = ucp_tag_probe_nb(b().worker(), TAG, TAG_FULL, 1, &info);
            return message != nullptr;
        });
        const ucp_request_param_t p = param(r);
        r.started(ucp_tag_msg_recv_nbx(b().worker(), &in[0], size, message, &p),
                  b().worker());
        wait(r);
        wait(*s);
        EXPECT_EQ(UCS_OK, r.status());
        EXPECT_TRUE(in == out);
        EXPECT_TRUE(expect(r, size) || (size > 1024));
    }
}

TEST_P(test_recv_info, receive_is_first)
{
    for (size_t size : ALL_SIZES) {
        SCOPED_TRACE(size);
        std::string out = pattern(size, 4), in(size, '\0');
        op r;

        const ucp_request_param_t p = param(r);
        r.started(ucp_tag_recv_nbx(b().worker(), &in[0], size, TAG, TAG_FULL, &p),
                  b().worker());
        op_ptr s = send(ab(), out.data(), size, TAG);
        wait(r);
        wait(*s);
        EXPECT_EQ(UCS_OK, r.status());
        EXPECT_TRUE(in == out);
        EXPECT_FALSE(expect(r, size));
        /* its callback says it */
        EXPECT_EQ(TAG, r.info().sender_tag);
        EXPECT_EQ(size, r.info().length);
    }
}

INSTANTIATE_TRANSPORTS(test_recv_info);
