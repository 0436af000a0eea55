/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A device that a registration cache registers memory with. It knows what it has, and fails
 * a test that deregisters anything else.
 *
 * If it is to be real memory it also holds the physical pages, as a real device does: it
 * puts the first word of each page into a pipe without a copy (vmsplice), where the kernel
 * keeps a reference to the page. What comes out of the pipe is what is in the page then, so
 * it tells whether a registration is of the memory that a program has now.
 */
#ifndef RI_TEST_FAKE_DEVICE_H
#define RI_TEST_FAKE_DEVICE_H

#include "unit/common/ri_cpp.h"

#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

/* The first words of the pages of a range. */
class pinned_pages {
public:
    static constexpr uintptr_t page = 4096;

    pinned_pages(uintptr_t start, uintptr_t end)
    {
        std::vector<struct iovec> words;
        int fds[2];

        for (uintptr_t p = start; p < end; p += page) {
            words.push_back({reinterpret_cast<void *>(p), sizeof(uint64_t)});
        }
        m_count = words.size();
        if (!new_pipe(fds)) {
            return;
        }
        m_fd   = fds[0];
        m_good = vmsplice(fds[1], words.data(), words.size(), SPLICE_F_NONBLOCK) ==
                 static_cast<ssize_t>(m_count * sizeof(uint64_t));
        close(fds[1]);
    }

    ~pinned_pages() { close(m_fd); }

    pinned_pages(const pinned_pages &) = delete;

    /* Whether all of the memory was there */
    bool good() const { return m_good; }

    /* What is in the pages now; can be called by several threads. */
    std::vector<uint64_t> read() const
    {
        std::vector<uint64_t> words(m_count);
        size_t length = m_count * sizeof(uint64_t);
        int fds[2];

        if (!new_pipe(fds)) {
            return {};
        }
        EXPECT_EQ(static_cast<ssize_t>(length), tee(m_fd, fds[1], length, 0));
        EXPECT_EQ(static_cast<ssize_t>(length), ::read(fds[0], words.data(), length));
        close(fds[0]);
        close(fds[1]);
        return words;
    }

private:
    bool new_pipe(int fds[2]) const
    {
        int size = std::max<size_t>(16, m_count) * page;

        if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0) {
            ADD_FAILURE() << "pipe: " << strerror(errno);
            return false;
        }
        EXPECT_LE(size, fcntl(fds[1], F_SETPIPE_SZ, size));
        return true;
    }

    size_t m_count = 0;
    int m_fd       = -1;
    bool m_good    = false;
};

class fake_device {
public:
    static constexpr uintptr_t page = pinned_pages::page;

    struct pinned {
        uintptr_t start, end;
        unsigned access;
        std::shared_ptr<pinned_pages> pages; /* of real memory */
    };

    /* How registration goes; changed by one thread only, when no other uses the device. */
    size_t max_registrations  = SIZE_MAX;
    size_t max_bytes          = SIZE_MAX;
    bool is_real              = false;                /* memory, which is to be held */
    uintptr_t read_only_start = 0, read_only_end = 0; /* no RI_REG_WRITE there */
    uintptr_t hole_start = 0, hole_end = 0;           /* nothing is there */
    std::function<void()> on_reg;   /* while a registration is being registered */
    std::function<void()> on_dereg; /* while one is being given up */

    ~fake_device() { EXPECT_EQ(0u, registrations()); }

    ri_reg_cache_t *new_cache(ri_reg_cache_params_t params)
    {
        ri_reg_cache_t *cache = nullptr;

        params.ops = &s_ops;
        params.arg = this;
        EXPECT_EQ(UCS_OK, ri_reg_cache_create(&params, &cache));
        return cache;
    }

    size_t registrations() const
    {
        std::lock_guard<std::mutex> guard(m_lock);

        return m_all.size();
    }

    size_t bytes() const
    {
        std::lock_guard<std::mutex> guard(m_lock);

        return m_bytes;
    }

    /* Calls so far, also those that failed */
    size_t reg_calls() const { return m_reg_calls; }

    /* What stands behind a registration's keys; fails if that is nothing. */
    pinned lookup(const ri_registration_t *registration) const
    {
        std::lock_guard<std::mutex> guard(m_lock);
        auto it = m_all.find(registration->keys.rkey);

        EXPECT_NE(m_all.end(), it) << "not registered (any more)";
        return (it == m_all.end()) ? pinned{} : it->second;
    }

    /* Whether the device has the real memory that is at an address now. Overwrites the first
     * words of its pages, of those that begin there. */
    bool is_fresh(const ri_registration_t *registration, const void *address,
                  size_t length, uint64_t value) const
    {
        pinned reg      = lookup(registration);
        uintptr_t start = (reinterpret_cast<uintptr_t>(address) + page - 1) & ~(page - 1);
        uintptr_t end   = reinterpret_cast<uintptr_t>(address) + length;

        if ((start < reg.start) || (end > reg.end) || !reg.pages) {
            return false;
        }
        for (uintptr_t p = start; p < end; p += page) {
            *reinterpret_cast<volatile uint64_t *>(p) = value + p;
        }
        std::vector<uint64_t> words = reg.pages->read();

        for (uintptr_t p = start; p < end; p += page) {
            if (words.at((p - reg.start) / page) != value + p) {
                return false;
            }
        }
        return true;
    }

private:
    static ucs_status_t reg(void *arg, void *address, size_t length, unsigned access,
                            ri_reg_keys_t *keys)
    {
        return static_cast<fake_device *>(arg)->reg(reinterpret_cast<uintptr_t>(address),
                                                    length, access, keys);
    }

    static void dereg(void *arg, const ri_reg_keys_t *keys)
    {
        static_cast<fake_device *>(arg)->dereg(keys);
    }

    ucs_status_t reg(uintptr_t start, size_t length, unsigned access, ri_reg_keys_t *keys)
    {
        pinned reg = {start, start + length, access, nullptr};

        ++m_reg_calls;
        EXPECT_EQ(0u, start % page);
        EXPECT_EQ(0u, length % page);
        if (((access & RI_REG_WRITE) && (start < read_only_end) &&
             (reg.end > read_only_start)) ||
            ((start < hole_end) && (reg.end > hole_start))) {
            return UCS_ERR_INVALID_ADDR;
        }
        if (is_real) {
            reg.pages = std::make_shared<pinned_pages>(start, reg.end);
            if (!reg.pages->good()) {
                return UCS_ERR_INVALID_ADDR;
            }
        }
        if (on_reg) {
            on_reg();
        }

        std::lock_guard<std::mutex> guard(m_lock);
        if ((m_all.size() + 1 > max_registrations) || (m_bytes + length > max_bytes)) {
            return UCS_ERR_NO_MEMORY;
        }
        m_bytes += length;
        keys->rkey   = ++m_last_key;
        keys->lkey   = ~m_last_key;
        keys->handle = this;
        m_all.emplace(keys->rkey, std::move(reg));
        return UCS_OK;
    }

    void dereg(const ri_reg_keys_t *keys)
    {
        if (on_dereg) {
            on_dereg();
        }
        std::lock_guard<std::mutex> guard(m_lock);
        auto it = m_all.find(keys->rkey);

        ASSERT_NE(m_all.end(), it) << "deregistered twice, or never registered";
        EXPECT_EQ(~keys->rkey, keys->lkey);
        EXPECT_EQ(this, keys->handle);
        m_bytes -= it->second.end - it->second.start;
        m_all.erase(it);
    }

    static constexpr ri_reg_ops_t s_ops = {reg, dereg};

    mutable std::mutex m_lock;
    std::map<uint32_t, pinned> m_all;
    size_t m_bytes                  = 0;
    uint32_t m_last_key             = 0;
    std::atomic<size_t> m_reg_calls = {};
};

#endif
