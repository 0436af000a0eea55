/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Second processes for the UCP tests. A process that has used UCX cannot fork safely,
 * so main() forks a small server before anything touches UCX, and that server forks a
 * clean child whenever a test asks for a peer.
 *
 * What a peer does is a role: a function registered under a name with a static
 * peer_role. EXPECT_* and exceptions in a role make the child exit non-zero, which
 * peer::finish() reports in the test.
 */

#ifndef UCXRI_TEST_PEER_H_
#define UCXRI_TEST_PEER_H_

#include "ucp_test.h"

#include <sys/types.h>

namespace ucp_test {

/* A byte channel between test and peer, with deadlines; throws failure. */
class channel {
public:
    explicit channel(int fd) : m_fd(fd) {}
    ~channel();
    channel(const channel &)            = delete;
    channel &operator=(const channel &) = delete;

    void put(const std::string &message);
    std::string get();
    bool readable() const; /* without waiting */
    int fd() const { return m_fd; }

private:
    void read_all(void *buffer, size_t length);

    int m_fd;
};

struct peer_env {
    channel &ch;
    const transport &tr;
    std::string arg;
};

using peer_func = void (*)(peer_env &env);

struct peer_role {
    peer_role(const char *name, peer_func func);
};

class peer {
public:
    peer(const char *role, const transport &tr, const std::string &arg = "");
    ~peer();

    channel &ch() { return *m_channel; }
    pid_t pid() const { return m_pid; }
    void kill_now(); /* SIGKILL, and wait until the process is gone */
    void finish();   /* waits for a normal end; a bad exit code fails the test */
    int reap();      /* waits for any end; its wait status */

private:
    std::unique_ptr<channel> m_channel;
    pid_t m_pid = -1;
};

/* For main(): starts the server, before any UCX call. */
void fork_server_start();
void fork_server_stop();

/* One side of a connected pair of processes; both sides construct it. */
class endpoint_pair {
public:
    endpoint_pair(channel &ch, const transport &tr, const entity_params &params = {});

    entity &self() { return m_entity; }
    ucp_worker_h worker() { return m_entity.worker(); }
    ucp_ep_h ep() { return m_ep; }

    void wait(const std::function<bool()> &condition, const char *what = "condition");
    void wait(const op &o, const char *what = "operation");
    void wait_all(const std::vector<op_ptr> &ops, const char *what = "operations");

    /* Both sides meet here, with progress meanwhile. */
    void barrier();

    /* Closes the endpoint, and progresses until the other side has done so too. */
    void close();

private:
    channel &m_channel;
    entity m_entity;
    ucp_ep_h m_ep;
};

} // namespace ucp_test

#endif
