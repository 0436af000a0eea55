/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/dt/dt.c */

#include "unit/fakes/fake_ucx.h"

#include <unistd.h>

using namespace fake;

namespace {

/* A generic type of the application: every second byte of the buffer. */
struct state {
    uint8_t *buffer;
    size_t count;
};

unsigned g_started, g_finished;
size_t g_piece; /* bytes that pack gives at once, 0: all */
size_t g_size;  /* of an element */
ucs_status_t g_unpack_status;

void *start(void *context, const void *buffer, size_t count)
{
    ++g_started;
    EXPECT_EQ((void *)&g_piece, context);
    return new state{(uint8_t *)buffer, count};
}

void *start_unpack(void *context, void *buffer, size_t count)
{
    return start(context, buffer, count);
}

size_t packed_size(void *s)
{
    return static_cast<state *>(s)->count * g_size;
}

size_t pack(void *s, size_t offset, void *dest, size_t max_length)
{
    size_t length = (g_piece == 0) ? max_length : std::min(g_piece, max_length);

    for (size_t i = 0; i < length; ++i) {
        ((uint8_t *)dest)[i] = static_cast<state *>(s)->buffer[2 * (offset + i)];
    }
    return length;
}

ucs_status_t unpack(void *s, size_t offset, const void *src, size_t length)
{
    for (size_t i = 0; i < length; ++i) {
        static_cast<state *>(s)->buffer[2 * (offset + i)] = ((const uint8_t *)src)[i];
    }
    return g_unpack_status;
}

void finish(void *s)
{
    ++g_finished;
    delete static_cast<state *>(s);
}

const ucp_generic_dt_ops_t OPS = {start, start_unpack, packed_size, pack, unpack, finish};

class test_dt : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        g_started = g_finished = 0;
        g_piece                = 0;
        g_size                 = 1;
        g_unpack_status        = UCS_OK;
        ASSERT_EQ(UCS_OK, ri_dt_register(GENERIC, &OPS, &g_piece));
    }

    void TearDown() override
    {
        EXPECT_EQ(g_started, g_finished);
        ri_dt_unregister(GENERIC);
        ri_dt_unregister(GENERIC); /* unknown now: does nothing */
        ri_test::TearDown();
    }

    void end_to_end();

    static const ucp_datatype_t GENERIC = 0x10000 | UCP_DATATYPE_GENERIC;

    ri_dt_data_t m_data;
};

const ucp_datatype_t test_dt::GENERIC;

TEST_F(test_dt, contig)
{
    bytes from = pattern(1, 120), to(120);

    ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, ucp_dt_make_contig(8), from.data(), 15));
    EXPECT_EQ(120u, m_data.length);
    EXPECT_TRUE(ri_dt_is_contig(&m_data));
    ri_dt_pack(&m_data, to.data());
    EXPECT_EQ(from, to);

    bytes back(120);
    ASSERT_EQ(UCS_OK, ri_dt_recv_init(&m_data, ucp_dt_make_contig(1), back.data(), 120));
    EXPECT_EQ(UCS_OK, ri_dt_unpack(&m_data, from.data(), 50));
    EXPECT_EQ(bytes(from.begin(), from.begin() + 50),
              bytes(back.begin(), back.begin() + 50));
    EXPECT_EQ(bytes(70), bytes(back.begin() + 50, back.end()));
    ri_dt_finish(&m_data);
}

TEST_F(test_dt, nothing)
{
    ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, ucp_dt_make_contig(1), nullptr, 0));
    ri_dt_pack(&m_data, nullptr);
    EXPECT_EQ(UCS_OK, ri_dt_unpack(&m_data, nullptr, 0));
    ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, ucp_dt_make_iov(), nullptr, 0));
    EXPECT_EQ(0u, m_data.length);
    ri_dt_pack(&m_data, nullptr);
    EXPECT_EQ(UCS_OK, ri_dt_unpack(&m_data, nullptr, 0));
}

TEST_F(test_dt, iov)
{
    for_seeds(300, [this](rng &random) {
        std::vector<bytes> pieces(random.range(1, 8));
        std::vector<ucp_dt_iov_t> iov;
        bytes whole;

        for (bytes &piece : pieces) {
            piece = pattern(random.next(), random.percent(30) ? 0 : random.below(100));
            whole.insert(whole.end(), piece.begin(), piece.end());
            iov.push_back({piece.empty() ? nullptr : piece.data(), piece.size()});
        }
        ASSERT_EQ(UCS_OK,
                  ri_dt_send_init(&m_data, ucp_dt_make_iov(), iov.data(), iov.size()));
        ASSERT_EQ(whole.size(), m_data.length);
        EXPECT_FALSE(ri_dt_is_contig(&m_data));
        bytes packed(whole.size());
        packed.reserve(1); /* there is memory, of no bytes too */
        ri_dt_pack(&m_data, packed.data());
        ASSERT_EQ(whole, packed);

        size_t length = random.below(whole.size() + 1);
        bytes sent    = pattern(random.next(), length);
        ASSERT_EQ(UCS_OK,
                  ri_dt_recv_init(&m_data, ucp_dt_make_iov(), iov.data(), iov.size()));
        ASSERT_EQ(UCS_OK, ri_dt_unpack(&m_data, sent.data(), length));
        std::copy(sent.begin(), sent.end(), whole.begin());
        bytes now;
        for (bytes &piece : pieces) {
            now.insert(now.end(), piece.begin(), piece.end());
        }
        ASSERT_EQ(whole, now); /* nothing beyond what came */
    });
}

TEST_F(test_dt, generic)
{
    bytes from = pattern(1, 200), packed(100), to(200);

    for (size_t piece : {0, 1, 7, 100}) {
        g_piece = piece;
        ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, GENERIC, from.data(), 100));
        EXPECT_EQ(100u, m_data.length);
        EXPECT_FALSE(ri_dt_is_contig(&m_data));
        ri_dt_pack(&m_data, packed.data());
        ri_dt_finish(&m_data);
        ri_dt_finish(&m_data); /* once is enough */
        for (size_t i = 0; i < 100; ++i) {
            ASSERT_EQ(from[2 * i], packed[i]);
        }
    }

    ASSERT_EQ(UCS_OK, ri_dt_recv_init(&m_data, GENERIC, to.data(), 100));
    EXPECT_EQ(UCS_OK, ri_dt_unpack(&m_data, packed.data(), 60));
    ri_dt_finish(&m_data);
    for (size_t i = 0; i < 100; ++i) {
        EXPECT_EQ((i < 60) ? packed[i] : 0, to[2 * i]);
        EXPECT_EQ(0, to[2 * i + 1]);
    }
}

TEST_F(test_dt, generic_that_fails)
{
    bytes to(20);

    g_unpack_status = UCS_ERR_NO_MEMORY;
    ASSERT_EQ(UCS_OK, ri_dt_recv_init(&m_data, GENERIC, to.data(), 10));
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ri_dt_unpack(&m_data, to.data(), 5));
    EXPECT_EQ(UCS_OK, ri_dt_unpack(&m_data, nullptr, 0)); /* is not asked */
    ri_dt_finish(&m_data);
}

/* The same bytes as the callbacks', which must not be asked for them then. */
static ri_layout_t *layout_of_state(uint64_t count)
{
    ri_layout_builder_t builder;

    ri_layout_begin(&builder);
    return ri_layout_end(&builder, ri_layout_repeat(&builder, ri_layout_run(1), count, 2),
                         2 * count);
}

TEST_F(test_dt, generic_with_layout)
{
    bytes from = pattern(1, 200), packed(100), to(200);
    ri_segment_t runs[10];
    size_t length = 100;

    ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, GENERIC, from.data(), 100));
    EXPECT_FALSE(m_data.has_layout);
    EXPECT_EQ(0u, ri_dt_run_mean(&m_data));
    EXPECT_TRUE(ri_dt_takes_parts(&m_data)); /* no MPICH here */
    ri_dt_finish(&m_data);

    g_unpack_status = UCS_ERR_NO_MEMORY; /* if it were called */
    g_piece         = 7;
    ri_dt_set_layout(GENERIC, layout_of_state(1));
    ri_dt_set_layout(GENERIC, layout_of_state(3)); /* it has one */
    ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, GENERIC, from.data(), 100));
    EXPECT_TRUE(m_data.has_layout);
    EXPECT_EQ(1u, ri_dt_run_mean(&m_data));
    ri_dt_pack(&m_data, packed.data());
    EXPECT_EQ(10u, ri_dt_runs(&m_data, 3, &length, runs, 10));
    EXPECT_EQ(10u, length);
    EXPECT_EQ((uintptr_t)&from[6], runs[0].address);
    ri_dt_finish(&m_data);

    ASSERT_EQ(UCS_OK, ri_dt_recv_init(&m_data, GENERIC, to.data(), 100));
    EXPECT_EQ(UCS_OK, ri_dt_unpack_part(&m_data, 50, packed.data() + 50, 50));
    EXPECT_EQ(UCS_OK, ri_dt_unpack(&m_data, packed.data(), 50));
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED,
              ri_dt_unpack_part(&m_data, 51, packed.data(), 50));
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED,
              ri_dt_unpack_part(&m_data, 101, packed.data(), 0));
    for (size_t i = 0; i < 100; ++i) {
        EXPECT_EQ(from[2 * i], to[2 * i]);
        EXPECT_EQ(0, to[2 * i + 1]);
    }
    ri_dt_unregister(GENERIC); /* the operation goes on with the layout */
    EXPECT_EQ(UCS_OK, ri_dt_unpack_part(&m_data, 0, packed.data(), 100));
    ri_dt_finish(&m_data);
    ri_dt_set_layout(GENERIC, layout_of_state(1)); /* unknown now: is given back */
}

/* Loops of @a count runs. */
static ri_layout_t *layout_of_runs(uint64_t count, uint64_t run)
{
    ri_layout_builder_t builder;

    ri_layout_begin(&builder);
    return ri_layout_end(&builder,
                         ri_layout_repeat(&builder, ri_layout_run(run), count, 2 * run),
                         2 * run * count);
}

/* A network moves few long runs from where they are; within a host they are no list. */
TEST_F(test_dt, few_long_runs)
{
    const struct {
        uint64_t runs, run, elements;
        bool fits;
    } cases[] = {{1, 4096, 1, true},    {16, 4096, 1, true}, {17, 4096, 1, false},
                 {16, 4095, 1, false},  {4, 4096, 4, true},  {4, 4096, 5, false},
                 {1, 1 << 20, 16, true}};
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    bytes buffer(33 << 20);

    for (const auto &c : cases) {
        ri_dt_unregister(GENERIC);
        ASSERT_EQ(UCS_OK, ri_dt_register(GENERIC, &OPS, &g_piece));
        ri_dt_set_layout(GENERIC, layout_of_runs(c.runs, c.run));
        g_size = c.runs * c.run;
        ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, GENERIC, buffer.data(), c.elements));
        ASSERT_TRUE(m_data.has_layout);
        EXPECT_EQ(c.fits, ri_dt_fits_net(&m_data)) << c.runs << " of " << c.run;
        EXPECT_FALSE(ri_dt_fits(&m_data));
        if (c.fits) {
            EXPECT_EQ(c.runs * c.elements,
                      ri_dt_segments(&m_data, segments, RI_WIRE_SEGMENTS_MAX));
            EXPECT_EQ((uintptr_t)buffer.data(), segments[0].address);
            EXPECT_EQ(c.run, segments[0].length);
        }
        ri_dt_finish(&m_data);
    }
    /* No element, of a type whose elements adjoin and of one whose elements do not */
    for (uint64_t extent : {8192, 8193}) {
        ri_layout_builder_t builder;

        ri_dt_unregister(GENERIC);
        ASSERT_EQ(UCS_OK, ri_dt_register(GENERIC, &OPS, &g_piece));
        ri_layout_begin(&builder);
        ri_dt_set_layout(GENERIC, ri_layout_end(&builder, ri_layout_run(8192), extent));
        g_size = 8192;
        ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, GENERIC, buffer.data(), 0));
        EXPECT_FALSE(ri_dt_fits_net(&m_data));
        EXPECT_EQ(0u, ri_dt_segments(&m_data, segments, RI_WIRE_SEGMENTS_MAX));
        ri_dt_finish(&m_data);
    }
    ri_dt_unregister(GENERIC);
    ASSERT_EQ(UCS_OK, ri_dt_register(GENERIC, &OPS, &g_piece));
    ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, GENERIC, buffer.data(), 100));
    EXPECT_FALSE(ri_dt_fits_net(&m_data)); /* nothing is known of it */
    ri_dt_finish(&m_data);
}

/* A layout whose size is not what the type says is not used. */
TEST_F(test_dt, layout_of_other_size)
{
    bytes buffer(100);

    ri_dt_set_layout(GENERIC, layout_of_state(2));
    ASSERT_EQ(UCS_OK, ri_dt_send_init(&m_data, GENERIC, buffer.data(), 50));
    EXPECT_FALSE(m_data.has_layout);
    ri_dt_finish(&m_data);
}

TEST_F(test_dt, unknown)
{
    bytes buffer(10);

    for (ucp_datatype_t datatype :
         {(ucp_datatype_t)(0x20000 | UCP_DATATYPE_GENERIC),
          (ucp_datatype_t)UCP_DATATYPE_STRIDED, (ucp_datatype_t)6}) {
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  ri_dt_send_init(&m_data, datatype, buffer.data(), 1));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  ri_dt_recv_init(&m_data, datatype, buffer.data(), 1));
    }
}

static ucs_status_t no_dt_create_generic(const ucp_generic_dt_ops_t *ops, void *context,
                                         ucp_datatype_t *datatype)
{
    return UCS_ERR_NO_MEMORY;
}

/* The data of a message cannot be fetched, expected or not: its descriptor goes back to
 * stock, and not inside the callback that brought it. */
static int rndv_without_carrier(ucp_datatype_t generic)
{
    node n(0x1111);
    wire_msg first(RI_WIRE_BULK, 0, 1), second(RI_WIRE_BULK, 0, 2);
    ucp_request_param_t param = {};
    bytes to(2000);
    ucs_status_ptr_t recv;

    first.hello(0x2222, 7).tag  = 1;
    second.hello(0x2222, 7).tag = 2;
    ri_stock.dt_create_generic  = no_dt_create_generic;
    param.op_attr_mask          = UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype              = generic;
    recv = ri_tag_recv(n.worker(), to.data(), 1000, 1, ~0ul, &param);
    EXPECT_EQ(UCS_OK, n.deliver(first, bytes(1000), RNDV)); /* stock releases it */
    EXPECT_TRUE(ri_req_flags(ri_req_of_handle(recv)) & RI_REQ_COMPLETED);
    EXPECT_EQ(UCS_ERR_NO_MEMORY, ri_req_of_handle(recv)->status);
    ri_req_put(ri_req_of_handle(recv));
    EXPECT_EQ(0u, ucx::get()->num_released);

    EXPECT_EQ(UCS_INPROGRESS, n.deliver(second, bytes(1000), RNDV));
    recv = ri_tag_recv(n.worker(), to.data(), 1000, 2, ~0ul, &param);
    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_MEMORY), recv);
    EXPECT_EQ(1u, ucx::get()->num_released);
    EXPECT_EQ(0u, ucx::get()->num_fetched);
    EXPECT_TRUE(ucx::get()->descriptors.empty());
    return ::testing::Test::HasFailure();
}

TEST_F(test_dt, generic_without_carrier)
{
    /* In a process of its own: the carrier is made once in each. */
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(_exit(rndv_without_carrier(GENERIC)), ::testing::ExitedWithCode(0), "");
}

/* Through the whole library, in both directions of every protocol: one pair of start and
 * finish per operation, also where stock moves the data. */
TEST_F(test_dt, generic_end_to_end)
{
    end_to_end();
}

/* The same, with copies by the library; also where stock moves the data. */
TEST_F(test_dt, layout_end_to_end)
{
    g_unpack_status = UCS_ERR_NO_MEMORY; /* if it were called */
    ri_dt_set_layout(GENERIC, layout_of_state(1));
    end_to_end();
}

void test_dt::end_to_end()
{
    for (bool later : {false, true}) {
        for (size_t count : {5, 2000, 100000}) {
            node receiver(0x1111), sender(0x2222);
            endpoint *ep              = sender.new_endpoint(&receiver);
            ri_conn_t *conn           = sender.connect(ep, 0x1111);
            bytes from                = pattern(count, 2 * count), to(2 * count);
            ucp_request_param_t param = {};
            ucs_status_ptr_t recv, send;

            param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
            param.datatype     = GENERIC;
            m_ucx->fetch_mode  = later ? LATER : AT_ONCE;
            m_ucx->send_mode   = later ? LATER : AT_ONCE;
            recv = ri_tag_recv(receiver.worker(), to.data(), count, 1, ~0ul, &param);
            send = ri_tag_send(conn, from.data(), count, 1, &param, 0);
            while (!ep->sent.empty()) {
                packet p = ep->sent.front();

                ep->sent.pop_front();
                if (p.type() != RI_WIRE_CONN_REQ) {
                    receiver.deliver(p.header, p.data, p.rndv ? RNDV : PLAIN, nullptr,
                                     p.req);
                }
            }
            m_ucx->complete();
            for (size_t i = 0; i < 2 * count; ++i) {
                ASSERT_EQ((i % 2) ? 0 : from[i], to[i]) << count << " " << i;
            }
            ASSERT_TRUE(UCS_PTR_IS_PTR(recv));
            EXPECT_TRUE(ri_req_flags(ri_req_of_handle(recv)) & RI_REQ_COMPLETED);
            ri_req_put(ri_req_of_handle(recv));
            if (UCS_PTR_IS_PTR(send)) {
                EXPECT_TRUE(ri_req_flags(ri_req_of_handle(send)) & RI_REQ_COMPLETED);
                ri_req_put(ri_req_of_handle(send));
            }
            EXPECT_EQ(g_started, g_finished);
        }
    }
    EXPECT_EQ(2u * 2 * 3, g_started);
}

} // namespace
