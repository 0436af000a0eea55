/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/word.[hc]: copies and atomic operations. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

const ucp_atomic_op_t OPS[] = {UCP_ATOMIC_OP_ADD, UCP_ATOMIC_OP_SWAP, UCP_ATOMIC_OP_CSWAP,
                               UCP_ATOMIC_OP_AND, UCP_ATOMIC_OP_OR,   UCP_ATOMIC_OP_XOR};

/* What becomes of a word, in plain words. */
template <typename word>
word after(ucp_atomic_op_t op, word old, uint64_t value, uint64_t swap)
{
    switch (op) {
    case UCP_ATOMIC_OP_ADD:
        return old + (word)value;
    case UCP_ATOMIC_OP_SWAP:
        return (word)value;
    case UCP_ATOMIC_OP_CSWAP:
        return (old == (word)value) ? (word)swap : old;
    case UCP_ATOMIC_OP_AND:
        return old & (word)value;
    case UCP_ATOMIC_OP_OR:
        return old | (word)value;
    default:
        return old ^ (word)value;
    }
}

/* @a guarded: the word, and words on both sides that nobody touches. */
template <typename word>
void expect_op(ucp_atomic_op_t op, word old, uint64_t value, uint64_t swap)
{
    alignas(8) word guarded[5] = {(word)0x1111111111111111, (word)0x2222222222222222, old,
                                  (word)0x3333333333333333, (word)0x4444444444444444};

    EXPECT_EQ((uint64_t)old, ri_word_atomic(&guarded[2], sizeof(word), op, value, swap));
    EXPECT_EQ(after<word>(op, old, value, swap), guarded[2])
            << "op " << op << std::hex << " old " << +old << " value " << value;
    EXPECT_EQ((word)0x1111111111111111, guarded[0]);
    EXPECT_EQ((word)0x2222222222222222, guarded[1]);
    EXPECT_EQ((word)0x3333333333333333, guarded[3]);
    EXPECT_EQ((word)0x4444444444444444, guarded[4]);
}

TEST(test_word, operations)
{
    const uint64_t values[] = {
            0,         1,         0x7fffffff, 0x80000000,     UINT32_MAX,
            1ul << 32, 1ul << 63, UINT64_MAX, UINT64_MAX - 1, 0xa5a5a5a55a5a5a5a};

    for (ucp_atomic_op_t op : OPS) {
        for (uint64_t old : values) {
            for (uint64_t value : values) {
                expect_op<uint64_t>(op, old, value, 77);
                expect_op<uint32_t>(op, (uint32_t)old, value, 0x5500000077);
            }
        }
    }
}

TEST(test_word, random_operations)
{
    for_seeds(500, [](rng &random) {
        uint64_t old = random.next(), value = random.next(), swap = random.next();

        if (random.percent(50)) {
            value = old; /* so that a swap succeeds */
        } else if (random.percent(30)) {
            value = old ^ (1ul << random.below(64));
        }
        for (ucp_atomic_op_t op : OPS) {
            expect_op<uint64_t>(op, old, value, swap);
            expect_op<uint32_t>(op, (uint32_t)old, value, swap);
        }
    });
}

/* 4 bytes in the upper half of 8 */
TEST(test_word, upper_half)
{
    uint64_t word = 0x00000001ffffffff;

    EXPECT_EQ(1u, ri_word_atomic((char *)&word + 4, 4, UCP_ATOMIC_OP_ADD, UINT32_MAX, 0));
    EXPECT_EQ(0x00000000fffffffful, word);
    EXPECT_EQ(UINT32_MAX, ri_word_atomic(&word, 4, UCP_ATOMIC_OP_ADD, 1, 0));
    EXPECT_EQ(0u, word) << "nothing is carried over";
}

TEST(test_word, can)
{
    for (unsigned op = 0; op < 20; ++op) {
        bool known = (op < UCP_ATOMIC_OP_LAST);

        for (size_t size = 0; size < 20; ++size) {
            for (uint64_t address = 0x1000; address < 0x1010; ++address) {
                bool good = known && ((size == 4) || (size == 8)) &&
                            (address % (size + (size == 0)) == 0);

                EXPECT_EQ(good, !!ri_word_can(op, size, address))
                        << op << ' ' << size << ' ' << std::hex << address;
            }
        }
    }
    for (ucp_atomic_op_t op : OPS) {
        EXPECT_TRUE(ri_word_can(op, 8, UINT64_MAX - 7));
        EXPECT_FALSE(ri_word_can(op, 8, UINT64_MAX - 3));
        EXPECT_TRUE(ri_word_can(op, 4, UINT64_MAX - 3));
        EXPECT_FALSE(ri_word_can(op, (1ul << 32) | 8, 0));
    }
    EXPECT_FALSE(ri_word_can(UINT_MAX, 8, 0));
    EXPECT_FALSE(ri_word_can(0u - 2, 8, 0)) << "a kind that is no atomic operation";
}

template <typename word> void add_by_threads()
{
    const unsigned count = 4, times = 20000;
    std::vector<std::thread> threads;
    word sum = (word)0 - 1000, swapped = 0;

    for (unsigned t = 0; t < count; ++t) {
        threads.emplace_back([&sum, &swapped] {
            for (unsigned i = 0; i < times; ++i) {
                ri_word_atomic(&sum, sizeof(word), UCP_ATOMIC_OP_ADD, 3, 0);
                /* The same by hand */
                word seen = __atomic_load_n(&swapped, __ATOMIC_RELAXED), old;
                while ((old = ri_word_atomic(&swapped, sizeof(word), UCP_ATOMIC_OP_CSWAP,
                                             seen, (word)(seen + 1))) != seen) {
                    seen = old;
                }
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ((word)(3 * count * times - 1000), sum);
    EXPECT_EQ((word)(count * times), swapped);
}

TEST(test_word, threads_4)
{
    add_by_threads<uint32_t>();
}

TEST(test_word, threads_8)
{
    add_by_threads<uint64_t>();
}

/* All lengths, and places that are not aligned; nothing beyond is written. */
TEST(test_word, copy)
{
    alignas(16) uint8_t from[256], to[256], expected[256];

    for (unsigned i = 0; i < sizeof(from); ++i) {
        from[i] = i * 7 + 3;
    }
    for (size_t length = 0; length <= 100; ++length) {
        for (size_t source = 0; source < 17; ++source) {
            for (size_t target = 0; target < 17; ++target) {
                memset(to, 0xee, sizeof(to));
                memset(expected, 0xee, sizeof(expected));
                memcpy(expected + 32 + target, from + source, length);
                ri_word_copy(to + 32 + target, from + source, length);
                ASSERT_EQ(0, memcmp(expected, to, sizeof(to)))
                        << length << ' ' << source << ' ' << target;
            }
        }
    }
}

/* Who reads meanwhile sees a whole word. */
template <typename word> void copy_while_read()
{
    const word zero = 0, ones = ~zero;
    std::atomic<bool> stop(false);
    alignas(8) word shared = 0, copy = 0;

    std::thread writer([&] {
        while (!stop) {
            ri_word_copy(&shared, &ones, sizeof(word));
            ri_word_copy(&shared, &zero, sizeof(word));
        }
    });
    for (unsigned i = 0; i < 50000; ++i) {
        ri_word_copy(&copy, &shared, sizeof(word));
        if ((copy != zero) && (copy != ones)) {
            ADD_FAILURE() << std::hex << copy;
            break;
        }
    }
    stop = true;
    writer.join();
}

TEST(test_word, copies_of_words_are_whole)
{
    copy_while_read<uint32_t>();
    copy_while_read<uint64_t>();
}

} // namespace
