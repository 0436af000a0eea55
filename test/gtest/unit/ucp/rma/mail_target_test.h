/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* A process whose mailbox is asked by this one: a child by fork(), whose memory this process has a way
 * to, and which computes or looks at its mailbox as a test says. */

#ifndef RI_TEST_MAIL_TARGET_H
#define RI_TEST_MAIL_TARGET_H

#include "unit/common/rng.h"
#include "unit/common/setting.h"
#include "unit/ucp/rma/mail_head.h"
#include "unit/ucp/rma/rma_child.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>

class mail_target_test : public ::testing::Test {
protected:
    static constexpr size_t SIZE = 64 * 1024;
    static constexpr size_t PAGE = 4096;

    /* What the target is to do, and what it has. */
    enum todo_t {
        COMPUTE,
        LOOK,
        LOOK_NOW_AND_THEN,
        END,
        PROTECT
    };

    struct target_state {
        std::atomic<int> ready, todo, done, protects, mended;
        ri_wire_rkey_t wire;
    };

    void SetUp() override
    {
        ri_config.cma        = 1;
        ri_config.ring_quick = SIZE;
        m_target.reset(new rma_child([&] { target(); }));
        wait_for([&] { return m_state->ready == 1; });
        ASSERT_EQ(1, m_state->ready);
        m_reach = reach_with_mail(m_state->wire);
        ASSERT_NE(nullptr, m_reach);
        ASSERT_NE(nullptr, m_reach->mail.area);
    }

    void TearDown() override
    {
        m_target.reset();
        ri_reach_put(m_reach);
    }

    /* Memory that was protected is written. */
    static void mend(int, siginfo_t *info, void *)
    {
        auto page = reinterpret_cast<uintptr_t>(info->si_addr) & ~uintptr_t(PAGE - 1);

        mprotect(reinterpret_cast<void *>(page), PAGE, PROT_READ | PROT_WRITE);
        ++*mends;
    }

    static inline std::atomic<int> *mends; /* in the target */

    /* The first page can be written by this process only, and when a handler has mended it. */
    void protect(void *memory)
    {
        struct sigaction action = {};
        int asked               = PROTECT;

        mends               = &m_state->mended;
        action.sa_sigaction = mend;
        action.sa_flags     = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
        mprotect(memory, PAGE, PROT_READ);
        ++m_state->protects;
        m_state->todo.compare_exchange_strong(
                asked, COMPUTE); /* unless it is something else now */
    }

    void target()
    {
        auto memory = static_cast<char *>(mmap(nullptr, SIZE, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        auto memh   = reinterpret_cast<ucp_mem_h>(64);
        unsigned i;

        ri_region_add(memh, memory, SIZE);
        m_state->ready = (ri_describe(memh, 0, &m_state->wire) == UCS_OK);
        for (i = 0; m_state->todo != END; ++i) {
            if ((m_state->todo == LOOK) ||
                ((m_state->todo == LOOK_NOW_AND_THEN) && (i % 50 == 0))) {
                m_state->done += ri_serve();
            } else if (m_state->todo == PROTECT) {
                protect(memory);
            }
        }
    }

    ri_mailbox_head_t head(unsigned kind, size_t offset, size_t length,
                           size_t data_length)
    {
        return mail_head(kind, m_state->wire.region, m_state->wire.address + offset,
                         length, data_length);
    }

    ri_mail_fate_t put(size_t offset, const std::string &data)
    {
        ri_mailbox_head_t h = head(RI_SERVE_PUT, offset, data.size(), data.size());

        return ri_mail_put(m_reach, &h, data.data(), &m_withdrawn);
    }

    /* In ns, at any length: parts are quick if it is much, or not. */
    static void call_takes(double time)
    {
        ri_quick_rate       = 1;
        ri_costs.plane.call = time;
        ri_costs.plane.rate = 1e9;
        ri_costs.line       = 1;
        ri_costs.line_ticks = 1;
    }

    /* @return What of it was posted. */
    size_t put_parts(size_t offset, const std::string &data)
    {
        ri_mailbox_head_t h = head(RI_SERVE_PUT, offset, 0, 0);

        return ri_mail_parts_put(m_reach, &h, data.data(), data.size(), &m_withdrawn);
    }

    /* All of it, in order: as src/ucp/rma/direct.c does it. */
    void put_all(size_t offset, const std::string &data)
    {
        size_t done = put_parts(offset, data);

        ASSERT_GE(data.size(), done);
        if (done < data.size()) {
            settle();
            ASSERT_EQ(UCS_OK, ri_reach_copy(m_reach, 1, data.data() + done,
                                            m_state->wire.address + offset + done,
                                            data.size() - done));
        }
    }

    /* @return What of it is there. */
    size_t get_parts(size_t offset, std::string *data)
    {
        ri_mailbox_head_t h = head(RI_SERVE_GET, offset, 0, 0);

        return ri_mail_parts_get(m_reach, &h, &(*data)[0], data->size(), &m_withdrawn);
    }

    static std::string text(rng &random, size_t length)
    {
        std::string data(length, '\0');

        for (char &c : data) {
            c = random.next();
        }
        return data;
    }

    /* By mail. */
    ri_mail_fate_t get(size_t offset, std::string *data)
    {
        ri_mailbox_head_t h = head(RI_SERVE_GET, offset, data->size(), 0);

        return ri_mail_ask(m_reach, &h, nullptr, &(*data)[0], &m_withdrawn);
    }

    /* By a copy, whatever the target does. */
    std::string look(size_t offset, size_t length)
    {
        std::string data(length, '?');

        EXPECT_EQ(UCS_OK, ri_reach_copy(m_reach, 0, &data[0],
                                        m_state->wire.address + offset, length));
        return data;
    }

    void settle() { ri_mail_settle(m_reach, &m_withdrawn); }

    /* Until the target has done something. */
    void until_it_looks()
    {
        int before = m_state->done;

        m_state->todo = LOOK;
        while (m_state->done == before) {
            put(SIZE - 8, "looked");
            settle();
        }
    }

    shared_by_fork<target_state> m_state;
    setting<ri_costs_t> m_costs{ri_costs};
    std::unique_ptr<rma_child> m_target;
    ri_reach_t *m_reach  = nullptr;
    unsigned m_withdrawn = 0;
};

#endif
