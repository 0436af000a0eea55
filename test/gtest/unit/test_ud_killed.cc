/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The remote process of a ud transfer is killed: what this side has of it ends, its memory is
 * left alone, and its queue pairs are used again. Without a device they are skipped.
 */

#include "ud_test.h"

#if HAVE_VERBS

#include <csignal>
#include <sys/socket.h>

namespace {

const size_t LENGTH = 300000;
const int STEPS     = 10; /* further apart each time */
const uint8_t FILL  = 0xa5;

/* What a test and one of its children tell each other. */
struct exchange {
    ri_ud_address_t address[2];
    ri_ud_target_t target;
};

class test_ud_killed : public ud_test {
protected:
    struct child {
        exchange *x;
        int socket;
        pid_t pid;
    };

    static exchange *map_exchange()
    {
        void *map = mmap(nullptr, sizeof(exchange), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        EXPECT_NE(MAP_FAILED, map);
        return static_cast<exchange *>(map);
    }

    /* A process that waits, takes its side of a transfer, and dies in the middle of it. */
    static child make_child(bool is_sender, int steps)
    {
        child c;
        int pair[2];

        c.x = map_exchange();
        EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        c.pid = fork();
        if (c.pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(pair[0]);
            be_child(c.x, pair[1], is_sender, steps);
            kill(getpid(), SIGKILL);
        }
        close(pair[1]);
        c.socket = pair[0];
        return c;
    }

    static char hear(int socket)
    {
        char c = 0;

        return (read(socket, &c, 1) == 1) ? c : 0;
    }

    static void say(int socket) { EXPECT_EQ(1, write(socket, "x", 1)); }

    static void be_child(exchange *x, int socket, bool is_sender, int steps)
    {
        ud_node node;
        ud_op *op = new ud_op; /* never ends */

        hear(socket);
        node.open();
        ri_plane_ep_t *ep = node.prepare(&x->address[1]);
        auto *buffer      = new ud_buffer(node.plane, LENGTH);
        segments list     = {{(uintptr_t)buffer->data(), LENGTH}};
        say(socket);
        hear(socket);
        node.connect(ep, x->address[0]);
        if (is_sender) {
            op->send(ep, list, buffer->key(), LENGTH, x->target);
        } else {
            op->recv(ep, list, buffer->key(), LENGTH);
            x->target = op->target;
        }
        say(socket);
        for (int i = 0; i < steps; ++i) {
            node.progress();
            usleep(50);
        }
    }

    /* This side of it. @return Whether the transfer ended well. */
    static bool survive(ud_node &node, const child &c, bool is_sender)
    {
        ri_plane_ep_t *ep = node.prepare(&c.x->address[0]);
        ud_buffer buffer(node.plane, LENGTH);
        segments list = {{(uintptr_t)buffer.data(), LENGTH}};
        ud_op op;
        int status;

        memset(buffer.data(), FILL, LENGTH);
        say(c.socket);
        hear(c.socket);
        EXPECT_EQ(UCS_OK, node.connect(ep, c.x->address[1]));
        if (!is_sender) {
            EXPECT_EQ(UCS_OK, op.recv(ep, list, buffer.key(), LENGTH));
            c.x->target = op.target;
        }
        say(c.socket);
        hear(c.socket);
        if (is_sender) {
            EXPECT_EQ(UCS_INPROGRESS,
                      op.send(ep, list, buffer.key(), LENGTH, c.x->target));
        }
        while (waitpid(c.pid, &status, WNOHANG) == 0) {
            node.progress();
        }
        if (is_sender) {
            wait({&node}, [&]() { return op.ends > 0; });
            EXPECT_TRUE((op.status == UCS_OK) || (op.status == UCS_ERR_UNREACHABLE));
        } else if (op.ends == 0) {
            ri_ud_cancel(&op.super); /* as its protocol does when the peer is gone */
            wait({&node}, [&]() { return op.ends > 0; });
        }
        memset(buffer.data(), FILL, LENGTH);
        usleep(2000);
        node.progress();
        EXPECT_EQ((ptrdiff_t)LENGTH,
                  std::count(buffer.data(), buffer.data() + LENGTH, FILL));
        EXPECT_TRUE(node.all_home());
        ri_plane_ud.disconnect(ep);
        node.eps.clear();
        close(c.socket);
        munmap(c.x, sizeof(*c.x));
        return op.status == UCS_OK;
    }

    static void run(bool is_sender)
    {
        std::vector<child> children;
        ud_node node;
        int well = 0;

        /* Before this process opens a device: it would not be in the children */
        for (int steps = 0; steps < STEPS; ++steps) {
            children.push_back(make_child(!is_sender, steps * steps / 2));
        }
        ASSERT_TRUE(node.open());
        for (const child &c : children) {
            well += survive(node, c, is_sender);
        }
        EXPECT_LT(well, STEPS);
        node.close();
    }
};

TEST_F(test_ud_killed, receiver)
{
    ri_config.ud_timeout = 0.1;
    ri_config.ud_qps     = 2;
    in_process({}, []() { run(true); });
}

TEST_F(test_ud_killed, sender)
{
    ri_config.ud_qps = 1;
    in_process({}, []() { run(false); });
}

TEST_F(test_ud_killed, with_faults)
{
    ri_config.ud_timeout = 0.1;
    ri_config.ud_qps     = 1;
    in_process({{"SOFTHCA_FAULTS", "ud_drop=5%,ud_dup=5%,ud_delay=2%/3ms"}}, []() {
        run(true);
        run(false);
    });
}

} // namespace

#endif
