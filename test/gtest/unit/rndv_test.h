/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sends and receives of memory of all shapes,
 * and hostile messages: for tests of rendezvous protocols.
 */
#ifndef RI_TEST_RNDV_TEST_H
#define RI_TEST_RNDV_TEST_H

#include "pair_test.h"

namespace {

const size_t LONG = 100000; /* two stages of a generic receive */

/* A generic type whose "buffer" is this. */
struct generic_buffer {
    bytes content;
    size_t fails_at   = ~0ul; /* unpack of this offset or above */
    unsigned finished = 0;
    std::function<void()> on_unpack;
};

const ucp_datatype_t GENERIC = 0x30000 | UCP_DATATYPE_GENERIC;

void register_generic()
{
    const ucp_generic_dt_ops_t ops = {
            [](void *, const void *buffer, size_t) { return const_cast<void *>(buffer); },
            [](void *, void *buffer, size_t) { return buffer; },
            [](void *state) {
                return static_cast<generic_buffer *>(state)->content.size();
            },
            [](void *state, size_t offset, void *dest, size_t max) {
                generic_buffer *b = static_cast<generic_buffer *>(state);
                size_t length     = std::min(max, b->content.size() - offset);
                memcpy(dest, &b->content[offset], length);
                return length;
            },
            [](void *state, size_t offset, const void *src, size_t length) {
                generic_buffer *b = static_cast<generic_buffer *>(state);
                EXPECT_LE(offset + length, b->content.size());
                memcpy(&b->content[offset], src, length);
                if (b->on_unpack) {
                    b->on_unpack();
                }
                return (offset >= b->fails_at) ? UCS_ERR_IO_ERROR : UCS_OK;
            },
            [](void *state) { ++static_cast<generic_buffer *>(state)->finished; }};

    EXPECT_EQ(UCS_OK, ri_dt_register(GENERIC, &ops, nullptr));
}

/* How the memory of a side is described. */
enum shape_t {
    CONTIG,
    IOV_1,
    IOV_16,
    IOV_EMPTY, /* 16 pieces and empty entries between them */
    IOV_17,
    PACKED /* generic */
};

class memory {
public:
    memory(shape_t shape, size_t length, const bytes &content = bytes()) : m_shape(shape)
    {
        size_t pieces = (shape == IOV_16)    ? 16 :
                        (shape == IOV_EMPTY) ? 16 :
                        (shape == IOV_17)    ? 17 :
                                               1;

        m_generic.content = bytes(length);
        for (size_t i = 0; i < pieces; ++i) {
            size_t piece = length / pieces + (i < length % pieces);

            m_pieces.push_back(bytes(piece));
        }
        for (bytes &piece : m_pieces) {
            if (shape == IOV_EMPTY) {
                m_iov.push_back({nullptr, 0});
            }
            m_iov.push_back({piece.data(), piece.size()});
        }
        if (!content.empty()) {
            write(content);
        }
    }

    void write(const bytes &content)
    {
        auto at = content.begin();

        m_generic.content = content;
        for (bytes &piece : m_pieces) {
            std::copy(at, at + piece.size(), piece.begin());
            at += piece.size();
        }
    }

    bytes read() const
    {
        bytes all;

        if (m_shape == PACKED) {
            return m_generic.content;
        }
        for (const bytes &piece : m_pieces) {
            all.insert(all.end(), piece.begin(), piece.end());
        }
        return all;
    }

    void *buffer()
    {
        return (m_shape == CONTIG) ? (void *)m_pieces[0].data() :
               (m_shape == PACKED) ? (void *)&m_generic :
                                     m_iov.data();
    }

    size_t count() const
    {
        return (m_shape == CONTIG) ? m_pieces[0].size() :
               (m_shape == PACKED) ? 1 :
                                     m_iov.size();
    }

    ucp_datatype_t datatype() const
    {
        return (m_shape == CONTIG) ? ucp_dt_make_contig(1) :
               (m_shape == PACKED) ? GENERIC :
                                     ucp_dt_make_iov();
    }

    generic_buffer &generic() { return m_generic; }

private:
    shape_t m_shape;
    std::vector<bytes> m_pieces;
    std::vector<ucp_dt_iov_t> m_iov;
    generic_buffer m_generic;
};

/* A send of a test. */
struct rndv_send {
    bool done           = false;
    ucs_status_t status = UCS_INPROGRESS;
    void *handle        = nullptr;

    ~rndv_send()
    {
        EXPECT_TRUE(done);
        if (handle != nullptr) {
            ri_req_put(ri_req_of_handle(handle));
        }
    }

    ri_send_req_t *req()
    {
        return reinterpret_cast<ri_send_req_t *>(ri_req_of_handle(handle));
    }

    static void ended(void *, ucs_status_t status, void *user_data)
    {
        rndv_send *self = static_cast<rndv_send *>(user_data);

        EXPECT_FALSE(self->done);
        self->done   = true;
        self->status = status;
    }
};

typedef std::unique_ptr<rndv_send> rndv_ptr;

class rndv_test : public pair_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        register_generic();
        ri_config.ring_peers = 0; /* but with_rings() */
        start();
    }

    void start() { meet(m_writes ? RI_PLANE_WRITE : 0, m_has_planes); }

    void TearDown() override
    {
        stop();
        ri_dt_unregister(GENERIC);
        ri_test::TearDown();
    }

    void with_rings()
    {
        stop();
        ri_config.ring_peers = 4;
        start();
    }

    /* Hand everything over that was sent, and what follows from it. */
    void pump()
    {
        for (bool any = true; any;) {
            any = deliver();
            progress_both(10);
            any |= m_ucx->complete() || is_any_sent() ||
                   !ucs_list_is_empty(&m_a->worker()->pending_conns);
        }
    }

    rndv_ptr send(memory &from, uint64_t tag, bool sync = false, uint32_t flags = 0)
    {
        rndv_ptr op               = std::make_unique<rndv_send>();
        ucp_request_param_t param = {};
        ucs_status_ptr_t ret;

        param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                             UCP_OP_ATTR_FIELD_DATATYPE | flags;
        param.cb.send   = rndv_send::ended;
        param.user_data = op.get();
        param.datatype  = from.datatype();
        ret = ri_tag_send(m_conn, from.buffer(), from.count(), tag, &param, sync);
        if (UCS_PTR_IS_PTR(ret)) {
            op->handle = ret;
        } else {
            op->done   = true;
            op->status = UCS_PTR_STATUS(ret);
        }
        return op;
    }

    recv_ptr recv(memory &to, uint64_t tag)
    {
        ucp_request_param_t extra = {};

        extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
        extra.datatype     = to.datatype();
        return m_b->recv_into(to.buffer(), to.count(), tag, extra);
    }

    /* One long message by UCP makes the sender ask. */
    void connect_planes()
    {
        memory from(CONTIG, LONG), to(CONTIG, LONG);

        if (ri_config.ring_peers > 0) {
            talk(m_conn, 1, [this] { pump(); });
        }
        recv_ptr r = recv(to, 1);
        rndv_ptr s = send(from, 1);
        pump();
        ASSERT_TRUE(r->done && s->done);
        ASSERT_TRUE(m_conn->flags & RI_CONN_PLANE_READ);
        ASSERT_EQ(m_writes, !!(m_conn->flags & RI_CONN_PLANE_WRITE));
        ASSERT_EQ(ri_config.ring_peers > 0, m_conn->ring != nullptr);
        ASSERT_EQ(0u, m_b_plane->reads);
    }

    uint64_t stale(node &n) { return n.counters().rx_stale; }

    ri_stream_t *stream()
    {
        return ucs_list_head(&m_b->worker()->streams, ri_stream_t, list);
    }

    void check(const recv_ptr &r, const memory &to, const bytes &expected, uint64_t tag)
    {
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_EQ(tag, r->info.sender_tag);
        EXPECT_EQ(expected.size(), r->info.length);
        bytes got = to.read();
        got.resize(expected.size());
        EXPECT_TRUE(expected == got);
    }

    /* A control message to the sender's conn */
    void to_sender(ri_wire_type_t type, uint32_t value, uint32_t recv_id = 0,
                   uint64_t address = 0)
    {
        wire_msg msg(type, m_conn->id, value);

        msg.recv_id = recv_id;
        msg.cookie  = address;
        m_a->deliver(msg);
    }

    /* An RTS that the sender did not send */
    void rts(uint32_t sn, uint64_t tag, const std::vector<ri_segment_t> &segments,
             uint32_t req_id = 0x7777)
    {
        wire_msg msg(RI_WIRE_RTS, stream()->id, sn);

        msg.tag    = tag;
        msg.req_id = req_id;
        m_b->deliver(msg, rts_payload(segments));
    }

    void rndv_data(uint32_t recv_id, const bytes &data, arrival_t arrival = PLAIN,
                   ri_stream_t *to = nullptr)
    {
        m_b->deliver(wire_msg(RI_WIRE_RNDV_DATA, (to ? to : stream())->id, recv_id), data,
                     arrival);
    }

    bool m_has_planes = true;
    bool m_writes     = false; /* the planes can */
};

} // namespace

#endif
