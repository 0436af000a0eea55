/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The link between two processes is cut while messages of each protocol are on their way: they
 * arrive all the same, and when it has been mended, those that follow go by it again. Only where
 * UCP_TEST_CUT and UCP_TEST_MEND are commands that do so: in test/check/gtest_ucp_cut.test for the
 * software HCA, in test/vm for the kernel's rxe, where queue pairs really try until they fail.
 */

#include "counter.h"
#include "peer.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace ucp_test;

namespace {

constexpr int LONG = 60; /* seconds; queue pairs try for 8 */

bool by_datagrams()
{
    const char *kind = getenv("UCXRI_IB_TRANSPORT");

    return (kind != nullptr) && !strcmp(kind, "ud");
}

/* One of the two, which do the same, but that the test cuts and mends. */
class cut_side {
public:
    static constexpr int ROUNDS = 200; /* by then each protocol has what it needs */

    cut_side(channel &ch, const transport &tr) : p(ch, tr) {}

    bool until(const std::function<bool()> &condition)
    {
        return poll_until(
                condition, [&] { return p.self().progress(); }, LONG);
    }

    /* One message of each kind each way. Before `cut` an early receive has been offered, and
     * the others' messages are there, but nobody has read them; `mend` runs with all under
     * way. Both sides call it. */
    void round(
            const std::function<void()> &cut  = [] {},
            const std::function<void()> &mend = [] {})
    {
        const size_t early   = 150000; /* into a receive that was there first */
        const size_t sizes[] = {early, 20000, 600000};
        std::vector<std::string> out, in;
        std::vector<op_ptr> ops(6);

        for (size_t size : sizes) {
            out.push_back(pattern(size, ++m_seed));
            in.emplace_back(size, '\0');
        }
        auto post = [&](int i) { ops[i] = recv(p.worker(), &in[i][0], sizes[i], i); };
        auto put  = [&](int i) { ops[3 + i] = send(p.ep(), out[i].data(), sizes[i], i); };
        post(0);
        put(1);
        put(2);
        for (int i : {1, 2}) {
            ucp_tag_recv_info_t info;

            ASSERT_TRUE(until([&] {
                return ucp_tag_probe_nb(p.worker(), i, TAG_FULL, 0, &info) != nullptr;
            }));
        }
        p.barrier();
        for (int i = 0; i < 1000; ++i) {
            p.self().progress(); /* the offer is taken in */
        }
        p.barrier();
        cut();
        p.barrier();
        put(0);
        post(1);
        post(2);
        mend();
        for (auto &o : ops) {
            ASSERT_TRUE(until([&] { return o->done(); }));
            EXPECT_EQ(UCS_OK, o->status());
        }
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(in[i] == out[i]) << "message " << i << " of seed " << m_seed;
        }
        p.barrier();
    }

    endpoint_pair p;

private:
    uint64_t m_seed = 0; /* the same ones both ways */
};

void cut_link_role(peer_env &env)
{
    cut_side other(env.ch, env.tr);

    while (env.ch.get() == "more") {
        other.round();
    }
    other.p.close();
}

peer_role cut_link_peer("cut_link", cut_link_role);

class test_cut_link : public transport_test {
protected:
    void SetUp() override
    {
        m_cut  = getenv("UCP_TEST_CUT");
        m_mend = getenv("UCP_TEST_MEND");
        if ((m_cut == nullptr) || (m_mend == nullptr)) {
            GTEST_SKIP() << "no link that can be cut";
        }
    }

    void TearDown() override
    {
        if (m_mend != nullptr) {
            run(m_mend);
        }
    }

    static void run(const char *command) { ASSERT_EQ(0, system(command)) << command; }

    /* What only goes by the link */
    static int64_t by_link(ucp_worker_h worker)
    {
        return counter(worker, "rx_read_bytes") + counter(worker, "ud_received") +
               counter(worker, "rtr_used");
    }

    const char *m_cut = nullptr, *m_mend = nullptr;
};

TEST_P(test_cut_link, messages_arrive)
{
    peer other("cut_link", GetParam());
    cut_side side(other.ch(), GetParam());
    ucp_worker_h worker = side.p.worker();
    auto count          = [&](const char *name) { return counter(worker, name); };

    auto is_used = [&] {
        return (count("rtr_used") > 0) && (count("tx_recv_rndv") > 0) &&
               (count(by_datagrams() ? "tx_ud" : "tx_hybrid") > 0);
    };

    for (int i = 0; !is_used() && !HasFailure() && (i < cut_side::ROUNDS); ++i) {
        other.ch().put("more");
        side.round();
    }
    ASSERT_FALSE(HasFailure());
    EXPECT_GT(count("rtr_used"), 0);
    EXPECT_GT(count("tx_recv_rndv"), 0);
    EXPECT_GT(count(by_datagrams() ? "tx_ud" : "tx_hybrid"), 0);

    /* Datagrams wait for the link to come back; queue pairs that have failed do not, so that
     * there it stays as it is until all has arrived. */
    int64_t failed = count("qp_failed"), reconnects = count("reconnects");
    int64_t asked  = count("ud_probes") + count("ud_nacks");
    int64_t by_ucp = count("rndv_fallback");
    other.ch().put("more");
    side.round([&] { run(m_cut); },
               [&] {
                   if (by_datagrams()) {
                       EXPECT_TRUE(side.until([&] {
                           return count("ud_probes") + count("ud_nacks") > asked;
                       }));
                       run(m_mend);
                   }
               });
    run(m_mend);
    ASSERT_FALSE(HasFailure());
    if (!by_datagrams()) {
        EXPECT_GT(count("qp_failed"), failed);
        /* What was written by the RTR may have come, though its sender does not know. */
        EXPECT_GE(count("rndv_fallback"), by_ucp + 2);
    }

    int64_t before = by_link(worker);
    auto end       = std::chrono::steady_clock::now() + std::chrono::seconds(LONG);
    auto is_back   = [&] {
        return (by_link(worker) > before) &&
               (by_datagrams() || (count("reconnects") > reconnects));
    };
    while (!is_back() && !HasFailure() && (std::chrono::steady_clock::now() < end)) {
        other.ch().put("more");
        side.round();
    }
    EXPECT_GT(by_link(worker), before);
    if (!by_datagrams()) {
        EXPECT_GT(count("reconnects"), reconnects);
    }
    other.ch().put("enough");
    side.p.close();
    other.finish();
}

INSTANTIATE_REMOTE_TRANSPORTS(test_cut_link);

} // namespace
