/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that are offered, messages, cancels, other senders and failures at random, against
 * MPI's order: the same for each kind of offer. What differs is a class between the fixture of the
 * kind (offer_test.h) and rtr_random:
 *
 *   SEEDS, CONTEST_SENDS           how many runs, and messages of each of two senders
 *   CANCELS                        percent of the cancels that are tried
 *   longest()                      what receives are posted for
 *   steps(), receiver_steps()      weights: what is done next, and what the receiver may do while
 *                                  the sender is in the library
 *   begin(random, contest, receiver)  other workers, with settings at random, and a second sender in a
 *                                  contest; receiver: what calls one of the receiver's steps
 *   turn()                         before each step, but in a contest
 *   disturb(random), calm()        the network does something, and behaves from now on
 *   some_length(random)            of a message
 *   distinct_length(random)        ... that is to be told from others by its data
 *   guess(stream)                  the receiver takes its next messages to come from there
 *   count()                        adds up what a run has covered
 */
#ifndef RI_TEST_RTR_RANDOM_H
#define RI_TEST_RTR_RANDOM_H

#include "offer_test.h"

namespace {

enum step_t {
    STEP_SEND,
    STEP_POST,
    STEP_GUESS, /* not where there is one sender only */
    STEP_CANCEL,
    STEP_DISTURB,
    STEP_SENDER,   /* progress of the sender's */
    STEP_RECEIVER, /* ... of the receiver's */
    STEP_DELIVER,
    STEPS
};

typedef std::vector<step_t> steps_t;

/* Through a network, where the test delivers messages, and no side is in the library with the
 * other. */
inline steps_t net_steps()
{
    return {STEP_SEND,   STEP_POST,     STEP_GUESS,   STEP_CANCEL, STEP_DISTURB,
            STEP_SENDER, STEP_RECEIVER, STEP_DELIVER, STEP_DELIVER};
}

/* Operations and what became of them, over all runs */
struct coverage {
    uint64_t steps[STEPS] = {};
    uint64_t sent = 0, posted = 0, cancelled = 0;
    uint64_t vain = 0; /* cancels of receives that were in use */
    uint64_t used = 0; /* offers */
};

template <typename kind> class rtr_random : public kind {
protected:
    void TearDown() override
    {
        clear();
        kind::TearDown();
        record();
    }

    /* What was covered, for --gtest_output=xml */
    void record()
    {
        const char *const names[] = {"send",    "post",   "guess",    "cancel",
                                     "disturb", "sender", "receiver", "deliver"};

        for (unsigned i = 0; i < STEPS; ++i) {
            this->RecordProperty(std::string("step_") + names[i],
                                 (int)m_covered.steps[i]);
        }
        this->RecordProperty("sent", (int)m_covered.sent);
        this->RecordProperty("posted", (int)m_covered.posted);
        this->RecordProperty("cancelled", (int)m_covered.cancelled);
        this->RecordProperty("vain", (int)m_covered.vain);
        this->RecordProperty("used", (int)m_covered.used);
    }

    /* With one sender the messages of a tag go to the receives in their order, but those that were
     * cancelled. */
    void one_sender()
    {
        for_seeds(kind::SEEDS, [this](rng &random) {
            clear();
            m_lead = random.below(3) * 4;
            begin(random, false);
            while ((m_r[0].size() < PER_TAG) || (m_r[1].size() < PER_TAG) ||
                   (m_s[0].size() < PER_TAG) || (m_s[1].size() < PER_TAG)) {
                unsigned tag = random.below(2);

                ASSERT_NE(nullptr, kind::stream()) << "the connection has ended";
                kind::turn();
                step(random, some(random, m_steps), tag);
            }
            kind::calm();
            kind::pump();
            for (unsigned tag : {0, 1}) {
                check_in_order(tag);
            }
            finish();
        });
    }

    /* Two senders, guesses that change, and wildcards: each message is received once, and those of
     * one sender by receives in the order of both. */
    void contests()
    {
        for_seeds(kind::SEEDS, [this](rng &random) {
            clear();
            m_lead = random.below(10);
            m_wild = random.below(2) * 10;
            begin(random, true);
            while ((m_s[0].size() < kind::CONTEST_SENDS) ||
                   (m_s[1].size() < kind::CONTEST_SENDS)) {
                unsigned who = random.below(2);

                ASSERT_NE(nullptr, kind::stream()) << "the connection has ended";
                contest_step(random, some(random, m_steps), who);
            }
            kind::calm();
            kind::pump();
            for (size_t left = m_b->worker()->match.num_unexpected; left > 0; --left) {
                m_r[0].push_back(kind::post());
            }
            kind::pump();
            check_contests();
            finish();
        });
    }

    coverage m_covered;

private:
    using kind::m_a;
    using kind::m_b;
    using kind::m_conn;
    using kind::m_conn2;

    static const size_t PER_TAG = 40;

    void clear()
    {
        for (unsigned i : {0, 1}) {
            m_r[i].clear();
            m_s[i].clear();
        }
    }

    void begin(rng &random, bool contest)
    {
        auto without_guess = [contest](steps_t steps) {
            if (!contest) {
                steps.erase(std::remove(steps.begin(), steps.end(), STEP_GUESS),
                            steps.end());
            }
            return steps;
        };
        steps_t receiver = without_guess(kind::receiver_steps());

        m_steps = without_guess(kind::steps());
        kind::begin(random, contest, [this, &random, receiver, contest] {
            step_t next = some(random, receiver);

            if (contest) {
                contest_step(random, next, 0);
            } else {
                step(random, next, random.below(2));
            }
        });
    }

    static step_t some(rng &random, const steps_t &steps)
    {
        return steps[random.below(steps.size())];
    }

    /* The receives of a tag are m_r[tag], its messages are m_s[tag]. */
    void step(rng &random, step_t next, unsigned tag)
    {
        std::vector<recv_ptr> &r = m_r[tag];

        ++m_covered.steps[next];
        switch (next) {
        case STEP_SEND:
            if ((m_s[tag].size() < PER_TAG) &&
                ((m_s[tag].size() + m_lead <= r.size()) || (r.size() == PER_TAG))) {
                bool sync = random.percent(15);

                send(tag, m_conn, kind::some_length(random), TAG + tag, sync);
            }
            break;
        case STEP_POST:
            if (r.size() < PER_TAG) {
                size_t length = random.percent(15) ? EAGER : kind::longest();

                ++m_covered.posted;
                r.push_back(kind::post(length, TAG + tag));
            }
            break;
        case STEP_CANCEL:
            if (!r.empty() && random.percent(kind::CANCELS)) {
                cancel(r[random.below(r.size())]);
            }
            break;
        default:
            other_step(random, next);
            break;
        }
    }

    /* All receives are in m_r[0], the messages of a sender are m_s[who]. */
    void contest_step(rng &random, step_t next, unsigned who)
    {
        std::vector<recv_ptr> &r = m_r[0];
        size_t sends             = kind::CONTEST_SENDS;

        ++m_covered.steps[next];
        switch (next) {
        case STEP_SEND:
            if ((m_s[who].size() < sends) &&
                ((m_s[0].size() + m_s[1].size() + m_lead <= r.size()) ||
                 (r.size() == 2 * sends))) {
                send(who, who ? m_conn2 : m_conn, kind::distinct_length(random), TAG,
                     false);
            }
            break;
        case STEP_POST:
            if (r.size() < 2 * sends) {
                ++m_covered.posted;
                r.push_back(random.percent(m_wild) ? m_b->recv(0, 0, kind::m_large) :
                                                     kind::post());
            }
            break;
        case STEP_GUESS:
            kind::guess(random.percent(50) ? kind::stream() : kind::stream2());
            break;
        case STEP_CANCEL:
            if (!r.empty() && random.percent(20)) {
                cancel(r[r.size() - 1 - random.below(std::min<size_t>(r.size(), 8))]);
            }
            break;
        default:
            other_step(random, next);
            break;
        }
    }

    void other_step(rng &random, step_t next)
    {
        switch (next) {
        case STEP_DISTURB:
            kind::disturb(random);
            break;
        case STEP_SENDER:
            m_a->progress();
            break;
        case STEP_RECEIVER:
            m_b->progress();
            break;
        default:
            deliver_some(random);
            break;
        }
    }

    void send(unsigned i, ri_conn_t *conn, size_t length, uint64_t tag, bool sync)
    {
        ++m_covered.sent;
        m_s[i].push_back(kind::send_by(conn, length, tag, sync));
    }

    void cancel(const recv_ptr &r)
    {
        if (!r->done) {
            m_b->cancel(r);
            m_covered.vain += !r->done;
        }
    }

    /* Hand over some message: mostly the next one, as UCX does. */
    void deliver_some(rng &random)
    {
        std::vector<endpoint *> eps;

        for (endpoint *ep : {kind::m_ab, kind::m_ba, kind::m_ab2}) {
            if ((ep != nullptr) && !ep->sent.empty()) {
                eps.push_back(ep);
            }
        }
        if (!eps.empty()) {
            endpoint *ep = eps[random.below(eps.size())];
            size_t which = random.percent(85) ? 0 : random.below(ep->sent.size());

            kind::deliver(ep, which);
        }
    }

    void check_in_order(unsigned tag)
    {
        size_t next = 0;

        for (const recv_ptr &r : m_r[tag]) {
            if (r->done && (r->status == UCS_ERR_CANCELED)) {
                ++m_covered.cancelled;
                continue;
            }
            ASSERT_LT(next, m_s[tag].size());
            kind::check(r, m_s[tag][next++]);
        }
        for (; next < m_s[tag].size(); ++next) {
            recv_ptr rest = kind::post(kind::longest(), TAG + tag);

            kind::pump();
            kind::check(rest, m_s[tag][next]);
        }
    }

    /* Whose next message that is, 0 or 1; 2: nobody's */
    unsigned sender_of(const recv_ptr &r, const size_t (&next)[2])
    {
        for (unsigned who : {0, 1}) {
            if (next[who] < m_s[who].size()) {
                const bytes &data = m_s[who][next[who]]->data;

                if ((data.size() == r->info.length) &&
                    std::equal(data.begin(), data.end(), r->buffer.begin())) {
                    return who;
                }
            }
        }
        return 2;
    }

    void check_contests()
    {
        size_t next[2] = {0, 0}, matched = 0;

        for (const recv_ptr &r : m_r[0]) {
            if (!r->done) { /* the wildcards may be taken, or not */
                m_b->cancel(r);
                kind::pump();
            }
            ASSERT_TRUE(r->done);
            if (r->status == UCS_ERR_CANCELED) {
                ++m_covered.cancelled;
                continue;
            }
            ASSERT_EQ(UCS_OK, r->status);
            ++matched;
            unsigned who = sender_of(r, next);
            ASSERT_LT(who, 2u) << "not the next message of either";
            ++next[who];
        }
        EXPECT_EQ(2u * kind::CONTEST_SENDS, matched);
    }

    void finish()
    {
        for (unsigned i : {0, 1}) {
            for (const send_ptr &s : m_s[i]) {
                kind::check_sent(s);
            }
        }
        kind::pump();
        kind::check_idle();
        EXPECT_EQ(0u, kind::malformed());
        m_covered.used += m_b->counters().rtr_used;
        kind::count();
    }

    steps_t m_steps;
    std::vector<recv_ptr>
            m_r[2]; /* of a tag, or all in the first; and their messages, or a sender's */
    std::vector<send_ptr> m_s[2];
    unsigned m_lead = 0; /* of the receives */
    unsigned m_wild = 0; /* percent of the receives that take any tag */
};

} // namespace

#endif
