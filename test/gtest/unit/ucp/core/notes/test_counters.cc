/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/notes/counters.c */

#include "unit/fakes/fake_ucx.h"

#include <set>

using namespace fake;

namespace {

class test_counters : public ri_test {
protected:
    static std::string dump(ri_worker_t *worker)
    {
        char *text  = nullptr;
        size_t size = 0;
        FILE *file  = open_memstream(&text, &size);

        ri_worker_counters_dump(worker, file);
        fclose(file);
        std::string out(text, size);
        free(text);
        return out;
    }
};

TEST_F(test_counters, add_adds_each)
{
    ri_conn_counters_t conn, conn_sum;
    ri_stream_counters_t stream, stream_sum;
    uint64_t *fields = reinterpret_cast<uint64_t *>(&conn);

    for (size_t i = 0; i < sizeof(conn) / 8; ++i) {
        fields[i] = i + 1;
    }
    conn_sum = conn;
    ri_counters_conn_add(&conn_sum, &conn);
    for (size_t i = 0; i < sizeof(conn) / 8; ++i) {
        EXPECT_EQ(2 * (i + 1), reinterpret_cast<uint64_t *>(&conn_sum)[i]);
    }
    fields = reinterpret_cast<uint64_t *>(&stream);
    for (size_t i = 0; i < sizeof(stream) / 8; ++i) {
        fields[i] = i + 1;
    }
    stream_sum = stream;
    ri_counters_stream_add(&stream_sum, &stream);
    for (size_t i = 0; i < sizeof(stream) / 8; ++i) {
        EXPECT_EQ(2 * (i + 1), reinterpret_cast<uint64_t *>(&stream_sum)[i]);
    }
}

TEST_F(test_counters, foreach_calls_each_once)
{
    ri_worker_counters_t counters;
    std::map<std::string, uint64_t> seen;
    uint64_t *fields = reinterpret_cast<uint64_t *>(&counters);
    std::set<uint64_t> values;

    for (size_t i = 0; i < sizeof(counters) / 8; ++i) {
        fields[i] = i + 1;
    }
    ri_counters_foreach(
            &counters,
            [](const char *name, const char *unit, const char *doc, uint64_t value,
               void *arg) {
                auto *map = static_cast<std::map<std::string, uint64_t> *>(arg);
                EXPECT_TRUE(map->emplace(name, value).second) << name;
                EXPECT_NE('\0', *unit);
                EXPECT_NE('\0', *doc);
            },
            &seen);
    EXPECT_EQ(sizeof(counters) / 8, seen.size());
    for (auto &entry : seen) {
        EXPECT_TRUE(values.insert(entry.second).second) << entry.first;
    }
}

/* What a plane's registration cache counts is the worker's */
TEST_F(test_counters, of_a_plane)
{
    node a(0x1111);
    ri_plane_ops_t ops = {};
    ri_plane_t plane   = {};
    ri_worker_counters_t counters;

    plane.ops          = &ops;
    a.worker()->net.rc = &plane;
    ri_worker_counters_snapshot(a.worker(), &counters);
    EXPECT_EQ(0u, counters.reg_hits) << "a plane without one";

    ops.counters = [](ri_plane_t *, ri_plane_counters_t *reg) {
        *reg          = {};
        reg->reg_hits = 5;
    };
    ri_worker_counters_snapshot(a.worker(), &counters);
    EXPECT_EQ(5u, counters.reg_hits);
    EXPECT_EQ(0u, counters.reg_misses);
    EXPECT_EQ(0u, a.worker()->counters.reg_hits);
    a.worker()->net.rc = nullptr;
}

/* Closing something does not make the totals go down */
TEST_F(test_counters, totals_outlive_conns_and_streams)
{
    node n(0x1111);
    endpoint *ep    = n.new_endpoint(nullptr);
    ri_conn_t *conn = n.connect(ep, 0x2222);

    n.send(conn, bytes(10), 1);
    n.deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(0x2222, 1), bytes(20));
    n.recv(0, 0, 20);
    for (bool gone : {false, true}) {
        ri_worker_counters_t c = n.counters();

        EXPECT_EQ(1u, c.conns.tx_eager_am);
        EXPECT_EQ(10u, c.conns.tx_eager_am_bytes);
        EXPECT_EQ(10u, c.conns.tx_bytes);
        EXPECT_EQ(1u, c.streams.rx_unexpected);
        EXPECT_EQ(20u, c.streams.rx_bytes);
        EXPECT_EQ(20u, c.held_bytes_max);
        EXPECT_EQ(0u, c.held_bytes);
        if (!gone) {
            ri_conn_destroy(conn, UCS_ERR_CANCELED);
            ri_stream_destroy(ri_stream_find(n.worker(), 0x2222, 1));
        }
    }
}

/* The bytes of each protocol are counted with its messages, those through rings by what is
 * left of the sum */
TEST_F(test_counters, bytes_by_protocol)
{
    node n(0x1111);
    ri_conn_t *conn = n.connect(n.new_endpoint(nullptr), 0x2222);
    ri_conn_t *self = n.connect(n.new_endpoint(nullptr), 0x1111);

    m_ucx->rndv_thresh = 1000000; /* nobody would fetch it */
    for (size_t length : {0, 8, 500, 5000, 50000, 500000}) {
        n.send(conn, bytes(length), 1);
    }
    n.send(self, bytes(70), 1);
    ri_worker_counters_t c = n.counters();
    EXPECT_EQ(4u, c.conns.tx_eager_am);
    EXPECT_EQ(5508u, c.conns.tx_eager_am_bytes);
    EXPECT_EQ(2u, c.conns.tx_bulk);
    EXPECT_EQ(550000u, c.conns.tx_bulk_bytes);
    EXPECT_EQ(70u, c.conns.tx_self_bytes);
    EXPECT_EQ(5508u + 550000 + 70, c.conns.tx_bytes);
    n.recv(0, 0, 70);
}

TEST_F(test_counters, long_messages)
{
    node n(0x1111);
    uint32_t sn = 0;

    for (size_t length : {8, 8192, 8193, 50000}) {
        n.deliver(wire_msg(RI_WIRE_BULK, 0, ++sn).hello(0x2222, 1), bytes(length));
    }
    n.deliver(wire_msg(RI_WIRE_BULK, 0, sn + 2).hello(0x2222, 1),
              bytes(8193)); /* early */
    EXPECT_EQ(3u, n.counters().streams.rx_long);
    for (int i = 0; i < 4; ++i) {
        n.recv(0, 0, 50000);
    }
}

TEST_F(test_counters, failed_sends_do_not_count)
{
    node n(0x1111);
    ri_conn_t *conn = n.connect(n.new_endpoint(nullptr), 0x2222);

    m_ucx->send_mode = FAILS;
    for (size_t length : {8, 500, 5000, 50000}) {
        for (bool sync : {false, true}) {
            EXPECT_EQ(UCS_ERR_NO_RESOURCE, n.send(conn, bytes(length), 1, sync)->status);
        }
    }
    ri_worker_counters_t c = n.counters();
    EXPECT_EQ(0u, c.conns.tx_eager_am + c.conns.tx_bulk + c.conns.tx_eager_ring);
    EXPECT_EQ(0u, c.conns.tx_sync);
    EXPECT_EQ(0u, c.conns.tx_bytes);
    EXPECT_EQ(0u, c.conns.tx_eager_am_bytes + c.conns.tx_bulk_bytes);
    EXPECT_EQ(0u, conn->tx_sn);
}

/* What a stream holds, and what of it breaks the protocol, is counted there and in the
 * worker's sums */
TEST_F(test_counters, held_and_malformed_of_streams)
{
    node n(0x1111);

    for (uint32_t id : {1, 2}) {
        n.deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(0x2222, id), bytes(20));
        n.deliver(wire_msg(RI_WIRE_EAGER, 0, 3).hello(0x2222, id), bytes(id)); /* early */
    }
    ri_stream_t *first  = ri_stream_find(n.worker(), 0x2222, 1);
    ri_stream_t *second = ri_stream_find(n.worker(), 0x2222, 2);
    EXPECT_EQ(21u, first->counters.stream_held_bytes);
    EXPECT_EQ(22u, second->counters.stream_held_bytes);
    EXPECT_EQ(43u, n.counters().held_bytes);
    EXPECT_EQ(43u, n.counters().streams.stream_held_bytes);

    /* Matched already, there already */
    n.deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(0x2222, 2), bytes(20));
    n.deliver(wire_msg(RI_WIRE_EAGER, 0, 3).hello(0x2222, 2), bytes(20));
    EXPECT_EQ(0u, first->counters.stream_malformed);
    EXPECT_EQ(2u, second->counters.stream_malformed);
    n.deliver(bytes(1), bytes()); /* nobody's */
    EXPECT_EQ(3u, n.counters().rx_malformed);
    EXPECT_EQ(2u, n.counters().streams.stream_malformed);
    EXPECT_EQ(43u, n.counters().held_bytes);

    n.recv(0, 0, 20);
    EXPECT_EQ(1u, first->counters.stream_held_bytes);
    ri_stream_break(second, "the test");
    EXPECT_EQ(20u, second->counters.stream_held_bytes);
    n.recv(0, 0, 20);
    EXPECT_EQ(0u, second->counters.stream_held_bytes);
    ri_stream_destroy(first);
    EXPECT_EQ(0u, n.counters().held_bytes);
    EXPECT_EQ(0u, n.counters().streams.stream_held_bytes);
}

TEST_F(test_counters, dump)
{
    node n(0x1111);
    ri_conn_t *conn = n.connect(n.new_endpoint(nullptr), 0x2222);

    n.send(conn, bytes(10), 1);
    n.connect(n.new_endpoint(nullptr), 0x1111);
    n.connect(n.new_endpoint(nullptr), 0, RI_CONN_USER | RI_CONN_BY_SOCKADDR);
    n.deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(0x2222, 1), bytes(20));
    unsetenv("PMI_RANK");
    std::string text = dump(n.worker());
    EXPECT_NE(std::string::npos, text.find("ucxri: worker 0x1111, process ")) << text;
    EXPECT_NE(std::string::npos, text.find("to worker 0x2222: tx_eager_am=1 "
                                           "tx_eager_am_bytes=10 tx_bytes=10"))
            << text;
    /* Who was sent nothing is left out */
    EXPECT_EQ(std::string::npos, text.find("to itself")) << text;
    EXPECT_EQ(std::string::npos, text.find("to a peer that is not known yet")) << text;
    EXPECT_NE(std::string::npos, text.find("from worker 0x2222: rx_unexpected=1"))
            << text;

    /* Counters that are 0 are left out */
    EXPECT_NE(std::string::npos, text.find("  tx_eager_am  ")) << text;
    EXPECT_EQ(std::string::npos, text.find("  tx_eager_ring  ")) << text;

    /* Ranks in place of numbers, where they are known */
    setenv("PMI_RANK", "3", 1);
    conn->peer->rank = ri_wire_address_rank(7);
    text             = dump(n.worker());
    unsetenv("PMI_RANK");
    EXPECT_NE(std::string::npos, text.find("ucxri: worker of rank 3, process ")) << text;
    EXPECT_NE(std::string::npos, text.find("to rank 7: tx_eager_am=1")) << text;
    EXPECT_NE(std::string::npos, text.find("from rank 7: rx_unexpected=1")) << text;
    EXPECT_NE(std::string::npos, text.find("\n  tx_eager_am  ")) << text;
    n.recv(0, 0, 20);
}

/* Lines fit a terminal. */
TEST_F(test_counters, dump_of_large_numbers)
{
    node n(0x1111);
    ri_conn_t *conn = n.connect(n.new_endpoint(nullptr), 0x2222);
    uint64_t *all   = reinterpret_cast<uint64_t *>(&conn->counters);
    std::string text, line;

    for (size_t i = 0; i < sizeof(conn->counters) / sizeof(*all); ++i) {
        all[i] = 123456789012;
    }
    setenv("PMI_RANK", "12", 1);
    text = dump(n.worker());
    unsetenv("PMI_RANK");
    memset(&conn->counters, 0, sizeof(conn->counters));
    EXPECT_NE(std::string::npos, text.find("tx_coop_bytes      123456789012 = 115.0G  "))
            << text;
    for (char c : text) {
        if (c != '\n') {
            line += c;
            continue;
        }
        EXPECT_GE(100u, line.size()) << line;
        EXPECT_TRUE((line.substr(0, 6) == "ucxri:") || (line.substr(0, 2) == "  "))
                << line;
        line = "";
    }
}

} // namespace
