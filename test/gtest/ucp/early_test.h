/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two entities that know of each other what it takes to offer receives before their messages,
 * and receives and messages whose data tells which they are.
 */
#ifndef RI_TEST_EARLY_TEST_H
#define RI_TEST_EARLY_TEST_H

#include "counter.h"
#include "ucp_test.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ucp_test {

class early_test : public transport_test {
protected:
    static constexpr size_t EAGER  = 1000;
    static constexpr size_t MEDIUM = 20000;
    static constexpr size_t LARGE  = 150000;
    static constexpr size_t HUGE   = 600000;

    void SetUp() override
    {
        make_pair();
        m_ep = ab();
        teach(m_ep, a());
        m_taught = take_rtrs();
    }

    /* Messages of the tags used here, in both directions, until the library knows who sends
     * them and how to reach that process: where RTRs can be used, until one was. */
    void teach(ucp_ep_h ep, entity &from)
    {
        ucp_ep_h back = (&from == &a()) ? ba() : b().connect(from);
        int64_t used  = counter(b().worker(), "rtr_used");

        teach_rounds(ep, from, back);
        if (has_rtrs()) {
            poll_until([&] { return counter(b().worker(), "rtr_used") > used; },
                       [&] {
                           teach_rounds(ep, from, back);
                           return 0;
                       });
        }
    }

    void teach_rounds(ucp_ep_h ep, entity &from, ucp_ep_h back)
    {
        const int ROUNDS = 8;
        std::string in(LARGE, '\0'), out(LARGE, 'x');

        for (int round = 0; round < ROUNDS; ++round) {
            bool is_last = (round == ROUNDS - 1);

            for (ucp_tag_t tag : {1, 2, 3, 4}) {
                op_ptr r = recv(b().worker(), &in[0], LARGE, tag);
                if (is_last && has_network_rtrs()) {
                    /* There is a way, and the RTR comes before the message. */
                    arrive(from, back);
                }
                op_ptr s = send(ep, out.data(), LARGE, tag);
                wait(*r);
                wait(*s);
                op_ptr r2 = recv(from.worker(), &in[0], 8, 99);
                op_ptr s2 = send(back, out.data(), 8, 99);
                wait(*r2);
                wait(*s2);
            }
        }
    }

    /* What b has sent before is there, on a slow link, too: a long message, whose offer takes the
     * way of RTRs, has come after them. */
    void arrive(entity &to, ucp_ep_h back)
    {
        static const ucp_tag_t TAG = 98;
        std::string out(LARGE, 'y'), in(LARGE, '\0');

        op_ptr s = send(back, out.data(), LARGE, TAG);
        wait_unexpected(to, TAG, TAG_FULL);
        op_ptr r = recv(to.worker(), &in[0], LARGE, TAG);
        wait(*r);
        wait(*s);
    }

    /* Nothing moves any more, and RTRs have come. */
    void calm_down()
    {
        base_fixture::calm_down();
        if (has_network_rtrs()) {
            arrive(a(), ba());
        }
    }

    struct receive {
        explicit receive(size_t size) : buffer(size) {}
        guarded_buffer buffer;
        op_ptr req;
    };

    struct message {
        std::string data;
        uint64_t seed;
        op_ptr req;
    };

    receive &post(size_t size, ucp_tag_t tag, ucp_tag_t mask = TAG_FULL)
    {
        m_receives.emplace_back(new receive(size));
        receive &r = *m_receives.back();
        r.req      = recv(b().worker(), r.buffer.data(), size, tag, mask);
        return r;
    }

    message &put(size_t size, ucp_tag_t tag, bool sync = false)
    {
        return put_on(m_ep, size, tag, sync);
    }

    message &put_on(ucp_ep_h ep, size_t size, ucp_tag_t tag, bool sync = false)
    {
        m_messages.emplace_back(new message);
        message &m = *m_messages.back();
        m.seed     = m_messages.size();
        m.data     = pattern(size, m.seed);
        m.req      = sync ? send_sync(ep, m.data.data(), size, tag) :
                            send(ep, m.data.data(), size, tag);
        return m;
    }

    /* A receive that is complete has got exactly that message. */
    static void check(receive &r, const message &m)
    {
        EXPECT_EQ(m.data.size(), r.req->info().length);
        if (m.data.size() > r.buffer.size()) {
            EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r.req->status());
        } else {
            EXPECT_EQ(UCS_OK, r.req->status());
            expect_pattern(r.buffer.data(), m.data.size(), m.seed);
        }
        r.buffer.expect_guard_intact();
    }

    void expect(receive &r, message &m)
    {
        wait(*r.req, "receive");
        wait(*m.req, "send");
        EXPECT_EQ(UCS_OK, m.req->status());
        check(r, m);
    }

    /* What the receiver's RTRs came to since the last call; all 0 without the library. */
    struct rtrs {
        int64_t sent, used;
    };

    rtrs take_rtrs()
    {
        rtrs now = {counter(b().worker(), "rtr_sent"), counter(b().worker(), "rtr_used")};
        rtrs diff = {now.sent - m_last.sent, now.used - m_last.used};

        m_last = now;
        return diff;
    }

    static bool is_set(const char *name, const char *value)
    {
        const char *is = getenv(name);

        return (is != nullptr) && !strcmp(is, value);
    }

    /* Whether the library is there and has to offer each receive (left to itself it sends no RTR
     * while the receiver does nothing but wait), and has what that takes: two workers, and a way
     * from one to the other. */
    bool has_rtrs()
    {
        const char *preload = getenv("LD_PRELOAD");

        /* On a real network, or one at fault, a message may be sent before the RTR has come. */
        return has_local_rtrs() ||
               (has_network_rtrs() && (getenv("SOFTHCA_FAULTS") == nullptr) &&
                (preload != nullptr) && (strstr(preload, "softhca") != nullptr));
    }

    /* By rings, into memory that another process may read */
    bool has_local_rtrs()
    {
        char there = 1, here = 0;
        iovec local = {&here, 1}, remote = {&there, 1};

        return may_offer() && !is_set("UCXRI_RING_PEERS", "0") &&
               !is_set("UCXRI_CMA", "n") &&
               (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1);
    }

    /* Through a network */
    bool has_network_rtrs()
    {
        return may_offer() && is_set("UCXRI_CMA", "n") &&
               (getenv("UCXRI_IB_DEVICES") != nullptr);
    }

    /* ... as datagrams: an RTR is used by a message of its receive's length that is sent when it
     * has come, and by no other. */
    static bool by_datagrams()
    {
        return is_set("UCXRI_CMA", "n") && is_set("UCXRI_IB_TRANSPORT", "ud");
    }

    bool may_offer()
    {
        return (counter(b().worker(), "rtr_sent") >= 0) && is_set("UCXRI_RTR", "y") &&
               !GetParam().is_self();
    }

    ucp_ep_h m_ep = nullptr;
    rtrs m_last = {}, m_taught = {};
    std::vector<std::unique_ptr<receive>> m_receives;
    std::vector<std::unique_ptr<message>> m_messages;
};

} // namespace ucp_test

#endif
