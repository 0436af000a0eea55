/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A data plane made by the test: both sides are in this process, so it copies. It fails when
 * the test says so, also in the middle of a copy, and counts what is done with it.
 */
#ifndef RI_TEST_FAKE_PLANE_H
#define RI_TEST_FAKE_PLANE_H

#include "fake_ucx.h"

namespace fake {

class plane {
public:
    /* Gives the worker of @a owner the plane; its end closes it. */
    explicit plane(node &owner, unsigned capabilities = 0)
    {
        static_assert(sizeof(state) > 0, "");
        m_state                     = new state();
        m_state->super.ops          = &OPS;
        m_state->super.capabilities = RI_PLANE_READ | RI_PLANE_LISTS | RI_PLANE_INLINE |
                                      capabilities;
        m_state->owner = this;
        EXPECT_EQ(nullptr, owner.worker()->plane);
        owner.worker()->plane = &m_state->super;
    }

    /* After the worker */
    ~plane()
    {
        EXPECT_EQ(connects, disconnects);
        EXPECT_TRUE(m_closed);
    }

    /* How the next ones end. What fails has moved @a move_before bytes. */
    ucs_status_t connect_status = UCS_OK;
    ucs_status_t read_status    = UCS_OK;
    size_t move_before          = 0;
    unsigned good_reads         = 0; /* that succeed before read_status counts */
    std::function<void()> on_read;
    ucs_status_t write_status = UCS_OK;
    unsigned good_writes      = 0;
    std::function<void()> on_write;
    bool gone = false; /* is the other process? */

    /* What was done. */
    unsigned connects    = 0; /* that succeeded */
    unsigned refusals    = 0;
    unsigned disconnects = 0;
    unsigned reads       = 0;
    unsigned writes      = 0;
    unsigned checks      = 0;
    unsigned withdrawals = 0;
    bool verified        = false; /* whether the latest read had to be */
    std::function<void()> on_withdraw;
    std::function<void()> on_close;
    bytes last_address;

    static constexpr uint8_t ADDRESS[] = {'f', 'a', 'k', 'e'};

private:
    struct state {
        ri_plane_t super;
        plane *owner;
    };

    static plane *of(ri_plane_t *super)
    {
        return reinterpret_cast<state *>(super)->owner;
    }

    static void close(ri_plane_t *super)
    {
        EXPECT_EQ(of(super)->connects, of(super)->disconnects);
        if (of(super)->on_close) {
            of(super)->on_close();
        }
        of(super)->m_closed = true;
        delete reinterpret_cast<state *>(super);
    }

    static size_t address(ri_plane_t *, void *address)
    {
        memcpy(address, ADDRESS, sizeof(ADDRESS));
        return sizeof(ADDRESS);
    }

    static ucs_status_t connect(ri_plane_t *super, const void *address, size_t length,
                                ri_plane_ep_t **ep)
    {
        plane *self       = of(super);
        const uint8_t *at = static_cast<const uint8_t *>(address);

        self->last_address.assign(at, at + length);
        if (self->connect_status != UCS_OK) {
            ++self->refusals;
            return self->connect_status;
        }
        ++self->connects;
        *ep          = new ri_plane_ep_t;
        (*ep)->plane = super;
        return UCS_OK;
    }

    static void disconnect(ri_plane_ep_t *ep)
    {
        ++of(ep->plane)->disconnects;
        delete ep;
    }

    /* The pieces of a list behind the offset, up to a length. */
    static std::vector<ri_segment_t> cut(const ri_segment_t *list, size_t count,
                                         size_t offset, size_t length)
    {
        std::vector<ri_segment_t> out;

        for (size_t i = 0; (i < count) && (length > 0); ++i) {
            size_t skip = std::min<size_t>(offset, list[i].length);
            size_t take = std::min<size_t>(list[i].length - skip, length);

            offset -= skip;
            length -= take;
            if (take > 0) {
                out.push_back({list[i].address + skip, take});
            }
        }
        EXPECT_EQ(0u, length) << "a list that is too short";
        return out;
    }

    static void copy(const std::vector<ri_segment_t> &to,
                     const std::vector<ri_segment_t> &from)
    {
        bytes data;

        for (const ri_segment_t &s : from) {
            const uint8_t *at = reinterpret_cast<const uint8_t *>(s.address);
            data.insert(data.end(), at, at + s.length);
        }
        const uint8_t *at = data.data();
        for (const ri_segment_t &s : to) {
            memcpy(reinterpret_cast<void *>(s.address), at, s.length);
            at += s.length;
        }
    }

    static ucs_status_t read(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
    {
        plane *self = of(ep->plane);
        bool fails  = (self->read_status != UCS_OK) && (self->reads >= self->good_reads);
        size_t left = fails ? std::min(self->move_before, transfer->length) :
                              transfer->length;

        ++self->reads;
        self->verified = transfer->verify;
        copy(cut(transfer->local, transfer->num_local, transfer->offset, left),
             cut(transfer->remote, transfer->num_remote, transfer->offset, left));
        ucs_status_t status = fails ? self->read_status : UCS_OK;
        if (self->on_read) {
            self->on_read();
        }
        return status;
    }

    static ucs_status_t write(ri_plane_ep_t *ep, const ri_transfer_t *transfer)
    {
        plane *self = of(ep->plane);
        bool fails  = (self->write_status != UCS_OK) &&
                     (self->writes >= self->good_writes);
        size_t left = fails ? std::min(self->move_before, transfer->length) :
                              transfer->length;

        ++self->writes;
        copy(cut(transfer->remote, transfer->num_remote, transfer->offset, left),
             cut(transfer->local, transfer->num_local, transfer->offset, left));
        ucs_status_t status = fails ? self->write_status : UCS_OK;
        if (self->on_write) {
            self->on_write();
        }
        return status;
    }

    static ucs_status_t check(ri_plane_ep_t *ep)
    {
        ++of(ep->plane)->checks;
        return of(ep->plane)->gone ? UCS_ERR_UNREACHABLE : UCS_OK;
    }

    static void withdraw(ri_plane_t *super)
    {
        ++of(super)->withdrawals;
        if (of(super)->on_withdraw) {
            of(super)->on_withdraw();
        }
    }

    static constexpr ri_plane_ops_t OPS = {
            "fake",  nullptr, close,   address, connect, disconnect, nullptr,
            nullptr, nullptr, nullptr, nullptr, read,    write,      check,
            nullptr, nullptr, nullptr, nullptr, nullptr, withdraw};

    state *m_state;
    bool m_closed = false;
};

} // namespace fake

#endif
