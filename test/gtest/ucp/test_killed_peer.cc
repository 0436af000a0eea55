/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A process is killed at each point of each protocol of the library; the others go on. A
 * survivor exchanges messages with the victim and with a bystander. A scenario says what
 * victim and survivor do first, and what the victim does when it is killed. Each is repeated
 * with the next point until the victim gets through; then it is killed at the end.
 */

#include "common/sanitized.h"
#include "common/share.h"
#include "kill_point.h"
#include "killed_scenarios.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace ucp_test;

namespace {

/* Mostly without direct copies by UCX, which are fatal where they fail */
const killed_setting settings[] = {
        {"shm", SHM, false, true, false, false, false},
        {"shm_copy", SHM_COPY, false, true, false, false, false},
        {"tcp", TCP, false, true, false, false, false},
        {"no_cma", SHM_COPY, false, false, false, false, false},
        {"mode_peer", TCP, true, true, false, false, false},
        {"together", SHM, false, true, true, false, false},
        {"rdma", SHM_COPY, false, false, false, true, false},
        {"asleep", SHM_COPY, false, true, false, false, true},
        {"rdma_together", SHM_COPY, false, false, true, true, false},
        /* LARGE takes 6 ms */
        {"rdma_slow", SHM_COPY, false, false, true, true, false,
         "latency=2ms,bandwidth=20MB/s"}};

const killed_scenario &find_scenario(const std::string &name)
{
    for (const killed_scenario &s : KILLED_SCENARIOS) {
        if (name == s.name) {
            return s;
        }
    }
    throw failure("no scenario " + name);
}

/* Messages each way until there are rings, and each knows of the other. */
constexpr int TALK_ROUNDS = 6;

/* Which test a process is part of. */
struct assignment {
    const killed_scenario *what;
    const killed_setting *setting;
    kill_point point;
    int abrupt; /* the survivor just destroys its worker */

    assignment(const killed_scenario &s, const killed_setting &k, kill_point p, int a)
        : what(&s), setting(&k), point(p), abrupt(a)
    {
    }

    explicit assignment(const std::string &text)
    {
        std::istringstream in(text);
        std::string name;
        size_t which;
        int at;

        in >> name >> which >> at >> point.n >> abrupt;
        what       = &find_scenario(name);
        setting    = &settings[which];
        point.what = static_cast<kill_at>(at);
    }

    std::string text() const
    {
        std::ostringstream out;
        out << what->name << " " << (setting - settings) << " "
            << static_cast<int>(point.what) << " " << point.n << " " << abrupt;
        return out.str();
    }
};

void victim_role(peer_env &env)
{
    assignment a(env.arg);
    killed_side v(env.ch, *a.setting, a.what->settings);
    int64_t before = 0;

    env.ch.put(v.address());
    v.connect("survivor");
    if (a.what->taught > 0) {
        v.talk("survivor", true, TO_SURVIVOR, TO_VICTIM, TALK_ROUNDS, a.what->taught);
    }
    env.ch.get();
    a.what->victim(v);
    env.ch.put("ready");
    env.ch.get();
    if (a.what->shows != nullptr) {
        before = v.counter(a.what->shows);
    }
    kill_point_arm(a.point);
    a.what->window(v);
    kill_point_disarm();
    /* To get through without doing what the scenario is for would not be worth much. */
    bool shown = (a.what->shows == nullptr) || !(a.setting->cma || a.setting->rdma) ||
                 a.setting->mode_peer || (a.setting->together && !a.setting->rdma) ||
                 (v.counter(a.what->shows) > before);
    env.ch.put(shown ? "through" : std::string("no ") + a.what->shows);
    env.ch.get(); /* to be killed */
}

void bystander_role(peer_env &env)
{
    assignment a(env.arg);
    killed_side b(env.ch, *a.setting, a.what->settings);

    env.ch.put(b.address());
    b.connect("survivor");
    b.talk("survivor", true, BY_BYSTANDER, TO_BYSTANDER, 2);
    env.ch.put("ready");
    b.wait([&] { return env.ch.readable(); }, "the survivor");
    std::string command = env.ch.get();
    if (command == "part") {
        a.what->bystander(b);
        env.ch.put("ready");
        b.wait([&] { return env.ch.readable(); }, "the survivor");
        command = env.ch.get();
    }
    if (command == "talk") {
        b.end_all(true);
        b.talk("survivor", true, BY_BYSTANDER, TO_BYSTANDER, 2);
        EXPECT_TRUE(b.close("survivor"));
        b.wait([&] { return env.ch.readable(); }, "the survivor");
    } else {
        b.destroy_busy_worker();
    }
}

/* Files in /dev/shm that this process has mapped and that still have a name. */
std::string mapped_files()
{
    std::ifstream maps("/proc/self/maps");
    std::string line, result;

    while (std::getline(maps, line)) {
        size_t at = line.find("/dev/shm/");
        if ((at != std::string::npos) && (line.find("(deleted)") == std::string::npos)) {
            result += line.substr(at) + "\n";
        }
    }
    return result;
}

/* All that the survivor has started ends, and all goes on with the bystander. */
void go_on(killed_side &s, const assignment &a)
{
    s.end_all(a.what->taught > 0);
    s.drain();
    s.mark_buffers();
    s.ch().put("talk");
    s.talk("bystander", false, TO_BYSTANDER, BY_BYSTANDER, 2);
    s.wait(
            [&] {
                s.drain(); /* under load, some of the victim's come as late as this */
                return s.counter("held_bytes") == 0;
            },
            "the rest of messages to be dropped");
    if (a.what->taught > 0) {
        EXPECT_TRUE(!s.is_connected("victim") || s.close("victim")) << "close";
        /* What the bystander has read it may give back later */
        s.wait([&] { return s.counter("pool_bytes") == 0; }, "the pool to be empty");
    }
    EXPECT_TRUE(s.close("bystander"));
    s.check_buffers();
}

void survivor_role(peer_env &env)
{
    assignment a(env.arg);
    killed_side s(env.ch, *a.setting, a.what->settings);

    env.ch.put(s.address());
    s.connect("bystander");
    s.connect("victim");
    s.talk("bystander", false, TO_BYSTANDER, BY_BYSTANDER, 2);
    env.ch.put("ready");
    if (a.what->taught > 0) {
        s.talk("victim", false, TO_VICTIM, TO_SURVIVOR, TALK_ROUNDS, a.what->taught);
    }
    env.ch.put("taught");
    env.ch.get(); /* without progress: what the victim has sent is not seen */
    a.what->survivor(s);
    env.ch.put("ready");
    if (a.setting->together) {
        s.wait([&] { return env.ch.readable(); }, "the end of the victim");
    }
    env.ch.get(); /* the victim is dead */
    a.what->after(s);
    if (!a.abrupt) {
        go_on(s, a);
    }
    env.ch.put(mapped_files());
    if (!a.abrupt) {
        s.destroy_worker();
    } else {
        s.destroy_busy_worker();
    }
}

peer_role victim_peer("killed_victim", victim_role);
peer_role survivor_peer("killed_survivor", survivor_role);
peer_role bystander_peer("killed_bystander", bystander_role);

/* Wait until the victim has come to its point, or through. @return Whether it was killed. */
bool await_death(peer &victim, const assignment &a)
{
    bool killed = false;

    try {
        EXPECT_EQ("through", victim.ch().get());
    } catch (const failure &) {
        int status = victim.reap();
        killed     = true;
        EXPECT_TRUE(WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL))
                << "the victim ended otherwise, wait status " << status << ", "
                << a.text();
    }
    if (!killed) {
        victim.kill_now();
    }
    return killed;
}

/* @return Whether the point was reached. */
bool run(const assignment &a)
{
    peer survivor("killed_survivor", SHM, a.text());
    peer bystander("killed_bystander", SHM, a.text());
    peer victim("killed_victim", SHM, a.text());
    std::string address = survivor.ch().get();

    survivor.ch().put(bystander.ch().get());
    bystander.ch().put(address);
    survivor.ch().put(victim.ch().get());
    EXPECT_EQ("ready", survivor.ch().get());
    victim.ch().put(address);
    EXPECT_EQ("ready", bystander.ch().get());

    EXPECT_EQ("taught", survivor.ch().get());
    victim.ch().put("go");
    EXPECT_EQ("ready", victim.ch().get());
    survivor.ch().put("go");
    EXPECT_EQ("ready", survivor.ch().get());
    victim.ch().put("go");
    bool killed = await_death(victim, a);
    if (a.what->bystander != nullptr) {
        bystander.ch().put("part");
        EXPECT_EQ("ready", bystander.ch().get());
    }
    survivor.ch().put("dead");
    if (!a.abrupt) {
        EXPECT_EQ("talk", survivor.ch().get());
        bystander.ch().put("talk");
    }
    std::string files = survivor.ch().get();
    survivor.finish();
    bystander.ch().put("end");
    bystander.finish();
    std::istringstream in(files);
    for (std::string name; std::getline(in, name);) {
        EXPECT_FALSE(std::ifstream(name).good()) << name << " is left";
    }
    return killed;
}

/* Stock must not be left with operations of its own. */
bool may_be_abrupt(const killed_setting &setting)
{
    return (setting.cma && !setting.mode_peer) || setting.rdma;
}

/* Kill at each point, from the first one on (or UCP_TEST_FROM). Stores are many, of which a share
 * may be left out. */
void sweep(const killed_scenario &s, const killed_setting &setting, kill_at what)
{
#if RI_TEST_ASAN
    unsigned long step = 4; /* it takes much longer there */
#else
    /* Together, the points are not the same in each run anyway. */
    unsigned long step = (what == kill_at::STORE) && setting.together ? 3 : 1;
#endif
    constexpr unsigned long MAX = 1000;
    bool is_many                = (what == kill_at::STORE);
    unsigned long n = test_number("UCP_TEST_FROM", 1 + (is_many ? test_turn() : 0));
    unsigned count  = 0;
    bool reached    = true;

    step = is_many ? std::max(step, test_share()) : step;

    for (; reached && !::testing::Test::HasFailure(); n += step, ++count) {
        SCOPED_TRACE(std::string(s.name) + ", point " + std::to_string(n));
        if (may_be_abrupt(setting) && (count % 3 == 0)) {
            run({s, setting, {what, n}, 1});
        }
        reached = run({s, setting, {what, n}, 0});
        ASSERT_LT(n, MAX);
    }
}

} // namespace

struct killed_case {
    const char *scenario;
    const killed_setting *setting;
    kill_at what;
};

std::ostream &operator<<(std::ostream &os, const killed_case &c)
{
    return os << c.scenario << " " << c.setting->name << " " << static_cast<int>(c.what);
}

std::string killed_case_name(const ::testing::TestParamInfo<killed_case> &info)
{
    static const char *const names[] = {"end", "store", "copy", "message", "time"};

    return std::string(info.param.scenario) + "_" + info.param.setting->name + "_" +
           names[static_cast<int>(info.param.what)];
}

class test_killed_peer : public ::testing::TestWithParam<killed_case> {
protected:
    void SetUp() override
    {
        const char *preload = getenv("LD_PRELOAD");

        if (is_stock()) {
            GTEST_SKIP() << "of the library only: stock does not notice deaths";
        }
        if ((preload != nullptr) && (strstr(preload, "memory_kinds") != nullptr)) {
            GTEST_SKIP() << "of protocols for host memory";
        }
        if ((GetParam().what == kill_at::STORE) && !kill_point_can_step()) {
            GTEST_SKIP() << "needs x86_64";
        }
        if ((GetParam().what == kill_at::MESSAGE) && !kill_point_can_message()) {
            GTEST_SKIP() << "needs kill_message.so";
        }
        if (GetParam().setting->rdma && (getenv("UCXRI_IB_DEVICES") == nullptr) &&
            ((preload == nullptr) || (strstr(preload, "softhca") == nullptr))) {
            GTEST_SKIP() << "needs a software HCA, or another device that is named";
        }
    }
};

TEST_P(test_killed_peer, survivor_goes_on)
{
    sweep(find_scenario(GetParam().scenario), *GetParam().setting, GetParam().what);
}

std::vector<killed_case> killed_cases(bool rdma)
{
    static const struct {
        unsigned where;
        const killed_setting *setting;
        kill_at what;
    } places[] = {{KILLED_AT_STORES, &settings[0], kill_at::STORE},
                  {KILLED_AT_COPIES, &settings[0], kill_at::COPY},
                  {KILLED_OVER_TCP, &settings[2], kill_at::END},
                  {KILLED_NO_CMA, &settings[3], kill_at::END},
                  {KILLED_IN_MODE_PEER, &settings[4], kill_at::STORE},
                  {KILLED_COPY_BY_UCX, &settings[1], kill_at::END},
                  {KILLED_TOGETHER, &settings[5], kill_at::STORE},
                  {KILLED_TOGETHER, &settings[5], kill_at::COPY},
                  {KILLED_BY_RDMA, &settings[6], kill_at::END},
                  {KILLED_ASLEEP, &settings[7], kill_at::END},
                  {KILLED_AT_MESSAGES, &settings[8], kill_at::MESSAGE},
                  {KILLED_MEANWHILE, &settings[9], kill_at::TIME}};
    std::vector<killed_case> cases;

    for (const killed_scenario &s : KILLED_SCENARIOS) {
        for (const auto &place : places) {
            if ((s.where & place.where) && (place.setting->rdma == rdma)) {
                cases.push_back({s.name, place.setting, place.what});
            }
        }
    }
    return cases;
}

INSTANTIATE_TEST_SUITE_P(ucp, test_killed_peer, ::testing::ValuesIn(killed_cases(false)),
                         killed_case_name);
INSTANTIATE_TEST_SUITE_P(rdma, test_killed_peer, ::testing::ValuesIn(killed_cases(true)),
                         killed_case_name);
