/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker that receives: the test plays the sender, and writes the messages itself.
 */
#ifndef RI_TEST_DELIVER_TEST_H
#define RI_TEST_DELIVER_TEST_H

#include "unit/common/node_test.h"

#include <numeric>

namespace {

class deliver_test : public node_test {
protected:
    static constexpr uint32_t CONN_ID = 77; /* of the sender's conn */

    ri_stream_t *stream() { return stream_of(REMOTE, CONN_ID); }

    wire_msg message(ri_wire_type_t type, uint32_t sn, uint64_t tag, uint32_t req_id = 0)
    {
        wire_msg msg(type, stream()->id, sn);

        msg.tag    = tag;
        msg.req_id = req_id;
        return msg;
    }

    ucs_status_t eager(uint32_t sn, uint64_t tag, size_t length = 8,
                       arrival_t arrival = PLAIN)
    {
        return m_node->deliver(message(RI_WIRE_EAGER, sn, tag), pattern(sn, length),
                               arrival);
    }

    ucs_status_t bye(uint32_t last_sn)
    {
        return m_node->deliver(wire_msg(RI_WIRE_BYE, stream()->id, last_sn));
    }

    /* A receive that takes message @a sn. */
    void check_received(const recv_ptr &op, uint32_t sn, uint64_t tag, size_t length)
    {
        ASSERT_TRUE(op->done) << "sn " << sn;
        EXPECT_EQ(UCS_OK, op->status);
        EXPECT_EQ(tag, op->info.sender_tag);
        EXPECT_EQ(length, op->info.length);
        bytes expected = pattern(sn, length);
        EXPECT_EQ(expected, bytes(op->buffer.begin(), op->buffer.begin() + length));
    }

    size_t num_streams() { return ucs_list_length(&worker()->streams); }
};

} // namespace

#endif
