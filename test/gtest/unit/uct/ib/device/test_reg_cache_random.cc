/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/ib/device/reg_cache.[hc] at random, beside a cache of the same rules in lists.
 */

#include "reg_cache_test.h"

namespace {

/* The same rules, in lists. */
class naive_cache {
public:
    struct registration {
        ri_registration_t *real;
        uintptr_t start, end; /* pages */
        bool cached, dead;
        unsigned refs;
        uint64_t last_put;
    };

    naive_cache(size_t max_pages, size_t max_registrations)
        : m_max_pages(max_pages), m_max_registrations(max_registrations)
    {
    }

    /* Whether a get has to hit */
    bool expect_hit(uintptr_t start, uintptr_t end)
    {
        for (auto &r : all) {
            if (r.cached && (r.start <= start) && (r.end >= end)) {
                return true;
            }
        }
        return false;
    }

    void hit(ri_registration_t *real)
    {
        ++counters.reg_hits;
        ++find(real).refs;
    }

    void miss(uintptr_t start, uintptr_t end, ri_registration_t *real)
    {
        uintptr_t from = start, to = end;

        ++counters.reg_misses;
        std::sort(all.begin(), all.end(),
                  [](const registration &a, const registration &b) {
                      return std::make_pair(a.start, a.end) <
                             std::make_pair(b.start, b.end);
                  });
        for (auto &r : all) {
            uintptr_t low = std::min(from, r.start), high = std::max(to, r.end);

            if (r.cached && (r.start < end) && (r.end > start) &&
                (high - low <= 2 * (end - start))) {
                from = low;
                to   = high;
            }
        }
        for (auto &r : all) {
            if (r.cached && (r.start >= from) && (r.end <= to)) {
                detach(r, &counters.reg_replaced);
            }
        }
        all.push_back({real, from, to, true, false, 1, 0});
        trim();
        drop_dead();
        counters.reg_bytes_max = std::max(counters.reg_bytes_max, counters.reg_bytes);
    }

    void put(ri_registration_t *real)
    {
        registration &r = find(real);

        r.last_put = ++m_time;
        if (--r.refs == 0) {
            r.dead = !r.cached;
        }
        trim();
        drop_dead();
    }

    void unmap(uintptr_t start, uintptr_t end)
    {
        for (auto &r : all) {
            if (r.cached && (r.start < end) && (r.end > start)) {
                detach(r, &counters.reg_invalidated);
            }
        }
    }

    /* What is dead goes at the next call */
    void drop_dead()
    {
        all.erase(std::remove_if(all.begin(), all.end(),
                                 [](const registration &r) { return r.dead; }),
                  all.end());
        counters.reg_regions = all.size();
        counters.reg_bytes   = 0;
        for (auto &r : all) {
            counters.reg_bytes += (r.end - r.start) * page;
        }
    }

    registration &find(ri_registration_t *real)
    {
        for (auto &r : all) {
            if (r.real == real) {
                return r;
            }
        }
        ADD_FAILURE() << "a registration that is not there any more";
        abort();
    }

    std::vector<registration> all;
    ri_plane_counters_t counters = {};

private:
    static void detach(registration &r, uint64_t *counter)
    {
        r.cached = false;
        r.dead   = (r.refs == 0);
        ++*counter;
    }

    void trim()
    {
        for (;;) {
            size_t pages = 0, registrations = 0;
            registration *oldest = nullptr;

            for (auto &r : all) {
                if (r.dead) {
                    continue;
                }
                pages += r.end - r.start;
                ++registrations;
                if (r.cached && (r.refs == 0) &&
                    ((oldest == nullptr) || (r.last_put < oldest->last_put))) {
                    oldest = &r;
                }
            }
            if ((oldest == nullptr) ||
                ((pages <= m_max_pages) && (registrations <= m_max_registrations))) {
                return;
            }
            detach(*oldest, &counters.reg_evicted);
        }
    }

    size_t m_max_pages;
    size_t m_max_registrations;
    uint64_t m_time = 0;
};

class test_reg_cache_random : public reg_cache_test {};

TEST_F(test_reg_cache_random, random)
{
    for_seeds(200, [this](rng &random) {
        size_t max_pages = random.percent(50) ? random.range(20, 300) : SIZE_MAX / page;
        size_t max_registrations = random.percent(50) ? random.range(1, 20) : SIZE_MAX;
        uintptr_t space          = random.range(30, 500);
        uintptr_t longest        = random.range(1, 40);
        naive_cache naive(max_pages, max_registrations);
        std::vector<ri_registration_t *> used;

        start(max_pages, max_registrations);
        for (int i = 0; (i < 500) && !HasFailure(); ++i) {
            uintptr_t first = 1 + random.below(space);
            uintptr_t end   = first + random.range(1, longest);
            unsigned what   = random.below(100);

            if (what < 45) {
                bool hit                        = naive.expect_hit(first, end);
                ri_registration_t *registration = get(first, end - first);

                naive.drop_dead();
                ASSERT_NE(nullptr, registration);
                if (hit) {
                    naive.hit(registration);
                } else {
                    naive.miss(first, end, registration);
                }
                EXPECT_EQ(naive.find(registration).start * page,
                          registration->range.start);
                EXPECT_EQ(naive.find(registration).end * page, registration->range.end);
                EXPECT_TRUE(naive.find(registration).cached);
                used.push_back(registration);
            } else if ((what < 90) && !used.empty()) {
                size_t index = random.below(used.size());

                naive.put(used[index]);
                put(used[index]);
                used.erase(used.begin() + index);
            } else if (what >= 90) {
                naive.unmap(first, end);
                unmap(first, end - first);
            }

            auto now = counters();
            naive.drop_dead();
            EXPECT_EQ(0, memcmp(&now, &naive.counters, sizeof(now)))
                    << now.reg_hits << " " << now.reg_misses << " " << now.reg_evicted
                    << " " << now.reg_replaced << " " << now.reg_invalidated << " "
                    << now.reg_regions << " " << now.reg_bytes;
            EXPECT_EQ(naive.counters.reg_regions, m_device.registrations());
            EXPECT_EQ(naive.counters.reg_bytes, m_device.bytes());
        }
        for (ri_registration_t *registration : used) {
            put(registration);
        }
    });
}

} // namespace
