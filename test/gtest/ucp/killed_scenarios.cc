/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Scenarios in which one process is killed; see killed_scenarios.h. */

#include "killed_scenarios.h"
#include "kill_point.h"

namespace ucp_test {

namespace {

void nothing(killed_side &) {}

void progress(killed_side &side)
{
    side.progress();
}

/* Receives for one message of the victim's, which is offered both. */
void post_two(killed_side &s)
{
    s.post(LARGE_LENGTH, TO_SURVIVOR + 1);
    s.post(LARGE_LENGTH, TO_SURVIVOR + 1);
    s.progress();
}

/* A receive of the victim that is offered. */
void offer_one(killed_side &v)
{
    v.post(LARGE_LENGTH, TO_VICTIM + 1);
    v.progress();
}

void offer_two(killed_side &v)
{
    v.post(LARGE_LENGTH, TO_VICTIM + 1);
    offer_one(v);
}

void send_one(killed_side &s)
{
    s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1);
    s.progress();
}

/* The victim receives one of them. */
void send_two(killed_side &s)
{
    s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1);
    s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 2);
}

/* Receives that are offered to the victim, or want a ring for that. */
void post_some(killed_side &s)
{
    for (int i = 0; i < 3; ++i) {
        s.post(LARGE_LENGTH, TO_SURVIVOR + 1);
    }
    s.progress();
}

/* The ring by which receives were offered goes before what was sent has been seen. */
void close_victim(killed_side &s)
{
    if (!s.close("victim")) {
        throw failure("an endpoint is not closed");
    }
    s.progress();
}

} // namespace

const std::vector<killed_scenario> KILLED_SCENARIOS = {
        /* Connections */
        {"first", KILLED_AT_STORES, "", 0, nothing,
         [](killed_side &s) { s.post(LARGE_LENGTH, TO_SURVIVOR + 1); }, nothing,
         [](killed_side &s) {
             s.send_to("victim", SHORT_LENGTH, TO_VICTIM + 3);
             s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1);
             s.progress();
         },
         nullptr},
        {"ring_opens", KILLED_AT_STORES, "", 0,
         [](killed_side &v) {
             for (int i = 0; i < 3; ++i) {
                 v.send_to("survivor", SHORT_LENGTH, TO_SURVIVOR + 3);
             }
             v.progress();
         },
         [](killed_side &s) {
             for (int i = 0; i < 4; ++i) {
                 s.post(SHORT_LENGTH, TO_SURVIVOR + 3);
             }
             s.wait([&] { return s.counter("rings_active") > 1; }, "a ring");
         },
         [](killed_side &v) {
             v.progress(2);
             v.send_to("survivor", SHORT_LENGTH, TO_SURVIVOR + 3);
         },
         progress, nullptr},
        {"idle", KILLED_BY_RDMA | KILLED_OVER_TCP | KILLED_NO_CMA | KILLED_IN_MODE_PEER,
         "RTR=y", LARGE_LENGTH, nothing,
         [](killed_side &s) {
             s.post(LARGE_LENGTH, TO_SURVIVOR + 1);
             s.send_to("victim", SHORT_LENGTH, TO_VICTIM + 3);
         },
         nothing, nothing, nullptr},

        {"short_only",
         KILLED_TOGETHER | KILLED_AT_STORES | KILLED_OVER_TCP | KILLED_NO_CMA, "",
         SHORT_LENGTH, nothing,
         [](killed_side &s) {
             s.post(PARTS_LENGTH, TO_SURVIVOR + 4);
             for (int i = 0; i < 4; ++i) {
                 s.send_to("victim", SHORT_LENGTH, TO_VICTIM + 3, true);
             }
         },
         [](killed_side &v) {
             v.post(SHORT_LENGTH, TO_VICTIM + 3);
             v.send_to("survivor", PARTS_LENGTH, TO_SURVIVOR + 4);
             v.progress(1);
         },
         progress, nullptr},
        /* The victim sends */
        {"eager",
         KILLED_TOGETHER | KILLED_AT_STORES | KILLED_OVER_TCP | KILLED_NO_CMA |
                 KILLED_IN_MODE_PEER,
         "", LARGE_LENGTH, nothing,
         [](killed_side &s) {
             s.post(SHORT_LENGTH, TO_SURVIVOR + 3);
             s.post(PARTS_LENGTH, TO_SURVIVOR + 4);
         },
         [](killed_side &v) {
             v.send_to("survivor", SHORT_LENGTH, TO_SURVIVOR + 3);
             v.send_to("survivor", PARTS_LENGTH, TO_SURVIVOR + 4);
             v.send_to("survivor", SHORT_LENGTH, TO_SURVIVOR + 5, true);
         },
         progress, nullptr},
        {"rts",
         KILLED_TOGETHER | KILLED_BY_RDMA | KILLED_AT_STORES | KILLED_OVER_TCP |
                 KILLED_IN_MODE_PEER,
         "", LARGE_LENGTH, nothing,
         [](killed_side &s) { s.post(LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &v) {
             v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1);
             v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 2);
         },
         progress, "tx_rndv"},
        {"pool", KILLED_AT_STORES, "HYBRID_THRESH=64k", LARGE_LENGTH, nothing,
         [](killed_side &s) { s.post(MEDIUM_LENGTH, TO_SURVIVOR + 3); },
         [](killed_side &v) {
             v.send_to("survivor", MEDIUM_LENGTH, TO_SURVIVOR + 3);
             v.send_to("survivor", MEDIUM_LENGTH, TO_SURVIVOR + 4);
         },
         progress, "tx_hybrid"},
        {"put", KILLED_TOGETHER | KILLED_AT_STORES | KILLED_AT_COPIES,
         "SENDER_SCHEME=put", LARGE_LENGTH,
         [](killed_side &v) { v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &s) {
             s.post(LARGE_LENGTH, TO_SURVIVOR + 1);
             s.progress();
         },
         [](killed_side &v) { v.progress_until("tx_written_bytes"); }, nothing,
         "tx_written_bytes"},
        {"ud_out", KILLED_BY_RDMA, "IB_TRANSPORT=ud", LARGE_LENGTH,
         [](killed_side &v) { v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &s) {
             s.post(LARGE_LENGTH, TO_SURVIVOR + 1);
             s.progress();
         },
         [](killed_side &v) { v.progress_until("ud_sent"); }, nothing, "ud_sent"},
        {"ud_send", KILLED_AT_MESSAGES, "IB_TRANSPORT=ud", LARGE_LENGTH, nothing,
         [](killed_side &s) { s.post(LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &v) {
             v.wait(v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1), "a message");
         },
         nothing, "ud_sent"},
        {"ud_rtr_send", KILLED_AT_MESSAGES | KILLED_BY_RDMA, "IB_TRANSPORT=ud RTR=y",
         LARGE_LENGTH, nothing, post_two,
         [](killed_side &v) {
             v.progress(); /* what was offered has come */
             v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1);
             v.progress(3);
         },
         nothing, "tx_recv_rndv"},
        {"rc_rtr_send", KILLED_BY_RDMA | KILLED_MEANWHILE, "IB_TRANSPORT=rc RTR=y",
         LARGE_LENGTH, nothing, post_two,
         [](killed_side &v) {
             v.progress(); /* what was offered has come */
             v.wait(v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1), "a message");
         },
         nothing, "tx_recv_rndv"},
        {"fallback", KILLED_COPY_BY_UCX, "", LARGE_LENGTH,
         [](killed_side &v) { v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &s) {
             refuse_copy();
             s.post(LARGE_LENGTH, TO_SURVIVOR + 1);
             s.progress();
         },
         nothing, progress, nullptr},
        {"rtr", KILLED_TOGETHER | KILLED_AT_STORES | KILLED_AT_COPIES | KILLED_OVER_TCP,
         "RTR=y", LARGE_LENGTH, nothing, post_two,
         [](killed_side &v) { v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1); },
         nothing, "tx_recv_rndv"},
        {"rtr_patient", KILLED_AT_COPIES, "RTR=y", LARGE_LENGTH, nothing, post_two,
         [](killed_side &v) { v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &s) { s.linger(); }, "tx_recv_rndv"},
        {"rtr_late", KILLED_AT_STORES | KILLED_AT_COPIES, "RTR=y", LARGE_LENGTH,
         [](killed_side &v) { v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &s) { s.post(LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &v) { v.progress_until("tx_written_bytes"); }, nothing,
         "tx_written_bytes"},
        {"coop", KILLED_TOGETHER | KILLED_AT_STORES | KILLED_AT_COPIES | KILLED_OVER_TCP,
         "COOP_THRESH=256k", LARGE_LENGTH,
         [](killed_side &v) { v.send_to("survivor", HUGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &s) {
             s.post(HUGE_LENGTH, TO_SURVIVOR + 1);
             s.progress(1);
         },
         [](killed_side &v) { v.progress(4); }, nothing, "coop_parts"},
        {"coop_rtr", KILLED_TOGETHER | KILLED_AT_STORES | KILLED_AT_COPIES,
         "COOP_THRESH=256k RTR=y", LARGE_LENGTH, nothing,
         [](killed_side &s) {
             s.post(HUGE_LENGTH, TO_SURVIVOR + 1);
             s.progress();
         },
         [](killed_side &v) {
             v.send_to("survivor", HUGE_LENGTH, TO_SURVIVOR + 1);
             v.progress(2);
         },
         nothing, "coop_parts"},

        /* ... and what it has used is in doubt */
        {"contested", KILLED_AT_STORES | KILLED_AT_COPIES | KILLED_TOGETHER, "RTR=y",
         LARGE_LENGTH, nothing, post_some,
         [](killed_side &v) { v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1); },
         [](killed_side &s) {
             s.wait(s.post(SHORT_LENGTH, TO_SURVIVOR + 9), "the bystander");
             s.wait_for_receive(TO_SURVIVOR + 1);
         },
         "tx_recv_rndv",
         [](killed_side &b) {
             b.send_to("survivor", MEDIUM_LENGTH, TO_SURVIVOR + 1);
             b.send_to("survivor", SHORT_LENGTH, TO_SURVIVOR + 9);
         }},
        {"kept", KILLED_AT_STORES | KILLED_AT_COPIES, "RTR=y", LARGE_LENGTH, nothing,
         post_some,
         [](killed_side &v) { v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1); },
         close_victim, "tx_recv_rndv"},
        {"kept_slot", KILLED_AT_STORES | KILLED_AT_COPIES, "COOP_THRESH=256k RTR=y",
         LARGE_LENGTH, nothing,
         [](killed_side &s) {
             s.post(HUGE_LENGTH, TO_SURVIVOR + 1);
             s.progress();
         },
         [](killed_side &v) {
             v.send_to("survivor", HUGE_LENGTH, TO_SURVIVOR + 1);
             v.progress(2);
         },
         close_victim, "coop_parts"},
        {"ring_req", KILLED_AT_STORES | KILLED_OVER_TCP | KILLED_TOGETHER,
         "RING_AFTER=1000000 RTR=y", LARGE_LENGTH, nothing, post_some,
         [](killed_side &v) {
             v.progress(4);
             v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 1);
             v.progress(4);
         },
         progress, "rings_offered"},

        /* The victim receives */
        {"eager_in",
         KILLED_TOGETHER | KILLED_AT_STORES | KILLED_OVER_TCP | KILLED_NO_CMA |
                 KILLED_IN_MODE_PEER,
         "", LARGE_LENGTH, nothing,
         [](killed_side &s) {
             for (int i = 0; i < 8; ++i) {
                 s.send_to("victim", SHORT_LENGTH, TO_VICTIM + 3, true);
                 s.send_to("victim", PARTS_LENGTH, TO_VICTIM + 4);
             }
         },
         [](killed_side &v) {
             v.post(SHORT_LENGTH, TO_VICTIM + 3);
             v.post(PARTS_LENGTH, TO_VICTIM + 4);
             v.progress(1);
         },
         progress, nullptr},
        {"read",
         KILLED_ASLEEP | KILLED_TOGETHER | KILLED_AT_STORES | KILLED_AT_COPIES |
                 KILLED_OVER_TCP | KILLED_IN_MODE_PEER,
         "", LARGE_LENGTH, nothing, send_two,
         [](killed_side &v) {
             v.post(LARGE_LENGTH, TO_VICTIM + 1);
             v.progress(2);
         },
         nothing, "rx_read_bytes"},
        {"rdma_read", KILLED_BY_RDMA, "", LARGE_LENGTH, nothing, send_two,
         [](killed_side &v) {
             v.post(LARGE_LENGTH, TO_VICTIM + 1);
             v.progress_until("rx_read_bytes");
         },
         nothing, "rx_read_bytes"},
        {"rdma_read_begun", KILLED_BY_RDMA, "", LARGE_LENGTH, nothing, send_two,
         [](killed_side &v) {
             v.post(LARGE_LENGTH, TO_VICTIM + 1);
             v.progress(2);
         },
         nothing, nullptr},
        {"ud_in", KILLED_BY_RDMA, "IB_TRANSPORT=ud", LARGE_LENGTH, nothing, send_two,
         [](killed_side &v) {
             v.post(LARGE_LENGTH, TO_VICTIM + 1);
             v.progress_until("ud_recvs"); /* the sender is told where */
         },
         nothing, "ud_recvs"},
        {"ud_recv", KILLED_AT_MESSAGES, "IB_TRANSPORT=ud", LARGE_LENGTH, nothing,
         [](killed_side &s) { s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1); },
         [](killed_side &v) { v.wait(v.post(LARGE_LENGTH, TO_VICTIM + 1), "a message"); },
         nothing, "ud_received"},
        {"ud_rtr_recv", KILLED_AT_MESSAGES | KILLED_BY_RDMA, "IB_TRANSPORT=ud RTR=y",
         LARGE_LENGTH, offer_one,
         [](killed_side &s) {
             s.progress();
             s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1);
             s.progress();
         },
         [](killed_side &v) { v.progress_until("ud_received"); }, nothing, "ud_received"},
        {"ud_rtr_out", KILLED_AT_MESSAGES | KILLED_BY_RDMA, "IB_TRANSPORT=ud RTR=y",
         LARGE_LENGTH, nothing, nothing, offer_two, send_one, "rtr_sent"},
        /* One queue pair each: messages wait for it, and what was offered is withdrawn */
        {"ud_busy", KILLED_AT_MESSAGES, "IB_TRANSPORT=ud RTR=y UD_QPS=1", LARGE_LENGTH,
         nothing,
         [](killed_side &s) {
             for (int i = 0; i < 4; ++i) {
                 s.post(LARGE_LENGTH, TO_SURVIVOR + 1 + i % 2);
                 s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1 + i % 2);
             }
         },
         [](killed_side &v) {
             v.progress();
             for (int i = 0; i < 4; ++i) {
                 v.send_to("survivor", LARGE_LENGTH, TO_SURVIVOR + 2 - i % 2);
                 v.post(LARGE_LENGTH, TO_VICTIM + 2 - i % 2);
             }
             v.wait_all("messages both ways");
         },
         nothing, "ud_received"},
        {"rc_rtr_recv", KILLED_BY_RDMA | KILLED_MEANWHILE,
         "IB_TRANSPORT=rc RTR=y IB_EAGER_PEERS=0", LARGE_LENGTH, offer_one,
         [](killed_side &s) {
             s.progress();
             s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1);
             s.progress(1);
         },
         [](killed_side &v) { v.wait_all("a message"); }, nothing, "rtr_used"},
        {"rc_rtr_out", KILLED_AT_MESSAGES | KILLED_BY_RDMA, "IB_TRANSPORT=rc RTR=y",
         LARGE_LENGTH, nothing, nothing, offer_two, send_one, "rtr_sent"},
        {"pool_in",
         KILLED_TOGETHER | KILLED_AT_STORES | KILLED_AT_COPIES | KILLED_OVER_TCP,
         "HYBRID_THRESH=64k", LARGE_LENGTH, nothing,
         [](killed_side &s) {
             for (int i = 0; i < 30; ++i) {
                 s.send_to("victim", MEDIUM_LENGTH, TO_VICTIM + 3);
             }
         },
         [](killed_side &v) {
             for (int i = 0; i < 3; ++i) {
                 v.post(MEDIUM_LENGTH, TO_VICTIM + 3);
             }
             v.progress(2);
         },
         nothing, "rx_read_bytes"},
        {"put_in", KILLED_ASLEEP | KILLED_AT_STORES, "SENDER_SCHEME=put", LARGE_LENGTH,
         nothing,
         [](killed_side &s) { s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1); },
         [](killed_side &v) {
             v.post(LARGE_LENGTH, TO_VICTIM + 1);
             v.progress(2);
         },
         nothing, nullptr},
        {"rtr_out", KILLED_TOGETHER | KILLED_AT_STORES | KILLED_OVER_TCP, "RTR=y",
         LARGE_LENGTH, nothing, nothing,
         [](killed_side &v) {
             v.post(LARGE_LENGTH, TO_VICTIM + 1);
             v.post(LARGE_LENGTH, TO_VICTIM + 1);
         },
         [](killed_side &s) { s.send_to("victim", LARGE_LENGTH, TO_VICTIM + 1); },
         "rtr_sent"},
        {"coop_in", KILLED_TOGETHER | KILLED_AT_STORES | KILLED_AT_COPIES,
         "COOP_THRESH=256k", LARGE_LENGTH, nothing,
         [](killed_side &s) { s.send_to("victim", HUGE_LENGTH, TO_VICTIM + 1); },
         [](killed_side &v) {
             v.post(HUGE_LENGTH, TO_VICTIM + 1);
             v.progress(3);
         },
         nothing, "coop_parts"},
        {"coop_rtr_in", KILLED_TOGETHER | KILLED_AT_STORES | KILLED_AT_COPIES,
         "COOP_THRESH=256k RTR=y", LARGE_LENGTH,
         [](killed_side &v) { v.post(HUGE_LENGTH, TO_VICTIM + 1); },
         [](killed_side &s) {
             s.send_to("victim", HUGE_LENGTH, TO_VICTIM + 1);
             s.progress(1);
         },
         [](killed_side &v) { v.progress(3); }, nothing, "coop_parts"},
};

} // namespace ucp_test
