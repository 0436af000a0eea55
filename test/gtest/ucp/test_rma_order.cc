/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The order of tag messages towards one-sided operations, as MPIs rely on it: what was put before
 * a message on the same endpoint is there when the message is, be it that a flush has ended in
 * between or not; and a get takes what was there before.
 *
 * Both workers are of this process, so that a seed decides which one gets on: UCX 1.13 puts
 * through shared memory by messages, and says that a flush has ended while some of the messages
 * have no room. More is put than there is room for.
 */

#include "counter.h"
#include "ucp_test.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

using namespace ucp_test;

class test_rma_order : public transport_test {
protected:
    static constexpr size_t WINDOW = 2 << 20;
    static constexpr ucp_tag_t TAG = 7;

    void SetUp() override
    {
        entity_params params;

        transport_test::SetUp();
        params.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
        make_pair(params);
        warm_up();
        map_window();
        for (int i = 0; i < 100; ++i) {
            exchange(); /* from now on by the ring, if there is one */
        }
    }

    void TearDown() override
    {
        if (m_rkey != nullptr) {
            ucp_rkey_destroy(m_rkey);
            EXPECT_EQ(UCS_OK, ucp_mem_unmap(b().context(), m_memh));
        }
        transport_test::TearDown();
    }

    void map_window()
    {
        ucp_mem_map_params_t map = {};
        void *packed;
        size_t size;

        m_window.resize(WINDOW);
        map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        map.address    = m_window.data();
        map.length     = WINDOW;
        check_status(ucp_mem_map(b().context(), &map, &m_memh), "map");
        check_status(ucp_rkey_pack(b().context(), m_memh, &packed, &size), "pack");
        check_status(ucp_ep_rkey_unpack(ab(), key_of_ucx(packed), &m_rkey), "unpack");
        ucp_rkey_buffer_release(packed);
    }

    /* UCX's part of a packed key: by that alone the operations are UCX's (protocol.md, section
     * 11). */
    static const void *key_of_ucx(const void *packed)
    {
        static const unsigned char magic[] = {'_', 'X', 'R', 'I', 'K', 'E', 'Y', 0xf4};
        auto bytes                         = static_cast<const unsigned char *>(packed);

        return memcmp(bytes, magic, sizeof(magic)) ? bytes : bytes + bytes[9];
    }

    uint64_t remote(size_t offset = 0)
    {
        return reinterpret_cast<uint64_t>(m_window.data()) + offset;
    }

    /* Whether stock's messages stay behind operations that were not flushed: first protocols. */
    static bool messages_stay_behind()
    {
        const char *second = getenv("UCX_PROTO_ENABLE");

        return second ? !strcmp(second, "n") : !ucx_at_least(1, 16);
    }

    /* A message each way. */
    void exchange()
    {
        char out = 1, in[2];
        std::vector<op_ptr> ops;

        ops.push_back(recv(b().worker(), &in[0], 1, TAG));
        ops.push_back(recv(a().worker(), &in[1], 1, TAG));
        ops.push_back(send_host(ab(), &out));
        ops.push_back(send_host(ba(), &out));
        wait_all(ops);
    }

    /* Messages each way until one goes by the ring, if there is one: the peer was asked whether all
     * before has come, and its answer takes as long as it takes. */
    void exchange_until_ring()
    {
        int64_t before = by_ring();

        if (before <= 0) {
            return;
        }
        for (int i = 0; (i < 10000) && (by_ring() == before); ++i) {
            exchange();
        }
        ASSERT_LT(before, by_ring()) << "messages do not go by the ring again";
    }

    /* Of one byte, by the ring if that is possible now. */
    op_ptr send_host(ucp_ep_h ep, const char *byte)
    {
        op_ptr o(new op);
        ucp_request_param_t param = o->send_param(UCP_OP_ATTR_FIELD_MEMORY_TYPE);

        param.memory_type =
                UCS_MEMORY_TYPE_HOST; /* also where memory_kinds.c says otherwise */
        o->started(ucp_tag_send_nbx(ep, byte, 1, TAG, &param));
        return o;
    }

    int64_t by_ring() { return counter(a().worker(), "tx_eager_ring"); }

    /* How an operation is completed; the library knows the end of those without a handle. */
    enum form_t {
        NBI,
        NBX,
        NB,
        BLOCKING,
        FORMS
    };

    /* Start to put, or put. */
    void put(form_t form, const char *data, size_t length, size_t offset)
    {
        static const ucp_send_callback_t ignore = [](void *, ucs_status_t) {};
        ucp_request_param_t param               = {};
        ucs_status_ptr_t ret                    = nullptr;

        switch (form) {
        case NBX:
            ret = ucp_put_nbx(ab(), data, length, remote(offset), m_rkey, &param);
            break;
        case NB:
            ret = ucp_put_nb(ab(), data, length, remote(offset), m_rkey, ignore);
            break;
        default:
            ASSERT_GE(ucp_put_nbi(ab(), data, length, remote(offset), m_rkey), 0);
        }
        ASSERT_FALSE(UCS_PTR_IS_ERR(ret));
        if (ret != nullptr) {
            m_handles.push_back(ret);
        }
    }

    /* Let one side or the other get on. */
    void step(std::mt19937 &rng, unsigned bias)
    {
        ((rng() % 8 < bias) ? a() : b()).progress();
    }

    ucs_status_ptr_t start_flush(bool worker)
    {
        ucp_request_param_t param = {};

        return worker ? ucp_worker_flush_nbx(a().worker(), &param) :
                        ucp_ep_flush_nbx(ab(), &param);
    }

    /* Blocking flushes: the target has to have got on before. */
    void flush(int how)
    {
        switch (how) {
        case 0:
            wait_handle(start_flush(false));
            break;
        case 1:
            wait_handle(start_flush(true));
            break;
        case 2:
            let_target_get_on();
            EXPECT_EQ(UCS_OK, ucp_ep_flush(ab()));
            break;
        default:
            let_target_get_on();
            EXPECT_EQ(UCS_OK, ucp_worker_flush(a().worker()));
        }
    }

    void let_target_get_on()
    {
        for (int i = 0; i < 1000; ++i) {
            b().progress();
        }
    }

    /* The sender is not called any more: the message is there when the receiver finds it. */
    void receive_and_check(uint64_t seed, size_t length)
    {
        char in  = 0;
        op_ptr r = recv(b().worker(), &in, 1, TAG);

        for (int i = 0; (i < 1000) && !r->done(); ++i) {
            b().progress();
        }
        if (!r->done()) {
            wait(*r, "message"); /* it had no room yet */
        }
        expect_pattern(m_window.data(), length, seed, "what was put before the message");
    }

    void free_handles()
    {
        for (void *handle : m_handles) {
            wait_handle(handle);
        }
        m_handles.clear();
    }

    /* Random puts of @a length bytes in all, a flush or none, a message. */
    void put_flush_send(int seed, bool flushes)
    {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 rng(seed);
        size_t piece     = size_t(8) << (rng() % 17); /* up to 512 KB */
        size_t length    = std::min<size_t>(WINDOW, piece * (1 + rng() % 64));
        std::string data = pattern(length, seed);
        unsigned bias    = 1 + rng() % 7;
        char out         = 1;

        std::fill(m_window.begin(), m_window.end(), 0);
        for (size_t at = 0; at < length; at += piece) {
            form_t form = (seed % 4 == 0) ? form_t(rng() % 3) : NBI;

            put(form, &data[at], std::min(piece, length - at), at);
            if (rng() % 16 == 0) {
                step(rng, bias);
            }
        }
        if (flushes) {
            ucs_status_ptr_t flush = start_flush(rng() % 2);

            ASSERT_FALSE(UCS_PTR_IS_ERR(flush));
            if (flush != nullptr) {
                wait_by(
                        [&] {
                            step(rng, bias);
                            return ucp_request_check_status(flush) != UCS_INPROGRESS;
                        },
                        [] { return 0; });
                ucp_request_free(flush);
            }
        }
        /* The puts may end here, and wait for the target only */
        for (unsigned n = (rng() % 2) * (rng() % 200); n > 0; --n) {
            step(rng, bias);
        }
        op_ptr s = send(ab(), &out, 1, TAG);
        receive_and_check(seed, length);
        wait(*s);
        free_handles();
        wait_handle(start_flush(true));
        exchange_until_ring();
    }

    /* As of the fixture, with other progress. */
    void wait_by(const std::function<bool()> &condition,
                 const std::function<unsigned()> &progress)
    {
        if (!poll_until(condition, progress)) {
            throw failure("not done in time");
        }
    }
    void random(bool flushes)
    {
        const char *only = getenv("UCP_TEST_SEED");
        int first        = only ? atoi(only) : 1;
        int last         = only ? first : 100;

        for (int seed = first; (seed <= last) && !HasFailure(); ++seed) {
            put_flush_send(seed, flushes);
        }
    }

    std::vector<char> m_window;
    ucp_mem_h m_memh  = nullptr;
    ucp_rkey_h m_rkey = nullptr;
    std::vector<void *> m_handles;
};

TEST_P(test_rma_order, put_flush_message)
{
    random(true);
}

TEST_P(test_rma_order, put_message)
{
    if (!messages_stay_behind()) {
        GTEST_SKIP() << "messages overtake puts here, on stock as well";
    }
    random(false);
}

/* Of MPICH's fence and PSCW: messages go on by the ring when a flush has ended, all forms of it.
 * Of what ended within its call, that is: this much has room. Where it did not, and the application
 * has the handle, the peer is asked, and messages take the lane until it has answered. */
TEST_P(test_rma_order, flushed_means_ring)
{
    std::string data = pattern(4096, 1);
    uint64_t value   = 1, result;
    char in;

    if (by_ring() <= 0) {
        GTEST_SKIP() << "no ring here";
    }
    for (unsigned what = 0; what < 5; ++what) {
        /* Within this process nobody would send on for one that blocks, over TCP */
        for (int how = 0; how < ((GetParam().tls != TCP.tls) ? 4 : 2); ++how) {
            SCOPED_TRACE("operation " + std::to_string(what) + ", flush " +
                         std::to_string(how));
            ucp_request_param_t param = {};
            ucs_status_ptr_t ret;

            param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
            param.datatype     = ucp_dt_make_contig(8);
            switch (what) {
            case 0:
                put(NBI, data.data(), data.size(), 0);
                break;
            case 1:
                put(NBX, data.data(), data.size(), 0);
                break;
            case 2:
                ASSERT_GE(ucp_get_nbi(ab(), &result, sizeof(result), remote(), m_rkey),
                          0);
                break;
            case 3:
                put(NBI, data.data(), data.size(), 0);
                ASSERT_GE(ucp_get_nbi(ab(), &result, sizeof(result), remote(), m_rkey),
                          0);
                break;
            case 4:
                ret = ucp_atomic_op_nbx(ab(), UCP_ATOMIC_OP_ADD, &value, 1, remote(),
                                        m_rkey, &param);
                ASSERT_FALSE(UCS_PTR_IS_ERR(ret));
                if (ret != nullptr) {
                    m_handles.push_back(ret);
                }
                break;
            }
            bool has_ended = m_handles.empty();
            EXPECT_TRUE(has_ended || !messages_stay_behind());
            free_handles();
            flush(how);
            if (!has_ended) {
                exchange_until_ring();
            }

            int64_t before = by_ring();
            op_ptr r       = recv(b().worker(), &in, 1, TAG);
            op_ptr s       = send_host(ab(), data.data());
            EXPECT_EQ(before + 1, by_ring());
            wait(*r);
            wait(*s);
        }
    }
}

/* A get that has ended needs no flush. */
TEST_P(test_rma_order, get_that_has_ended)
{
    uint64_t result[2] = {};
    char in, out = 1;

    if (by_ring() <= 0) {
        GTEST_SKIP() << "no ring here";
    }
    m_window[0] = 5;
    for (int i = 0; i < 10; ++i) {
        result[i % 2] = 0;
        ASSERT_GE(ucp_get_nbi(ab(), &result[i % 2], 8, remote(), m_rkey), 0);
        wait([&] { return *(volatile uint64_t *)&result[i % 2] != 0; });
        a().progress();
        int64_t before = by_ring();
        op_ptr r       = recv(b().worker(), &in, 1, TAG);
        op_ptr s       = send_host(ab(), &out);
        EXPECT_EQ(before + 1, by_ring());
        wait(*r);
        wait(*s);
    }
}

/* The target changes the memory when the message has come: the get was before. */
TEST_P(test_rma_order, get_message)
{
    char out = 1, in;

    if (!messages_stay_behind()) {
        GTEST_SKIP() << "messages overtake gets here, on stock as well";
    }
    for (int i = 0; i < 50; ++i) {
        for (size_t length : {8, 4096}) {
            std::string result(length, '\0');

            std::fill(m_window.begin(), m_window.begin() + length, char(i));
            ASSERT_GE(ucp_get_nbi(ab(), &result[0], length, remote(), m_rkey), 0);
            op_ptr s = send(ab(), &out, 1, TAG);
            op_ptr r = recv(b().worker(), &in, 1, TAG);
            wait_by([&] { return r->done(); }, [&] { return b().progress(); });
            std::fill(m_window.begin(), m_window.begin() + length, char(i + 100));
            wait(*s);
            wait_handle(start_flush(false));
            EXPECT_EQ(std::string(length, char(i)), result);
        }
    }
}

/* A close of the endpoint behind a flush of it, with more under way than there is room for: the
 * flush ends well, and all arrives. */
TEST_P(test_rma_order, flush_close)
{
    std::string data = pattern(WINDOW, 5);

    for (size_t at = 0; at < WINDOW; at += WINDOW / 4) {
        put(NBI, &data[at], WINDOW / 4, at);
    }
    ucs_status_ptr_t flush = start_flush(false);
    ucs_status_ptr_t close = a().close_nbx(ab());
    wait_handle(flush);
    wait_handle(close);
    wait([&] { return std::equal(data.begin(), data.end(), m_window.begin()); });
}

/* Flushes that wait for puts, ended by each other and in any order; the last one says that all is
 * there, whatever stock says. */
TEST_P(test_rma_order, many_flushes)
{
    static constexpr size_t PIECE = 65536;
    std::string data              = pattern(WINDOW, 3);
    bool has_library              = (by_ring() >= 0);
    std::mt19937 rng(3);
    std::vector<ucs_status_ptr_t> flushes;
    size_t left = WINDOW / PIECE;

    for (size_t at = 0; at < WINDOW; at += PIECE) {
        put(NBI, &data[at], PIECE, at);
        flushes.push_back(start_flush(rng() % 2));
    }
    auto look = [&] {
        step(rng, 4);
        for (size_t i = 0; i < flushes.size(); ++i) {
            if (UCS_PTR_IS_PTR(flushes[i])) {
                if (ucp_request_check_status(flushes[i]) == UCS_INPROGRESS) {
                    continue;
                }
                ucp_request_free(flushes[i]);
            } else if (flushes[i] != nullptr) {
                continue; /* seen already */
            }
            flushes[i] = UCS_STATUS_PTR(UCS_ERR_LAST);
            --left;
            if (has_library) { /* stock's own says too much */
                EXPECT_TRUE(std::equal(&data[i * PIECE], &data[i * PIECE] + PIECE,
                                       &m_window[i * PIECE]))
                        << "put " << i << " is not there when its flush has ended";
            }
        }
        return left == 0;
    };
    wait_by(look, [] { return 0; });
}

/* With copies by the kernel (SHM), UCX puts what is long by these: nothing waits for room then. */
INSTANTIATE_TEST_SUITE_P(ucp, test_rma_order, ::testing::Values(SHM, SHM_COPY, TCP),
                         transport_name);
