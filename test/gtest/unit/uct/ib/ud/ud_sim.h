/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A network of datagrams for the state machines of the ud plane, with memory, a clock, and
 * faults. Transfers follow each other on the same queue pair, and what was sent for one may
 * arrive during the next ones. It fails the test when data lands where it must not.
 */
#ifndef RI_UD_SIM_H
#define RI_UD_SIM_H

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"
#include "common/ud_faults.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

extern "C" {
#include "uct/ib/ud/ud_rx.h"
#include "uct/ib/ud/ud_tx.h"
}

namespace ud_sim {

typedef std::vector<uint8_t> bytes;

/* How long the data of one piece takes, in ns: so late is what another one overtakes. */
const uint64_t PIECE_TIME = 10;

class sim;

/* A queue pair for receiving; it has a queue of memory, and is shared by transfers. */
struct queue_pair {
    struct receive {
        struct transfer *owner;
        uint32_t landing;
        uint8_t *memory;
    };
    std::deque<receive> posted;
    uint32_t sequence = 0;
    uint32_t qkey     = 1; /* changes with a reset */
    size_t capacity   = 0; /* of a receive */
};

template <typename machine_type> struct boxed {
    machine_type machine;
    struct transfer *owner;
};

/* Both sides of a transfer. */
struct transfer {
    transfer(sim &s, queue_pair &qp, rng &random, size_t length, size_t piece_size,
             uint32_t depth, bool indirect);

    void start();
    bool ended() const
    {
        return (rx.state != RI_UD_RX_ACTIVE) && (tx.status != UCS_INPROGRESS);
    }
    void check_received() const { ASSERT_EQ(from, to); }

    template <typename machine> static transfer *of(machine *m)
    {
        return reinterpret_cast<boxed<machine> *>(m)->owner;
    }

    static const ri_ud_rx_ops_t ops;

    boxed<ri_ud_rx_t> rx_box = {};
    boxed<ri_ud_tx_t> tx_box = {};
    ri_ud_rx_t &rx           = rx_box.machine;
    ri_ud_tx_t &tx           = tx_box.machine;
    sim &world;
    queue_pair &qp;
    bytes from, to, temp;
    std::vector<bytes> own; /* memory of indirect landings */
    std::vector<uint32_t> held, where;
    uint32_t number;
    unsigned acks      = 0;
    unsigned last_lost = 0;
};

class sim {
public:
    explicit sim(rng &random) : random(random)
    {
        times.quiet     = 20000;
        times.quiet_max = 1000000;
        times.probe     = 100000;
        times.probe_max = 5000000;
        times.give_up   = 0;
    }

    /* A datagram or control message on its way. */
    struct packet {
        queue_pair *qp;     /* data */
        struct transfer *t; /* control */
        bool to_sender;
        ri_ud_message_t message;
        uint32_t sequence, qkey;
        bytes data;
    };

    void send(packet p)
    {
        uint64_t at = now + latency;

        ++sent;
        if ((kill && kill(p)) || is_to_lose(p)) {
            return;
        }
        if (random.below(1000) < f.drop) {
            return;
        }
        if (random.below(1000) < f.repeat) {
            packets.emplace(at + random.below(600 * PIECE_TIME), p);
        }
        if (random.below(1000) < f.reorder) {
            at += PIECE_TIME * random.range(1, f.window);
        }
        if (random.below(1000) < f.delay) {
            at += f.delay_us * 1000ul;
        }
        packets.emplace(at, std::move(p));
    }

    void receive(packet &p)
    {
        if (p.qp == nullptr) {
            receive_control(p);
            return;
        }
        queue_pair &qp = *p.qp;
        if (qp.posted.empty() || (p.qkey != qp.qkey)) {
            return;
        }
        auto r = qp.posted.front();
        qp.posted.pop_front();
        ASSERT_LE(p.data.size(), qp.capacity);
        std::copy(p.data.begin(), p.data.end(), r.memory);
        ri_ud_rx_arrive(&r.owner->rx, r.landing, 1, p.sequence, p.data.size());
        ri_ud_rx_time(&r.owner->rx, now);
    }

    void receive_control(packet &p)
    {
        transfer *t = p.t;

        if (p.to_sender) {
            t->acks += p.message.type == RI_UD_ACK;
            EXPECT_TRUE(ri_ud_tx_message(&t->tx, &p.message));
        } else if (t->rx.state == RI_UD_RX_ACTIVE) {
            ri_ud_rx_probe(&t->rx, &p.message, now);
        } else {
            /* What the plane does for those that it has forgotten */
            packet answer       = {};
            answer.t            = t;
            answer.to_sender    = true;
            answer.message.type = (t->rx.state == RI_UD_RX_DONE) ? RI_UD_ACK :
                                                                   RI_UD_CANCEL;
            send(answer);
        }
    }

    void pump(transfer &t)
    {
        uint32_t pieces[32];
        unsigned count;

        while ((count = ri_ud_tx_take(&t.tx, pieces, 32)) > 0) {
            for (unsigned i = 0; i < count; ++i) {
                packet p   = {};
                size_t at  = (size_t)pieces[i] * t.rx.piece_size;
                size_t len = ri_ud_transfer_piece_length(t.rx.length, t.rx.piece_size,
                                                         pieces[i]);

                p.qp       = &t.qp;
                p.sequence = t.tx.sequence + pieces[i];
                p.qkey     = t.tx.qkey;
                p.data.assign(t.from.begin() + at, t.from.begin() + at + len);
                if ((pieces[i] + 1 < t.rx.count) || (t.last_lost++ >= f.last)) {
                    send(p);
                }
                now += PIECE_TIME;
            }
        }
    }

    /* Until a transfer has ended at both sides, or nothing can happen any more. */
    void run(transfer &t, unsigned steps = 1000000)
    {
        for (; (steps > 0) && !t.ended(); --steps) {
            pump(t);
            if (packets.empty() || (packets.begin()->first > now + 5000)) {
                now += 5000;
            } else {
                packet p = std::move(packets.begin()->second);

                now = std::max(now, packets.begin()->first);
                packets.erase(packets.begin());
                receive(p);
            }
            ri_ud_rx_time(&t.rx, now);
            ri_ud_tx_time(&t.tx, now);
            if (::testing::Test::HasFailure()) {
                return;
            }
        }
        EXPECT_TRUE(t.ended()) << "goes on for ever";
    }

    /* Everything that is still on its way arrives. */
    void drain()
    {
        while (!packets.empty()) {
            packet p = std::move(packets.begin()->second);

            now = std::max(now, packets.begin()->first);
            packets.erase(packets.begin());
            receive(p);
        }
    }

    /* The first ones of a type of control message. */
    bool is_to_lose(const packet &p)
    {
        return (f.lose != 0) && (p.qp == nullptr) && (p.message.type == f.lose) &&
               (lost++ < f.lose_count);
    }

    rng &random;
    ud_faults f               = {};
    unsigned lost             = 0;
    ri_ud_times_t times       = {};
    ri_ud_counters_t counters = {};
    uint64_t now              = 1000;
    uint64_t latency          = 1000;
    uint64_t sent             = 0;
    std::multimap<uint64_t, packet> packets;
    std::function<bool(const packet &)> kill; /* which ones get lost, besides faults */
};

inline void sim_post(ri_ud_rx_t *rx, uint32_t landing)
{
    transfer *t = transfer::of(rx);
    size_t at   = (size_t)landing * rx->piece_size;

    ASSERT_EQ(RI_UD_RX_ACTIVE, rx->state);
    ASSERT_LT(t->qp.posted.size(), rx->depth);
    ASSERT_GE(landing, rx->base);
    if (landing >= rx->first_indirect) {
        bytes &own = t->own[landing % rx->depth];

        own.resize(rx->piece_size);
        t->qp.posted.push_back({t, landing, own.data()});
    } else {
        ASSERT_LE(at + rx->piece_size, t->to.size());
        t->qp.posted.push_back({t, landing, &t->to[at]});
    }
}

inline void sim_move(ri_ud_rx_t *rx, uint32_t from, uint32_t to, uint32_t piece)
{
    transfer *t        = transfer::of(rx);
    size_t length      = ri_ud_transfer_piece_length(rx->length, rx->piece_size, piece);
    const uint8_t *src = (from == RI_UD_NONE) ? t->temp.data() :
                         (from >= rx->first_indirect) ?
                                                t->own[from % rx->depth].data() :
                                                &t->to[(size_t)from * rx->piece_size];
    uint8_t *dst       = (to == RI_UD_NONE) ? t->temp.data() :
                                              &t->to[(size_t)to * rx->piece_size];

    ASSERT_TRUE((to == RI_UD_NONE) || (to == piece));
    for (const auto &r : t->qp.posted) {
        ASSERT_FALSE((r.memory == src) || (r.memory == dst)) << "the device may write it";
    }
    memmove(dst, src, length);
}

inline void sim_tell(ri_ud_rx_t *rx, ri_ud_message_t *message)
{
    transfer *t   = transfer::of(rx);
    sim::packet p = {};

    message->qkey = t->qp.qkey;
    p.t           = t;
    p.to_sender   = true;
    p.message     = *message;
    if (message->type == RI_UD_ACK) {
        ASSERT_TRUE(t->qp.posted.empty()) << "memory of the user is still posted";
        t->check_received();
        t->qp.sequence = rx->sequence + rx->count;
    }
    t->world.send(p);
}

inline void sim_reset(ri_ud_rx_t *rx)
{
    transfer::of(rx)->qp.posted.clear();
    ++transfer::of(rx)->qp.qkey;
}

inline void sim_tx_tell(ri_ud_tx_t *tx, ri_ud_message_t *message)
{
    sim::packet p = {};

    p.t       = transfer::of(tx);
    p.message = *message;
    p.t->world.send(p);
}

inline const ri_ud_rx_ops_t transfer::ops = {sim_post, sim_move, sim_tell, sim_reset};

inline transfer::transfer(sim &s, queue_pair &qp, rng &random, size_t length,
                          size_t piece_size, uint32_t depth, bool indirect)
    : world(s), qp(qp), from(length), to(length), temp(piece_size), own(depth),
      held(depth), where(depth)
{
    for (uint8_t &byte : from) {
        byte = random.next();
    }
    rx_box.owner      = this;
    tx_box.owner      = this;
    rx.ops            = &ops;
    rx.times          = &s.times;
    rx.counters       = &s.counters;
    rx.length         = length;
    rx.piece_size     = piece_size;
    rx.depth          = depth;
    rx.first_indirect = indirect ? 0 : length / piece_size;
    rx.sequence       = qp.sequence;
    rx.held           = held.data();
    rx.where          = where.data();
    tx.tell           = sim_tx_tell;
    tx.times          = &s.times;
    tx.counters       = &s.counters;
    qp.capacity       = piece_size;
}

inline void transfer::start()
{
    ri_ud_rx_init(&rx);
    tx.count    = rx.count;
    tx.granted  = rx.granted;
    tx.sequence = rx.sequence;
    tx.qkey     = qp.qkey;
    ri_ud_tx_init(&tx);
}

} // namespace ud_sim

#endif
