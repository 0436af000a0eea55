/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/link/bounce.c and src/ucp/core/memory.c: receives into memory that is not the host's, and
 * sends from it. The library must leave it alone: a device_memory crashes who touches it. The tests
 * run src/ucp/in/sequence_in.c and src/ucp/order/recv_start.c, too.
 */

#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

class test_bounce : public ri_test {
protected:
    static constexpr uint64_t LOCAL   = 0x1111;
    static constexpr uint64_t REMOTE  = 0x2222;
    static constexpr uint32_t CONN_ID = 77; /* of the sender's conn */

    void SetUp() override
    {
        ri_test::SetUp();
        m_ucx->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
        m_node = std::make_unique<node>(LOCAL);
    }

    void TearDown() override
    {
        m_node.reset();
        ri_test::TearDown();
    }

    ri_worker_t *worker() { return m_node->worker(); }

    ri_stream_t *stream()
    {
        ri_wire_hello_t hello =
                wire_msg(RI_WIRE_EAGER, 0, 0).hello(REMOTE, CONN_ID).greeting;

        return ri_stream_get(worker(), &hello);
    }

    /* The next message of the stream */
    void arrive(uint64_t tag, size_t length, ri_wire_type_t type = RI_WIRE_EAGER,
                arrival_t arrival = PLAIN)
    {
        uint32_t sn = stream()->next_sn;
        wire_msg msg(type, stream()->id, sn);

        msg.tag = tag;
        m_node->deliver(msg, pattern(sn, length), arrival);
    }

    /* @a memory holds message @a sn. */
    void check(const recv_ptr &op, device_memory &memory, uint32_t sn, uint64_t tag,
               size_t length)
    {
        ASSERT_TRUE(op->done);
        EXPECT_EQ(UCS_OK, op->status);
        EXPECT_EQ(tag, op->info.sender_tag);
        EXPECT_EQ(length, op->info.length);
        bytes content = memory.read();
        EXPECT_EQ(pattern(sn, length), bytes(content.begin(), content.begin() + length));
        EXPECT_EQ(bytes(content.size() - length),
                  bytes(content.begin() + length, content.end()));
    }

    std::unique_ptr<node> m_node;
};

struct kind {
    const char *name;
    ri_wire_type_t type;
    size_t length;
    arrival_t arrival;
};

class test_bounce_kind : public test_bounce, public ::testing::WithParamInterface<kind> {
protected:
    void arrive(uint64_t tag)
    {
        test_bounce::arrive(tag, GetParam().length, GetParam().type, GetParam().arrival);
    }

    /* Transfers to the own worker for one message */
    unsigned transfers() const
    {
        return (GetParam().arrival != RNDV) && (GetParam().length > 0);
    }

    void set_mode(ending_t mode) { m_ucx->tag_mode = m_ucx->fetch_mode = mode; }
};

const kind KINDS[] = {
        {"eager_short", RI_WIRE_EAGER, 8, PLAIN},
        {"eager", RI_WIRE_EAGER, 5000, PLAIN},
        {"eager_empty", RI_WIRE_EAGER, 0, PLAIN},
        {"eager_descriptor", RI_WIRE_EAGER, 3000, DATA},
        {"sync", RI_WIRE_EAGER_SYNC, 100, PLAIN},
        {"bulk", RI_WIRE_BULK, 20000, PLAIN},
        {"bulk_descriptor", RI_WIRE_BULK, 20000, DATA},
        {"bulk_rndv", RI_WIRE_BULK, 100000, RNDV},
};

void PrintTo(const kind &k, std::ostream *out)
{
    *out << k.name;
}

INSTANTIATE_TEST_SUITE_P(kinds, test_bounce_kind, ::testing::ValuesIn(KINDS),
                         [](const ::testing::TestParamInfo<kind> &info) {
                             return std::string(info.param.name);
                         });

TEST_P(test_bounce_kind, expected)
{
    device_memory memory(GetParam().length + 100);
    recv_ptr op = m_node->recv_into(memory.data(), memory.length(), 5);

    arrive(5);
    check(op, memory, 1, 5, GetParam().length);
    EXPECT_EQ(transfers(), m_node->counters().recv_bounced);
    EXPECT_EQ(transfers(), m_ucx->num_tag_send);
    EXPECT_EQ(UCS_MEMORY_TYPE_CUDA,
              (GetParam().length > 0) ? m_ucx->told_type : UCS_MEMORY_TYPE_CUDA);
}

TEST_P(test_bounce_kind, unexpected)
{
    device_memory memory(GetParam().length);

    arrive(5);
    check(m_node->recv_into(memory.data(), memory.length(), 5), memory, 1, 5,
          GetParam().length);
    EXPECT_EQ(transfers(), m_ucx->num_tag_recv);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
    EXPECT_TRUE(m_ucx->descriptors.empty());
}

TEST_P(test_bounce_kind, ends_later)
{
    device_memory memory(GetParam().length), unexpected_memory(GetParam().length);
    recv_ptr op = m_node->recv_into(memory.data(), memory.length(), 5);

    set_mode(LATER);
    arrive(5);
    EXPECT_EQ(GetParam().length == 0, op->done);
    if (!op->done) {
        m_node->cancel(op); /* too late: it is matched */
        EXPECT_FALSE(op->done);
    }

    arrive(6);
    recv_ptr unexpected = m_node->recv_into(unexpected_memory.data(),
                                            unexpected_memory.length(), 6);
    EXPECT_EQ(GetParam().length == 0, unexpected->done);
    EXPECT_EQ(0u, m_node->counters().held_bytes);

    m_ucx->complete();
    check(op, memory, 1, 5, GetParam().length);
    check(unexpected, unexpected_memory, 2, 6, GetParam().length);
}

TEST_P(test_bounce_kind, truncated)
{
    if (GetParam().length == 0) {
        return; /* nothing to truncate */
    }

    device_memory memory(GetParam().length - 1);
    recv_ptr expected = m_node->recv_into(memory.data(), memory.length(), 5);
    arrive(5);
    arrive(6);
    recv_ptr unexpected = m_node->recv_into(memory.data(), memory.length(), 6);

    for (const recv_ptr &op : {expected, unexpected}) {
        ASSERT_TRUE(op->done);
        EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, op->status);
        EXPECT_EQ(GetParam().length, op->info.length);
    }
    EXPECT_EQ(0u, m_ucx->num_tag_send);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
    EXPECT_EQ(bytes(memory.length()), memory.read());
}

/* A short record of a ring, and messages that were early */
TEST_F(test_bounce, ring_and_early)
{
    device_memory first(100), second(100);
    recv_ptr op1 = m_node->recv_into(first.data(), 100, 1);
    recv_ptr op2 = m_node->recv_into(second.data(), 100, 2);
    bytes data   = pattern(1, 60);
    wire_msg msg(RI_WIRE_EAGER, stream()->id, 2);

    msg.tag = 2;
    m_node->deliver(msg, pattern(2, 100));
    EXPECT_FALSE(op2->done);
    if (!ri_deliver_fast(stream(), RI_WIRE_EAGER, 1, 1, data.data(), data.size())) {
        ri_deliver_plain(stream(), RI_WIRE_EAGER, 1, 1, data.data(), data.size());
    }
    check(op1, first, 1, 1, 60);
    check(op2, second, 2, 2, 100);

    device_memory third(100);
    recv_ptr op3    = m_node->recv_into(third.data(), 100, 3);
    data            = pattern(3, 100);
    m_ucx->tag_mode = LATER;
    if (!ri_deliver_fast(stream(), RI_WIRE_EAGER, 3, 3, data.data(), data.size())) {
        ri_deliver_plain(stream(), RI_WIRE_EAGER, 3, 3, data.data(), data.size());
    }
    EXPECT_FALSE(op3->done);
    data = bytes(100); /* what was in the ring is overwritten */
    m_ucx->complete();
    check(op3, third, 3, 3, 100);
}

/* One endpoint serves all; none is made for nothing, and no tag is used twice. */
TEST_F(test_bounce, endpoint)
{
    device_memory memory(100);
    recv_ptr host = m_node->recv(5, ~0ul, 100);

    arrive(5, 100);
    EXPECT_TRUE(host->done);
    EXPECT_EQ(0u, m_ucx->num_eps);
    EXPECT_EQ(0u, m_ucx->num_tag_send);

    uint64_t tag = 0;
    for (unsigned i = 0; i < 3; ++i) {
        recv_ptr op = m_node->recv_into(memory.data(), 100, 5);
        EXPECT_NE(tag, worker()->bounce.tag);
        tag = worker()->bounce.tag;
        arrive(5, 100);
        check(op, memory, 2 + i, 5, 100);
    }
    EXPECT_EQ(1u, m_ucx->num_eps);
}

TEST_F(test_bounce, order_of_two_ends)
{
    for (size_t which : {0, 1}) { /* the receive first, or the send */
        device_memory memory(100);
        recv_ptr op     = m_node->recv_into(memory.data(), 100, 5);
        m_ucx->tag_mode = LATER;
        uint32_t sn     = stream()->next_sn;
        arrive(5, 100);
        ASSERT_EQ(2u, m_ucx->num_pending());
        m_ucx->complete_nth(which);
        EXPECT_FALSE(op->done);
        m_ucx->complete();
        check(op, memory, sn, 5, 100);
    }
}

TEST_F(test_bounce, fails)
{
    device_memory memory(100);
    const std::function<void()> ways[] = {
            [&] { m_ucx->post_mode = FAILS; },
            [&] { m_ucx->tag_mode = FAILS; },
    };

    for (const auto &way : ways) {
        for (bool expected : {true, false}) {
            recv_ptr op = expected ? m_node->recv_into(memory.data(), 100, 5) : nullptr;
            m_ucx->post_mode = m_ucx->tag_mode = AT_ONCE;
            way();
            arrive(5, 100);
            op = expected ? op : m_node->recv_into(memory.data(), 100, 5);
            ASSERT_TRUE(op->done);
            EXPECT_TRUE((op->status == UCS_ERR_NO_MEMORY) ||
                        (op->status == UCS_ERR_NO_RESOURCE))
                    << op->status;
            EXPECT_TRUE(m_ucx->requests.empty());
        }
    }
    EXPECT_EQ(bytes(100), memory.read());
}

TEST_F(test_bounce, fails_later)
{
    for (size_t which : {0, 1}) { /* the receive, or the send */
        device_memory memory(100);
        recv_ptr op     = m_node->recv_into(memory.data(), 100, 5);
        m_ucx->tag_mode = LATER;
        arrive(5, 100);
        m_ucx->complete_nth(which, UCS_ERR_CONNECTION_RESET);
        EXPECT_EQ(which == 1, op->done); /* the send still reads our copy */
        m_ucx->complete();
        ASSERT_TRUE(op->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
        EXPECT_TRUE(ucs_list_is_empty(&worker()->bounce.list));
    }
}

TEST_F(test_bounce, cancel)
{
    device_memory memory(100);
    recv_ptr op = m_node->recv_into(memory.data(), 100, 5);

    m_node->cancel(op);
    ASSERT_TRUE(op->done);
    EXPECT_EQ(UCS_ERR_CANCELED, op->status);
    EXPECT_EQ(0u, m_ucx->num_tag_recv);
}

/* The call cannot promise to end at once; the message stays. */
TEST_F(test_bounce, force_imm_cmpl)
{
    ucp_request_param_t param = {};
    device_memory memory(100);

    param.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    arrive(5, 100);
    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE),
              ri_tag_recv(worker(), memory.data(), 100, 5, ~0ul, &param));
    EXPECT_EQ(0u, worker()->reqs.in_use);
    check(m_node->recv_into(memory.data(), 100, 5), memory, 1, 5, 100);
}

TEST_F(test_bounce, iov)
{
    device_memory first(60), second(60);
    ucp_dt_iov_t iov[]        = {{first.data(), 60}, {second.data(), 60}};
    ucp_request_param_t extra = {};

    extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    extra.datatype     = ucp_dt_make_iov();
    recv_ptr op        = m_node->recv_into(iov, 2, 5, extra);
    arrive(5, 100);
    ASSERT_TRUE(op->done);
    EXPECT_EQ(UCS_OK, op->status);
    EXPECT_EQ(UCS_MEMORY_TYPE_CUDA, m_ucx->told_type);
    bytes all = first.read(), rest = second.read();
    all.insert(all.end(), rest.begin(), rest.begin() + 40);
    EXPECT_EQ(pattern(1, 100), all);
}

/* What the application says goes before what UCS knows; what neither knows, stock finds
 * out. */
TEST_F(test_bounce, memory_type)
{
    ucp_request_param_t extra = {};
    bytes host(100);

    extra.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    extra.memory_type  = UCS_MEMORY_TYPE_ROCM;
    recv_ptr op        = m_node->recv_into(host.data(), 100, 5, extra);
    arrive(5, 100);
    EXPECT_EQ(UCS_MEMORY_TYPE_ROCM, m_ucx->told_type);
    EXPECT_EQ(pattern(1, 100), host);
    EXPECT_EQ(1u, m_ucx->num_tag_send);

    for (ucs_memory_type_t type : {UCS_MEMORY_TYPE_UNKNOWN, UCS_MEMORY_TYPE_HOST}) {
        extra.memory_type = type;
        op                = m_node->recv_into(host.data(), 100, 5, extra);
        arrive(5, 100);
        EXPECT_TRUE(op->done);
    }
    EXPECT_EQ(1u, m_ucx->num_tag_send);

    device_memory unknown(100, UCS_MEMORY_TYPE_UNKNOWN);
    op = m_node->recv_into(unknown.data(), 100, 5);
    arrive(5, 100);
    check(op, unknown, 4, 5, 100);
    EXPECT_EQ(UCS_MEMORY_TYPE_UNKNOWN, m_ucx->told_type);

    ri_stock.ucs_memtype_cache_lookup = [](const void *, size_t, ucs_memory_info_t *) {
        return UCS_ERR_UNSUPPORTED; /* the cache is off */
    };
    op = m_node->recv_into(unknown.data(), 100, 5);
    arrive(5, 100);
    check(op, unknown, 5, 5, 100);
    EXPECT_EQ(UCS_MEMORY_TYPE_UNKNOWN, m_ucx->told_type);
}

/* A generic type's callbacks know what they write to. */
struct generic {
    bytes content;
    unsigned finished = 0;
};

TEST_F(test_bounce, generic)
{
    const ucp_datatype_t type      = 0x20000 | UCP_DATATYPE_GENERIC;
    const ucp_generic_dt_ops_t ops = {
            nullptr,
            [](void *, void *buffer, size_t) { return buffer; },
            [](void *) { return size_t(100); },
            nullptr,
            [](void *state, size_t, const void *src, size_t length) {
                const uint8_t *at = static_cast<const uint8_t *>(src);
                static_cast<struct generic *>(state)->content.assign(at, at + length);
                return UCS_OK;
            },
            [](void *state) { ++static_cast<struct generic *>(state)->finished; }};
    ucp_request_param_t extra = {};
    struct generic buffer;

    ASSERT_EQ(UCS_OK, ri_dt_register(type, &ops, nullptr));
    extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    extra.datatype     = type;
    extra.memory_type  = UCS_MEMORY_TYPE_CUDA;
    recv_ptr op        = m_node->recv_into(&buffer, 1, 5, extra);
    arrive(5, 100);
    EXPECT_TRUE(op->done);
    EXPECT_EQ(pattern(1, 100), buffer.content);
    EXPECT_EQ(1u, buffer.finished);
    EXPECT_EQ(0u, m_ucx->num_tag_send);
    ri_dt_unregister(type);
}

/* Sends are given to stock whole, also those to the own worker. */
TEST_F(test_bounce, sends)
{
    for (uint64_t uid : {REMOTE, LOCAL}) {
        endpoint *ep    = m_node->new_endpoint(nullptr);
        ri_conn_t *conn = m_node->connect(ep, uid);
        device_memory memory(100);

        EXPECT_FALSE(conn->flags & RI_CONN_SELF);
        memory.write(pattern(9, 100));
        EXPECT_TRUE(m_node->send_from(conn, memory, 5)->done);
        EXPECT_EQ(UCS_MEMORY_TYPE_CUDA, m_ucx->told_type);
        packet p = ep->take(RI_WIRE_BULK);
        EXPECT_EQ(pattern(9, 100), p.data);
    }
}

/* UCP looks up where the list is, not what is in it. */
TEST_F(test_bounce, sends_iov)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect(ep, REMOTE);
    device_memory first(60), second(60);
    ucp_dt_iov_t iov[]        = {{first.data(), 60}, {second.data(), 60}};
    ucp_request_param_t param = {};

    param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype     = ucp_dt_make_iov();
    EXPECT_EQ(nullptr, ri_tag_send(conn, iov, 2, 5, &param, 0));
    EXPECT_EQ(UCS_MEMORY_TYPE_CUDA, m_ucx->told_type);
    EXPECT_EQ(120u, ep->take(RI_WIRE_BULK).data.size());
}

/* From the device to the device, by the own worker */
TEST_F(test_bounce, to_the_own_worker)
{
    endpoint *ep    = m_node->new_endpoint(m_node.get());
    ri_conn_t *conn = m_node->connect(ep, LOCAL);

    for (bool sync : {false, true}) {
        for (size_t length : {8, 9000, 100000}) {
            device_memory from(length), to(length);

            from.write(pattern(length, length));
            recv_ptr recv = m_node->recv_into(to.data(), length, 5);
            send_ptr send = m_node->send_from(conn, from, 5, sync);
            packet p      = ep->take(RI_WIRE_BULK);
            m_node->deliver(p.header, p.data, p.rndv ? RNDV : PLAIN, ep, p.req);
            m_ucx->complete();
            EXPECT_TRUE(send->done);
            check(recv, to, length, 5, length);
        }
    }
}

} // namespace
