/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/attend.h, and ri_mail_call(): atomic operations on private memory of a process that
 * computes. The target is a child by fork(), whose own thread never looks unless a test says so. */

#include "unit/ucp/rma/mail_head.h"
#include "unit/ucp/rma/rma_child.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

namespace {

/* What the target is to do, and what it has. */
enum todo_t {
    COMPUTE,
    LOOK,
    UNMAP,
    PROTECT
};

struct target_state {
    std::atomic<int> ready, todo, done;
    ri_wire_rkey_t wire;
    std::atomic<uint64_t *> words; /* in the target */
};

constexpr size_t WORDS = 512;

class test_attend : public ::testing::Test {
protected:
    void SetUp() override
    {
        ri_config.cma        = 1;
        ri_config.rma_thread = 1;
    }

    void TearDown() override
    {
        m_target.reset();
        ri_reach_put(m_reach);
    }

    /* Make the target, and a way to it. */
    void start(bool has_atomics = true)
    {
        m_target.reset(new rma_child([&] { target(has_atomics); }));
        wait_for([&] { return m_state->ready == 1; });
        ASSERT_EQ(1, m_state->ready);
        m_reach = reach_with_mail(m_state->wire);
        ASSERT_NE(nullptr, m_reach);
        ASSERT_NE(nullptr, m_reach->mail.area);
    }

    void target(bool has_atomics)
    {
        auto memory = static_cast<uint64_t *>(mmap(nullptr, WORDS * sizeof(uint64_t),
                                                   PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        auto memh   = reinterpret_cast<ucp_mem_h>(64);

        if (m_handles_faults) {
            handle_faults(memory, &m_state->done);
        }
        ri_region_add(memh, memory, WORDS * sizeof(uint64_t));
        m_state->words = memory;
        m_state->ready = (ri_describe(memh, has_atomics, &m_state->wire) == UCS_OK);
        for (;;) {
            switch (m_state->todo) {
            case LOOK:
                m_state->done += ri_serve();
                break;
            case PROTECT:
                mprotect(memory, WORDS * sizeof(uint64_t), PROT_READ);
                m_state->todo = COMPUTE;
                m_state->done = 1;
                break;
            case UNMAP:
                ri_region_remove(memh);
                m_state->todo = COMPUTE;
                m_state->done = 1;
                break;
            default:
                break;
            }
        }
    }

    /* In the target: memory that is protected may be written again behind a fault. */
    static void handle_faults(uint64_t *memory, std::atomic<int> *done)
    {
        struct sigaction action = {};

        s_memory            = memory;
        s_faults            = done;
        action.sa_sigaction = [](int, siginfo_t *, void *) {
            ++*s_faults;
            mprotect(s_memory, WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE);
        };
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
    }

    ri_mailbox_head_t head(unsigned kind, size_t word, size_t data_length)
    {
        return mail_head(kind, m_state->wire.region,
                         m_state->wire.address + word * sizeof(uint64_t),
                         sizeof(uint64_t), data_length);
    }

    /* Add to a word of the target, by one of the two ways. */
    ri_mail_fate_t add(decltype(&ri_mail_call) how, uint64_t value, uint64_t *old,
                       size_t word)
    {
        ri_mailbox_head_t h = head(RI_SERVE_ADD, word, 8);
        unsigned withdrawn  = 0;
        ri_mail_fate_t fate = how(m_reach, &h, &value, old, &withdrawn);

        m_withdrawn += withdrawn;
        return fate;
    }

    ri_mail_fate_t call_add_once(uint64_t value, uint64_t *old, size_t word = 0)
    {
        return add(ri_mail_call, value, old, word);
    }

    /* Where there is much else to do the thread may come late: then nothing was done. */
    ri_mail_fate_t call_add(uint64_t value, uint64_t *old, size_t word = 0)
    {
        ri_mail_fate_t fate = RI_MAIL_WITHDRAWN;

        for (int i = 0; (i < 1000) && (fate == RI_MAIL_WITHDRAWN); ++i) {
            fate = call_add_once(value, old, word);
            if ((fate == RI_MAIL_WITHDRAWN) && ri_reach_trylock(m_reach)) {
                m_reach->skip_calls = 0;
                ri_reach_unlock(m_reach);
            }
        }
        return fate;
    }

    ri_mail_fate_t ask_add(uint64_t value, uint64_t *old, size_t word = 0)
    {
        return add(ri_mail_ask, value, old, word);
    }

    ri_mail_fate_t put(uint64_t value, size_t word)
    {
        ri_mailbox_head_t h = head(RI_SERVE_PUT, word, 8);

        unsigned withdrawn  = 0;
        ri_mail_fate_t fate = ri_mail_put(m_reach, &h, &value, &withdrawn);

        m_withdrawn += withdrawn;
        return fate;
    }

    /* A word of the target, by a copy. */
    uint64_t look(size_t word = 0)
    {
        uint64_t value = ~uint64_t(0);

        EXPECT_EQ(UCS_OK, ri_reach_copy(m_reach, 0, &value,
                                        m_state->wire.address + word * sizeof(value),
                                        sizeof(value)));
        return value;
    }

    shared_by_fork<target_state> m_state;
    std::unique_ptr<rma_child> m_target;
    ri_reach_t *m_reach = nullptr;
    std::atomic<unsigned> m_withdrawn{0};
    bool m_handles_faults = false;
    static uint64_t *s_memory;
    static std::atomic<int> *s_faults;
};

uint64_t *test_attend::s_memory;
std::atomic<int> *test_attend::s_faults;

TEST_F(test_attend, operations_while_the_target_computes)
{
    ASSERT_NO_FATAL_FAILURE(start());
    for (uint64_t i = 0; i < 500; ++i) {
        uint64_t old = 0;

        ASSERT_EQ(RI_MAIL_DONE, call_add(3, &old)) << i;
        ASSERT_EQ(3 * i, old);
    }
    EXPECT_EQ(1500u, look());
    EXPECT_EQ(0u, m_withdrawn);
}

/* It has no result where none is wanted. */
TEST_F(test_attend, no_result)
{
    ASSERT_NO_FATAL_FAILURE(start());
    EXPECT_EQ(RI_MAIL_DONE, call_add(5, nullptr));
    EXPECT_EQ(5u, look());
}

TEST_F(test_attend, asked_only)
{
    uint64_t old = 0;

    ASSERT_NO_FATAL_FAILURE(start());
    EXPECT_EQ(RI_MAIL_DONE, call_add(0, &old)); /* the thread has come about */
    usleep(10000);                              /* and sleeps again, or soon will */
    if (ask_add(3, &old) == RI_MAIL_DONE) {
        GTEST_SKIP() << "the thread stayed awake";
    }
    EXPECT_EQ(0u, look());
    EXPECT_EQ(RI_MAIL_DONE, call_add(4, &old));
    EXPECT_EQ(0u, old);
    EXPECT_EQ(4u, look());
}

/* Puts that were posted before are there before it. */
TEST_F(test_attend, puts_before)
{
    ASSERT_NO_FATAL_FAILURE(start());
    for (uint64_t i = 1; i <= 100; ++i) {
        uint64_t old = 0;

        ASSERT_EQ(RI_MAIL_DONE, put(1000 * i, 7));
        ASSERT_EQ(RI_MAIL_DONE, put(1000 * i + 1, 7));
        ASSERT_EQ(RI_MAIL_DONE, call_add(1, &old, 7));
        ASSERT_EQ(1000 * i + 1, old);
    }
    EXPECT_EQ(UCS_OK, m_reach->lost);
}

/* Both threads of the target are at it. */
TEST_F(test_attend, target_looks_too)
{
    ASSERT_NO_FATAL_FAILURE(start());
    m_state->todo = LOOK;
    for (uint64_t i = 0; i < 2000; ++i) {
        uint64_t old        = 0;
        ri_mail_fate_t fate = (i % 2) ? RI_MAIL_WITHDRAWN : ask_add(1, &old);

        if (fate == RI_MAIL_WITHDRAWN) {
            fate = call_add(1, &old);
        }
        ASSERT_EQ(RI_MAIL_DONE, fate);
        ASSERT_EQ(i, old);
    }
    EXPECT_EQ(2000u, look());
}

TEST_F(test_attend, no_atomics)
{
    ASSERT_NO_FATAL_FAILURE(start(false));
    EXPECT_EQ(RI_MAIL_WITHDRAWN, call_add_once(1, nullptr));
    EXPECT_EQ(0u, look());
}

TEST_F(test_attend, switched_off)
{
    ri_config.rma_thread = 0;
    ASSERT_NO_FATAL_FAILURE(start());
    EXPECT_EQ(RI_MAIL_WITHDRAWN, call_add_once(1, nullptr));
    EXPECT_EQ(0u, look());
}

/* What a stopped process did not do in time it does not do when it goes on. */
TEST_F(test_attend, stopped)
{
    uint64_t old = 0;

    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_EQ(RI_MAIL_DONE, call_add(1, &old));
    kill(m_target->pid(), SIGSTOP);
    ASSERT_EQ(m_target->pid(), waitpid(m_target->pid(), nullptr, WUNTRACED));
    EXPECT_EQ(RI_MAIL_WITHDRAWN, call_add_once(10, &old));
    EXPECT_EQ(1u, look());
    kill(m_target->pid(), SIGCONT);
    /* It is not called at once again: for some operations, or until it has looked by itself */
    EXPECT_LT(0, m_reach->skip_calls);
    for (int i = m_reach->skip_calls; i > 0; --i) {
        EXPECT_EQ(RI_MAIL_WITHDRAWN, call_add_once(50, &old));
    }
    EXPECT_EQ(1u, look());
    EXPECT_EQ(0, m_reach->skip_calls);
    m_reach->skip_calls = 5;
    m_state->todo       = LOOK;
    ASSERT_EQ(RI_MAIL_DONE, put(7, 1));
    wait_for([&] { return ri_mail_is_settled(m_reach); });
    m_state->todo = COMPUTE;
    EXPECT_EQ(0, m_reach->skip_calls);
    EXPECT_EQ(RI_MAIL_DONE, call_add(100, &old));
    EXPECT_EQ(1u, old);
    EXPECT_EQ(101u, look());
}

TEST_F(test_attend, killed)
{
    ASSERT_NO_FATAL_FAILURE(start());
    m_target->end(SIGKILL);
    EXPECT_EQ(RI_MAIL_WITHDRAWN, call_add_once(1, nullptr));
    EXPECT_NE(UCS_OK, m_reach->ep->plane->ops->check(m_reach->ep));
}

TEST_F(test_attend, memory_has_gone)
{
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_EQ(RI_MAIL_DONE, call_add(1, nullptr));
    m_state->todo = UNMAP;
    wait_for([&] { return m_state->done == 1; });
    EXPECT_EQ(RI_MAIL_REFUSED, call_add(1, nullptr));
    EXPECT_EQ(1u, look());
}

/* A call that comes before the thread sleeps is not missed, and calls of nothing do no harm. */
TEST_F(test_attend, calls_at_any_time)
{
    ASSERT_NO_FATAL_FAILURE(start());
    for (uint64_t i = 0; i < 200; ++i) {
        for (uint64_t k = 0; k < i % 5; ++k) {
            ri_mailbox_tx_call(&m_reach->mail);
        }
        if (i % 3 == 0) {
            usleep(i);
        }
        ASSERT_EQ(RI_MAIL_DONE, call_add(1, nullptr));
    }
    EXPECT_EQ(200u, look());
}

/* A fault in the memory of an operation is the program's, which may mend it. */
TEST_F(test_attend, fault_that_is_mended)
{
    uint64_t old = 0;

    m_handles_faults = true;
    ASSERT_NO_FATAL_FAILURE(start());
    ASSERT_EQ(RI_MAIL_DONE, call_add(1, nullptr));
    m_state->todo = PROTECT;
    wait_for([&] { return m_state->done == 1; });
    EXPECT_EQ(RI_MAIL_DONE, call_add(2, &old));
    EXPECT_EQ(1u, old);
    EXPECT_EQ(3u, look());
    EXPECT_EQ(2, m_state->done);
}

/* Two threads of an origin: one waits for the other, and nothing is left to UCX. */
TEST_F(test_attend, two_threads_call)
{
    std::atomic<int> done{0};

    ASSERT_NO_FATAL_FAILURE(start());
    auto run = [&] {
        for (int i = 0; i < 300; ++i) {
            done += (call_add(1, nullptr) == RI_MAIL_DONE);
        }
    };
    std::thread first(run), second(run);
    first.join();
    second.join();
    EXPECT_EQ(600, done);
    EXPECT_EQ(600u, look());
}

/* Somebody who calls all the time is answered now and then, and so are others. */
TEST_F(test_attend, calls_for_nothing)
{
    ASSERT_NO_FATAL_FAILURE(start());
    for (int i = 0; i < 5000; ++i) {
        ri_mailbox_tx_call(&m_reach->mail);
    }
    EXPECT_EQ(RI_MAIL_DONE, call_add(1, nullptr));
    EXPECT_EQ(1u, look());
}

/* A child has no thread of its parent's, nor its mailbox: it has its own when it wants one. */
TEST_F(test_attend, child_of_a_process_with_a_thread)
{
    uint64_t words[8] = {};
    auto memh         = reinterpret_cast<ucp_mem_h>(words);
    ri_wire_rkey_t wire;

    ri_region_add(memh, words, sizeof(words));
    ASSERT_EQ(UCS_OK, ri_describe(memh, 1, &wire));
    ASSERT_NO_FATAL_FAILURE(start());
    EXPECT_NE(wire.process.pid, m_state->wire.process.pid);
    EXPECT_EQ(RI_MAIL_DONE, call_add(7, nullptr));
    EXPECT_EQ(7u, look());
    ri_region_remove(memh);
}

/* Forks while the thread of the process is at work: no lock stays behind in a child. */
TEST_F(test_attend, forks_under_way)
{
    uint64_t words[8] = {};
    auto memh         = reinterpret_cast<ucp_mem_h>(words);
    ri_wire_rkey_t wire;
    int status, i;

    ri_region_add(memh, words, sizeof(words));
    ASSERT_EQ(UCS_OK, ri_describe(memh, 1, &wire));
    rma_child caller([&] {
        ri_reach_t *reach   = reach_with_mail(wire);
        ri_mailbox_head_t h = mail_head(RI_SERVE_ADD, wire.region, wire.address, 8, 8);

        while (m_state->todo != UNMAP) {
            uint64_t one       = 1;
            unsigned withdrawn = 0;

            reach->skip_calls = 0;
            ri_mail_call(reach, &h, &one, nullptr, &withdrawn);
        }
        ri_reach_put(reach);
        m_state->done = 1;
    });
    wait_for([&] { return __atomic_load_n(&words[0], __ATOMIC_RELAXED) > 0; });
    EXPECT_LT(0u, __atomic_load_n(&words[0], __ATOMIC_RELAXED));
    for (i = 0; i < 200; ++i) {
        pid_t child = fork();

        if (child == 0) {
            alarm(20);
            ri_region_lock();
            ri_region_unlock();
            ri_reach_self();
            _exit(0);
        }
        ASSERT_EQ(child, waitpid(child, &status, 0));
        ASSERT_EQ(0, status) << i;
    }
    m_state->todo = UNMAP;
    wait_for([&] { return m_state->done == 1; });
    ri_region_remove(memh);
}

} // namespace
