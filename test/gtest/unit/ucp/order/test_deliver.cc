/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/in/am_in.c, deliver.c and recv_start.c: matching of each kind of message, and what
 * becomes of descriptors. The tests run src/ucp/in/sequence_in.c and src/ucp/proto/msg_ops.c, too.
 */

#include "deliver_test.h"

namespace {

class test_deliver : public deliver_test {};

struct kind {
    const char *name;
    ri_wire_type_t type;
    size_t length;
    arrival_t arrival;
};

const kind KINDS[] = {
        {"EAGER", RI_WIRE_EAGER, 100, PLAIN},
        {"EAGER in a descriptor", RI_WIRE_EAGER, 3000, DATA},
        {"EAGER_SYNC", RI_WIRE_EAGER_SYNC, 100, PLAIN},
        {"EAGER_SYNC in a descriptor", RI_WIRE_EAGER_SYNC, 3000, DATA},
        {"BULK", RI_WIRE_BULK, 20000, PLAIN},
        {"BULK in a descriptor", RI_WIRE_BULK, 20000, DATA},
        {"BULK by rendezvous", RI_WIRE_BULK, 100000, RNDV},
        {"EAGER, empty", RI_WIRE_EAGER, 0, PLAIN},
        {"BULK by rendezvous, empty", RI_WIRE_BULK, 0, RNDV},
};

void PrintTo(const kind &k, std::ostream *out)
{
    *out << k.name;
}

class test_deliver_kind : public test_deliver,
                          public ::testing::WithParamInterface<kind> {
protected:
    ucs_status_t send(uint32_t sn, uint64_t tag)
    {
        const kind &k = GetParam();
        uint32_t id   = (k.type == RI_WIRE_EAGER_SYNC) ? 1000 + sn : 0;

        return m_node->deliver(message(k.type, sn, tag, id), pattern(sn, k.length),
                               k.arrival);
    }

    void check_sync_acks(size_t expected)
    {
        EXPECT_EQ((GetParam().type == RI_WIRE_EAGER_SYNC) ? expected : 0,
                  m_ep->count(RI_WIRE_SYNC_ACK));
    }

    bool held() const { return GetParam().arrival != RNDV; }
};

INSTANTIATE_TEST_SUITE_P(kinds, test_deliver_kind, ::testing::ValuesIn(KINDS),
                         [](const ::testing::TestParamInfo<kind> &info) {
                             std::string name;
                             for (char c : std::string(info.param.name)) {
                                 name += isalnum(c) ? std::string(1, c) :
                                         (c == '_') ? "" :
                                                      "_";
                             }
                             return name;
                         });

TEST_P(test_deliver_kind, expected)
{
    recv_ptr op = m_node->recv(5, ~0ul, GetParam().length + 10);

    send(1, 5);
    check_received(op, 1, 5, GetParam().length);
    check_sync_acks(1);
    EXPECT_EQ(1u, m_node->counters().streams.rx_posted);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
    EXPECT_EQ(2u, stream()->next_sn);
}

TEST_P(test_deliver_kind, unexpected)
{
    send(1, 5);
    check_sync_acks(0);
    EXPECT_EQ(1u, m_node->counters().streams.rx_unexpected);
    EXPECT_EQ(held() ? GetParam().length : 0, m_node->counters().held_bytes);
    EXPECT_EQ(1u, stream()->num_msgs);

    recv_ptr op = m_node->recv(5, ~0ul, GetParam().length);
    check_received(op, 1, 5, GetParam().length);
    check_sync_acks(1);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
    EXPECT_EQ(0u, stream()->num_msgs);
}

TEST_P(test_deliver_kind, unexpected_never_received)
{
    send(1, 5);
    EXPECT_EQ(1u, worker()->match.num_unexpected); /* and freed at the end */
}

TEST_P(test_deliver_kind, unexpected_probed)
{
    ucp_tag_recv_info_t info;

    send(1, 5);
    EXPECT_EQ(nullptr, ri_tag_recv_probe(worker(), 6, ~0ul, 1, &info));
    ri_msg_t *msg = ri_tag_recv_probe(worker(), 5, ~0ul, 0, &info);
    ASSERT_NE(nullptr, msg);
    EXPECT_EQ(5u, info.sender_tag);
    EXPECT_EQ(GetParam().length, info.length);
    EXPECT_EQ(msg, ri_tag_recv_probe(worker(), 5, ~0ul, 1, &info));
    EXPECT_EQ(nullptr, ri_tag_recv_probe(worker(), 5, ~0ul, 1, &info));
    check_sync_acks(0);

    recv_ptr op = m_node->msg_recv(msg, GetParam().length);
    check_received(op, 1, 5, GetParam().length);
    check_sync_acks(1);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
}

TEST_P(test_deliver_kind, early_then_in_order)
{
    recv_ptr second = m_node->recv(6, ~0ul, GetParam().length);

    send(2, 6);
    EXPECT_FALSE(second->done);
    check_sync_acks(0);
    EXPECT_EQ(1u, m_node->counters().streams.rx_reordered);
    EXPECT_EQ(held() ? GetParam().length : 0, m_node->counters().held_bytes);
    EXPECT_EQ(1u, stream()->num_early);

    eager(1, 5);
    check_received(second, 2, 6, GetParam().length);
    check_sync_acks(1);
    EXPECT_EQ(0u, stream()->num_early);
    check_received(m_node->recv(5, ~0ul, 8), 1, 5, 8);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
    EXPECT_EQ(0u, stream()->num_msgs);
}

TEST_P(test_deliver_kind, early_then_unexpected)
{
    send(2, 5);
    eager(1, 5);
    check_received(m_node->recv(5, ~0ul, 20000), 1, 5, 8);
    check_sync_acks(0);
    check_received(m_node->recv(5, ~0ul, GetParam().length), 2, 5, GetParam().length);
    check_sync_acks(1);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
}

TEST_P(test_deliver_kind, early_never_in_order)
{
    send(2, 5);
    EXPECT_EQ(1u, stream()->num_early); /* and freed at the end */
}

TEST_P(test_deliver_kind, past)
{
    eager(1, 5);
    eager(2, 5);
    uint64_t bytes_before = m_node->counters().streams.rx_bytes;
    for (uint32_t sn : {2u, 1u, 0u, ~0u, 0x80000003u}) {
        EXPECT_EQ(UCS_OK, send(sn, 5)) << sn;
    }
    EXPECT_EQ(5u, m_node->counters().rx_malformed);
    EXPECT_EQ(bytes_before, m_node->counters().streams.rx_bytes);
    EXPECT_EQ(2u, worker()->match.num_unexpected);
    EXPECT_FALSE(stream()->broken); /* a repeated message harms nobody */
    check_sync_acks(0);
    eager(3, 5);
    EXPECT_EQ(3u, worker()->match.num_unexpected);
}

TEST_P(test_deliver_kind, repeated_early)
{
    for (uint32_t sn : {3u, 5u, 2u, 4u}) {
        send(sn, sn);
    }
    for (uint32_t sn : {2u, 3u, 4u, 5u}) {
        EXPECT_EQ(UCS_OK, send(sn, 99)) << sn;
    }
    EXPECT_EQ(4u, m_node->counters().rx_malformed);
    EXPECT_EQ(4u, stream()->num_early);
    eager(1, 1);
    for (uint32_t sn = 2; sn <= 5; ++sn) {
        check_received(m_node->recv(sn, ~0ul, GetParam().length), sn, sn,
                       GetParam().length);
    }
    check_sync_acks(4);
}

TEST_P(test_deliver_kind, beyond_the_window)
{
    ri_config.reorder_window = 10;
    for (uint32_t i = 0; i < 10; ++i) {
        send(2 + i * 1000, 5); /* however far ahead */
    }
    EXPECT_FALSE(stream()->broken);
    EXPECT_EQ(10u, stream()->num_early);
    EXPECT_EQ(UCS_OK, send(12, 5));
    EXPECT_TRUE(stream()->broken);
    EXPECT_EQ(1u, m_node->counters().rx_malformed);

    /* All that follows is dropped, and descriptors stay with stock */
    EXPECT_EQ(UCS_OK, send(1, 5));
    EXPECT_EQ(UCS_OK, send(2, 5));
    EXPECT_EQ(3u, m_node->counters().rx_malformed);
    EXPECT_EQ(0u, worker()->match.num_unexpected);
    EXPECT_EQ(1u, stream()->next_sn);

    /* What was kept is given back, or its sender would wait for it */
    EXPECT_EQ(0u, stream()->num_early);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
    EXPECT_TRUE(m_ucx->descriptors.empty());

    /* The sender is told, once */
    ASSERT_EQ(1u, m_ep->count(RI_WIRE_RESET));
    ri_wire_msg_t reset = m_ep->take(RI_WIRE_RESET).parse();
    EXPECT_EQ(CONN_ID, reset.id);
    EXPECT_EQ(stream()->remote_serial, reset.value);
}

TEST_P(test_deliver_kind, truncated_expected)
{
    if (GetParam().length == 0) {
        return; /* nothing to truncate */
    }

    recv_ptr op = m_node->recv(5, ~0ul, GetParam().length - 1);
    EXPECT_EQ(UCS_OK, send(1, 5)); /* a descriptor is left to stock */
    ASSERT_TRUE(op->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, op->status);
    EXPECT_EQ(GetParam().length, op->info.length);
    EXPECT_EQ(1u, m_node->counters().recv_truncated);
    EXPECT_EQ(0u, m_ucx->num_fetched);
    check_sync_acks(1);
}

TEST_P(test_deliver_kind, truncated_unexpected)
{
    if (GetParam().length == 0) {
        return; /* nothing to truncate */
    }

    send(1, 5);
    recv_ptr op = m_node->recv(5, ~0ul, GetParam().length - 1);
    ASSERT_TRUE(op->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, op->status);
    EXPECT_EQ(GetParam().length, op->info.length);
    EXPECT_EQ(0u, m_ucx->num_fetched);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
    EXPECT_TRUE(m_ucx->descriptors.empty()); /* the sender completes */
    check_sync_acks(1);
}

TEST_P(test_deliver_kind, truncated_early)
{
    if (GetParam().length == 0) {
        return; /* nothing to truncate */
    }

    recv_ptr op = m_node->recv(6, ~0ul, GetParam().length - 1);
    send(2, 6);
    eager(1, 5);
    ASSERT_TRUE(op->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, op->status);
    EXPECT_TRUE(m_ucx->descriptors.empty());
    EXPECT_EQ(8u, m_node->counters().held_bytes); /* of message 1 */
    check_sync_acks(1);
}

TEST_P(test_deliver_kind, header_at_the_head_of_the_data)
{
    if ((GetParam().arrival == RNDV)) {
        return; /* rendezvous has its header apart */
    }

    for (bool expected : {true, false}) {
        uint32_t sn   = stream()->next_sn;
        bytes all     = message(GetParam().type, sn, 5, sn).header();
        bytes payload = pattern(sn, GetParam().length);
        recv_ptr op   = expected ? m_node->recv(5, ~0ul, GetParam().length) : nullptr;

        all.insert(all.end(), payload.begin(), payload.end());
        /* A descriptor is kept, header and all, unless the message is short */
        bool kept = !expected && (GetParam().arrival == DATA) && (payload.size() > 1024);
        EXPECT_EQ(kept ? UCS_INPROGRESS : UCS_OK,
                  m_node->deliver(bytes(), all, GetParam().arrival));
        EXPECT_EQ(kept ? 1u : 0u, m_ucx->descriptors.size());
        op = expected ? op : m_node->recv(5, ~0ul, GetParam().length);
        check_received(op, sn, 5, GetParam().length);
        EXPECT_TRUE(m_ucx->descriptors.empty());
    }
}

TEST_P(test_deliver_kind, short_with_its_header)
{
    if ((GetParam().arrival == RNDV)) {
        return;
    }

    bytes all     = message(GetParam().type, stream()->next_sn, 5, 1).header();
    bytes payload = pattern(1, 100);

    all.insert(all.end(), payload.begin(), payload.end());
    EXPECT_EQ(UCS_OK, m_node->deliver(bytes(), all, GetParam().arrival));
    check_received(m_node->recv(5, ~0ul, 100), 1, 5, 100);
    EXPECT_EQ(0u, m_ucx->num_released);
}

TEST_P(test_deliver_kind, to_an_unknown_stream)
{
    uint32_t id = stream()->id;

    for (uint32_t bad : {id + 1, id ^ (1u << 20), id ^ (1u << 23), 0xffffffu}) {
        wire_msg msg(GetParam().type, bad, 1);

        EXPECT_EQ(UCS_OK, m_node->deliver(msg, pattern(1, GetParam().length),
                                          GetParam().arrival));
    }
    EXPECT_EQ(4u, m_node->counters().rx_stale);
    EXPECT_EQ(1u, stream()->next_sn);
}

/* RNDV: receives that end later, fail, or end at once */

TEST_F(test_deliver, rndv_fetch_ends_later)
{
    m_ucx->fetch_mode = LATER;
    recv_ptr expected = m_node->recv(1, ~0ul, 50000);
    m_node->deliver(message(RI_WIRE_BULK, 1, 1), pattern(1, 50000), RNDV);
    m_node->deliver(message(RI_WIRE_BULK, 2, 2), pattern(2, 50000), RNDV);
    recv_ptr unexpected = m_node->recv(2, ~0ul, 50000);
    recv_ptr early      = m_node->recv(4, ~0ul, 50000);
    m_node->deliver(message(RI_WIRE_BULK, 4, 4), pattern(4, 50000), RNDV);
    eager(3, 3);

    EXPECT_FALSE(expected->done);
    EXPECT_FALSE(unexpected->done);
    EXPECT_FALSE(early->done);
    m_node->cancel(expected); /* too late: it is matched */
    EXPECT_FALSE(expected->done);

    EXPECT_TRUE(m_ucx->complete_nth(1));
    check_received(unexpected, 2, 2, 50000);
    EXPECT_FALSE(expected->done);
    m_ucx->complete();
    check_received(expected, 1, 1, 50000);
    check_received(early, 4, 4, 50000);
}

/* Stock loses a descriptor that is fetched into no memory: there is nothing to fetch. */
TEST_F(test_deliver, rndv_of_nothing)
{
    recv_ptr expected = m_node->recv(1, ~0ul, 0);
    m_node->deliver(message(RI_WIRE_BULK, 1, 1), bytes(), RNDV);
    m_node->deliver(message(RI_WIRE_BULK, 2, 2), bytes(), RNDV);
    recv_ptr unexpected = m_node->recv(2, ~0ul, 0);

    check_received(expected, 1, 1, 0);
    check_received(unexpected, 2, 2, 0);
    EXPECT_EQ(0u, m_ucx->num_fetched);
    EXPECT_EQ(1u, m_ucx->num_released);
}

/* It has been kept, but its own callback has not returned yet. */
TEST_F(test_deliver, rndv_truncated_in_a_callback_of_an_early_message)
{
    recv_ptr inner;
    recv_ptr outer = m_node->recv(2, ~0ul, 8,
                                  [&]() { inner = m_node->recv(1, ~0ul, 10); });

    eager(2, 2);
    EXPECT_EQ(UCS_OK,
              m_node->deliver(message(RI_WIRE_BULK, 1, 1), pattern(1, 50000), RNDV));
    check_received(outer, 2, 2, 8);
    ASSERT_NE(nullptr, inner);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, inner->status);
    EXPECT_EQ(0u, m_ucx->num_released);
}

/* Its descriptor cannot be given back before its own callback has returned: it is copied. */
TEST_F(test_deliver, data_received_in_a_callback_of_an_early_message)
{
    for (uint32_t sn : {1u, 4u}) {
        recv_ptr inner;
        recv_ptr outer = m_node->recv(2, ~0ul, 8,
                                      [&]() { inner = m_node->recv(1, ~0ul, 3000); });

        eager(sn + 1, 2);
        EXPECT_EQ(UCS_OK, eager(sn, 1, 3000, DATA));
        check_received(outer, sn + 1, 2, 8);
        ASSERT_NE(nullptr, inner);
        check_received(inner, sn, 1, 3000);
        eager(sn + 2, 3); /* by itself it may be kept */
    }
    EXPECT_EQ(0u, m_ucx->num_released);
    EXPECT_EQ(UCS_INPROGRESS, eager(7, 1, 3000, DATA));
}

TEST_F(test_deliver, rndv_fetch_fails)
{
    m_ucx->fetch_mode = FAILS;
    recv_ptr op       = m_node->recv(1, ~0ul, 50000);
    m_node->deliver(message(RI_WIRE_BULK, 1, 1), pattern(1, 50000), RNDV);
    ASSERT_TRUE(op->done);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, op->status);

    m_ucx->fetch_mode = LATER;
    op                = m_node->recv(1, ~0ul, 50000);
    m_node->deliver(message(RI_WIRE_BULK, 2, 1), pattern(2, 50000), RNDV);
    m_ucx->complete(UCS_ERR_CONNECTION_RESET);
    ASSERT_TRUE(op->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
}

TEST_F(test_deliver, rndv_is_for_bulk_only)
{
    for (ri_wire_type_t type : {RI_WIRE_EAGER, RI_WIRE_EAGER_SAME, RI_WIRE_EAGER_SYNC}) {
        EXPECT_EQ(UCS_OK, m_node->deliver(message(type, 1, 1), pattern(1, 100), RNDV));
    }
    EXPECT_EQ(3u, m_node->counters().rx_malformed);
    EXPECT_EQ(1u, stream()->next_sn);
}

} // namespace
