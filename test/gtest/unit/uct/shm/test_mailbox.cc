/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/mailbox.[hc]: operations that are posted, carried out and taken back. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/* What the target was asked for, and what it answers. */
struct operation {
    ri_mailbox_head_t head;
    std::string data;
};

std::vector<operation> served;
std::string answer;
bool refuse;
std::function<void()> inside; /* what others do meanwhile, once */

int serve_func(const ri_mailbox_head_t *head, uint8_t *data)
{
    served.push_back({*head, std::string((const char *)data, head->data_length)});
    if (inside != nullptr) {
        std::function<void()> once = std::move(inside);

        inside = nullptr;
        once();
    }
    if (refuse) {
        if (head->length <= RI_MAILBOX_INLINE) {
            memcpy(data, answer.data(), answer.size());
        }
        return -1;
    }
    memcpy(data, answer.data(), answer.size());
    return answer.size();
}

class test_mailbox : public ::testing::Test {
protected:
    void SetUp() override
    {
        served.clear();
        answer = "";
        refuse = false;
        inside = nullptr;
        ASSERT_EQ(UCS_OK, ri_mailbox_rx_make(&m_rx));
        m_tx.reset(new ri_mailbox_tx_t[RI_MAILBOX_SLOTS]());
    }

    void TearDown() override
    {
        for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
            ri_mailbox_tx_close(&m_tx[i]);
        }
        ri_mailbox_rx_end(&m_rx);
    }

    ucs_status_t open(unsigned i = 0)
    {
        return ri_mailbox_tx_open(&m_tx[i], getpid(), m_rx.fd);
    }

    /* An operation on as many bytes as come with it. */
    uint16_t post(unsigned i = 0, const std::string &data = "")
    {
        ri_mailbox_head_t head = {};

        head.length      = data.size();
        head.data_length = data.size();
        head.address     = i;
        m_latest[i]      = ri_mailbox_tx_post(&m_tx[i], &head, data.data());
        return m_latest[i];
    }

    unsigned serve() { return ri_mailbox_rx_serve(&m_rx, serve_func); }

    bool take_back(unsigned i = 0)
    {
        return ri_mailbox_tx_take_back(&m_tx[i], m_latest[i]);
    }

    void free_latest(unsigned i = 0) { ri_mailbox_tx_free(&m_tx[i], m_latest[i]); }

    ri_mailbox_state_t state(unsigned i = 0) const
    {
        return ri_mailbox_tx_state(&m_tx[i], m_latest[i]);
    }

    ri_mailbox_entry_t *entry(unsigned i = 0)
    {
        return ri_mailbox_tx_entry(&m_tx[i], m_latest[i]);
    }

    std::string result(unsigned i, size_t length) const
    {
        return std::string((const char *)ri_mailbox_data(m_tx[i].area, m_tx[i].slot,
                                                         m_latest[i], length),
                           length);
    }

    ri_mailbox_rx_t m_rx = {};
    std::unique_ptr<ri_mailbox_tx_t[]> m_tx;
    uint16_t m_latest[RI_MAILBOX_SLOTS] = {};
};

TEST_F(test_mailbox, post_and_serve)
{
    ri_mailbox_head_t head = {7, 9, 9, 0, 0x1122334455667788, 0x99aabbccddeeff00};

    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(RI_MAILBOX_FREE, state());
    EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx));
    EXPECT_EQ(0u, serve());

    EXPECT_EQ(0u, ri_mailbox_tx_post(&m_tx[0], &head, "123456789"));
    EXPECT_EQ(RI_MAILBOX_POSTED, state());
    EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
    answer = "result";
    EXPECT_EQ(1u, serve());
    ASSERT_EQ(1u, served.size());
    EXPECT_EQ(0, memcmp(&head, &served[0].head, sizeof(head)));
    EXPECT_EQ("123456789", served[0].data);
    EXPECT_EQ(RI_MAILBOX_DONE, state());
    EXPECT_EQ("result", result(0, 6));

    EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx));
    EXPECT_EQ(0u, serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state()) << "until the origin has seen it";
    free_latest();
    EXPECT_EQ(RI_MAILBOX_FREE, state());
    EXPECT_EQ(0u, serve());
    EXPECT_EQ(1u, served.size());
}

TEST_F(test_mailbox, all_lengths_of_data)
{
    ASSERT_EQ(UCS_OK, open());
    for (unsigned length = 0; length <= RI_MAILBOX_DATA;
         length += (length < 200) ? 1 : 97) {
        std::string data(length, 'a' + length % 26);

        answer = std::string(length, 'A' + length % 26);
        post(0, data);
        ASSERT_EQ(1u, serve());
        ASSERT_EQ(RI_MAILBOX_DONE, state());
        ASSERT_EQ(data, served.back().data);
        ASSERT_EQ(answer, result(0, length));
        free_latest();
    }
}

/* Long data of each entry and origin has a place of its own. */
TEST_F(test_mailbox, long_data_of_many)
{
    for (unsigned i = 0; i < 3; ++i) {
        ASSERT_EQ(UCS_OK, open(i));
        for (unsigned k = 0; k < RI_MAILBOX_DEPTH; ++k) {
            post(i, std::string(RI_MAILBOX_DATA, 'a' + i * 8 + k));
        }
    }
    EXPECT_EQ(3u * RI_MAILBOX_DEPTH, serve());
    for (unsigned n = 0; n < 3 * RI_MAILBOX_DEPTH; ++n) {
        EXPECT_EQ(std::string(RI_MAILBOX_DATA, 'a' + n), served[n].data) << n;
    }
}

TEST_F(test_mailbox, refused)
{
    ASSERT_EQ(UCS_OK, open());
    refuse = true;
    answer = "not seen";
    post(0, "the data");
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(RI_MAILBOX_REFUSED, state());
    EXPECT_EQ("the data", result(0, 8));
    EXPECT_FALSE(take_back());
    free_latest();

    refuse = false;
    post();
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state());
}

TEST_F(test_mailbox, taken_back)
{
    ASSERT_EQ(UCS_OK, open());
    post();
    EXPECT_TRUE(take_back());
    EXPECT_EQ(RI_MAILBOX_FREE, state());
    EXPECT_FALSE(take_back()) << "nothing is posted";
    EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
    EXPECT_EQ(0u, serve());
    EXPECT_EQ(0u, served.size());
    EXPECT_EQ(RI_MAILBOX_FREE, state());
    EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx));

    post();
    EXPECT_EQ(1u, serve());
    EXPECT_FALSE(take_back()) << "it is done";
    EXPECT_EQ(RI_MAILBOX_DONE, state());
    free_latest();

    post(0, "one");
    EXPECT_TRUE(take_back());
    post(0, "two");
    EXPECT_EQ(1u, serve());
    EXPECT_EQ("two", served.back().data);
    EXPECT_EQ(2u, served.size());
}

/* Eight at once, in their order, wherever the numbers begin. */
TEST_F(test_mailbox, order)
{
    uint16_t first = 0;

    ASSERT_EQ(UCS_OK, open());
    for (unsigned round = 0; round < 60; ++round) {
        unsigned count = 1 + round % RI_MAILBOX_DEPTH;

        served.clear();
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ((uint16_t)(first + i), post(0, std::to_string(i)));
        }
        EXPECT_EQ(count, serve());
        ASSERT_EQ(count, served.size());
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(std::to_string(i), served[i].data);
            EXPECT_EQ(RI_MAILBOX_DONE, ri_mailbox_tx_state(&m_tx[0], first));
            ri_mailbox_tx_free(&m_tx[0], first++);
        }
    }
}

/* Of eight some are taken back, the latest first. */
TEST_F(test_mailbox, some_taken_back)
{
    ASSERT_EQ(UCS_OK, open());
    for (unsigned left = 0; left <= RI_MAILBOX_DEPTH; ++left) {
        served.clear();
        for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
            post(0, std::to_string(i));
        }
        uint16_t end = m_tx[0].next;
        for (unsigned i = left; i < RI_MAILBOX_DEPTH; ++i) {
            EXPECT_TRUE(ri_mailbox_tx_take_back(&m_tx[0], --end));
        }
        EXPECT_EQ(left, serve());
        for (unsigned i = 0; i < left; ++i) {
            EXPECT_EQ(std::to_string(i), served[i].data);
            ri_mailbox_tx_free(&m_tx[0], --end);
        }
    }
}

/* A doorbell says more than there are entries: those before were taken back. */
TEST_F(test_mailbox, many_taken_back)
{
    ASSERT_EQ(UCS_OK, open());
    for (unsigned gone : {1u, 3u, 8u, 9u, 100u, 247u}) {
        served.clear();
        for (unsigned i = 0; i < gone; ++i) {
            post(0, "gone");
            EXPECT_TRUE(take_back());
        }
        for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
            post(0, std::to_string(i));
        }
        EXPECT_EQ((unsigned)RI_MAILBOX_DEPTH, serve()) << gone;
        for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
            EXPECT_EQ(std::to_string(i), served[i].data) << gone;
            ri_mailbox_tx_free(&m_tx[0], i);
        }
    }
}

/* While the target is at another origin, this one takes back what the target has seen of it, and
 * posts more, to the same entries. */
TEST_F(test_mailbox, order_of_what_is_posted_meanwhile)
{
    ASSERT_EQ(UCS_OK, open(0));
    ASSERT_EQ(UCS_OK, open(1));
    post(0, "other");
    post(1, "gone");
    inside = [&] {
        EXPECT_TRUE(take_back(1));
        for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
            post(1, std::to_string(i));
        }
    };
    serve();
    serve();
    ASSERT_EQ(1u + RI_MAILBOX_DEPTH, served.size());
    for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
        EXPECT_EQ(std::to_string(i), served[1 + i].data);
    }
}

/* An origin that takes back what the target has begun with */
TEST_F(test_mailbox, not_taken_back_while_it_is_served)
{
    unsigned count = 0;

    ASSERT_EQ(UCS_OK, open());
    post();
    inside = [&] {
        EXPECT_EQ(RI_MAILBOX_SERVING, state());
        EXPECT_FALSE(take_back());
        EXPECT_EQ(RI_MAILBOX_SERVING, state());
        count = serve();
    };
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(0u, count) << "nobody serves it twice";
    EXPECT_EQ(1u, served.size());
}

/* What a hostile origin writes straight into its entry */
TEST_F(test_mailbox, hostile_lengths)
{
    const unsigned lengths[] = {0,    1,    95,   96,   97,    98,        255,
                                4095, 4096, 4097, 8192, 32768, UINT16_MAX};

    ASSERT_EQ(UCS_OK, open());
    for (unsigned length : lengths) {
        for (unsigned data_length : lengths) {
            bool is_good = (length <= RI_MAILBOX_DATA) &&
                           (data_length <= std::max(length, (unsigned)RI_MAILBOX_INLINE));

            served.clear();
            post();
            entry()->head.length      = length;
            entry()->head.data_length = data_length;
            ASSERT_EQ(1u, serve());
            ASSERT_EQ(is_good ? 1u : 0u, served.size()) << length << ' ' << data_length;
            ASSERT_EQ(is_good ? RI_MAILBOX_DONE : RI_MAILBOX_REFUSED, state());
            free_latest();
        }
    }
}

TEST_F(test_mailbox, hostile_states)
{
    ASSERT_EQ(UCS_OK, open());
    for (uint32_t value : {2u, 3u, 4u, 5u, 100u, UINT32_MAX}) {
        post();
        entry()->state = value;
        EXPECT_EQ(0u, serve()) << value;
        EXPECT_EQ(value, entry()->state.load());
        EXPECT_FALSE(take_back());
    }
    EXPECT_EQ(0u, served.size());
}

/* Doorbells are rung that are nobody's, or without anything in the slot. */
TEST_F(test_mailbox, hostile_doorbells)
{
    for (auto &word : m_rx.area->doorbells) {
        word = UINT64_MAX;
    }
    for (uint32_t words :
         {UINT32_MAX, (uint32_t)RI_MAILBOX_WORDS + 1, (uint32_t)RI_MAILBOX_WORDS, 1u}) {
        m_rx.area->num_words = words;
        serve();
        EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx)) << words;
        EXPECT_EQ(0u, serve());
    }
    EXPECT_EQ(0u, served.size());

    m_rx.area->num_words = UINT32_MAX;
    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(UINT32_MAX, m_rx.area->num_words.load());
    EXPECT_EQ(65535u, post());
    EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state());
}

/* 65536 times looks like none, and whoever waits takes it back; the next one is seen. */
TEST_F(test_mailbox, doorbell_that_wraps)
{
    ASSERT_EQ(UCS_OK, open());
    for (unsigned start : {0u, 1u, 200u}) {
        for (unsigned i = 0; i < start; ++i) {
            post();
            EXPECT_TRUE(take_back());
        }
        serve();
        for (unsigned times : {1u, 2u, 255u, 257u}) {
            for (unsigned i = 1; i < times; ++i) {
                post();
                EXPECT_TRUE(take_back());
            }
            post();
            EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
            EXPECT_EQ(1u, serve()) << times;
            free_latest();
        }
        for (unsigned i = 1; i <= 65536; ++i) {
            post();
            EXPECT_TRUE((i == 65536) || take_back());
        }
        EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx));
        EXPECT_EQ(0u, serve());
        EXPECT_TRUE(take_back());
        post();
        EXPECT_EQ(1u, serve());
        free_latest();
    }
}

TEST_F(test_mailbox, several_origins)
{
    const unsigned count = 19; /* in five words of doorbells */
    std::vector<bool> taken(RI_MAILBOX_SLOTS);

    for (unsigned i = 0; i < count; ++i) {
        ASSERT_EQ(UCS_OK, open(i));
        EXPECT_FALSE(taken[m_tx[i].slot]) << m_tx[i].slot;
        taken[m_tx[i].slot] = true;
    }
    EXPECT_EQ(5u, m_rx.area->num_words.load());

    /* Each by itself */
    for (unsigned i = 0; i < count; ++i) {
        post(i, std::to_string(i));
        EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
        EXPECT_EQ(1u, serve());
        EXPECT_EQ(i, served.back().head.address);
        for (unsigned k = 0; k < count; ++k) {
            EXPECT_EQ((k == i) ? RI_MAILBOX_DONE : RI_MAILBOX_FREE, state(k));
        }
        free_latest(i);
    }
    /* All at once, but one that is taken back */
    for (unsigned i = 0; i < count; ++i) {
        post(i);
    }
    EXPECT_TRUE(take_back(5));
    EXPECT_EQ(count - 1, serve());
    for (unsigned i = 0; i < count; ++i) {
        EXPECT_EQ((i == 5) ? RI_MAILBOX_FREE : RI_MAILBOX_DONE, state(i));
    }
    EXPECT_EQ(2 * count - 1, served.size());
}

TEST_F(test_mailbox, all_slots_are_taken)
{
    for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
        ASSERT_EQ(UCS_OK, open(i)) << i;
    }
    ri_mailbox_tx_t more;
    memset((void *)&more, 0xaa, sizeof(more));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, ri_mailbox_tx_open(&more, getpid(), m_rx.fd));
    EXPECT_EQ(nullptr, more.area);
    ri_mailbox_tx_close(&more);

    /* Each can be used, also the last one. */
    EXPECT_EQ((unsigned)RI_MAILBOX_WORDS, m_rx.area->num_words.load());
    for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
        post(i);
    }
    EXPECT_EQ((unsigned)RI_MAILBOX_SLOTS, serve());
    for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
        ASSERT_EQ(RI_MAILBOX_DONE, state(i));
        free_latest(i);
    }

    for (unsigned i : {0u, 100u, 127u}) {
        unsigned slot = m_tx[i].slot;

        ri_mailbox_tx_close(&m_tx[i]);
        ri_mailbox_tx_close(&m_tx[i]); /* there is none */
        EXPECT_EQ(nullptr, m_tx[i].area);
        ASSERT_EQ(UCS_OK, open(i));
        EXPECT_EQ(slot, m_tx[i].slot) << "used again";
        post(i);
        EXPECT_EQ(1u, serve()) << "its doorbell goes on from where it was";
        free_latest(i);
    }
}

/* What the last owner has left there, and what the target is still at */
TEST_F(test_mailbox, closed_slot)
{
    for (uint32_t left : {RI_MAILBOX_POSTED, RI_MAILBOX_DONE, RI_MAILBOX_REFUSED}) {
        ASSERT_EQ(UCS_OK, open());
        EXPECT_EQ(0u, m_tx[0].slot);
        post();
        entry()->state = left;
        ri_mailbox_tx_close(&m_tx[0]);
        ASSERT_EQ(UCS_OK, open());
        EXPECT_EQ(0u, m_tx[0].slot);
        EXPECT_EQ(RI_MAILBOX_FREE, state()) << left;
        ri_mailbox_tx_close(&m_tx[0]);
    }
    m_rx.area->slots[0][3].state = RI_MAILBOX_SERVING;
    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(1u, m_tx[0].slot);
    EXPECT_EQ(0u, m_rx.area->owners[0].load()) << "it is nobody's, as before";
    m_rx.area->slots[0][3].state = RI_MAILBOX_DONE;
    ASSERT_EQ(UCS_OK, open(1));
    EXPECT_EQ(0u, m_tx[1].slot);
}

/* A process takes a slot and ends. @return Its exit code. */
int open_and_end(uint32_t pid, uint32_t fd)
{
    int status  = -1;
    pid_t child = fork();

    if (child == 0) {
        ri_mailbox_tx_t tx;

        _exit(ri_mailbox_tx_open(&tx, pid, fd) != UCS_OK);
    }
    waitpid(child, &status, 0);
    return status;
}

TEST_F(test_mailbox, slot_of_a_process_that_is_gone)
{
    ASSERT_EQ(0, open_and_end(getpid(), m_rx.fd));
    uint64_t gone = m_rx.area->owners[0];
    EXPECT_NE(0u, gone);
    for (unsigned i = 1; i < RI_MAILBOX_SLOTS; ++i) {
        ASSERT_EQ(UCS_OK, open(i));
        ASSERT_EQ(i, m_tx[i].slot) << "as long as there are others";
    }

    m_rx.area->slots[0][3].state = RI_MAILBOX_SERVING;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, open()) << "the target is at it";
    EXPECT_EQ(gone, m_rx.area->owners[0].load());
    EXPECT_EQ((uint32_t)RI_MAILBOX_SERVING, m_rx.area->slots[0][3].state.load());

    m_rx.area->slots[0][3].state = RI_MAILBOX_POSTED;
    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(0u, m_tx[0].slot);
    EXPECT_EQ((uint32_t)RI_MAILBOX_FREE, m_rx.area->slots[0][3].state.load());
    EXPECT_EQ(m_rx.area->owners[1].load(), m_rx.area->owners[0].load());
    post();
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state());
}

TEST_F(test_mailbox, open_what_is_no_mailbox)
{
    const size_t size = sizeof(ri_mailbox_area_t);
    int wrong_size    = -1, pipe_fds[2];
    int unsealed      = memfd_create("ucxri-mailbox", MFD_CLOEXEC);
    void *area        = ri_shared_file_make("ucxri-mailbox", size + 4096, &wrong_size);
    pid_t child       = fork();

    if (child == 0) {
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    ASSERT_NE(nullptr, area);
    ASSERT_EQ(0, pipe2(pipe_fds, O_CLOEXEC));
    ASSERT_EQ(0, ftruncate(unsealed, size));
    uint32_t version = RI_MAILBOX_VERSION;
    ASSERT_EQ(4, pwrite(unsealed, &version, sizeof(version), 0));
    const uint32_t own = getpid(), fd = m_rx.fd;
    const std::pair<uint32_t, uint32_t> places[] = {{own, UINT32_MAX},
                                                    {own, 1u << 31},
                                                    {own, (uint32_t)wrong_size},
                                                    {own, (uint32_t)pipe_fds[0]},
                                                    {own, (uint32_t)unsealed},
                                                    {0, fd},
                                                    {UINT32_MAX, fd},
                                                    {(uint32_t)child, fd}};

    for (const auto &place : places) {
        memset((void *)&m_tx[0], 0xaa, sizeof(m_tx[0]));
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_mailbox_tx_open(&m_tx[0], place.first, place.second))
                << place.first << ' ' << place.second;
        EXPECT_EQ(nullptr, m_tx[0].area);
    }
    munmap(area, size + 4096);
    for (int open_fd : {wrong_size, unsealed, pipe_fds[0], pipe_fds[1]}) {
        close(open_fd);
    }
}

TEST_F(test_mailbox, another_version)
{
    for (uint32_t version : {0u, RI_MAILBOX_VERSION + 1u, UINT32_MAX}) {
        m_rx.area->version = version;
        EXPECT_EQ(UCS_ERR_UNREACHABLE, open());
        EXPECT_EQ(nullptr, m_tx[0].area);
    }
    EXPECT_EQ(0u, m_rx.area->owners[0].load()) << "nothing is taken there";
    m_rx.area->version = RI_MAILBOX_VERSION;
    EXPECT_EQ(UCS_OK, open());
}

TEST_F(test_mailbox, end)
{
    ASSERT_EQ(UCS_OK, open());
    int fd = m_rx.fd;

    ri_mailbox_rx_end(&m_rx);
    EXPECT_EQ(nullptr, m_rx.area);
    EXPECT_EQ(-1, fcntl(fd, F_GETFD));
    ri_mailbox_rx_end(&m_rx);
    /* Who has it open */
    post(0, "data");
    EXPECT_TRUE(take_back());
    ri_mailbox_tx_close(&m_tx[0]);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, open());
}

/* Origins in threads of their own, which ask for sums. */

std::atomic<uint64_t> sum_at_target;
uint64_t latest_at_target[RI_MAILBOX_SLOTS];
bool in_order;

/* The answer depends on the question; some are refused. Long ones have their value at the end. */
int sum_func(const ri_mailbox_head_t *head, uint8_t *data)
{
    uint64_t origin = head->region, value;

    memcpy(&value, data + head->length - sizeof(value), sizeof(value));
    if ((value != head->address) || (value % 7 == 0)) {
        return -1;
    }
    in_order                 = in_order && (value > latest_at_target[origin]);
    latest_at_target[origin] = value;
    sum_at_target += value;
    value *= 3;
    memcpy(data, &value, sizeof(value));
    return sizeof(value);
}

/* One that posts up to eight at once, and takes some of them back. */
class origin {
public:
    origin(ri_mailbox_tx_t *tx, uint64_t seed) : m_tx(tx), m_random(seed) {}

    void run(unsigned operations)
    {
        uint64_t value = 0;

        while (value < operations) {
            unsigned count = m_random.range(1, RI_MAILBOX_DEPTH);
            uint16_t first = m_tx->next;

            for (unsigned i = 0; i < count; ++i) {
                post(++value);
            }
            for (unsigned i = m_random.below(20); i > 0; --i) {
                sched_yield();
            }
            unsigned left = count;
            while (m_random.percent(60) && (left > 0) &&
                   ri_mailbox_tx_take_back(m_tx, first + left - 1)) {
                --left;
            }
            for (unsigned i = 0; i < left; ++i) {
                finish(first + i, value - count + 1 + i);
            }
        }
    }

    uint64_t sum = 0; /* of what was reported to be done */
    bool good    = true;

private:
    void post(uint64_t value)
    {
        uint8_t data[RI_MAILBOX_DATA] = {};
        ri_mailbox_head_t head        = {};

        head.length      = m_random.percent(80) ? 8 : m_random.range(8, RI_MAILBOX_DATA);
        head.data_length = head.length;
        head.region      = m_tx->slot;
        head.address     = value;
        memcpy(data + head.length - sizeof(value), &value, sizeof(value));
        m_lengths[ri_mailbox_tx_post(m_tx, &head, data) % RI_MAILBOX_DEPTH] = head.length;
    }

    void finish(uint16_t number, uint64_t value)
    {
        uint64_t result;

        while (ri_mailbox_tx_state(m_tx, number) < RI_MAILBOX_DONE) {
            sched_yield();
        }
        if (ri_mailbox_tx_state(m_tx, number) == RI_MAILBOX_DONE) {
            memcpy(&result,
                   ri_mailbox_data(m_tx->area, m_tx->slot, number,
                                   m_lengths[number % RI_MAILBOX_DEPTH]),
                   sizeof(result));
            good = good && (result == value * 3) && (value % 7 != 0);
            sum += value;
        } else {
            good = good && (value % 7 == 0);
        }
        ri_mailbox_tx_free(m_tx, number);
    }

    ri_mailbox_tx_t *m_tx;
    rng m_random;
    size_t m_lengths[RI_MAILBOX_DEPTH] = {};
};

/* What is done is what was reported to be done. */
void run_origins(ri_mailbox_rx_t *rx, ri_mailbox_tx_t *tx, unsigned num_origins,
                 rng &random)
{
    std::vector<std::unique_ptr<origin>> origins;
    std::vector<std::thread> threads;
    std::atomic<bool> stop(false);
    uint64_t sum = 0;

    sum_at_target = 0;
    in_order      = true;
    memset(latest_at_target, 0, sizeof(latest_at_target));
    std::thread target([&] {
        while (!stop) {
            if (!ri_mailbox_rx_is_rung(rx) || (ri_mailbox_rx_serve(rx, sum_func) == 0)) {
                sched_yield();
            }
        }
    });
    for (unsigned i = 0; i < num_origins; ++i) {
        origins.emplace_back(new origin(&tx[i], random.next()));
        threads.emplace_back([&origins, i] { origins[i]->run(2000); });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    stop = true;
    target.join();
    for (const auto &one : origins) {
        EXPECT_TRUE(one->good);
        sum += one->sum;
    }
    EXPECT_EQ(sum_at_target, sum);
    EXPECT_GT(sum, 0u);
    EXPECT_TRUE(in_order);
}

TEST_F(test_mailbox, random_origins)
{
    for (unsigned i = 0; i < 4; ++i) {
        ASSERT_EQ(UCS_OK, open(i));
    }
    for_seeds(4, [&](rng &random) { run_origins(&m_rx, m_tx.get(), 4, random); });
}

} // namespace
