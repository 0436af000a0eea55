/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A network within the process, for tests of what protocols do with planes whose operations
 * end later and whose memory has keys: ways with two ends, keys that have to fit, operations
 * that end when the test says so, in progress.
 */
#ifndef RI_TEST_FAKE_RDMA_H
#define RI_TEST_FAKE_RDMA_H

#include "fake_plane.h"

#include <algorithm>
#include <climits>

namespace fake {

class rdma {
public:
    static constexpr size_t PEER_MEMORY = 1000; /* as it says */

    /* Gives the worker of @a owner the plane; its end closes it. */
    explicit rdma(node &owner)
        : rdma(&OPS,
               RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_LISTS | RI_PLANE_KEYS |
                       RI_PLANE_NOTIFY,
               &owner.worker()->net.rc)
    {
    }

    /* After the worker */
    ~rdma()
    {
        EXPECT_TRUE(m_closed);
        EXPECT_TRUE(m_keys.empty()) << "memory that was not released";
        EXPECT_EQ(0u, ends());
    }

    size_t ends() const
    {
        return std::count_if(all_ends().begin(), all_ends().end(),
                             [this](const auto &one) { return one.second->of == this; });
    }

    size_t keys() const { return m_keys.size(); }
    bool is_registered(uint32_t key) const { return m_keys.count(key) > 0; }
    size_t under_way() const { return m_queue.size(); }

    /* All ends that are here now stop working. */
    void kill()
    {
        for (auto &one : all_ends()) {
            one.second->dead |= (one.second->of == this);
        }
    }

    ucs_status_t prepare_status = UCS_OK;
    ucs_status_t connect_status = UCS_OK;
    ucs_status_t reg_status     = UCS_OK;
    unsigned good_regs          = 0;      /* that succeed before reg_status counts */
    unsigned bad_regs           = 0;      /* that fail, first of all */
    ucs_status_t start_status   = UCS_OK; /* of read() and write() */
    unsigned good_starts        = 0;      /* before start_status counts */
    ucs_status_t end_status     = UCS_OK; /* of what it started */
    unsigned good_ends          = 0;      /* before end_status counts */
    unsigned may_end  = UINT_MAX; /* number of operations that end by themselves */
    bool holds        = false;    /* nothing ends by itself */
    bool broken       = false;    /* check() says so */
    unsigned reads    = 0;
    unsigned writes   = 0;
    unsigned connects = 0;
    bool loses_end    = false; /* a write that fails was done, and told */
    bool holds_news   = false; /* notifications are not told yet */
    bool loses_news   = false; /* ... nor when the way ends */

    /* A notification that nobody has caused, or not so. */
    void notify(uint32_t immediate, size_t length)
    {
        for (auto &one : all_ends()) {
            if (one.second->of == this) {
                m_news.push_back({one.first, immediate, length});
                break;
            }
        }
    }

protected:
    rdma(const ri_plane_ops_t *ops, unsigned capabilities, ri_plane_t **at)
    {
        m_state                     = new state();
        m_state->super.ops          = ops;
        m_state->super.capabilities = capabilities;
        m_state->super.notify_max   = 1ul << 20;
        m_state->super.peer_memory  = PEER_MEMORY;
        m_state->owner              = this;
        EXPECT_EQ(nullptr, *at);
        *at = &m_state->super;
    }

    struct state {
        ri_plane_t super;
        rdma *owner;
    };

    struct end {
        ri_plane_ep_t super;
        rdma *of;
        uint32_t id;
        uint32_t remote; /* 0: not connected */
        bool dead;
    };

    struct operation {
        end *way;
        ri_plane_op_t *op;
        bool is_write;
        std::vector<ri_segment_t> local, remote;
        std::vector<uint32_t> remote_keys;
        bool notify;
        uint32_t immediate;
    };

    /* A notification that has come, to an end */
    struct news {
        uint32_t end;
        uint32_t immediate;
        size_t length;
    };

    struct key {
        uint64_t address;
        size_t length;
    };

    static std::map<uint32_t, end *> &all_ends()
    {
        static std::map<uint32_t, end *> ends;

        return ends;
    }

    static rdma *of(ri_plane_t *super) { return reinterpret_cast<state *>(super)->owner; }
    static end *of(ri_plane_ep_t *super) { return reinterpret_cast<end *>(super); }

    static void close(ri_plane_t *super)
    {
        EXPECT_TRUE(of(super)->m_queue.empty());
        of(super)->m_closed = true;
        delete reinterpret_cast<state *>(super);
    }

    static ucs_status_t prepare(ri_plane_t *super, ri_plane_ep_t **ep)
    {
        static uint32_t id = 0;
        end *one;

        if (of(super)->prepare_status != UCS_OK) {
            return of(super)->prepare_status;
        }
        one = new end{{super, nullptr, of(super)->m_notified ? 32u : 0u, 0, 0},
                      of(super),
                      ++id,
                      0,
                      false};
        all_ends()[one->id] = one;
        *ep                 = &one->super;
        return UCS_OK;
    }

    static size_t ep_address(ri_plane_ep_t *ep, void *address)
    {
        memcpy(address, &of(ep)->id, sizeof(of(ep)->id));
        return sizeof(of(ep)->id);
    }

    static ucs_status_t connect(ri_plane_t *super, const void *address, size_t length,
                                ri_plane_ep_t **ep)
    {
        uint32_t id;

        EXPECT_EQ(0u, of(*ep)->remote) << "connected already";
        if ((of(super)->connect_status != UCS_OK) || (length != sizeof(id))) {
            return UCS_ERR_UNREACHABLE;
        }
        memcpy(&id, address, sizeof(id));
        of(*ep)->remote = id;
        ++of(super)->connects;
        return UCS_OK;
    }

    static void disconnect(ri_plane_ep_t *ep)
    {
        end *one   = of(ep);
        rdma *self = one->of;
        std::deque<operation> queue;

        if (self->loses_news) {
            self->m_news.erase(
                    std::remove_if(self->m_news.begin(), self->m_news.end(),
                                   [one](const news &n) { return n.end == one->id; }),
                    self->m_news.end());
            ++self->m_state->super.lost;
        }
        self->tell(one);
        queue.swap(self->m_queue);
        for (operation &o : queue) {
            if (o.way == one) {
                o.op->done(o.op, UCS_ERR_UNREACHABLE);
            } else {
                self->m_queue.push_back(o);
            }
        }
        all_ends().erase(one->id);
        delete one;
    }

    static ucs_status_t reg(ri_plane_t *super, void *address, size_t length,
                            ri_plane_memory_t *memory)
    {
        rdma *self = of(super);
        uint32_t number;

        if (self->bad_regs > 0) {
            --self->bad_regs;
            return UCS_ERR_NO_MEMORY;
        }
        if ((self->reg_status != UCS_OK) && (self->m_regs++ >= self->good_regs)) {
            return self->reg_status;
        }
        number               = ++self->m_last_key;
        self->m_keys[number] = {(uintptr_t)address, length};
        memory->registration = address;
        memory->local_key    = number;
        memory->remote_key   = number + 1000000;
        return UCS_OK;
    }

    static void release(ri_plane_t *super, ri_plane_memory_t *memory)
    {
        EXPECT_EQ(1u, of(super)->m_keys.erase(memory->local_key));
    }

    bool has_key(uint32_t number, const ri_segment_t &segment) const
    {
        auto found = m_keys.find(number);

        return (found != m_keys.end()) && (segment.address >= found->second.address) &&
               (segment.address + segment.length <=
                found->second.address + found->second.length);
    }

    static ucs_status_t read(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
    {
        ++of(ep)->of->reads;
        return transfer_data(ep, transfer, false);
    }

    static ucs_status_t write(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
    {
        ++of(ep)->of->writes;
        return transfer_data(ep, transfer, true);
    }

    static ucs_status_t listen(ri_plane_t *super, ri_plane_notified_func_t func)
    {
        of(super)->m_notified = func;
        return UCS_OK;
    }

    /* What has come for an end is told. */
    void tell(end *one)
    {
        for (size_t i = 0; i < m_news.size();) {
            if (m_news[i].end == one->id) {
                news n = m_news[i];

                m_news.erase(m_news.begin() + i);
                if (one->super.user != nullptr) {
                    m_notified(&one->super, n.immediate, n.length);
                }
            } else {
                ++i;
            }
        }
    }

    /* A list of a transfer, from its offset on */
    struct side {
        side(const ri_transfer_t *transfer, const ri_segment_t *list,
             const uint32_t *keys_of, size_t count)
        {
            uint64_t skip = transfer->offset;
            uint64_t left = transfer->length;

            for (size_t i = 0; i < count; ++i) {
                uint64_t out    = std::min<uint64_t>(skip, list[i].length);
                uint64_t length = std::min<uint64_t>(left, list[i].length - out);

                if (length > 0) {
                    segments.push_back({list[i].address + out, length});
                    keys.push_back(keys_of[i]);
                }
                skip -= out;
                left -= length;
            }
            EXPECT_EQ(0u, left);
        }

        std::vector<ri_segment_t> segments;
        std::vector<uint32_t> keys;
    };

    static ucs_status_t transfer_data(ri_plane_ep_t *ep, const ri_transfer_t *transfer,
                                      bool is_write)
    {
        end *one   = of(ep);
        rdma *self = one->of;
        operation o{one,
                    transfer->op,
                    is_write,
                    {},
                    {},
                    {},
                    transfer->notify && is_write,
                    transfer->immediate};

        EXPECT_NE(0u, one->remote);
        if (one->dead) {
            return UCS_ERR_UNREACHABLE;
        }
        if ((self->start_status != UCS_OK) && (self->good_starts-- == 0)) {
            self->good_starts = 0;
            return self->start_status;
        }
        side local(transfer, transfer->local, transfer->local_keys, transfer->num_local);
        side remote(transfer, transfer->remote, transfer->remote_keys,
                    transfer->num_remote);
        for (size_t i = 0; i < local.segments.size(); ++i) {
            EXPECT_TRUE(self->has_key(local.keys[i], local.segments[i]));
        }
        o.local    = local.segments;
        auto other = all_ends().find(one->remote);
        for (size_t i = 0; i < remote.segments.size(); ++i) {
            uint32_t key = remote.keys[i] - 1000000;

            self->m_wrong_keys += (other != all_ends().end()) &&
                                  !other->second->of->has_key(key, remote.segments[i]);
            o.remote_keys.push_back(key);
        }
        o.remote = remote.segments;
        self->m_queue.push_back(o);
        return UCS_INPROGRESS;
    }

    static ucs_status_t check(ri_plane_ep_t *ep)
    {
        return (of(ep)->dead || of(ep)->of->broken) ? UCS_ERR_UNREACHABLE : UCS_OK;
    }

    static void copy(const operation &o)
    {
        bytes data;
        size_t at = 0;

        for (const ri_segment_t &s : o.is_write ? o.local : o.remote) {
            const uint8_t *from = reinterpret_cast<const uint8_t *>(s.address);
            data.insert(data.end(), from, from + s.length);
        }
        for (const ri_segment_t &s : o.is_write ? o.remote : o.local) {
            size_t length = std::min<size_t>(s.length, data.size() - at);
            memcpy(reinterpret_cast<void *>(s.address), &data[at], length);
            at += length;
        }
    }

    /* Do it, and note what the other side is told. */
    static void execute(const operation &o, const end *other)
    {
        size_t length = 0;

        for (size_t i = 0; o.is_write && (i < o.remote.size()); ++i) {
            EXPECT_TRUE(other->of->has_key(o.remote_keys[i], o.remote[i]))
                    << "written, but handed back already";
            length += o.remote[i].length;
        }
        copy(o);
        if (o.notify && other->of->m_notified) {
            other->of->m_news.push_back({o.way->remote, o.immediate, length});
        }
    }

    unsigned tell_all()
    {
        size_t count = m_news.size();

        for (auto &one : all_ends()) {
            if (one.second->of == this) {
                tell(one.second);
            }
        }
        return count;
    }

    static unsigned progress(ri_plane_t *super)
    {
        rdma *self     = of(super);
        unsigned count = 0;

        while (!self->holds && !self->m_queue.empty() && (self->may_end > 0)) {
            operation o         = self->m_queue.front();
            auto other          = all_ends().find(o.way->remote);
            ucs_status_t status = ((other == all_ends().end()) || other->second->dead ||
                                   o.way->dead) ?
                                          UCS_ERR_UNREACHABLE :
                                  (self->m_wrong_keys > 0) ? UCS_ERR_INVALID_ADDR :
                                  (self->good_ends > 0)    ? UCS_OK :
                                                             self->end_status;

            self->m_queue.pop_front();
            self->good_ends -= (self->good_ends > 0);
            self->may_end -= (self->may_end != UINT_MAX);
            if ((status == UCS_OK) || (self->loses_end && (other != all_ends().end()) &&
                                       !other->second->dead && !o.way->dead)) {
                execute(o, other->second);
            }
            o.way->dead |= (status == UCS_ERR_UNREACHABLE);
            o.op->done(o.op, status);
            ++count;
        }
        return self->holds_news ? count : (count + self->tell_all());
    }

    static constexpr ri_plane_ops_t OPS = {
            "fake rdma", nullptr, close,   nullptr,  connect, disconnect, prepare,
            ep_address,  reg,     release, progress, read,    write,      check,
            nullptr,     nullptr, listen,  nullptr,  nullptr, nullptr};

    state *m_state;
    bool m_closed         = false;
    uint32_t m_last_key   = 0;
    unsigned m_regs       = 0;
    unsigned m_wrong_keys = 0;
    std::map<uint32_t, key> m_keys;
    std::deque<operation> m_queue;
    std::vector<news> m_news; /* that were not told yet */
    ri_plane_notified_func_t m_notified = nullptr;
};

} // namespace fake

#endif
