/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/settings/config_value.c: each variable of the table, by what it is said to take. */

#include "config_values.h"

#include <gtest/gtest.h>

namespace {

TEST(test_config_value, defaults_are_good)
{
    for (size_t i = 0; i < ri_config_num_fields; ++i) {
        EXPECT_NE("refused", reread(ri_config_fields[i], ri_config_fields[i].dfl))
                << ri_config_fields[i].name;
    }
}

TEST(test_config_value, good_values_are_read_and_printed)
{
    for (size_t i = 0; i < ri_config_num_fields; ++i) {
        for (const std::string &value : good_values(ri_config_fields[i])) {
            EXPECT_EQ(value, reread(ri_config_fields[i], value))
                    << ri_config_fields[i].name;
        }
    }
}

TEST(test_config_value, bad_values_are_refused)
{
    for (size_t i = 0; i < ri_config_num_fields; ++i) {
        for (const std::string &value : bad_values(ri_config_fields[i])) {
            EXPECT_EQ("refused", reread(ri_config_fields[i], value))
                    << ri_config_fields[i].name << "=" << value;
        }
    }
}

/* In the words of who sets it */
TEST(test_config_value, descriptions)
{
    const std::pair<const char *, const char *> known[] = {
            {"EAGER_THRESH", "a size in bytes, such as 4096, 8k or 1m, inf, or auto"},
            {"RING_SIZE", "a power of two from 4K to 1G, or auto"},
            {"RING_PEERS", "a number from 0 to 4096"},
            {"RING_AFTER", "a number from 0 on, or inf"},
            {"IB_SL", "a number from 0 to 15, or auto"},
            {"CONNECT_TIMEOUT", "a time above 0, such as 500ms, 10s or 5m, or inf"},
            {"IB_IDLE", "a time, such as 500ms, 10s or 5m, or inf"},
            {"STATS", "y or n"},
            {"RTR", "y, n or auto"},
            {"SENDER_SCHEME", "auto, get or put"},
            {"LOG_LEVEL", "error, warn, info or debug"},
            {"IB_PKEY", "a hexadecimal number from 1 to ffff, or auto"},
            {"TAG_SENDER_MASK",
             "a hexadecimal number from 0 to ffffffffffffffff, or auto"},
            {"REPORT", "y, n or json:FILE (another file than stderr: UCXRI_REPORT_DEST)"},
            {"STATS_DEST", "stderr, stdout or the name of a file"},
    };
    size_t found = 0;

    for (size_t i = 0; i < ri_config_num_fields; ++i) {
        std::string text = describe(ri_config_fields[i]);

        EXPECT_NE("", text) << ri_config_fields[i].name;
        for (const char *word : {"memunits", "ternary", "uint", "ulunits", "bool"}) {
            EXPECT_EQ(std::string::npos, text.find(word)) << text;
        }
        for (const auto &entry : known) {
            if (entry.first == std::string(ri_config_fields[i].name)) {
                EXPECT_EQ(entry.second, text) << entry.first;
                ++found;
            }
        }
    }
    EXPECT_EQ(sizeof(known) / sizeof(known[0]), found);
}

/* Spellings that UCX's variables take */
TEST(test_config_value, other_spellings)
{
    const struct {
        const char *name, *value, *read;
    } cases[] = {
            {"EAGER_THRESH", "4096", "4K"},
            {"EAGER_THRESH", "4KB", "4K"},
            {"EAGER_THRESH", "4 KB", "4K"},
            {"IB_IDLE", "5 s", "5s"},
            {"EAGER_THRESH", "100b", "100"},
            {"EAGER_THRESH", "AUTO", "auto"},
            {"EAGER_THRESH", "Inf", "inf"},
            {"EAGER_THRESH", "0", "0"},
            {"POOL_SIZE", "2g", "2G"},
            {"POOL_SIZE", "1t", "1T"},
            {"POOL_SIZE", "1p", "1P"},
            {"POOL_SIZE", "2048p", "2048P"},
            {"CMA", "YES", "y"},
            {"CMA", "1", "y"},
            {"CMA", "on", "y"},
            {"CMA", "true", "y"},
            {"CMA", "No", "n"},
            {"CMA", "0", "n"},
            {"CMA", "off", "n"},
            {"CMA", "False", "n"},
            {"RTR", "Auto", "auto"},
            {"RTR", "1", "y"},
            {"LOG_LEVEL", "Error", "error"},
            {"IB_TRANSPORT", "UD", "ud"},
            {"CONNECT_TIMEOUT", "5", "5s"},
            {"CONNECT_TIMEOUT", "2m", "120s"},
            {"CONNECT_TIMEOUT", "999999999", "999999999s"},
            {"CONNECT_TIMEOUT", "1000000000", "1000000000s"},
            {"CONNECT_TIMEOUT", "12345678901", "12345678901s"},
            {"CONNECT_TIMEOUT", ".5", "500ms"},
            {"CONNECT_TIMEOUT", "1500MS", "1.5s"},
            {"CONNECT_TIMEOUT", "30ns", "0.03us"},
            {"RING_PEERS", "007", "7"},
    };

    for (const auto &c : cases) {
        size_t i = 0;

        while ((i < ri_config_num_fields) &&
               (c.name != std::string(ri_config_fields[i].name))) {
            ++i;
        }
        ASSERT_LT(i, ri_config_num_fields) << c.name;
        EXPECT_EQ(c.read, reread(ri_config_fields[i], c.value))
                << c.name << "=" << c.value;
    }
}

} // namespace
