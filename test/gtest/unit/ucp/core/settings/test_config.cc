/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/core/settings/config.c. A process reads its configuration once, so each case runs in one
 * of its own, which prints what it found.
 */

#include "config_values.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

/* An environment that has nothing to do with UCX */
const std::map<std::string, std::string> SOMETHING = {{"HOME", "/"}, {"UCX", "1"}};

class test_config : public ::testing::Test {
protected:
    struct result {
        ri_config_t config;
        uint64_t sender_mask; /* for an application that says 5 */
        std::string lines;    /* what was logged */
        std::string out;      /* that, and what ri_config_print wrote */
    };

    typedef std::map<std::string, std::string> environment;

    static void read_in_child(const environment &env, int doc, int fd)
    {
        result r = {};

        clearenv(); /* leaves no environment at all, not an empty one */
        for (const auto &entry : env) {
            setenv(entry.first.c_str(), entry.second.c_str(), 1);
        }
        ri_config_read();
        r.config      = ri_config;
        r.sender_mask = ri_config_sender_mask(5);
        if (write(fd, &r.config, sizeof(r.config)) < 0 ||
            write(fd, &r.sender_mask, sizeof(r.sender_mask)) < 0) {
            _exit(1);
        }
        dup2(fd, STDERR_FILENO);
        FILE *stream = fdopen(fd, "w");
        ri_config_print(stream, doc);
        fflush(stream);
        _exit(0);
    }

    static result read(const environment &env, int doc = 0)
    {
        result r = {};
        int fds[2], status;
        char buffer[4096];
        ssize_t length;

        EXPECT_EQ(0, pipe(fds));
        fflush(nullptr);
        ::testing::internal::CaptureStderr();
        pid_t pid = fork();
        if (pid == 0) {
            close(fds[0]);
            ri_log_level = RI_LOG_LEVEL_WARN; /* as it is at the start of a process */
            read_in_child(env, doc, fds[1]);
        }
        close(fds[1]);
        FILE *stream = fdopen(fds[0], "r");
        EXPECT_EQ(1u, fread(&r.config, sizeof(r.config), 1, stream));
        EXPECT_EQ(1u, fread(&r.sender_mask, sizeof(r.sender_mask), 1, stream));
        while ((length = fread(buffer, 1, sizeof(buffer), stream)) > 0) {
            r.out.append(buffer, length);
        }
        fclose(stream);
        EXPECT_EQ(pid, waitpid(pid, &status, 0));
        EXPECT_EQ(0, status);
        r.lines = ::testing::internal::GetCapturedStderr();
        r.out   = r.lines + r.out;
        return r;
    }

    static size_t count(const std::string &text, const std::string &word)
    {
        size_t found = 0, at = 0;

        for (; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
            ++found;
        }
        return found;
    }
};

TEST_F(test_config, no_environment)
{
    EXPECT_EQ("", read({}).lines);
    EXPECT_EQ("", read(SOMETHING).lines);
}

/* Each gives one line that says what is accepted, and the default is taken. */
TEST_F(test_config, bad_values_warn_once_and_defaults_are_taken)
{
    const std::string good = read(SOMETHING).out;
    size_t round           = 0;

    for (bool any = true; any; ++round) {
        std::map<std::string, std::string> env;
        size_t lines = 0;

        any = false;
        for (size_t i = 0; i < ri_config_num_fields; ++i) {
            std::vector<std::string> bad = bad_values(ri_config_fields[i]);

            if (round < bad.size()) {
                env[std::string("UCXRI_") + ri_config_fields[i].name] = bad[round];
                any                                                   = true;
            }
        }
        result r = read(env);
        for (size_t i = 0; i < ri_config_num_fields; ++i) {
            const ri_config_field_t &field = ri_config_fields[i];
            std::string name               = std::string("UCXRI_") + field.name;

            if (env.count(name) > 0) {
                std::string line = "ucxri WARN  " + name + "='" + env[name] +
                                   "' is not valid (expected: " + describe(field) +
                                   "): the default, " + field.dfl + ", is taken\n";

                ++lines;
                EXPECT_EQ(1u, count(r.lines, line)) << line << "in:\n" << r.lines;
            }
        }
        EXPECT_EQ(lines, count(r.lines, "ucxri WARN  ")) << r.lines;
        EXPECT_EQ(good, r.out.substr(r.lines.size()));
    }
    EXPECT_LT(20u, round);
}

/* What one says is done first, so that it counts for what is said of the others */
TEST_F(test_config, log_level_and_bad_values)
{
    EXPECT_EQ("", read({{"UCXRI_LOG_LEVEL", "error"}, {"UCXRI_STATS", "maybe"}}).lines);
    EXPECT_EQ(RI_LOG_LEVEL_WARN, read({{"UCXRI_LOG_LEVEL", "loud"}}).config.log_level);
}

/* A partition's number is without the bit of full members */
TEST_F(test_config, pkey)
{
    EXPECT_EQ(0, read(SOMETHING).config.ib_pkey_value);
    for (const char *value : {"12", "0x12", "8012", "0x8012"}) {
        EXPECT_EQ(0x12, read({{"UCXRI_IB_PKEY", value}}).config.ib_pkey_value) << value;
    }

    result r = read({{"UCXRI_IB_PKEY", "8000"}});
    EXPECT_EQ(0, r.config.ib_pkey_value);
    EXPECT_EQ(1u, count(r.lines, "UCXRI_IB_PKEY='8000' is not valid")) << r.lines;
    EXPECT_NE(std::string::npos, r.out.find("UCXRI_IB_PKEY=auto\n")) << r.out;
}

/* Values are not those of an environment that the program changes later. */
TEST_F(test_config, texts_are_kept)
{
    pid_t pid;
    int status;

    fflush(nullptr);
    pid = fork();
    if (pid == 0) {
        char own[] = "UCXRI_STATS_DEST=/tmp/first";

        putenv(own);
        ri_config_read();
        memset(strchr(own, '/'), 'x', 10);
        _exit(strcmp(ri_config.stats_dest, "/tmp/first") != 0);
    }
    EXPECT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
}

TEST_F(test_config, defaults)
{
    result r = read(SOMETHING);

    EXPECT_EQ("", r.lines);
    EXPECT_EQ(1024u, r.config.am_inline);
    EXPECT_EQ(64u, r.config.ring_peers);
    EXPECT_EQ(65536u, r.config.ring_size);
    EXPECT_EQ(1048576u, r.config.ring_large);
    EXPECT_EQ(262144u, r.config.ring_medium);
    EXPECT_EQ(262144u, r.config.ring_quick);
    EXPECT_EQ(262144u, r.config.ring_slow);
    EXPECT_EQ(UCS_AUTO, r.config.ring_far);
    EXPECT_EQ(4u, r.config.ring_after);
    EXPECT_EQ(1048576u, r.config.reorder_window);
    EXPECT_EQ(4079u, r.config.am_id);
    EXPECT_EQ(0, r.config.stats);
    EXPECT_EQ(0, r.config.trace);
    EXPECT_EQ(4096u, r.config.trace_size);
    EXPECT_EQ(300.0, r.config.connect_timeout);
}

/* What is measured may differ each time; the limits do not */
TEST_F(test_config, automatic_thresholds)
{
    result r = read(SOMETHING);

    EXPECT_EQ("", r.lines);
    EXPECT_LE(8192u, r.config.eager_thresh) << "stock's";
    EXPECT_GE(r.config.ring_size / 4, r.config.eager_thresh);
    EXPECT_LE(r.config.eager_thresh, r.config.ring_eager);
    EXPECT_GE(RI_COSTS_EAGER_MAX, r.config.ring_eager);
    EXPECT_LE(RI_COSTS_HYBRID_MIN, r.config.hybrid_thresh);
    EXPECT_GE(RI_COSTS_HYBRID_MAX, r.config.hybrid_thresh);
    EXPECT_LE(RI_COSTS_COOP_MIN, r.config.coop_thresh);
    EXPECT_GE(RI_COSTS_COOP_MAX, r.config.coop_thresh);
    for (const char *name : {"EAGER", "HYBRID", "COOP"}) {
        std::string line = std::string("UCXRI_") + name + "_THRESH=auto\n";

        EXPECT_NE(std::string::npos, r.out.find(line)) << r.out;
    }

    r = read({{"UCXRI_CMA", "n"}});
    EXPECT_EQ("", r.lines);
    EXPECT_LE(RI_COSTS_EAGER_MIN, r.config.eager_thresh);
}

TEST_F(test_config, thresholds_that_are_set)
{
    /* Whatever was measured */
    result r = read({{"UCXRI_EAGER_THRESH", "100"},
                     {"UCXRI_HYBRID_THRESH", "99"},
                     {"UCXRI_COOP_THRESH", "3m"}});

    EXPECT_EQ("", r.lines);
    EXPECT_EQ(100u, r.config.eager_thresh);
    EXPECT_EQ(99u, r.config.hybrid_thresh);
    EXPECT_EQ(3u << 20, r.config.coop_thresh);
    EXPECT_NE(std::string::npos, r.out.find("UCXRI_COOP_THRESH=3M\n")) << r.out;

    r = read({{"UCXRI_HYBRID_THRESH", "0"}, {"UCXRI_COOP_THRESH", "inf"}});
    EXPECT_EQ(0u, r.config.hybrid_thresh);
    EXPECT_EQ(SIZE_MAX, r.config.coop_thresh);

    r = read({{"UCXRI_HYBRID_THRESH", "1g"}, {"UCXRI_POOL_SIZE", "1m"}});
    EXPECT_EQ(1u << 30, r.config.hybrid_thresh);
}

TEST_F(test_config, runs_of_datatypes)
{
    const struct {
        const char *value;
        size_t run, host;
    } cases[] = {{"auto", 4096, 8192},        {"1k", 1024, 1024},   {"64k", 65536, 65536},
                 {"inf", SIZE_MAX, SIZE_MAX}, {"1000", 4096, 8192}, {"2g", 4096, 8192}};

    for (const auto &c : cases) {
        result r = read({{"UCXRI_DT_RUN_MIN", c.value}});

        EXPECT_EQ(c.run, r.config.dt_run_min) << c.value;
        EXPECT_EQ(c.host, r.config.dt_run_host) << c.value;
        EXPECT_EQ(1, r.config.dt_layouts);
    }
    EXPECT_EQ(0, read({{"UCXRI_DT_LAYOUTS", "n"}}).config.dt_layouts);
}

/* Values of their own, or those of EAGER_THRESH and HYBRID_THRESH where these are set. */
TEST_F(test_config, rings_and_networks_have_thresholds_of_their_own)
{
    result r = read({{"UCXRI_EAGER_THRESH", "4k"}, {"UCXRI_HYBRID_THRESH", "100"}});

    EXPECT_EQ(4096u, r.config.ring_eager);
    EXPECT_EQ(100u, r.config.hybrid_net);
    EXPECT_EQ(100u, r.config.hybrid_away);

    r = read({{"UCXRI_EAGER_THRESH", "4k"},
              {"UCXRI_RING_EAGER_MAX", "32k"},
              {"UCXRI_HYBRID_THRESH", "100"},
              {"UCXRI_HYBRID_AWAY_MAX", "300"},
              {"UCXRI_IB_HYBRID_THRESH", "200"}});
    EXPECT_EQ("", r.lines);
    EXPECT_EQ(4096u, r.config.eager_thresh);
    EXPECT_EQ(32768u, r.config.ring_eager);
    EXPECT_EQ(100u, r.config.hybrid_thresh);
    EXPECT_EQ(200u, r.config.hybrid_net);
    EXPECT_EQ(300u, r.config.hybrid_away);

    r = read({{"UCXRI_POOL_SIZE", "1m"}});
    EXPECT_LE(r.config.hybrid_thresh, r.config.hybrid_away);
    EXPECT_GE(1u << 17, r.config.hybrid_away);

    r = read({{"UCXRI_RING_EAGER_MAX", "1m"}});
    EXPECT_EQ(1u,
              count(r.lines, "UCXRI_RING_EAGER_MAX=1M is lowered to 64K: at most 64k"))
            << r.lines;
    EXPECT_EQ(65536u, r.config.ring_eager);
    EXPECT_EQ(65536u, r.config.ring_quick) << "what is set holds for all rings";

    r = read({{"UCXRI_EAGER_THRESH", "4k"}});
    EXPECT_EQ(4096u, r.config.ring_quick);
    r = read({{"UCXRI_RING_EAGER_MAX", "16k"}, {"UCXRI_RING_QUICK_MAX", "1m"}});
    EXPECT_EQ(1u,
              count(r.lines, "UCXRI_RING_QUICK_MAX=1M is lowered to 256K: at most 256k"))
            << r.lines;
    EXPECT_EQ(16384u, r.config.ring_eager);
    EXPECT_EQ(262144u, r.config.ring_quick);
    r = read({{"UCXRI_RING_QUICK_MAX", "0"}});
    EXPECT_EQ("", r.lines);
    EXPECT_EQ(0u, r.config.ring_quick);
}

/* What is set stays, what is left to the library follows; nothing is said a second time. */
TEST_F(test_config, other_costs)
{
    int status;

    fflush(nullptr);
    pid_t pid = fork();
    if (pid == 0) {
        ri_costs_t slow = {};
        bool is_good;

        clearenv();
        setenv("UCXRI_COOP_THRESH", "3m", 1);
        ri_config_read();
        is_good         = ri_config_is_measured();
        slow.copy_rate  = RI_COSTS_RATE_MIN;
        slow.plane.rate = RI_COSTS_RATE_MIN;
        slow.plane.call = RI_COSTS_CALL_MAX;
        slow.line       = RI_COSTS_LINE_MIN;
        ri_config_use_costs(&slow);
        _exit(!is_good || (ri_config.coop_thresh != 3u << 20) ||
              (ri_config.ring_size != 65536) || (ri_config.ring_large != 1048576) ||
              (ri_config.ring_eager != ri_costs_eager_thresh(&slow)) ||
              (ri_config.hybrid_thresh !=
               std::max(ri_costs_hybrid_thresh(&slow), ri_config.eager_thresh)));
    }
    EXPECT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
}

/* Lines for a shell, which set what is measured, and nothing is measured then. */
TEST_F(test_config, measured_values_as_lines_of_a_shell)
{
    const std::string names[] = {"EAGER_THRESH",    "HYBRID_THRESH",  "HYBRID_AWAY_MAX",
                                 "COOP_THRESH",     "RING_EAGER_MAX", "RING_QUICK_MAX",
                                 "IB_HYBRID_THRESH"};
    int status;

    fflush(nullptr);
    pid_t pid = fork();
    if (pid == 0) {
        char *text  = nullptr;
        size_t size = 0;
        FILE *file  = open_memstream(&text, &size);
        std::string expected;

        clearenv();
        for (const std::string &name : names) {
            setenv(("UCXRI_" + name).c_str(), "16K", 1);
            expected += "export UCXRI_" + name + "=16K\n";
        }
        ri_config_read();
        ri_config_print_measured(file);
        fclose(file);
        _exit(ri_config_is_measured() || (expected != text));
    }
    EXPECT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
}

TEST_F(test_config, automatic_hybrid_thresh_and_others)
{
    /* Not below EAGER_THRESH; the least that it can be is 16k */
    result r = read({{"UCXRI_EAGER_THRESH", "32k"}, {"UCXRI_RING_SIZE", "1m"}});
    EXPECT_LE(32768u, r.config.hybrid_thresh);

    /* Some of the messages fit the pool */
    r = read({{"UCXRI_POOL_SIZE", "128k"}});
    EXPECT_EQ(8192u, r.config.hybrid_thresh);
    r = read({{"UCXRI_POOL_SIZE", "0"}});
    EXPECT_EQ(0u, r.config.hybrid_thresh);
    r = read({{"UCXRI_POOL_SIZE", "inf"}});
    EXPECT_GE(RI_COSTS_HYBRID_MAX, r.config.hybrid_thresh);
}

TEST_F(test_config, values_are_written_as_in_ucx)
{
    result r = read({{"UCXRI_EAGER_THRESH", "4k"},
                     {"UCXRI_AM_INLINE", "100"},
                     {"UCXRI_RING_PEERS", "0"},
                     {"UCXRI_RING_SIZE", "1m"},
                     {"UCXRI_STATS", "y"},
                     {"UCXRI_TRACE", "yes"},
                     {"UCXRI_CONNECT_TIMEOUT", "250ms"},
                     {"UCXRI_LOG_LEVEL", "Error"},
                     {"UCXRI_STATS_DEST", "/tmp/x.%p"}});

    EXPECT_EQ("", r.lines);
    EXPECT_EQ(4096u, r.config.eager_thresh);
    EXPECT_EQ(100u, r.config.am_inline);
    EXPECT_EQ(0u, r.config.ring_peers);
    EXPECT_EQ(1048576u, r.config.ring_size);
    EXPECT_EQ(0u, r.config.ring_large); /* all are of the size that was set */
    EXPECT_EQ(4096u, r.config.ring_eager);
    EXPECT_EQ(1, r.config.stats);
    EXPECT_EQ(1, r.config.trace);
    EXPECT_NEAR(0.25, r.config.connect_timeout, 1e-9);
    EXPECT_NE(std::string::npos, r.out.find("UCXRI_STATS_DEST=/tmp/x.%p\n")) << r.out;
}

TEST_F(test_config, sender_scheme)
{
    EXPECT_EQ(RI_SENDER_SCHEME_AUTO, read(SOMETHING).config.scheme);
    EXPECT_EQ(RI_SENDER_SCHEME_AUTO,
              read({{"UCXRI_SENDER_SCHEME", "auto"}}).config.scheme);
    EXPECT_EQ(RI_SENDER_SCHEME_GET, read({{"UCXRI_SENDER_SCHEME", "Get"}}).config.scheme);
    EXPECT_EQ(RI_SENDER_SCHEME_PUT, read({{"UCXRI_SENDER_SCHEME", "put"}}).config.scheme);
}

TEST_F(test_config, tag_sender_mask)
{
    const std::pair<const char *, uint64_t> good[] = {
            {"auto", 5},      {"AUTO", 5},
            {"0", 0},         {"0x800000ffffffffff", 0x800000fffffffffful},
            {"ffff", 0xffff}, {"0X1f", 31}};

    EXPECT_EQ(5u, read(SOMETHING).sender_mask);
    for (const auto &entry : good) {
        result r = read({{"UCXRI_TAG_SENDER_MASK", entry.first}});

        EXPECT_EQ("", r.lines) << entry.first;
        EXPECT_EQ(entry.second, r.sender_mask) << entry.first;
    }
    for (const char *bad : {"", "-1", "11112222333344445555"}) {
        EXPECT_EQ(5u, read({{"UCXRI_TAG_SENDER_MASK", bad}}).sender_mask) << bad;
    }
}

TEST_F(test_config, rtr)
{
    EXPECT_EQ(UCS_AUTO, read(SOMETHING).config.rtr);
    EXPECT_EQ(UCS_NO, read({{"UCXRI_RTR", "n"}}).config.rtr);
    EXPECT_EQ(UCS_YES, read({{"UCXRI_RTR", "y"}}).config.rtr);
}

TEST_F(test_config, values_that_are_brought_into_range)
{
    /* inf, a default, and what is left to the library: as much as can be */
    result r = read({{"UCXRI_EAGER_THRESH", "inf"},
                     {"UCXRI_AM_INLINE", "inf"},
                     {"UCXRI_IB_EAGER_MAX", "inf"},
                     {"UCXRI_RING_SIZE", "4k"}});

    EXPECT_EQ("", r.lines);
    EXPECT_EQ(1024u, r.config.eager_thresh);
    EXPECT_EQ(1024u, r.config.am_inline);
    EXPECT_EQ(1024u, r.config.ib_eager_max);

    r = read({{"UCXRI_EAGER_THRESH", "100"}});
    EXPECT_EQ("", r.lines);
    EXPECT_EQ(100u, r.config.am_inline);

    /* A number that does not go with the others */
    r = read({{"UCXRI_EAGER_THRESH", "1m"},
              {"UCXRI_RING_SIZE", "16k"},
              {"UCXRI_AM_INLINE", "8k"},
              {"UCXRI_IB_EAGER_MAX", "5k"}});
    EXPECT_EQ(4096u, r.config.eager_thresh);
    EXPECT_EQ(4096u, r.config.am_inline);
    EXPECT_EQ(4096u, r.config.ib_eager_max);
    EXPECT_EQ(3u, count(r.lines, "ucxri WARN  ")) << r.lines;
    EXPECT_EQ(1u, count(r.lines, "UCXRI_EAGER_THRESH=1M is lowered to 4K: at most 1/4 of "
                                 "UCXRI_RING_SIZE, and 32k\n"))
            << r.lines;
    EXPECT_EQ(1u, count(r.lines, "UCXRI_AM_INLINE=8K is lowered to 4K: at most "
                                 "UCXRI_EAGER_THRESH\n"))
            << r.lines;
    EXPECT_EQ(1u,
              count(r.lines, "UCXRI_IB_EAGER_MAX=5K is lowered to 4K: at most "
                             "UCXRI_EAGER_THRESH, and 1/4 of UCXRI_IB_EAGER_SIZE but 32 "
                             "bytes\n"))
            << r.lines;

    /* The bounds themselves need not be lowered */
    r = read({{"UCXRI_EAGER_THRESH", "4k"},
              {"UCXRI_RING_SIZE", "16k"},
              {"UCXRI_AM_INLINE", "4k"},
              {"UCXRI_IB_EAGER_MAX", "4k"}});
    EXPECT_EQ("", r.lines);
    EXPECT_EQ(4096u, r.config.eager_thresh);
    EXPECT_EQ(4096u, r.config.am_inline);
    EXPECT_EQ(4096u, r.config.ib_eager_max);

    r = read({{"UCXRI_EAGER_THRESH", "1m"}, {"UCXRI_RING_SIZE", "64m"}});
    EXPECT_EQ(32768u, r.config.eager_thresh);
    EXPECT_EQ(1u, count(r.lines, "UCXRI_EAGER_THRESH=1M is lowered to 32K")) << r.lines;
}

TEST_F(test_config, unknown_variables)
{
    result r = read({{"UCXRI_EAGER_TRESH", "4k"},
                     {"UCXRIX", "1"},
                     {"UCXRI_RING", "1"},
                     {"UCXRI_RING_SIZES", "1"}});

    EXPECT_EQ(3u, count(r.lines, "unknown variable ")) << r.lines;
    EXPECT_NE(std::string::npos, r.out.find("UCXRI_EAGER_TRESH")) << r.out;
    EXPECT_NE(std::string::npos, r.out.find("variable UCXRI_RING ")) << r.out;
    EXPECT_NE(std::string::npos, r.out.find("variable UCXRI_RING_SIZES ")) << r.out;
    EXPECT_EQ(std::string::npos, r.out.find("UCXRIX")) << r.out;
}

/* What is printed can be set again, and says the same */
TEST_F(test_config, print_and_read_again)
{
    result first = read(SOMETHING);
    environment env;
    size_t at = 0, end;

    while ((end = first.out.find('\n', at)) != std::string::npos) {
        std::string line = first.out.substr(at, end - at);
        size_t equal     = line.find('=');

        ASSERT_NE(std::string::npos, equal) << line;
        EXPECT_NE("?", line.substr(equal + 1)) << line;
        env[line.substr(0, equal)] = line.substr(equal + 1);
        at                         = end + 1;
    }
    EXPECT_LT(10u, env.size());
    result second = read(env);
    EXPECT_EQ("", second.lines);
    EXPECT_EQ(first.out, second.out);
}

TEST_F(test_config, print_with_help)
{
    result r = read(SOMETHING, 1);

    EXPECT_NE(std::string::npos, r.out.find("# accepted: y or n; default: n\n")) << r.out;
    EXPECT_NE(std::string::npos, r.out.find("\nUCXRI_RING_SIZE=")) << r.out;
}

/* What was set, and what came of it */
TEST_F(test_config, print_what_is_in_effect)
{
    result r = read({{"UCXRI_EAGER_THRESH", "1m"}, {"UCXRI_RING_SIZE", "16k"}}, 1);

    EXPECT_NE(std::string::npos,
              r.out.find("# in effect here: 4K\n#\nUCXRI_EAGER_THRESH=1M\n"))
            << r.out;
    EXPECT_NE(std::string::npos, r.out.find("default: auto\n#\nUCXRI_RING_SIZE=16K\n"))
            << r.out;
}

/* One value would be wrong where auto stands for several */
TEST_F(test_config, print_no_value_for_several)
{
    result r = read(SOMETHING, 1);

    for (const char *name : {"UCXRI_RING_SIZE", "UCXRI_DT_RUN_MIN"}) {
        std::string text = std::string("default: auto\n#\n") + name + "=auto\n";

        EXPECT_NE(std::string::npos, r.out.find(text)) << r.out;
    }
}

} // namespace
