/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The properties that must hold in every state of the model.
 *
 * With one sender, MPI's order leaves no choice: given the messages that were sent and the
 * receives that were posted and not cancelled, each message in turn belongs to the first of
 * those receives that fits it and has none yet. Neither later messages nor later receives
 * change that, so it can be checked at each match, whichever side makes it: the receiver
 * does in the order of the stream, the sender does when it uses an RTR. With two senders,
 * what is left of it is checked at rest, and by claims: a receive that a message of one sender has
 * passed over, because an earlier one of that sender is due to it, is that sender's.
 */
#include "rndv_model.h"

#include <cstdarg>
#include <cstdio>

constexpr uint8_t CLAIM_LOOSE = 0x80;

static bool is_claimed(const recv_t &recv)
{
    return (recv.claim != 0) && !(recv.claim & CLAIM_LOOSE);
}

std::string recv_name(int recv)
{
    return "r" + std::to_string(recv + 1);
}

std::string msg_name(const config_t &config, int sender, int index)
{
    const char *letter = (config.senders == 1) ? "m" : (sender == 0) ? "a" : "b";

    return letter + std::to_string(index + 1);
}

void model_t::tell(const char *format, ...)
{
    char text[200];
    va_list args;

    if (m_text == nullptr) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    *m_text += text;
}

void model_t::fail(const std::string &text)
{
    if (m_error.empty()) {
        m_error = text;
    }
}

/* @a sender decides about its message @a index and receive @a recv. If it writes (@a firm),
 * the receives before this one that fit the message are for this sender, too, because an
 * earlier message is due to them. If it drops the RTR, the others may still take them, but
 * need not: a message of @a sender is on its way. The first promise counts. */
void model_t::promise(int recv, int sender, int index, bool firm)
{
    for (int i = 0; (i <= recv) && (m_config.senders > 1); ++i) {
        recv_t &earlier = m_state->recv[i];

        if (earlier.queued && (earlier.owner == 0) &&
            fits(earlier, m_state->link, sender, index) &&
            ((earlier.claim == 0) || (earlier.claim == (CLAIM_LOOSE | (sender + 1))))) {
            earlier.claim = (firm ? 0 : CLAIM_LOOSE) | (sender + 1);
        }
    }
}

/* A message and a receive belong together from now on. Called where either side decides it,
 * and again where the receiver learns what the sender decided. */
void model_t::match(int recv_index, int sender, int index)
{
    message_t &msg = m_state->link[sender].msg[index];
    recv_t &recv   = m_state->recv[recv_index];
    int owner      = sender * MAX_MSGS + index + 1;
    auto pair      = [&]() {
        return msg_name(m_config, sender, index) + " is matched to " +
               recv_name(recv_index);
    };

    if ((msg.owner == recv_index + 1) && (recv.owner == owner)) {
        return;
    }
    if (!fits(recv, m_state->link, sender, index)) {
        fail(pair() + ", which it does not fit");
    } else if (msg.owner != 0) {
        fail(pair() + ", but belongs to " + recv_name(msg.owner - 1));
    } else if (recv.owner != 0) {
        fail(pair() + ", which has " +
             msg_name(m_config, (recv.owner - 1) / MAX_MSGS,
                      (recv.owner - 1) % MAX_MSGS));
    } else if (is_claimed(recv) && (recv.claim != sender + 1)) {
        fail(pair() + ", which comes before one that has a message of the other sender");
    }
    check_freed(recv_index, sender, index);
    msg.owner  = recv_index + 1;
    recv.owner = owner;
    promise(recv_index, sender, index, true);
    check_matching();
}

/* The stream of @a sender ends, and with it what was on its way: no receive is its any more. */
void model_t::free_claims(int sender)
{
    link_t &link = m_state->link[sender];

    for (int i = link.next - 1; i < link.sent; ++i) {
        if (link.msg[i].owner != 0) {
            m_state->recv[link.msg[i].owner - 1].owner = 0;
            m_state->recv[link.msg[i].owner - 1].freed = true;
            link.msg[i].owner                          = 0;
        }
    }
    for (recv_t &recv : m_state->recv) {
        if (((recv.claim & ~CLAIM_LOOSE) == sender + 1) && (recv.owner == 0)) {
            recv.claim = 0;
            recv.freed = true;
        }
    }
}

/* Some of what @a sender had promised it has not, as far as anybody else knows. */
void model_t::renew_claims(int sender)
{
    const link_t &link = m_state->link[sender];

    for (recv_t &recv : m_state->recv) {
        if (((recv.claim & ~CLAIM_LOOSE) == sender + 1) && (recv.owner == 0)) {
            recv.claim = 0;
        }
    }
    for (int i = 0; i < link.sent; ++i) {
        if (link.msg[i].owner != 0) {
            promise(link.msg[i].owner - 1, sender, i, true);
        }
    }
}

/* Before a receive was freed it may have been passed over for good. Not so afterwards. */
void model_t::check_freed(int recv_index, int sender, int index)
{
    for (int i = 0; i < recv_index; ++i) {
        const recv_t &recv = m_state->recv[i];

        if (recv.freed && recv.queued && (recv.owner == 0) && (recv.claim == 0) &&
            fits(recv, m_state->link, sender, index)) {
            fail(msg_name(m_config, sender, index) + " is matched to " +
                 recv_name(recv_index) + ", but " + recv_name(i) + " comes before it");
        }
    }
}

/* @return the receive that MPI's order gives the message to, plus 1, or 0 if none of those
 * that are posted; to be called for all messages in turn. */
int model_t::due(int message, bool *taken) const
{
    for (int i = 0; i < m_state->posted; ++i) {
        if (!taken[i] && (m_state->recv[i].status != RECV_CANCELED) &&
            fits(m_state->recv[i], m_state->link, 0, message)) {
            taken[i] = true;
            return i + 1;
        }
    }
    return 0;
}

/* Compares with MPI's order, one sender. */
void model_t::check_matching()
{
    const link_t &link    = m_state->link[0];
    bool taken[MAX_RECVS] = {};

    for (int i = 0; (i < link.sent) && (m_config.senders == 1); ++i) {
        int recv = due(i, taken);

        if ((link.msg[i].owner != 0) && (link.msg[i].owner != recv)) {
            fail(msg_name(m_config, 0, i) + " is matched to " +
                 recv_name(link.msg[i].owner - 1) + ", but MPI's order gives it to " +
                 (recv ? recv_name(recv - 1) : "no receive yet"));
            return;
        }
    }
}

/* A cancel may fail only if the receive's message has been sent, one sender. */
void model_t::check_promised(int recv)
{
    bool taken[MAX_RECVS] = {};

    for (int i = 0; (i < m_state->link[0].sent) && (m_config.senders == 1); ++i) {
        due(i, taken);
    }
    if (!taken[recv] && (m_config.senders == 1)) {
        fail("the cancel of " + recv_name(recv) +
             " fails, but no message for it was sent");
    }
}

/* A receive's buffer goes back to the application. */
void model_t::hand_back(int index, status_t status)
{
    recv_t &recv = m_state->recv[index];

    tell("; %s is %s", recv_name(index).c_str(),
         (status == RECV_DONE)      ? "complete" :
         (status == RECV_TRUNCATED) ? "truncated" :
         (status == RECV_FAILED)    ? "failed" :
                                      "canceled");
    if (recv.status >= RECV_DONE) {
        fail(recv_name(index) + " is handed back twice");
    }
    for (int sender = 0; sender < m_config.senders; ++sender) {
        for (int i = 0; i < m_state->link[sender].sent; ++i) {
            const message_t &msg = m_state->link[sender].msg[i];

            if ((msg.bits & MSG_WRITTEN) && (msg.recv == index + 1) &&
                is_landing(m_state->link[sender], msg)) {
                fail(recv_name(index) + " is handed back while " +
                     msg_name(m_config, sender, i) + " is being written into it");
            }
            if (m_state->link[sender].copying && (m_state->link[sender].call == i + 1) &&
                (msg.slot.address == index + 1)) {
                fail(recv_name(index) + " is handed back while a part of " +
                     msg_name(m_config, sender, i) + " is being copied into it");
            }
        }
    }
    recv.status = status;
    if (status == RECV_CANCELED) {
        if ((recv.owner != 0) || is_claimed(recv)) {
            fail(recv_name(index) + " is cancelled, but a message for it has been sent");
        }
        check_matching();
    }
}

/* A sender whose connection has not ended. */
std::string model_t::check_rest_sender(const state_t &state, int sender) const
{
    const link_t &link = state.link[sender];

    if (link.next != link.sent + 1) {
        return "the stream does not advance: number " + std::to_string(link.next);
    }
    for (int i = 0; i < link.sent; ++i) {
        const message_t &msg = link.msg[i];

        if (msg.owner == 0) {
            if (!(msg.bits & MSG_UNEXPECTED)) {
                return msg_name(m_config, sender, i) + " is lost";
            }
        } else if ((msg.bits != 0) || ((msg.net & ~NET_TELL) != 0)) {
            return "the send of " + msg_name(m_config, sender, i) + " does not complete";
        }
    }
    return "";
}

/* A receive that still waits. */
std::string model_t::check_rest_posted(const state_t &state, int i) const
{
    const recv_t &recv = state.recv[i];

    if (recv.owner != 0) {
        return recv_name(i) + " does not complete, though its message was sent";
    }
    if (recv.refused) {
        return recv_name(i) + " was cancelled in vain, and gets no message";
    }
    if (recv.canceling || recv.contested || recv.revoking) {
        return recv_name(i) + ": the revocation does not end";
    }
    if (!m_config.grants && ((recv.rtr == RTR_GONE) ||
                             ((recv.rtr == RTR_OUT) && !m_config.net &&
                              (state.link[rtr_target(recv)].waiting[i].count == 0)))) {
        return recv_name(i) + ": the sender has dropped its RTR, but no message came";
    }
    return "";
}

/* A receive that has got a message. */
std::string model_t::check_rest_done(const state_t &state, int i) const
{
    const recv_t &recv = state.recv[i];
    int length         = state.link[(recv.owner - 1) / MAX_MSGS]
                         .msg[(recv.owner - 1) % MAX_MSGS]
                         .length;

    if ((length > recv.capacity) != (recv.status == RECV_TRUNCATED)) {
        return recv_name(i) + " has the wrong status";
    }
    if (recv.queued) {
        return recv_name(i) + " stays in the queue as a place-holder";
    }
    return "";
}

std::string model_t::check_rest(const state_t &state) const
{
    std::string error;

    for (int sender = 0; (sender < m_config.senders) && error.empty(); ++sender) {
        /* Of one that has ended, only what has reached the receiver matters */
        if (!state.link[sender].ended) {
            error = check_rest_sender(state, sender);
        }
    }
    if (!error.empty()) {
        return error;
    }
    if (state.doing.deed != DEED_NONE) {
        return "the receiver waits for ever";
    }
    for (int i = 0; i < state.posted; ++i) {
        const recv_t &recv = state.recv[i];
        int target         = rtr_target(recv);

        if (recv.status == RECV_POSTED) {
            error = check_rest_posted(state, i);
        } else if ((recv.status == RECV_DONE) || (recv.status == RECV_TRUNCATED)) {
            error = check_rest_done(state, i);
        } else if ((recv.status != RECV_FAILED) && (recv.status != RECV_CANCELED)) {
            error = recv_name(i) + " does not complete";
        }
        if (!error.empty()) {
            return error;
        }
        if (!m_config.grants && (recv.status != RECV_POSTED) && (target >= 0) &&
            (state.link[target].waiting[i].count != 0) &&
            is_reaching(state.link[target], state.link[target].waiting[i].generation)) {
            return "an RTR of " + recv_name(i) +
                   ", which was handed back, waits at the sender";
        }
    }
    if (m_config.grants) {
        error = check_rest_grants(state);
        if (!error.empty()) {
            return error;
        }
    }
    return check_rest_matching(state);
}

/* At rest, no message or receive may be left that belongs before one that was matched. */
std::string model_t::check_rest_matching(const state_t &state) const
{
    auto owner_of = [&](const recv_t &recv, int sender) {
        return ((recv.owner != 0) && ((recv.owner - 1) / MAX_MSGS == sender)) ?
                       (recv.owner - 1) % MAX_MSGS :
                       -1;
    };

    for (int sender = 0; sender < m_config.senders; ++sender) {
        const link_t &link = state.link[sender];

        for (int i = 0; i < link.sent; ++i) {
            int taker = link.msg[i].owner ? link.msg[i].owner - 1 : MAX_RECVS;

            if (link.ended && (taker == MAX_RECVS) &&
                !(link.msg[i].bits & MSG_UNEXPECTED)) {
                continue; /* it is lost */
            }
            for (int j = 0; j < state.posted; ++j) {
                const recv_t &recv = state.recv[j];

                if ((j >= taker) || (recv.status == RECV_CANCELED) ||
                    !fits(recv, state.link, sender, i)) {
                    continue;
                }
                /* The receive is earlier than the message's: it must have got another one,
                 * of this sender an earlier one */
                if ((taker != MAX_RECVS) && recv.freed) {
                    continue; /* it was promised to a sender that has ended */
                }
                if ((recv.owner == 0) || (owner_of(recv, sender) > i)) {
                    return msg_name(m_config, sender, i) + " belongs to " + recv_name(j);
                }
            }
        }
    }
    return "";
}
