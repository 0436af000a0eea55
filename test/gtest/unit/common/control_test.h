/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A ring and control messages of the peer: for tests of control messages.
 */
#ifndef RI_TEST_CONTROL_TEST_H
#define RI_TEST_CONTROL_TEST_H

#include "node_test.h"

#include <unistd.h>

namespace {

const uint64_t STRANGER      = 0x3333;
const uint32_t REMOTE_CONN   = 0x70; /* ids at the peer */
const uint32_t REMOTE_STREAM = 0x80;
const size_t RING_SIZE       = 4096;
const uint64_t COOKIE        = 0xabcdef;

class control_test : public node_test {
protected:
    void TearDown() override
    {
        m_node.reset();
        if (m_rx.control != nullptr) {
            ri_ring_rx_close(&m_rx);
        }
        node_test::TearDown();
    }

    ucs_status_t control(ri_wire_type_t type, uint32_t id, uint32_t value)
    {
        return m_node->deliver(wire_msg(type, id, value));
    }

    void conn_ack(ri_conn_t *conn, uint32_t stream_id, uint64_t uid = REMOTE)
    {
        wire_msg msg(RI_WIRE_CONN_ACK, conn->id, stream_id);

        msg.uid = uid;
        m_node->deliver(msg);
    }

    wire_msg offer(ri_conn_t *conn)
    {
        wire_msg msg(RI_WIRE_RING_OFFER, conn->id, RING_SIZE);

        if (m_rx.control == nullptr) {
            EXPECT_EQ(UCS_OK, ri_ring_create(&m_rx, RING_SIZE, COOKIE));
        }
        msg.pid       = getpid();
        msg.fd        = m_rx.fd;
        msg.stream_id = REMOTE_STREAM;
        msg.cookie    = COOKIE;
        msg.uid       = REMOTE;
        return msg;
    }

    /* The peer opens the ring that the worker has offered. */
    void open_offered(ri_ring_tx_t *tx)
    {
        ri_wire_msg_t msg = m_ep->take(RI_WIRE_RING_OFFER).parse();

        ASSERT_EQ(UCS_OK, ri_ring_open(tx, msg.ring_pid, msg.ring_fd, msg.value,
                                       msg.ring_cookie));
    }

    /* Messages with hello from the same host: what makes the worker offer a ring. */
    ri_stream_t *stream_with_ring()
    {
        ri_wire_hello_t hello = {};

        for (uint32_t sn = 1; sn <= ri_config.ring_after; ++sn) {
            wire_msg msg(RI_WIRE_EAGER, 0, sn);

            msg.hello(REMOTE, REMOTE_CONN, worker()->self.host);
            hello = msg.greeting;
            m_node->deliver(msg, bytes(8));
        }
        return ri_stream_get(worker(), &hello);
    }

    /* Take the next record of the peer's ring, padding left out. @return Its type or 0 */
    unsigned next_record(std::vector<uint8_t> *payload = nullptr)
    {
        for (;;) {
            const ri_ring_record_t *record = ri_ring_rx_peek(&m_rx);

            if (record == nullptr) {
                return 0;
            }
            unsigned type   = record->type;
            uint32_t length = record->length;
            if (payload != nullptr) {
                const uint8_t *at = ri_ring_payload(record, length);
                payload->assign(at, at + length);
            }
            ri_ring_rx_advance(&m_rx, ri_ring_rx_lines(&m_rx, type, length));
            if (type != RI_RING_PAD) {
                return type;
            }
        }
    }

    send_ptr fill_ring()
    {
        send_ptr op;

        do {
            op = m_node->send(m_conn, pattern(1, 8), 1);
        } while (op->done);
        return op;
    }

    ri_ring_rx_t m_rx = {};
};

} // namespace

#endif
