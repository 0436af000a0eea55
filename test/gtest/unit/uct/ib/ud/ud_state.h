/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * All of a ud transfer in one object that can be copied: both ends, the memory, and what is on its
 * way. It tells what may happen next, and looks at the memory.
 */
#ifndef RI_TEST_UD_STATE_H
#define RI_TEST_UD_STATE_H

#include "common/ud_faults.h"
#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

extern "C" {
#include "uct/ib/ud/ud_rx.h"
#include "uct/ib/ud/ud_tx.h"
}

namespace {

const unsigned PIECES_MAX = 24;
const unsigned DEPTH_MAX  = 8; /* as many bits as a control message has here */
const unsigned CHAIN      = 4;
const uint32_t SEQUENCE   = (uint32_t)-2; /* wraps around */
const uint8_t GARBAGE     = 0xee;

/* What may go wrong, in all of one run. */
struct budget {
    unsigned faults;   /* losses and repetitions */
    unsigned early;    /* timeouts while something is on its way */
    unsigned failures; /* of the queue pair */
};

struct datagram {
    uint32_t sequence;
    uint32_t qkey;
    uint8_t content;

    bool operator<(const datagram &other) const
    {
        return std::tie(sequence, qkey, content) <
               std::tie(other.sequence, other.qkey, other.content);
    }
};

struct control {
    uint8_t type, epoch, round, base, pieces, qkey, num_bits, bits;
    uint32_t sequence;

    bool operator<(const control &other) const { return key() < other.key(); }

    std::string key() const
    {
        return std::string((const char *)this, offsetof(control, sequence)) +
               std::to_string(sequence);
    }
};

ri_ud_times_t times = {1, 1, 1, 1, 0, 0, 0};
ri_ud_counters_t counters;

class state;
state *current;

class state {
public:
    state(uint32_t count, uint32_t depth, const budget &b, unsigned stale) : left(b)
    {
        static const ri_ud_rx_ops_t ops = {post, move, tell, reset};

        rx.ops            = &ops;
        rx.times          = &times;
        rx.counters       = &counters;
        rx.length         = count;
        rx.piece_size     = 1;
        rx.depth          = depth;
        rx.first_indirect = count;
        rx.sequence       = SEQUENCE;
        bind();
        ri_ud_rx_init(&rx);
        tx.tell     = tx_tell;
        tx.times    = &times;
        tx.counters = &counters;
        tx.count    = count;
        tx.granted  = rx.granted;
        tx.sequence = SEQUENCE;
        tx.qkey     = qkey;
        ri_ud_tx_init(&tx);
        for (unsigned i = 0; i < stale; ++i) {
            data.push_back({SEQUENCE - 1 - i, qkey, GARBAGE});
        }
    }

    state(const state &other) { *this = other; }

    state &operator=(const state &other)
    {
        left   = other.left;
        rx     = other.rx;
        tx     = other.tx;
        qkey   = other.qkey;
        posted = other.posted;
        data   = other.data;
        up     = other.up;
        down   = other.down;
        temp   = other.temp;
        memcpy(held, other.held, sizeof(held));
        memcpy(where, other.where, sizeof(where));
        memcpy(memory, other.memory, sizeof(memory));
        return *this;
    }

    /* Everything that decides what can happen from here. */
    std::string key()
    {
        std::string k;
        auto add = [&k](uint32_t value) { k.append((const char *)&value, 4); };

        forget_times();
        for (uint32_t v : {left.faults,
                           left.early,
                           left.failures,
                           (uint32_t)rx.state,
                           rx.sequence,
                           rx.base,
                           rx.granted,
                           rx.scan,
                           rx.scan_top,
                           rx.filled,
                           rx.top,
                           rx.asked_top,
                           rx.unasked,
                           rx.epoch,
                           rx.round,
                           rx.rounds,
                           (uint32_t)rx.has_news,
                           (uint32_t)rx.has_repair,
                           (uint32_t)tx.status,
                           tx.granted,
                           tx.next,
                           tx.sequence,
                           tx.qkey,
                           tx.epoch,
                           tx.round,
                           tx.resend_next,
                           tx.resend_end,
                           (uint32_t)tx.resend[0],
                           qkey}) {
            add(v);
        }
        for (unsigned i = 0; i < std::max(rx.count, rx.depth); ++i) {
            add((i < rx.depth) ? held[i] : 0);
            add((i < rx.depth) ? where[i] : 0);
            add(memory[i]);
        }
        for (uint32_t landing : posted) {
            add(landing);
        }
        add(~0u);
        std::sort(data.begin(), data.end());
        for (const datagram &d : data) {
            add(d.sequence);
            add(d.qkey);
        }
        add(~0u);
        for (auto *list : {&up, &down}) {
            std::sort(list->begin(), list->end());
            for (const control &c : *list) {
                k += c.key();
            }
            add(~0u);
        }
        return k;
    }

    bool ended() const
    {
        return (rx.state != RI_UD_RX_ACTIVE) && (tx.status != UCS_INPROGRESS);
    }

    void check() const
    {
        uint32_t missing = 0;

        if (rx.state == RI_UD_RX_DONE) {
            ASSERT_TRUE(posted.empty()) << "memory of the user is still posted";
            for (uint32_t i = 0; i < rx.count; ++i) {
                ASSERT_EQ(i + 1, memory[i]);
            }
        } else {
            ASSERT_NE(UCS_OK, tx.status) << "ends before the receiver";
            for (uint32_t i = rx.base; i < rx.granted; ++i) {
                missing += where[i & (rx.depth - 1)] == RI_UD_NONE;
            }
            ASSERT_EQ(missing, posted.size()) << "the rule of the window";
        }
        for (uint32_t i = 0; i < rx.base; ++i) {
            ASSERT_EQ(i + 1, memory[i]);
        }
        ASSERT_LE(tx.next, rx.granted);
    }

    bool quiet() const
    {
        return data.empty() && up.empty() && down.empty() && !ri_ud_tx_is_ready(&tx);
    }

    /* The steps from here. Each is done to a copy. */
    template <typename visit_type> void steps(const visit_type &visit)
    {
        auto step = [&](const std::function<void(state &)> &func) {
            state next(*this);

            next.bind();
            func(next);
            visit(next);
        };

        if (ri_ud_tx_is_ready(&tx)) {
            step([](state &s) { s.send(); });
        }
        for (size_t i = 0; i < data.size(); ++i) {
            step([i](state &s) { s.deliver(i, false); });
            if (left.faults > 0) {
                step([i](state &s) {
                    s.data.erase(s.data.begin() + i), --s.left.faults;
                });
                step([i](state &s) { s.deliver(i, true), --s.left.faults; });
            }
        }
        control_steps(&state::up, &state::hear_sender, step);
        control_steps(&state::down, &state::hear_receiver, step);
        if (left.failures > 0) {
            step([](state &s) { --s.left.failures, ri_ud_rx_restart(&s.rx); });
        }
        if (quiet() || (left.early > 0)) {
            unsigned early = !quiet();

            step([early](state &s) { s.left.early -= early, s.time_receiver(); });
            step([early](state &s) { s.left.early -= early, s.time_sender(); });
        }
    }

    /* One step of a walk: what is on its way arrives in order, but for faults. */
    void walk(rng &random, const ud_faults &f)
    {
        std::vector<std::function<void()>> can;

        forget_times();
        if (ri_ud_tx_is_ready(&tx)) {
            can.push_back([&] { send(); });
        }
        if (!data.empty()) {
            can.push_back(
                    [&] { take(random, f, data, [&](size_t i) { deliver(i, true); }); });
        }
        if (!up.empty()) {
            can.push_back(
                    [&] { take(random, f, up, [&](size_t i) { hear_sender(up[i]); }); });
        }
        if (!down.empty()) {
            can.push_back([&] {
                take(random, f, down, [&](size_t i) { hear_receiver(control(down[i])); });
            });
        }
        if (can.empty() || (random.below(1000) < f.delay)) {
            can = {[&] { time_receiver(); }, [&] { time_sender(); }};
        }
        can[random.below(can.size())]();
    }

    bool ended_well() const
    {
        return (rx.state == RI_UD_RX_DONE) && (tx.status == UCS_OK);
    }

    void bind()
    {
        rx.held  = held;
        rx.where = where;
        current  = this;
    }

private:
    /* Timeouts come when they are to, not when time has gone by. */
    void forget_times()
    {
        rx.wait = tx.wait = 1;
        rx.due = rx.due_unasked = tx.due = tx.heard = 0;
    }

    static bool is_of(const control &c, unsigned type) { return c.type == type; }
    static bool is_of(const datagram &, unsigned) { return false; }

    bool is_last(const control &) const { return false; }
    bool is_last(const datagram &d) const
    {
        return d.sequence == tx.sequence + rx.count - 1;
    }

    /* The next one of a list, or a later one, arrives, or does not. */
    template <typename list_type>
    void take(rng &random, const ud_faults &f, list_type &list,
              const std::function<void(size_t)> &arrive)
    {
        size_t i = 0;

        if (random.below(1000) < f.reorder) {
            i = random.below(std::min<size_t>(list.size(), f.window + 1));
        }
        auto one = list[i];
        if (random.below(1000) < f.delay) {
            list.erase(list.begin() + i);
            list.push_back(one);
            return;
        }
        bool is_lost = (random.below(1000) < f.drop) ||
                       (is_of(one, f.lose) && (lost++ < f.lose_count)) ||
                       (is_last(one) && (last_lost++ < f.last));
        bool is_kept = random.below(1000) < f.repeat;

        if (!is_lost) {
            arrive(i);
        }
        if (!is_kept) {
            list.erase(list.begin() + i);
        }
    }

    template <typename step_type>
    void control_steps(std::vector<control> state::*list,
                       void (state::*hear)(const control &), const step_type &step)
    {
        for (size_t i = 0; i < (this->*list).size(); ++i) {
            auto take = [list, hear, i](state &s, bool keep) {
                control c = (s.*list)[i];

                if (!keep) {
                    (s.*list).erase((s.*list).begin() + i);
                }
                (s.*hear)(c);
            };
            step([&](state &s) { take(s, false); });
            if (left.faults > 0) {
                step([&](state &s) {
                    (s.*list).erase((s.*list).begin() + i), --s.left.faults;
                });
                step([&](state &s) { take(s, true), --s.left.faults; });
            }
        }
    }

    void send()
    {
        uint32_t pieces[CHAIN];
        unsigned count = ri_ud_tx_take(&tx, pieces, CHAIN);

        for (unsigned i = 0; i < count; ++i) {
            data.push_back({tx.sequence + pieces[i], tx.qkey, (uint8_t)(pieces[i] + 1)});
        }
    }

    void deliver(size_t i, bool keep)
    {
        datagram d = data[i];
        uint32_t landing;

        if (!keep) {
            data.erase(data.begin() + i);
        }
        if (posted.empty() || (d.qkey != qkey)) {
            return;
        }
        landing = posted.front();
        posted.pop_front();
        memory[landing] = d.content;
        ri_ud_rx_arrive(&rx, landing, 1, d.sequence, 1);
        ri_ud_rx_time(&rx, 0);
    }

    static ri_ud_message_t unpack(const control &c)
    {
        ri_ud_message_t m = {};

        m.type     = (ri_ud_type_t)c.type;
        m.epoch    = c.epoch;
        m.round    = c.round;
        m.base     = c.base;
        m.pieces   = c.pieces;
        m.qkey     = c.qkey;
        m.num_bits = c.num_bits;
        m.bits[0]  = c.bits;
        m.sequence = c.sequence;
        return m;
    }

    static control pack(const ri_ud_message_t &m)
    {
        return {(uint8_t)m.type,     (uint8_t)m.epoch,  (uint8_t)m.round,
                (uint8_t)m.base,     (uint8_t)m.pieces, (uint8_t)m.qkey,
                (uint8_t)m.num_bits, m.bits[0],         m.sequence};
    }

    /* up: to the sender */
    void hear_sender(const control &c)
    {
        ri_ud_message_t m = unpack(c);

        EXPECT_TRUE(ri_ud_tx_message(&tx, &m));
    }

    void hear_receiver(const control &c)
    {
        ri_ud_message_t m = unpack(c), answer = {};

        if (rx.state == RI_UD_RX_ACTIVE) {
            ri_ud_rx_probe(&rx, &m, 10);
        } else {
            answer.type = (rx.state == RI_UD_RX_DONE) ? RI_UD_ACK : RI_UD_CANCEL;
            up.push_back(pack(answer));
        }
    }

    void time_receiver()
    {
        ri_ud_rx_time(&rx, 10);
        ri_ud_rx_time(&rx, 20);
    }

    void time_sender()
    {
        ri_ud_tx_time(&tx, 10);
        ri_ud_tx_time(&tx, 20);
    }

    static void post(ri_ud_rx_t *rx, uint32_t landing)
    {
        EXPECT_TRUE((landing >= rx->base) && (landing < rx->count));
        current->posted.push_back(landing);
    }

    static void move(ri_ud_rx_t *, uint32_t from, uint32_t to, uint32_t)
    {
        uint8_t content = (from == RI_UD_NONE) ? current->temp : current->memory[from];

        ((to == RI_UD_NONE) ? current->temp : current->memory[to]) = content;
    }

    static void tell(ri_ud_rx_t *, ri_ud_message_t *m)
    {
        m->qkey = current->qkey;
        current->up.push_back(pack(*m));
    }

    static void tx_tell(ri_ud_tx_t *, ri_ud_message_t *m)
    {
        current->down.push_back(pack(*m));
    }

    static void reset(ri_ud_rx_t *)
    {
        current->posted.clear();
        ++current->qkey;
    }

    budget left;
    ri_ud_rx_t rx              = {};
    ri_ud_tx_t tx              = {};
    unsigned lost              = 0; /* control messages, in a walk */
    unsigned last_lost         = 0; /* last pieces, in a walk */
    uint32_t held[DEPTH_MAX]   = {};
    uint32_t where[DEPTH_MAX]  = {};
    uint8_t memory[PIECES_MAX] = {}, temp = 0;
    uint32_t qkey = 1;
    std::deque<uint32_t> posted;
    std::vector<datagram> data;
    std::vector<control> up, down;
};

} // namespace

#endif
