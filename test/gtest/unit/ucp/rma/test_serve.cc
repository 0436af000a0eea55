/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/serve.[hc]: what other processes ask for. Here this one asks itself. */

#include "unit/common/rng.h"
#include "unit/ucp/rma/forking_page.h"
#include "unit/ucp/rma/mail_head.h"

#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

class test_serve : public ::testing::Test {
protected:
    void SetUp() override
    {
        m_fd = ri_serve_start();
        ASSERT_GE(m_fd, 0);
        ASSERT_EQ(UCS_OK, ri_mailbox_tx_open(&m_tx, getpid(), m_fd));
        ri_region_t region;
        ri_region_add(m_handle, m_words, sizeof(m_words));
        ASSERT_TRUE(ri_region_find(m_handle, &region));
        m_number = region.number;
    }

    void TearDown() override
    {
        ri_region_remove(m_handle);
        ri_mailbox_tx_close(&m_tx);
    }

    ri_mailbox_head_t head(unsigned kind, const void *memory, size_t length,
                           size_t data_length) const
    {
        return mail_head(kind, m_number, (uintptr_t)memory, length, data_length);
    }

    /* Post anything, as a hostile origin would. */
    void post(const ri_mailbox_head_t &head, const void *data)
    {
        const size_t room       = (head.length <= RI_MAILBOX_INLINE) ? RI_MAILBOX_INLINE :
                                                                       RI_MAILBOX_DATA;
        ri_mailbox_head_t asked = head;

        asked.length      = std::min<size_t>(head.length, RI_MAILBOX_DATA);
        asked.data_length = std::min<size_t>(head.data_length, room);
        m_latest          = ri_mailbox_tx_post(&m_tx, &asked, data);
        ri_mailbox_tx_entry(&m_tx, m_latest)->head = head;
    }

    ri_mailbox_state_t state() const { return ri_mailbox_tx_state(&m_tx, m_latest); }

    void free_latest() { ri_mailbox_tx_free(&m_tx, m_latest); }

    /* Ask, and serve. @return The state of the entry before it was freed. */
    ri_mailbox_state_t ask(const ri_mailbox_head_t &head, const void *data)
    {
        ri_mailbox_state_t result;

        post(head, data);
        EXPECT_EQ(1u, ri_serve());
        EXPECT_EQ(0u, ri_serve());
        result = state();
        if (result == RI_MAILBOX_DONE) {
            memcpy(m_result, ri_mailbox_data(m_tx.area, m_tx.slot, m_latest, head.length),
                   head.length);
        }
        free_latest();
        return result;
    }

    /* It is refused, and nothing changes. */
    void expect_refused(const ri_mailbox_head_t &head)
    {
        static uint8_t data[RI_MAILBOX_DATA];
        uint64_t before[WORDS];

        memset(data, 0xdd, sizeof(data));
        memcpy(before, m_words, sizeof(before));
        EXPECT_EQ(RI_MAILBOX_REFUSED, ask(head, data))
                << "kind " << head.kind << " length " << head.length << " data "
                << head.data_length << " region " << head.region;
        EXPECT_EQ(0, memcmp(before, m_words, sizeof(before)));
    }

    static constexpr size_t WORDS = RI_MAILBOX_DATA / 8 + 8;

    const ucp_mem_h m_handle            = reinterpret_cast<ucp_mem_h>(this);
    alignas(64) uint64_t m_words[WORDS] = {};
    uint64_t m_number;
    uint8_t m_result[RI_MAILBOX_DATA];
    ri_mailbox_tx_t m_tx = {};
    uint32_t m_latest    = 0;
    int m_fd;
};

/* Short and long ones */
const size_t LENGTHS[] = {0,  1,  2,  3,  4,  5,   7,    8,    9,   16,
                          31, 95, 96, 97, 98, 104, 1000, 4095, 4096};

TEST_F(test_serve, start)
{
    EXPECT_EQ(m_fd, ri_serve_start()) << "there is one";
    EXPECT_EQ(m_fd, ri_serve_mailbox.load()->fd);
    EXPECT_EQ(0u, ri_serve());
    EXPECT_EQ(0u, ri_serve_rung());
}

TEST_F(test_serve, put)
{
    char *memory = (char *)m_words;

    for (size_t length : LENGTHS) {
        std::string data(length, 'a' + length % 26);

        memset(memory, '.', sizeof(m_words));
        ASSERT_EQ(RI_MAILBOX_DONE,
                  ask(head(RI_SERVE_PUT, memory + 3, length, length), data.data()));
        ASSERT_EQ("..." + data + ".", std::string(memory, length + 4));
    }
}

TEST_F(test_serve, get)
{
    char *memory = (char *)m_words;

    for (size_t i = 0; i < sizeof(m_words); ++i) {
        memory[i] = i;
    }
    for (size_t length : LENGTHS) {
        ASSERT_EQ(RI_MAILBOX_DONE,
                  ask(head(RI_SERVE_GET, memory + 5, length, 0), nullptr));
        ASSERT_EQ(0, memcmp(memory + 5, m_result, length));
        for (size_t i = 0; i < sizeof(m_words); ++i) {
            ASSERT_EQ((char)i, memory[i]);
        }
    }
}

TEST_F(test_serve, atomics)
{
    const struct {
        ucp_atomic_op_t op;
        uint64_t old, value, swap, result;
    } ops[] = {
            {UCP_ATOMIC_OP_ADD, 0xffffffffffffffff, 5, 0, 4},
            {UCP_ATOMIC_OP_AND, 0xf0f0f0f0f0f0f0f0, 0x3c3c3c3c3c3c3c3c, 0,
             0x3030303030303030},
            {UCP_ATOMIC_OP_OR, 0x1100000011, 0x2200000022, 0, 0x3300000033},
            {UCP_ATOMIC_OP_XOR, 0x1300000013, 0x3100000031, 0, 0x2200000022},
            {UCP_ATOMIC_OP_SWAP, 0x100000001, 0x200000002, 0, 0x200000002},
            {UCP_ATOMIC_OP_CSWAP, 0x100000001, 0x100000001, 0x300000003, 0x300000003},
            {UCP_ATOMIC_OP_CSWAP, 0x100000001, 0x700000007, 0x300000003, 0x100000001},
    };

    for (const auto &op : ops) {
        for (size_t size : {4, 8}) {
            uint8_t data[16], operands = (op.op == UCP_ATOMIC_OP_CSWAP) ? 2 : 1;

            memcpy(data, &op.value, size);
            memcpy(data + size, &op.swap, size);
            memset(m_words, 0xee, sizeof(m_words));
            memcpy(&m_words[2], &op.old, size);
            ASSERT_EQ(RI_MAILBOX_DONE,
                      ask(head(ri_serve_kind(op.op), &m_words[2], size, operands * size),
                          data));
            EXPECT_EQ(0, memcmp(&op.old, m_result, size)) << op.op << ' ' << size;
            EXPECT_EQ(0, memcmp(&op.result, &m_words[2], size)) << op.op << ' ' << size;
            EXPECT_EQ(0xeeeeeeeeeeeeeeee, m_words[1]);
            EXPECT_EQ(0xeeeeeeeeeeeeeeee, m_words[3]);
            if (size == 4) {
                EXPECT_EQ(0xeeeeeeee, m_words[2] >> 32) << op.op;
            }
        }
    }
}

TEST_F(test_serve, unknown_region)
{
    for (uint64_t number :
         {(uint64_t)0, (uint64_t)1, m_number + 1, m_number - 1, UINT64_MAX}) {
        for (unsigned kind : {RI_SERVE_PUT, RI_SERVE_GET, RI_SERVE_ADD}) {
            ri_mailbox_head_t asked = head(kind, m_words, 8, 8);

            asked.region = number;
            expect_refused(asked);
        }
    }
}

TEST_F(test_serve, out_of_range)
{
    const char *start = (const char *)m_words, *end = start + sizeof(m_words);

    for (unsigned kind : {RI_SERVE_PUT, RI_SERVE_GET, RI_SERVE_ADD}) {
        for (const char *address :
             {start - 8, start - 1, end - 7, end - 4, end, end + 8, (const char *)nullptr,
              (const char *)UINTPTR_MAX, (const char *)UINTPTR_MAX - 7}) {
            expect_refused(head(kind, address, 8, 8));
        }
    }
    EXPECT_EQ(RI_MAILBOX_DONE, ask(head(RI_SERVE_PUT, end - 8, 8, 8), start));
    EXPECT_EQ(RI_MAILBOX_DONE, ask(head(RI_SERVE_GET, start, 8, 0), nullptr));
}

/* The region has as many. */
TEST_F(test_serve, too_long)
{
    for (unsigned length : {RI_MAILBOX_DATA + 1, RI_MAILBOX_DATA + 8, 8192,
                            RI_MAILBOX_LONG + 1, RI_MAILBOX_LONG + 8, 65535}) {
        for (unsigned kind : {RI_SERVE_PUT, RI_SERVE_GET, RI_SERVE_ADD}) {
            for (unsigned data_length : {0u, 8u, (unsigned)RI_MAILBOX_DATA, length}) {
                if ((length > RI_MAILBOX_LONG) || (kind != RI_SERVE_GET) ||
                    (data_length > 0)) {
                    expect_refused(head(kind, m_words, length, data_length));
                }
            }
        }
    }
}

TEST_F(test_serve, unknown_kind)
{
    for (unsigned kind = RI_SERVE_KINDS; kind < 300; ++kind) {
        for (unsigned data_length : {0, 4, 8, 16}) {
            expect_refused(head(kind, m_words, 8, data_length));
        }
        expect_refused(head(kind, m_words, 4, 4));
    }
    expect_refused(head(UINT16_MAX, m_words, 8, 8));
    expect_refused(head(256 + RI_SERVE_PUT, m_words, 8, 8));
}

TEST_F(test_serve, wrong_data_length)
{
    for (unsigned length : LENGTHS) {
        if (length != 8) {
            expect_refused(head(RI_SERVE_PUT, m_words, 8, length));
            expect_refused(head(RI_SERVE_ADD, m_words, 8, length));
            expect_refused(head(RI_SERVE_CSWAP, m_words, 4, length));
        }
        if (length != 4) {
            expect_refused(head(RI_SERVE_SWAP, m_words, 4, length));
        }
        if (length != 16) {
            expect_refused(head(RI_SERVE_CSWAP, m_words, 8, length));
        }
    }
    /* Longer than what is there of it */
    for (unsigned length : {97, 128, 4097, 65535}) {
        expect_refused(head(RI_SERVE_PUT, m_words, 8, length));
        expect_refused(head(RI_SERVE_GET, m_words, 8, length));
    }
    for (unsigned length : {0, 96, 97, 999, 1001, 4096, 65535}) {
        expect_refused(head(RI_SERVE_PUT, m_words, 1000, length));
    }
}

TEST_F(test_serve, atomics_of_other_sizes_or_places)
{
    const char *memory = (const char *)m_words;

    for (unsigned op = 0; op < UCP_ATOMIC_OP_LAST; ++op) {
        unsigned kind     = ri_serve_kind((ucp_atomic_op_t)op);
        unsigned operands = (op == UCP_ATOMIC_OP_CSWAP) ? 2 : 1;

        for (unsigned size : {0, 1, 2, 3, 5, 6, 7, 9, 12, 16, 32}) {
            expect_refused(head(kind, memory, size, operands * size));
        }
        for (unsigned offset = 1; offset < 8; ++offset) {
            expect_refused(head(kind, memory + offset, 8, operands * 8));
            if (offset != 4) {
                expect_refused(head(kind, memory + offset, 4, operands * 4));
            }
        }
    }
}

TEST_F(test_serve, region_that_was_removed)
{
    ri_mailbox_head_t asked = head(RI_SERVE_PUT, m_words, 8, 8);

    /* It goes after the operation was posted. */
    post(asked, "12345678");
    ri_region_remove(m_handle);
    EXPECT_EQ(1u, ri_serve());
    EXPECT_EQ(RI_MAILBOX_REFUSED, state());
    free_latest();
    expect_refused(asked);
    /* The same memory is another region. */
    ri_region_add(m_handle, m_words, sizeof(m_words));
    expect_refused(asked);
    EXPECT_EQ(0u, m_words[0]);
}

TEST_F(test_serve, nothing_while_the_regions_are_locked)
{
    ri_mailbox_head_t asked = head(RI_SERVE_PUT, m_words, 8, 8);
    std::atomic<int> step(0);

    std::thread other([&step] {
        ri_region_lock();
        step = 1;
        while (step == 1) {
            sched_yield();
        }
        ri_region_unlock();
    });
    while (step == 0) {
        sched_yield();
    }
    post(asked, "12345678");
    EXPECT_EQ(0u, ri_serve()); /* returns */
    EXPECT_EQ(0u, ri_serve());
    EXPECT_EQ(RI_MAILBOX_POSTED, state());
    EXPECT_EQ(0u, m_words[0]);
    step = 2;
    other.join();
    EXPECT_EQ(1u, ri_serve()) << "it was not lost";
    EXPECT_EQ(RI_MAILBOX_DONE, state());
    EXPECT_EQ(0, memcmp("12345678", m_words, 8));
    free_latest();
}

/* What a child by fork() finds. @return 0 if all is as it should be. */
int child_main(int parents_fd)
{
    if ((ri_serve() != 0) || (ri_serve_rung() != 0)) {
        return 1; /* it has served its parent's */
    }
    int fd = ri_serve_start();
    if ((fd < 0) || (fd == parents_fd)) {
        return 2;
    }
    ri_mailbox_tx_t tx;
    if (ri_mailbox_tx_open(&tx, getpid(), fd) != UCS_OK) {
        return 3;
    }
    static uint64_t word;
    ri_region_t region;
    ri_region_add((ucp_mem_h)&word, &word, sizeof(word));
    if (!ri_region_find((ucp_mem_h)&word, &region)) {
        return 4;
    }
    ri_mailbox_head_t asked = {RI_SERVE_PUT, 8, 8, 0, region.number, (uintptr_t)&word};
    uint32_t number         = ri_mailbox_tx_post(&tx, &asked, "of child");
    if ((ri_serve() != 1) || (ri_mailbox_tx_state(&tx, number) != RI_MAILBOX_DONE)) {
        return 5;
    }
    return memcmp(&word, "of child", 8) ? 6 : 0;
}

TEST_F(test_serve, a_child_leaves_the_mailbox_to_its_parent)
{
    ri_mailbox_head_t asked = head(RI_SERVE_PUT, m_words, 8, 8);
    int status              = -1;

    post(asked, "12345678");
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        _exit(child_main(m_fd));
    }
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(0, WEXITSTATUS(status));
    EXPECT_EQ(RI_MAILBOX_POSTED, state());
    EXPECT_EQ(1u, ri_serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state());
    free_latest();
    EXPECT_EQ(0, memcmp("12345678", m_words, 8));
}

/* Whatever comes: nothing but the region changes, and the slot can be used again. */
TEST_F(test_serve, random_heads)
{
    for_seeds(3, [&](rng &random) {
        for (unsigned i = 0; i < 20000; ++i) {
            uint8_t data[200];
            size_t offset           = random.below(sizeof(m_words) + 16) - 8;
            ri_mailbox_head_t asked = head(random.below(12),
                                           (const char *)m_words + offset,
                                           random.below(20), random.below(20));

            if (random.percent(20)) {
                asked.length = asked.data_length = random.below(sizeof(data));
            }
            if (random.percent(10)) {
                asked.address = random.next();
                asked.length  = random.next();
            }
            if (random.percent(5)) {
                asked.region = random.below(m_number + 3);
            }
            for (uint8_t &byte : data) {
                byte = random.next();
            }
            post(asked, data);
            ASSERT_EQ(1u, ri_serve());
            ri_mailbox_state_t result = state();
            ASSERT_TRUE((result == RI_MAILBOX_DONE) || (result == RI_MAILBOX_REFUSED));
            uint64_t start = (uintptr_t)m_words;
            if ((asked.region != m_number) || (asked.address < start) ||
                (asked.address + asked.length > start + sizeof(m_words))) {
                ASSERT_EQ(RI_MAILBOX_REFUSED, result);
            }
            free_latest();
        }
    });
}

/* The process is in the library, and has its locks, when the handler of a fault forks. */
TEST_F(test_serve, fork_within_an_operation)
{
    forking_page page;
    const ucp_mem_h handle = reinterpret_cast<ucp_mem_h>(&page);
    ri_region_t region;
    char data[100] = "data";

    ri_region_add(handle, page.address, page.SIZE);
    ASSERT_TRUE(ri_region_find(handle, &region));
    post(mail_head(RI_SERVE_PUT, region.number, (uintptr_t)page.address, 100, 100), data);
    EXPECT_EQ(1u, ri_serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state());
    free_latest();
    EXPECT_STREQ("data", (char *)page.address);
    EXPECT_EQ(1, page.faults);
    EXPECT_EQ(7, page.exited);
    ASSERT_TRUE(ri_region_trylock()) << "it is free now";
    ri_region_unlock();
    ri_region_remove(handle);
}

/* Each thread of the process may serve: together they do each operation once. */
TEST_F(test_serve, threads_that_serve)
{
    ri_mailbox_head_t asked = head(RI_SERVE_ADD, m_words, 8, 8);
    std::vector<std::thread> threads;
    std::atomic<bool> stop(false);
    const uint64_t one = 1;

    for (unsigned i = 0; i < 2; ++i) {
        threads.emplace_back([&stop] {
            while (!stop) {
                if (ri_serve() == 0) {
                    sched_yield();
                }
            }
        });
    }
    for (uint64_t i = 0; i < 3000; ++i) {
        post(asked, &one);
        while (state() < RI_MAILBOX_DONE) {
            sched_yield();
        }
        uint64_t old;
        memcpy(&old, ri_mailbox_data(m_tx.area, m_tx.slot, m_latest, 8), 8);
        ASSERT_EQ(i, old);
        free_latest();
    }
    stop = true;
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(3000u, m_words[0]);
}

} // namespace
