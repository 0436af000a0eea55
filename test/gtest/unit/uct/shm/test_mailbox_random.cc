/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/mailbox.[hc]: origins in threads of their own, which ask for sums. */

#include "unit/common/rng.h"
#include "unit/uct/shm/mailbox_test.h"

#include <sched.h>
#include <thread>

namespace {

class test_mailbox_random : public mailbox_test {};

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
            uint32_t first = m_tx->next;

            for (unsigned i = 0; i < count; ++i) {
                post(++value);
            }
            for (unsigned i = m_random.below(20); i > 0; --i) {
                sched_yield();
            }
            unsigned left = count;
            while (m_random.percent(60) && (left > 0) &&
                   ri_mailbox_tx_withdraw(m_tx, first + left - 1)) {
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

    void finish(uint32_t number, uint64_t value)
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
        origin *one = new origin(&tx[i],
                                 random.next()); /* the vector moves while it grows */

        origins.emplace_back(one);
        threads.emplace_back([one] { one->run(2000); });
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

TEST_F(test_mailbox_random, random_origins)
{
    for (unsigned i = 0; i < 4; ++i) {
        ASSERT_EQ(UCS_OK, open(i));
    }
    for_share_of_seeds(4,
                       [&](rng &random) { run_origins(&m_rx, m_tx.get(), 4, random); });
}

} // namespace
