/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core probe of bench.h as a program: one-way time of a cache line between
 * two cores. contrib/compare.sh runs it before and after each ucx_perftest.
 *
 *   cc -O2 -o core_ping core_ping.c && ./core_ping 0 1
 *
 * Prints "RESULT core_ping 0 <ns> ns <ns>".
 */
#define _GNU_SOURCE
#include "bench.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>


static void pin(double cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((int)cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        fprintf(stderr, "core_ping: cannot run on cpu %d: %s\n", (int)cpu,
                strerror(errno));
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    bench_probe_t probe = {0};
    double cpus[2], ns;
    int wait_status;
    pid_t parent, child;

    if ((argc != 3) || bench_parse_number("cpu", argv[1], 0, CPU_SETSIZE - 1, &cpus[0]) ||
        bench_parse_number("cpu", argv[2], 0, CPU_SETSIZE - 1, &cpus[1])) {
        fprintf(stderr, "Usage: core_ping CPU CPU\n"
                        "One-way time of a cache line between two cores.\n");
        return ((argc == 2) && !strcmp(argv[1], "-h")) ? EXIT_SUCCESS : EXIT_FAILURE;
    }

    probe.line = mmap(NULL, sizeof(*probe.line), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (probe.line == MAP_FAILED) {
        perror("core_ping: mmap");
        return EXIT_FAILURE;
    }

    pin(cpus[1]); /* fails before there is a second process that would wait */
    pin(cpus[0]);
    parent = getpid();
    child  = fork();
    if (child < 0) {
        perror("core_ping: fork");
        return EXIT_FAILURE;
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(EXIT_FAILURE);
        }
        pin(cpus[1]);
        bench_probe(&probe);
        _exit(EXIT_SUCCESS);
    }

    probe.leader = 1;
    ns           = bench_probe(&probe);
    waitpid(child, &wait_status, 0);
    bench_print("core_ping", 0, ns, "ns", ns);
    return EXIT_SUCCESS;
}
