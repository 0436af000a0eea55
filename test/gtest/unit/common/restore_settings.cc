/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Each test finds the library's settings as they are at the start of the process, whatever tests have
 * run before it: which ones these are depends on the filter and on the part that runs.
 */
#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/core/settings/config.h"
#include "uct/shm/distance.h"
#include "uct/shm/quick.h"
}

#include <gtest/gtest.h>

namespace {

class restore_settings : public ::testing::EmptyTestEventListener {
public:
    void OnTestEnd(const ::testing::TestInfo &) override
    {
        ri_config             = m_config;
        ri_log_level          = m_log_level;
        ri_quick_rate         = m_quick_rate;
        ri_distance_far_ticks = m_far_ticks;
    }

private:
    const ri_config_t m_config       = ri_config;
    const ri_log_level_t m_log_level = ri_log_level;
    const double m_quick_rate        = ri_quick_rate;
    const uint64_t m_far_ticks       = ri_distance_far_ticks;
};

class environment : public ::testing::Environment {
    void SetUp() override
    {
        ::testing::UnitTest::GetInstance()->listeners().Append(new restore_settings);
    }
};

const ::testing::Environment *registered =
        ::testing::AddGlobalTestEnvironment(new environment);

} // namespace
