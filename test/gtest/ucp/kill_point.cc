/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Points at which a process ends itself; see kill_point.h. */

#include "kill_point.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace ucp_test {

namespace {

constexpr unsigned long TRAP_FLAG = 0x100;

/* All stores into the first pages of a ring count. In a line behind them, only those into the first
 * word: it tells whether there is a record. */
constexpr size_t CONTROL = 8192, LINE = 64, STAMP = 4;

/* A ring that this process has mapped, and what it was like at the last look. */
struct mapping {
    const unsigned char *start;
    std::vector<unsigned char> was;

    /* @return Whether there is a store that counts. */
    bool changed()
    {
        if (memcmp(start, was.data(), was.size()) == 0) {
            return false;
        }
        size_t at = std::mismatch(was.begin(), was.end(), start).first - was.begin();
        memcpy(was.data(), start, was.size());
        return (at < CONTROL) || (at % LINE < STAMP);
    }
};

kill_point g_point = {kill_at::END, 0};
unsigned long g_count;
bool g_refused;
std::vector<mapping> g_mappings;

[[noreturn]] void die()
{
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

void find_mappings()
{
    std::unique_ptr<FILE, int (*)(FILE *)> maps(fopen("/proc/self/maps", "r"), fclose);
    char line[512];

    g_mappings.clear();
    while (maps && (fgets(line, sizeof(line), maps.get()) != nullptr)) {
        unsigned long start, end;
        if ((strstr(line, "/memfd:ucxri-ring") == nullptr) ||
            (sscanf(line, "%lx-%lx", &start, &end) != 2)) {
            continue;
        }
        const unsigned char *at = reinterpret_cast<const unsigned char *>(start);
        g_mappings.push_back({at, {at, at + (end - start)}});
    }
}

#ifdef __x86_64__
/* After each instruction. */
void on_step(int, siginfo_t *, void *)
{
    for (mapping &r : g_mappings) {
        if (r.changed() && (++g_count == g_point.n)) {
            die();
        }
    }
}

void step(const std::function<void()> &code)
{
    struct sigaction action = {};

    action.sa_sigaction = on_step;
    action.sa_flags     = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
    code();
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
}
#else
void step(const std::function<void()> &code)
{
    code();
}
#endif

/* Of kill_message.so: 0 is never. */
void arm_messages(unsigned long n)
{
    auto arm = reinterpret_cast<void (*)(unsigned long)>(
            dlsym(RTLD_DEFAULT, "kill_message_arm"));

    if (arm != nullptr) {
        arm(n);
    }
}

/* 0: never */
void arm_timer(unsigned long n)
{
    static timer_t timer;
    static bool is_made;
    itimerspec when = {};
    sigevent what   = {};

    what.sigev_notify = SIGEV_SIGNAL;
    what.sigev_signo  = SIGKILL;
    if (!is_made) {
        if (n == 0) {
            return;
        }
        is_made = (timer_create(CLOCK_MONOTONIC, &what, &timer) == 0);
    }
    when.it_value.tv_sec  = n * KILL_STEP_US / 1000000;
    when.it_value.tv_nsec = n * KILL_STEP_US % 1000000 * 1000;
    if (!is_made || (timer_settime(timer, 0, &when, nullptr) != 0)) {
        fprintf(stderr, "no timer\n");
        abort();
    }
}

/* The first @a length bytes of a list. */
std::vector<iovec> first_bytes(const iovec *iov, unsigned long count, size_t length)
{
    std::vector<iovec> result;

    for (; (count > 0) && (length > 0); ++iov, --count) {
        size_t part = std::min(length, iov->iov_len);
        result.push_back({iov->iov_base, part});
        length -= part;
    }
    return result;
}

ssize_t copy(long call, pid_t pid, const iovec *local, unsigned long num_local,
             const iovec *remote, unsigned long num_remote, unsigned long flags)
{
    if (g_refused) {
        g_refused = false;
        errno     = EPERM;
        return -1;
    }
    if ((g_point.what == kill_at::COPY) && (++g_count == g_point.n)) {
        size_t total = 0;
        for (unsigned long i = 0; i < num_remote; ++i) {
            total += remote[i].iov_len;
        }
        std::vector<iovec> half = first_bytes(remote, num_remote, total / 2);
        syscall(call, pid, local, num_local, half.data(), half.size(), flags);
        die();
    }
    return syscall(call, pid, local, num_local, remote, num_remote, flags);
}

} // namespace

bool kill_point_can_step()
{
#ifdef __x86_64__
    return true;
#else
    return false;
#endif
}

bool kill_point_can_message()
{
    return dlsym(RTLD_DEFAULT, "kill_message_arm") != nullptr;
}

void kill_point_arm(const kill_point &point)
{
    g_point = point;
    g_count = 0;
    arm_messages((point.what == kill_at::MESSAGE) ? point.n : 0);
    arm_timer((point.what == kill_at::TIME) ? point.n : 0);
}

void kill_point_in(const std::function<void()> &code)
{
    if (g_point.what == kill_at::STORE) {
        find_mappings();
        step(code);
    } else {
        code();
    }
}

void kill_point_disarm()
{
    g_point.what = kill_at::END;
    arm_messages(0);
    arm_timer(0);
}

void refuse_copy()
{
    g_refused = true;
}

} // namespace ucp_test

/* The program's own come before those of libc. */
extern "C" ssize_t process_vm_readv(pid_t pid, const iovec *local,
                                    unsigned long num_local, const iovec *remote,
                                    unsigned long num_remote, unsigned long flags)
{
    return ucp_test::copy(SYS_process_vm_readv, pid, local, num_local, remote, num_remote,
                          flags);
}

extern "C" ssize_t process_vm_writev(pid_t pid, const iovec *local,
                                     unsigned long num_local, const iovec *remote,
                                     unsigned long num_remote, unsigned long flags)
{
    return ucp_test::copy(SYS_process_vm_writev, pid, local, num_local, remote,
                          num_remote, flags);
}
