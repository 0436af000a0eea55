/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/window_memory.h: memory of another process for a library for windows. */

#include "unit/common/rng.h"
#include "unit/common/setting.h"
#include "unit/ucp/rma/mail_head.h"
#include "unit/ucp/rma/rma_child.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace {

const ri_window_ops_t *ops()
{
    return ri_window_memory(RI_WINDOW_OPS_VERSION);
}

/* A child that has memory, of which others may use the first SIZE bytes. apply() adds a byte to each
 * byte, and returns what they were. */
class test_window_memory : public ::testing::Test {
protected:
    static constexpr size_t SIZE   = 256 * 1024;
    static constexpr unsigned ADD  = RI_WINDOW_OPS_KIND | 1;
    static constexpr unsigned DENY = RI_WINDOW_OPS_KIND | 2;

    struct state {
        std::atomic<int> ready, looks, done, closes, applied;
        ri_window_address_t address;
        uint64_t region, memory;
    };

    static int has(void *arg, uint64_t address, size_t length)
    {
        auto memory = (uint64_t)arg;

        return (address >= memory) && (length <= SIZE) &&
               (address - memory <= SIZE - length);
    }

    static inline std::atomic<int> *applied; /* in the child */

    static int apply(void *arg, const ri_mailbox_head_t *head, uint8_t *data)
    {
        auto memory  = reinterpret_cast<uint8_t *>(head->address);
        uint8_t more = data[0];

        if ((head->kind != ADD) || (head->length == 0) ||
            !has(arg, head->address, head->length)) {
            return -1;
        }
        ++*applied;
        for (unsigned i = 0; i < head->length; ++i) {
            uint8_t old = memory[i];

            memory[i] += more;
            data[i] = old;
        }
        return head->length;
    }

    void child()
    {
        auto memory = static_cast<char *>(mmap(nullptr, 2 * SIZE, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ri_window_server_t server = {};

        munmap(memory + SIZE, SIZE);
        applied         = &m_state->applied;
        server.has      = has;
        server.apply    = apply;
        server.arg      = memory;
        m_state->memory = (uintptr_t)memory;
        m_state->region = ops()->open(&server);
        m_state->ready  = ops()->self(&m_state->address) ? 1 : -1;
        for (;;) {
            if (m_state->closes == 1) {
                ops()->close(m_state->region);
                m_state->closes = 2;
            }
            if (m_state->looks) {
                ops()->serve();
                ++m_state->done;
            }
        }
    }

    void SetUp() override
    {
        ri_config.cma = 1;
        m_child.reset(new rma_child([&] { child(); }));
        wait_for([&] { return m_state->ready != 0; });
        ASSERT_EQ(1, m_state->ready);
        m_reach = ops()->connect(&m_state->address);
        ASSERT_NE(nullptr, m_reach);
        /* Whatever this machine is like, mail is the better way */
        ri_costs.line       = 1;
        ri_costs.plane.call = 1e5;
        ri_costs.plane.rate = 10;
    }

    void TearDown() override
    {
        m_child.reset();
        if (m_reach != nullptr) {
            ops()->reach->disconnect(m_reach);
        }
    }

    /* Until the child has looked at least once more. */
    void look(int looks)
    {
        int before = m_state->done;

        m_state->looks = looks;
        wait_for([&] { return !looks || (m_state->done > before); });
    }

    ri_window_fate_t put(size_t offset, const std::string &data)
    {
        return ops()->reach->put(m_reach, m_state->region, m_state->memory + offset,
                                 data.data(), data.size());
    }

    ri_window_fate_t get(size_t offset, std::string *data)
    {
        return ops()->reach->get(m_reach, m_state->region, m_state->memory + offset,
                                 &(*data)[0], data->size());
    }

    ri_window_fate_t ask(unsigned kind, size_t offset, size_t length, char byte,
                         std::string *result)
    {
        ri_mailbox_head_t head = mail_head(kind, m_state->region,
                                           m_state->memory + offset, length, 1);

        return ops()->reach->ask(m_reach, &head, &byte,
                                 (result != nullptr) ? &(*result)[0] : nullptr, 2);
    }

    bool is_done(unsigned kind, size_t offset, size_t length, char byte,
                 std::string *result)
    {
        return ask(kind, offset, length, byte, result) == RI_WINDOW_OPS_DONE;
    }

    /* By a system call, whatever the child does. */
    std::string there(size_t offset, size_t length)
    {
        std::string data(length, '?');
        ri_segment_t local  = {(uintptr_t)&data[0], length};
        ri_segment_t remote = {m_state->memory + offset, length};

        EXPECT_EQ(RI_WINDOW_OPS_DONE,
                  ops()->reach->copy(m_reach, 0, &local, 1, &remote, 1, length));
        return data;
    }

    shared_by_fork<state> m_state;
    setting<ri_costs_t> m_costs{ri_costs};
    std::unique_ptr<rma_child> m_child;
    void *m_reach = nullptr;
};

TEST_F(test_window_memory, version)
{
    EXPECT_EQ(nullptr, ri_window_memory(RI_WINDOW_OPS_VERSION + 1));
    EXPECT_EQ(nullptr, ri_window_memory(0));
    EXPECT_NE(0u, m_state->region);
}

/* What is put is there after a settle, whoever does it. */
TEST_F(test_window_memory, random_puts_and_gets)
{
    for_seeds(10, [&](rng &random) {
        std::string copy = there(0, SIZE);

        for (int i = 0; i < 200; ++i) {
            size_t length = 1 + random.below(random.percent(80) ? 200 : 40000);
            size_t offset = random.below(SIZE - length);
            std::string data(length, 'a' + random.below(26)), in(length, '?');

            if (random.percent(10)) {
                m_state->looks = random.below(2);
            }
            if (random.percent(60)) {
                ri_window_fate_t fate = put(offset, data);

                ASSERT_TRUE((fate == RI_WINDOW_OPS_DONE) ||
                            (fate == RI_WINDOW_OPS_POSTED));
                copy.replace(offset, length, data);
            }
            if (random.percent(50)) {
                ASSERT_EQ(RI_WINDOW_OPS_DONE, ops()->reach->settle(m_reach));
                ASSERT_EQ(RI_WINDOW_OPS_DONE, get(offset, &in));
                ASSERT_EQ(copy.substr(offset, length), in);
            }
        }
        ASSERT_EQ(RI_WINDOW_OPS_DONE, ops()->reach->settle(m_reach));
        ASSERT_EQ(copy, there(0, SIZE));
    });
}

/* A child that looks does what it is asked for once, one that does not does nothing. */
TEST_F(test_window_memory, ask)
{
    std::string old(4, '?');
    int done = 0;

    EXPECT_FALSE(is_done(ADD, 8, 4, 1, &old));
    EXPECT_EQ(std::string(4, '\0'), there(8, 4));
    look(1);
    while (done < 100) {
        if (ask(ADD, 8, 4, 1, &old) == RI_WINDOW_OPS_DONE) {
            ASSERT_EQ(std::string(4, (char)done), old);
            ++done;
        }
    }
    EXPECT_EQ(done, m_state->applied);
    EXPECT_EQ(std::string(4, (char)done), there(8, 4));
}

/* Neither what the server denies, nor memory that it has not. */
TEST_F(test_window_memory, denied)
{
    look(1);
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(is_done(DENY, 0, 4, 1, nullptr));
        EXPECT_FALSE(is_done(ADD, SIZE, 1, 1, nullptr));
        EXPECT_FALSE(is_done(ADD, SIZE - 1, 2, 1, nullptr));
        EXPECT_FALSE(is_done(ADD, (size_t)-1, 2, 1, nullptr));
        EXPECT_FALSE(is_done(ADD, 0, 0, 1, nullptr));
    }
    EXPECT_EQ(0, m_state->applied);
}

/* A region that is closed is not used any more. */
TEST_F(test_window_memory, closed)
{
    look(1);
    while (ask(ADD, 0, 1, 1, nullptr) != RI_WINDOW_OPS_DONE) {}
    int before      = m_state->applied;
    m_state->closes = 1;
    wait_for([&] { return m_state->closes == 2; });
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(is_done(ADD, 0, 1, 1, nullptr));
    }
    EXPECT_EQ(before, m_state->applied);
}

/* Memory that is not there is an error, and a process that is not there is another one. */
TEST_F(test_window_memory, bad_and_gone)
{
    std::string in(8192, '?');

    EXPECT_EQ(RI_WINDOW_OPS_BAD, get(SIZE - 4096, &in));
    EXPECT_EQ(RI_WINDOW_OPS_BAD, put(SIZE, std::string(8192, 'x')));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, ops()->reach->settle(m_reach));
    m_child->end(SIGKILL);
    EXPECT_EQ(RI_WINDOW_OPS_GONE, get(0, &in));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, put(0, in));
}

/* Memory that is there and that the system does not copy is no fault of the program. */
TEST_F(test_window_memory, not_copied)
{
    ri_plane_t *plane      = static_cast<ri_reach_t *>(m_reach)->ep->plane;
    ri_plane_ops_t without = *plane->ops;
    std::string in(8192, '?');

    without.read = [](ri_plane_ep_t *, const ri_transfer_t *) {
        return UCS_ERR_NO_MEMORY;
    };
    without.write = [](ri_plane_ep_t *, const ri_transfer_t *) {
        return UCS_ERR_IO_ERROR;
    };
    {
        setting<const ri_plane_ops_t *> fails(plane->ops, &without);

        EXPECT_EQ(RI_WINDOW_OPS_FAILED, get(0, &in));
        EXPECT_EQ(RI_WINDOW_OPS_FAILED, put(0, in));
    }
    EXPECT_EQ(RI_WINDOW_OPS_DONE, get(0, &in));
}

/* A put that was posted to a process that is killed is lost, and the settle says so. */
TEST_F(test_window_memory, lost)
{
    ASSERT_EQ(RI_WINDOW_OPS_POSTED, put(0, "posted"));
    m_child->end(SIGKILL);
    EXPECT_EQ(RI_WINDOW_OPS_GONE, ops()->reach->settle(m_reach));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, ops()->reach->settle(m_reach));
    EXPECT_FALSE(is_done(ADD, 0, 1, 1, nullptr));
}

/* Lists of pieces on both sides. */
TEST_F(test_window_memory, lists)
{
    const std::string data = "0123456789";
    ri_segment_t local[2]  = {{(uintptr_t)data.data(), 3},
                              {(uintptr_t)data.data() + 3, 7}};
    ri_segment_t remote[3] = {
            {m_state->memory, 1}, {m_state->memory + 10, 5}, {m_state->memory + 20, 4}};

    EXPECT_EQ(RI_WINDOW_OPS_DONE,
              ops()->reach->copy(m_reach, 1, local, 2, remote, 3, 10));
    EXPECT_EQ(std::string("0\0", 2), there(0, 2));
    EXPECT_EQ(std::string("12345\0", 6), there(10, 6));
    EXPECT_EQ(std::string("6789\0", 5), there(20, 5));
}

/* A process that did not look is not asked for a while, the longer the less a call takes. */
TEST_F(test_window_memory, not_asked_for_a_while)
{
    auto reach = static_cast<ri_reach_t *>(m_reach);

    for (double call : {100.0, 200.0, 1000.0, 5000.0}) {
        ri_costs.plane.call = call;
        ri_costs.line       = 10;
        ri_mail_queue_skip(reach, 8, 1);
        int skips = 0;
        while (!ri_mail_pays_put(reach, 8)) {
            ++skips;
        }
        /* What was lost by the look, or less */
        EXPECT_GE(RI_MAIL_SKIP_MAX, skips);
        EXPECT_GE(RI_MAIL_LOOKS_TIME, (skips - 1) * (call - 40)) << call;
        EXPECT_TRUE((call > 200) || (skips >= 7)) << skips;
        EXPECT_TRUE((call < 5000) || (skips == 0)) << skips;
    }
    /* A call that takes less than an answer */
    ri_costs.line       = 100;
    ri_costs.plane.call = 300;
    EXPECT_FALSE(ri_mail_pays(reach, 8, 1));
    EXPECT_TRUE(ri_mail_pays(reach, 8, 2));
    EXPECT_TRUE(ri_mail_pays_put(reach, 8)); /* nobody waits for it */
    EXPECT_FALSE(ri_mail_pays_put(reach, 4096));
}

} // namespace
