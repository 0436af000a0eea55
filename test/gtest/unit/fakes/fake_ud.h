/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A network that takes messages to where the other side has posted memory, within the process:
 * for tests of what protocols do with RI_PLANE_MESSAGES. Transfers end in progress, as the test
 * says: well, or not, or so that only one side knows.
 */
#ifndef RI_TEST_FAKE_UD_H
#define RI_TEST_FAKE_UD_H

#include "fake_rdma.h"

#include <algorithm>

extern "C" {
#include "uct/ib/ud/ud.h"
}

namespace fake {

class ud : public rdma {
public:
    explicit ud(node &owner)
        : rdma(&OPS, RI_PLANE_LISTS | RI_PLANE_KEYS | RI_PLANE_MESSAGES,
               &owner.worker()->net.ud)
    {
    }

    ~ud() { EXPECT_TRUE(m_transfers.empty()); }

    size_t transfers() const { return m_transfers.size(); }

    unsigned qps             = 64; /* transfers that are received at a time */
    ucs_status_t recv_status = UCS_OK;
    ucs_status_t send_status = UCS_OK; /* of the calls */
    ucs_status_t sent_status = UCS_OK; /* of sends; OK: as it is */
    ucs_status_t lost_status =
            UCS_OK;            /* not OK: how the receives end, as nothing arrives */
    bool delivers      = true; /* what is sent, and received then */
    bool acks          = true; /* the sender is told that it was received */
    unsigned reminders = 0;    /* that are worth while, before UCP has to tell it */
    unsigned reminded  = 0;
    std::vector<uint32_t> unheard_numbers;
    bool silent        = false; /* nothing has been heard of what is sent, with holds */
    unsigned withdrawn = 0;     /* offers that gave way */
    unsigned forgotten = 0;

    /* Transfers that have a queue pair here */
    size_t num_active() const
    {
        return std::count_if(m_transfers.begin(), m_transfers.end(), [](const auto &t) {
            return !t.is_send && !t.waiting && (t.status == UCS_INPROGRESS);
        });
    }

private:
    struct transfer {
        end *way;
        ri_ud_op_t *op;
        bool is_send;
        bool is_offer;
        bool waiting; /* for a queue pair */
        bool told;    /* that it has one */
        uint32_t number;
        std::vector<ri_segment_t> memory;
        uint64_t length;
        ucs_status_t status; /* INPROGRESS: it has not ended */
        bool is_lost;        /* there will be no acknowledgement */
        bool heard = false;  /* of its sender */
    };

    static ud *of(end *e) { return static_cast<ud *>(e->of); }
    static end *end_of(ri_plane_ep_t *super) { return reinterpret_cast<end *>(super); }

    transfer &begin(end *way, const ri_ud_list_t *list, ri_ud_op_t *op, bool is_send)
    {
        transfer t    = {way, op, is_send,      false,          false, true,
                         0,   {}, list->length, UCS_INPROGRESS, false};
        uint64_t left = list->length;

        for (size_t i = 0; i < list->count; ++i) {
            ri_segment_t s = list->segments[i];

            EXPECT_TRUE(has_key(list->keys[i], s));
            s.length = std::min<uint64_t>(s.length, left);
            left -= s.length;
            t.memory.push_back(s);
        }
        EXPECT_EQ(0u, left);
        op->transfer = op;
        m_transfers.push_back(t);
        return m_transfers.back();
    }

    void target(const transfer &t, ri_ud_target_t *out) const
    {
        *out            = {};
        out->qp         = 2;
        out->number     = t.number;
        out->granted    = 1;
        out->piece_size = 2048;
        out->length     = t.length;
    }

    static ucs_status_t recv(ri_plane_ep_t *ep, const ri_ud_list_t *list, int is_offer,
                             ri_ud_op_t *op, ri_ud_target_t *target)
    {
        end *way = end_of(ep);
        ud *self = of(way);

        if ((self->recv_status != UCS_OK) || way->dead) {
            return way->dead ? UCS_ERR_UNREACHABLE : self->recv_status;
        }
        bool full = self->num_active() >= self->qps;
        if (full && is_offer) {
            return UCS_ERR_NO_RESOURCE;
        }
        transfer &t = self->begin(way, list, op, false);
        t.number    = ++self->m_last;
        t.is_offer  = is_offer;
        t.waiting   = full;
        t.told      = !full;
        self->target(t, target);
        return full ? UCS_INPROGRESS : UCS_OK;
    }

    static ucs_status_t send(ri_plane_ep_t *ep, const ri_ud_list_t *list,
                             const ri_ud_target_t *target, ri_ud_op_t *op)
    {
        end *way = end_of(ep);
        ud *self = of(way);

        if ((target->qp != 2) || (target->length != list->length)) {
            return UCS_ERR_INVALID_PARAM;
        }
        if ((self->send_status != UCS_OK) || way->dead) {
            return way->dead ? UCS_ERR_UNREACHABLE : self->send_status;
        }
        self->begin(way, list, op, true).number = target->number;
        return UCS_INPROGRESS;
    }

    static transfer *of_op(ri_ud_op_t *op)
    {
        for (auto &e : all_ends()) {
            for (transfer &t : of(e.second)->m_transfers) {
                if (t.op == op) {
                    return &t;
                }
            }
        }
        return nullptr;
    }

    static void end_now(transfer &t, ucs_status_t status)
    {
        t.status    = status;
        t.op->heard = t.heard;
        t.memory.clear();
    }

    static void cancel(ri_ud_op_t *op)
    {
        transfer *t = of_op(op);

        if ((t != nullptr) && (t->status == UCS_INPROGRESS)) {
            end_now(*t, UCS_ERR_CANCELED);
        }
    }

    static int revoke(ri_ud_op_t *op)
    {
        transfer *t = of_op(op);

        EXPECT_NE(nullptr, t);
        if (t->heard) {
            return 0;
        }
        cancel(op);
        return 1;
    }

    static void claim(ri_ud_op_t *op)
    {
        EXPECT_TRUE(of_op(op)->is_offer);
        of_op(op)->is_offer = false;
    }

    static void forget(ri_plane_ep_t *ep, uint32_t) { ++of(end_of(ep))->forgotten; }

    static unsigned unheard(ri_plane_ep_t *ep, uint32_t *numbers, unsigned max)
    {
        const auto &list = of(end_of(ep))->unheard_numbers;

        std::copy_n(list.begin(), std::min<size_t>(max, list.size()), numbers);
        return list.size();
    }

    static int remind(ri_plane_ep_t *ep)
    {
        ud *self = of(end_of(ep));

        return self->reminded++ < self->reminders;
    }

    static void heard(ri_plane_ep_t *ep, uint32_t number)
    {
        end *way = end_of(ep);

        for (transfer &t : of(way)->m_transfers) {
            if (t.is_send && (t.way == way) && (t.number == number) &&
                (t.status == UCS_INPROGRESS)) {
                t.status = UCS_OK;
            }
        }
    }

    static const ri_ud_counters_t *counters(const ri_plane_t *)
    {
        static const ri_ud_counters_t none = {};

        return &none;
    }

    transfer *find(const transfer &sent)
    {
        auto other = all_ends().find(sent.way->remote);

        if ((other == all_ends().end()) || other->second->dead) {
            return nullptr;
        }
        for (transfer &t : of(other->second)->m_transfers) {
            if (!t.is_send && (t.way == other->second) && (t.number == sent.number) &&
                (t.status == UCS_INPROGRESS)) {
                return &t;
            }
        }
        return nullptr;
    }

    /* What was sent arrives. */
    void run(transfer &sent)
    {
        transfer *t = find(sent);

        if ((t != nullptr) && delivers) {
            bytes data;
            size_t at = 0;

            for (const ri_segment_t &s : sent.memory) {
                const uint8_t *from = reinterpret_cast<const uint8_t *>(s.address);
                data.insert(data.end(), from, from + s.length);
            }
            for (const ri_segment_t &s : t->memory) {
                memcpy(reinterpret_cast<void *>(s.address), &data[at], s.length);
                at += s.length;
            }
            t->status    = UCS_OK;
            t->heard     = true;
            t->op->heard = true;
            if (!acks) {
                of(t->way)->unheard_numbers.push_back(t->number);
                sent.is_lost = true;
            }
        } else if ((t != nullptr) && (of(t->way)->lost_status != UCS_OK)) {
            t->status   = of(t->way)->lost_status;
            sent.status = UCS_ERR_CANCELED;
            return;
        }
        if (sent.is_lost) {
            return;
        }
        sent.status = (sent_status != UCS_OK) ? sent_status :
                      (t == nullptr)          ? UCS_ERR_CANCELED :
                      delivers                ? UCS_OK :
                                                UCS_ERR_UNREACHABLE;
    }

    unsigned tell(const end *only)
    {
        unsigned count = 0;

        for (auto i = m_transfers.begin(); i != m_transfers.end();) {
            if ((i->status != UCS_INPROGRESS) &&
                ((only == nullptr) || (i->way == only))) {
                transfer t = *i;

                m_transfers.erase(i);
                t.op->done(t.op, t.status);
                ++count;
                i = m_transfers.begin(); /* it may have begun or ended others */
            } else {
                ++i;
            }
        }
        return count;
    }

    /* One waits: the oldest offer that nobody has used gives way. */
    void make_room()
    {
        bool waits = std::any_of(m_transfers.begin(), m_transfers.end(), [](auto &t) {
            return t.waiting && (t.status == UCS_INPROGRESS);
        });

        for (transfer &t : m_transfers) {
            if (waits && (num_active() >= qps) && t.is_offer && !t.heard &&
                (t.status == UCS_INPROGRESS)) {
                end_now(t, UCS_ERR_CANCELED);
                ++withdrawn;
            }
        }
    }

    void serve()
    {
        make_room();
        for (transfer &t : m_transfers) {
            if (t.waiting && (t.status == UCS_INPROGRESS) && (num_active() < qps)) {
                ri_ud_target_t to;

                t.waiting = false;
                target(t, &to);
                t.op->ready(t.op, &to);
                break; /* the list may be another one */
            }
        }
    }

    static unsigned progress(ri_plane_t *super)
    {
        ud *self = static_cast<ud *>(reinterpret_cast<state *>(super)->owner);

        for (transfer &t : self->m_transfers) {
            transfer *there = t.is_send ? self->find(t) : nullptr;

            if ((there != nullptr) && !(self->holds && self->silent)) {
                there->heard = true;
            }
            if (!self->holds && t.is_send && (t.status == UCS_INPROGRESS)) {
                self->run(t);
            }
        }
        self->serve();
        return self->tell(nullptr);
    }

    static void disconnect(ri_plane_ep_t *super)
    {
        end *way = end_of(super);
        ud *self = of(way);

        for (transfer &t : self->m_transfers) {
            if ((t.way == way) && (t.status == UCS_INPROGRESS)) {
                end_now(t, UCS_ERR_UNREACHABLE);
            }
        }
        self->tell(way);
        rdma::disconnect(super);
    }

    static constexpr ri_ud_ops_t UD_OPS = {recv,   send,    cancel, revoke, claim,
                                           forget, unheard, remind, heard,  counters};

    static constexpr ri_plane_ops_t OPS = {
            "fake ud",  nullptr, close,   nullptr,  connect, disconnect, prepare,
            ep_address, reg,     release, progress, nullptr, nullptr,    check,
            nullptr,    nullptr, nullptr, nullptr,  &UD_OPS, nullptr};

    uint32_t m_last = 0;
    std::list<transfer> m_transfers;
};

} // namespace fake

#endif
