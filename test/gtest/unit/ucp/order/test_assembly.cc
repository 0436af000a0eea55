/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/order/assembly.c: messages that come through a ring in parts. The test plays the sender:
 * it writes the records itself, one at a time. What ends between the parts, and hostile senders,
 * are in test_assembly_ends.cc. The tests run src/ucp/in/ring_in.c, too.
 */

#include "assembly_test.h"

namespace {

/* A generic type of the application: every second byte of the buffer. */
struct sparse {
    uint8_t *buffer;
    size_t count;
};

int g_live; /* states */

void *sparse_start(void *context, const void *buffer, size_t count)
{
    ++g_live;
    return new sparse{(uint8_t *)buffer, count};
}

void *sparse_start_unpack(void *context, void *buffer, size_t count)
{
    return sparse_start(context, buffer, count);
}

size_t sparse_size(void *state)
{
    return static_cast<sparse *>(state)->count;
}

size_t sparse_pack(void *state, size_t offset, void *dest, size_t max_length)
{
    return 0;
}

ucs_status_t sparse_unpack(void *state, size_t offset, const void *src, size_t length)
{
    for (size_t i = 0; i < length; ++i) {
        static_cast<sparse *>(state)->buffer[2 * (offset + i)] =
                static_cast<const uint8_t *>(src)[i];
    }
    return UCS_OK;
}

void sparse_finish(void *state)
{
    --g_live;
    delete static_cast<sparse *>(state);
}

const ucp_generic_dt_ops_t SPARSE_OPS = {sparse_start,  sparse_start_unpack,
                                         sparse_size,   sparse_pack,
                                         sparse_unpack, sparse_finish};
const ucp_datatype_t SPARSE           = 0x10000 | UCP_DATATYPE_GENERIC;

class test_assembly : public assembly_test {};

const when_t WHENS[] = {BEFORE, BETWEEN, AFTER};

TEST_F(test_assembly, matched_at_the_first_part)
{
    recv_ptr op = m_node->recv(5, ~0ul, 3100);

    first(1, 5, 3000, 2000);
    EXPECT_FALSE(op->done);
    EXPECT_EQ(slice(pattern(1, 3000), 0, 2000), slice(op->buffer, 0, 2000));
    EXPECT_EQ(bytes(1100), slice(op->buffer, 2000, 1100));
    EXPECT_EQ(2u, stream()->next_sn);
    EXPECT_EQ(0u, counters().held_bytes);
    EXPECT_EQ(1u, counters().streams.rx_posted);

    next(1, 3000, 2000, 999);
    EXPECT_FALSE(op->done);
    m_node->progress();
    EXPECT_FALSE(op->done);
    next(1, 3000, 2999, 1);
    check_received(op, 1, 5, 3000);
    EXPECT_EQ(bytes(100), slice(op->buffer, 3000, 100));
    EXPECT_EQ(1u, counters().streams.rx_posted);
    EXPECT_EQ(1u, counters().streams.rx_ring);
    EXPECT_EQ(3000u, counters().streams.rx_bytes);
    EXPECT_EQ(0u, counters().held_bytes_max);
}

TEST_F(test_assembly, posted_between_the_parts)
{
    first(1, 5, 3000, 2000);
    EXPECT_EQ(3000u, counters().held_bytes);
    recv_ptr op = m_node->recv(5, ~0ul, 3000);
    EXPECT_FALSE(op->done);
    EXPECT_EQ(1u, stream()->next_sn);
    next(1, 3000, 2000, 1000);
    check_received(op, 1, 5, 3000);
    EXPECT_EQ(0u, counters().held_bytes);
    EXPECT_EQ(1u, counters().streams.rx_posted);
    EXPECT_EQ(0u, counters().streams.rx_unexpected);
    EXPECT_EQ(3000u, counters().streams.rx_bytes);
}

TEST_F(test_assembly, unexpected)
{
    ucp_tag_recv_info_t info;

    first(1, 5, 3000, 2000);
    EXPECT_EQ(nullptr, ri_tag_recv_probe(worker(), 5, ~0ul, 0, &info));
    EXPECT_EQ(0u, worker()->match.num_unexpected);
    EXPECT_EQ(0u, stream()->num_msgs);
    next(1, 3000, 2000, 1000);
    ASSERT_NE(nullptr, ri_tag_recv_probe(worker(), 5, ~0ul, 0, &info));
    EXPECT_EQ(5u, info.sender_tag);
    EXPECT_EQ(3000u, info.length);
    EXPECT_EQ(3000u, counters().held_bytes);
    EXPECT_EQ(3000u, counters().held_bytes_max);
    EXPECT_EQ(1u, counters().streams.rx_unexpected);
    check_received(m_node->recv(5, ~0ul, 3000), 1, 5, 3000);
    EXPECT_EQ(0u, counters().held_bytes);
    EXPECT_EQ(0u, stream()->num_msgs);
}

TEST_F(test_assembly, truncated)
{
    for (when_t when : WHENS) {
        uint32_t sn = stream()->next_sn;
        recv_ptr op;

        for (when_t now : WHENS) {
            if (now == BETWEEN) {
                first(sn, 5, 3000, 2000);
            } else if (now == AFTER) {
                next(sn, 3000, 2000, 1000);
            }
            if (now == when) {
                op = m_node->recv(5, ~0ul, 2999);
                EXPECT_EQ((when == AFTER), op->done);
            }
        }
        ASSERT_TRUE(op->done);
        EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, op->status);
        EXPECT_EQ(3000u, op->info.length);
        EXPECT_EQ(5u, op->info.sender_tag);
        EXPECT_EQ(bytes(2999), op->buffer) << "its memory stays as it was";
        EXPECT_EQ(0u, counters().held_bytes);
    }
    EXPECT_EQ(3u, counters().recv_truncated);
    EXPECT_FALSE(stream()->broken);
}

TEST_F(test_assembly, iov)
{
    for (when_t when : WHENS) {
        uint32_t sn               = stream()->next_sn;
        bytes buffer              = bytes(3100);
        ucp_dt_iov_t iov[3]       = {{&buffer[0], 7}, {nullptr, 0}, {&buffer[107], 2993}};
        ucp_request_param_t param = {};
        ucs_status_ptr_t ret      = nullptr;

        param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        param.datatype     = ucp_dt_make_iov();
        for (when_t now : WHENS) {
            if (now == BETWEEN) {
                first(sn, 5, 3000, 1000);
            } else if (now == AFTER) {
                next(sn, 3000, 1000, 2000);
            }
            if (now == when) {
                ret = ri_tag_recv(worker(), iov, 3, 5, ~0ul, &param);
                ASSERT_TRUE(UCS_PTR_IS_PTR(ret));
            }
        }
        ri_req_t *req = ri_req_of_handle(ret);
        ASSERT_TRUE(ri_req_flags(req) & RI_REQ_COMPLETED);
        EXPECT_EQ(UCS_OK, req->status);
        EXPECT_EQ(slice(pattern(sn, 3000), 0, 7), slice(buffer, 0, 7));
        EXPECT_EQ(bytes(100), slice(buffer, 7, 100));
        EXPECT_EQ(slice(pattern(sn, 3000), 7, 2993), slice(buffer, 107, 2993));
        ri_req_put(req);
        EXPECT_EQ(0u, counters().held_bytes);
    }
}

TEST_F(test_assembly, generic)
{
    g_live = 0;
    ASSERT_EQ(UCS_OK, ri_dt_register(SPARSE, &SPARSE_OPS, nullptr));
    for (bool ends : {true, false}) {
        for (when_t when : WHENS) {
            uint32_t sn               = stream()->next_sn;
            bytes buffer              = bytes(6000);
            ucp_request_param_t param = {};
            ucs_status_ptr_t ret      = nullptr;

            if (!ends && (when != BEFORE)) {
                continue;
            }
            param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
                                 UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
            param.datatype = SPARSE;
            for (when_t now : WHENS) {
                if (now == BETWEEN) {
                    first(sn, 5, 3000, 1000);
                } else if (now == AFTER) {
                    record(ends ? RI_RING_PART : 77, 0, 0, 0,
                           slice(pattern(sn, 3000), 1000, 2000));
                }
                if (now == when) {
                    ret = ri_tag_recv(worker(), buffer.data(), 3000, 5, ~0ul, &param);
                    ASSERT_TRUE(UCS_PTR_IS_PTR(ret));
                }
            }
            ri_req_t *req = ri_req_of_handle(ret);
            ASSERT_TRUE(ri_req_flags(req) & RI_REQ_COMPLETED);
            EXPECT_EQ(ends ? UCS_OK : UCS_ERR_CONNECTION_RESET, req->status);
            EXPECT_EQ(0, g_live);
            for (size_t i = 0; i < 3000; ++i) {
                ASSERT_EQ(ends ? pattern(sn, 3000)[i] : 0, buffer[2 * i]) << i;
            }
            ri_req_put(req);
            EXPECT_EQ(0u, counters().held_bytes);
        }
    }
    ri_dt_unregister(SPARSE);
}

/* Messages of the same stream that take the other way */

TEST_F(test_assembly, active_message_behind_a_matched_one)
{
    recv_ptr one = m_node->recv(5, ~0ul, 3000), two = m_node->recv(5, ~0ul, 3000);

    first(1, 5, 3000, 2000);
    by_am(2, 5);
    check_received(two, 2, 5, 8);
    EXPECT_FALSE(one->done);
    next(1, 3000, 2000, 1000);
    check_received(one, 1, 5, 3000);
}

TEST_F(test_assembly, active_message_behind_an_unmatched_one)
{
    first(1, 5, 3000, 2000);
    by_am(2, 6);
    by_am(3, 5);
    EXPECT_EQ(2u, stream()->num_early);
    recv_ptr one = m_node->recv(5, ~0ul, 3000), two = m_node->recv(6, ~0ul, 3000);
    EXPECT_FALSE(two->done);
    next(1, 3000, 2000, 1000);
    check_received(one, 1, 5, 3000);
    check_received(two, 2, 6, 8);
    check_received(m_node->recv(5, ~0ul, 3000), 3, 5, 8);
    EXPECT_EQ(2u, counters().streams.rx_reordered);
    EXPECT_EQ(0u, counters().held_bytes);
}

TEST_F(test_assembly, early)
{
    recv_ptr one = m_node->recv(5, ~0ul, 3000), two = m_node->recv(5, ~0ul, 3000);

    whole(2, 5, 3000); /* not 1: must not take the first receive */
    EXPECT_EQ(1u, stream()->num_early);
    EXPECT_EQ(3000u, counters().held_bytes);
    by_am(1, 5);
    check_received(one, 1, 5, 8);
    check_received(two, 2, 5, 3000);
    EXPECT_EQ(0u, counters().held_bytes);
}

TEST_F(test_assembly, early_at_first_and_next_at_last)
{
    recv_ptr one = m_node->recv(5, ~0ul, 3000), two = m_node->recv(5, ~0ul, 3000);

    first(2, 5, 3000, 2000);
    by_am(3, 6);
    by_am(1, 5);
    check_received(one, 1, 5, 8);
    EXPECT_FALSE(two->done);
    next(2, 3000, 2000, 1000);
    check_received(two, 2, 5, 3000);
    check_received(m_node->recv(6, ~0ul, 8), 3, 6, 8);
}

/* Not matched at its first part while there are early ones: their turn comes at the end. */
TEST_F(test_assembly, next_with_early_ones)
{
    recv_ptr one = m_node->recv(5, ~0ul, 3000), two = m_node->recv(5, ~0ul, 3000);

    by_am(2, 5);
    first(1, 5, 3000, 2000);
    EXPECT_FALSE(two->done);
    next(1, 3000, 2000, 1000);
    check_received(one, 1, 5, 3000);
    check_received(two, 2, 5, 8);
}

TEST_F(test_assembly, past)
{
    recv_ptr op = m_node->recv(9, ~0ul, 3000);

    by_am(1, 5);
    whole(1, 9, 3000);
    EXPECT_FALSE(op->done);
    EXPECT_EQ(1u, counters().rx_malformed);
    EXPECT_EQ(8u, counters().held_bytes);
    EXPECT_FALSE(stream()->broken);
    whole(2, 9, 3000);
    check_received(op, 2, 9, 3000);
}

TEST_F(test_assembly, same_number_by_active_message)
{
    recv_ptr one = m_node->recv(5, ~0ul, 3000);

    first(1, 5, 3000, 2000);
    by_am(1, 7); /* too late: it is matched */
    EXPECT_EQ(1u, counters().rx_malformed);
    next(1, 3000, 2000, 1000);
    check_received(one, 1, 5, 3000);

    first(2, 5, 3000, 2000);
    recv_ptr two = m_node->recv(7, ~0ul, 3000);
    by_am(2, 7); /* comes first */
    check_received(two, 2, 7, 8);
    next(2, 3000, 2000, 1000);
    EXPECT_EQ(2u, counters().rx_malformed);
    EXPECT_EQ(0u, counters().held_bytes);
    EXPECT_FALSE(stream()->broken);
}

/* The sender dies in the middle: the receive must end, and what came before it stays. */
TEST_F(test_assembly, peer_fails_between)
{
    recv_ptr op = m_node->recv(5, ~0ul, 3000);

    whole(1, 6, 3000);
    first(2, 5, 3000, 2000);
    ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_FALSE(op->done);
    m_node->progress();
    ASSERT_TRUE(op->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
    EXPECT_EQ(0u, worker()->num_rings);
    check_received(m_node->recv(6, ~0ul, 3000), 1, 6, 3000);
}

/* Far ahead of a missing one, a message waits in the ring. */
TEST_F(test_assembly, far_ahead)
{
    const uint32_t sn = 1100;

    whole(sn, 5, 3000);
    EXPECT_EQ(0u, stream()->assembly.length);
    EXPECT_EQ(0u, counters().held_bytes);
    for (uint32_t i = 1; i < sn; ++i) {
        by_am(i, 6);
        m_node->progress();
    }
    check_received(m_node->recv(5, ~0ul, 3000), sn, 5, 3000);
    for (uint32_t i = 1; i < sn; ++i) {
        EXPECT_TRUE(m_node->recv(6, ~0ul, 8)->done);
    }
}

/* What the application does meanwhile */

TEST_F(test_assembly, cancel)
{
    recv_ptr matched = m_node->recv(5, ~0ul, 3000), other = m_node->recv(5, ~0ul, 3000);

    first(1, 5, 3000, 2000);
    m_node->cancel(matched); /* too late */
    m_node->cancel(other);
    EXPECT_FALSE(matched->done);
    EXPECT_EQ(UCS_ERR_CANCELED, other->status);
    next(1, 3000, 2000, 1000);
    check_received(matched, 1, 5, 3000);

    first(2, 5, 3000, 2000);
    recv_ptr between = m_node->recv(5, ~0ul, 3000);
    m_node->cancel(between);
    EXPECT_EQ(UCS_ERR_CANCELED, between->status);
    next(2, 3000, 2000, 1000);
    check_received(m_node->recv(5, ~0ul, 3000), 2, 5, 3000);
}

/* A callback does all that it may, and with more records in the ring. */
TEST_F(test_assembly, callback)
{
    for (when_t when : {BEFORE, BETWEEN}) {
        for (uint64_t tag : {5ul, 6ul}) {
            recv_ptr again, other = m_node->recv(77, ~0ul, 8);
            unsigned called = 0;
            recv_ptr op;
            auto callback = [&]() {
                ++called;
                again = m_node->recv(tag, ~0ul, 3000);
                m_node->cancel(other);
                m_node->send(m_conn, pattern(9, 100), 9);
                by_am(stream()->next_sn + 1, 8);
                m_node->progress();
            };
            auto post   = [&]() { op = m_node->recv(5, ~0ul, 3000, callback); };
            uint32_t sn = stream()->next_sn;

            if (when == BEFORE) {
                post();
            }
            first(sn, 5, 3000, 2000);
            if (when == BETWEEN) {
                post();
            }
            record(RI_RING_PART, 0, 0, 0, slice(pattern(sn, 3000), 2000, 1000), false);
            record(RI_RING_START, sn + 1, tag, 3000,
                   slice(pattern(sn + 1, 3000), 0, 2000), false);
            record(RI_RING_PART, 0, 0, 0, slice(pattern(sn + 1, 3000), 2000, 1000));
            EXPECT_EQ(1u, called);
            check_received(op, sn, 5, 3000);
            check_received(again, sn + 1, tag, 3000);
            EXPECT_EQ(UCS_ERR_CANCELED, other->status);
            check_received(m_node->recv(8, ~0ul, 8), sn + 2, 8, 8);
            EXPECT_EQ(0u, counters().held_bytes);
            m_node->release_done();
            m_ep->sent.clear();
        }
    }
}

TEST_F(test_assembly, callback_closes_the_endpoint)
{
    ucs_status_ptr_t close    = nullptr;
    ucp_request_param_t param = {};
    recv_ptr op               = m_node->recv(5, ~0ul, 3000,
                                             [&]() { close = ri_ep_close(m_conn, &param); });

    first(1, 5, 3000, 2000);
    bye(1);
    next(1, 3000, 2000, 1000);
    check_received(op, 1, 5, 3000);
    EXPECT_TRUE(m_ep->closed);
    EXPECT_EQ(nullptr, close);
    record(RI_WIRE_RING_CLOSE, 0, 0, 0, bytes());
    EXPECT_TRUE(ucs_list_is_empty(&worker()->streams));
}

TEST_F(test_assembly, trace)
{
    auto events = [this]() {
        std::vector<uint64_t> list;

        for (uint64_t i = 0; i < worker()->trace.next; ++i) {
            list.push_back(worker()->trace.entries[i].event);
        }
        worker()->trace.next = 0;
        return list;
    };

    ri_config.trace      = 1;
    ri_config.trace_dest = const_cast<char *>("/dev/null");
    restart();
    events();
    recv_ptr op = m_node->recv(5, ~0ul, 3000);
    whole(1, 5, 3000);
    EXPECT_EQ((std::vector<uint64_t>{RI_TRACE_RECV, RI_TRACE_ARRIVING, RI_TRACE_MATCHED,
                                     RI_TRACE_RECV_DONE}),
              events());
    whole(2, 5, 3000);
    EXPECT_EQ((std::vector<uint64_t>{RI_TRACE_ARRIVING, RI_TRACE_ARRIVE,
                                     RI_TRACE_UNEXPECTED}),
              events());
}

} // namespace
