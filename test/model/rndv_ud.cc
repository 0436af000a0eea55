/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * RTRs with a queue pair of datagrams: section 4.7 of docs/protocol-rndv.md. The receiver alone
 * takes such an RTR back, as it does with a grant, and the sender cannot know: it sends the data
 * and an RTS that names the RTR, and the data are dropped if that is no more. So what decides
 * is not that the sender has used the RTR, but that the receiver has heard of it.
 *
 * grant_t is what the receiver has of an RTR: OUT: nothing was heard. USED: something was.
 * WRITTEN: all is there. FAILED: what is there is void. The generation is the transfer's number.
 */
#include "rndv_model.h"

/* Whether a message is for the very RTR that a receive has. */
bool model_t::names(const message_t &msg, const recv_t &recv) const
{
    const link_t &link = m_state->link[rtr_target(recv)];

    return (msg.word != 0) && (msg.word == recv.word) &&
           ((msg.generation == link.grant[recv.word - 1].generation) ||
            is(MUT_IGNORE_GENERATION));
}

/* Whether what is on its way may still be written to the memory of the receive. */
bool model_t::is_landing(const link_t &link, const message_t &msg) const
{
    const grant_t &grant = link.grant[(msg.word > 0) ? msg.word - 1 : 0];

    if (!m_config.ud) {
        return is_reaching(link, msg.word);
    }
    return is(MUT_NO_RESET) ||
           ((grant.generation == msg.generation) &&
            ((grant.state == GRANT_OUT) || (grant.state == GRANT_USED)));
}

/* The sender sends the data, and an RTS that names the RTR. */
void model_t::ud_send(int sender, int index)
{
    message_t &msg = m_state->link[sender].msg[index];

    tell("; sends its data at once, and an RTS that says so");
    msg.form = AS_RTS;
    msg.bits = MSG_WRITTEN | MSG_OPEN;
}

/* A message that names the RTR of the receive that takes it. @return As give_granted(). */
bool model_t::ud_give(int index, int sender)
{
    recv_t &recv   = m_state->recv[index];
    grant_t &grant = m_state->link[sender].grant[recv.word - 1];

    if (grant.state == GRANT_FAILED) {
        release(index);
        return false;
    }
    if ((grant.state == GRANT_WRITTEN) || is(MUT_COMPLETE_AT_USED)) {
        tell(", which has it already");
        release(index);
        hand_back(index, RECV_DONE);
        return true;
    }
    tell(", to which its data go");
    recv.status = RECV_WRITE;
    return true;
}

/* An RTR was withdrawn whose message has had its turn: it is asked for again. */
void model_t::ud_ask_again(int index)
{
    recv_t &recv = m_state->recv[index];

    if (m_config.ud && (recv.status == RECV_WRITE) && (recv.word == 0) &&
        !is(MUT_FORGET_AT_REFUSAL)) {
        start_read(index, (recv.owner - 1) / MAX_MSGS, (recv.owner - 1) % MAX_MSGS);
    }
}

/* @return The receive that has an RTR, or -1. */
static int find_recv(const state_t &state, int sender, int word)
{
    for (int i = 0; i < state.posted; ++i) {
        if ((state.recv[i].word == word) && (rtr_target(state.recv[i]) == sender)) {
            return i;
        }
    }
    return -1;
}

void model_t::ud_step(const action_t &action)
{
    link_t &link     = m_state->link[action.a];
    message_t &msg   = link.msg[action.b];
    grant_t &grant   = link.grant[msg.word - 1];
    int to           = find_recv(*m_state, action.a, msg.word);
    std::string name = msg_name(m_config, action.a, action.b);

    switch (action.c) {
    case UD_HEARD:
        if ((to < 0) || !names(msg, m_state->recv[to])) {
            tell("the data of %s is dropped, and its transfer ends by CANCEL",
                 name.c_str());
            msg.bits &= ~MSG_WRITTEN;
            msg.bits &= is(MUT_CANCEL_IS_END) ? ~MSG_OPEN : ~0;
            return;
        }
        tell("data of %s arrives in %s", name.c_str(), recv_name(to).c_str());
        if (msg.length > m_state->recv[to].capacity) {
            fail("more is written than " + recv_name(to) + " has room for");
        }
        grant.state = GRANT_USED;
        match(to, action.a, action.b);
        return;
    case UD_COMPLETE:
        tell("all of %s is in %s", name.c_str(), recv_name(to).c_str());
        msg.bits    = (msg.bits & ~MSG_WRITTEN) | MSG_RETURNED; /* ACK */
        grant.state = GRANT_WRITTEN;
        if (m_state->recv[to].status == RECV_WRITE) {
            release(to);
            hand_back(to, RECV_DONE);
        } else if (is(MUT_EARLY_IS_DONE)) {
            unqueue(m_state->recv[to]);
            hand_back(to, RECV_DONE);
        }
        return;
    default:
        tell("the transfer of %s fails", name.c_str());
        msg.bits &= ~MSG_WRITTEN;
        grant.state = GRANT_FAILED;
        if ((m_state->recv[to].status == RECV_WRITE) && !is(MUT_WAIT_FOR_FAILED)) {
            release(to);
            start_read(to, action.a, action.b);
        }
    }
}

void model_t::ud_actions(const state_t &state,
                         const std::function<void(action_t)> &add) const
{
    for (uint8_t sender = 0; sender < m_config.senders; ++sender) {
        const link_t &link = state.link[sender];

        for (uint8_t i = 0; i < link.sent; ++i) {
            const message_t &msg = link.msg[i];

            if (!(msg.bits & MSG_WRITTEN)) {
                continue;
            }
            const grant_t &grant = link.grant[msg.word - 1];
            bool is_its          = (grant.generation == msg.generation) ||
                          is(MUT_IGNORE_GENERATION);

            if (!is_its || (grant.state != GRANT_USED)) {
                add({ACT_UD, sender, i, UD_HEARD});
                continue;
            }
            add({ACT_UD, sender, i, UD_COMPLETE});
            if (m_config.write_fails) {
                add({ACT_UD, sender, i, UD_FAILS});
            }
        }
    }
}
