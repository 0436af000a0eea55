/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages over a plane whose ways fail: section 4.5 of docs/protocol-rndv.md. A notification has
 * the place of its number in the stream, as a FIN would; so has what the sender may tell before, in
 * a list, of which each entry comes by itself here. A way has two ends, which fail at
 * different times: a write of which the sender knows only that it failed may have arrived, or
 * may still do so, until the receiver ends its own end. The way of sender 0 is the one that
 * fails.
 */
#include "rndv_model.h"

/* Whether a write goes by a way that the receiver still has. */
bool model_t::is_reaching(const link_t &link, int way) const
{
    return !m_config.net || (link.up[RECEIVER] && (link.way == way));
}

/*
 * The sender
 */

/* Whether the sender may use an RTR of the way. */
bool model_t::is_good_way(const link_t &link, int way) const
{
    return link.up[SENDER] && ((way == link.way) || is(MUT_OLD_WAY));
}

/* Whether the sender has not heard of an RTR before, be it that it is withdrawn. */
bool model_t::is_news(link_t &link, const control_t &control) const
{
    if (control.generation <= link.heard[control.recv]) {
        return false;
    }
    link.heard[control.recv] = control.generation;
    link.used &= ~(1 << control.recv);
    return true;
}

/* The write of a message is posted. */
void model_t::net_write(int sender, message_t &msg, int recv)
{
    link_t &link = m_state->link[sender];

    msg.form = AS_FIN;
    msg.word = link.way;
    msg.bits = MSG_OPEN | (is_reaching(link, link.way) ? MSG_WRITTEN : 0);
    msg.net  = m_config.named ? NET_TELL : 0;
    link.used |= 1 << recv;
}

/* The sender's end of the way fails, and so do all writes that it has not seen end: it sends
 * their messages again. */
void model_t::sender_way_ends(int sender)
{
    link_t &link = m_state->link[sender];

    tell("the sender's end of the way fails");
    link.up[SENDER] = false;
    for (waiting_t &waiting : link.waiting) {
        waiting = is(MUT_OLD_WAY) ? waiting : waiting_t{};
    }
    for (int i = 0; i < link.sent; ++i) {
        message_t &msg = link.msg[i];

        if ((msg.form != AS_FIN) || !(msg.bits & MSG_OPEN) || (msg.net & NET_AGAIN)) {
            continue;
        }
        if (is(MUT_NOT_AGAIN)) {
            msg.bits &= ~MSG_OPEN;
        } else {
            tell(", sends %s again", msg_name(m_config, sender, i).c_str());
            msg.net |= NET_AGAIN;
        }
    }
}

/*
 * The receiver
 */

/* It takes a notification from its queue. */
void model_t::net_noted(int sender, int index)
{
    message_t &msg = m_state->link[sender].msg[index];
    recv_t &recv   = m_state->recv[msg.recv - 1];

    tell(" notification: %s is in %s", msg_name(m_config, sender, index).c_str(),
         recv_name(msg.recv - 1).c_str());
    if (recv.status == RECV_NAMED) {
        msg.net &= ~NET_QUEUED;
        hand_back(msg.recv - 1, RECV_DONE);
        return;
    }
    msg.net       = (msg.net & ~NET_QUEUED) | NET_NOTED;
    recv.rtr      = RTR_GONE;
    recv.revoking = false;
    decide_cancels();
}

/* The receiver's end goes: nothing is written any more. What was, is in the queue. */
void model_t::receiver_way_ends(int sender)
{
    link_t &link = m_state->link[sender];

    tell("; the receiver ends its end of the way");
    for (int i = 0; i < link.sent; ++i) {
        message_t &msg = link.msg[i];

        if ((msg.net & NET_QUEUED) && is(MUT_DROP_QUEUE)) {
            msg.net &= ~NET_QUEUED;
            msg.bits |= MSG_WRITTEN; /* it is as if it had not arrived */
        } else if (msg.net & NET_QUEUED) {
            net_noted(sender, i);
        }
    }
    link.up[RECEIVER] = false;
    for (int i = 0; i < link.sent; ++i) {
        message_t &msg = link.msg[i];

        msg.net &= is(MUT_KEEP_NAMED) ? ~0 : ~NET_NAMED;
        if (!(msg.bits & MSG_WRITTEN)) {
            continue;
        }
        msg.bits &= ~MSG_WRITTEN;
        if (m_state->recv[msg.recv - 1].rtr == RTR_OUT) {
            /* Nobody here knows: as if the RTR had not been used */
            m_state->recv[msg.recv - 1].owner = 0;
            msg.owner                         = 0;
        }
    }
    for (int i = 0; i < m_state->posted; ++i) {
        recv_t &recv = m_state->recv[i];

        if ((rtr_target(recv) == sender) && recv.queued &&
            ((recv.rtr == RTR_OUT) || is(MUT_FORGET_GONE))) {
            recv.rtr      = RTR_NONE;
            recv.revoking = false;
        }
    }
    renew_claims(sender);
    decide_cancels();
}

/* A message comes again, as an RTS: perhaps it was written. */
void model_t::net_again(int sender, int index)
{
    link_t &link   = m_state->link[sender];
    message_t &msg = link.msg[index];
    bool stalled;
    int found;

    tell("receiver gets %s again", msg_name(m_config, sender, index).c_str());
    msg.net &= ~NET_AGAIN;
    if (link.up[RECEIVER] && (link.way == msg.word) && !is(MUT_KEEP_WAY)) {
        receiver_way_ends(sender);
    }
    if (msg.net & NET_QUEUED) {
        net_noted(sender, index);
    }
    if ((index + 1 < link.next) && (m_state->recv[msg.recv - 1].status == RECV_NAMED) &&
        !is(MUT_NAMED_IS_THERE)) {
        msg.form = AS_RTS;
        start_read(msg.recv - 1, sender, index);
        return;
    }
    if (!(msg.net & NET_NOTED) && (index + 1 >= link.next)) {
        msg.form = AS_RTS;
        msg.net |= NET_IS_AGAIN;
        return;
    }
    tell(", which it has");
    found = find_posted(*m_state, sender, index, &stalled);
    if (is(MUT_AGAIN_IS_NEW) && !stalled && (found >= 0)) {
        unqueue(m_state->recv[found]);
        match(found, sender, index);
    }
    msg.bits |= MSG_RETURNED;
}

/* The sender says where a message is written. */
void model_t::net_named(int sender, int index)
{
    link_t &link       = m_state->link[sender];
    message_t &msg     = link.msg[index];
    const recv_t &recv = m_state->recv[msg.recv - 1];
    bool is_out        = (recv.rtr == RTR_OUT) || (recv.rtr == RTR_GONE);

    tell("receiver is told that %s is for %s", msg_name(m_config, sender, index).c_str(),
         recv_name(msg.recv - 1).c_str());
    msg.net &= ~NET_TELL;
    if ((msg.form != AS_FIN) || (msg.net & NET_NOTED) || (index + 1 < link.next) ||
        !is_out || !is_reaching(link, msg.word)) {
        tell(", which is void");
        return;
    }
    msg.net |= NET_NAMED;
}

void model_t::net_step(const action_t &action)
{
    link_t &link   = m_state->link[action.a];
    message_t &msg = link.msg[action.b];

    switch (action.c) {
    case NET_ARRIVES:
        tell("the write of %s arrives", msg_name(m_config, action.a, action.b).c_str());
        msg.bits &= ~MSG_WRITTEN;
        msg.net |= NET_QUEUED;
        break;
    case NET_IS_NOTED:
        tell("receiver takes the");
        net_noted(action.a, action.b);
        break;
    case NET_IS_DONE:
        tell("the sender sees the write of %s end",
             msg_name(m_config, action.a, action.b).c_str());
        msg.bits &= ~MSG_OPEN;
        break;
    case NET_COMES_AGAIN:
        net_again(action.a, action.b);
        break;
    case NET_IS_NAMED:
        net_named(action.a, action.b);
        break;
    case NET_SENDER_FAILS:
        sender_way_ends(action.a);
        break;
    case NET_RECEIVER_FAILS:
        tell("the way fails");
        receiver_way_ends(action.a);
        break;
    default:
        tell("there is a new way");
        ++link.way;
        link.up[SENDER] = link.up[RECEIVER] = true;
    }
}

void model_t::net_actions(const state_t &state,
                          const std::function<void(action_t, bool)> &add) const
{
    for (uint8_t sender = 0; sender < m_config.senders; ++sender) {
        const link_t &link = state.link[sender];
        bool open          = false;

        for (uint8_t i = 0; i < link.sent; ++i) {
            const message_t &msg = link.msg[i];
            bool written         = (msg.form == AS_FIN) && (msg.bits & MSG_OPEN);

            bool has_arrived = (msg.net & (NET_QUEUED | NET_NOTED)) ||
                               ((i + 1 < link.next) &&
                                (state.recv[msg.recv - 1].status != RECV_NAMED));

            open |= written && !(msg.net & NET_AGAIN);
            if (msg.net & NET_TELL) {
                add({ACT_NET, sender, i, NET_IS_NAMED}, false);
            }
            if ((msg.bits & MSG_WRITTEN) && is_reaching(link, msg.word)) {
                add({ACT_NET, sender, i, NET_ARRIVES}, true);
            }
            if (msg.net & NET_QUEUED) {
                add({ACT_NET, sender, i, NET_IS_NOTED}, true);
            }
            if (msg.net & NET_AGAIN) {
                add({ACT_NET, sender, i, NET_COMES_AGAIN}, true);
            } else if (written && link.up[SENDER] && (link.way == msg.word) &&
                       has_arrived) {
                add({ACT_NET, sender, i, NET_IS_DONE}, true);
            }
        }
        if (sender != 0) {
            continue;
        }
        if (link.up[SENDER] && ((link.way < m_config.ways) || !link.up[RECEIVER])) {
            add({ACT_NET, sender, 0, NET_SENDER_FAILS}, open && !link.up[RECEIVER]);
        }
        if (link.up[RECEIVER] && (link.way < m_config.ways)) {
            add({ACT_NET, sender, 0, NET_RECEIVER_FAILS}, false);
        }
        if (!link.up[SENDER] && !link.up[RECEIVER] && (link.way < m_config.ways)) {
            add({ACT_NET, sender, 0, NET_IS_NEW}, false);
        }
    }
}
