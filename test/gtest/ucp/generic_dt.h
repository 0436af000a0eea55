/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* A generic datatype for tests of datatypes. */

#ifndef UCXRI_TEST_GENERIC_DT_H_
#define UCXRI_TEST_GENERIC_DT_H_

#include "ucp_test.h"

#include <algorithm>
#include <set>

namespace ucp_test {

/*
 * A generic datatype that counts what UCP does with it. Its memory image is inverted
 * and interleaved with gaps, so that raw copies of the buffer are noticed.
 */
class generic_dt {
public:
    generic_dt()
    {
        static const ucp_generic_dt_ops_t ops = {start_pack, start_unpack, packed_size,
                                                 pack,       unpack,       finish};
        check_status(ucp_dt_create_generic(&ops, this, &m_dt), "ucp_dt_create_generic");
    }

    ~generic_dt()
    {
        EXPECT_TRUE(m_live.empty() || may_leak)
                << "states without finish: " << m_live.size();
        for (state *s : m_live) {
            delete s;
        }
        ucp_dt_destroy(m_dt);
    }

    ucp_datatype_t handle() const { return m_dt; }

    /* Where byte `i` of the packed form is in memory. */
    static size_t place(size_t i) { return i + (i / 16) * 4; }
    static size_t extent(size_t count) { return place(count) + 16; }

    static std::string image(const std::string &packed)
    {
        std::string m(extent(packed.size()), '\0');
        for (size_t i = 0; i < packed.size(); ++i) {
            m[place(i)] = ~packed[i];
        }
        return m;
    }

    static std::string packed(const std::string &m, size_t count)
    {
        std::string p(count, '\0');
        for (size_t i = 0; i < count; ++i) {
            p[i] = ~m[place(i)];
        }
        return p;
    }

    /* Once for each operation, whatever became of it. */
    void expect_balanced(int packs, int unpacks)
    {
        EXPECT_EQ(packs, start_packs);
        EXPECT_EQ(unpacks, start_unpacks);
        EXPECT_EQ(packs + unpacks, finishes);
        EXPECT_EQ(0, misuse) << "call with a state that is not live";
        start_packs = start_unpacks = finishes = 0;
    }

    int start_packs = 0, start_unpacks = 0, finishes = 0, misuse = 0;
    ucs_status_t unpack_status = UCS_OK;
    bool may_leak              = false;

private:
    struct state {
        generic_dt *dt;
        char *memory;
        size_t count;
        bool packing;
    };

    static state *start(void *context, const void *buffer, size_t count, bool packing)
    {
        generic_dt *self = static_cast<generic_dt *>(context);
        state *s = new state{self, static_cast<char *>(const_cast<void *>(buffer)), count,
                             packing};
        self->m_live.insert(s);
        return s;
    }

    /* States are freed by the destructor only, so that a late call is noticed. */
    static state *live(void *arg, int packing = -1)
    {
        state *s = static_cast<state *>(arg);
        if (!s->dt->m_live.count(s) || ((packing >= 0) && (s->packing != !!packing))) {
            ++s->dt->misuse;
        }
        return s;
    }

    static void *start_pack(void *context, const void *buffer, size_t count)
    {
        ++static_cast<generic_dt *>(context)->start_packs;
        return start(context, buffer, count, true);
    }

    static void *start_unpack(void *context, void *buffer, size_t count)
    {
        ++static_cast<generic_dt *>(context)->start_unpacks;
        return start(context, buffer, count, false);
    }

    static size_t packed_size(void *arg) { return live(arg)->count; }

    static size_t pack(void *arg, size_t offset, void *dest, size_t max_length)
    {
        state *s      = live(arg, 1);
        size_t length = std::min(max_length, s->count - offset);
        for (size_t i = 0; i < length; ++i) {
            static_cast<char *>(dest)[i] = ~s->memory[place(offset + i)];
        }
        return length;
    }

    static ucs_status_t unpack(void *arg, size_t offset, const void *src, size_t length)
    {
        state *s = live(arg, 0);
        if ((offset > s->count) || (length > s->count - offset)) {
            ++s->dt->misuse;
            return UCS_OK;
        }
        for (size_t i = 0; i < length; ++i) {
            s->memory[place(offset + i)] = ~static_cast<const char *>(src)[i];
        }
        return s->dt->unpack_status;
    }

    static void finish(void *arg)
    {
        state *s = live(arg);
        ++s->dt->finishes;
        s->dt->m_live.erase(s);
        s->dt->m_finished.emplace_back(s);
    }

    ucp_datatype_t m_dt;
    std::set<state *> m_live;
    std::vector<std::unique_ptr<state>> m_finished;
};

} // namespace ucp_test

#endif
