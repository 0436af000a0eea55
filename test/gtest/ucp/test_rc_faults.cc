/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages between two processes by the plane rc, each protocol in turn, while work requests and
 * their queue pairs fail, or the device tells of failures: each message arrives once and as it was
 * sent, whatever moves it in the end, and its send ends well. Only with the library on the software
 * HCA (test/check/gtest_ucp_rc.test).
 */

#include "counter.h"
#include "peer.h"
#include "variables.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace ucp_test;

namespace {

/* How messages go when nothing fails. */
struct scheme {
    const char *name;
    const char *settings; /* NAME=VALUE of the library, without "UCXRI_" */
    const char *way;      /* counter of the sender's: messages went so */
};

const scheme SCHEMES[] = {
        {"get", "SENDER_SCHEME=get HYBRID_THRESH=0 RTR=n IB_EAGER_PEERS=0", "tx_rndv"},
        {"put", "SENDER_SCHEME=put HYBRID_THRESH=0 RTR=n IB_EAGER_PEERS=0", "tx_put"},
        {"hybrid", "HYBRID_THRESH=256k POOL_SIZE=8m RTR=n IB_EAGER_PEERS=0", "tx_hybrid"},
        {"rtr", "HYBRID_THRESH=0 RTR=y IB_EAGER_PEERS=0", "tx_recv_rndv"},
        {"channel",
         "HYBRID_THRESH=16k RTR=y IB_EAGER_PEERS=8 IB_EAGER_AFTER=4 IB_EAGER_SIZE=8k "
         "IB_EAGER_MAX=2k",
         "tx_eager_rdma"}};

/* What goes wrong, in both processes. */
struct fault {
    const char *name;
    const char *faults; /* SOFTHCA_FAULTS */
    const char *goals;  /* counter, value, ...: each process goes on so far */
    bool all;           /* with all schemes, or one */
};

const char *const MADE_AGAIN = "qp_failed 3 reconnects 3";

const fault FAULTS[] = {
        {"retries_exceeded", "rc_kill=5%,rc_status=12", MADE_AGAIN, true},
        {"always", "rc_kill=100%", "qp_failed 8", false}, /* no more are made then */
        {"event_qp_fatal", "event_after=10/1", MADE_AGAIN, true},
        {"moved", "move_after=10", MADE_AGAIN, true},
        {"event_cq_err", "event_after=40/0", "planes_failed 1", true},
        {"event_device_fatal", "event_after=40/8", "planes_failed 1", true},
        {"access_refused", "rc_kill=5%,rc_status=10", MADE_AGAIN, false},
        {"receiver_not_ready", "rnr=20%", "", false},
        {"event_qp_req_err", "event_after=10/2", MADE_AGAIN, false},
        {"event_qp_access_err", "event_after=10/3", MADE_AGAIN, false},
        {"event_port_err", "event_after=10/10", "", false}};

struct which {
    size_t scheme, fault;
};

std::ostream &operator<<(std::ostream &os, const which &w)
{
    return os << SCHEMES[w.scheme].name << " " << FAULTS[w.fault].name;
}

struct setup : which {
    unsigned seed;
    int number; /* of the process: 0 or 1 */
};

std::ostream &operator<<(std::ostream &os, const setup &s)
{
    return os << s.scheme << " " << s.fault << " " << s.seed << " " << s.number;
}

std::istream &operator>>(std::istream &is, setup &s)
{
    return is >> s.scheme >> s.fault >> s.seed >> s.number;
}

using round_clock = std::chrono::steady_clock;
using seconds     = std::chrono::duration<double>;

constexpr int ROUNDS_MIN  = 15; /* then until there were enough failures, for some time */
constexpr int DEPTH       = 6;  /* messages of a round, each way */
constexpr ucp_tag_t GO_ON = 100;

const transport &set_up_faults(const setup &s, const transport &tr)
{
    setenv("SOFTHCA_FAULTS", FAULTS[s.fault].faults, 1);
    setenv("SOFTHCA_SEED", std::to_string(s.seed).c_str(), 1);
    set_variables(
            "CMA=n RING_PEERS=0 IB_DEVICES=softhca0 EAGER_THRESH=2k LOG_LEVEL=error");
    set_variables(SCHEMES[s.scheme].settings);
    return tr;
}

/* What one process sends in a round: both know. */
struct batch {
    batch(const setup &s, int sender, int round)
        : rng(s.seed * 1000003 + round * 2 + sender), early(rng() % (DEPTH + 1))
    {
        static const size_t sizes[] = {8, 1500, 3000, 20000, 70001, 150000};

        for (int i = 0; i < DEPTH; ++i) {
            lengths.push_back(sizes[rng() % 6]);
            tags.push_back(1 + rng() % 3);
            room.push_back(lengths[i] + (rng() % 3) * 100);
            sync.push_back(rng() % 4 == 0);
        }
    }

    std::mt19937 rng;
    int early; /* number of receives that are posted before anything is sent */
    std::vector<size_t> lengths, room;
    std::vector<ucp_tag_t> tags;
    std::vector<bool> sync;
};

class faults_side {
public:
    faults_side(peer_env &env, const setup &s)
        : m_setup(s), m_ch(env.ch), m_entity(set_up_faults(s, env.tr), entity_params())
    {
        m_ch.put(m_entity.address());
        m_ep = m_entity.connect(m_ch.get());
    }

    void run()
    {
        bool more = true;
        int round = 0;

        for (; more; ++round) {
            more = go(round) || (round + 1 < ROUNDS_MIN);
            exchange(round);
            linger();
        }
        m_ch.put(report(round));
    }

    /* With what is under way at the other side */
    void end()
    {
        await_word("close");
        ucs_status_ptr_t ret = m_entity.close_nbx(m_ep);
        if (UCS_PTR_IS_PTR(ret)) {
            wait([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
                 "close");
            ucp_request_free(ret);
        }
        m_ch.put("closed");
        await_word("end");
        EXPECT_EQ(0, counter(m_entity.worker(), "held_bytes"));
        EXPECT_EQ(0, counter(m_entity.worker(), "pool_bytes"));
        EXPECT_EQ(0, counter(m_entity.worker(), "rx_malformed"));
        m_entity.destroy_worker();
    }

private:
    void wait(const std::function<bool()> &condition, const std::string &what)
    {
        if (!poll_until(condition, [this] { return m_entity.progress(); })) {
            throw failure("timeout while waiting for " + what);
        }
    }

    void await_word(const std::string &word)
    {
        wait([this] { return m_ch.readable(); }, word);
        EXPECT_EQ(word, m_ch.get());
    }

    bool wants_more()
    {
        std::istringstream in(FAULTS[m_setup.fault].goals);
        std::string name;
        int64_t value;

        while (in >> name >> value) {
            if (counter(m_entity.worker(), name.c_str()) < value) {
                return round_clock::now() < m_end;
            }
        }
        return false;
    }

    /* Events are looked for every some thousand calls. */
    void linger()
    {
        for (int i = 0; i < 1000; ++i) {
            m_entity.progress();
        }
    }

    /* Those receives of a round that are early are posted by both. @return Whether either side
     * wants another round. */
    bool go(int round)
    {
        uint64_t mine = wants_more(), other = 0;
        batch in(m_setup, 1 - m_setup.number, round);

        for (int i = 0; i < in.early; ++i) {
            post(in, i);
        }
        op_ptr r = recv(m_entity.worker(), &other, sizeof(other), GO_ON);
        op_ptr s = send(m_ep, &mine, sizeof(mine), GO_ON);
        wait([&] { return r->done() && s->done(); }, "the other process");
        return (mine != 0) || (other != 0);
    }

    void post(const batch &in, int i)
    {
        m_in.emplace_back(new received(in.room[i]));
        m_in[i]->op = recv(m_entity.worker(), m_in[i]->buffer.data(), in.room[i],
                           in.tags[i]);
    }

    static uint64_t seed_of(int sender, int round, int i)
    {
        return (round * DEPTH + i) * 2 + sender;
    }

    void exchange(int round)
    {
        int me = m_setup.number;
        batch in(m_setup, 1 - me, round), out(m_setup, me, round);
        std::vector<std::string> data;
        std::vector<op_ptr> sends;

        for (int i = 0; i < DEPTH; ++i) {
            data.push_back(pattern(out.lengths[i], seed_of(me, round, i)));
        }
        for (int i = 0; i < DEPTH; ++i) {
            auto start = out.sync[i] ? &ucp_test::send_sync : &ucp_test::send;
            sends.push_back(start(m_ep, data[i].data(), data[i].size(), out.tags[i]));
        }
        for (int i = in.early; i < DEPTH; ++i) {
            post(in, i);
        }
        for (int i = 0; i < DEPTH; ++i) {
            std::string what = "message " + std::to_string(i) + " of round " +
                               std::to_string(round);

            wait([&] { return m_in[i]->op->done(); }, what);
            check(*m_in[i], in.lengths[i], seed_of(1 - me, round, i), what);
            wait([&] { return sends[i]->done(); }, "the send of " + what);
            EXPECT_EQ(UCS_OK, sends[i]->status()) << "the send of " << what;
        }
        m_in.clear();
    }

    struct received {
        explicit received(size_t size) : buffer(size) {}
        guarded_buffer buffer;
        op_ptr op;
    };

    static void check(received &r, size_t length, uint64_t seed, const std::string &what)
    {
        EXPECT_EQ(UCS_OK, r.op->status()) << what;
        EXPECT_EQ(length, r.op->info().length) << what;
        expect_pattern(r.buffer.data(), length, seed, what);
        r.buffer.expect_guard_intact();
    }

    std::string report(int rounds)
    {
        std::ostringstream out;

        out << "rounds " << rounds;
        for (const char *name :
             {"tx_rndv", "tx_put", "tx_hybrid", "tx_recv_rndv", "tx_eager_rdma",
              "tx_bulk", "tx_again", "rndv_fallback", "planes_failed", "qp_created",
              "qp_failed", "reconnects"}) {
            out << " " << name << " " << counter(m_entity.worker(), name);
        }
        return out.str();
    }

    const round_clock::time_point m_end =
            round_clock::now() +
            std::chrono::duration_cast<round_clock::duration>(seconds(deadline_sec()));
    const setup m_setup;
    channel &m_ch;
    entity m_entity;
    ucp_ep_h m_ep;
    std::vector<std::unique_ptr<received>> m_in;
};

void rc_faults_role(peer_env &env)
{
    setup s;

    std::istringstream(env.arg) >> s;
    faults_side me(env, s);
    me.run();
    me.end();
}

peer_role rc_faults_peer("rc_faults", rc_faults_role);

/* Of a report. */
int64_t value_of(const std::string &report, const std::string &name)
{
    std::istringstream in(report);
    std::string word;
    int64_t value;

    while (in >> word >> value) {
        if (word == name) {
            return value;
        }
    }
    return -1;
}

class test_rc_faults : public ::testing::TestWithParam<which> {
protected:
    void SetUp() override
    {
        const char *preload = getenv("LD_PRELOAD"), *kind = getenv("UCXRI_IB_TRANSPORT");
        const char *devices = getenv("UCXRI_IB_DEVICES");

        if ((preload == nullptr) || (strstr(preload, "libucxri") == nullptr) ||
            (strstr(preload, "softhca") == nullptr) || (devices == nullptr) ||
            ((kind != nullptr) && (strcmp(kind, "ud") == 0))) {
            GTEST_SKIP() << "needs the library on the software HCA";
        }
    }

    static void run(const which &what, unsigned seed)
    {
        std::vector<std::unique_ptr<peer>> peers;
        std::string reports[2];

        SCOPED_TRACE("seed " + std::to_string(seed));
        for (int i = 0; i < 2; ++i) {
            std::ostringstream text;
            text << setup{what, seed, i};
            peers.emplace_back(new peer("rc_faults", SHM, text.str()));
        }
        std::string address = peers[0]->ch().get();
        peers[0]->ch().put(peers[1]->ch().get());
        peers[1]->ch().put(address);
        for (int i = 0; i < 2; ++i) {
            reports[i] = await(*peers[i]);
            if (getenv("UCP_TEST_VERBOSE") != nullptr) {
                printf("%s\n", reports[i].c_str());
            }
        }
        for (const char *word : {"close", "end"}) {
            for (auto &p : peers) {
                p->ch().put(word);
            }
            if (!strcmp(word, "close")) {
                for (auto &p : peers) {
                    EXPECT_EQ("closed", await(*p));
                }
            }
        }
        for (auto &p : peers) {
            p->finish();
        }
        check(reports, SCHEMES[what.scheme], FAULTS[what.fault]);
    }

    static std::string await(peer &p)
    {
        poll_until([&] { return p.ch().readable(); }, [] { return usleep(1000), 0; },
                   3 * deadline_sec());
        return p.ch().get();
    }

    static void check(const std::string *reports, const scheme &s, const fault &f)
    {
        bool killed      = (strstr(f.faults, "rc_kill") != nullptr);
        int64_t replaced = 0;

        for (int i = 0; i < 2; ++i) {
            SCOPED_TRACE(reports[i]);
            std::istringstream goals(f.goals);
            std::string name;
            int64_t value;

            while (goals >> name >> value) {
                EXPECT_GE(value_of(reports[i], name), value) << name;
            }
            if (f.goals == MADE_AGAIN) { /* and not at once given up for good */
                EXPECT_GT(value_of(reports[i], s.way), 0) << s.way;
            }
            replaced += value_of(reports[i], "rndv_fallback") +
                        value_of(reports[i], "tx_again");
        }
        EXPECT_TRUE(!killed || (replaced > 0)) << "what failed had to go by UCP";
    }
};

TEST_P(test_rc_faults, messages_arrive)
{
    const char *seed = getenv("UCP_TEST_SEED");

    run(GetParam(), (seed == nullptr) ? 1 : strtoul(seed, nullptr, 0));
}

std::vector<which> all_cases()
{
    std::vector<which> cases;

    for (size_t s = 0; s < std::size(SCHEMES); ++s) {
        for (size_t f = 0; f < std::size(FAULTS); ++f) {
            if (FAULTS[f].all || !strcmp(SCHEMES[s].name, "rtr")) {
                cases.push_back({s, f});
            }
        }
    }
    return cases;
}

INSTANTIATE_TEST_SUITE_P(rdma, test_rc_faults, ::testing::ValuesIn(all_cases()),
                         [](const ::testing::TestParamInfo<which> &info) {
                             return std::string(SCHEMES[info.param.scheme].name) + "_" +
                                    FAULTS[info.param.fault].name;
                         });

} // namespace
