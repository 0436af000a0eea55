/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/json.c */

extern "C" {
#include "ucs/json.h"
}

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <string>

namespace {

std::string written(const std::function<void(FILE *)> &write)
{
    char *memory = nullptr;
    size_t size  = 0;
    FILE *stream = open_memstream(&memory, &size);

    write(stream);
    fclose(stream);
    std::string text(memory, size);
    free(memory);
    return text;
}

std::string quoted(const char *text, const char *also = "")
{
    return written([&](FILE *stream) { ri_json_string(text, also, stream); });
}

TEST(test_json, string)
{
    EXPECT_EQ("\"\"", quoted(""));
    EXPECT_EQ("\"plain <&> \xc3\xa4\"", quoted("plain <&> \xc3\xa4"));
    EXPECT_EQ("\"a\\\"b\\\\c\\u000a\\u001f\"", quoted("a\"b\\c\n\x1f"));
    EXPECT_EQ("\"\\u003c/script\\u003e\"", quoted("</script>", "<>&"));
}

TEST(test_json, list)
{
    std::string text = written([](FILE *stream) {
        ri_json_list_t list = {stream, ""};

        for (const char *entry : {"1", "2", "3"}) {
            fputs(entry, ri_json_next(&list));
        }
    });

    EXPECT_EQ("1,\n2,\n3", text);
}

} // namespace
