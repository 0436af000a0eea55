/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Copies by both sides, in a slot of the memory that they share: docs/protocol-rndv.md section
 * 3.1, docs/protocol.md section 8. The data is in PARTS parts. To claim one is a step, and to
 * have copied it another one; between them a side does nothing else, but the other side may do
 * anything.
 */
#include "rndv_model.h"

static int claimed(const slot_t &slot)
{
    return slot.claimed[SENDER] + slot.claimed[RECEIVER];
}

static bool is_withdrawn(const slot_t &slot)
{
    return (slot.bits & SLOT_CLOSED) && (claimed(slot) == 0);
}

void model_t::open_slot(message_t &msg) const
{
    if (m_config.grants && (msg.bits & MSG_SLOT)) {
        msg.slot.bits |= SLOT_BUSY;
    }
}

/* The sender goes on with a message whose RTR it has taken (SHARING): the slot gets the
 * address, and the grant is SLOT; then the RTS, if it has not been sent before. */
void model_t::share(int sender, bool failed)
{
    link_t &link   = m_state->link[sender];
    message_t &msg = link.msg[link.call - 1];

    tell("sender, in the same call:");
    if (msg.word != 0) {
        grant_t &grant = link.grant[msg.word - 1];

        tell(failed ? " no slot for %s" : " slot of %s is ready",
             msg_name(m_config, sender, link.call - 1).c_str());
        grant.state = failed ? GRANT_FAILED : GRANT_SLOT;
        msg.word    = 0;
        if (failed) {
            msg.bits &= ~MSG_SLOT;
            msg.recv = 0;
        } else if (!is(MUT_SLOT_EARLY)) {
            open_slot(msg);
            msg.slot.address = msg.recv;
        }
    } else if ((msg.recv != 0) && (msg.slot.address == 0)) {
        tell(" its address is there");
        open_slot(msg);
        msg.slot.address = msg.recv;
    } else {
        tell(" RTS of %s", msg_name(m_config, sender, link.call - 1).c_str());
        send_plainly(msg);
        link.call = 0;
        return;
    }
    if ((msg.form == AS_RTS) && (failed || (msg.slot.address != 0))) {
        link.call = 0;
    }
}

/* The receiver has matched an RTS with a slot. */
void model_t::meet_slot(int index, int sender, int msg_index)
{
    slot_t &slot = m_state->link[sender].msg[msg_index].slot;

    if (is_withdrawn(slot)) {
        start_read(index, sender, msg_index);
        return;
    }
    if ((slot.address != 0) && (slot.address != index + 1)) {
        fail("the slot of " + msg_name(m_config, sender, msg_index) + " is for " +
             recv_name(slot.address - 1) + ", but " + recv_name(index) + " takes it");
    }
    tell(", both sides copy");
    slot.address                = index + 1;
    m_state->recv[index].status = RECV_COPY;
}

/* Whether a side may claim a part now. */
bool model_t::may_copy(const state_t &state, int sender, int index, side_t side) const
{
    const link_t &link   = state.link[sender];
    const message_t &msg = link.msg[index];
    const slot_t &slot   = msg.slot;

    if (!(slot.bits & SLOT_BUSY)) {
        return false;
    }
    if (side == SENDER) {
        return !(link.ended & (END_DEAD | END_FAILED)) && (link.call == 0) &&
               (msg.bits & MSG_SLOT) && (slot.address != 0) &&
               !(slot.bits & SLOT_CLOSED) && (claimed(slot) < PARTS);
    }
    return (msg.owner != 0) && (state.recv[msg.owner - 1].status == RECV_COPY) &&
           (is_withdrawn(slot) ||
            (!(slot.bits & SLOT_CLOSED) && (claimed(slot) < PARTS)));
}

/* A side claims a part, and begins to copy it. */
void model_t::copy(int sender, int index, side_t side)
{
    link_t &link       = m_state->link[sender];
    message_t &msg     = link.msg[index];
    slot_t &slot       = msg.slot;
    int to             = slot.address - 1;
    const recv_t &recv = m_state->recv[to];

    tell("%s ", (side == SENDER) ? "sender" : "receiver");
    if (is_withdrawn(slot)) {
        tell("finds that the slot of %s was withdrawn",
             msg_name(m_config, sender, index).c_str());
        start_read(to, sender, index);
        return;
    }
    tell("begins to copy a part of %s", msg_name(m_config, sender, index).c_str());
    ++slot.claimed[side];
    if (side == RECEIVER) {
        m_state->doing = {DEED_COPY, uint8_t(sender), 0, uint8_t(index)};
        return;
    }
    link.call    = index + 1;
    link.copying = true;
    if (recv.status >= RECV_DONE) {
        fail("a copy into " + recv_name(to) + ", which was handed back");
    } else if (recv.owner != sender * MAX_MSGS + index + 1) {
        fail("a copy into " + recv_name(to) + ", which is not its receive");
    }
}

/* It has copied it, or could not. */
void model_t::copied(int sender, side_t side, bool failed)
{
    link_t &link = m_state->link[sender];
    int index    = (side == SENDER) ? link.call - 1 : m_state->doing.index;
    slot_t &slot = link.msg[index].slot;

    tell("%s has %scopied it", (side == SENDER) ? "sender" : "receiver",
         failed ? "not " : "");
    ++slot.done;
    if (failed) {
        int rest = (slot.bits & SLOT_CLOSED) ? 0 : PARTS - claimed(slot);

        slot.bits |= SLOT_FAILED;
        slot.claimed[side] += rest;
        slot.done += rest;
    }
    if (side == SENDER) {
        link.call    = 0;
        link.copying = false;
    } else {
        m_state->doing = {};
    }
}

/* Whether a side can see that a copy has ended. */
bool model_t::may_see(const state_t &state, int sender, int index, side_t side) const
{
    const link_t &link   = state.link[sender];
    const message_t &msg = link.msg[index];
    const slot_t &slot   = msg.slot;
    bool done            = (slot.done == PARTS);

    if (side == SENDER) {
        done = is(MUT_SENT_AT_CLAIMED) ? (claimed(slot) == PARTS) : done;
        return !(link.ended & (END_DEAD | END_FAILED)) && (link.call == 0) && done &&
               (msg.bits & MSG_SLOT) && !(slot.bits & SLOT_FAILED);
    }
    done = is(MUT_DONE_AT_CLAIMED) ? (claimed(slot) == PARTS) : done;
    return (msg.owner != 0) && (state.recv[msg.owner - 1].status == RECV_COPY) &&
           (done || (slot.bits & SLOT_GIVEN_UP) ||
            ((link.ended & END_DEAD) && !is(MUT_WAIT_FOR_DEAD)));
}

/* A side sees it. */
void model_t::see(int sender, int index, side_t side)
{
    link_t &link   = m_state->link[sender];
    message_t &msg = link.msg[index];
    slot_t &slot   = msg.slot;
    bool complete  = (slot.done == PARTS) || is(MUT_DONE_AT_CLAIMED);
    bool failed    = (slot.bits & SLOT_FAILED);

    tell("%s sees the end of %s", (side == SENDER) ? "sender" : "receiver",
         msg_name(m_config, sender, index).c_str());
    if (side == SENDER) {
        if ((m_state->doing.deed == DEED_COPY) && (m_state->doing.sender == sender) &&
            (m_state->doing.index == index)) {
            fail("the send of " + msg_name(m_config, sender, index) +
                 " is complete while it is read");
        }
        msg.bits &= ~(MSG_OPEN | MSG_SLOT);
    } else if (complete && failed && !(slot.bits & SLOT_GIVEN_UP) && (link.ended == 0)) {
        tell(", asks for the data");
        start_read(msg.owner - 1, sender, index);
        return; /* the answer frees the slot */
    } else {
        slot.bits &= ~SLOT_BUSY;
        hand_back(msg.owner - 1, (complete && !failed && !(slot.bits & SLOT_GIVEN_UP)) ?
                                         RECV_DONE :
                                         RECV_FAILED);
    }
    if (!(msg.bits & MSG_SLOT) && !(slot.bits & SLOT_BUSY)) {
        slot = {};
    }
}

/* Whether the sender may take a slot back, so that its ring can be closed. */
bool model_t::may_withdraw_slot(const state_t &state, int sender, int index) const
{
    const message_t &msg = state.link[sender].msg[index];

    return m_config.slots_withdrawn && (state.link[sender].call == 0) &&
           (msg.form == AS_RTS) && (msg.bits & MSG_SLOT) && (msg.recv == 0) &&
           !(msg.slot.bits & SLOT_CLOSED) &&
           ((claimed(msg.slot) == 0) || is(MUT_SLOT_BLIND));
}

void model_t::withdraw_slot(int sender, int index)
{
    message_t &msg = m_state->link[sender].msg[index];

    tell("sender takes the slot of %s back", msg_name(m_config, sender, index).c_str());
    msg.bits &= ~MSG_SLOT;
    msg.slot.bits |= SLOT_CLOSED;
}

void model_t::slot_actions(const state_t &state,
                           const std::function<void(action_t)> &add) const
{
    bool receiver = (state.withdrawing.recv == 0) && (state.doing.deed == DEED_NONE);

    if (state.doing.deed == DEED_COPY) {
        add({ACT_COPIED, state.doing.sender, 0, RECEIVER});
        if (m_config.write_fails) {
            add({ACT_COPIED, state.doing.sender, 1, RECEIVER});
        }
    }
    for (uint8_t sender = 0; sender < m_config.senders; ++sender) {
        const link_t &link = state.link[sender];

        if (link.copying) {
            add({ACT_COPIED, sender, 0, SENDER});
            if (m_config.write_fails) {
                add({ACT_COPIED, sender, 1, SENDER});
            }
        } else if (link.call != 0) {
            add({ACT_SHARE, sender, 0, 0});
            if (m_config.write_fails && (link.msg[link.call - 1].word != 0) &&
                (link.msg[link.call - 1].form == AS_NOTHING)) {
                add({ACT_SHARE, sender, 1, 0});
            }
        }
        for (uint8_t i = 0; i < link.sent; ++i) {
            for (side_t side : {SENDER, RECEIVER}) {
                if ((side == RECEIVER) && !receiver) {
                    continue;
                }
                if (may_copy(state, sender, i, side)) {
                    add({ACT_COPY, sender, i, side});
                }
                if (may_see(state, sender, i, side)) {
                    add({ACT_SEE, sender, i, side});
                }
            }
            if (may_withdraw_slot(state, sender, i)) {
                add({ACT_WITHDRAW_SLOT, sender, i, 0});
            }
        }
    }
}
