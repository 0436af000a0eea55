/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_check_libs.c */

extern "C" {
#include "tools/ucxri_check_libs.h"
}

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace {

/* A cache as ldconfig writes it: pairs of a name and a path. */
std::string cache(const std::vector<std::pair<std::string, std::string>> &libs)
{
    uint32_t numbers[7] = {(uint32_t)libs.size()};
    size_t strings      = 48 + 24 * libs.size();
    std::string entries, texts;

    for (const auto &lib : libs) {
        uint32_t entry[6] = {0x303};

        entry[1] = strings + texts.size();
        texts += lib.first + '\0';
        entry[2] = strings + texts.size();
        texts += lib.second + '\0';
        entries.append((const char *)entry, sizeof(entry));
    }
    numbers[1] = texts.size();
    return "glibc-ld.so.cache1.1" + std::string((const char *)numbers, sizeof(numbers)) +
           entries + texts;
}

std::string cached(const std::string &data, const char *name,
                   const char *previous = nullptr)
{
    const char *path = check_libs_cached(data.data(), data.size(), name, previous);

    return (path == nullptr) ? "(none)" : path;
}

TEST(test_check_libs, cache)
{
    std::string data = cache({{"liba.so", "/lib/liba.so"},
                              {"libb.so", "/lib/libb.so"},
                              {"liba.so", "/lib32/liba.so"}});

    EXPECT_EQ("/lib/libb.so", cached(data, "libb.so"));
    EXPECT_EQ("(none)", cached(data, "lib"));
    EXPECT_EQ("/lib/liba.so", cached(data, "liba.so"));
    const char *first = check_libs_cached(data.data(), data.size(), "liba.so", nullptr);
    EXPECT_EQ("/lib32/liba.so", cached(data, "liba.so", first));
    const char *second = check_libs_cached(data.data(), data.size(), "liba.so", first);
    EXPECT_EQ("(none)", cached(data, "liba.so", second));

    /* behind one of an older form */
    EXPECT_EQ("/lib/libb.so",
              cached("ld.so-1.7.0" + std::string(21, '\0') + data, "libb.so"));
}

TEST(test_check_libs, broken_cache)
{
    std::string data = cache({{"liba.so", "/lib/liba.so"}});

    EXPECT_EQ(nullptr, check_libs_cached(nullptr, 0, "liba.so", nullptr));
    EXPECT_EQ("(none)", cached("", "liba.so"));
    EXPECT_EQ("(none)", cached("something else", "liba.so"));
    for (size_t size = 0; size < data.size(); ++size) {
        std::string cut(data, 0, size);

        cut.shrink_to_fit();
        EXPECT_EQ("(none)", cached(cut, "liba.so")) << size;
    }
    for (size_t i = 20; i < 72; ++i) {
        std::string wrong = data;

        wrong[i] = '\xff';
        cached(wrong, "liba.so");
    }
}

TEST(test_check_libs, this_program)
{
    check_libs_t libs;

    check_libs_find(&libs, "/proc/self/exe");
    for (const char *name : {"libc.so", "libstdc++.so"}) {
        const check_lib_t *lib = check_libs_get(&libs, name);

        ASSERT_NE(nullptr, lib) << name;
        EXPECT_NE(nullptr, lib->path) << name;
    }
    EXPECT_EQ(nullptr, check_libs_get(&libs, "libnosuch"));
    check_libs_free(&libs);
}

TEST(test_check_libs, locate)
{
    char path[4096] = "";

    EXPECT_TRUE(check_libs_locate("libc.so.6", path, sizeof(path)));
    EXPECT_EQ('/', path[0]);
    EXPECT_FALSE(check_libs_locate("libnosuch.so", path, sizeof(path)));
}

TEST(test_check_libs, what_is_no_program_has_no_libraries)
{
    check_libs_t libs;

    check_libs_find(&libs, "/nonexistent");
    EXPECT_EQ(1u, libs.count);
    EXPECT_EQ(CHECK_ELF_NONE, libs.libs[0].elf.kind);
    EXPECT_EQ(nullptr, check_libs_get(&libs, ""));
    check_libs_free(&libs);
}

} // namespace
