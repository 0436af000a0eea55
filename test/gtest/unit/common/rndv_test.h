/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sends and receives of memory of all shapes, and hostile messages: for tests of rendezvous
 * protocols.
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

/* How the copies of a message end. */
struct outcome {
    const char *name;
    ucs_status_t status;
    size_t move_before;       /* bytes that a copy which fails has moved */
    unsigned good_copies = 0; /* that come before */
};

/* One message of a test of all shapes. */
struct shape_case {
    bool rings;
    shape_t out, in;
    bool expected; /* the receive is posted first */
    outcome ends;
    uint64_t number; /* from 1 */
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

/* What a random test sends, and what happens to it meanwhile. */
struct random_traffic {
    size_t count   = 60;
    unsigned sends = 1;  /* weight of a send; that of all else is 1 */
    unsigned sync  = 20; /* percent */
    unsigned steps = 1;  /* of progress at once, at most */
    std::vector<shape_t> out, in;
    std::function<size_t()> length;
    std::function<void()> disturb;
};

struct random_message {
    std::unique_ptr<memory> from, to;
    bytes content;
    rndv_ptr send;
    recv_ptr recv;
};

class rndv_test : public pair_test {
protected:
    /* All have arrived, and all sends are complete. */
    void check_messages(const std::vector<random_message> &messages)
    {
        for (size_t i = 0; i < messages.size(); ++i) {
            SCOPED_TRACE("message " + std::to_string(i));
            check(messages[i].recv, *messages[i].to, messages[i].content, 5);
            ASSERT_TRUE(messages[i].send->done);
            EXPECT_EQ(UCS_OK, messages[i].send->status);
        }
    }

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
        m_b_plane->reads = m_a_plane->writes = 0; /* with a ring they are there before */
    }

    /* After a failure: as if it had been asked again, and be it that it is */
    void ask_for_plane_again()
    {
        m_conn->flags |= RI_CONN_PLANE_READ;
        if (stream()->peer->local.ep == nullptr) {
            m_conn->flags &= ~RI_CONN_PLANE_ASKED;
            ri_planes_ask(m_conn);
            pump();
        }
    }

    /* A test of each shape of either side, with each outcome, in rings and without. */
    void for_shapes(
            const std::vector<shape_t> &out, const std::vector<shape_t> &in,
            const std::vector<outcome> &outcomes,
            const std::function<void(const shape_case &)> &test,
            const std::function<void()> &end = [] {})
    {
        shape_case c = {};

        for (bool rings : {false, true}) {
            c.rings = rings;
            if (rings) {
                with_rings();
            }
            connect_planes();
            for (size_t i = 0; i < out.size() * in.size() * 2 * outcomes.size(); ++i) {
                size_t rest = i;

                c.ends     = outcomes[rest % outcomes.size()];
                c.expected = (rest /= outcomes.size()) % 2 == 0;
                c.in       = in[(rest /= 2) % in.size()];
                c.out      = out[rest / in.size()];
                ++c.number;
                SCOPED_TRACE(std::string(c.ends.name) + ", out " + std::to_string(c.out) +
                             " in " + std::to_string(c.in) +
                             (c.expected ? " expected" : " unexpected") +
                             (rings ? " ring" : ""));
                test(c);
                if (HasFailure()) {
                    return;
                }
            }
            end();
        }
    }

    /* Each message has a number, and goes one way. */
    void expect_numbers_add_up()
    {
        ri_conn_counters_t c = m_a->counters().conns;
        uint32_t sent        = m_conn->tx_sn + 1 - m_first;

        EXPECT_EQ(sent, c.tx_eager_ring + c.tx_eager_am + c.tx_hybrid + c.tx_recv_rndv +
                                c.tx_coop + c.tx_rndv + c.tx_put + c.tx_ud + c.tx_bulk);
        EXPECT_EQ(sent, m_b->counters().streams.rx_posted +
                                m_b->counters().streams.rx_unexpected);
    }

    /* Until nothing is left to be done */
    virtual void calm_down() { pump(); }

    /* Everything at once against a reference: messages of a tag arrive in their order. */
    void run_random(rng &random, const random_traffic &traffic)
    {
        std::vector<random_message> messages(traffic.count);
        size_t sent = 0, posted = 0;

        stop();
        ri_config.ring_peers = random.percent(50) ? 4 : 0;
        start();
        connect_planes();
        /* It sends no pieces, which would never overtake each other. */
        m_back->flags |= RI_CONN_AM_READY;
        for (random_message &m : messages) {
            size_t length = traffic.length();
            shape_t out   = traffic.out[random.below(traffic.out.size())];
            shape_t in    = traffic.in[random.below(traffic.in.size())];

            m.content = pattern(random.next(), length);
            m.from    = std::make_unique<memory>(out, length, m.content);
            m.to      = std::make_unique<memory>(in, length + random.below(2) * 100);
        }

        m_ucx->random    = &random;
        m_ucx->send_mode = m_ucx->fetch_mode = RANDOM;
        while ((sent < messages.size()) || (posted < messages.size())) {
            if (random.below(traffic.sends + 5) >= 5) {
                if (sent < messages.size()) {
                    random_message &m = messages[sent++];
                    m.send            = send(*m.from, 5, random.percent(traffic.sync));
                }
            } else if (random.below(5) == 0) {
                if (posted < messages.size()) {
                    random_message &m = messages[posted++];
                    m.recv            = recv(*m.to, 5);
                }
            } else {
                random_step(random, traffic);
            }
        }
        calm_down();
        m_ucx->send_mode = m_ucx->fetch_mode = AT_ONCE;
        m_ucx->random                        = nullptr;
        calm_down();

        for (size_t i = 0; i < messages.size(); ++i) {
            SCOPED_TRACE("message " + std::to_string(i));
            check(messages[i].recv, *messages[i].to, messages[i].content, 5);
            ASSERT_TRUE(messages[i].send->done);
            EXPECT_EQ(UCS_OK, messages[i].send->status);
        }
        EXPECT_EQ(0u, m_b->counters().held_bytes);
        EXPECT_TRUE(ucs_list_is_empty(&stream()->fetching));
    }

    /* Messages of any shape, with planes that refuse some of their copies. @a also disturbs them in
     * another way. */
    random_traffic refused_traffic(
            rng &random, std::function<void()> also = [] {})
    {
        random_traffic traffic;

        traffic.out = traffic.in = {CONTIG, IOV_1, IOV_16, IOV_EMPTY, IOV_17, PACKED};
        traffic.length           = [&random]() -> size_t {
            return random.percent(30) ? random.below(8192) : 8193 + random.below(200000);
        };
        traffic.disturb = [this, &random, also] {
            m_b_plane->read_status = random_status(random);
            m_b_plane->move_before = random.below(300000);
            if (random.percent(50)) { /* as if it had been asked again */
                m_conn->flags |= RI_CONN_PLANE_READ;
            }
            also();
        };
        return traffic;
    }

    /* How a copy ends */
    static ucs_status_t random_status(rng &random)
    {
        const ucs_status_t ends[] = {UCS_OK, UCS_OK, UCS_ERR_INVALID_ADDR,
                                     UCS_ERR_UNREACHABLE};

        return ends[random.below(4)];
    }

    /* Neither a send nor a receive */
    void random_step(rng &random, const random_traffic &traffic)
    {
        switch (random.below(4)) {
        case 0: /* arrives, perhaps too early */
            for (endpoint *ep : {m_ab, m_ba}) {
                if (!ep->sent.empty()) {
                    deliver(ep, random.below(std::min<size_t>(ep->sent.size(), 4)));
                }
            }
            break;
        case 1:
            progress_both(1 + random.below(traffic.steps));
            break;
        case 2:
            m_ucx->complete_nth(random.below(4));
            break;
        default:
            traffic.disturb();
            break;
        }
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
             uint32_t req_id = 0x7777, uint16_t flags = 0)
    {
        wire_msg msg(RI_WIRE_RTS, stream()->id, sn);

        msg.tag    = tag;
        msg.req_id = req_id;
        m_b->deliver(msg, rts_payload(segments, flags));
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
