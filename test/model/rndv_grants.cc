/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is different between processes that share memory: section 3 of
 * docs/protocol-rndv.md. Each RTR names a grant there, and is void as soon as the receiver
 * has changed it back. Each compare-and-swap is a step of its own if it comes after another
 * one of the same process.
 */
#include "rndv_model.h"

/*
 * The sender
 */

/* Before a write: @return whether the RTR is still good. */
bool model_t::claim(int sender, message_t &msg, int word, int generation)
{
    grant_t &grant = m_state->link[sender].grant[word];
    bool same      = (grant.generation == generation) || is(MUT_IGNORE_GENERATION);

    if (m_config.ud) {
        msg.word       = word + 1;
        msg.generation = generation;
        return true; /* the receiver decides */
    }
    if (!is(MUT_WRITE_WITHOUT_CAS) && (!same || (grant.state != GRANT_OUT))) {
        tell(", which was withdrawn");
        return false;
    }
    grant.state = (msg.bits & MSG_SLOT) ? GRANT_SHARING : GRANT_USED;
    msg.word    = word + 1;
    return true;
}

void model_t::write_ends(int sender, int index, bool failed)
{
    link_t &link   = m_state->link[sender];
    message_t &msg = link.msg[index];
    int to         = msg.recv - 1;
    recv_t &recv   = m_state->recv[to];

    tell("the write of %s into %s %s", msg_name(m_config, sender, index).c_str(),
         recv_name(to).c_str(), failed ? "fails" : "ends");
    link.grant[msg.word - 1].state = failed ? GRANT_FAILED : GRANT_WRITTEN;
    msg.bits &= ~MSG_WRITTEN;
    msg.word = 0;
    if (failed) {
        msg.recv = 0;
        send_plainly(msg);
    } else {
        msg.bits = 0;
    }
    if (recv.status != RECV_WRITE) {
        return;
    }
    /* The receiver has been looking at the grant */
    if (!failed) {
        release(to);
        hand_back(to, RECV_DONE);
    } else if (!is(MUT_WAIT_FOR_FAILED)) {
        release(to);
        start_read(to, sender, index);
    }
}

/*
 * The receiver: RTR
 */

/* @return a grant that no receive has, or -1. */
int model_t::free_word(const state_t &state, int sender) const
{
    for (int word = 0; word < m_config.words; ++word) {
        bool taken = false;

        for (int i = 0; i < state.posted; ++i) {
            taken |= (state.recv[i].word == word + 1) &&
                     (rtr_target(state.recv[i]) == sender);
        }
        if (!taken) {
            return word;
        }
    }
    return -1;
}

void model_t::offer(int index, control_t &control)
{
    int sender     = rtr_target(m_state->recv[index]);
    int word       = free_word(*m_state, sender);
    grant_t &grant = m_state->link[sender].grant[word];

    grant.state = GRANT_OUT;
    ++grant.generation;
    m_state->recv[index].word = word + 1;
    control.word              = word;
    control.generation        = grant.generation;
    tell(" grant %d.%d", word + 1, grant.generation);
}

/* The receive's grant is of no more use: it may be given again at once. */
void model_t::release(int index)
{
    recv_t &recv = m_state->recv[index];

    m_state->link[rtr_target(recv)].grant[recv.word - 1].state = GRANT_FREE;
    recv.word                                                  = 0;
    recv.target                                                = 0;
    recv.rtr                                                   = RTR_NONE;
}

/* @return false if the sender was first. */
bool model_t::withdraw_grant(int index)
{
    const recv_t &recv   = m_state->recv[index];
    const grant_t &grant = m_state->link[rtr_target(recv)].grant[recv.word - 1];

    if ((grant.state != GRANT_OUT) && !is(MUT_GRANT_BLIND) &&
        !((grant.state == GRANT_FAILED) && is(MUT_FAILED_IS_FREE))) {
        tell(", RTR of %s has been used", recv_name(index).c_str());
        return false;
    }
    tell(", RTR of %s is withdrawn", recv_name(index).c_str());
    release(index);
    return true;
}

/*
 * The receiver: matching
 */

/* A message for a receive with an RTR. @return true if nothing is left to do: the data
 * is there, or will be written. */
bool model_t::give_granted(int index, int sender, int msg_index)
{
    const message_t &msg = m_state->link[sender].msg[msg_index];
    recv_t &recv         = m_state->recv[index];
    grant_state_t grant  = m_state->link[rtr_target(recv)].grant[recv.word - 1].state;

    if (is(MUT_READ_AT_CROSSING) && (msg.form == AS_RTS)) {
        recv.word = 0;
        return false;
    }
    if ((grant == GRANT_FAILED) && is(MUT_WAIT_FOR_FAILED)) {
        recv.status = RECV_WRITE;
        return true;
    }
    if (m_config.ud && names(msg, recv)) {
        return ud_give(index, sender);
    }
    if (withdraw_grant(index)) {
        return false;
    }
    if (!m_config.ud &&
        ((grant == GRANT_FAILED) ||
         ((grant == GRANT_SHARING) && is(MUT_SHARING_IS_FAILED))) &&
        (msg.form != AS_EAGER)) {
        release(index);
        return false;
    }
    if ((msg.form != AS_RTS) || (msg.length > recv.capacity) ||
        (rtr_target(recv) != sender)) {
        fail("the RTR of " + recv_name(index) + " was used for another message");
        return true;
    }
    if ((grant == GRANT_SHARING) && !(m_state->link[sender].ended & END_DEAD)) {
        tell(", whose slot is made ready"); /* within the sender's call */
        m_state->doing = {DEED_SETTLE, uint8_t(sender), uint8_t(index),
                          uint8_t(msg_index)};
    } else if (grant == GRANT_SLOT) {
        release(index);
        return false;
    } else if ((grant == GRANT_WRITTEN) || is(MUT_COMPLETE_AT_USED)) {
        release(index);
        hand_back(index, RECV_DONE);
    } else {
        recv.status = RECV_WRITE;
    }
    return true;
}

/* Whether another sender than @a sender was promised the receive, or one that counts it. */
bool model_t::is_contested(int index, int sender) const
{
    for (int i = index; i < m_state->posted; ++i) {
        const recv_t &recv = m_state->recv[i];

        if (recv.queued && (recv.word != 0) && (rtr_target(recv) != sender) &&
            same_class(recv, m_state->recv[index])) {
            return true;
        }
    }
    return false;
}

/* Looks for the receive of a message, from the @a from-th on. @a again: it is unexpected. */
void model_t::match_granted(int sender, int index, int from, bool again)
{
    link_t &link   = m_state->link[sender];
    message_t &msg = link.msg[index];

    for (int i = from; i < m_state->posted; ++i) {
        recv_t &recv = m_state->recv[i];

        if (!recv.queued || !fits(recv, m_state->link, sender, index)) {
            continue;
        }
        if (is_contested(i, sender) && !is(MUT_STEAL_AT_ONCE)) {
            start_withdrawing(i, sender, index, again);
            return;
        }
        unqueue(recv);
        give_matched(i, sender, index, again);
        return;
    }
    tell(" unexpected");
    link.next = again ? link.next : index + 2;
    msg.bits |= MSG_UNEXPECTED;
}

/* A receive that has left the queue gets its message. */
void model_t::give_matched(int recv, int sender, int index, bool again)
{
    link_t &link = m_state->link[sender];

    if (again) {
        m_state->doing.deed = DEED_REMATCH; /* there may be more of them */
        link.msg[index].bits &= ~MSG_UNEXPECTED;
    } else {
        link.next = index + 2;
    }
    match(recv, sender, index);
    give(recv, sender, index);
}

/*
 * The receiver: cancel, and messages of another sender
 */

/* The receive shall go to message @a index of @a sender, or, if that is -1, be cancelled. */
void model_t::start_withdrawing(int recv, int sender, int index, bool again)
{
    m_state->withdrawing = {uint8_t(recv + 1), uint8_t(recv), uint8_t(sender + 1),
                            uint8_t(index), again};
    if (sender >= 0) {
        tell(" it fits %s", recv_name(recv).c_str());
    }
    if ((sender < 0) && is(MUT_CANCEL_AT_ONCE)) {
        m_state->recv[recv].rtr  = RTR_NONE;
        m_state->recv[recv].word = 0;
        end_withdrawing(false);
    } else {
        withdraw_next();
    }
}

/* @return the next receive whose RTR counts the one that shall leave the queue, or -1. */
int model_t::next_to_withdraw(const state_t &state) const
{
    int leaving = state.withdrawing.recv - 1;

    for (int i = state.withdrawing.at; i < state.posted; ++i) {
        if (state.recv[i].queued && (state.recv[i].word != 0) &&
            same_class(state.recv[i], state.recv[leaving]) &&
            ((i == leaving) || !is(MUT_CANCEL_OWN_ONLY))) {
            return i;
        }
    }
    return -1;
}

/* One compare-and-swap, and what follows if it decides. */
void model_t::withdraw_next()
{
    int recv = next_to_withdraw(*m_state);

    if ((recv >= 0) && !withdraw_grant(recv) &&
        (!is(MUT_IGNORE_USED) || (recv == m_state->withdrawing.recv - 1))) {
        end_withdrawing(true);
        return;
    }
    m_state->withdrawing.at = recv + 1;
    if ((recv < 0) || (next_to_withdraw(*m_state) < 0)) {
        end_withdrawing(false);
    }
}

/* @a promised: a message for the receive, or for one behind it, has been sent, and so has
 * its own. */
void model_t::end_withdrawing(bool promised)
{
    withdrawing_t withdrawing = m_state->withdrawing;
    int index                 = withdrawing.recv - 1;
    recv_t &recv              = m_state->recv[index];

    m_state->withdrawing = {};
    if (promised) {
        tell(": the message of %s is on its way", recv_name(index).c_str());
        check_promised(index);
        if (withdrawing.sender != 0) {
            match_granted(withdrawing.sender - 1, withdrawing.index, index + 1,
                          withdrawing.again);
        } else {
            recv.refused = m_config.dies || m_config.fails || m_config.breaks;
        }
        return;
    }
    unqueue(recv);
    if (withdrawing.sender == 0) {
        hand_back(index, RECV_CANCELED);
        return;
    }
    give_matched(index, withdrawing.sender - 1, withdrawing.index, withdrawing.again);
}

std::string model_t::check_rest_grants(const state_t &state) const
{
    for (int sender = 0; sender < m_config.senders; ++sender) {
        const link_t &link = state.link[sender];

        for (int word = 0; word < m_config.words; ++word) {
            const waiting_t &waiting = link.waiting[word];
            const grant_t &grant     = link.grant[word];
            bool owned               = false;

            for (int i = 0; i < state.posted; ++i) {
                owned |= (state.recv[i].word == word + 1) &&
                         (state.recv[i].status == RECV_POSTED) &&
                         (rtr_target(state.recv[i]) == sender);
            }
            if ((grant.state != GRANT_FREE) && !owned) {
                return "grant " + std::to_string(word + 1) + " is lost";
            }
            if ((grant.state > GRANT_OUT)) {
                return "grant " + std::to_string(word + 1) +
                       " has been used, but no message came";
            }
            if ((waiting.count != 0) && (grant.state == GRANT_OUT) &&
                (grant.generation == waiting.generation) &&
                (state.recv[waiting.recv].word != word + 1)) {
                return "an RTR of " + recv_name(waiting.recv) +
                       ", which was handed back, waits at the sender";
            }
        }
    }
    return "";
}
