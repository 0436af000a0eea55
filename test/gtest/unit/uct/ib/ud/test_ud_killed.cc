/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The remote process of a ud transfer is killed: after some calls of progress, and at each kind of
 * datagram that a side sends, before and after it. What a process does about what it receives is
 * to send, so there are no other states that it can leave behind. Without a device they are
 * skipped.
 */

#include "ud_killed.h"

#if HAVE_VERBS

namespace {

class test_ud_killed : public ud_killed_test {
protected:
    enum {
        STEPS = 10
    }; /* further apart each time */

    /* In seconds. Where one of five datagrams is lost, five questions in a row remain without an
     * answer now and then. */
    static constexpr double MANY_LOST = 1;

    void SetUp() override
    {
        ud_killed_test::SetUp();
        ri_config.ud_timeout = 0.1;
        ri_config.ud_qps     = 1;
        ri_config.ud_window  = 16; /* of 74 pieces */
    }

    static void run_steps(bool is_sender)
    {
        std::vector<child> children;
        ud_node node;
        int well = 0;

        for (int steps = 0; steps < STEPS; ++steps) {
            ud_moment moment;
            ud_death_plan plan;

            moment.steps   = steps * steps / 2;
            plan.is_sender = is_sender;
            plan.must_die  = false;
            children.push_back(make_child(moment, plan));
        }
        ASSERT_TRUE(node.open());
        for (const child &c : children) {
            well += survive(node, c) == UCS_OK;
        }
        EXPECT_LT(well, STEPS);
        node.close();
    }

    /* A process dies of each, one after the other. The last one does not, and all is well, unless
     * each loss costs it the whole message. */
    static void run_moments(const std::vector<ud_moment> &moments,
                            const ud_death_plan &plan)
    {
        std::vector<child> children;
        ud_death_plan last;
        ud_node node;

        last.is_sender = plan.is_sender;
        last.must_die  = false;
        for (const ud_moment &moment : moments) {
            children.push_back(make_child(moment, plan));
        }
        if (ri_config.ud_repair) {
            children.push_back(make_child(ud_moment(), last));
        }
        ASSERT_TRUE(node.open());
        for (const child &c : children) {
            SCOPED_TRACE("type " + std::to_string(c.moment.type) + ", n " +
                         std::to_string(c.moment.n) + ", after " +
                         std::to_string(c.moment.after));
            ucs_status_t status = survive(node, c);

            if (c.moment.type == ud_moment::NEVER) {
                EXPECT_EQ(UCS_OK, status);
            }
        }
        node.close();
    }

    /* The first ones of a type, before and after. */
    static std::vector<ud_moment> moments(int type, int most)
    {
        std::vector<ud_moment> all;

        for (int n = 1; n <= most; ++n) {
            for (int after : {0, 1}) {
                all.emplace_back();
                all.back().type  = type;
                all.back().n     = n;
                all.back().after = after;
            }
        }
        return all;
    }

    /* For some seeds of what gets lost. */
    static void run(const char *faults, const std::function<void()> &func)
    {
        for (int seed : {1, 2, 3}) {
            SCOPED_TRACE(std::string(faults) + ", seed " + std::to_string(seed));
            in_process(
                    {{"SOFTHCA_FAULTS", faults}, {"SOFTHCA_SEED", std::to_string(seed)}},
                    func);
            if (IsSkipped() || HasFailure() || (*faults == 0)) {
                break;
            }
        }
    }

    /* A survivor that receives, whether it was asked or has offered. */
    static void run_receiver(int type, int most, const char *faults,
                             ud_death_plan plan = ud_death_plan())
    {
        for (bool is_offer : {false, true}) {
            plan.is_offer = is_offer;
            run(faults, [&]() { run_moments(moments(type, most), plan); });
        }
    }

    static void run_sender(int type, int most, const char *faults,
                           ud_death_plan plan = ud_death_plan())
    {
        plan.is_sender = true;
        run_receiver(type, most, faults, plan);
    }
};

TEST_F(test_ud_killed, receiver)
{
    ri_config.ud_qps = 2;
    in_process({}, []() { run_steps(true); });
}

TEST_F(test_ud_killed, sender)
{
    in_process({}, []() { run_steps(false); });
}

TEST_F(test_ud_killed, with_faults)
{
    in_process({{"SOFTHCA_FAULTS", "ud_drop=5%,ud_dup=5%,ud_delay=2%/3ms"}}, []() {
        run_steps(true);
        run_steps(false);
    });
}

/* A sender dies at its pieces: before all, between two, and in the middle of a chain. It takes three
 * chains at least, and more if there is no room for whole ones. */
TEST_F(test_ud_killed, sender_at_data)
{
    static_assert(LENGTH > 2 * RI_UD_CHAIN * 4096, "three chains");

    run_receiver(ud_moment::DATA, 3, "");
    run_receiver(ud_moment::DATA, 3,
                 "ud_drop=5%,ud_dup=5%,ud_reorder=10%/8,ud_delay=2%/3ms");
}

TEST_F(test_ud_killed, sender_at_probe)
{
    ud_death_plan plan;

    plan.stays_silent = true;
    run_receiver(RI_UD_PROBE, 2, "", plan);
    run_receiver(RI_UD_PROBE, 2, "ud_drop=20%", plan);
}

TEST_F(test_ud_killed, sender_at_done)
{
    run_receiver(RI_UD_DONE, 1, "");
}

TEST_F(test_ud_killed, receiver_at_grant)
{
    run_sender(RI_UD_GRANT, 3, "");
    run_sender(RI_UD_GRANT, 2, "ud_drop=1%,ud_dup=5%");
}

TEST_F(test_ud_killed, receiver_at_nack)
{
    run_sender(RI_UD_NACK, 2, "ud_drop=20%");
}

TEST_F(test_ud_killed, receiver_at_ack)
{
    run_sender(RI_UD_ACK, 1, "");
    run_sender(RI_UD_ACK, 2, "ud_lose=3/1"); /* ACK: asked for once more */
}

TEST_F(test_ud_killed, receiver_at_restart)
{
    ri_config.ud_repair = 0;
    run_sender(RI_UD_RESTART, 2, "ud_drop=10%");
}

TEST_F(test_ud_killed, receiver_at_cancel)
{
    ud_death_plan plan;

    plan.cancels = true;
    run_sender(RI_UD_CANCEL, 1, "", plan);
    run_sender(RI_UD_CANCEL, 1, "ud_drop=5%,ud_delay=5%/3ms", plan);
}

/* The queue pair of the receiver fails while what it has asked for is sent again. */
TEST_F(test_ud_killed, receiver_at_restart_in_a_repair)
{
    ud_death_plan plan;

    plan.breaks          = true;
    ri_config.ud_timeout = MANY_LOST;
    run_sender(RI_UD_RESTART, 1, "ud_drop=20%", plan);
}

/* ... and the sender dies of pieces before that, of those, or of what it sends then. */
TEST_F(test_ud_killed, sender_around_a_restart_in_a_repair)
{
    ud_death_plan plan;

    plan.breaks          = true;
    plan.must_die        = false; /* how many chains it takes depends on what is lost */
    ri_config.ud_timeout = MANY_LOST;
    run_receiver(ud_moment::DATA, 8, "ud_drop=20%", plan);
}

} // namespace

#endif
