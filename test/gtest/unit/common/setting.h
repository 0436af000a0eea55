/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

#ifndef RI_TEST_SETTING_H
#define RI_TEST_SETTING_H

/* A variable of the library that has another value as long as this lives: that of a test, or of all
 * tests of a fixture that has it as a member. (What restore_settings.cc restores behind each test,
 * as ri_config and ri_log_level, needs none.) */
template <typename type> class setting {
public:
    /* It keeps its value for now; what is assigned to it later does not last. */
    explicit setting(type &variable) : m_variable(variable), m_before(variable) {}

    setting(type &variable, type value) : setting(variable) { m_variable = value; }

    ~setting() { m_variable = m_before; }

    setting(const setting &)            = delete;
    setting &operator=(const setting &) = delete;

private:
    type &m_variable;
    type m_before;
};

#endif
