/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_check_elf.c */

extern "C" {
#include "tools/ucxri_check_elf.h"
}

#include <algorithm>
#include <elf.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace {

class test_check_elf : public testing::Test {
protected:
    void SetUp() override { m_path = "/tmp/ucxri_test_elf." + std::to_string(getpid()); }

    void TearDown() override { unlink(m_path.c_str()); }

    void write(const std::string &content)
    {
        std::ofstream(m_path, std::ios::binary) << content;
    }

    bool has_text(const char *text) { return check_elf_has_text(m_path.c_str(), text); }

    /* The kind of a file with this content */
    check_elf_kind_t read(const std::string &content, check_elf_t *elf)
    {
        write(content);
        return check_elf_read(m_path.c_str(), elf);
    }

    check_elf_kind_t kind(const std::string &content)
    {
        check_elf_t elf;
        check_elf_kind_t kind = read(content, &elf);

        check_elf_free(&elf);
        return kind;
    }

    /* The first bytes of this program */
    static std::string self()
    {
        std::string content(8192, '\0');

        std::ifstream("/proc/self/exe", std::ios::binary)
                .read(&content[0], content.size());
        return content;
    }

private:
    std::string m_path;
};

TEST_F(test_check_elf, texts)
{
    const std::string name("name_of_a_function"), zero(1, '\0');

    write("x" + name + zero + name + "_longer" + zero);
    EXPECT_TRUE(has_text("name_of_"));
    EXPECT_FALSE(has_text("ame_of_"));
    EXPECT_FALSE(has_text("other"));
    write(name + zero); /* no text is in front of an ELF file's head */
    EXPECT_FALSE(has_text("name_of_"));
    write("");
    EXPECT_FALSE(has_text("name_of_"));
    EXPECT_FALSE(check_elf_has_text("/nonexistent", "a"));
    EXPECT_FALSE(check_elf_has_text("/tmp", "a"));
}

TEST_F(test_check_elf, this_program)
{
    check_elf_t elf;

    ASSERT_EQ(CHECK_ELF_FILE, check_elf_read("/proc/self/exe", &elf));
    EXPECT_TRUE(elf.has_interpreter);
    EXPECT_TRUE(elf.is_dynamic);
    EXPECT_EQ(8 * sizeof(void *), (size_t)elf.bits);
    EXPECT_TRUE(
            std::any_of(elf.needed, elf.needed + elf.num_needed, [](const char *name) {
                return std::string(name) == "libc.so.6";
            }));
    check_elf_free(&elf);
}

TEST_F(test_check_elf, other_files)
{
    EXPECT_EQ(CHECK_ELF_SCRIPT, kind("#!/bin/sh\n"));
    EXPECT_EQ(CHECK_ELF_OTHER, kind(""));
    EXPECT_EQ(CHECK_ELF_OTHER, kind("\x7f"
                                    "ELF"));
    EXPECT_EQ(CHECK_ELF_OTHER, kind(std::string(1000, 'x')));

    check_elf_t elf;
    EXPECT_EQ(CHECK_ELF_NONE, check_elf_read("/nonexistent", &elf));
    EXPECT_EQ(CHECK_ELF_NONE, check_elf_read("/", &elf));
}

TEST_F(test_check_elf, other_machines)
{
    std::string content = self().substr(0, 64);
    check_elf_t elf;

    content[EI_CLASS] = (content[EI_CLASS] == ELFCLASS64) ? ELFCLASS32 : ELFCLASS64;
    EXPECT_EQ(CHECK_ELF_FOREIGN, read(content, &elf));
    check_elf_free(&elf);

    /* big-endian, 64 bits: the machine is read in its order */
    content[EI_CLASS] = ELFCLASS64;
    content[EI_DATA]  = ELFDATA2MSB;
    content[18]       = 0;
    content[19]       = EM_S390;
    EXPECT_EQ(CHECK_ELF_FOREIGN, read(content, &elf));
    EXPECT_EQ((unsigned)EM_S390, elf.machine);
    EXPECT_STREQ("z/Architecture", check_elf_machine(&elf));
    elf.machine = 9999;
    EXPECT_STREQ("machine 9999 (64 bits)", check_elf_machine(&elf));
    check_elf_free(&elf);
}

/* Whatever a file is cut to, and whichever byte is wrong, nothing outside of it is read. */
TEST_F(test_check_elf, broken)
{
    const std::string content = self();

    for (size_t size : {1u, 17u, 63u, 64u, 100u, 500u, 4095u, 4096u}) {
        kind(content.substr(0, size));
    }
    for (size_t i = EI_VERSION; i < 1200; ++i) {
        std::string wrong = content;

        wrong[i] = (char)((i % 3 == 0) ? 0x7f : 0xff);
        kind(wrong);
    }
}

} // namespace
