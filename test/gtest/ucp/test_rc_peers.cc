/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * One process and several peers by the plane rc: how many of them have a queue pair, which go by
 * datagrams, and what becomes of queue pairs that nobody uses. Only with the library on the
 * software HCA (test/check/gtest_ucp_rc.test).
 */

#include "counter.h"
#include "peer.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace ucp_test;

namespace {

constexpr size_t RC_LENGTH = 20000;
constexpr int PEERS        = 3;
constexpr int RC_MESSAGES  = 6; /* the first ones make the way */

const transport &set_up_rc(const peer_env &env)
{
    std::istringstream in("CMA=n RING_PEERS=0 IB_DEVICES=softhca0 HYBRID_THRESH=0 RTR=n "
                          "SENDER_SCHEME=get IB_EAGER_PEERS=0 " +
                          env.arg);
    std::string item;

    while (in >> item) {
        size_t at = item.find('=');
        setenv(("UCXRI_" + item.substr(0, at)).c_str(), item.c_str() + at + 1, 1);
    }
    return env.tr;
}

/* Does what the test says, one thing after the other, and progresses meanwhile. */
class rc_side {
public:
    explicit rc_side(peer_env &env)
        : m_ch(env.ch), m_entity(set_up_rc(env), entity_params())
    {
        m_ch.put(m_entity.address());
    }

    void run()
    {
        std::string word, name;

        while (word != "end") {
            wait([this] { return m_ch.readable(); }, "a command");
            std::istringstream in(m_ch.get());
            in >> word;
            if (word == "connect") {
                m_eps.push_back(m_entity.connect(m_ch.get()));
            } else if (word == "send") {
                size_t to;
                in >> to;
                std::string data = pattern(RC_LENGTH, ++m_sent[to]);
                finish(send(m_eps.at(to), data.data(), RC_LENGTH, 1));
            } else if (word == "receive") {
                std::string data(RC_LENGTH, '\0');
                finish(recv(m_entity.worker(), &data[0], RC_LENGTH, 1));
                EXPECT_TRUE(data == pattern(RC_LENGTH, ++m_received));
            } else if (word == "until") {
                int64_t value;
                in >> name >> value;
                wait([&] { return count(name) >= value; }, name);
            }
            m_ch.put((word == "count") && (in >> name) ? std::to_string(count(name)) :
                                                         "done");
        }
    }

private:
    int64_t count(const std::string &name)
    {
        return counter(m_entity.worker(), name.c_str());
    }

    void wait(const std::function<bool()> &condition, const std::string &what)
    {
        if (!poll_until(condition, [this] { return m_entity.progress(); })) {
            throw failure("timeout while waiting for " + what);
        }
    }

    void finish(const op_ptr &o)
    {
        wait([&] { return o->done(); }, "a message");
        EXPECT_EQ(UCS_OK, o->status());
    }

    channel &m_ch;
    entity m_entity;
    std::vector<ucp_ep_h> m_eps;
    uint64_t m_sent[PEERS] = {}, m_received = 0;
};

void rc_peers_role(peer_env &env)
{
    rc_side(env).run();
}

peer_role rc_peers_peer("rc_peers", rc_peers_role);

class test_rc_peers : public ::testing::Test {
protected:
    void SetUp() override
    {
        const char *preload = getenv("LD_PRELOAD"), *kind = getenv("UCXRI_IB_TRANSPORT");

        if ((preload == nullptr) || (strstr(preload, "libucxri") == nullptr) ||
            (strstr(preload, "softhca") == nullptr) ||
            (getenv("UCXRI_IB_DEVICES") == nullptr) ||
            ((kind != nullptr) && (strcmp(kind, "ud") == 0))) {
            GTEST_SKIP() << "needs the library on the software HCA";
        }
    }

    /* The last one is in the middle; more settings of that one. */
    void start(const std::string &settings, const std::string &more = "")
    {
        std::string address[PEERS + 1];

        for (int i = 0; i <= PEERS; ++i) {
            m_peers.emplace_back(
                    new peer("rc_peers", SHM, settings + (i == PEERS ? " " + more : "")));
            address[i] = m_peers[i]->ch().get();
        }
        for (int i = 0; i < PEERS; ++i) {
            connect(PEERS, address[i]);
            connect(i, address[PEERS]);
        }
    }

    void end()
    {
        for (auto &p : m_peers) {
            p->ch().put("end");
        }
        for (auto &p : m_peers) {
            EXPECT_EQ("done", p->ch().get());
            p->finish();
        }
    }

    void connect(int who, const std::string &address)
    {
        m_peers[who]->ch().put("connect");
        m_peers[who]->ch().put(address);
        EXPECT_EQ("done", m_peers[who]->ch().get());
    }

    /* From the middle to a peer */
    void talk(int to, int messages = RC_MESSAGES)
    {
        for (int i = 0; i < messages; ++i) {
            m_peers[PEERS]->ch().put("send " + std::to_string(to));
            m_peers[to]->ch().put("receive");
            ASSERT_EQ("done", m_peers[to]->ch().get());
            ASSERT_EQ("done", m_peers[PEERS]->ch().get());
        }
    }

    int64_t count(const std::string &name, int who = PEERS)
    {
        m_peers[who]->ch().put("count " + name);
        return std::stoll(m_peers[who]->ch().get());
    }

    void await(const std::string &name, int64_t value, int who = PEERS)
    {
        m_peers[who]->ch().put("until " + name + " " + std::to_string(value));
        EXPECT_EQ("done", m_peers[who]->ch().get());
    }

    std::vector<std::unique_ptr<peer>> m_peers;
};

TEST_F(test_rc_peers, the_rest_goes_by_datagrams)
{
    start("RC_MAX_PEERS=2 IB_IDLE=inf");
    for (int i = 0; i < PEERS; ++i) {
        talk(i);
        EXPECT_EQ(std::min(i + 1, 2), count("qp_created"));
        EXPECT_EQ(std::max(i - 1, 0), count("ud_peers"));
        EXPECT_EQ(i < 2, count("qp_created", i));
        EXPECT_EQ(i >= 2, count("ud_peers", i));
    }
    for (int i = 0; i < PEERS; ++i) { /* and so it stays */
        int64_t by_rc = count("tx_rndv"), by_ud = count("tx_ud");

        talk(i);
        EXPECT_EQ((i < 2) ? RC_MESSAGES : 0, count("tx_rndv") - by_rc);
        EXPECT_EQ((i < 2) ? 0 : RC_MESSAGES, count("tx_ud") - by_ud);
    }
    EXPECT_EQ(0, count("qp_closed"));
    EXPECT_EQ(0, count("qp_failed"));
    end();
}

/* ... without channels, which are written: those of the others are there. */
TEST_F(test_rc_peers, channels_and_datagrams)
{
    start("RC_MAX_PEERS=1 IB_IDLE=inf IB_EAGER_PEERS=4 IB_EAGER_AFTER=4 RTR=y");
    for (int i = 0; i < PEERS; ++i) {
        talk(i, 30);
        EXPECT_EQ(i == 0, count("channels_offered", i));
    }
    EXPECT_GT(count("tx_channel"), 0);
    EXPECT_GT(count("tx_ud") + count("tx_recv_rndv"), 0);
    end();
}

/* One side has datagrams only. */
TEST_F(test_rc_peers, the_other_has_datagrams_only)
{
    start("IB_EAGER_PEERS=4 IB_EAGER_AFTER=4 RTR=y", "IB_TRANSPORT=ud");
    for (int i = 0; i < PEERS; ++i) {
        talk(i, 30);
        EXPECT_EQ(0, count("channels_offered", i));
        EXPECT_EQ(1, count("ud_peers", i));
    }
    end();
}

TEST_F(test_rc_peers, idle_ones_are_closed)
{
    start("IB_IDLE=0.2s");
    for (int round = 1; round <= 2; ++round) {
        for (int i = 0; i < PEERS; ++i) {
            int64_t by_rc = count("tx_rndv");

            talk(i);
            EXPECT_GT(count("tx_rndv"), by_rc);
        }
        await("qp_closed", round * PEERS);
        for (int i = 0; i < PEERS; ++i) {
            await("qp_closed", round, i);
        }
    }
    EXPECT_GE(count("qp_created"), 2 * PEERS);
    EXPECT_GE(count("reconnects"), PEERS);
    EXPECT_EQ(0, count("qp_failed"));
    end();
}

/* Without datagrams, the queue pair of another peer makes room. */
TEST_F(test_rc_peers, they_take_turns)
{
    start("RC_MAX_PEERS=1 IB_TRANSPORT=rc IB_IDLE=inf");
    for (int i = 0; i < 2 * PEERS; ++i) {
        int64_t by_rc = count("tx_rndv");

        /* until then by UCP */
        EXPECT_TRUE(poll_until([&] { return count("tx_rndv") > by_rc; },
                               [&] { return talk(i % PEERS, 1), 1; }));
        EXPECT_GT(count("qp_created"), i);
        EXPECT_EQ(1, count("qp_created") - count("qp_closed"));
    }
    EXPECT_EQ(0, count("ud_peers_max"));
    EXPECT_EQ(0, count("qp_failed"));
    end();
}

} // namespace
