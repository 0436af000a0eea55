/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/ring.[hc]: both ends, in one process and in two. */

#include "ri_cpp.h"
#include "rng.h"

#include <csignal>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

const uint64_t COOKIE = 0x123456789abcdefful;

class test_ring : public ::testing::Test {
protected:
    struct record {
        uint8_t type;
        uint32_t value;
        uint32_t extra;
        uint64_t tag;
        std::vector<uint8_t> payload;
        bool parts = false; /* by ri_ring_tx_put_parts */
    };

    void SetUp() override
    {
        memset((void *)&m_rx, 0, sizeof(m_rx));
        memset((void *)&m_tx, 0, sizeof(m_tx));
    }

    void TearDown() override { close_both(); }

    void open_both(size_t size)
    {
        ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, size, COOKIE));
        ASSERT_EQ(UCS_OK, ri_ring_open(&m_tx, getpid(), m_rx.fd, size, COOKIE));
    }

    void close_both()
    {
        if (m_tx.control != nullptr) {
            ri_ring_tx_close(&m_tx);
        }
        if (m_rx.control != nullptr) {
            ri_ring_rx_close(&m_rx);
        }
        m_model.clear();
        m_received = 0;
    }

    uint32_t lines() const { return m_tx.mask + 1; }

    /* As if the ring had run up to @a pos, a multiple of its lines. */
    void start_at(uint32_t pos)
    {
        ASSERT_EQ(0u, pos & m_tx.mask);
        m_tx.pos = m_rx.pos = m_rx.published = pos;
        m_tx.limit                           = pos + lines();
        m_tx.control->consumed               = pos;
    }

    /* @return Whether there was room. */
    bool send(const record &r)
    {
        uint32_t length = r.payload.size();
        ri_ring_record_t *record;

        if (r.parts) {
            if (!ri_ring_tx_put_parts(&m_tx, r.value, r.tag, r.payload.data(), length)) {
                return false;
            }
            m_model.push_back(r);
            return true;
        }
        record = ri_ring_tx_reserve(&m_tx, length);
        if (record == nullptr) {
            return false;
        }
        record->type  = r.type;
        record->value = r.value;
        record->extra = r.extra;
        record->tag   = r.tag;
        std::copy(r.payload.begin(), r.payload.end(), ri_ring_payload(record, length));
        ri_ring_tx_commit(&m_tx, record, length);
        m_model.push_back(r);
        return true;
    }

    const ri_ring_record_t *peek_behind_padding()
    {
        const ri_ring_record_t *record;

        while (((record = ri_ring_rx_peek(&m_rx)) != nullptr) &&
               (record->type == RI_RING_PAD)) {
            EXPECT_EQ(0u, m_received) << "padding between parts";
            ri_ring_rx_advance(&m_rx, ri_ring_rx_lines(&m_rx, RI_RING_PAD, 0));
        }
        return record;
    }

    /* Take what is next, padding not counted, of a message in parts one part; compare it
     * with the model. */
    bool receive()
    {
        const ri_ring_record_t *record = peek_behind_padding();

        EXPECT_EQ(m_model.empty(), record == nullptr) << "at position " << m_rx.pos;
        if ((record == nullptr) || m_model.empty()) {
            return false;
        }

        const struct record &expected = m_model.front();
        uint8_t type                  = !expected.parts   ? expected.type :
                                        (m_received == 0) ? RI_RING_START :
                                                            RI_RING_PART;
        uint32_t extra = expected.parts ? expected.payload.size() : expected.extra;
        size_t left    = expected.payload.size() - m_received;
        size_t length  = expected.parts ? std::min<size_t>(left, record->length) : left;
        uint32_t count = ri_ring_rx_lines(&m_rx, record->type, record->length);
        EXPECT_EQ(ri_ring_lines(length), count);
        EXPECT_EQ(type, record->type);
        EXPECT_EQ(expected.value, record->value);
        EXPECT_EQ(extra, record->extra);
        EXPECT_EQ(expected.tag, record->tag);
        EXPECT_EQ(length, record->length);
        EXPECT_TRUE(!expected.parts || (length > 0));
        EXPECT_TRUE((type != RI_RING_START) || (length < left));
        EXPECT_TRUE(std::equal(expected.payload.begin() + m_received,
                               expected.payload.begin() + m_received + length,
                               ri_ring_payload(record, record->length)));
        ri_ring_rx_advance(&m_rx, count);
        m_received += length;
        if (m_received == expected.payload.size()) {
            m_model.pop_front();
            m_received = 0;
        }
        return !HasFailure();
    }

    /* Receive a whole message. */
    bool receive_parts()
    {
        do {
            if (!receive()) {
                return false;
            }
        } while (m_received > 0);
        return true;
    }

    record parts_record(uint32_t length, uint32_t value)
    {
        record r = {0, value, 0, ~0ul - value, std::vector<uint8_t>(length), true};

        for (size_t i = 0; i < length; ++i) {
            r.payload[i] = value + i * 7;
        }
        return r;
    }

    /* As if the ring had just come to line @a slot, and had never held anything. */
    void start_in(uint32_t slot)
    {
        start_at(0);
        m_tx.pos = m_rx.pos = m_rx.published = slot;
        m_tx.control->consumed               = slot;
        m_tx.limit                           = slot + lines();
        memset((void *)m_tx.lines, 0, lines() * RI_RING_LINE);
    }

    record random_record(rng &random, size_t max_length)
    {
        /* Small ones often, as in life */
        size_t length = random.percent(50) ?
                                random.below(std::min<size_t>(max_length, 60)) :
                                random.range(0, max_length);

        if ((max_length >= RI_RING_PARTS_MIN) && random.percent(25)) {
            return parts_record(random.range(RI_RING_PARTS_MIN, max_length),
                                random.next());
        }

        record r = {(uint8_t)random.range(1, 30), (uint32_t)random.next(),
                    (uint32_t)random.next(), random.next(), std::vector<uint8_t>(length)};

        for (size_t i = 0; i < length; ++i) {
            r.payload[i] = r.value + i;
        }
        return r;
    }

    /* Payload that looks like a record which the receiver waits for: at the head of each
     * line the stamp that this line will have @a laps laps later. */
    void disguise(record &r, uint32_t laps)
    {
        if (r.payload.size() <= RI_RING_INLINE) {
            return; /* shares the line with its header */
        }
        uint32_t part = r.parts ? ri_ring_part_length(r.payload.size()) : UINT32_MAX;
        for (size_t at = 0; at + 4 <= r.payload.size(); at += RI_RING_LINE) {
            uint32_t line  = 1 + at / RI_RING_LINE + at / part;
            uint32_t stamp = ri_ring_stamp(m_tx.pos + line + laps * lines());

            memcpy(&r.payload[at], &stamp, sizeof(stamp));
        }
    }

    void run_random(rng &random, unsigned operations, size_t max_length, bool disguised)
    {
        unsigned share = random.range(30, 70);

        for (unsigned i = 0; (i < operations) && !HasFailure(); ++i) {
            if (random.percent(share)) {
                record r = random_record(random, max_length);

                if (disguised) {
                    disguise(r, random.below(3));
                }
                send(r);
            } else {
                receive();
            }
            if (random.percent(2)) {
                share = random.range(10, 90);
            }
        }
        while (!m_model.empty() && !HasFailure()) {
            receive();
        }
        EXPECT_FALSE(receive());
    }

    ri_ring_rx_t m_rx;
    ri_ring_tx_t m_tx;
    std::deque<record> m_model;
    size_t m_received = 0; /* of the first message of the model */
};

TEST_F(test_ring, stamp_is_never_zero_and_differs)
{
    for (uint32_t pos : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
        EXPECT_NE(0u, ri_ring_stamp(pos));
        EXPECT_NE(ri_ring_stamp(pos), ri_ring_stamp(pos + 64));
    }
}

TEST_F(test_ring, lines_of_a_record)
{
    EXPECT_EQ(1u, ri_ring_lines(0));
    EXPECT_EQ(1u, ri_ring_lines(40));
    EXPECT_EQ(2u, ri_ring_lines(41));
    EXPECT_EQ(2u, ri_ring_lines(64));
    EXPECT_EQ(3u, ri_ring_lines(65));
    EXPECT_EQ(1025u, ri_ring_lines(UINT16_MAX));
}

TEST_F(test_ring, payload_is_in_its_lines)
{
    ri_ring_record_t record[3] = {};

    EXPECT_EQ(record[0].payload, ri_ring_payload(record, 0));
    EXPECT_EQ(record[0].payload, ri_ring_payload(record, RI_RING_INLINE));
    EXPECT_EQ((void *)&record[1], ri_ring_payload(record, RI_RING_INLINE + 1));
}

TEST_F(test_ring, create_and_open)
{
    open_both(65536);
    EXPECT_EQ(1024u, lines());
    EXPECT_EQ(65536u / 4, m_tx.max_payload);
    EXPECT_GE(m_rx.fd, 0);
    EXPECT_EQ(FD_CLOEXEC, fcntl(m_rx.fd, F_GETFD));
    EXPECT_EQ(nullptr, ri_ring_rx_peek(&m_rx));
}

TEST_F(test_ring, mapped_closes_the_descriptor_once)
{
    open_both(4096);
    int fd = m_rx.fd;

    ri_ring_rx_mapped(&m_rx);
    EXPECT_EQ(-1, fcntl(fd, F_GETFD));
    EXPECT_EQ(-1, m_rx.fd);
    fd = open("/dev/null", O_RDONLY); /* most likely the same number */
    ri_ring_rx_mapped(&m_rx);
    EXPECT_NE(-1, fcntl(fd, F_GETFD));
    close(fd);
    EXPECT_TRUE(send({1, 2, 3, 4, {5}}));
    EXPECT_TRUE(receive());
}

/* errno is that of the call that failed, whichever it was. */
TEST_F(test_ring, create_without_descriptors)
{
    struct rlimit before, none;

    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
    none          = before;
    none.rlim_cur = 0;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
    errno               = 0;
    ucs_status_t status = ri_ring_create(&m_rx, 8192, COOKIE);
    int error           = errno;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
    EXPECT_EQ(UCS_ERR_IO_ERROR, status);
    EXPECT_EQ(EMFILE, error);
    EXPECT_NE(nullptr, strstr(ri_ring_remedy(error), "ulimit -n"));
}

TEST_F(test_ring, create_with_a_limit_to_files)
{
    struct rlimit before, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

    ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &before));
    small          = before;
    small.rlim_cur = 4096;
    ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
    errno               = EPERM; /* of something else, before */
    ucs_status_t status = ri_ring_create(&m_rx, 8192, COOKIE);
    int error           = errno;
    ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &before));
    signal(SIGXFSZ, handler);
    EXPECT_EQ(UCS_ERR_IO_ERROR, status);
    EXPECT_EQ(EFBIG, error);
    EXPECT_STREQ("", ri_ring_remedy(error));
}

TEST_F(test_ring, remedies)
{
    for (int error : {EPERM, ENOSYS}) {
        EXPECT_NE(nullptr, strstr(ri_ring_remedy(error), "seccomp"));
    }
    for (int error : {ENOMEM, ENOSPC}) {
        EXPECT_NE(nullptr, strstr(ri_ring_remedy(error), "UCXRI_RING_SIZE"));
    }
}

TEST_F(test_ring, open_refuses_wrong_size)
{
    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    for (size_t size : {0ul, 1ul, 64ul, 2048ul, 4096ul, 8191ul, 8193ul, 12288ul, 16384ul,
                        1ul << 30, 1ul << 31, 1ul << 32, (1ul << 32) + 8192, ~0ul}) {
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_ring_open(&m_tx, getpid(), m_rx.fd, size, COOKIE))
                << size;
    }
}

TEST_F(test_ring, open_refuses_wrong_cookie)
{
    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    for (uint64_t cookie : {0ul, ~0ul, COOKIE + 1, COOKIE ^ (1ul << 63)}) {
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_ring_open(&m_tx, getpid(), m_rx.fd, 8192, cookie));
    }
}

TEST_F(test_ring, open_refuses_wrong_first_page)
{
    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    ++m_rx.control->version;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_ring_open(&m_tx, getpid(), m_rx.fd, 8192, COOKIE));
    --m_rx.control->version;
    m_rx.control->lines *= 2;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_ring_open(&m_tx, getpid(), m_rx.fd, 8192, COOKIE));
    m_rx.control->lines /= 2;
    EXPECT_EQ(UCS_OK, ri_ring_open(&m_tx, getpid(), m_rx.fd, 8192, COOKIE));
}

TEST_F(test_ring, open_refuses_wrong_descriptor)
{
    int pipe_fds[2];

    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    ASSERT_EQ(0, pipe(pipe_fds));
    int null_fd   = open("/dev/null", O_RDWR);
    int other_fd  = memfd_create("other", MFD_CLOEXEC);
    int same_size = memfd_create("same size", MFD_CLOEXEC);
    ASSERT_EQ(0, ftruncate(same_size, RI_RING_CONTROL_SIZE + 8192));

    for (int fd : {pipe_fds[0], pipe_fds[1], null_fd, other_fd, same_size, 12345, -1}) {
        EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_ring_open(&m_tx, getpid(), fd, 8192, COOKIE))
                << fd;
        close(fd);
    }
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_ring_open(&m_tx, 0, m_rx.fd, 8192, COOKIE));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_ring_open(&m_tx, ~0u, m_rx.fd, 8192, COOKIE));
}

/* Whoever has the memory could otherwise give the other side a bus error */
TEST_F(test_ring, size_cannot_change)
{
    open_both(8192);
    for (off_t size : {0, 4096, RI_RING_CONTROL_SIZE + 8192 - 1, 1 << 20}) {
        EXPECT_EQ(-1, ftruncate(m_rx.fd, size)) << size;
    }
    EXPECT_EQ(-1, fcntl(m_rx.fd, F_ADD_SEALS, F_SEAL_WRITE));
    EXPECT_TRUE(send({1, 2, 3, 4, {5}}));
    EXPECT_TRUE(receive());
}

TEST_F(test_ring, open_refuses_a_size_that_could_change)
{
    const size_t map_size = RI_RING_CONTROL_SIZE + 8192;
    ri_ring_control_t page;

    memset((void *)&page, 0, sizeof(page));
    page.cookie  = COOKIE;
    page.version = RI_RING_VERSION;
    page.lines   = 8192 / RI_RING_LINE;

    for (int seals : {0, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL,
                      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE}) {
        int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        ASSERT_EQ(0, ftruncate(fd, map_size));
        ASSERT_EQ((ssize_t)sizeof(page), pwrite(fd, &page, sizeof(page), 0));
        ASSERT_EQ(0, fcntl(fd, F_ADD_SEALS, seals));
        EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_ring_open(&m_tx, getpid(), fd, 8192, COOKIE))
                << seals;
        if (seals == 0) { /* it is only the seals */
            ASSERT_EQ(0, fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
            EXPECT_EQ(UCS_OK, ri_ring_open(&m_tx, getpid(), fd, 8192, COOKIE));
            ri_ring_tx_close(&m_tx);
        }
        close(fd);
    }

    /* A file that has no seals at all */
    char path[] = "/tmp/ucxri-test-XXXXXX";
    int fd      = mkstemp(path);
    ASSERT_GE(fd, 0);
    unlink(path);
    ASSERT_EQ(0, ftruncate(fd, map_size));
    ASSERT_EQ((ssize_t)sizeof(page), pwrite(fd, &page, sizeof(page), 0));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_ring_open(&m_tx, getpid(), fd, 8192, COOKIE));
    close(fd);
}

/* A process without a controlling terminal gets the one that it opens */
TEST_F(test_ring, open_does_not_open_a_terminal)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);

    if ((master < 0) || (grantpt(master) != 0) || (unlockpt(master) != 0)) {
        return; /* no terminals here */
    }
    int slave   = open(ptsname(master), O_RDWR | O_NOCTTY);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        setsid();
        ucs_status_t status = ri_ring_open(&m_tx, getpid(), slave, 8192, COOKIE);
        int terminal        = open("/dev/tty", O_RDWR);

        _exit((status != UCS_ERR_UNREACHABLE) + 2 * (terminal >= 0));
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
    close(slave);
    close(master);
}

TEST_F(test_ring, open_keeps_no_descriptor)
{
    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    int before = dup(0);
    close(before);
    ASSERT_EQ(UCS_OK, ri_ring_open(&m_tx, getpid(), m_rx.fd, 8192, COOKIE));
    int after = dup(0);
    close(after);
    EXPECT_EQ(before, after);
}

TEST_F(test_ring, tx_close_leaves_records_readable)
{
    open_both(4096);
    ASSERT_TRUE(send({1, 2, 3, 4, {5, 6}}));
    ASSERT_TRUE(send({7, 8, 9, 10, std::vector<uint8_t>(500, 11)}));
    ri_ring_tx_close(&m_tx);
    EXPECT_TRUE(receive());
    EXPECT_TRUE(receive());
}

TEST_F(test_ring, rx_close_leaves_the_sender_alone)
{
    open_both(4096);
    ri_ring_rx_close(&m_rx);
    unsigned sent = 0;
    while (send({1, 2, 3, 4, {}})) {
        ++sent;
    }
    EXPECT_EQ(lines() - 1, sent);
}

TEST_F(test_ring, reserve_fills_all_but_one_line)
{
    open_both(4096);
    unsigned sent = 0;

    while (send({1, sent, 3, 4, {}})) {
        ++sent;
    }
    EXPECT_EQ(lines() - 1, sent);

    /* The receiver tells of what it read every quarter of a lap */
    for (unsigned i = 0; i < lines() / 4 - 1; ++i) {
        ASSERT_TRUE(receive());
        ASSERT_FALSE(send({1, 2, 3, 4, {}}));
    }
    ASSERT_TRUE(receive());
    for (unsigned i = 0; i < lines() / 4; ++i) {
        ASSERT_TRUE(send({1, sent++, 3, 4, {}})) << i;
    }
    ASSERT_FALSE(send({1, 2, 3, 4, {}}));
    while (!m_model.empty()) {
        ASSERT_TRUE(receive());
    }
}

TEST_F(test_ring, reserve_is_repeatable)
{
    open_both(4096);
    for (int i = 0; i < 60; ++i) {
        send({1, 2, 3, 4, {}});
        receive();
    }
    /* Does not fit the rest of the lap: padding is written once */
    uint32_t pos            = m_tx.pos;
    ri_ring_record_t *first = ri_ring_tx_reserve(&m_tx, 1000);
    ASSERT_NE(nullptr, first);
    EXPECT_EQ(m_tx.lines, first);
    EXPECT_EQ(lines(), m_tx.pos);
    EXPECT_LT(pos, m_tx.pos);
    EXPECT_EQ(first, ri_ring_tx_reserve(&m_tx, 1000));
    EXPECT_EQ(lines(), m_tx.pos);
    EXPECT_TRUE(send({1, 2, 3, 4, std::vector<uint8_t>(1000, 5)}));
    EXPECT_TRUE(receive());
}

TEST_F(test_ring, each_length_at_each_place)
{
    open_both(4096);
    for (uint32_t start = 0; start < lines(); ++start) {
        for (uint32_t length :
             {0u, 1u, 40u, 41u, 64u, 65u, m_tx.max_payload - 1, m_tx.max_payload}) {
            start_at(0);
            memset((void *)m_tx.lines, 0, lines() * RI_RING_LINE);
            for (uint32_t i = 0; i < start; ++i) {
                ASSERT_TRUE(send({1, i, 3, 4, {}}));
                ASSERT_TRUE(receive());
            }
            record r = {9, length, start, 7, std::vector<uint8_t>(length, start)};
            for (int i = 0; i < 2; ++i) {
                ASSERT_TRUE(send(r)) << start << " " << length;
                ASSERT_TRUE(receive());
            }
            ASSERT_FALSE(receive());
        }
    }
}

TEST_F(test_ring, stale_payload_is_no_record)
{
    open_both(4096);

    /* Payload like the stamps that come next, then single lines over them */
    for (uint32_t laps = 0; laps < 4; ++laps) {
        for (uint32_t length = 41; length <= m_tx.max_payload; length += 61) {
            record r = {1, length, 3, 4, std::vector<uint8_t>(length)};
            uint32_t stop;

            disguise(r, laps);
            ASSERT_TRUE(send(r));
            ASSERT_TRUE(receive());
            ASSERT_FALSE(receive());
            for (stop = m_tx.pos + laps * lines() + 3; m_tx.pos < stop;) {
                ASSERT_TRUE(send({1, m_tx.pos, 3, 4, {}}));
                ASSERT_TRUE(receive());
                ASSERT_FALSE(receive());
            }
        }
    }
}

/* Lines that padding skips keep an old header, whose stamp comes again after 2^31 lines. */
TEST_F(test_ring, stale_header_behind_padding_is_no_record)
{
    open_both(4096);
    for (uint32_t gap = 2; gap < 20; ++gap) {
        SCOPED_TRACE(gap);
        start_at(0);
        for (uint32_t i = 0; i < lines(); ++i) { /* a header in each line */
            ASSERT_TRUE(send({1, i, 3, 4, {}}));
            ASSERT_TRUE(receive());
        }
        for (uint32_t i = 0; i + gap < lines(); ++i) {
            ASSERT_TRUE(send({1, i, 3, 4, {}}));
            ASSERT_TRUE(receive());
        }
        record wide = {1, 2, 3, 4, std::vector<uint8_t>(gap * RI_RING_LINE)};
        ASSERT_EQ(gap + 1, ri_ring_lines(wide.payload.size()));
        ASSERT_TRUE(send(wide)); /* at the start of the next lap */
        ASSERT_TRUE(receive());
        start_at(1u << 31);
        for (uint32_t i = 0; i < lines(); ++i) {
            ASSERT_TRUE(send({1, i, 3, 4, {}}));
            ASSERT_TRUE(receive());
            ASSERT_EQ(nullptr, ri_ring_rx_peek(&m_rx)) << "line " << i + 1;
        }
        m_tx.pos = m_rx.pos = 0;
        close_both();
        open_both(4096);
    }
}

TEST_F(test_ring, parts_each_length_at_each_place)
{
    open_both(8192);
    for (uint32_t length = RI_RING_PARTS_MIN; length <= m_tx.max_payload; ++length) {
        record r = parts_record(length, length);

        for (uint32_t slot = 0; slot < lines(); ++slot) {
            start_in(slot);
            for (int i = 0; i < 2; ++i) {
                ASSERT_TRUE(send(r)) << length << " at " << slot;
                ASSERT_TRUE(receive_parts()) << length << " at " << slot;
            }
            ASSERT_EQ(nullptr, ri_ring_rx_peek(&m_rx)) << length << " at " << slot;
        }
    }
}

/* More than two parts, of the greatest length. */
TEST_F(test_ring, parts_long)
{
    open_both(1 << 20);
    ASSERT_EQ((uint32_t)UINT16_MAX, m_tx.max_payload);
    for (uint32_t length : {4096u, 4097u, 6143u, 6144u, 8192u, 8193u, 20000u, 65535u}) {
        record r = parts_record(length, length);

        for (uint32_t slot : {0u, 1u, lines() - 1, lines() - ri_ring_lines(length),
                              lines() - ri_ring_lines(length) / 2}) {
            start_in(slot);
            ASSERT_TRUE(send(r)) << length << " at " << slot;
            ASSERT_EQ(RI_RING_PART_MAX, peek_behind_padding()->length);
            ASSERT_TRUE(receive_parts()) << length << " at " << slot;
            ASSERT_FALSE(receive());
        }
    }
}

TEST_F(test_ring, parts_stale_payload_is_no_record)
{
    open_both(8192);
    for (uint32_t laps = 0; laps < 4; ++laps) {
        for (uint32_t length = RI_RING_PARTS_MIN; length <= m_tx.max_payload;
             length += 61) {
            record r = parts_record(length, length);

            disguise(r, laps);
            ASSERT_TRUE(send(r));
            ASSERT_TRUE(receive_parts());
            ASSERT_FALSE(receive());
            for (uint32_t stop = m_tx.pos + laps * lines() + 3; m_tx.pos < stop;) {
                ASSERT_TRUE(send({1, m_tx.pos, 3, 4, {}}));
                ASSERT_TRUE(receive());
                ASSERT_FALSE(receive());
            }
        }
    }
}

/* All parts or none: a message that was begun is never left for later. */
TEST_F(test_ring, parts_refused_as_a_whole)
{
    open_both(8192);
    for (uint32_t length : {1024u, 1025u, 1600u, 2047u, 2048u}) {
        for (uint32_t slot = 0; slot < lines(); ++slot) {
            start_in(slot);
            for (uint32_t i = 0; send({1, i, 3, 4, {}}); ++i) {}

            /* Make room line by line */
            for (bool sent = false; !sent;) {
                ASSERT_FALSE(m_model.empty());
                ASSERT_TRUE(receive());
                m_rx.published         = m_rx.pos;
                m_tx.control->consumed = m_rx.pos;

                uint32_t pos = m_tx.pos;
                sent         = send(parts_record(length, slot));
                if (!sent) {
                    ASSERT_EQ(pos, m_tx.pos);
                }
                ASSERT_LT((int32_t)(m_tx.pos - m_rx.pos), (int32_t)lines());
            }
            while (!m_model.empty()) {
                ASSERT_TRUE(receive());
            }
            ASSERT_FALSE(receive());
        }
    }
}

TEST_F(test_ring, random)
{
    for_seeds(1000, [this](rng &random) {
        open_both(4096ul << random.below(3));
        run_random(random, 1000, random.percent(50) ? m_tx.max_payload : 300, false);
        close_both();
    });
}

TEST_F(test_ring, random_stale_payload)
{
    for_seeds(1000, [this](rng &random) {
        open_both(4096ul << random.below(3));
        run_random(random, 1000, m_tx.max_payload, true);
        close_both();
    });
}

/* Positions wrap at 2^32, stamps at 2^31. */
TEST_F(test_ring, random_over_the_wrap)
{
    for_seeds(200, [this](rng &random) {
        open_both(4096ul << random.below(2));
        uint32_t wrap = random.percent(50) ? 0x80000000u : 0u;
        start_at(wrap - lines() * random.range(1, 5));
        uint32_t start = m_tx.pos;
        run_random(random, 1000, m_tx.max_payload, true);
        EXPECT_GT(m_tx.pos - start, wrap - start) << "did not get there";
        close_both();
    });
}

/* Whatever the peer writes into its index, the sender's own bounds hold and it ends. */
TEST_F(test_ring, hostile_consumed)
{
    for_seeds(200, [this](rng &random) {
        open_both(4096);
        start_at(random.percent(50) ? 0 : lines() * (uint32_t)random.next());
        for (unsigned i = 0; i < 500; ++i) {
            uint32_t consumed = random.percent(50) ?
                                        (uint32_t)random.next() :
                                        m_tx.pos - lines() + random.below(3 * lines());

            atomic_store_explicit(&m_tx.control->consumed, consumed,
                                  memory_order_release);
            uint32_t length          = random.range(0, m_tx.max_payload);
            ri_ring_record_t *record = ri_ring_tx_reserve(&m_tx, length);
            if (record != nullptr) {
                ASSERT_GE(record, m_tx.lines);
                ASSERT_LE(record + ri_ring_lines(length), m_tx.lines + lines());
                ri_ring_tx_commit(&m_tx, record, length);
            }
            ASSERT_LE(m_tx.limit - m_tx.pos, lines());
        }
        close_both();
    });
}

TEST_F(test_ring, hostile_record_length)
{
    open_both(4096);
    for (uint32_t slot = 0; slot < lines(); ++slot) {
        uint32_t left = lines() - slot;

        m_rx.pos = lines() * 5 + slot;
        for (uint32_t length = 0; length <= UINT16_MAX; ++length) {
            uint32_t need = ri_ring_lines(length);

            ASSERT_EQ((need <= left) ? need : 0, ri_ring_rx_lines(&m_rx, 1, length));
            ASSERT_EQ(left, ri_ring_rx_lines(&m_rx, RI_RING_PAD, length));
        }
    }
}

/* The length of a record has 16 bits, so a large ring must not promise more. */
TEST_F(test_ring, max_payload_fits_the_length)
{
    open_both(1 << 20);
    EXPECT_LE(m_tx.max_payload, (uint32_t)UINT16_MAX);
    uint32_t length = m_tx.max_payload;
    ASSERT_TRUE(send({1, 2, 3, 4, std::vector<uint8_t>(length, 5)}));
    EXPECT_TRUE(receive());
}

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
    ri_ring_record_t *record;

    if (stress_in_parts(i)) {
        std::vector<uint8_t> payload(length);

        stress_payload(tx, i, payload.data(), length);
        return ri_ring_tx_put_parts(tx, i, i * 0x123456789, payload.data(), length);
    }

    record = ri_ring_tx_reserve(tx, length);
    if (record == nullptr) {
        return false;
    }
    stress_payload(tx, i, ri_ring_payload(record, length), length);
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
TEST_F(test_ring, stress_threads)
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

TEST_F(test_ring, stress_processes)
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
