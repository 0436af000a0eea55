/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which changes of state are legal: each pair of states is compared with a list.
 */
#ifndef RI_TEST_STATE_CHANGES_H
#define RI_TEST_STATE_CHANGES_H

#include <cstddef>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

/* Changes: from first to second */
template <typename type> using state_changes = std::set<std::pair<type, type>>;

/* The name of a state in the source: gcc and clang put it behind "state = ". */
template <auto state> std::string state_name()
{
    const std::string function = __PRETTY_FUNCTION__, before = "state = ";
    size_t start = function.find(before) + before.size();

    return function.substr(start, function.find_first_of(";]", start) - start);
}

template <typename type, size_t... values>
std::vector<std::string> state_names(std::index_sequence<values...>)
{
    return {state_name<static_cast<type>(values)>()...};
}

/* @a may_become allows the changes in @a legal, and no others. @a last is the end of the states'
 * enum, which begins at 0. */
template <auto last, typename type = decltype(last)>
void check_state_changes(int (*may_become)(type from, type to),
                         const state_changes<type> &legal)
{
    const auto names = state_names<type>(std::make_index_sequence<last>());

    for (int from = 0; from < last; ++from) {
        for (int to = 0; to < last; ++to) {
            auto change = std::make_pair((type)from, (type)to);

            EXPECT_EQ(legal.count(change) > 0, !!may_become(change.first, change.second))
                    << names[from] << " -> " << names[to];
        }
    }
}

#endif
