/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/report_table.c */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucs/base.h"
#include "ucp/run/report_table.h"
}

#include <clocale>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

std::string format(ri_report_table_t table, const ri_report_row_t &row)
{
    char line[RI_REPORT_LINE_MAX];
    size_t length = ri_report_table_format_row(table, &row, line);

    EXPECT_EQ(strlen(line), length);
    return line;
}

std::string names(ri_report_table_t table)
{
    char line[RI_REPORT_LINE_MAX];

    ri_report_table_format_names(table, line);
    return line;
}

std::vector<std::string> words(const std::string &line)
{
    std::vector<std::string> list;
    size_t at = 0;

    while ((at = line.find_first_not_of(" \n", at)) != std::string::npos) {
        size_t end = line.find_first_of(" \n", at);
        list.push_back(line.substr(at, end - at));
        at = end;
    }
    return list;
}

/* The word in the column of a name. */
std::string cell(ri_report_table_t table, const ri_report_row_t &row, const char *name)
{
    std::vector<std::string> head = words(names(table));
    std::vector<std::string> line = words(format(table, row));

    EXPECT_EQ(head.size(), line.size());
    for (size_t i = 0; i < head.size(); ++i) {
        if (head[i] == name) {
            return line[i];
        }
    }
    return "?";
}

ri_report_row_t some_row()
{
    ri_report_row_t row = {"7", "host:123", "4711.0", "512", {}};

    for (unsigned i = 0; i < RI_REPORT_VALUES; ++i) {
        row.values[i] = ((i < RI_REPORT_LIFE_US) ? 200 : 1000) * (i + 1);
    }
    return row;
}

/* The tables say all there is, exactly up to 9,999 */
TEST(test_report_table, parse_reverses_format)
{
    ri_report_row_t row = some_row();
    ri_report_row_t out = {};

    for (int i = 0; i < RI_REPORT_TABLES; ++i) {
        auto table = static_cast<ri_report_table_t>(i);
        EXPECT_EQ(table, ri_report_table_parse_row(format(table, row).c_str(), &out));
    }
    EXPECT_STREQ("7", out.rank);
    EXPECT_STREQ("host:123", out.process);
    EXPECT_STREQ("4711.0", out.job);
    EXPECT_STREQ("512", out.ranks);
    for (unsigned i = 0; i < RI_REPORT_VALUES; ++i) {
        EXPECT_EQ(row.values[i], out.values[i]) << i;
    }
}

TEST(test_report_table, numbers)
{
    const struct {
        uint64_t value;
        const char *text;
    } cases[]           = {{0, "0"},
                           {7, "7"},
                           {999999, "999999"},
                           {1000000, "1.000M"},
                           {1234499, "1.234M"},
                           {1234500, "1.235M"},
                           {9999499, "9.999M"},
                           {9999500, "10.00M"},
                           {12345678, "12.35M"},
                           {123456789, "123.5M"},
                           {999949999, "999.9M"},
                           {999950000, "1.000G"},
                           {1000000000, "1.000G"},
                           {5ul << 40, "5.498T"},
                           {~0ul, "18.45E"}};
    ri_report_row_t row = some_row();

    for (auto &c : cases) {
        row.values[RI_REPORT_LONG] = c.value;
        EXPECT_EQ(c.text, cell(RI_REPORT_TABLE_RECV, row, "long"));
    }
}

TEST(test_report_table, numbers_of_bytes)
{
    const struct {
        uint64_t value;
        const char *text;
    } cases[]           = {{0, "0"},
                           {9999, "9999"},
                           {10000, "9.766K"},
                           {500029, "488.3K"},
                           {999999, "976.6K"},
                           {1023948, "999.9K"},
                           {1023949, "0.977M"},
                           {1ul << 20, "1.000M"},
                           {(10ul << 20) - 525, "9.999M"},
                           {(10ul << 20) - 524, "10.00M"},
                           {794ul << 20, "794.0M"},
                           {1ul << 30, "1.000G"},
                           {5ul << 40, "5.000T"},
                           {~0ul, "16.00E"}};
    ri_report_row_t row = some_row();

    for (auto &c : cases) {
        row.values[RI_REPORT_READ_BYTES] = c.value;
        EXPECT_EQ(c.text, cell(RI_REPORT_TABLE_DATA, row, "read"));
    }
}

/* Of a long name of a host all lines have the same end, whatever the number of the process */
TEST(test_report_table, long_names_of_hosts)
{
    ri_report_row_t row = some_row(), out = {};
    char line[RI_REPORT_LINE_MAX];

    snprintf(row.process, sizeof(row.process), "hpc-rack12-node0123:7");
    ri_report_table_format_row(RI_REPORT_TABLE_TIME, &row, line);
    EXPECT_EQ(RI_REPORT_TABLE_TIME, ri_report_table_parse_row(line, &out));
    EXPECT_STREQ("ck12-node0123:7", out.process);
    snprintf(row.process, sizeof(row.process), "hpc-rack12-node0123:4194304");
    for (int i = 0; i < RI_REPORT_TABLES; ++i) {
        ri_report_table_format_row((ri_report_table_t)i, &row, line);
        EXPECT_GE(101u, strlen(line)) << line;
    }
    ri_report_table_format_note(RI_REPORT_ENDED, &row, "by SIGTERM", line);
    EXPECT_TRUE(ri_report_table_parse_ended(line, &out));
    EXPECT_STREQ("ck12-node0123:4194304", out.process);
    EXPECT_STREQ(row.rank, out.rank);
}

TEST(test_report_table, lines_of_the_end_that_are_none)
{
    ri_report_row_t out = {};
    std::string longest(2 * RI_REPORT_LINE_MAX, 'x');

    EXPECT_TRUE(ri_report_table_parse_ended("[0] ucxri:ended 7 n1:3 by SIGTERM", &out));
    for (std::string line : {"", "ucxri:ended", "ucxri:ended ", "ucxri:ended 7",
                             "ucxri:ended x n1:3", "ucxri:endedx 7 n1:3"}) {
        EXPECT_FALSE(ri_report_table_parse_ended(line.c_str(), &out)) << line;
    }
    EXPECT_FALSE(ri_report_table_parse_ended(("ucxri:ended 7 " + longest).c_str(), &out));
    EXPECT_FALSE(ri_report_table_parse_ended(("ucxri:ended " + longest + " n1:3").c_str(),
                                             &out));
}

/* Four digits survive */
TEST(test_report_table, large_numbers_are_read_back)
{
    for (uint64_t value = 1; value < 1ul << 62; value = value * 3 + 1) {
        ri_report_row_t row = some_row(), out = {};

        row.values[RI_REPORT_PUT_BYTES] = value;
        ASSERT_EQ(RI_REPORT_TABLE_DATA,
                  ri_report_table_parse_row(format(RI_REPORT_TABLE_DATA, row).c_str(),
                                            &out));
        EXPECT_NEAR(1.0, out.values[RI_REPORT_PUT_BYTES] / (double)value, 0.0006);
    }
}

TEST(test_report_table, derived)
{
    ri_report_row_t row = {"-", "h:1", "-", "-", {}};

    EXPECT_EQ("-", cell(RI_REPORT_TABLE_RECV, row, "fast%"));
    EXPECT_EQ("-", cell(RI_REPORT_TABLE_RECV, row, "rtr%"));
    EXPECT_EQ("-", cell(RI_REPORT_TABLE_SENT, row, "/msg"));
    EXPECT_EQ("-", cell(RI_REPORT_TABLE_SENT, row, "ring"));

    row.values[RI_REPORT_RING] = 8; /* of no bytes */
    EXPECT_EQ("8/0", cell(RI_REPORT_TABLE_SENT, row, "ring"));
    row.values[RI_REPORT_FAST]     = 1;
    row.values[RI_REPORT_LATE]     = 2;
    row.values[RI_REPORT_RTR_USED] = 1;
    row.values[RI_REPORT_LONG]     = 8;
    row.values[RI_REPORT_CONTROL]  = 2;
    row.values[RI_REPORT_LIFE_US]  = 1234567;
    EXPECT_EQ("33.3", cell(RI_REPORT_TABLE_RECV, row, "fast%"));
    EXPECT_EQ("12.5", cell(RI_REPORT_TABLE_RECV, row, "rtr%"));
    EXPECT_EQ("0.25", cell(RI_REPORT_TABLE_SENT, row, "/msg"));
    EXPECT_EQ("1.235", cell(RI_REPORT_TABLE_TIME, row, "life_s"));
    row.values[RI_REPORT_LATE] = 0;
    EXPECT_EQ("100.0", cell(RI_REPORT_TABLE_RECV, row, "fast%"));
}

TEST(test_report_table, messages)
{
    ri_report_row_t row = {"-", "h:1", "-", "-", {}};

    row.values[RI_REPORT_RING]       = 1;
    row.values[RI_REPORT_RING_BYTES] = 10;
    row.values[RI_REPORT_AM]         = 20;
    row.values[RI_REPORT_CHANNEL]    = 300;
    EXPECT_EQ(0u, ri_report_table_messages(&row, 1));
    row.values[RI_REPORT_HYBRID] = 4000;
    row.values[RI_REPORT_UCP]    = 50000;
    EXPECT_EQ(54321u, ri_report_table_messages(&row, 0));
    EXPECT_EQ(54000u, ri_report_table_messages(&row, 1));
}

/* An application's locale has no say */
TEST(test_report_table, point_in_all_locales)
{
    for (const char *locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
        if (setlocale(LC_NUMERIC, locale) != nullptr) {
            EXPECT_EQ(std::string::npos,
                      format(RI_REPORT_TABLE_TIME, some_row()).find(','));
        }
    }
    setlocale(LC_NUMERIC, "C");
}

TEST(test_report_table, longest)
{
    ri_report_row_t row;

    memset(&row, 0xff, sizeof(row));
    memset(row.rank, '9', sizeof(row.rank) - 1);
    memset(row.process, 'h', sizeof(row.process) - 1);
    memset(row.job, 'j', sizeof(row.job) - 1);
    memset(row.ranks, '9', sizeof(row.ranks) - 1);
    row.job[sizeof(row.job) - 1]         = '\0';
    row.ranks[sizeof(row.ranks) - 1]     = '\0';
    row.rank[sizeof(row.rank) - 1]       = '\0';
    row.process[sizeof(row.process) - 1] = '\0';
    for (int i = 0; i < RI_REPORT_TABLES; ++i) {
        std::string line = format(static_cast<ri_report_table_t>(i), row);
        EXPECT_EQ('\n', line.back());
        EXPECT_EQ(words(names(static_cast<ri_report_table_t>(i))).size(),
                  words(line).size());
    }
}

/* Every line fits a terminal, with the longest numbers that are common */
TEST(test_report_table, fits_100_columns)
{
    ri_report_row_t row = {"99999", "node-0123456789:12345", "12345678.0", "99999", {}};

    EXPECT_EQ(21u, strlen(row.process));
    for (uint64_t value : {0ul, 999999ul, 9999499999ul, ~0ul}) {
        for (unsigned i = 0; i < RI_REPORT_VALUES; ++i) {
            row.values[i] = (i < RI_REPORT_LIFE_US) ? value :
                                                      ri_min(value, 99999999999ul);
        }
        for (int i = 0; i < RI_REPORT_TABLES; ++i) {
            auto table = static_cast<ri_report_table_t>(i);
            EXPECT_LE(format(table, row).size(), 101u) << format(table, row);
            EXPECT_LE(names(table).size(), 101u) << names(table);
        }
    }
}

/* No line is taken for one of another table */
TEST(test_report_table, each_table)
{
    ri_report_row_t row = some_row();

    for (int i = 0; i < RI_REPORT_TABLES; ++i) {
        auto table          = static_cast<ri_report_table_t>(i);
        ri_report_row_t out = {};
        EXPECT_EQ(table, ri_report_table_parse_row(format(table, row).c_str(), &out));
        EXPECT_STREQ((table == RI_REPORT_TABLE_JOB) ? "512" : "", out.ranks);
    }
}

/* As mpiexec -l and the like print it */
TEST(test_report_table, prefix)
{
    ri_report_row_t out = {};

    EXPECT_EQ(RI_REPORT_TABLE_TIME,
              ri_report_table_parse_row(
                      ("[3] " + format(RI_REPORT_TABLE_TIME, some_row())).c_str(), &out));
    EXPECT_STREQ("7", out.rank);
}

/* Of a report are also lines that are not read; warnings of the library are not of it */
TEST(test_report_table, lines_of_a_report)
{
    std::string line = format(RI_REPORT_TABLE_SENT, some_row());

    for (const std::string &text : {line, "[1] " + line, line.substr(0, line.size() - 5),
                                    names(RI_REPORT_TABLE_TIME)}) {
        EXPECT_TRUE(ri_report_table_is_line(text.c_str())) << text;
    }
    for (const char *text : {"", "hello", "ucxri: warning", "ucxri:sentence"}) {
        EXPECT_FALSE(ri_report_table_is_line(text)) << text;
    }
}

TEST(test_report_table, other_lines)
{
    ri_report_row_t row = some_row(), out = row;
    std::string line = format(RI_REPORT_TABLE_SENT, row);

    for (const std::string &text :
         {std::string(), std::string("hello"), names(RI_REPORT_TABLE_SENT),
          names(RI_REPORT_TABLE_TIME), std::string("ucxri:sent"),
          std::string("ucxri:sent 1"), std::string("ucxri:sent 1 host:1 1/"),
          line.substr(0, line.size() - 5), line + " 1",
          std::string("ucxri:job 1 h:1 many name"),
          "ucxri:job 1 h:1 1 " + std::string(64, 'j'),
          "ucxri:sent 1 " + std::string(200, 'h'),
          "ucxri:sent " + std::string(200, '1') + " h:1", std::string(5000, ' ')}) {
        EXPECT_EQ(RI_REPORT_TABLES, ri_report_table_parse_row(text.c_str(), &out))
                << text;
    }
    EXPECT_EQ(0, memcmp(&row, &out, sizeof(row)));
    /* the same line with something else in one cell */
    size_t at = line.find(std::to_string(row.values[RI_REPORT_CONTROL]) + " ");
    ASSERT_NE(std::string::npos, at);
    for (const char *bad :
         {"-1", "x", "1x", "1k2", "nan", "inf", "1e30", "1/2", "0x10"}) {
        EXPECT_EQ(RI_REPORT_TABLES,
                  ri_report_table_parse_row(
                          line.replace(at, 6, bad + std::string(" ")).c_str(), &out))
                << bad;
        line = format(RI_REPORT_TABLE_SENT, row);
    }
}

/* The file is anybody's: nothing but a row or nothing comes of it */
TEST(test_report_table, garbage)
{
    std::string line    = format(RI_REPORT_TABLE_TIME, some_row());
    ri_report_row_t out = {};
    unsigned seed       = 1;

    for (int i = 0; i < 20000; ++i) {
        std::string text = line;

        for (int j = 0; j < 3; ++j) {
            seed                            = seed * 1103515245 + 12345;
            text[(seed >> 8) % text.size()] = 1 + (seed >> 16) % 255;
        }
        ri_report_table_parse_row(text.c_str(), &out);
        EXPECT_LT(strlen(out.rank), sizeof(out.rank));
        EXPECT_LT(strlen(out.process), sizeof(out.process));
    }
}

} // namespace
