/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* A mailbox, and its origins in the same process, for tests of src/uct/shm/mailbox.h. */

#ifndef RI_TEST_MAILBOX_TEST_H
#define RI_TEST_MAILBOX_TEST_H

#include "unit/common/ri_cpp.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

/* What the target was asked for, and what it answers. */
struct operation {
    ri_mailbox_head_t head;
    std::string data;
};

std::vector<operation> served;
std::string answer;
bool refuse;
std::function<void()> inside; /* what others do meanwhile, once */

int serve_func(const ri_mailbox_head_t *head, uint8_t *data)
{
    served.push_back({*head, std::string((const char *)data, head->data_length)});
    if (inside != nullptr) {
        std::function<void()> once = std::move(inside);

        inside = nullptr;
        once();
    }
    if (refuse) {
        if (head->length <= RI_MAILBOX_INLINE) {
            memcpy(data, answer.data(), answer.size());
        }
        return -1;
    }
    memcpy(data, answer.data(), answer.size());
    return answer.size();
}

class mailbox_test : public ::testing::Test {
protected:
    void SetUp() override
    {
        served.clear();
        answer = "";
        refuse = false;
        inside = nullptr;
        ASSERT_EQ(UCS_OK, ri_mailbox_rx_make(&m_rx));
        m_tx.reset(new ri_mailbox_tx_t[RI_MAILBOX_SLOTS]());
    }

    void TearDown() override
    {
        for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
            ri_mailbox_tx_close(&m_tx[i]);
        }
        ri_mailbox_rx_end(&m_rx);
    }

    ucs_status_t open(unsigned i = 0)
    {
        return ri_mailbox_tx_open(&m_tx[i], getpid(), m_rx.fd);
    }

    /* An operation on as many bytes as come with it. */
    uint32_t post(unsigned i = 0, const std::string &data = "")
    {
        ri_mailbox_head_t head = {};

        head.length      = data.size();
        head.data_length = data.size();
        head.address     = i;
        m_latest[i]      = ri_mailbox_tx_post(&m_tx[i], &head, data.data());
        return m_latest[i];
    }

    unsigned serve() { return ri_mailbox_rx_serve(&m_rx, serve_func); }

    bool withdraw(unsigned i = 0)
    {
        return ri_mailbox_tx_withdraw(&m_tx[i], m_latest[i]);
    }

    void free_latest(unsigned i = 0) { ri_mailbox_tx_free(&m_tx[i], m_latest[i]); }

    ri_mailbox_state_t state(unsigned i = 0) const
    {
        return ri_mailbox_tx_state(&m_tx[i], m_latest[i]);
    }

    ri_mailbox_entry_t *entry(unsigned i = 0)
    {
        return ri_mailbox_tx_entry(&m_tx[i], m_latest[i]);
    }

    std::string result(unsigned i, size_t length) const
    {
        return std::string((const char *)ri_mailbox_data(m_tx[i].area, m_tx[i].slot,
                                                         m_latest[i], length),
                           length);
    }

    ri_mailbox_rx_t m_rx = {};
    std::unique_ptr<ri_mailbox_tx_t[]> m_tx;
    uint32_t m_latest[RI_MAILBOX_SLOTS] = {};
};

} // namespace

#endif
