/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/shm/ring.[hc]: both ends at the same time, in two threads and in two processes.
 */

#include "ring_test.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>

namespace {

class test_ring_stress : public ring_test {};

/* What both sides of the stress tests do: message i is made of i alone. */

bool stress_in_parts(uint64_t i)
{
    return i % 5 == 0;
}

size_t stress_length(uint64_t i, size_t max_length)
{
    return stress_in_parts(i) ? rng(i).range(RI_RING_PARTS_MIN, max_length) :
           rng(i).percent(60) ? rng(i + 1).below(60) :
                                rng(i + 2).below(max_length + 1);
}

/* At the heads of lines what will be a stamp one lap later */
void stress_payload(const ri_ring_tx_t *tx, uint64_t i, uint8_t *payload, size_t length)
{
    memset(payload, (int)(i ^ 0x5a), length);
    if (length > RI_RING_INLINE) {
        for (size_t at = 0; at + 4 <= length; at += RI_RING_LINE) {
            uint32_t stamp =
                    ri_ring_stamp(tx->pos + 1 + at / RI_RING_LINE + tx->mask + 1);

            memcpy(payload + at, &stamp, sizeof(stamp));
        }
    }
}

bool stress_send(ri_ring_tx_t *tx, uint64_t i)
{
    size_t length = stress_length(i, tx->max_payload);
    std::vector<uint8_t> payload(length);
    ri_ring_record_t *record;

    tx->distance.times = (i / 1000 % 2) ? RI_DISTANCE_FAR_TIMES : 0;
    if (stress_in_parts(i)) {
        stress_payload(tx, i, payload.data(), length);
        return ri_ring_parts_put(tx, i, i * 0x123456789, 0, payload.data(), length);
    }

    record = ri_ring_tx_reserve(tx, length);
    if (record == nullptr) {
        return false;
    }
    if (length > RI_RING_INLINE) {
        stress_payload(tx, i, payload.data(), length);
        ri_ring_tx_write(tx, record, payload.data(), length,
                         ri_ring_tx_streams(tx, length, 0));
    } else {
        stress_payload(tx, i, record->payload, length);
    }
    record->type  = 1 + i % 50;
    record->value = i;
    record->extra = ~i;
    record->tag   = i * 0x123456789;
    ri_ring_tx_commit(tx, record, length);
    return true;
}

/* @return 1 for a message, 0 for none yet, -1 for a wrong one. @a received is how much of
 * one in parts has come. */
int stress_receive(ri_ring_rx_t *rx, uint64_t i, size_t max_length, size_t *received)
{
    const ri_ring_record_t *record = ri_ring_rx_peek(rx);

    if (record == nullptr) {
        return 0;
    }
    if (record->type == RI_RING_PAD) {
        ri_ring_rx_advance(rx, ri_ring_rx_lines(rx, RI_RING_PAD, 0));
        return (*received == 0) ? 0 : -1;
    }

    size_t length = stress_length(i, max_length);
    bool parts    = stress_in_parts(i);
    uint8_t type  = !parts ? 1 + i % 50 : (*received == 0) ? RI_RING_START : RI_RING_PART;
    uint32_t extra = parts ? length : ~i;
    bool good      = (record->type == type) && (record->value == (uint32_t)i) &&
                (record->extra == extra) && (record->tag == i * 0x123456789) &&
                (parts ? (record->length <= length - *received) :
                         (record->length == length));
    const uint8_t *payload = ri_ring_payload(record, record->length);
    for (size_t at = *received; good && (at < *received + record->length); ++at) {
        bool is_stamp = (length > RI_RING_INLINE) && (at % RI_RING_LINE < 4) &&
                        (at - at % RI_RING_LINE + 4 <= length);

        good = is_stamp || (payload[at - *received] == (uint8_t)(i ^ 0x5a));
    }
    *received += record->length;
    ri_ring_rx_advance(rx, ri_ring_rx_lines(rx, record->type, record->length));
    if (!good) {
        return -1;
    }
    if (*received < length) {
        return 0;
    }
    *received = 0;
    return 1;
}

const uint64_t STRESS_RECORDS = 100000;

/* One mapping for both threads, so that ThreadSanitizer sees the same addresses. */
TEST_F(test_ring_stress, stress_threads)
{
    open_both(8192);
    size_t received = 0;
    start_at(0u - 1000 * lines()); /* over the wrap on the way */
    ri_ring_tx_t tx = m_tx;
    tx.control      = m_rx.control;
    tx.lines        = m_rx.lines;

    std::atomic<bool> stop(false);
    std::thread sender([&tx, &stop]() {
        for (uint64_t i = 0; (i < STRESS_RECORDS) && !stop;) {
            if (stress_send(&tx, i)) {
                ++i;
            } else {
                sched_yield();
            }
        }
    });
    for (uint64_t i = 0; i < STRESS_RECORDS;) {
        int ret = stress_receive(&m_rx, i, tx.max_payload, &received);

        if (ret < 0) {
            ADD_FAILURE() << "record " << i;
            break;
        }
        if (ret == 0) {
            sched_yield();
        }
        i += ret;
    }
    stop = true;
    sender.join();
    EXPECT_EQ(nullptr, ri_ring_rx_peek(&m_rx));
}

TEST_F(test_ring_stress, stress_processes)
{
    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    pid_t parent = getpid();
    int fd       = m_rx.fd;
    pid_t child  = fork();

    ASSERT_GE(child, 0);
    if (child == 0) {
        ri_ring_tx_t tx;

        if (ri_ring_open(&tx, parent, fd, 8192, COOKIE) != UCS_OK) {
            _exit(1);
        }
        for (uint64_t i = 0; i < STRESS_RECORDS;) {
            if (stress_send(&tx, i)) {
                ++i;
            } else if (getppid() != parent) {
                _exit(2);
            } else {
                sched_yield();
            }
        }
        _exit(0);
    }

    int status      = 0;
    bool finished   = false;
    size_t received = 0;
    for (uint64_t i = 0; i < STRESS_RECORDS;) {
        int ret = stress_receive(&m_rx, i, 8192 / 4, &received);

        if (ret < 0) {
            ADD_FAILURE() << "record " << i;
            break;
        }
        i += ret;
        if (ret == 0) {
            sched_yield();
            if (!finished) {
                finished = (waitpid(child, &status, WNOHANG) == child);
            } else if (ri_ring_rx_peek(&m_rx) == nullptr) {
                ADD_FAILURE() << "the sender has ended before record " << i;
                break;
            }
        }
    }
    if (!finished) {
        if (HasFailure()) {
            kill(child, SIGKILL);
        }
        waitpid(child, &status, 0);
    }
    EXPECT_EQ(0, status);
    EXPECT_EQ(nullptr, ri_ring_rx_peek(&m_rx));
}

} // namespace
