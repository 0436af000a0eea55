/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes on one host are children of the one that the user has started, with a pair of
 * sockets and a shared page; that one waits for them and ends the second when the first fails.
 * Between two hosts the socket is a TCP connection, which begins with a greeting and the
 * parameters. No wait is without end: a wait for the socket has a time-out, and a loop that waits
 * for UCX or for the shared page looks after the other process now and then.
 */
#include "ucxri_perf_link.h"
#include "ucxri_perf_clock.h"
#include "ucxri_perf_fatal.h"
#include "ucxri_perf_stats.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Turns of perf_link_spin() after which it looks after the other process */
#define SPINS_PER_CHECK 65536

/* First bytes from the connecting process; the last digits are the version */
static const char hello[16] = "ucxri_perf 00002";

static const char gone[] = "the other process has ended";

static void link_init(perf_link_t *link, int rank, int fd, double timeout)
{
    memset(link, 0, sizeof(*link));
    link->rank    = rank;
    link->fd      = fd;
    link->timeout = timeout;
}

/* Whether the other end of the socket was closed */
static int link_closed(const perf_link_t *link)
{
    struct pollfd pfd = {.fd = link->fd, .events = POLLRDHUP};

    return (poll(&pfd, 1, 0) == 1) && (pfd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void perf_link_spin(perf_link_t *link, perf_wait_t *wait, const char *what)
{
    if (link->yield) {
        sched_yield();
    }
    if (++wait->spins % SPINS_PER_CHECK == 0) {
        perf_link_check(link, wait, what);
    }
}

void perf_link_check(perf_link_t *link, perf_wait_t *wait, const char *what)
{
    if (wait->deadline == 0) {
        wait->deadline = perf_clock_now() + link->timeout;
    } else if (perf_clock_now() > wait->deadline) {
        perf_fatal("%s within %g s", what, link->timeout);
    }
    if (link_closed(link)) {
        perf_fatal("%s", gone);
    }
}

/*
 * The socket does not block here: the other process may need this one's progress before it
 * gets to its part of the exchange.
 */
static void link_idle(perf_link_t *link, short events)
{
    struct pollfd pfd = {.fd = link->fd, .events = events};

    if (link->idle == NULL) {
        poll(&pfd, 1, 1000);
    } else {
        link->idle(link->idle_arg);
        if (link->yield) {
            sched_yield();
        }
    }
}

static void link_write(perf_link_t *link, const void *data, size_t length)
{
    const char *next = data;
    ssize_t written;

    while (length > 0) {
        written = send(link->fd, next, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (written > 0) {
            next += written;
            length -= written;
        } else if ((errno == EAGAIN) || (errno == EINTR)) {
            link_idle(link, POLLOUT);
        } else {
            perf_fatal("%s (%s)", gone, strerror(errno));
        }
    }
}

static void link_read(perf_link_t *link, void *data, size_t length)
{
    double deadline = perf_clock_now() + link->timeout;
    char *next      = data;
    ssize_t got;

    while (length > 0) {
        got = recv(link->fd, next, length, MSG_DONTWAIT);
        if (got > 0) {
            next += got;
            length -= got;
        } else if (got == 0) {
            perf_fatal("%s", gone);
        } else if ((errno == EAGAIN) || (errno == EINTR)) {
            if (perf_clock_now() > deadline) {
                perf_fatal("the other process did not answer within %g s", link->timeout);
            }
            link_idle(link, POLLIN);
        } else {
            perf_fatal("%s (%s)", gone, strerror(errno));
        }
    }
}

void perf_link_exchange(perf_link_t *link, const void *mine, void *theirs, size_t length)
{
    /* Both may write first: the data fits into the buffers of a socket */
    link_write(link, mine, length);
    link_read(link, theirs, length);
}

double perf_link_agree(perf_link_t *link, double value)
{
    double theirs;

    perf_link_exchange(link, &value, &theirs, sizeof(value));
    return (link->rank == 0) ? value : theirs;
}

void perf_link_barrier(perf_link_t *link)
{
    atomic_ulong *mine   = &link->shared->ranks[link->rank].arrived;
    atomic_ulong *theirs = &link->shared->ranks[!link->rank].arrived;
    perf_wait_t wait     = {0};

    ++link->num_barriers;
    atomic_store_explicit(mine, link->num_barriers, memory_order_release);
    while (atomic_load_explicit(theirs, memory_order_acquire) < link->num_barriers) {
        link->idle(link->idle_arg);
        perf_link_spin(link, &wait, "the other process did not come to a barrier");
    }
}

double perf_link_probe(perf_link_t *link)
{
    enum {
        ROUNDS = 5,
        TRIPS  = 1000
    };
    atomic_ulong *mine, *theirs;
    double times[ROUNDS];
    perf_wait_t wait;
    double start;
    int round, i;

    if (link->shared == NULL) {
        return 0;
    }
    mine   = &link->shared->ranks[link->rank].probe;
    theirs = &link->shared->ranks[!link->rank].probe;
    for (round = 0; round < ROUNDS; ++round) {
        start = perf_clock_now();
        for (i = 0; i < TRIPS; ++i) {
            ++link->num_probes;
            if (link->rank == 0) {
                atomic_store_explicit(mine, link->num_probes, memory_order_release);
            }
            memset(&wait, 0, sizeof(wait));
            while (atomic_load_explicit(theirs, memory_order_acquire) <
                   link->num_probes) {
                perf_link_spin(link, &wait, "the other process did not come to a probe");
            }
            if (link->rank == 1) {
                atomic_store_explicit(mine, link->num_probes, memory_order_release);
            }
        }
        times[round] = (perf_clock_now() - start) / TRIPS / 2 * 1e9;
    }
    return perf_quartiles(times, ROUNDS).median;
}

/*
 * One host
 */
static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        perf_fatal("cannot run on core %d: %s", cpu, strerror(errno));
    }
}

/* The first two cores that this process may use, or one of them twice */
static void find_cpus(int *cpus)
{
    int found = 0;
    cpu_set_t set;
    int cpu;

    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        perf_fatal("cannot find out the cores: %s; give --cpus", strerror(errno));
    }
    for (cpu = 0; (cpu < CPU_SETSIZE) && (found < 2); ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            cpus[found++] = cpu;
        }
    }
    if (found == 1) {
        cpus[1] = cpus[0];
    }
}

void perf_link_choose_cpus(int *cpus)
{
    cpu_set_t all;

    if (cpus[0] < 0) {
        find_cpus(cpus);
    }
    if (cpus[0] == cpus[1]) {
        fprintf(stderr,
                "ucxri_perf: both processes have to share core %d: the times say little\n",
                cpus[0]);
    }
    /* A core that cannot be used is found before there are processes to end */
    sched_getaffinity(0, sizeof(all), &all);
    pin(cpus[1]);
    pin(cpus[0]);
    sched_setaffinity(0, sizeof(all), &all);
}

static pid_t start_rank(perf_link_t *link, const int *cpus, double timeout, int rank,
                        const int *fds, perf_shared_t *shared)
{
    pid_t parent = getpid();
    pid_t pid    = fork();

    if (pid < 0) {
        perf_fatal("cannot start a process: %s", strerror(errno));
    }
    if (pid > 0) {
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    close(fds[!rank]);
    pin(cpus[rank]);
    link_init(link, rank, fds[rank], timeout);
    link->shared = shared;
    link->yield  = (cpus[0] == cpus[1]);
    return 0;
}

/* Wait for both ranks; the first that fails decides, and takes the other one with it */
static void __attribute__((noreturn)) supervise(const pid_t *pids)
{
    int failed = 0;
    int left   = 2;
    int status, rank;
    pid_t pid;

    while (left > 0) {
        pid = waitpid(-1, &status, 0);
        if (pid < 0) {
            if (errno == EINTR) {
                continue;
            }
            perf_fatal("cannot wait for the processes: %s", strerror(errno));
        }
        rank = (pid == pids[1]);
        --left;
        if (!failed && (status != 0)) {
            if (WIFSIGNALED(status)) {
                fprintf(stderr, "ucxri_perf: process %d was ended by signal %d (%s)\n",
                        rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
            }
            failed = 1;
            if (left > 0) {
                kill(pids[!rank], SIGKILL);
            }
        }
    }
    exit(failed ? EXIT_FAILURE : EXIT_SUCCESS);
}

void perf_link_fork(perf_link_t *link, int *cpus, double timeout)
{
    perf_shared_t *shared;
    pid_t pids[2];
    int fds[2];
    int rank;

    perf_link_choose_cpus(cpus);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perf_fatal("cannot allocate shared memory: %s", strerror(errno));
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        perf_fatal("cannot make a pair of sockets: %s", strerror(errno));
    }
    for (rank = 0; rank < 2; ++rank) {
        pids[rank] = start_rank(link, cpus, timeout, rank, fds, shared);
        if (pids[rank] == 0) {
            return;
        }
    }
    close(fds[0]);
    close(fds[1]);
    supervise(pids);
}

/*
 * Two hosts
 */
static struct addrinfo *resolve(const char *host, const char *port, int flags)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *list;
    int error = getaddrinfo(host, port, &hints, &list);

    if (error != 0) {
        perf_fatal("%s port %s: %s", (host == NULL) ? "this host" : host, port,
                   gai_strerror(error));
    }
    return list;
}

static void set_nodelay(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* A listening socket: the first address that can be had, IPv6 for both families */
static int open_listener(const char *port)
{
    struct addrinfo *list = resolve(NULL, port, AI_PASSIVE);
    int error             = 0;
    int on                = 1;
    int off               = 0;
    struct addrinfo *info;
    int family, fd, turn;

    for (turn = 0; turn < 2; ++turn) {
        family = (turn == 0) ? AF_INET6 : AF_INET;
        for (info = list; info != NULL; info = info->ai_next) {
            if (info->ai_family != family) {
                continue;
            }
            fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (fd < 0) {
                error = errno;
                continue;
            }
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
            if (family == AF_INET6) {
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
            }
            if ((bind(fd, info->ai_addr, info->ai_addrlen) == 0) &&
                (listen(fd, 1) == 0)) {
                freeaddrinfo(list);
                return fd;
            }
            error = errno;
            close(fd);
        }
    }
    perf_fatal("cannot listen on port %s: %s", port, strerror(error));
}

static void print_port(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t length                = sizeof(address);
    char port[NI_MAXSERV]           = "?";

    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        getnameinfo((struct sockaddr *)&address, length, NULL, 0, port, sizeof(port),
                    NI_NUMERICSERV);
    }
    fprintf(stderr, "ucxri_perf: waiting on port %s\n", port);
}

void perf_link_listen(perf_link_t *link, const char *port, int cpu, perf_params_t *params)
{
    char text[sizeof(hello)];
    int listener, fd;

    if (cpu >= 0) {
        pin(cpu);
    }
    listener = open_listener(port);
    print_port(listener);
    do {
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    } while ((fd < 0) && (errno == EINTR));
    if (fd < 0) {
        perf_fatal("cannot accept a connection: %s", strerror(errno));
    }
    close(listener);
    set_nodelay(fd);
    link_init(link, 1, fd, params->timeout);
    perf_link_exchange(link, hello, text, sizeof(hello));
    if (memcmp(text, hello, sizeof(hello)) != 0) {
        perf_fatal("the connecting process is no ucxri_perf of this version");
    }
    link_read(link, params, sizeof(*params));
    link->timeout = params->timeout;
}

void perf_link_connect(perf_link_t *link, const char *host, const char *port, int cpu,
                       const perf_params_t *params)
{
    struct addrinfo *list = resolve(host, port, 0);
    int error             = 0;
    int fd                = -1;
    char text[sizeof(hello)];
    struct addrinfo *info;

    if (cpu >= 0) {
        pin(cpu);
    }
    for (info = list; (info != NULL) && (fd < 0); info = info->ai_next) {
        fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if ((fd >= 0) && (connect(fd, info->ai_addr, info->ai_addrlen) != 0)) {
            error = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0) {
        perf_fatal("cannot connect to %s port %s: %s", host, port, strerror(error));
    }
    set_nodelay(fd);
    link_init(link, 0, fd, params->timeout);
    perf_link_exchange(link, hello, text, sizeof(hello));
    if (memcmp(text, hello, sizeof(hello)) != 0) {
        perf_fatal("what listens there is no ucxri_perf of this version");
    }
    link_write(link, params, sizeof(*params));
}
