/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Good and bad values for each variable of the table, by what it is said to take. */
#ifndef RI_TEST_CONFIG_VALUES_H
#define RI_TEST_CONFIG_VALUES_H

#include "unit/common/ri_cpp.h"

#include <string>
#include <vector>

namespace {

inline std::string describe(const ri_config_field_t &field)
{
    char text[RI_CONFIG_TEXT_MAX];

    ri_config_value_describe(&field, text, sizeof(text));
    return text;
}

/* What a value is read as, printed; "refused" if it is not good. */
inline std::string reread(const ri_config_field_t &field, const std::string &value)
{
    uint64_t member = 0; /* as large as any */
    char text[RI_CONFIG_TEXT_MAX];

    if (!ri_config_value_read(&field, value.c_str(), &member)) {
        return "refused";
    }
    ri_config_value_print(&field, &member, text, sizeof(text));
    return text;
}

/* Values that only texts and files take */
const char *const BAD_FOR_ALL[] = {"",
                                   " ",
                                   "-1",
                                   "+1",
                                   " 1",
                                   "1 ",
                                   "1x",
                                   "many",
                                   "nan",
                                   "0x",
                                   "-inf",
                                   "autos",
                                   "infinite",
                                   "1,5",
                                   "1\n",
                                   "--1",
                                   "-0",
                                   "ternary_auto",
                                   "123456789012345678901234567890"};

/* Values that no number takes, by the type of the variable */
inline std::vector<std::string> bad_numbers(const ri_config_field_t &field)
{
    std::vector<std::string> bad;
    auto add = [&bad](std::initializer_list<const char *> more) {
        bad.insert(bad.end(), more.begin(), more.end());
    };

    switch (field.type) {
    case RI_CONFIG_SIZE:
        add({"1.5k", "4kk", "4bk", "k", "b", "-1k", "1  k", "0x10", "1e3",
             "18446744073709551615", "18446744073709551614", "18446744073709551616",
             "16777216t", "18014398509481984k"});
        if (field.flags & RI_CONFIG_POWER) {
            add({"0", "5000", "65535", "3k"});
        }
        break;
    case RI_CONFIG_COUNT:
        add({"4294967296", "1k", "0x10", "1.5", "1e3"});
        break;
    case RI_CONFIG_NUMBER:
        add({"18446744073709551615", "18446744073709551614", "18446744073709551616", "1k",
             "0x10", "1.5", "1e3"});
        break;
    case RI_CONFIG_TIME:
        add({"-5s", "5  s", "5h", "1.", ".", ".s", "s", "0x10", "1e3", "1.0000000001s",
             "5sec", "ms"});
        if (field.flags & RI_CONFIG_POSITIVE) {
            add({"0", "0s", "0.0ms"});
        }
        break;
    default:
        return bad;
    }
    if ((field.type != RI_CONFIG_TIME) && (field.min > 0)) {
        bad.push_back(std::to_string(field.min - 1));
    }
    if ((field.type != RI_CONFIG_TIME) && (field.max > 0)) {
        bad.push_back(std::to_string(field.max + 1));
    }
    return bad;
}

/* Values that a variable does not take, by its type: a new variable is covered by itself. */
inline std::vector<std::string> bad_values(const ri_config_field_t &field)
{
    std::vector<std::string> bad(std::begin(BAD_FOR_ALL), std::end(BAD_FOR_ALL));
    auto add = [&bad](std::initializer_list<const char *> more) {
        bad.insert(bad.end(), more.begin(), more.end());
    };

    for (const std::string &value : bad_numbers(field)) {
        bad.push_back(value);
    }
    if (!(field.flags & RI_CONFIG_AUTO) && (field.type != RI_CONFIG_TERNARY) &&
        (field.type != RI_CONFIG_NAME)) {
        add({"auto"});
    }
    if (!(field.flags & RI_CONFIG_INF)) {
        add({"inf"});
    }
    switch (field.type) {
    case RI_CONFIG_SIZE:
    case RI_CONFIG_COUNT:
    case RI_CONFIG_NUMBER:
    case RI_CONFIG_TIME:
        break;
    case RI_CONFIG_BOOL:
        add({"maybe", "2", "ye", "nope", "00"});
        break;
    case RI_CONFIG_TERNARY:
        add({"maybe", "2", "try", "a", "00"});
        break;
    case RI_CONFIG_NAME:
        add({"0", "1", "push", "loud", "auto,rc", "in"});
        break;
    case RI_CONFIG_HEX:
        add({"0x0x1", "fg", "mask", "12 ", "-ff", "11112222333344445",
             "0xfffffffffffffffff", "12345678901234567890"});
        if (field.min > 0) {
            add({"0", "0x0"});
        }
        if (field.max > 0) {
            add({"10000"});
        }
        break;
    case RI_CONFIG_OUTPUT:
        bad = {""};
        break;
    case RI_CONFIG_REPORT:
        bad = {"", "maybe", "json:", "json", "xml:/tmp/x"};
        break;
    case RI_CONFIG_TRACE:
        bad = {"", "maybe", "file", "yse"};
        break;
    case RI_CONFIG_TEXT:
        bad.clear();
        break;
    }
    return bad;
}

/* As they are printed */
inline std::vector<std::string> good_values(const ri_config_field_t &field)
{
    std::vector<std::string> good = {};

    if (field.flags & RI_CONFIG_AUTO) {
        good.push_back("auto");
    }
    if (field.flags & RI_CONFIG_INF) {
        good.push_back("inf");
    }
    switch (field.type) {
    case RI_CONFIG_SIZE:
        good.insert(good.end(), {"128K", "1M"});
        break;
    case RI_CONFIG_COUNT:
    case RI_CONFIG_NUMBER:
        good.push_back(std::to_string((field.min > 7) ? field.min : 7));
        good.push_back(std::to_string(field.min));
        if (field.max > 0) {
            good.push_back(std::to_string(field.max));
        }
        break;
    case RI_CONFIG_TIME:
        good.insert(good.end(),
                    {"500ms", "10s", "1.5s", "20us", "123.456789s", "0.001us"});
        break;
    case RI_CONFIG_TERNARY:
        good.push_back("auto");
        /* fall through */
    case RI_CONFIG_BOOL:
        good.insert(good.end(), {"y", "n"});
        break;
    case RI_CONFIG_NAME:
        for (size_t i = 0; field.names[i] != nullptr; ++i) {
            good.push_back(field.names[i]);
        }
        break;
    case RI_CONFIG_HEX:
        good.insert(good.end(), {"1", "0x7fff", "FFFF"});
        break;
    case RI_CONFIG_REPORT:
        good.insert(good.end(), {"y", "n", "json:/tmp/x.%j.%r"});
        break;
    case RI_CONFIG_TRACE:
        good.insert(good.end(), {"y", "n", "job.timeline", "/tmp/x", "%r"});
        break;
    case RI_CONFIG_OUTPUT:
    case RI_CONFIG_TEXT:
        good.insert(good.end(), {"stdout", "/tmp/x.%p"});
        break;
    }
    return good;
}

} // namespace

#endif
