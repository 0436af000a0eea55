/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a receiver does: sections 2 and 4.3 of docs/protocol-rndv.md. With grants, the rest is
 * in rndv_grants.cc. A rule that a mutation leaves out asks is(MUT_...) where it stands.
 */
#include "rndv_model.h"

/*
 * The receiver: posting, RTR
 */

void model_t::post(int tag, int capacity, source_t source)
{
    int index                          = m_state->posted++;
    recv_t &recv                       = m_state->recv[index];
    static const char *const sources[] = {"", ", from sender b", ", any source",
                                          ", guessed from the first", ", guessed anew"};

    recv.tag      = tag;
    recv.capacity = capacity;
    recv.source   = source;
    recv.status   = RECV_POSTED;
    tell("receiver posts %s: tag %s, room for %s%s", recv_name(index).c_str(),
         (tag == ANY_TAG) ? "any" :
         (tag == 0)       ? "0" :
                            "1",
         (capacity == EAGER_LEN)  ? "eager" :
         (capacity == MEDIUM_LEN) ? "medium" :
                                    "large",
         sources[source]);

    for (int sender = 0; sender < m_config.senders; ++sender) {
        link_t &link = m_state->link[sender];

        for (int i = 0; i + 1 < link.next; ++i) {
            if ((link.msg[i].bits & MSG_UNEXPECTED) &&
                fits(recv, m_state->link, sender, i)) {
                link.msg[i].bits &= ~MSG_UNEXPECTED;
                match(index, sender, i);
                give(index, sender, i);
                return;
            }
        }
    }
    recv.queued = true;
}

static bool overlap(const recv_t &a, const recv_t &b)
{
    return ((a.tag == b.tag) || (a.tag == ANY_TAG) || (b.tag == ANY_TAG)) &&
           ((a.source == b.source) || (a.source >= FROM_ANY) || (b.source >= FROM_ANY));
}

/* Whether @a recv will take a message behind `seen`: it is posted, or a place-holder. */
bool model_t::counts(const recv_t &recv) const
{
    return recv.queued && !(is(MUT_NO_PLACEHOLDER) && (recv.status == RECV_DONE));
}

/* Whether an RTR of @a index to sender @a guess would promise what one of its class to
 * another sender does. */
bool model_t::is_guess_mixed(const state_t &state, int index, int guess) const
{
    for (int i = 0; i < state.posted; ++i) {
        const recv_t &other = state.recv[i];

        if (other.queued && (other.word != 0) && same_class(other, state.recv[index]) &&
            (rtr_target(other) != guess)) {
            return !is(MUT_MIXED_GUESSES);
        }
    }
    return false;
}

/* @a guess: the sender, of a receive that is FROM_GUESSED_ANEW. */
bool model_t::may_send_rtr(const state_t &state, int index, int guess) const
{
    const recv_t &recv = state.recv[index];
    int target         = (recv.source == FROM_GUESSED_ANEW) ? guess : rtr_target(recv);

    if ((recv.status != RECV_POSTED) || (recv.capacity <= EAGER_LEN) ||
        (recv.rtr != RTR_NONE) || recv.revoking || (recv.rtrs == m_config.rtrs) ||
        (target < 0) || (state.link[target].ended & END_BROKEN) ||
        (m_config.net && !state.link[target].up[RECEIVER]) ||
        (m_config.grants &&
         ((free_word(state, target) < 0) || is_guess_mixed(state, index, target)))) {
        return false;
    }
    for (int i = 0; i <= index; ++i) {
        const recv_t &other = state.recv[i];

        if (!counts(other) || !overlap(other, recv)) {
            continue;
        }
        if ((other.canceling || other.contested) && !is(MUT_RTR_WHILE_CANCELING)) {
            return false;
        }
        if (!same_class(other, recv) && !is(MUT_NO_SUSPEND) &&
            !(is(MUT_ANY_SOURCE_RTR) && (other.source == FROM_ANY))) {
            return false;
        }
    }
    return true;
}

void model_t::send_rtr(int index, int guess)
{
    recv_t &recv = m_state->recv[index];

    recv.target  = (recv.source == FROM_GUESSED_ANEW) ? guess : 0;
    link_t &link = m_state->link[rtr_target(recv)];
    uint8_t seen = link.next - 1, ahead = 0;
    control_t control;

    for (int i = 0; i < index; ++i) {
        ahead += counts(m_state->recv[i]) && same_class(m_state->recv[i], recv);
    }
    recv.rtr = RTR_OUT;
    ++recv.rtrs;
    tell("receiver sends RTR %s%s seen %d ahead %d", recv_name(index).c_str(),
         (m_config.senders == 1) ? "" :
         (rtr_target(recv) == 0) ? " to a" :
                                   " to b",
         seen, ahead);
    control = {CTL_RTR, uint8_t(index),
               seen,    ahead,
               0,       m_config.net ? recv.rtrs : uint8_t(0)};
    if (m_config.net) {
        control.word = link.way;
    }
    if (m_config.grants) {
        offer(index, control);
    }
    push(link.to_sender, control);
}

/*
 * The receiver: matching
 */

/* Whether an RTR of @a index or of a later receive that counts it in `ahead` forbids that
 * it leaves the queue without a message of the RTR's sender: not, not decided, or for good */
model_t::dependents_t model_t::dependents(const state_t &state, int index) const
{
    dependents_t result = DEP_FREE;

    for (int i = index; i < state.posted; ++i) {
        const recv_t &recv = state.recv[i];

        if (!recv.queued || !same_class(recv, state.recv[index]) ||
            (is(MUT_CANCEL_OWN_ONLY) && (i != index))) {
            continue;
        }
        if ((recv.status == RECV_DONE) || (recv.rtr == RTR_GONE)) {
            if (!is(MUT_IGNORE_USED) || (i == index)) {
                return DEP_PROMISED;
            }
        } else if ((recv.rtr == RTR_OUT) || recv.revoking) {
            result = DEP_OUT;
        }
    }
    return result;
}

/* The first posted receive that message @a index may take, or -1. @a stalled: the message
 * has to wait until it is known whether it may take the one that is returned. */
int model_t::find_posted(const state_t &state, int sender, int index, bool *stalled) const
{
    *stalled = false;
    for (int i = 0; i < state.posted; ++i) {
        const recv_t &recv = state.recv[i];

        if (!recv.queued || !fits(recv, state.link, sender, index)) {
            continue;
        }
        if (recv.status == RECV_DONE) {
            /* A place-holder: for its own message only */
            if (recv.announced && (recv.number == index + 1) &&
                (rtr_target(recv) == sender)) {
                return i;
            }
            continue;
        }
        if ((recv.source != FROM_GUESSED) || (sender == 0) || is(MUT_STEAL_AT_ONCE)) {
            return i;
        }
        switch (dependents(state, i)) {
        case DEP_FREE:
            return i;
        case DEP_OUT:
            *stalled = true;
            return i;
        default: /* DEP_PROMISED: sender 0 has sent a message for it */
            break;
        }
    }
    return -1;
}

void unqueue(recv_t &recv)
{
    recv.queued    = false;
    recv.canceling = false;
    recv.refused   = false;
    recv.contested = false;
    recv.number    = 0;
    recv.announced = false;
}

/* The next message in sequence that can be handled now: an index, or -1. */
int model_t::stream_head(const state_t &state, int sender) const
{
    const link_t &link = state.link[sender];
    int index          = link.next - 1;

    if (link.ended & END_BROKEN) {
        return -1;
    }

    /* Named by the list of the message behind them */
    while ((index < link.sent) && (link.msg[index].form == AS_WRITE)) {
        ++index;
    }
    if ((index >= link.sent) ||
        ((index + 1 - link.next > m_config.list) && !is(MUT_SKIP_GAPS))) {
        return -1;
    }
    if (m_config.net && (link.msg[index].form == AS_FIN) &&
        !(link.msg[index].net & (NET_NOTED | NET_NAMED))) {
        return -1;
    }
    if (link.msg[index].form == AS_NOTHING) {
        return -1; /* its sender is within the call that sends it, or died there */
    }
    if (m_config.grants) {
        bool placed = (link.msg[index].form != AS_FIN) ||
                      !(link.msg[index].bits & MSG_WRITTEN);

        return (placed || is(MUT_PLACED_EARLY)) ? index : -1;
    }
    if (link.msg[index].form <= AS_RTS) {
        bool stalled;
        int recv = find_posted(state, sender, index, &stalled);

        if (stalled && state.recv[recv].contested) {
            return -1;
        }
    }
    return index;
}

void model_t::stream(int sender)
{
    link_t &link = m_state->link[sender];
    int head     = stream_head(*m_state, sender);

    tell("receiver handles %s:", msg_name(m_config, sender, head).c_str());
    for (int i = link.next - 1; i < head; ++i) {
        if (!is(MUT_SKIP_GAPS)) {
            receive_named(sender, i);
            link.next = i + 2;
        }
    }
    if ((link.msg[head].form == AS_ENV) || (link.msg[head].form == AS_FIN)) {
        receive_named(sender, head);
        link.next = head + 2;
    } else if (m_config.grants) {
        match_granted(sender, head, 0, false);
    } else {
        receive_eager_or_rts(sender, head);
    }
    pass_placeholders(sender);
}

/* The message, or the list of a later one, says which receive was used for it. */
void model_t::receive_named(int sender, int index)
{
    message_t &msg = m_state->link[sender].msg[index];
    recv_t &recv   = m_state->recv[msg.recv - 1];
    bool done      = (recv.status == RECV_DONE);

    tell(" number %d is in %s", index + 1, recv_name(msg.recv - 1).c_str());
    if (!recv.queued) {
        fail("the stream names a receive that is not in the queue");
        return;
    }
    for (int i = 0; (m_config.grants || m_config.net) && (i < msg.recv - 1); ++i) {
        if (m_state->recv[i].queued &&
            fits(m_state->recv[i], m_state->link, sender, index)) {
            fail("the stream names " + recv_name(msg.recv - 1) +
                 ", but the first one that fits is " + recv_name(i));
        }
    }
    unqueue(recv);
    if (m_config.grants && (recv.word != 0)) {
        release(msg.recv - 1);
    }
    bool is_there = !m_config.net || (msg.net & NET_NOTED) || is(MUT_NAMED_IS_DONE);

    if (((msg.form == AS_FIN) && is_there) || (recv.notified && (msg.form == AS_ENV))) {
        hand_back(msg.recv - 1, RECV_DONE);
    } else if (!done) {
        recv.status = RECV_NAMED;
    }
    recv.notified = false;
    if (m_config.net) {
        recv.rtr = RTR_NONE;
        msg.net &= ~(NET_NOTED | NET_NAMED);
    }
}

void model_t::receive_eager_or_rts(int sender, int index)
{
    link_t &link   = m_state->link[sender];
    message_t &msg = link.msg[index];
    bool stalled;
    int found = find_posted(*m_state, sender, index, &stalled);

    if (stalled) {
        tell(" it fits %s, which has or counts in RTRs to the other sender",
             recv_name(found).c_str());
        revoke_dependents(found);
        m_state->recv[found].contested = true;
        return;
    }
    /* It waits no more; there is no third sender whose message could */
    for (int i = 0; (i < m_state->posted) && (sender == 1); ++i) {
        m_state->recv[i].contested = false;
    }
    link.next = index + 2;
    if (found < 0) {
        tell(" unexpected");
        msg.bits |= MSG_UNEXPECTED;
        return;
    }

    recv_t &recv = m_state->recv[found];
    bool done    = (recv.status == RECV_DONE);

    unqueue(recv);
    if (!done) {
        match(found, sender, index);
        give(found, sender, index);
    } else {
        tell(" place-holder %s goes", recv_name(found).c_str());
    }
}

/* Gives a matched message to its receive. */
void model_t::give(int index, int sender, int msg_index)
{
    message_t &msg = m_state->link[sender].msg[msg_index];
    recv_t &recv   = m_state->recv[index];

    tell(" %s takes it", recv_name(index).c_str());
    if (is(MUT_VOID_IS_USED) && (msg.word != 0) && (recv.word == 0)) {
        recv.status = RECV_WRITE;
        return;
    }
    if ((recv.word != 0) && give_granted(index, sender, msg_index)) {
        return;
    }
    if (m_config.net) { /* nothing is written into it: its RTR was not used, or in vain */
        if ((recv.rtr == RTR_GONE) && !(msg.net & NET_IS_AGAIN)) {
            fail("the RTR of " + recv_name(index) + " was used for another message");
        }
        recv.rtr      = RTR_NONE;
        recv.revoking = false;
        msg.net &= ~NET_IS_AGAIN;
    }
    if ((m_state->link[sender].ended & END_BROKEN) && (msg.form != AS_EAGER)) {
        hand_back(index, RECV_FAILED); /* the send has ended */
    } else if (msg.length > recv.capacity) {
        tell(", truncated");
        msg.bits |= (msg.form == AS_EAGER) ? 0 : MSG_RETURNED;
        hand_back(index, RECV_TRUNCATED);
    } else if (msg.form == AS_EAGER) {
        hand_back(index, RECV_DONE);
    } else if ((msg.form == AS_RTS) && (recv.rtr != RTR_NONE) &&
               !is(MUT_READ_AT_CROSSING)) {
        tell(": its RTR is out, so the sender writes");
        recv.status = RECV_WRITE;
    } else if (msg.slot.bits & SLOT_BUSY) {
        meet_slot(index, sender, msg_index);
    } else {
        start_read(index, sender, msg_index);
    }
}

void model_t::start_read(int index, int sender, int msg_index)
{
    tell(", reads");
    if (m_state->link[sender].ended) {
        hand_back(index, RECV_FAILED);
        return;
    }
    for (int i = 0; (i < m_state->link[sender].sent) && m_config.net; ++i) {
        const message_t &other = m_state->link[sender].msg[i];

        if ((other.bits & MSG_WRITTEN) && (other.recv == index + 1)) {
            fail(recv_name(index) + " is read into while it is written");
        }
    }
    if (m_config.ud &&
        !(m_state->link[sender].msg[msg_index].bits & (MSG_OPEN | MSG_POOLED))) {
        if (!is(MUT_CANCEL_IS_END)) {
            fail(msg_name(m_config, sender, msg_index) +
                 " is asked for again, but its send has ended");
        }
        m_state->recv[index].status = RECV_READ;
        return;
    }
    m_state->recv[index].status = RECV_READ;
    m_state->link[sender].msg[msg_index].bits |= MSG_READING;
    if (!m_config.slow_reads) {
        end_read(sender, msg_index);
    }
}

void model_t::end_read(int sender, int index)
{
    message_t &msg = m_state->link[sender].msg[index];

    msg.bits &= ~MSG_READING;
    msg.bits |= MSG_RETURNED;
    hand_back(msg.owner - 1, RECV_DONE);
}

/* The stream passes numbers whose messages were notified and have nothing in sequence. */
void model_t::pass_placeholders(int sender)
{
    for (int i = 0; i < m_state->posted; ++i) {
        recv_t &recv = m_state->recv[i];

        if (recv.queued && (recv.number == m_state->link[sender].next) &&
            !recv.announced && (rtr_target(recv) == sender)) {
            unqueue(recv);
            ++m_state->link[sender].next;
            i = -1;
        }
    }
}

void model_t::notified(int sender, int index)
{
    link_t &link   = m_state->link[sender];
    message_t &msg = link.msg[index];
    recv_t &recv   = m_state->recv[msg.recv - 1];
    bool announced = (msg.form != AS_WRITE) && !is(MUT_ADVANCE_ANNOUNCED);

    tell("notification: %s is in %s", msg_name(m_config, sender, index).c_str(),
         recv_name(msg.recv - 1).c_str());
    msg.bits &= ~(MSG_WRITTEN | MSG_OPEN);
    if ((msg.form == AS_ENV) && recv.queued && !is(MUT_ADVANCE_ANNOUNCED)) {
        recv.notified = true; /* and the envelope tells the rest */
        return;
    }
    hand_back(msg.recv - 1, RECV_DONE);
    if (!recv.queued) {
        return;
    }
    recv.number    = index + 1;
    recv.announced = announced;
    pass_placeholders(sender);
    if (recv.queued) {
        tell(", out of turn: a place-holder");
    }
}

/*
 * The receiver: cancel, revocation
 */

/* @return whether there is an answer to wait for. */
bool model_t::revoke_dependents(int index)
{
    bool wait = false;

    for (int i = index; i < m_state->posted; ++i) {
        recv_t &recv = m_state->recv[i];

        if (!recv.queued || !same_class(recv, m_state->recv[index]) ||
            (is(MUT_CANCEL_OWN_ONLY) && (i != index))) {
            continue;
        }
        if ((recv.rtr == RTR_OUT) && !recv.revoking && (recv.status == RECV_POSTED)) {
            tell(", REVOKE %s", recv_name(i).c_str());
            recv.revoking = true;
            push(m_state->link[rtr_target(recv)].to_sender,
                 {CTL_REVOKE, uint8_t(i), 0, 0, 0,
                  m_config.net ? recv.rtrs : uint8_t(0)});
        }
        wait |= recv.revoking;
    }
    return wait;
}

void model_t::cancel(int index)
{
    recv_t &recv = m_state->recv[index];

    ++m_state->cancels;
    tell("receiver cancels %s", recv_name(index).c_str());
    if (m_config.grants) {
        start_withdrawing(index, -1, 0, false);
        return;
    }
    recv.canceling = true;
    if (is(MUT_CANCEL_AT_ONCE)) {
        unqueue(recv);
        hand_back(index, RECV_CANCELED);
        return;
    }
    if (dependents(*m_state, index) == DEP_OUT) {
        revoke_dependents(index);
    }
    decide_cancels();
}

/* Decides the cancels about which all is known. */
void model_t::decide_cancels()
{
    for (int i = 0; i < m_state->posted; ++i) {
        recv_t &recv = m_state->recv[i];

        if (!recv.canceling) {
            continue;
        }
        switch (dependents(*m_state, i)) {
        case DEP_FREE:
            unqueue(recv);
            hand_back(i, RECV_CANCELED);
            break;
        case DEP_PROMISED:
            tell(": %s is not canceled, its message is on its way", recv_name(i).c_str());
            recv.canceling = false;
            check_promised(i);
            break;
        case DEP_OUT:
            break;
        }
    }
}

void model_t::receiver_control(int sender, const control_t &control)
{
    recv_t &recv = m_state->recv[control.recv];
    bool gone    = (control.type == CTL_GONE) && !is(MUT_CANCEL_GONE) &&
                ((recv.rtr == RTR_OUT) || is(MUT_REFUSED_IS_GONE));

    tell("receiver gets %s %s",
         (control.type == CTL_REFUSE)  ? "REFUSE" :
         (control.type == CTL_REVOKED) ? "REVOKED" :
                                         "GONE",
         recv_name(control.recv).c_str());
    if (m_config.net && (!recv.revoking || (control.generation != recv.rtrs))) {
        return; /* it is about an RTR that has ended */
    }
    if (control.type != CTL_REFUSE) {
        recv.revoking = false;
    }
    recv.rtr = gone ? RTR_GONE : RTR_NONE;
    if (recv.status >= RECV_NAMED) {
        recv.rtr = RTR_NONE; /* too late to matter */
    } else if ((recv.rtr == RTR_NONE) && (recv.status == RECV_WRITE) &&
               !is(MUT_FORGET_AT_REFUSAL)) {
        start_read(control.recv, sender, recv.owner - 1 - sender * MAX_MSGS);
    }
    decide_cancels();
}
