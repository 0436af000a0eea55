/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
 *
 * What most gtest sources include and takes a compiler the longest. test/Makefile.am compiles it
 * once and has it included before each of them; each still includes what it needs by itself, which
 * a build that was configured with --disable-pch shows.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
