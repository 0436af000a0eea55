/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port of the device gets another address while datagrams go by it. All planes of this process
 * have the same port, so ways end at both sides. Without the software HCA they are skipped. The
 * tests run src/uct/ib/ud/ud_data.c, src/uct/ib/ud/ud_event.c and src/uct/ib/ud/ud_qp.c, too.
 */

#include "ud_plane_test.h"

#if HAVE_VERBS

extern "C" {
#include "uct/ib/device/events.h"
}

#include <dlfcn.h>

namespace {

class test_ud_moves : public ud_plane_test {
protected:
    void SetUp() override
    {
        if (dlsym(RTLD_DEFAULT, "softhca_get_counters") == nullptr) {
            GTEST_SKIP() << "needs the software HCA, whose port can be moved";
        }
        ud_plane_test::SetUp();
    }

    void run(const char *layer, const char *faults,
             const std::function<void(trio &)> &func)
    {
        in_process({{"SOFTHCA_LINK_LAYER", layer}, {"SOFTHCA_FAULTS", faults}}, [&]() {
            trio t;

            func(t);
        });
    }

    /* Until the device is asked */
    static void look(ud_node &node)
    {
        for (unsigned i = 0; i < RI_IB_EVENTS_CALLS; ++i) {
            node.progress();
        }
    }

    static bool works(ri_plane_ep_t *ep) { return ri_plane_ud.check(ep) == UCS_OK; }

    static void exchange(trio &t, ud_way &way)
    {
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(way.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(way.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_EQ(UCS_OK, x.recv.status);
        EXPECT_EQ(UCS_OK, x.send.status);
        EXPECT_TRUE(x.is_received());
    }

    /* Everything stops, and begins anew by other ways. */
    static void moves_under_way(trio &t)
    {
        plane_transfer x(t.a(), t.c(), 1 << 20), late(t.a(), t.c());
        ud_way again;

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_EQ(UCS_ERR_UNREACHABLE, x.recv.status);
        EXPECT_EQ(UCS_ERR_UNREACHABLE, x.send.status);
        for (ud_node *node : t.list) {
            look(*node);
        }
        for (ud_way *way : {&t.a_c, &t.b_c}) {
            EXPECT_FALSE(works(way->ep[0]) || works(way->ep[1]));
        }
        EXPECT_EQ(1u, t.a().plane->failures);
        EXPECT_EQ(2u, t.c().plane->failures);
        EXPECT_EQ(UCS_ERR_UNREACHABLE, late.start_recv(t.a_c.ep[1]));

        again.join(t.a(), t.c());
        exchange(t, again);
        look(t.a());
        EXPECT_TRUE(works(again.ep[0]));
    }
};

/* The data queue pair has sent that much when the port moves. */
const char *const MOVE = "move_after=100";

TEST_F(test_ud_moves, infiniband)
{
    run("infiniband", MOVE, moves_under_way);
}

TEST_F(test_ud_moves, ethernet)
{
    run("ethernet", MOVE, moves_under_way);
}

TEST_F(test_ud_moves, ethernet_ipv4)
{
    run("ethernet_ipv4", MOVE, moves_under_way);
}

/* What is told of a way that has ended is told to nobody: its address handle is gone. */
TEST_F(test_ud_moves, nobody_is_told)
{
    run("infiniband", "move_after=30", [](trio &t) {
        exchange(t, t.a_c); /* 25 pieces */
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        uint64_t unsent = t.c().counters()->ud_unsent;
        ri_ud_heard_remind(t.a_c.ep[1]);
        usleep(2000);
        EXPECT_EQ(1, ri_ud_heard_remind(t.a_c.ep[1]));
        EXPECT_LE(unsent, t.c().counters()->ud_unsent);
    });
}

/* A way that is prepared has the new address, though nobody has looked; when that is done, it
 * stays. */
TEST_F(test_ud_moves, prepared_before_the_look)
{
    run("infiniband", "move_after=20", [](trio &t) {
        plane_transfer x(t.a(), t.c());
        ud_way again;

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        again.join(t.b(), t.c());
        for (ud_node *node : t.list) {
            look(*node);
        }
        EXPECT_FALSE(works(t.a_c.ep[0]) || works(t.b_c.ep[1]));
        EXPECT_TRUE(works(again.ep[0]) && works(again.ep[1]));
        wait(t.list, [&]() { return x.ended(); });
    });
}

} // namespace

#endif
