/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/window_net*.c: memory of a window that a process of another host has. */

#include "unit/common/ri_cpp.h"
#include "unit/ucp/rma/fake_window_net.h"
#include "unit/ucp/rma/forking_page.h"

namespace {

class test_window_net : public window_net_test {
protected:
    const ri_window_command_t *command_of(ri_window_command_kind_t kind)
    {
        m_command.kind = kind;
        return &m_command;
    }

    ri_window_command_t m_command = {};

    /* An operation is carried out whose answer UCX does not take. */
    void ask_without_answer()
    {
        uint8_t data[8] = {1};

        ASSERT_NE(nullptr, connect());
        m_ucx.delivers = false;
        EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
        m_ucx.fails = UCS_ERR_NO_RESOURCE;
        m_ucx.deliver();
    }

    void make_gone()
    {
        m_ucx.error.cb(m_ucx.error.arg, nullptr, UCS_ERR_CONNECTION_RESET);
    }
};

TEST_F(test_window_net, there_is_no_worker_without_a_window)
{
    EXPECT_EQ(0u, ri_window_net_progress());
    EXPECT_EQ(0, m_ucx.num_contexts);
    ASSERT_NE(nullptr, connect());
    EXPECT_EQ(2, m_ucx.num_contexts);
    EXPECT_EQ(0, m_ucx.num_eps); /* with the first use */
}

TEST_F(test_window_net, ucx_has_nothing)
{
    m_ucx.fails = UCS_ERR_NO_DEVICE;
    EXPECT_EQ(nullptr, connect());
    m_ucx.fails = UCS_OK;
    EXPECT_NE(nullptr, connect());
}

TEST_F(test_window_net, put_and_get)
{
    std::vector<uint8_t> data(1000, 7), back(1000);

    ASSERT_NE(nullptr, connect());
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, put(100, data.data(), data.size()));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    EXPECT_EQ(7, m_memory[100]);
    EXPECT_EQ(7, m_memory[1099]);
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, get(100, back.data(), back.size()));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, m_ops->settle_here(m_reach));
    EXPECT_EQ(data, back);
    EXPECT_EQ(1, m_ucx.num_keys);
}

/* A flush says nothing of puts that end after it has begun (docs/facts.md). */
TEST_F(test_window_net, flush_begins_behind_the_end_of_puts)
{
    uint8_t data[8] = {1};

    ASSERT_NE(nullptr, connect());
    for (auto wait : {m_ops->reach.settle, m_ops->settle_moves}) {
        m_ucx.num_flushes = 0;
        for (size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(RI_WINDOW_OPS_POSTED, put(8 * i, data, sizeof(data)));
        }
        m_ops->settle_begin(m_reach);
        EXPECT_EQ(RI_WINDOW_OPS_DONE, wait(m_reach));
        EXPECT_EQ(1, m_ucx.num_flushes);
        EXPECT_EQ(0, m_ucx.num_early);
    }
}

/* What has ended is flushed without a wait, and once. */
TEST_F(test_window_net, flush_begins_early)
{
    uint8_t data[8] = {1};

    ASSERT_NE(nullptr, connect());
    m_ops->settle_begin(m_reach);
    EXPECT_EQ(0, m_ucx.num_flushes);
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, put(0, data, sizeof(data)));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, m_ops->settle_here(m_reach));
    m_ops->settle_begin(m_reach);
    m_ops->settle_begin(m_reach);
    EXPECT_EQ(1, m_ucx.num_flushes);
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    EXPECT_EQ(1, m_ucx.num_flushes);
    EXPECT_EQ(0, m_ucx.num_early);
}

/* Pieces on both sides that end at different places. */
TEST_F(test_window_net, lists)
{
    uint8_t data[60];
    auto base             = (uint64_t)m_memory.data();
    ri_segment_t local[]  = {{(uintptr_t)data, 10}, {(uintptr_t)data + 20, 40}};
    ri_segment_t remote[] = {{base + 5, 25}, {base + 100, 5}, {base + 200, 20}};

    for (uint8_t i = 0; i < sizeof(data); ++i) {
        data[i] = i;
    }
    ASSERT_NE(nullptr, connect());
    EXPECT_EQ(RI_WINDOW_OPS_POSTED,
              m_ops->reach.copy(m_reach, 1, local, 2, remote, 3, 50));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    for (size_t i = 0; i < 50; ++i) {
        size_t from = (i < 10) ? i : i + 10;
        size_t to   = (i < 25) ? 5 + i : (i < 30) ? 100 + i - 25 : 200 + i - 30;

        EXPECT_EQ(from, m_memory[to]) << i;
    }
}

TEST_F(test_window_net, ask)
{
    uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, result[8];

    ASSERT_NE(nullptr, connect());
    EXPECT_EQ(RI_WINDOW_OPS_DONE, ask(add(8, 8), data, result));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, ask(add(8, 8), data, result));
    EXPECT_EQ(0, memcmp(data, result, 8));
    EXPECT_EQ(16, m_memory[15]);
    EXPECT_EQ(RI_WINDOW_OPS_BAD, ask(add(SIZE - 4, 8), data, result));
}

/* What has no result is not waited for, and how it has ended is told once. */
TEST_F(test_window_net, posted)
{
    uint8_t data[8] = {1};

    ASSERT_NE(nullptr, connect());
    m_ucx.delivers = false;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(SIZE, 8), data, nullptr));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
    EXPECT_TRUE(m_applied.empty());
    m_ucx.delivers = true;
    EXPECT_EQ(RI_WINDOW_OPS_BAD, settle());
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    EXPECT_EQ(2, m_memory[0]);
}

/* Behind an operation that has to wait, all wait. */
TEST_F(test_window_net, busy)
{
    uint8_t data[8] = {1};

    ASSERT_NE(nullptr, connect());
    m_busy = 3;
    for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(8 * i, 8), data, nullptr));
    }
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    EXPECT_EQ(0, m_busy);
    EXPECT_EQ((std::vector<uint64_t>{0, 8, 16, 24, 32}), m_applied);
}

/* A long operation is done in pieces, and goes on where it had to wait. */
TEST_F(test_window_net, long_operation)
{
    std::vector<uint8_t> data(m_ops->reach.most, 3), result(m_ops->reach.most, 99);

    ASSERT_NE(nullptr, connect());
    for (int busy : {0, 1, 2}) {
        m_applied.clear();
        m_busy = busy;
        EXPECT_EQ(RI_WINDOW_OPS_DONE,
                  ask(add(4, data.size()), data.data(), result.data()));
        EXPECT_EQ(data.size() / RI_MAILBOX_DATA, m_applied.size());
        EXPECT_EQ(std::vector<uint8_t>(data.size(), uint8_t(3 * busy)), result);
    }
    EXPECT_EQ(0, m_memory[3]);
    EXPECT_EQ(9, m_memory[4]);
    EXPECT_EQ(9, m_memory[3 + data.size()]);
    EXPECT_EQ(0, m_memory[4 + data.size()]);
    EXPECT_EQ(RI_WINDOW_OPS_BAD,
              ask(add(SIZE - 10000, data.size()), data.data(), result.data()));
}

int count_down(void *arg)
{
    ri_window_net_progress();
    return --*static_cast<int *>(arg) <= 0;
}

TEST_F(test_window_net, commands)
{
    ri_window_command_t command = {};
    int calls                   = 100;

    ASSERT_NE(nullptr, connect());
    command.kind = RI_WINDOW_COMMAND_ENTER;
    m_later      = 5;
    EXPECT_EQ(RI_WINDOW_OPS_DONE, m_ops->command(m_reach, &command, count_down, &calls));
    EXPECT_EQ(0, m_later);
    EXPECT_EQ(1u, m_commands.size());

    /* Not behind an operation that waits, nor behind a command that does */
    uint8_t data[8] = {};
    m_later         = 1 << 20;
    m_busy          = 1 << 20;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, m_ops->command(m_reach, &command, nullptr, nullptr));
    command.kind = RI_WINDOW_COMMAND_UNLOCK;
    calls        = 100;
    EXPECT_EQ(RI_WINDOW_OPS_DONE, m_ops->command(m_reach, &command, count_down, &calls));
    m_later = m_busy = 0;
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());

    command.kind = RI_WINDOW_COMMAND_KINDS;
    calls        = 100;
    EXPECT_EQ(RI_WINDOW_OPS_BAD, m_ops->command(m_reach, &command, count_down, &calls));
}

/* A wait that was given up, and whose answer comes later. */
TEST_F(test_window_net, given_up)
{
    ri_window_command_t command = {};
    int calls                   = 3;

    ASSERT_NE(nullptr, connect());
    command.kind = RI_WINDOW_COMMAND_ENTER;
    m_later      = 10;
    EXPECT_EQ(RI_WINDOW_OPS_GONE, m_ops->command(m_reach, &command, count_down, &calls));
    for (int i = 0; i < 30; ++i) {
        ri_window_net_progress();
    }
    ASSERT_EQ(2u, m_commands.size()); /* and is given back */
    EXPECT_EQ(RI_WINDOW_COMMAND_ENTER, (int)m_commands[0].kind);
    EXPECT_EQ(RI_WINDOW_COMMAND_LEAVE, (int)m_commands[1].kind);
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
}

/* Copies of who has the locks that operations wait for do not wait behind these. */
TEST_F(test_window_net, copies_overtake)
{
    uint8_t data[8] = {1}, back[8] = {};

    ASSERT_NE(nullptr, connect(0));
    m_busy = 1 << 20;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, put(16, data, 8));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, get(16, back, 8));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, m_ops->settle_moves(m_reach));
    EXPECT_EQ(1, back[0]);
    EXPECT_TRUE(m_applied.empty());
    m_busy = 0;
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    EXPECT_EQ(1u, m_applied.size());
}

/* The process is in the library, and has its locks, when the handler of a fault forks. */
TEST_F(test_window_net, fork_within_a_copy)
{
    forking_page page;
    uint8_t data[8] = {1};

    m_page = page.address;
    ASSERT_NE(nullptr, connect(0));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED,
              m_ops->reach.put(m_reach, 0, (uint64_t)page.address, data, sizeof(data)));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    EXPECT_EQ(1, page.address[0]);
    EXPECT_EQ(1, page.faults);
    EXPECT_EQ(7, page.exited);
}

/* Who has ended gets nothing any more, and what it was waiting for is given back. */
TEST_F(test_window_net, gone_in_a_row)
{
    EXPECT_EQ(RI_WINDOW_COMMAND_UNLOCK,
              (int)ri_window_net_message_undo(command_of(RI_WINDOW_COMMAND_LOCK)).kind);
    EXPECT_EQ(RI_WINDOW_COMMAND_LEAVE,
              (int)ri_window_net_message_undo(command_of(RI_WINDOW_COMMAND_JOIN)).kind);
    for (auto kind :
         {RI_WINDOW_COMMAND_LEAVE, RI_WINDOW_COMMAND_UNLOCK, RI_WINDOW_COMMAND_WORD}) {
        EXPECT_EQ(RI_WINDOW_COMMAND_KINDS,
                  (int)ri_window_net_message_undo(command_of(kind)).kind);
    }
    ASSERT_NE(nullptr, connect());
    m_later = 3;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED,
              m_ops->command(m_reach, command_of(RI_WINDOW_COMMAND_ENTER), nullptr,
                             nullptr));
    ri_window_net_progress();
    make_gone();
    for (int i = 0; i < 10; ++i) {
        ri_window_net_progress();
    }
    ASSERT_EQ(2u, m_commands.size());
    EXPECT_EQ(RI_WINDOW_COMMAND_ENTER, (int)m_commands[0].kind);
    EXPECT_EQ(RI_WINDOW_COMMAND_LEAVE, (int)m_commands[1].kind);
}

/* A command that is not answered. The first one sees to it that the connection is there. */
TEST_F(test_window_net, say)
{
    ri_window_command_t command = {};

    ASSERT_NE(nullptr, connect());
    command.kind  = RI_WINDOW_COMMAND_WORD;
    command.value = 5;
    EXPECT_EQ(RI_WINDOW_OPS_DONE, m_ops->say(m_reach, &command));
    m_ucx.finishes = false;
    EXPECT_EQ(RI_WINDOW_OPS_DONE, m_ops->say(m_reach, &command));
    for (int i = 0; i < 10; ++i) {
        ri_window_net_progress();
    }
    EXPECT_EQ(2u, m_commands.size());
    EXPECT_TRUE(m_ucx.sent.empty());
    m_ucx.finishes = true;
}

/* Memory that comes and goes has no key. */
TEST_F(test_window_net, no_key)
{
    std::vector<uint8_t> data(40000), back(40000);

    ASSERT_NE(nullptr, connect(0));
    for (size_t i = 0; i < data.size(); ++i) {
        data[i] = uint8_t(i * 7);
    }
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, put(10, data.data(), data.size()));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    EXPECT_EQ(0, memcmp(data.data(), &m_memory[10], data.size()));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, get(10, back.data(), back.size()));
    EXPECT_EQ(RI_WINDOW_OPS_DONE, m_ops->settle_here(m_reach));
    EXPECT_EQ(data, back);
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, get(SIZE - 1, back.data(), 2));
    EXPECT_EQ(RI_WINDOW_OPS_BAD, m_ops->settle_here(m_reach));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, put(SIZE - 1, data.data(), 2));
    EXPECT_EQ(RI_WINDOW_OPS_BAD, settle());
    EXPECT_EQ(0, m_ucx.num_mapped);
}

TEST_F(test_window_net, ucx_fails)
{
    uint8_t data[8] = {}, result[8];

    ASSERT_NE(nullptr, connect());
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, put(0, data, 8));
    m_ucx.finishes = false;
    m_ucx.finish(UCS_ERR_IO_ERROR);
    m_ucx.finishes = true;
    EXPECT_EQ(RI_WINDOW_OPS_FAILED, settle());
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    m_ucx.fails = UCS_ERR_NO_MEMORY;
    EXPECT_EQ(RI_WINDOW_OPS_FAILED, put(0, data, 8));
    EXPECT_EQ(RI_WINDOW_OPS_FAILED, get(0, data, 8));
    EXPECT_EQ(RI_WINDOW_OPS_FAILED, ask(add(0, 8), data, nullptr));
    EXPECT_EQ(RI_WINDOW_OPS_FAILED, ask(add(0, 8), data, result));
    m_ucx.fails = UCS_OK;
    settle();
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
}

/* UCX may take an answer later. */
TEST_F(test_window_net, answers_are_sent_again)
{
    uint8_t data[8] = {1}, result[8] = {};

    ASSERT_NE(nullptr, connect(0));
    m_ucx.delivers = false;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, get(0, result, 8));
    m_ucx.fails = UCS_ERR_NO_RESOURCE;
    m_ucx.deliver();
    m_ucx.deliver();
    EXPECT_EQ(1u, m_applied.size());
    ri_window_net_progress();
    EXPECT_TRUE(m_ucx.sent.empty());
    m_ucx.fails = UCS_OK;
    ri_window_net_progress();
    ASSERT_EQ(2u, m_ucx.sent.size());
    m_ucx.delivers = true;
    EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    EXPECT_EQ(1, result[0]);
    EXPECT_EQ(1u, m_applied.size()) << "it is done once";
    ri_window_net_progress();
    EXPECT_TRUE(m_ucx.sent.empty());
}

TEST_F(test_window_net, answer_to_nobody)
{
    ask_without_answer();
    m_ucx.fails = UCS_OK;
    make_gone();
    ri_window_net_progress();
    EXPECT_TRUE(m_ucx.sent.empty());
}

/* It is dropped with the worker. */
TEST_F(test_window_net, answer_that_is_left)
{
    ask_without_answer();
    EXPECT_TRUE(m_ucx.sent.empty());
}

/* What UCX has taken and cannot send: nobody waits for an answer. */
TEST_F(test_window_net, send_that_fails_later)
{
    uint8_t data[8] = {1};

    ASSERT_NE(nullptr, connect());
    m_ucx.sends_later = true;
    m_ucx.finishes    = false;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
    EXPECT_FALSE(m_ops->is_gone(m_reach, 0));
    m_ucx.finish(UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(m_ops->is_gone(m_reach, 0));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, settle());
}

TEST_F(test_window_net, gone)
{
    ri_window_command_t command = {};
    uint8_t data[8]             = {}, result[8];
    int calls                   = 100;

    ASSERT_NE(nullptr, connect());
    EXPECT_FALSE(m_ops->is_gone(m_reach, 1));
    m_ucx.delivers = false;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
    make_gone();
    EXPECT_TRUE(m_ops->is_gone(m_reach, 1));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, settle());
    EXPECT_EQ(RI_WINDOW_OPS_GONE, put(0, data, 8));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, get(0, data, 8));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, ask(add(0, 8), data, result));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, m_ops->command(m_reach, &command, count_down, &calls));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, m_ops->say(m_reach, &command));
    EXPECT_EQ(RI_WINDOW_OPS_GONE, m_ops->settle_here(m_reach));
}

/* The MPI has ended its last worker, and a window is left. */
TEST_F(test_window_net, worker_has_ended)
{
    uint8_t data[8] = {};

    ASSERT_NE(nullptr, connect(0));
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, put(0, data, 8));
    settle();
    m_ops->reach.disconnect(m_reach);
    m_reach = nullptr;
    ri_window_net_end();
    EXPECT_EQ(0, m_ucx.num_contexts);
    EXPECT_EQ(0u, ri_window_net_progress());
    m_ops->hide(m_shown);
    m_shown = nullptr;
    EXPECT_NE(nullptr, connect());
}

} // namespace
