/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ends of senders and connections, with grants: section 3.5 of docs/protocol-rndv.md. A sender
 * may die in the middle of what it does, or its conn fail; the receiver notices that some time,
 * or ends the stream for a reason of its own. That is one call of the receiver, but each wait
 * and each compare-and-swap in it is a step. Sender 0 is the one that ends.
 */
#include "rndv_model.h"

/*
 * The sender
 */

/* The send ends: the receiver gets no more by the slot than it is copying now. */
void model_t::give_up_slot(slot_t &slot) const
{
    int claimed = slot.claimed[SENDER] + slot.claimed[RECEIVER];
    int rest    = (slot.bits & SLOT_CLOSED) ? 0 : PARTS - claimed;

    if (claimed == 0) {
        slot.bits |= SLOT_CLOSED;
        return;
    }
    slot.claimed[SENDER] += rest;
    if ((rest > 0) || (slot.done < PARTS)) {
        slot.bits |= SLOT_GIVEN_UP;
    }
    slot.done += rest;
}

/* The sender is there no more (END_DEAD), or all its sends end with an error (END_FAILED).
 * What it has put into the stream is still there. */
void model_t::end_sender(int sender, uint8_t how)
{
    link_t &link = m_state->link[sender];

    tell((how == END_DEAD) ? "sender dies" : "sender's conn fails");
    link.ended |= how;
    link.call    = 0;
    link.copying = false;
    for (waiting_t &waiting : link.waiting) {
        waiting = {};
    }
    link.to_sender = {};
    for (message_t &msg : link.msg) {
        if ((how == END_FAILED) && (msg.slot.bits & SLOT_BUSY) && (msg.bits & MSG_SLOT)) {
            give_up_slot(msg.slot);
        }
        if ((msg.bits & MSG_WRITTEN) && (msg.form == AS_FIN)) {
            msg.form = AS_NOTHING; /* PLACED was to come after the data */
        }
        msg.bits &= MSG_UNEXPECTED;
        msg.word = 0;
    }
}

/*
 * The receiver
 */

void model_t::break_stream(int sender)
{
    tell("receiver ends the stream");
    m_state->link[sender].ended |= END_BROKEN;
    m_state->doing = {DEED_WITHDRAW, uint8_t(sender), 0, 0};
    next_deed(DEED_WITHDRAW);
}

/* Whether the receiver, which is in the middle of something, does not wait. */
bool model_t::may_go_on(const state_t &state) const
{
    const doing_t &doing = state.doing;
    const link_t &link   = state.link[doing.sender];
    bool dead = (link.ended & END_DEAD) && !is(MUT_WAIT_FOR_DEAD); /* it looks for that */
    grant_state_t grant;

    switch (doing.deed) {
    case DEED_NONE:
    case DEED_COPY:
        return false;
    case DEED_SETTLE:
    case DEED_WITHDRAW:
        grant = link.grant[state.recv[doing.at].word - 1].state;
        return dead || ((grant != GRANT_USED) && (grant != GRANT_SHARING)) ||
               ((doing.deed == DEED_WITHDRAW) && is(MUT_END_AT_ONCE));
    case DEED_CLOSED:
        return dead || is(MUT_CLOSE_AT_ONCE) ||
               (link.msg[doing.index].slot.done >=
                link.msg[doing.index].slot.claimed[SENDER]);
    default:
        return true;
    }
}

/* The same for the next receive or message, from the one at hand on; then what comes next. */
void model_t::next_deed(deed_t deed)
{
    doing_t &doing     = m_state->doing;
    const link_t &link = m_state->link[doing.sender];

    doing.deed = deed;
    if (deed == DEED_CLOSE) {
        for (; doing.index < link.sent; ++doing.index) {
            const message_t &msg = link.msg[doing.index];

            if ((msg.slot.bits & SLOT_BUSY) && !is(MUT_LEAVE_SLOTS) &&
                ((msg.owner == 0) ||
                 (m_state->recv[msg.owner - 1].status != RECV_COPY))) {
                return;
            }
        }
        free_claims(doing.sender);
        doing.at    = 0;
        doing.index = 0;
        doing.deed  = DEED_ABORT;
    }
    for (; doing.at < m_state->posted; ++doing.at) {
        const recv_t &recv = m_state->recv[doing.at];

        if ((recv.word != 0) && (rtr_target(recv) == doing.sender)) {
            return;
        }
    }
    if (doing.deed == DEED_WITHDRAW) {
        doing.at    = 0;
        doing.index = 0;
        next_deed(DEED_CLOSE);
    } else {
        doing = {};
    }
}

/* No RTR of a receive may be used any more, and what was done by it has ended. */
void model_t::withdraw_rtr(int index)
{
    const recv_t &recv = m_state->recv[index];

    if (m_state->link[rtr_target(recv)].grant[recv.word - 1].state == GRANT_OUT) {
        tell(", RTR of %s is withdrawn", recv_name(index).c_str());
        release(index);
    }
}

/* The RTR of a receive was used by a message that may not come any more. */
void model_t::abort_recv(int index)
{
    recv_t &recv        = m_state->recv[index];
    grant_state_t grant = m_state->link[rtr_target(recv)].grant[recv.word - 1].state;

    if (recv.status != RECV_POSTED) {
        release(index);
        hand_back(index, (grant == GRANT_WRITTEN) ? RECV_DONE : RECV_FAILED);
    } else if (!is(MUT_KEEP_PROMISE)) {
        tell(", %s is promised to nobody", recv_name(index).c_str());
        release(index);
        m_state->doing.deed = is(MUT_NO_REMATCH) ? DEED_CANCEL : DEED_REMATCH;
        return;
    }
    ++m_state->doing.at;
    next_deed(DEED_ABORT);
}

/* A message that was passed over because of the promise goes to the oldest receive now. */
void model_t::rematch()
{
    const recv_t &recv = m_state->recv[m_state->doing.at];

    m_state->doing.deed  = DEED_CANCEL; /* unless one is found */
    m_state->doing.index = 0;
    for (int sender = 0; sender < m_config.senders; ++sender) {
        const link_t &link = m_state->link[sender];

        for (int i = 0; i + 1 < link.next; ++i) {
            if ((link.msg[i].bits & MSG_UNEXPECTED) &&
                fits(recv, m_state->link, sender, i)) {
                tell(" with %s:", msg_name(m_config, sender, i).c_str());
                match_granted(sender, i, 0, true);
                return;
            }
        }
    }
}

/* What could not be cancelled because of the promise may be so now. */
void model_t::cancel_again()
{
    doing_t &doing = m_state->doing;

    for (; doing.index < m_state->posted; ++doing.index) {
        recv_t &recv = m_state->recv[doing.index];

        if (recv.queued && recv.refused && same_class(recv, m_state->recv[doing.at]) &&
            !is(MUT_FORGET_CANCEL)) {
            recv.refused = false;
            tell(", cancels %s", recv_name(doing.index).c_str());
            start_withdrawing(doing.index++, -1, 0, true);
            return;
        }
    }
    ++doing.at;
    doing.index = 0;
    next_deed(DEED_ABORT);
}

void model_t::go_on()
{
    doing_t doing = m_state->doing;
    link_t &link  = m_state->link[doing.sender];

    tell("receiver goes on");
    switch (doing.deed) {
    case DEED_SETTLE:
        m_state->doing = {};
        give(doing.at, doing.sender, doing.index);
        break;
    case DEED_WITHDRAW:
        withdraw_rtr(doing.at);
        ++m_state->doing.at;
        next_deed(DEED_WITHDRAW);
        break;
    case DEED_CLOSE:
        tell(", closes the slot of %s",
             msg_name(m_config, doing.sender, doing.index).c_str());
        link.msg[doing.index].slot.bits |= SLOT_CLOSED;
        m_state->doing.deed = DEED_CLOSED;
        break;
    case DEED_CLOSED:
        link.msg[doing.index].slot.bits &= ~SLOT_BUSY;
        ++m_state->doing.index;
        next_deed(DEED_CLOSE);
        break;
    case DEED_ABORT:
        abort_recv(doing.at);
        break;
    case DEED_REMATCH:
        rematch();
        break;
    default:
        cancel_again();
    }
}

void model_t::end_actions(const state_t &state,
                          const std::function<void(action_t)> &add) const
{
    const link_t &link = state.link[0];
    bool receiver      = (state.withdrawing.recv == 0) && (state.doing.deed == DEED_NONE);
    bool writes        = (link.call != 0);

    if ((state.withdrawing.recv == 0) && may_go_on(state)) {
        add({ACT_GO_ON, 0, 0, 0});
    }
    if (receiver && !(link.ended & END_BROKEN) && (m_config.breaks || link.ended)) {
        add({ACT_BREAK, 0, 0, 0});
    }
    if (link.ended & (END_DEAD | END_FAILED)) {
        return;
    }
    for (int i = 0; i < link.sent; ++i) {
        writes |= !!(link.msg[i].bits & MSG_WRITTEN);
    }
    if (m_config.dies) {
        add({ACT_DIE, 0, 0, 0});
    }
    if (m_config.fails && !writes && !link.ended) {
        add({ACT_FAIL, 0, 0, 0});
    }
    if (!writes && (link.ended == END_BROKEN)) {
        add({ACT_RESET, 0, 0, 0});
    }
}
