/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A device that a registration cache registers memory with. It knows what it has, and fails
 * a test that deregisters anything else.
 *
 * With stamps it also notes what is in the memory, as a real one notes the physical pages:
 * the first word of each page. A program that writes another word there whenever it maps
 * memory can tell whether a registration is of the memory that it has now.
 */
#ifndef RI_TEST_FAKE_DEVICE_H
#define RI_TEST_FAKE_DEVICE_H

#include "ri_cpp.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

class fake_device {
public:
    static constexpr uintptr_t page = 4096;

    struct registration {
        uintptr_t start, end;
        unsigned access;
        std::vector<uint64_t> stamps;
    };

    /* How registration goes; changed by one thread only, when no other uses the device. */
    size_t max_regions        = SIZE_MAX;
    size_t max_bytes          = SIZE_MAX;
    bool has_stamps           = false;
    uintptr_t read_only_start = 0, read_only_end = 0; /* no RI_REG_WRITE there */
    uintptr_t hole_start = 0, hole_end = 0;           /* nothing is there */
    std::function<void()> on_reg;   /* while a region is being registered */
    std::function<void()> on_dereg; /* likewise */

    ~fake_device() { EXPECT_EQ(0u, regions()); }

    ri_reg_cache_t *new_cache(ri_reg_cache_params_t params)
    {
        ri_reg_cache_t *cache = nullptr;

        params.ops = &s_ops;
        params.arg = this;
        EXPECT_EQ(UCS_OK, ri_reg_cache_create(&params, &cache));
        return cache;
    }

    size_t regions() const
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

    /* What stands behind a region's keys; fails if that is nothing. */
    registration lookup(const ri_reg_region_t *region) const
    {
        std::lock_guard<std::mutex> guard(m_lock);
        auto it = m_all.find(region->keys.rkey);

        EXPECT_NE(m_all.end(), it) << "not registered (any more)";
        return (it == m_all.end()) ? registration{} : it->second;
    }

    /* Whether the device has the memory that is at an address now: with stamps only. */
    bool is_fresh(const ri_reg_region_t *region, const void *address, size_t length) const
    {
        registration reg = lookup(region);
        uintptr_t start  = reinterpret_cast<uintptr_t>(address) & ~(page - 1);
        uintptr_t end    = reinterpret_cast<uintptr_t>(address) + length;

        for (uintptr_t p = start; p < end; p += page) {
            if ((p < reg.start) || (p >= reg.end) ||
                (reg.stamps[(p - reg.start) / page] !=
                 *reinterpret_cast<uint64_t *>(p))) {
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
        registration reg = {start, start + length, access, {}};

        ++m_reg_calls;
        EXPECT_EQ(0u, start % page);
        EXPECT_EQ(0u, length % page);
        if (((access & RI_REG_WRITE) && (start < read_only_end) &&
             (reg.end > read_only_start)) ||
            ((start < hole_end) && (reg.end > hole_start)) || !read_stamps(&reg)) {
            return UCS_ERR_INVALID_ADDR;
        }
        if (on_reg) {
            on_reg();
        }

        std::lock_guard<std::mutex> guard(m_lock);
        if ((m_all.size() + 1 > max_regions) || (m_bytes + length > max_bytes)) {
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

    /* By the kernel, as the memory may go meanwhile. @return Whether all of it was there. */
    bool read_stamps(registration *reg)
    {
        if (!has_stamps) {
            return true;
        }
        for (uintptr_t p = reg->start; p < reg->end; p += page) {
            uint64_t stamp      = 0;
            struct iovec local  = {&stamp, sizeof(stamp)};
            struct iovec remote = {reinterpret_cast<void *>(p), sizeof(stamp)};

            if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != sizeof(stamp)) {
                return false;
            }
            reg->stamps.push_back(stamp);
        }
        return true;
    }

    static constexpr ri_reg_ops_t s_ops = {reg, dereg};

    mutable std::mutex m_lock;
    std::map<uint32_t, registration> m_all;
    size_t m_bytes                  = 0;
    uint32_t m_last_key             = 0;
    std::atomic<size_t> m_reg_calls = {};
};

#endif
