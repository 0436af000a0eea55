/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* How many long writes a way says it is behind. (src/uct/ib/rc/rc_queue.c) */

#include "rc_test.h"

#if HAVE_VERBS

namespace {

class test_rc_long_writes : public rc_transfer_test {
protected:
    static constexpr size_t LONG = 4096;

    void begin()
    {
        hca.automatic = false;
        start();
        allocate(2 * LONG);
    }

    ucs_status_t move(rc_op &op, bool write, size_t length)
    {
        return rc_transfer_test::move(op, write, 0, length);
    }
};

TEST_F(test_rc_long_writes, until_they_end)
{
    begin();
    rc_op one, two, small, read;
    EXPECT_EQ(UCS_INPROGRESS, move(small, true, LONG - 1));
    EXPECT_EQ(UCS_INPROGRESS, move(read, false, 2 * LONG));
    EXPECT_EQ(0u, a.ep->long_writes);
    EXPECT_EQ(UCS_INPROGRESS, move(one, true, LONG));
    EXPECT_EQ(UCS_INPROGRESS, move(two, true, 2 * LONG));
    EXPECT_EQ(2u, a.ep->long_writes);
    hca.run(3);
    a.progress_all();
    EXPECT_EQ(1u, a.ep->long_writes);
    hca.run();
    a.progress_all();
    EXPECT_EQ(0u, a.ep->long_writes);
    EXPECT_EQ(UCS_OK, two.status);
}

TEST_F(test_rc_long_writes, that_are_not_posted)
{
    begin();
    rc_op one, two;
    EXPECT_EQ(UCS_INPROGRESS, move(one, true, LONG));
    hca.fail_post = hca.posted + 1;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, move(two, true, LONG));
    EXPECT_EQ(0u, a.ep->long_writes);
    a.progress_all();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, one.status);
}

TEST_F(test_rc_long_writes, whose_queue_pair_fails)
{
    begin();
    rc_op one, two;
    EXPECT_EQ(UCS_INPROGRESS, move(one, true, LONG));
    EXPECT_EQ(UCS_INPROGRESS, move(two, true, LONG));
    hca.poll_error = -1;
    printed(RI_LOG_LEVEL_WARN, [this]() { a.progress(); });
    EXPECT_EQ(0u, a.ep->long_writes);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, two.status);
}

} // namespace

#endif
