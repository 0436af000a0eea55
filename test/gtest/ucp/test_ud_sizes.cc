/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages by datagrams from one piece to more than 1 GB, between two processes: all bytes are
 * looked at, and those around the receive. Both initiations: receives that are posted before their
 * message is sent, which with UCXRI_RTR=y have told the sender where to (lists have not), and later
 * ones. Only with the plane ud of the library (test/check/gtest_ucp_ud.test,
 * gtest_ucp_ud_rtr.test).
 */

#include "counter.h"
#include "peer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace ucp_test;

namespace {

constexpr double LIMIT_SEC = 75; /* of one message of 1 GB */
constexpr size_t ROOM      = 64; /* around a message, looked at as well */
constexpr size_t GB        = 1ul << 30;
constexpr ucp_tag_t DATA = 1, GO = 2, DONE = 3;
constexpr int WARM_UPS = 6;

/* How a message lies in memory, at either side. */
struct layout {
    size_t offset; /* from a page */
    size_t parts;  /* of odd lengths, with gaps; 1: no list */
};

struct message_case {
    size_t length;
    bool is_first; /* the receive is */
    layout from, to;
};

std::ostream &operator<<(std::ostream &os, const message_case &m)
{
    return os << m.length << " " << m.is_first << " " << m.from.offset << " "
              << m.from.parts << " " << m.to.offset << " " << m.to.parts;
}

std::istream &operator>>(std::istream &is, message_case &m)
{
    return is >> m.length >> m.is_first >> m.from.offset >> m.from.parts >> m.to.offset >>
           m.to.parts;
}

/* 8 bytes of a message. */
uint64_t word_at(size_t index)
{
    return (index + 1) * 0x9e3779b97f4a7c15ul;
}

/* A side's memory of a message. */
class message_memory {
public:
    message_memory(size_t length, const layout &how) : m_length(length)
    {
        size_t at = how.offset + ROOM;

        m_size = how.offset + length + 2 * ROOM + how.parts * ROOM;
        m_data = static_cast<uint8_t *>(mmap(nullptr, m_size, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (m_data == MAP_FAILED) {
            throw failure("no memory");
        }
        for (size_t i = 0; i < how.parts; ++i) {
            size_t part = (i + 1 < how.parts) ? (length / how.parts) | 1 : length;

            m_iov.push_back({m_data + at, part});
            at += part + ROOM; /* a gap */
            length -= part;
        }
    }
    ~message_memory() { munmap(m_data, m_size); }
    message_memory(const message_memory &)            = delete;
    message_memory &operator=(const message_memory &) = delete;

    ucp_datatype_t dt() const
    {
        return (m_iov.size() > 1) ? ucp_dt_make_iov() : ucp_dt_make_contig(1);
    }
    void *pointer() { return (m_iov.size() > 1) ? m_iov.data() : m_iov[0].buffer; }
    size_t count() const { return (m_iov.size() > 1) ? m_iov.size() : m_length; }

    /* In words, as there may be many: those that lie in two parts are written byte by byte. */
    void fill()
    {
        walk([](uint8_t *at, uint64_t word, size_t n) { memcpy(at, &word, n); });
    }

    bool is_filled()
    {
        bool good = true;

        walk([&](uint8_t *at, uint64_t word, size_t n) {
            good = good && (memcmp(at, &word, n) == 0);
        });
        return good;
    }

    /* What is not the message is still 0. */
    bool is_clean_around() const
    {
        const uint8_t *at = m_data;

        for (const ucp_dt_iov_t &part : m_iov) {
            auto *begin = static_cast<const uint8_t *>(part.buffer);

            if (std::any_of(at, begin, [](uint8_t b) { return b != 0; })) {
                return false;
            }
            at = begin + part.length;
        }
        return std::all_of(at, static_cast<const uint8_t *>(m_data + m_size),
                           [](uint8_t b) { return b == 0; });
    }

private:
    template <typename visit_type> void walk(const visit_type &visit)
    {
        size_t pos = 0;

        for (const ucp_dt_iov_t &part : m_iov) {
            auto *at = static_cast<uint8_t *>(part.buffer);

            for (size_t left = part.length; left > 0;) {
                size_t n      = std::min(left, 8 - pos % 8);
                uint64_t word = word_at(pos / 8) >> (8 * (pos % 8));

                visit(at, word, n);
                at += n;
                pos += n;
                left -= n;
            }
        }
    }

    size_t m_length, m_size;
    uint8_t *m_data;
    std::vector<ucp_dt_iov_t> m_iov;
};

/* One of the two processes. */
class sizes_side {
public:
    explicit sizes_side(peer_env &env) : m_entity(set_up(env), entity_params())
    {
        env.ch.put(m_entity.address());
        m_ep = m_entity.connect(env.ch.get());
    }

    ucp_worker_h worker() { return m_entity.worker(); }
    ucp_ep_h ep() { return m_ep; }
    void progress() { m_entity.progress(); }

    void wait(const op &o)
    {
        if (!poll_until([&] { return o.done(); }, [&] { return m_entity.progress(); },
                        LIMIT_SEC)) {
            throw failure("a message never ends");
        }
        EXPECT_EQ(UCS_OK, o.status());
    }

    void tell(ucp_tag_t tag) { wait(*send(m_ep, nullptr, 0, tag)); }
    void hear(ucp_tag_t tag) { wait(*recv(worker(), nullptr, 0, tag)); }

private:
    /* Even one piece is a long message. */
    static const transport &set_up(const peer_env &env)
    {
        setenv("UCXRI_EAGER_THRESH", "1k", 1);
        setenv("UCXRI_HYBRID_THRESH", "0", 1);
        std::istringstream in(env.arg);
        std::string word;

        while (in >> word) {
            size_t equal = word.find('=');

            setenv(("SOFTHCA_" + word.substr(0, equal)).c_str(), &word[equal + 1], 1);
        }
        return env.tr;
    }

    entity m_entity;
    ucp_ep_h m_ep;
};

/* That all have been exchanged, and how much was sent again. */
void report(peer_env &env, sizes_side &s, int number)
{
    env.ch.put(std::to_string(number));
    env.ch.put(std::to_string(counter(s.worker(), "ud_resent")));
    env.ch.get();
}

std::vector<message_case> cases_of(const std::string &text)
{
    std::vector<message_case> all;
    std::istringstream in(text);
    message_case m;

    for (int i = 0; i < WARM_UPS; ++i) {
        all.push_back({100000, i % 2 == 0, {0, 1}, {0, 1}});
    }
    while (in >> m) {
        all.push_back(m);
    }
    return all;
}

void sizes_sender_role(peer_env &env)
{
    bool has_rtr = (getenv("UCXRI_RTR") != nullptr) &&
                   (strcmp(getenv("UCXRI_RTR"), "y") == 0);
    std::string cases = env.ch.get();
    sizes_side s(env);
    int number = 0;

    for (const message_case &m : cases_of(cases)) {
        SCOPED_TRACE(m);
        message_memory from(m.length, m.from);

        from.fill();
        s.hear(GO);
        for (int i = 0; i < 10; ++i) {
            s.progress(); /* an RTR comes before it */
        }
        int64_t rtrs = counter(s.worker(), "tx_recv_rndv");
        int64_t all  = rtrs + counter(s.worker(), "tx_ud");
        s.wait(*send_dt(s.ep(), from.pointer(), from.count(), from.dt(), DATA));
        if (++number > WARM_UPS) {
            int64_t rtrs_now = counter(s.worker(), "tx_recv_rndv");

            EXPECT_EQ(all + 1, rtrs_now + counter(s.worker(), "tx_ud"));
            if (has_rtr) {
                EXPECT_EQ(rtrs + (m.is_first && (m.to.parts == 1)), rtrs_now);
            }
        }
        s.hear(DONE);
    }
    report(env, s, number);
}

void sizes_receiver_role(peer_env &env)
{
    std::string cases = env.ch.get();
    sizes_side s(env);
    int number = 0;

    for (const message_case &m : cases_of(cases)) {
        SCOPED_TRACE(m);
        message_memory to(m.length, m.to);
        ucp_tag_recv_info_t info;
        op_ptr r;

        auto post = [&] {
            r = recv_dt(s.worker(), to.pointer(), to.count(), to.dt(), DATA);
        };
        if (m.is_first) {
            post();
            s.progress();
        }
        s.tell(GO);
        if (!m.is_first) {
            poll_until(
                    [&] {
                        return ucp_tag_probe_nb(s.worker(), DATA, TAG_FULL, 0, &info) !=
                               nullptr;
                    },
                    [&] { return s.progress(), 1; });
            post();
        }
        s.wait(*r);
        EXPECT_EQ(m.length, r->info().length);
        EXPECT_TRUE(to.is_filled());
        EXPECT_TRUE(to.is_clean_around());
        s.tell(DONE);
        ++number;
    }
    report(env, s, number);
}

peer_role sizes_sender_peer("ud_sizes_sender", sizes_sender_role);
peer_role sizes_receiver_peer("ud_sizes_receiver", sizes_receiver_role);

class test_ud_sizes : public ::testing::Test {
protected:
    void SetUp() override
    {
        const char *kind = getenv("UCXRI_IB_TRANSPORT");

        if ((kind == nullptr) || (strcmp(kind, "ud") != 0)) {
            GTEST_SKIP() << "not by datagrams";
        }
    }

    /* @param hca  Variables of the software HCA, without SOFTHCA_, that are not to be as they are.
     * @return How many pieces were sent again. */
    static long run(const std::vector<message_case> &cases, const std::string &hca = "")
    {
        std::ostringstream text;

        for (const message_case &m : cases) {
            text << m << " ";
        }
        peer from("ud_sizes_sender", SHM, hca), to("ud_sizes_receiver", SHM, hca);
        std::string address;
        long resent = 0;

        for (peer *p : {&from, &to}) {
            p->ch().put(text.str());
        }
        address = from.ch().get();

        from.ch().put(to.ch().get());
        to.ch().put(address);
        for (peer *p : {&from, &to}) {
            poll_until([&] { return p->ch().readable(); }, [] { return usleep(1000), 0; },
                       LIMIT_SEC);
            EXPECT_EQ(std::to_string(WARM_UPS + cases.size()), p->ch().get());
            resent += std::stol(p->ch().get());
        }
        for (peer *p : {&from, &to}) {
            p->ch().put("end");
        }
        from.finish();
        to.finish();
        return resent;
    }
};

std::vector<message_case> small_cases(const std::vector<size_t> &lengths)
{
    std::vector<message_case> cases;

    for (size_t length : lengths) {
        for (bool is_first : {true, false}) {
            cases.push_back({length, is_first, {0, 1}, {0, 1}});
            cases.push_back({length, is_first, {13, 1}, {4001, 1}});
            cases.push_back({length, is_first, {1, 3}, {7, 5}});
            cases.push_back({length, is_first, {4095, 7}, {0, 1}});
            cases.push_back({length, is_first, {0, 1}, {3, 2}});
        }
    }
    return cases;
}

/* From one piece of the least and the largest MTU that ports commonly have, and around. */
TEST_F(test_ud_sizes, small)
{
    run(small_cases({2047, 2048, 2049, 4095, 4096, 4097, 8191, 8193, 12289, 65537,
                     1048575, 4194309}));
}

TEST_F(test_ud_sizes, small_pieces)
{
    run(small_cases({2047, 2048, 2049, 4095, 4096, 4097, 6145, 65537, 1048577}),
        "MTU=2048");
}

TEST_F(test_ud_sizes, lists)
{
    std::vector<message_case> cases;

    for (bool is_first : {true, false}) {
        cases.push_back({100000013, is_first, {5, 3}, {4093, 4}});
        cases.push_back({33554467, is_first, {0, 4}, {1, 3}});
    }
    run(cases);
}

TEST_F(test_ud_sizes, one_gigabyte_early)
{
    run({{GB, true, {0, 1}, {0, 1}}});
}

TEST_F(test_ud_sizes, one_gigabyte_late)
{
    run({{GB, false, {0, 1}, {0, 1}}});
}

TEST_F(test_ud_sizes, more_than_one_gigabyte_early)
{
    run({{GB + 4099, true, {13, 1}, {4001, 1}}});
}

TEST_F(test_ud_sizes, more_than_one_gigabyte_late)
{
    run({{GB + 4099, false, {4093, 1}, {1, 1}}});
}

TEST_F(test_ud_sizes, one_gigabyte_in_small_pieces_early)
{
    run({{GB, true, {0, 1}, {0, 1}}}, "MTU=2048");
}

TEST_F(test_ud_sizes, one_gigabyte_in_small_pieces_late)
{
    run({{GB + 2051, false, {13, 1}, {4001, 1}}}, "MTU=2048");
}

/* One or two of each window. */
TEST_F(test_ud_sizes, large_with_losses)
{
    const size_t LENGTH = GB / 4 + 2051, PIECES = LENGTH / 2048;

    EXPECT_LT((long)PIECES / 400,
              run({{LENGTH, true, {0, 1}, {0, 1}}, {LENGTH, false, {13, 1}, {4001, 1}}},
                  "MTU=2048 FAULTS=ud_drop=0.5%"));
}

/* What comes twice or late as well. */
TEST_F(test_ud_sizes, large_with_faults)
{
    const size_t LENGTH = GB / 4 + 2051;

    EXPECT_LT(
            0,
            run({{LENGTH, false, {13, 1}, {4001, 1}}},
                "MTU=2048 "
                "FAULTS=ud_drop=0.2%,ud_dup=0.2%,ud_reorder=0.5%/8,ud_delay=0.01%/3ms"));
}

/* Nothing behind it says that it is missing: the sender has to ask. */
TEST_F(test_ud_sizes, last_piece_is_lost)
{
    for (int times : {1, 3}) {
        std::vector<message_case> cases =
                small_cases({1500, 2048 + 1500, 40 * 2048 + 1500, 1024 * 2048 + 1500});

        EXPECT_LE(
                times * (long)cases.size(),
                run(cases, "MTU=2048 FAULTS=ud_lose_size=1500/" + std::to_string(times)));
    }
}

} // namespace
