/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Long messages by datagrams whose last acknowledgements are lost while the receiver's process
 * ends: they have been received, so their sends end well. Only with the plane ud of the library
 * on the software HCA (test/check/gtest_ucp_ud.test).
 */

#include "counter.h"
#include "peer.h"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <unistd.h>

using namespace ucp_test;

namespace {

constexpr size_t LENGTH = 300000;
constexpr int MESSAGES  = 6;

/* What the receiver does when it has everything, and what it never says before. */
struct ending {
    const char *name;
    const char *faults;
};

/* Types of control messages: 3 is ACK */
const ending ENDINGS[] = {{"destroy", "ud_lose=3"},
                          {"destroy", "ud_lose=3/4"},
                          {"close", "ud_lose=3"},
                          {"close", "ud_lose=3/4"}};

void receive_all(entity &self, channel &ch)
{
    auto progress = [&] { return self.progress(); };

    for (int i = 0; i < MESSAGES; ++i) {
        std::string data(LENGTH, '\0');
        op_ptr r = recv(self.worker(), &data[0], LENGTH, i);

        ch.put("posted");
        if (!poll_until([&] { return r->done(); }, progress)) {
            throw failure("a message does not come");
        }
        EXPECT_EQ(UCS_OK, r->status());
        EXPECT_TRUE(data == pattern(LENGTH, i));
        ch.put("received");
    }
}

void ud_ends_role(peer_env &env)
{
    std::string how, faults;
    std::istringstream(env.arg) >> how >> faults;

    setenv("SOFTHCA_FAULTS", faults.c_str(), 1);
    endpoint_pair p(env.ch, env.tr);
    receive_all(p.self(), env.ch);
    if (how == "close") {
        ucs_status_ptr_t ret = p.self().close_nbx(p.ep());

        if (UCS_PTR_IS_PTR(ret)) {
            p.wait([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
                   "close");
        }
    } else {
        p.self().destroy_worker();
    }
    env.ch.put("over");
    _exit(::testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed());
}

peer_role ud_ends_peer("ud_ends", ud_ends_role);

class test_ud_ends : public transport_test {
protected:
    void SetUp() override
    {
        const char *kind = getenv("UCXRI_IB_TRANSPORT");

        if ((kind == nullptr) || (strcmp(kind, "ud") != 0)) {
            GTEST_SKIP() << "not by datagrams";
        }
    }

    /* The sender does not wait for its sends before the receiver is ready to end. */
    void run(const ending &e)
    {
        SCOPED_TRACE(std::string(e.name) + " " + e.faults);
        std::vector<std::string> data;
        peer other("ud_ends", GetParam(), std::string(e.name) + " " + e.faults);
        endpoint_pair p(other.ch(), GetParam());
        std::vector<op_ptr> sends;

        for (int i = 0; i < MESSAGES; ++i) {
            data.push_back(pattern(LENGTH, i));
        }
        for (int i = 0; i < MESSAGES; ++i) {
            EXPECT_EQ("posted", other.ch().get());
            sends.push_back(send(p.ep(), data[i].data(), LENGTH, i));
            p.wait([&] { return other.ch().readable(); }, "the receiver");
            EXPECT_EQ("received", other.ch().get());
        }
        EXPECT_GT(counter(p.worker(), "tx_ud"), 0);
        p.wait_all(sends, "sends");
        for (auto &s : sends) {
            EXPECT_EQ(UCS_OK, s->status());
        }
        p.wait([&] { return other.ch().readable(); }, "the receiver's end");
        EXPECT_EQ("over", other.ch().get());
        other.finish();
    }
};

TEST_P(test_ud_ends, acknowledgements_are_lost)
{
    for (const ending &e : ENDINGS) {
        run(e);
    }
}

INSTANTIATE_REMOTE_TRANSPORTS(test_ud_ends);

} // namespace
