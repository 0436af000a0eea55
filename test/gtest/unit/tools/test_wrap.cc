/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_wrap.c */

extern "C" {
#include "tools/ucxri_wrap.h"
}

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <string>

namespace {

std::string written(const std::function<void(FILE *)> &print)
{
    char *memory = nullptr;
    size_t size  = 0;
    FILE *stream = open_memstream(&memory, &size);

    print(stream);
    fclose(stream);
    std::string text(memory, size);
    free(memory);
    return text;
}

std::string wrapped(const std::string &label, const std::string &text)
{
    return written(
            [&](FILE *stream) { wrap_print(stream, label.c_str(), text.c_str()); });
}

TEST(test_wrap, what_fits_is_one_line)
{
    std::string full(WRAP_WIDTH - 3, 'x');

    EXPECT_EQ("a: \n", wrapped("a: ", ""));
    EXPECT_EQ("a: b c\n", wrapped("a: ", "b c"));
    EXPECT_EQ("a: " + full + "\n", wrapped("a: ", full));
}

TEST(test_wrap, is_broken_at_blanks)
{
    std::string half(WRAP_WIDTH / 2 - 1, 'x');

    EXPECT_EQ("a: " + half + "\na:   " + half + "x\n",
              wrapped("a: ", half + " " + half + "x"));
    EXPECT_EQ(half + " " + half + "\n  " + half + "\n",
              wrapped("", half + " " + half + " " + half));
}

TEST(test_wrap, a_long_word_stays_whole)
{
    std::string word(WRAP_WIDTH + 1, 'x');

    EXPECT_EQ(word + "\n  b\n", wrapped("", word + " b"));
    EXPECT_EQ("b\n  " + word + "\n", wrapped("", "b " + word));
}

/* Whatever the words: no line is too long, and no word is lost. */
TEST(test_wrap, any_words)
{
    for (int seed = 0; seed < 200; ++seed) {
        std::string text, joined, line;
        unsigned state = seed + 1;

        for (int i = 0; i < 60; ++i) {
            state = state * 1103515245 + 12345;
            text += (i > 0 ? " " : "") +
                    std::string(1 + (state >> 16) % 30, 'a' + i % 26);
        }
        for (char c : wrapped("rank 5: ", text)) {
            if (c != '\n') {
                line += c;
                continue;
            }
            ASSERT_GE((size_t)WRAP_WIDTH, line.size());
            ASSERT_EQ("rank 5: ", line.substr(0, 8));
            joined += (joined.empty() ? "" : " ") + line.substr(joined.empty() ? 8 : 10);
            line = "";
        }
        ASSERT_EQ(text, joined);
    }
}

TEST(test_wrap, named)
{
    std::string text = written([](FILE *stream) {
        wrap_named(stream, "rings", "%s %d", "available", 3);
        wrap_named(stream, "a name that is long", "x");
    });

    EXPECT_EQ("rings            available 3\na name that is long x\n", text);
}

} // namespace
