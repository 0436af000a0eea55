/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A process is killed before much has been exchanged with it: before any message, or after so few
 * that there is no ring and no long message has been through. What is sent to it ends all the
 * same. Of the library only: stock does not notice deaths over shared memory.
 */

#include "peer.h"
#include "variables.h"

#include <cstring>
#include <dlfcn.h>
#include <list>

using namespace ucp_test;

namespace {

const ucp_tag_t TAG = 1;

struct early_case {
    const char *name;
    unsigned messages; /* that each side receives before */
    size_t length;     /* of each */
    const char *settings;
};

std::ostream &operator<<(std::ostream &os, const early_case &c)
{
    return os << c.name;
}

const early_case CASES[] = {{"nothing", 0, 0, ""},
                            {"one_short", 1, 8, ""},
                            {"three_short", 3, 8, ""},
                            {"ring", 8, 8, ""},
                            {"one_long", 1, 100000, ""},
                            {"no_ring_nothing", 0, 0, "RING_PEERS=0"},
                            {"no_ring_short", 8, 8, "RING_PEERS=0"},
                            {"no_ring_long", 3, 100000, "RING_PEERS=0"},
                            {"no_copies_nothing", 0, 0, "RING_PEERS=0 CMA=n"},
                            {"no_copies_long", 3, 100000, "RING_PEERS=0 CMA=n"}};

void exchange(endpoint_pair &p, const early_case &c)
{
    std::string out = pattern(c.length, 1), in(c.length, '\0');

    for (unsigned i = 0; i < c.messages; ++i) {
        op_ptr r = recv(p.worker(), &in[0], in.size(), TAG);
        op_ptr s = send(p.ep(), out.data(), out.size(), TAG);

        p.wait(*r, "a receive");
        p.wait(*s, "a send");
    }
}

const early_case &find_case(const std::string &name)
{
    for (const early_case &c : CASES) {
        if (name == c.name) {
            return c;
        }
    }
    throw failure("no case " + name);
}

/* It does not call UCX any more when it is killed. */
void victim(peer_env &env)
{
    const early_case &c = find_case(env.arg);

    set_variables(c.settings);
    endpoint_pair p(env.ch, env.tr);
    exchange(p, c);
    env.ch.put("ready");
    env.ch.get();
}

/* The settings of one test must not be those of the next one, so each has a process for either
 * side. */
void survivor(peer_env &env)
{
    const early_case &c = find_case(env.arg);

    set_variables(c.settings);
    endpoint_pair p(env.ch, env.tr);
    exchange(p, c);
    env.ch.put("ready");
    EXPECT_EQ("dead", env.ch.get());

    std::list<std::string> data; /* they stay where they are */
    std::vector<op_ptr> sends;
    for (size_t size :
         {size_t(8), size_t(1024), size_t(9000), size_t(100000), size_t(1048576)}) {
        for (bool sync : {false, true}) {
            data.push_back(pattern(size, sync));
            sends.push_back((sync ? ucp_test::send_sync : ucp_test::send)(
                    p.ep(), data.back().data(), size, TAG));
        }
    }
    for (size_t i = 0; i < sends.size(); ++i) {
        p.wait(*sends[i], ("send " + std::to_string(i)).c_str());
        /* UCX may have taken short ones, or may have noticed something */
        EXPECT_TRUE((sends[i]->status() != UCS_OK) || (i % 2 == 0)) << i;
    }
    /* Not one that UCX could take: where the errors above were UCX's own, it may still do so. */
    op_ptr late = send_sync(p.ep(), data.front().data(), data.front().size(), TAG);
    p.wait(*late, "a late send");
    EXPECT_TRUE(UCS_STATUS_IS_ERR(late->status()));
    p.self().keep_context(); /* UCX goes on with those that it has taken */
}

const peer_role early_victim_peer("early_victim", victim);
const peer_role early_survivor_peer("early_survivor", survivor);

class test_killed_early : public ::testing::TestWithParam<early_case> {};

TEST_P(test_killed_early, sends_end)
{
    const char *scheme = getenv("UCX_RNDV_SCHEME");

    if ((dlsym(RTLD_DEFAULT, "ucxri_worker_counters") == nullptr) ||
        (scheme == nullptr) || strcmp(scheme, "recv_init")) {
        GTEST_SKIP() << "of the library only: stock does not notice deaths";
    }
    peer a("early_survivor", SHM, GetParam().name),
            b("early_victim", SHM, GetParam().name);

    /* Each side's address is for the other one. */
    std::string of_a = a.ch().get(), of_b = b.ch().get();
    a.ch().put(of_b);
    b.ch().put(of_a);
    EXPECT_EQ("ready", a.ch().get());
    EXPECT_EQ("ready", b.ch().get());
    b.kill_now();
    a.ch().put("dead");
    a.finish();
}

INSTANTIATE_TEST_SUITE_P(ucp, test_killed_early, ::testing::ValuesIn(CASES),
                         [](const ::testing::TestParamInfo<early_case> &info) {
                             return std::string(info.param.name);
                         });

} // namespace
