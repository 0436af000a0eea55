/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/shm/ring.c: how a ring is made, opened and closed, and what is refused. The tests run
 * src/uct/shm/shared_file.c, too.
 */

#include "ring_test.h"
#include "unit/fakes/fake_malloc.h"

#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace {

class test_ring_open : public ring_test {};

TEST_F(test_ring_open, create_and_open)
{
    open_both(65536);
    EXPECT_EQ(1024u, lines());
    EXPECT_EQ(65536u / 4, m_tx.max_payload);
    EXPECT_GE(m_rx.fd, 0);
    EXPECT_EQ(FD_CLOEXEC, fcntl(m_rx.fd, F_GETFD));
    EXPECT_EQ(nullptr, ri_ring_rx_peek(&m_rx));
}

TEST_F(test_ring_open, mapped_closes_the_descriptor_once)
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

TEST_F(test_ring_open, closed_before_it_is_mapped)
{
    ri_ring_rx_t rx;

    ASSERT_EQ(UCS_OK, ri_ring_create(&rx, 4096, COOKIE));
    int fd = rx.fd;
    ri_ring_rx_close(&rx);
    EXPECT_EQ(-1, fcntl(fd, F_GETFD));
}

/* errno is that of the call that failed, whichever it was. */
TEST_F(test_ring_open, create_without_descriptors)
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

/* Kernels give up if a signal is pending, and give back what they have got for the call. */
TEST_F(test_ring_open, create_while_signals_come)
{
    size_t page = sysconf(_SC_PAGESIZE);

    for (size_t most : {size_t(0), page}) { /* that is got between two signals */
        fake::fallocate_interrupts = (most == 0) ? 20 : -1;
        fake::fallocate_short      = most;
        errno                      = 0;
        EXPECT_EQ(UCS_OK, ri_ring_create(&m_rx, 65536, COOKIE)) << most;
        fake::fallocate_interrupts = 0;
        fake::fallocate_short      = 0;
        struct stat file           = {};
        ASSERT_EQ(0, fstat(m_rx.fd, &file));
        EXPECT_LE(65536 / 512, file.st_blocks) << "all of it is there";
        ri_ring_rx_close(&m_rx);
    }
}

/* It does not hang if there is nothing else. */
TEST_F(test_ring_open, create_is_always_interrupted)
{
    fake::fallocate_interrupts = -1;
    errno                      = 0;
    ucs_status_t status        = ri_ring_create(&m_rx, 65536, COOKIE);
    int error                  = errno;
    fake::fallocate_interrupts = 0;
    EXPECT_EQ(UCS_ERR_IO_ERROR, status);
    EXPECT_EQ(EINTR, error);
}

volatile sig_atomic_t exceeded;

/* The signal of a file that is too long would end the process: it must not come. */
TEST_F(test_ring_open, create_with_a_limit_to_files)
{
    struct rlimit before, small;
    void (*handler)(int) = signal(SIGXFSZ, [](int) { exceeded = 1; });

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
    EXPECT_EQ(0, exceeded);
    EXPECT_NE(nullptr, strstr(ri_ring_remedy(error), "ulimit -f"));
}

TEST_F(test_ring_open, remedies)
{
    for (int error : {EPERM, ENOSYS}) {
        EXPECT_NE(nullptr, strstr(ri_ring_remedy(error), "seccomp"));
    }
    for (int error : {ENOMEM, ENOSPC}) {
        EXPECT_NE(nullptr, strstr(ri_ring_remedy(error), "UCXRI_RING_SIZE"));
    }
}

TEST_F(test_ring_open, open_refuses_wrong_size)
{
    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    for (size_t size : {0ul, 1ul, 64ul, 2048ul, 4096ul, 8191ul, 8193ul, 12288ul, 16384ul,
                        1ul << 30, 1ul << 31, 1ul << 32, (1ul << 32) + 8192, ~0ul}) {
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_ring_open(&m_tx, getpid(), m_rx.fd, size, COOKIE))
                << size;
    }
}

TEST_F(test_ring_open, open_refuses_wrong_cookie)
{
    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    for (uint64_t cookie : {0ul, ~0ul, COOKIE + 1, COOKIE ^ (1ul << 63)}) {
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_ring_open(&m_tx, getpid(), m_rx.fd, 8192, cookie));
    }
}

TEST_F(test_ring_open, open_refuses_wrong_first_page)
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

TEST_F(test_ring_open, open_refuses_wrong_descriptor)
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
TEST_F(test_ring_open, size_cannot_change)
{
    open_both(8192);
    for (off_t size : {0, 4096, RI_RING_CONTROL_SIZE + 8192 - 1, 1 << 20}) {
        EXPECT_EQ(-1, ftruncate(m_rx.fd, size)) << size;
    }
    EXPECT_EQ(-1, fcntl(m_rx.fd, F_ADD_SEALS, F_SEAL_WRITE));
    EXPECT_TRUE(send({1, 2, 3, 4, {5}}));
    EXPECT_TRUE(receive());
}

TEST_F(test_ring_open, open_refuses_a_size_that_could_change)
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
TEST_F(test_ring_open, open_does_not_open_a_terminal)
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

TEST_F(test_ring_open, open_keeps_no_descriptor)
{
    ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, 8192, COOKIE));
    int before = dup(0);
    close(before);
    ASSERT_EQ(UCS_OK, ri_ring_open(&m_tx, getpid(), m_rx.fd, 8192, COOKIE));
    int after = dup(0);
    close(after);
    EXPECT_EQ(before, after);
}

TEST_F(test_ring_open, tx_close_leaves_records_readable)
{
    open_both(4096);
    ASSERT_TRUE(send({1, 2, 3, 4, {5, 6}}));
    ASSERT_TRUE(send({7, 8, 9, 10, std::vector<uint8_t>(500, 11)}));
    ri_ring_tx_close(&m_tx);
    EXPECT_TRUE(receive());
    EXPECT_TRUE(receive());
}

TEST_F(test_ring_open, rx_close_leaves_the_sender_alone)
{
    open_both(4096);
    ri_ring_rx_close(&m_rx);
    unsigned sent = 0;
    while (send({1, 2, 3, 4, {}})) {
        ++sent;
    }
    EXPECT_EQ(lines() - 1, sent);
}

/* No message of the first lap waits for a page. */
TEST_F(test_ring_open, all_pages_are_mapped)
{
    const size_t size = RI_RING_FIRST * RI_RING_LINE, page = sysconf(_SC_PAGESIZE);
    struct rusage before, after;

    open_both(size);
    ASSERT_EQ(0, getrusage(RUSAGE_SELF, &before));
    for (size_t at = 0; at < size; at += page) {
        *((volatile uint8_t *)m_tx.lines + at) = 1;
        *((volatile uint8_t *)m_rx.lines + at) = 0;
    }
    ASSERT_EQ(0, getrusage(RUSAGE_SELF, &after));
    /* A sanitizer has pages of its own for them. */
    EXPECT_LT(after.ru_minflt - before.ru_minflt, (long)(size / page / 2));
}

} // namespace
