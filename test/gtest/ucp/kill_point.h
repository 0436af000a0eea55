/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Points at which a process of a test ends itself by SIGKILL, always the same ones:
 *
 *  - at the n-th store into memory that the library shares between processes, other than the
 *    content of a record. The code in question is executed instruction by instruction, and
 *    after each of them the rings that are mapped are compared with what they were. So the n
 *    of one exchange go through all states that its process can leave there;
 *  - at the n-th direct copy (process_vm_readv, process_vm_writev), when a half of it has
 *    been done;
 *  - in place of the n-th active message (with bin/kill_message.so preloaded);
 *  - n times KILL_STEP_US after the points began: not the same ones, but enough of them to go
 *    through what a slow network does meanwhile.
 *
 * Others must not write into the rings meanwhile, and none may be unmapped.
 */

#ifndef UCXRI_TEST_KILL_POINT_H_
#define UCXRI_TEST_KILL_POINT_H_

#include <functional>
#include <string>

namespace ucp_test {

enum class kill_at {
    END, /* nowhere: the caller sees to it */
    STORE,
    COPY,
    MESSAGE,
    TIME
};

constexpr long KILL_STEP_US = 1500;

struct kill_point {
    kill_at what;
    unsigned long n; /* from 1 */
};

/* Whether this machine can go step by step. */
bool kill_point_can_step();

/* Whether messages are counted. */
bool kill_point_can_message();

/* From now on, count points, and end at @a point. */
void kill_point_arm(const kill_point &point);

/* Execute code whose stores are points, if that is armed. */
void kill_point_in(const std::function<void()> &code);

/* Points are over. */
void kill_point_disarm();

/* The next direct copy of this process is refused, as by a system that forbids them. */
void refuse_copy();

} // namespace ucp_test

#endif
