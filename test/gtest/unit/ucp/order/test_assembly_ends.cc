/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/order/assembly.c: senders, rings, streams and workers that end between the parts of a
 * message, and parts that a hostile sender writes; as test_assembly.cc.
 */

#include "assembly_test.h"
#include "common/sanitized.h"

#include <sys/resource.h>

namespace {

class test_assembly_ends : public assembly_test {};

/* The end of the sender, the ring, the stream or the worker */

TEST_F(test_assembly_ends, bye_between)
{
    recv_ptr op = m_node->recv(5, ~0ul, 3000);

    first(1, 5, 3000, 2000);
    bye(1);
    EXPECT_EQ(1u, ucs_list_length(&worker()->streams));
    next(1, 3000, 2000, 1000);
    check_received(op, 1, 5, 3000);
    record(RI_WIRE_RING_CLOSE, 0, 0, 0, bytes());
    EXPECT_TRUE(ucs_list_is_empty(&worker()->streams));
}

/* After RING_REFUSE the ring is freed when it is empty. */
TEST_F(test_assembly_ends, refused_between)
{
    for (bool ends : {true, false}) {
        for (bool matched : {true, false}) {
            recv_ptr op = matched ? m_node->recv(5, ~0ul, 3000) : nullptr;

            first(1, 5, 3000, 2000);
            if (ends) {
                record(RI_RING_PART, 0, 0, 0, slice(pattern(1, 3000), 2000, 1000), false);
            }
            m_node->deliver(wire_msg(RI_WIRE_RING_REFUSE, stream()->id, 0));
            m_node->progress();
            m_node->progress();
            EXPECT_EQ(0u, worker()->num_rings);
            if (ends) {
                op = matched ? op : m_node->recv(5, ~0ul, 3000);
                check_received(op, 1, 5, 3000);
                EXPECT_FALSE(stream()->broken);
            } else {
                check_ended(0);
                if (matched) {
                    ASSERT_TRUE(op->done);
                    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
                }
            }
            restart();
        }
    }
}

/* The callback of a receive that ends with its ring: the stream may go meanwhile. */
TEST_F(test_assembly_ends, refused_between_and_closed_in_the_callback)
{
    recv_ptr op = m_node->recv(5, ~0ul, 3000, [this]() { bye(1); });

    first(1, 5, 3000, 2000);
    m_node->deliver(wire_msg(RI_WIRE_RING_REFUSE, stream()->id, 0));
    m_node->progress();
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
    EXPECT_TRUE(ucs_list_is_empty(&worker()->streams));
}

TEST_F(test_assembly_ends, worker_ends_between)
{
    for (when_t when : {BEFORE, BETWEEN, AFTER}) {
        recv_ptr op = (when == BEFORE) ? m_node->recv(5, ~0ul, 3000) : nullptr;

        first(1, 5, 3000, 2000);
        if (when == BETWEEN) {
            op = m_node->recv(5, ~0ul, 3000);
            m_node->cancel(op);
        }
        m_node->may_end_open = (when == BEFORE);
        restart(); /* checks that nothing is held */
        if (when == BEFORE) {
            ASSERT_TRUE(op->done);
            EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
            EXPECT_EQ(5u, op->info.sender_tag);
        }
    }
}

/* ... and the callback goes on as if nothing was, with more in this ring and in others. */
TEST_F(test_assembly_ends, worker_ends_between_with_a_callback)
{
    for (uint8_t type :
         {(int)RI_RING_PART, (int)RI_WIRE_EAGER, (int)RI_WIRE_RING_CLOSE}) {
        node *n     = m_node.get();
        recv_ptr op = m_node->recv(5, ~0ul, 3000, [n]() {
            n->progress();
            ri_worker_t *w = n->worker();
            if (w->match.num_unexpected > 0) {
                n->recv(8, ~0ul, 8);
            }
        });

        first(1, 5, 3000, 2000);
        bye(1);
        record(type, 2, 8, 0, pattern(2, 1000), false);
        record(RI_WIRE_EAGER, 3, 8, 0, pattern(3, 8), false);
        m_node->may_end_open = true;
        restart();
        EXPECT_TRUE(op->done);
    }
}

TEST_F(test_assembly_ends, stream_breaks_between)
{
    ri_config.reorder_window = 0;
    for (bool matched : {true, false}) {
        recv_ptr op = matched ? m_node->recv(5, ~0ul, 3000) : nullptr;

        first(1, 5, 3000, 2000);
        by_am(100, 5);
        EXPECT_TRUE(stream()->broken);
        next(1, 3000, 2000, 1000);
        check_ended(2);
        if (matched) {
            ASSERT_TRUE(op->done);
            EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
        }
        restart();
    }
}

/* What comes on a broken stream takes no receive. */
TEST_F(test_assembly_ends, broken_before)
{
    ri_config.reorder_window = 0;
    recv_ptr op              = m_node->recv(5, ~0ul, 3000);

    by_am(100, 5);
    first(1, 5, 3000, 2000);
    EXPECT_FALSE(op->done);
    check_ended(2);
    for (unsigned i = 0; i < 2 * ri_config.ring_after; ++i) {
        by_am(1, 5);
    }
    EXPECT_FALSE(op->done);
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_RING_OFFER));
    m_node->cancel(op);
}

/* Without memory the stream is broken, and that is not the peer's fault. */
TEST_F(test_assembly_ends, no_memory)
{
#if !RI_TEST_SANITIZED
    const size_t size = 16 << 20;
    struct rlimit before, none;

    ri_config.ring_size = size;
    for (bool matched : {false, true}) {
        restart();
        recv_ptr op = matched ? m_node->recv(5, ~0ul, size - 1) : nullptr;

        record(RI_RING_START, 1, 5, size, pattern(1, 100), false);
        ASSERT_EQ(0, getrlimit(RLIMIT_AS, &before));
        none          = before;
        none.rlim_cur = 1;
        std::list<void *> free_memory; /* that earlier tests have left to malloc */
        ASSERT_EQ(0, setrlimit(RLIMIT_AS, &none));
        for (void *p; (p = malloc(size / 2)) != nullptr;) {
            free_memory.push_back(p);
        }
        m_node->progress();
        ASSERT_EQ(0, setrlimit(RLIMIT_AS, &before));
        for (void *p : free_memory) {
            free(p);
        }
        check_ended(0);
        if (matched) {
            ASSERT_TRUE(op->done);
            EXPECT_EQ(UCS_ERR_NO_MEMORY, op->status);
        }
    }
#endif
}

/* Hostile senders */

struct bad {
    const char *name;
    bool started; /* behind the first 2000 bytes of 3000 */
    uint8_t type;
    uint32_t extra;
    size_t length;
};

TEST_F(test_assembly_ends, hostile)
{
    const uint32_t size = ri_config.ring_size;
    const bad CASES[]   = {{"PART without START", false, RI_RING_PART, 0, 100},
                           {"empty PART without START", false, RI_RING_PART, 0, 0},
                           {"empty START", false, RI_RING_START, 3000, 0},
                           {"empty START of nothing", false, RI_RING_START, 0, 0},
                           {"all in START", false, RI_RING_START, 1000, 1000},
                           {"START with more than all", false, RI_RING_START, 999, 1000},
                           {"more than the ring", false, RI_RING_START, size + 1, 1000},
                           {"much more than the ring", false, RI_RING_START, ~0u, 1000},
                           {"START within START", true, RI_RING_START, 3000, 1000},
                           {"empty PART", true, RI_RING_PART, 0, 0},
                           {"one byte too much", true, RI_RING_PART, 0, 1001},
                           {"much too much", true, RI_RING_PART, 0, 16000},
                           {"no record of any kind", true, 77, 0, 0},
                           {"SYNC_ACK within", true, RI_WIRE_SYNC_ACK, 1, 0},
                           {"RING_CLOSE within", true, RI_WIRE_RING_CLOSE, 0, 0},
                           {"padding within", true, RI_RING_PAD, 0, 0}};

    for (const bad &b : CASES) {
        for (bool posted : {true, false}) {
            SCOPED_TRACE(b.name);
            recv_ptr op = posted ? m_node->recv(5, ~0ul, 3000) : nullptr;

            if (b.started) {
                first(1, 5, 3000, 2000);
            }
            record(b.type, 1, 5, b.extra, pattern(1, b.length));
            check_ended(1);
            if (posted) {
                /* Taken by the first part, or left alone */
                EXPECT_EQ(b.started, op->done);
                if (b.started) {
                    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, op->status);
                } else {
                    EXPECT_EQ(bytes(3000), op->buffer);
                    m_node->cancel(op);
                }
            }
            EXPECT_EQ(0u, worker()->match.num_unexpected);
            restart();
        }
    }
}

/* PART must continue nothing that is complete: its memory is the application's again. */
TEST_F(test_assembly_ends, hostile_part_behind_the_last)
{
    for (bool posted : {true, false}) {
        recv_ptr op = posted ? m_node->recv(5, ~0ul, 6000) : nullptr;

        whole(1, 5, 3000);
        record(RI_RING_PART, 1, 5, 0, bytes(100, 0xee));
        op = posted ? op : m_node->recv(5, ~0ul, 6000);
        check_received(op, 1, 5, 3000);
        EXPECT_EQ(bytes(3000), slice(op->buffer, 3000, 3000));
        check_ended(1);
        restart();
    }
}

/* A message of another kind between the parts keeps its own place in the order. */
TEST_F(test_assembly_ends, whole_record_within)
{
    for (bool posted : {true, false}) {
        recv_ptr one = posted ? m_node->recv(5, ~0ul, 3000) : nullptr;

        first(1, 5, 3000, 2000);
        record(RI_WIRE_EAGER, 2, 6, 0, pattern(2, 100));
        next(1, 3000, 2000, 1000);
        one = posted ? one : m_node->recv(5, ~0ul, 3000);
        check_received(one, 1, 5, 3000);
        check_received(m_node->recv(6, ~0ul, 100), 2, 6, 100);
        EXPECT_EQ(0u, counters().held_bytes);
        restart();
    }
}

} // namespace
