/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/report_json.c. Whether all of it is JSON, Python says in report.test. */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/core/settings/config.h"
#include "ucp/run/report_json.h"
}

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace {

class test_report_json : public testing::Test {
protected:
    void SetUp() override
    {
        /* The defaults: it is read from the environment once in a process, by other tests' children */
        for (size_t i = 0; i < ri_config_num_fields; ++i) {
            const ri_config_field_t &field = ri_config_fields[i];

            ri_config_value_read(&field, field.dfl, (char *)&ri_config + field.offset);
        }
        m_text = std::make_unique<ri_report_text_t>();
        strcpy(m_text->row.rank, "-");
        strcpy(m_text->row.ranks, "-");
        strcpy(m_text->row.job, "-");
        strcpy(m_text->row.process, "host:12");
    }

    std::string write()
    {
        char *memory = nullptr;
        size_t size  = 0;
        FILE *stream = open_memstream(&memory, &size);

        ri_report_json_write(m_text.get(), stream);
        fclose(stream);
        std::string text(memory, size);
        free(memory);
        return text;
    }

    static bool has(const std::string &text, const std::string &part)
    {
        return text.find(part) != std::string::npos;
    }

    std::unique_ptr<ri_report_text_t> m_text;
};

TEST_F(test_report_json, nothing_is_known)
{
    std::string text = write();

    for (const char *part :
         {"{\n\"ucxri_report\": 1,\n", "\"job\": null,\n", "\"rank\": null,\n",
          "\"ranks\": null,\n", "\"host\": \"host\",\n", "\"pid\": 12,\n",
          "\"complete\": false,\n", "\"UCXRI_REPORT\": \"n\"", "\"ring\": 0,\n",
          "\"idle_us\": 0},\n", "\"workers\": [],\n", "\"sizes\": {\n},\n",
          "\"peers\": [\n]\n}\n"}) {
        EXPECT_TRUE(has(text, part)) << part << "\n" << text;
    }
}

TEST_F(test_report_json, all_is_known)
{
    const uint64_t workers[] = {0x1234, ~0ul};
    ri_report_pair_t pair    = {0xabcd, {{5, 50}, {0, 0}, {7, 70}}};

    strcpy(m_text->row.rank, "007"); /* JSON has no zeros in front */
    strcpy(m_text->row.ranks, "512");
    strcpy(m_text->row.job, "a\"b\\c\n");
    m_text->complete                  = 1;
    m_text->started                   = 100;
    m_text->written                   = 200;
    m_text->row.values[RI_REPORT_RTR] = ~0ul;
    m_text->workers                   = workers;
    m_text->num_workers               = 2;
    m_text->pairs                     = {&pair, 1, 1, 1};
    for (auto &of_counter : m_text->sizes.messages) {
        of_counter[4] = 3;
    }
    std::string text = write();
    for (const char *part :
         {"\"job\": \"a\\\"b\\\\c\\u000a\",\n", "\"rank\": 7,\n", "\"ranks\": 512,\n",
          "\"complete\": true,\n\"started\": 100,\n\"written\": 200,\n",
          "\"rtr\": 18446744073709551615,\n",
          "\"workers\": [\"0000000000001234\", \"ffffffffffffffff\"],\n",
          "\"ring\": {\"8\": 3},\n", "\"put\": {\"8\": 6},\n", "\"self\": {\"8\": 3}},\n",
          "{\"worker\": \"000000000000abcd\", \"ring\": [5, 50], \"channel\": [7, "
          "70]}]\n"}) {
        EXPECT_TRUE(has(text, part)) << part << "\n" << text;
    }
}

} // namespace
