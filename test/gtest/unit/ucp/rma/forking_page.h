/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A page of the application's that cannot be used. Its handler of the fault forks, as those do that
 * start a debugger, and lets it be used then.
 */
#ifndef RI_TEST_FORKING_PAGE_H
#define RI_TEST_FORKING_PAGE_H

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

class forking_page {
public:
    static constexpr size_t SIZE = 4096;

    forking_page()
    {
        address = static_cast<uint8_t *>(
                mmap(nullptr, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        faults   = 0;
        exited   = -1;
        m_before = signal(SIGSEGV, handle);
        alarm(60); /* it may hang */
    }

    ~forking_page()
    {
        alarm(0);
        signal(SIGSEGV, m_before);
        munmap(address, SIZE);
    }

    static inline uint8_t *address;
    static inline int faults;
    static inline int exited; /* status of the child, which takes the locks */

private:
    static void handle(int)
    {
        pid_t pid = fork();

        if (pid == 0) {
            alarm(30);
            ri_region_lock();
            ri_region_unlock();
            ri_window_net_lock();
            ri_window_net_unlock();
            _exit(7);
        }
        ++faults;
        waitpid(pid, &exited, 0);
        exited = WIFEXITED(exited) ? WEXITSTATUS(exited) : -1;
        mprotect(address, SIZE, PROT_READ | PROT_WRITE);
    }

    void (*m_before)(int);
};

#endif
