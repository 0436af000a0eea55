/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A process that asks itself by its mailbox.
 */
#ifndef RI_TEST_MAIL_H
#define RI_TEST_MAIL_H

#include "unit/ucp/rma/mail_head.h"

#include <gtest/gtest.h>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>

/* This process asks itself, unless a test says otherwise: it serves itself while it waits. */
class mail_test : public ::testing::Test {
protected:
    void SetUp() override
    {
        uint8_t address[RI_PLANE_ADDRESS_MAX];

        ri_config.cma = 1;
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        m_way = ri_reach_get(address, ri_reach_address(address));
        ASSERT_NE(nullptr, m_way);
        ri_reach_open_mail(m_way, getpid(), ri_serve_start());
        ASSERT_NE(nullptr, m_way->mail.area);
        m_number = add_region(m_handle, m_words, sizeof(m_words));
    }

    void TearDown() override
    {
        ri_region_remove(m_handle);
        ri_reach_put(m_way);
    }

    static uint64_t add_region(ucp_mem_h handle, const void *address, size_t length)
    {
        ri_region_t region = {};

        ri_region_add(handle, address, length);
        EXPECT_TRUE(ri_region_find(handle, &region));
        return region.number;
    }

    ri_mailbox_head_t head(unsigned kind, const void *memory, size_t length,
                           size_t data_length) const
    {
        return mail_head(kind, m_number, (uintptr_t)memory, length, data_length);
    }

    ri_mail_fate_t ask(const ri_mailbox_head_t &head, const void *data, void *result)
    {
        return ri_mail_ask(m_way, &head, data, result, &m_withdrawn);
    }

    ri_mail_fate_t put(void *memory, const std::string &data)
    {
        ri_mailbox_head_t asked = head(RI_SERVE_PUT, memory, data.size(), data.size());

        return ri_mail_put(m_way, &asked, data.data(), &m_withdrawn);
    }

    ri_mail_fate_t get(const void *memory, std::string *data)
    {
        return ask(head(RI_SERVE_GET, memory, data->size(), 0), nullptr, &(*data)[0]);
    }

    ri_mail_fate_t add(uint64_t value, uint64_t *old)
    {
        return ask(head(RI_SERVE_ADD, m_words, 8, 8), &value, old);
    }

    /* Puts that this process has done itself, since the latest look. */
    void expect_withdrawn(unsigned count)
    {
        EXPECT_EQ(count, m_withdrawn);
        EXPECT_EQ(UCS_OK, m_way->lost);
        m_withdrawn = 0;
    }

    char *text() { return (char *)m_words; }

    const ucp_mem_h m_handle           = reinterpret_cast<ucp_mem_h>(this);
    alignas(64) uint64_t m_words[1024] = {};
    ri_reach_t *m_way                  = nullptr;
    unsigned m_withdrawn               = 0;
    uint64_t m_number;
};

#endif
