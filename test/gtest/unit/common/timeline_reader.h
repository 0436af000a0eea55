/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* What is in a file of UCXRI_TRACE=FILE, for tests of what writes it. */
#ifndef RI_TEST_TIMELINE_READER_H
#define RI_TEST_TIMELINE_READER_H

#include "unit/common/ri_cpp.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

class timeline_reader {
public:
    /* Read the file into its head, blocks and entries. */
    void read(const std::string &path)
    {
        std::ifstream stream(path, std::ios::binary);
        std::string all((std::istreambuf_iterator<char>(stream)),
                        std::istreambuf_iterator<char>());
        size_t offset = sizeof(head);

        blocks.clear();
        entries.clear();
        ASSERT_GE(all.size(), offset);
        memcpy(&head, all.data(), sizeof(head));
        while (offset < all.size()) {
            ri_timeline_block_t block;
            ASSERT_LE(offset + sizeof(block), all.size());
            memcpy(&block, all.data() + offset, sizeof(block));
            offset += sizeof(block);
            ASSERT_EQ(RI_TIMELINE_MARK, block.mark);
            ASSERT_LE(offset + block.count * sizeof(ri_timeline_entry_t), all.size());
            for (unsigned i = 0; i < block.count; ++i) {
                ri_timeline_entry_t entry;
                memcpy(&entry, all.data() + offset, sizeof(entry));
                offset += sizeof(entry);
                entries.push_back(entry);
            }
            blocks.push_back(block);
        }
    }

    static unsigned event(const ri_timeline_entry_t &entry) { return entry.key & 0xffff; }

    size_t count(unsigned which) const
    {
        size_t sum = 0;

        for (const auto &entry : entries) {
            sum += (event(entry) == which);
        }
        return sum;
    }

    ri_timeline_head_t head = {};
    std::vector<ri_timeline_block_t> blocks;
    std::vector<ri_timeline_entry_t> entries;
};

#endif
