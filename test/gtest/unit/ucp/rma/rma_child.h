/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* A second process for tests of one-sided operations: a child by fork(), and a page that both see. */

#ifndef RI_TEST_RMA_CHILD_H
#define RI_TEST_RMA_CHILD_H

#include "unit/common/ri_cpp.h"

#include <functional>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Memory that is shared with children that are made later, and that no key is of: of no name. */
template <typename type> class shared_by_fork {
public:
    shared_by_fork()
        : m_address(
                  static_cast<type *>(mmap(nullptr, sizeof(type), PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)))
    {
    }
    ~shared_by_fork() { munmap(m_address, sizeof(type)); }

    type *operator->() { return m_address; }
    type &operator*() { return *m_address; }

private:
    type *m_address;
};

class rma_child {
public:
    explicit rma_child(const std::function<void()> &run) : m_pid(fork())
    {
        if (m_pid == 0) {
            run();
            _exit(0);
        }
    }
    ~rma_child() { end(SIGKILL); }

    pid_t pid() const { return m_pid; }

    void end(int with)
    {
        if (m_pid > 0) {
            kill(m_pid, with);
            waitpid(m_pid, nullptr, 0);
            m_pid = -1;
        }
    }

private:
    pid_t m_pid;
};

/* @return What leads to the process of a key, with its mailbox if that can be opened; or NULL. */
inline ri_reach_t *reach_with_mail(const ri_wire_rkey_t &wire)
{
    ri_reach_t *reach = ri_reach_get(wire.plane, wire.plane_length);

    if (reach != nullptr) {
        ri_reach_open_mail(reach, wire.process.pid, wire.mailbox - 1);
    }
    return reach;
}

/* Wait for what another process does. */
template <typename condition> void wait_for(condition is_true)
{
    for (int i = 0; (i < 10000) && !is_true(); ++i) {
        usleep(1000);
    }
}

#endif
