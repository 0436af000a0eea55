/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ud plane on whatever device there is; faults need the software HCA
 * (LD_PRELOAD=test/bin/libsofthca.so). Without any they are skipped. The tests run
 * src/uct/ib/ud/ud_place.c, too.
 */

#include "common/ud_faults.h"
#include "ud_test.h"

#if HAVE_VERBS

#include <algorithm>
#include <csignal>

namespace {

/* A message between two nodes, with all of its memory. */
class message {
public:
    message(rng &random, ud_node &from, ri_plane_ep_t *from_ep, ud_node &to,
            ri_plane_ep_t *to_ep, size_t length, bool lists)
        : m_from_ep(from_ep), m_to_ep(to_ep), m_length(length),
          m_from(from.plane, 2 * length + 8192), m_to(to.plane, 2 * length + 8192)
    {
        for (size_t i = 0; i < m_from.size(); ++i) {
            m_from.data()[i] = random.next();
        }
        for (size_t i = 0; i < m_to.size(); ++i) {
            m_to.data()[i] = 0xa5;
        }
        m_from_list = ud_cut(random, m_from, length, lists);
        m_to_list   = ud_cut(random, m_to, length, lists);
        m_expected.assign(m_to.data(), m_to.data() + m_to.size());

        std::vector<uint8_t> bytes;
        for (const ri_segment_t &s : m_from_list) {
            auto *at = (const uint8_t *)(uintptr_t)s.address;

            bytes.insert(bytes.end(), at, at + s.length);
        }
        size_t pos = 0;
        for (const ri_segment_t &s : m_to_list) {
            memcpy(&m_expected[s.address - (uintptr_t)m_to.data()], &bytes[pos],
                   s.length);
            pos += s.length;
        }
        recv.then = [this]() { go_on(); };
    }

    void start(bool is_offer = false)
    {
        ucs_status_t status = recv.recv(m_to_ep, m_to_list, m_to.key(), m_length,
                                        is_offer);

        m_is_offer = is_offer;
        if (status == UCS_OK) {
            start_send();
        } else if (is_offer && (status == UCS_ERR_NO_RESOURCE)) {
            start();
        } else {
            ASSERT_EQ(UCS_INPROGRESS, status);
        }
    }

    bool ended() const
    {
        return (recv.ends > 0) && (send.ends == send.begun) && !is_revoked();
    }

    /* An offer had to give its queue pair to others, as its first pieces were lost: it is as
     * if it had never been made. */
    void start_again()
    {
        if (is_revoked() && (send.ends == send.begun)) {
            EXPECT_EQ(UCS_ERR_CANCELED, send.status);
            recv.renew();
            send.renew();
            start();
        }
    }

    /* All of the receiver's memory, what is not of the message too. */
    void check() const
    {
        ASSERT_EQ(UCS_OK, recv.status);
        ASSERT_EQ(UCS_OK, send.status);
        ASSERT_EQ(0, memcmp(m_expected.data(), m_to.data(), m_to.size()));
    }

    ud_op recv, send;

private:
    bool is_revoked() const
    {
        return m_is_offer && (recv.ends > 0) && (recv.status == UCS_ERR_CANCELED);
    }

    void start_send()
    {
        ASSERT_EQ(UCS_INPROGRESS,
                  send.send(m_from_ep, m_from_list, m_from.key(), m_length, recv.target));
    }

    void go_on()
    {
        if (recv.ends == 0) {
            start_send();
        } else if (recv.status == UCS_OK) {
            EXPECT_EQ(0, memcmp(m_expected.data(), m_to.data(), m_to.size()));
        }
    }

    ri_plane_ep_t *m_from_ep, *m_to_ep;
    size_t m_length;
    bool m_is_offer = false;
    ud_buffer m_from, m_to;
    segments m_from_list, m_to_list;
    std::vector<uint8_t> m_expected;
};

struct traffic {
    unsigned messages = 300;
    unsigned at_once  = 12;
    unsigned nodes    = 3;
    size_t most       = 200000; /* bytes of a message */
    unsigned lists    = 20;     /* percent */
    unsigned offers   = 30;
    size_t tail       = 0; /* bytes of the last piece, if all have as many */
    uint64_t seed     = 1;
};

class test_ud_process : public ud_test {
protected:
    /* Messages are of several windows. */
    void SetUp() override
    {
        ud_test::SetUp();
        ri_config.ud_window = 16;
    }

    /* Of a message: often a number of whole packets, unless all end in a tail. */
    static size_t random_length(const traffic &t, rng &random)
    {
        size_t length = random.percent(30) ?
                                4096 * random.range(1, t.most / 4096) :
                                random.range(1, random.percent(50) ? t.most : 10000);

        return (t.tail > 0) ? length / 4096 * 4096 + t.tail : length;
    }

    /* Messages among all nodes, both ways, until all have ended. */
    static void run(const traffic &t)
    {
        std::vector<std::unique_ptr<message>> all;
        std::vector<ud_node> nodes(t.nodes);
        std::vector<ud_node *> list;
        std::vector<ud_way> ways;
        std::vector<std::pair<unsigned, unsigned>> ends;
        rng random(t.seed);
        size_t first = 0;

        for (ud_node &node : nodes) {
            ASSERT_TRUE(node.open());
            list.push_back(&node);
        }
        for (unsigned i = 0; i < t.nodes; ++i) {
            for (unsigned j = 0; j < i; ++j) {
                ways.emplace_back();
                ways.back().join(nodes[i], nodes[j]);
                ends.emplace_back(i, j);
            }
        }
        for (unsigned i = 0; i < t.messages; ++i) {
            size_t w      = random.below(ways.size());
            bool turned   = random.percent(50);
            unsigned nf   = turned ? ends[w].second : ends[w].first;
            unsigned nt   = turned ? ends[w].first : ends[w].second;
            size_t length = random_length(t, random);

            all.emplace_back(new message(random, nodes[nf], ways[w].ep[turned], nodes[nt],
                                         ways[w].ep[!turned], length,
                                         random.percent(t.lists)));
            all.back()->start(random.percent(t.offers));
            wait(list, [&]() {
                start_again(all, first);
                while ((first < all.size()) && all[first]->ended()) {
                    ++first;
                }
                return all.size() - first < t.at_once;
            });
            ASSERT_FALSE(HasFailure());
        }
        wait(list, [&]() {
            start_again(all, first);
            return std::all_of(all.begin(), all.end(),
                               [](const auto &m) { return m->ended(); });
        });
        usleep(20000); /* what is late arrives */
        for (auto &m : all) {
            m->check();
        }
        for (ud_node &node : nodes) {
            EXPECT_TRUE(node.all_home());
            EXPECT_TRUE(ucs_list_is_empty(&node.ud()->ended));
            print(node);
        }
        all.clear();
        for (ud_node &node : nodes) {
            node.close();
        }
    }

    static void start_again(std::vector<std::unique_ptr<message>> &all, size_t first)
    {
        for (; first < all.size(); ++first) {
            all[first]->start_again();
        }
    }

    static void print(const ud_node &node)
    {
        if (getenv("RI_TEST_VERBOSE") == nullptr) {
            return;
        }
#define PRINT(_name, _unit, _doc) \
    printf(" %s=%lu", #_name, (unsigned long)node.counters()->_name);
        RI_UD_COUNTERS(PRINT)
#undef PRINT
        printf("\n");
    }

    static void with_faults(const char *faults, const traffic &t = traffic(),
                            environment env = {})
    {
        SCOPED_TRACE(faults);
        env["SOFTHCA_FAULTS"] = faults;
        env["SOFTHCA_SEED"]   = std::to_string(t.seed);
        in_process(env, [&]() { run(t); });
    }
};

TEST_F(test_ud_process, mtu_2048)
{
    with_faults("ud_drop=1%", traffic(), {{"SOFTHCA_MTU", "2048"}});
}

TEST_F(test_ud_process, mtu_256)
{
    traffic t;

    t.most = 30000;
    with_faults("ud_drop=1%", t, {{"SOFTHCA_MTU", "256"}});
}

TEST_F(test_ud_process, roce)
{
    for (const char *layer : {"ethernet", "ethernet_ipv4"}) {
        with_faults("ud_drop=1%", traffic(), {{"SOFTHCA_LINK_LAYER", layer}});
    }
}

/* With each setting and seed. */
class test_ud_process_faults : public test_ud_process,
                               public ::testing::WithParamInterface<ud_faults> {};

TEST_P(test_ud_process_faults, traffic)
{
    const ud_faults &f = GetParam();
    traffic t;

    if (f.drop >= 100) {
        t.messages = 200;
        t.most     = 100000;
    }
    if (f.last > 0) {
        t.messages = 100; /* each waits for as long as it takes to ask three times */
        t.tail     = UD_LAST_LENGTH;
    }
    for (t.seed = 1; (t.seed <= f.seeds) && !IsSkipped() && !HasFailure(); ++t.seed) {
        with_faults(ud_faults_text(f).c_str(), t);
    }
}

INSTANTIATE_TEST_SUITE_P(ud, test_ud_process_faults,
                         ::testing::ValuesIn(ud_fault_settings()),
                         [](const auto &info) { return std::string(info.param.name); });

/* Less queue pairs than transfers, and windows of the least size. */
TEST_F(test_ud_process, small_pool)
{
    traffic t;

    for (unsigned qps : {1, 2}) {
        ri_config.ud_qps    = qps;
        ri_config.ud_window = 4;
        t.at_once           = 30;
        with_faults("ud_drop=1%,ud_dup=1%", t);
    }
}

TEST_F(test_ud_process, large)
{
    traffic t;

    ri_config.ud_window = 256;
    t.messages          = 4;
    t.at_once           = 2;
    t.most              = 64ul << 20;
    t.lists             = 0;
    with_faults("ud_drop=0.1%", t);
}

} // namespace

#endif
