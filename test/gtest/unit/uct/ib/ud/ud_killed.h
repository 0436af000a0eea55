/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A process of a test that takes its side of a ud transfer with the test, the survivor, and is
 * killed in the middle of it. What the survivor has of it ends, its memory is left alone, and its
 * queue pairs are used again: the next process gets them.
 */
#ifndef RI_UD_KILLED_H
#define RI_UD_KILLED_H

#include "ud_test.h"

#if HAVE_VERBS

#include <algorithm>
#include <csignal>
#include <sys/socket.h>

/* When the process dies. */
struct ud_moment {
    enum {
        NEVER = 0,
        DATA  = RI_UD_TYPE_LAST
    };

    int type  = NEVER; /* of what it sends: a ri_ud_type_t, or DATA, a chain of pieces */
    int n     = 1;     /* the n-th of that type */
    int after = 0;     /* it was sent (of a chain the first half), or not yet */
    int steps =
            -1; /* number of calls of progress after which it is killed; -1: by `after` */
};

/* What else is up to a test. */
struct ud_death_plan {
    bool is_sender    = false; /* the survivor */
    bool is_offer     = false; /* the receiver has not been asked */
    bool cancels      = false; /* the process, when it has received something */
    bool stays_silent = false; /* the survivor, until the process is dead */
    bool must_die     = true;  /* or may get through */
    bool breaks = false; /* the receiver's queue pair fails when it has sent a NACK */
};

class ud_killed_test : public ud_test {
protected:
    enum {
        LENGTH = 300000,
        FILL   = 0xa5
    };

    /* What the two tell each other. */
    struct exchange {
        ri_ud_address_t address[2];
        ri_ud_target_t target;
        int is_through; /* the moment did not come */
    };

    struct child {
        exchange *x;
        int socket;
        pid_t pid;
        ud_moment moment;
        ud_death_plan plan;
    };

    /* It waits until it is called upon. Before the survivor opens a device: the child would not
     * have that. */
    static child make_child(const ud_moment &moment, const ud_death_plan &plan)
    {
        void *map = mmap(nullptr, sizeof(exchange), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        child c   = {static_cast<exchange *>(map), -1, -1, moment, plan};
        int pair[2];

        EXPECT_NE(MAP_FAILED, map);
        EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        c.pid = fork();
        if (c.pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(pair[0]);
            be_child(c, pair[1]);
            die();
        }
        close(pair[1]);
        c.socket = pair[0];
        return c;
    }

    /* The survivor's side. @return How its transfer ended. */
    static ucs_status_t survive(ud_node &node, const child &c)
    {
        ri_plane_ep_t *ep = node.prepare(&c.x->address[0]);
        ud_buffer buffer(node.plane, LENGTH);
        segments list  = {{(uintptr_t)buffer.data(), LENGTH}};
        bool breaks    = c.plan.breaks && !c.plan.is_sender;
        uint64_t nacks = node.counters()->ud_nacks;
        ud_op op;
        int status;

        memset(buffer.data(), FILL, LENGTH);
        say(c.socket);
        hear(c.socket);
        EXPECT_EQ(UCS_OK, node.connect(ep, c.x->address[1]));
        if (c.plan.is_sender) {
            fill(buffer);
        } else {
            EXPECT_EQ(UCS_OK, op.recv(ep, list, buffer.key(), LENGTH, c.plan.is_offer));
            c.x->target = op.target;
        }
        say(c.socket);
        hear(c.socket);
        if (c.plan.is_sender) {
            EXPECT_EQ(UCS_INPROGRESS,
                      op.send(ep, list, buffer.key(), LENGTH, c.x->target));
        }
        while (waitpid(c.pid, &status, WNOHANG) == 0) {
            if (!c.plan.stays_silent) {
                node.progress();
            }
            break_queue_pair(node, nacks, breaks);
        }
        end(node, op, c);
        if (!c.plan.is_sender && (op.status == UCS_OK)) {
            EXPECT_TRUE(is_filled(buffer));
        }
        expect_left_alone(node, buffer);
        ri_plane_ud.disconnect(ep);
        node.eps.clear();
        close(c.socket);
        EXPECT_TRUE(!c.plan.must_die || !c.x->is_through) << "nothing to die of";
        munmap(c.x, sizeof(*c.x));
        return op.status;
    }

private:
    [[noreturn]] static void die()
    {
        kill(getpid(), SIGKILL);
        for (;;) {
            pause();
        }
    }

    static char hear(int socket)
    {
        char c = 0;

        return (read(socket, &c, 1) == 1) ? c : 0;
    }

    static void say(int socket) { EXPECT_EQ(1, write(socket, "x", 1)); }

    static void fill(const ud_buffer &buffer)
    {
        for (size_t i = 0; i < (size_t)LENGTH; ++i) {
            buffer.data()[i] = (uint8_t)(i * 7 + i / 4096);
        }
    }

    static bool is_filled(const ud_buffer &buffer)
    {
        for (size_t i = 0; i < (size_t)LENGTH; ++i) {
            if (buffer.data()[i] != (uint8_t)(i * 7 + i / 4096)) {
                return false;
            }
        }
        return true;
    }

    /* What its protocol does when the peer is gone: nothing else tells a receiver. */
    static void end(ud_node &node, ud_op &op, const child &c)
    {
        if (c.plan.is_sender) {
            wait({&node}, [&]() { return op.ends > 0; });
            EXPECT_TRUE((op.status == UCS_OK) || (op.status == UCS_ERR_UNREACHABLE) ||
                        (op.status == UCS_ERR_CANCELED))
                    << op.status;
        } else if (op.ends == 0) {
            if (!c.plan.is_offer || !ri_plane_ud.ud->withdraw(&op.super)) {
                ri_plane_ud.ud->cancel(&op.super);
            }
            wait({&node}, [&]() { return op.ends > 0; });
        }
    }

    static void expect_left_alone(ud_node &node, const ud_buffer &buffer)
    {
        memset(buffer.data(), FILL, LENGTH);
        usleep(5000); /* longer than any delay */
        node.progress();
        EXPECT_EQ((ptrdiff_t)LENGTH,
                  std::count(buffer.data(), buffer.data() + LENGTH, (uint8_t)FILL));
        EXPECT_TRUE(node.all_home());
    }

    static void be_child(const child &c, int socket)
    {
        ud_node node;
        ud_op *op      = new ud_op; /* never ends */
        bool is_sender = !c.plan.is_sender;

        hear(socket);
        node.open();
        ri_plane_ep_t *ep = node.prepare(&c.x->address[1]);
        auto *buffer      = new ud_buffer(node.plane, LENGTH);
        segments list     = {{(uintptr_t)buffer->data(), LENGTH}};
        say(socket);
        hear(socket);
        node.connect(ep, c.x->address[0]);
        arm(node, c.moment);
        if (is_sender) {
            fill(*buffer);
            op->send(ep, list, buffer->key(), LENGTH, c.x->target);
        } else {
            op->recv(ep, list, buffer->key(), LENGTH, c.plan.is_offer);
            c.x->target = op->target;
        }
        say(socket);
        go_on(node, *op, c);
        c.x->is_through = 1;
    }

    /* Until it has ended, and some time after: it may have to answer. If it is to die of an answer,
     * until it is asked, however late that is. */
    static void go_on(ud_node &node, ud_op &op, const child &c)
    {
        const int MORE   = 500;
        const double MAX = 60;
        bool cancels     = c.plan.cancels;
        bool breaks      = c.plan.breaks && c.plan.is_sender;
        double start     = ri_clock_now();

        for (int i = 0, more = 0; i != c.moment.steps; ++i) {
            if ((more >= MORE) && (!c.plan.must_die || (ri_clock_now() > start + MAX))) {
                break;
            }
            node.progress();
            if (cancels && (node.counters()->ud_received > 0)) {
                cancels = false;
                ri_plane_ud.ud->cancel(&op.super);
            }
            break_queue_pair(node, 0, breaks);
            more += (op.ends > 0) && (c.moment.steps < 0);
            usleep(50);
        }
    }

    /* That of the one transfer, once, in the middle of a repair.
     * @param nacks  The number of NACKs that were sent in other transfers. */
    static void break_queue_pair(ud_node &node, uint64_t nacks, bool &breaks)
    {
        struct ibv_qp_attr attr = {};

        if (!breaks || (node.counters()->ud_nacks == nacks) ||
            ucs_list_is_empty(&node.ud()->active)) {
            return;
        }
        breaks        = false;
        auto *recv    = ucs_list_head(&node.ud()->active, ri_ud_recv_t, super.list);
        attr.qp_state = IBV_QPS_ERR;
        EXPECT_EQ(0, ri_verbs.modify_qp(recv->qp->qp, &attr, IBV_QP_STATE));
    }

    static void arm(ud_node &node, const ud_moment &moment)
    {
        struct ibv_context *context = node.ud()->ib.device->context;

        s_moment               = moment;
        s_post_send            = context->ops.post_send;
        context->ops.post_send = post_send;
    }

    static int type_of(const struct ibv_send_wr *wr)
    {
        return (wr->opcode == IBV_WR_SEND) ?
                       (int)((const uint8_t *)(uintptr_t)wr->sg_list[0].addr)[1] :
                       (int)ud_moment::DATA;
    }

    /* The device of a process that dies. */
    static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                         struct ibv_send_wr **bad)
    {
        if ((type_of(wr) == s_moment.type) && (--s_moment.n == 0)) {
            if (s_moment.after) {
                struct ibv_send_wr *half = wr;

                for (struct ibv_send_wr *i = wr->next; i && i->next; i = i->next->next) {
                    half = half->next;
                }
                half->next = nullptr;
                s_post_send(qp, wr, bad);
            }
            die();
        }
        return s_post_send(qp, wr, bad);
    }

    inline static ud_moment s_moment;
    inline static int (*s_post_send)(struct ibv_qp *, struct ibv_send_wr *,
                                     struct ibv_send_wr **);
};

#endif

#endif
