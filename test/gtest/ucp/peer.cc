/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Second processes for the UCP tests; see peer.h. */

#include "peer.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ucp_test {

namespace {

enum command {
    START,
    REAP
};

/* One datagram to the server; START carries a descriptor for the peer's channel. */
struct order {
    command what;
    pid_t pid;
    char role[64];
    char tr[16];
    char arg[128];
};

int g_control      = -1; /* our end of the server's socket */
pid_t g_server_pid = -1;

std::map<std::string, peer_func> &roles()
{
    static std::map<std::string, peer_func> map;
    return map;
}

const transport &transport_by_name(const std::string &name)
{
    for (const transport *t : {&SHM, &TCP, &SELF}) {
        if (name == t->name) {
            return *t;
        }
    }
    throw failure("unknown transport " + name);
}

[[noreturn]] void run_role(const order &o, int fd)
{
    int code = 1;

    alarm(test_limit());
    if (const char *devices = getenv("TEST_PEER_IB_DEVICES")) {
        setenv("UCXRI_IB_DEVICES", devices, 1); /* has not been read yet */
    }
    try {
        channel ch(fd);
        peer_env env = {ch, transport_by_name(o.tr), o.arg};
        roles().at(o.role)(env);
        code = ::testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed();
    } catch (const std::exception &e) {
        fprintf(stderr, "peer %s over %s: %s\n", o.role, o.tr, e.what());
    }
    exit(code);
}

void serve(int control)
{
    for (;;) {
        order o;
        alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))];
        iovec iov  = {&o, sizeof(o)};
        msghdr msg = {};
        int fd     = -1, answer;

        msg.msg_iov        = &iov;
        msg.msg_iovlen     = 1;
        msg.msg_control    = space;
        msg.msg_controllen = sizeof(space);
        if (recvmsg(control, &msg, 0) != sizeof(o)) {
            return; /* the test program is gone */
        }
        if (cmsghdr *c = CMSG_FIRSTHDR(&msg)) {
            memcpy(&fd, CMSG_DATA(c), sizeof(fd));
        }

        if (o.what == START) {
            answer = fork();
            if (answer == 0) {
                ::close(control);
                run_role(o, fd);
            }
            ::close(fd);
        } else if (waitpid(o.pid, &answer, 0) != o.pid) {
            answer = -1;
        }
        if (send(control, &answer, sizeof(answer), MSG_NOSIGNAL) < 0) {
            return;
        }
    }
}

int ask_server(const order &o, int fd)
{
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    iovec iov  = {const_cast<order *>(&o), sizeof(o)};
    msghdr msg = {};
    int answer = -1;

    msg.msg_iov    = &iov;
    msg.msg_iovlen = 1;
    if (fd >= 0) {
        msg.msg_control    = space;
        msg.msg_controllen = sizeof(space);
        cmsghdr *c         = CMSG_FIRSTHDR(&msg);
        c->cmsg_level      = SOL_SOCKET;
        c->cmsg_type       = SCM_RIGHTS;
        c->cmsg_len        = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    if ((sendmsg(g_control, &msg, MSG_NOSIGNAL) != sizeof(o)) ||
        (::recv(g_control, &answer, sizeof(answer), 0) != sizeof(answer))) {
        throw failure("the fork server does not answer");
    }
    return answer;
}

} // namespace

peer_role::peer_role(const char *name, peer_func func)
{
    roles()[name] = func;
}

void fork_server_start()
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        perror("socketpair");
        exit(1);
    }
    fflush(nullptr);
    g_server_pid = fork();
    if (g_server_pid < 0) {
        perror("fork");
        exit(1);
    }
    if (g_server_pid == 0) {
        ::close(fds[0]);
        serve(fds[1]);
        _exit(0);
    }
    ::close(fds[1]);
    g_control = fds[0];
}

void fork_server_stop()
{
    ::close(g_control);
    waitpid(g_server_pid, nullptr, 0);
}

channel::~channel()
{
    ::close(m_fd);
}

void channel::put(const std::string &message)
{
    uint32_t length = message.size();
    std::string out(reinterpret_cast<char *>(&length), sizeof(length));

    out += message;
    /* Where a message is longer than a socket buffer, this blocks until the other side reads. */
    if (::send(m_fd, out.data(), out.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(out.size())) {
        throw failure("the other process is gone");
    }
}

bool channel::readable() const
{
    pollfd p = {m_fd, POLLIN, 0};

    return poll(&p, 1, 0) > 0;
}

void channel::read_all(void *buffer, size_t length)
{
    char *to = static_cast<char *>(buffer);

    while (length > 0) {
        pollfd p = {m_fd, POLLIN, 0};
        int ret  = poll(&p, 1, static_cast<int>(deadline_sec() * 1000));
        if ((ret < 0) && (errno == EINTR)) {
            continue;
        }
        if (ret <= 0) {
            throw failure("timeout while waiting for the other process");
        }
        ssize_t n = ::recv(m_fd, to, length, 0);
        if (n <= 0) {
            throw failure("the other process is gone");
        }
        to += n;
        length -= n;
    }
}

std::string channel::get()
{
    uint32_t length;

    read_all(&length, sizeof(length));
    std::string message(length, '\0');
    read_all(&message[0], length);
    return message;
}

peer::peer(const char *role, const transport &tr, const std::string &arg)
{
    order o = {};
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        throw failure(std::string("socketpair: ") + strerror(errno));
    }
    m_channel.reset(new channel(fds[0]));
    o.what = START;
    snprintf(o.role, sizeof(o.role), "%s", role);
    snprintf(o.tr, sizeof(o.tr), "%s", tr.name);
    if (arg.size() >= sizeof(o.arg)) {
        throw failure("too much is said about a peer");
    }
    snprintf(o.arg, sizeof(o.arg), "%s", arg.c_str());
    m_pid = ask_server(o, fds[1]);
    ::close(fds[1]);
    if (m_pid <= 0) {
        throw failure("the fork server could not fork");
    }
}

int peer::reap()
{
    order o = {};

    o.what = REAP;
    o.pid  = m_pid;
    m_pid  = -1;
    return ask_server(o, -1);
}

void peer::kill_now()
{
    kill(m_pid, SIGKILL);
    reap();
}

void peer::finish()
{
    int status = reap();

    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0))
            << "the peer process failed, wait status " << status;
}

/* After a failure the peer may wait for something that never comes. */
peer::~peer()
{
    if (m_pid > 0) {
        kill_now();
    }
}

endpoint_pair::endpoint_pair(channel &ch, const transport &tr,
                             const entity_params &params)
    : m_channel(ch), m_entity(tr, params)
{
    m_channel.put(m_entity.address());
    m_ep = m_entity.connect(m_channel.get());
}

void endpoint_pair::wait(const std::function<bool()> &condition, const char *what)
{
    if (!poll_until(condition, [this] { return m_entity.progress(); })) {
        throw failure(std::string("timeout while waiting for ") + what);
    }
}

void endpoint_pair::wait(const op &o, const char *what)
{
    wait([&] { return o.done(); }, what);
}

void endpoint_pair::wait_all(const std::vector<op_ptr> &ops, const char *what)
{
    for (auto &o : ops) {
        wait(*o, what);
    }
}

void endpoint_pair::barrier()
{
    m_channel.put("barrier");
    wait([&] { return m_channel.readable(); }, "barrier");
    if (m_channel.get() != "barrier") {
        throw failure("unexpected message instead of a barrier");
    }
}

void endpoint_pair::close()
{
    ucs_status_ptr_t ret = m_entity.close_nbx(m_ep);

    if (UCS_PTR_IS_PTR(ret)) {
        wait([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; }, "close");
        EXPECT_EQ(UCS_OK, ucp_request_check_status(ret));
        ucp_request_free(ret);
    } else {
        EXPECT_EQ(nullptr, ret);
    }
    barrier();
}

} // namespace ucp_test
