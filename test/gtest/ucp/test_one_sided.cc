/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * One-sided operations on memory of another process: what they do, whoever carries them out, and, with
 * the library, that they need nothing of a target that computes. The target is in a loop of progress
 * where UCX may have to carry an operation out.
 */

#include "one_sided_target.h"

#include <cstring>
#include <random>

using namespace ucp_test;

namespace {

constexpr size_t SIZE = one_sided_target::SIZE;

const one_sided_use USES[] = {{memory_kind::OWN},
                              {memory_kind::SHARED},
                              {memory_kind::OWN, false},
                              {memory_kind::SHARED, false}};

/* Both sides of each limit. */
const size_t LENGTHS[] = {1,  2,  3,  4,    7,    8,     12,     64,
                          95, 96, 97, 1000, 4096, 65536, 1 << 20};

void ignore(void *, ucs_status_t) {}

/* How an operation is asked for. */
enum form_t {
    NBI,
    NB,
    NBX,
    NBX_LATER, /* not within its call, which UCX sees to */
    BLOCKING,
    FORMS
};

class test_one_sided : public transport_test {
protected:
    /* Whether operations of a process within a host need no target here: not where half of the memory
     * seems not to be the host's (memory_kinds.c). */
    static bool needs_no_target()
    {
        const char *preload = getenv("LD_PRELOAD");

        return !is_stock() && !is_off("UCXRI_RMA") && !is_off("UCXRI_CMA") &&
               !(preload && strstr(preload, "memory_kinds"));
    }

    static bool is_off(const char *variable)
    {
        const char *value = getenv(variable);

        return value && !strcmp(value, "n");
    }

    void wait(one_sided_target &t, ucs_status_ptr_t ret)
    {
        if (UCS_PTR_IS_PTR(ret)) {
            t.pair().wait([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
                          "an operation");
            EXPECT_EQ(UCS_OK, ucp_request_check_status(ret));
            ucp_request_free(ret);
        } else {
            EXPECT_EQ(UCS_OK, UCS_PTR_STATUS(ret));
        }
    }

    void put(one_sided_target &t, form_t form, const void *data, size_t length,
             size_t offset)
    {
        ucp_request_param_t param = {};
        uint64_t remote           = t.remote(offset);

        switch (form) {
        case NBI:
            ASSERT_GE(ucp_put_nbi(t.ep(), data, length, remote, t.rkey()), 0);
            break;
        case NB:
            wait(t, ucp_put_nb(t.ep(), data, length, remote, t.rkey(), ignore));
            break;
        case NBX_LATER:
            param.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
            /* fallthrough */
        case NBX:
            wait(t, ucp_put_nbx(t.ep(), data, length, remote, t.rkey(), &param));
            break;
        default:
            ASSERT_EQ(UCS_OK, ucp_put(t.ep(), data, length, remote, t.rkey()));
        }
    }

    void get(one_sided_target &t, form_t form, void *data, size_t length, size_t offset)
    {
        ucp_request_param_t param = {};
        uint64_t remote           = t.remote(offset);

        switch (form) {
        case NBI:
            ASSERT_GE(ucp_get_nbi(t.ep(), data, length, remote, t.rkey()), 0);
            t.flush();
            break;
        case NB:
            wait(t, ucp_get_nb(t.ep(), data, length, remote, t.rkey(), ignore));
            break;
        case NBX_LATER:
            param.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
            /* fallthrough */
        case NBX:
            wait(t, ucp_get_nbx(t.ep(), data, length, remote, t.rkey(), &param));
            break;
        default:
            ASSERT_EQ(UCS_OK, ucp_get(t.ep(), data, length, remote, t.rkey()));
        }
    }

    /* An atomic operation on a word. `reply`: what was there; of CSWAP, before, what is put there. */
    template <typename T>
    void atomic(one_sided_target &t, ucp_atomic_op_t op, T value, T *reply, size_t offset)
    {
        ucp_request_param_t param = {};

        param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype     = ucp_dt_make_contig(sizeof(T));
        if (reply != nullptr) {
            param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
            param.reply_buffer = reply;
        }
        wait(t, ucp_atomic_op_nbx(t.ep(), op, &value, 1, t.remote(offset), t.rkey(),
                                  &param));
    }

    template <typename T> void atomics_one_by_one(one_sided_target &t, uint64_t seed);

    /* Everything that a target could be needed for, while it computes. */
    void use_busy_target(one_sided_target &t);
};

/* Puts and gets of random places against a copy of the target's memory. */
TEST_P(test_one_sided, bytes)
{
    for (const one_sided_use &use : USES) {
        one_sided_target t(GetParam(), use);
        std::mt19937 rng(1);
        std::string copy(SIZE, '\0');

        for (size_t i = 0; i < 40 * FORMS; ++i) {
            form_t form      = form_t(i % FORMS);
            size_t length    = LENGTHS[rng() % (sizeof(LENGTHS) / sizeof(LENGTHS[0]))];
            size_t offset    = rng() % (SIZE - length + 1);
            std::string data = pattern(length, i), in(length, '\0');

            if (length <= 8) {
                offset &= ~size_t(7); /* half of them in a word of their own */
            }
            put(t, form, data.data(), length, offset);
            copy.replace(offset, length, data);
            t.flush();
            get(t, form_t(rng() % FORMS), &in[0], length, offset);
            ASSERT_TRUE(in == data) << "form " << form << " length " << length;
        }
        EXPECT_TRUE(copy == t.bytes(0, SIZE));
        t.end();
    }
}

/* What is put before a message is there when the message is. */
TEST_P(test_one_sided, before_message)
{
    for (const one_sided_use &use : USES) {
        one_sided_target t(GetParam(), use);

        for (uint64_t i = 1; i <= 200; ++i) {
            put(t, form_t(i % FORMS), &i, sizeof(i), 0);
            t.flush();
            std::string seen = t.bytes(0, sizeof(i));
            ASSERT_EQ(0, memcmp(seen.data(), &i, sizeof(i)));
        }
        t.end();
    }
}

template <typename T>
void test_one_sided::atomics_one_by_one(one_sided_target &t, uint64_t seed)
{
    std::mt19937_64 rng(seed);
    T word = rng();

    put(t, BLOCKING, &word, sizeof(word), 64);
    t.flush();
    for (int i = 0; i < 300; ++i) {
        auto op    = static_cast<ucp_atomic_op_t>(rng() % UCP_ATOMIC_OP_LAST);
        T value    = rng();
        T swap     = rng();
        T reply    = swap;
        T before   = word;
        bool fetch = (op == UCP_ATOMIC_OP_SWAP) || (op == UCP_ATOMIC_OP_CSWAP) ||
                     (rng() % 2);

        if ((op == UCP_ATOMIC_OP_CSWAP) && (rng() % 2)) {
            value = word;
        }
        atomic<T>(t, op, value, fetch ? &reply : nullptr, 64);
        switch (op) {
        case UCP_ATOMIC_OP_ADD:
            word += value;
            break;
        case UCP_ATOMIC_OP_AND:
            word &= value;
            break;
        case UCP_ATOMIC_OP_OR:
            word |= value;
            break;
        case UCP_ATOMIC_OP_XOR:
            word ^= value;
            break;
        case UCP_ATOMIC_OP_SWAP:
            word = value;
            break;
        default:
            word = (word == value) ? swap : word;
        }
        if (fetch) {
            ASSERT_EQ(before, reply) << "operation " << op;
        }
        t.flush();
        std::string seen = t.bytes(56, 24); /* with what is beside it */
        ASSERT_EQ(0, memcmp(seen.data() + 8, &word, sizeof(word))) << "operation " << op;
        ASSERT_EQ(std::string(16 - sizeof(word), '\0'), seen.substr(8 + sizeof(word)));
    }
}

TEST_P(test_one_sided, atomic_operations)
{
    for (const one_sided_use &use : USES) {
        one_sided_target t(GetParam(), use);

        atomics_one_by_one<uint64_t>(t, 1);
        t.map_again();
        atomics_one_by_one<uint32_t>(t, 2);
        t.end();
    }
}

/* The target's processor, the origin's and UCX add to one word: nothing is lost. */
TEST_P(test_one_sided, all_add_to_one_word)
{
    constexpr uint64_t COUNT = 5000;

    for (const one_sided_use &use : USES) {
        one_sided_target t(GetParam(), use);
        uint64_t sum = 0, reply;

        t.add(COUNT);
        for (uint64_t i = 0; i < COUNT; ++i) {
            if (i % 3 == 0) {
                ASSERT_EQ(UCS_OK, ucp_atomic_post(t.ep(), UCP_ATOMIC_POST_OP_ADD, 1, 8,
                                                  t.remote(), t.rkey()));
            } else if (i % 3 == 1) {
                wait(t, ucp_atomic_fetch_nb(t.ep(), UCP_ATOMIC_FETCH_OP_FADD, 1, &reply,
                                            8, t.remote(), t.rkey(), ignore));
            } else {
                ucp_request_param_t param = {};
                uint64_t one              = 1;

                param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
                                     UCP_OP_ATTR_FIELD_REPLY_BUFFER |
                                     UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
                param.datatype     = ucp_dt_make_contig(8);
                param.reply_buffer = &reply;
                wait(t, ucp_atomic_op_nbx(t.ep(), UCP_ATOMIC_OP_ADD, &one, 1, t.remote(),
                                          t.rkey(), &param));
            }
        }
        t.flush();
        t.wait_added();
        memcpy(&sum, t.bytes(0, 8).data(), 8);
        EXPECT_EQ(2 * COUNT, sum);
        t.end();
    }
}

void test_one_sided::use_busy_target(one_sided_target &t)
{
    uint64_t reply = 0;

    for (size_t length : LENGTHS) {
        for (form_t form : {NBI, NB, NBX, BLOCKING}) {
            std::string data = pattern(length, length + form), in(length, '\0');

            put(t, form, data.data(), length, 4096);
            t.flush();
            get(t, form, &in[0], length, 4096);
            ASSERT_TRUE(in == data) << length << " bytes";
        }
    }
    atomic<uint64_t>(t, UCP_ATOMIC_OP_ADD, 5, &reply, 0);
    atomic<uint64_t>(t, UCP_ATOMIC_OP_ADD, 7, &reply, 0);
    EXPECT_EQ(5u, reply);
    EXPECT_EQ(UCS_OK, ucp_ep_flush(t.ep()));
    EXPECT_EQ(UCS_OK, ucp_worker_fence(t.pair().worker()));
    EXPECT_EQ(UCS_OK, ucp_worker_flush(t.pair().worker()));
}

TEST_P(test_one_sided, target_computes)
{
    if (!needs_no_target()) {
        GTEST_SKIP() << "UCX needs the target";
    }
    for (const one_sided_use &use : USES) {
        bool shared = (use.kind == memory_kind::SHARED);
        one_sided_target t(GetParam(), use);
        std::string last = pattern(1 << 20, (1 << 20) + BLOCKING);

        t.flush(); /* connections are set up */
        t.compute();
        use_busy_target(t);
        if (shared) {
            EXPECT_LT(0, t.count("rma_mapped"));
            EXPECT_EQ(2, t.count("rma_atomics"));
        } else {
            EXPECT_LT(0, t.count("rma_copied"));
            EXPECT_LT(0, t.count("rma_withdrawn"));
            EXPECT_LE(1,
                      t.count("rma_called")); /* and it may be awake for the next one */
        }
        EXPECT_EQ(0, t.count("rma_stock"));
        EXPECT_TRUE(last == t.bytes(4096, 1 << 20));
        t.look();
        t.end();
    }
}

/* Small puts are there behind each kind of flush, though nobody looks at the mail. */
TEST_P(test_one_sided, flush_with_a_target_that_computes)
{
    if (!needs_no_target()) {
        GTEST_SKIP() << "UCX needs the target";
    }
    one_sided_target t(GetParam(), memory_kind::OWN);
    ucp_worker_h worker       = t.pair().worker();
    ucp_request_param_t param = {};

    t.flush();
    t.compute();
    for (uint64_t i = 1; i <= 60; ++i) {
        put(t, (i % 2) ? NBI : BLOCKING, &i, sizeof(i), 24);
        switch (i % 6) {
        case 0:
            EXPECT_EQ(UCS_OK, ucp_ep_flush(t.ep()));
            break;
        case 1:
            EXPECT_EQ(UCS_OK, ucp_worker_flush(worker));
            break;
        case 2:
            t.flush();
            break;
        case 3:
            wait(t, ucp_worker_flush_nbx(worker, &param));
            break;
        case 4:
            wait(t, ucp_ep_flush_nb(t.ep(), 0, ignore));
            break;
        default:
            EXPECT_EQ(UCS_OK, ucp_worker_fence(worker));
        }
        std::string seen = t.bytes(24, sizeof(i));
        ASSERT_EQ(0, memcmp(seen.data(), &i, sizeof(i))) << "flush " << i % 6;
    }
    EXPECT_EQ(60, t.count("rma_mailed") + t.count("rma_copied"));
    EXPECT_LT(0, t.count("rma_withdrawn")); /* a thread of the target may look, too */
    t.look();
    t.end();
}

/* Progress alone brings them there, too. */
TEST_P(test_one_sided, no_flush_with_a_target_that_computes)
{
    if (!needs_no_target()) {
        GTEST_SKIP() << "UCX needs the target";
    }
    one_sided_target t(GetParam(), memory_kind::OWN);
    uint64_t value = 1;

    t.flush();
    t.compute();
    put(t, NBI, &value, sizeof(value), 24);
    for (int i = 0; i < 1000; ++i) {
        t.pair().self().progress();
    }
    EXPECT_EQ(0, memcmp(t.bytes(24, 8).data(), &value, sizeof(value)));
    t.look();
    t.end();
}

/* A target that looks is asked to do what is small. */
TEST_P(test_one_sided, target_looks)
{
    if (!needs_no_target()) {
        GTEST_SKIP() << "UCX does it all";
    }
    one_sided_target t(GetParam(), memory_kind::OWN);
    uint64_t value = 0, reply = 0;

    t.pair().wait(
            [&] {
                ++value;
                put(t, NBI, &value, sizeof(value), 8);
                reply = 0;
                get(t, BLOCKING, &reply, sizeof(reply), 8);
                EXPECT_EQ(value, reply);
                return t.count("rma_mailed") >= 20;
            },
            "a target that looks");
    t.end();
}

/* Small puts, many at a time, to few places, of a target that looks or computes by turns: the last one
 * to a place is what is there, and a get finds it. */
TEST_P(test_one_sided, many_small_puts)
{
    if (!is_stock() && !needs_no_target()) {
        GTEST_SKIP() << "some are UCX's, and others are not: there is no order";
    }
    if (is_stock() && ucx_at_least(1, 16)) {
        GTEST_SKIP() << "UCX does not order them";
    }
    for (const one_sided_use &use : USES) {
        one_sided_target t(GetParam(), use);
        std::mt19937 rng(5);
        std::string copy(512, '\0');

        t.flush();
        for (int round = 0; round < 40; ++round) {
            if (needs_no_target()) {
                (rng() % 2) ? t.look() : t.compute();
            }
            for (unsigned i = rng() % 50; i > 0; --i) {
                size_t length    = 1 + rng() % 96;
                size_t offset    = rng() % (copy.size() - length);
                std::string data = pattern(length, rng());

                put(t, (rng() % 2) ? NBI : NBX, data.data(), length, offset);
                copy.replace(offset, length, data);
                if (rng() % 10 == 0) {
                    std::string in(length, '\0');

                    if (!needs_no_target()) {
                        t.flush();
                    }
                    get(t, BLOCKING, &in[0], length, offset);
                    ASSERT_TRUE(in == data) << "round " << round;
                }
            }
            if (rng() % 2) {
                t.flush();
                ASSERT_TRUE(copy == t.bytes(0, copy.size())) << "round " << round;
            }
        }
        t.look();
        t.flush();
        EXPECT_TRUE(copy == t.bytes(0, copy.size()));
        t.end();
    }
}

/* What was put by UCX is there before what is put behind a fence. */
TEST_P(test_one_sided, fence)
{
    for (const one_sided_use &use : USES) {
        one_sided_target t(GetParam(), use);

        for (int i = 0; i < 100; ++i) {
            std::string first(65536, char(i)), second(65536, char(i + 1));
            ucp_request_param_t later = {};
            ucs_status_ptr_t ret;

            later.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
            ret = ucp_put_nbx(t.ep(), first.data(), first.size(), t.remote(), t.rkey(),
                              &later);
            ASSERT_EQ(UCS_OK, ucp_worker_fence(t.pair().worker()));
            put(t, NBI, second.data(), second.size(), 0);
            wait(t, ret);
            t.flush();
            ASSERT_TRUE(second == t.bytes(0, second.size())) << "round " << i;
        }
        t.end();
    }
}

/* Memory goes, and other memory has its place: the new key leads there. */
TEST_P(test_one_sided, mapped_again)
{
    for (const one_sided_use &use : USES) {
        one_sided_target t(GetParam(), use);

        for (uint64_t i = 1; i <= 20; ++i) {
            put(t, BLOCKING, &i, sizeof(i), 128);
            t.flush();
            ASSERT_EQ(0, memcmp(t.bytes(128, 8).data(), &i, sizeof(i)));
            t.map_again();
            ASSERT_EQ(std::string(8, '\0'), t.bytes(128, 8));
        }
        t.end();
    }
}

/* Beyond the memory of a key is UCX's affair, which has pages: nothing is lost by that. */
TEST_P(test_one_sided, nothing)
{
    one_sided_target t(GetParam(), memory_kind::OWN);

    put(t, BLOCKING, "", 0, 0);
    put(t, NBI, "", 0, SIZE);
    t.flush();
    EXPECT_EQ(std::string(16, '\0'), t.bytes(0, 16));
    t.end();
}

/* A pointer to what both map is one that works. */
TEST_P(test_one_sided, pointer)
{
    one_sided_target t(GetParam(), memory_kind::SHARED);
    void *pointer = nullptr;

    if (ucp_rkey_ptr(t.rkey(), t.remote(4096), &pointer) == UCS_OK) {
        memcpy(pointer, "pointer", 7);
        EXPECT_EQ("pointer", t.bytes(4096, 7));
    } else {
        EXPECT_FALSE(needs_no_target());
    }
    t.end();
}

/* Operations on memory of a process that is gone end in some way. */
TEST_P(test_one_sided, killed_target)
{
    if (!needs_no_target()) {
        GTEST_SKIP() << "UCX may never say";
    }
    for (const one_sided_use &use : USES) {
        one_sided_target t(GetParam(), use);
        std::string data(100000, 'x');
        uint64_t word = 1;

        t.flush();
        put(t, BLOCKING, data.data(), data.size(), 0);
        t.kill();
        for (size_t length : {size_t(8), data.size()}) {
            ucp_put_nbi(t.ep(), data.data(), length, t.remote(), t.rkey());
            ucp_get_nbi(t.ep(), &data[0], length, t.remote(), t.rkey());
        }
        ucp_atomic_post(t.ep(), UCP_ATOMIC_POST_OP_ADD, word, 8, t.remote(), t.rkey());
        for (int i = 0; i < 1000; ++i) {
            t.pair().self().progress();
        }
        ucs_status_ptr_t ret = t.pair().self().close_nbx(t.ep(), UCP_EP_CLOSE_FLAG_FORCE);
        if (UCS_PTR_IS_PTR(ret)) {
            t.pair().wait([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
                          "close");
            ucp_request_free(ret);
        }
    }
}

} // namespace

INSTANTIATE_REMOTE_TRANSPORTS(test_one_sided);
