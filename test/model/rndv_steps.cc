/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The steps that are possible in a state, and the mutations.
 */
#include "rndv_model.h"

#include <cstring>

const mutation_name_t mutation_names[MUT_LAST] = {
        {"none", nullptr, nullptr, nullptr, "the rules as they are"},
        {"ignore-ahead", "order", "grants", "ud", "the sender takes `ahead` for 0"},
        {"ignore-seen", "order", "grants", "ud",
         "the sender counts messages to come only, not its log"},
        {"no-suspend", "order", "grants", "ud",
         "RTR behind an earlier receive with another, overlapping tag"},
        {"no-placeholder", "long", nullptr, nullptr,
         "a receive that was notified out of turn counts no more"},
        {"read-at-crossing", "order", "grants", "ud",
         "an RTS is read although an RTR is out; with grants: which is not withdrawn"},
        {"no-length-check", "lengths", "grants-lengths", "ud-lengths",
         "the sender writes more than the RTR's length"},
        {"no-window-check", "window", "grants-window", "ud-window",
         "the sender counts although its log does not reach back"},
        {"eager-keeps-rtr", "order", "grants", "ud",
         "an eager message leaves the RTR that it fits waiting"},
        {"advance-announced", "long", nullptr, nullptr,
         "a notification advances the stream although its number has a message in "
         "sequence"},
        {"skip-gaps", "order", nullptr, nullptr,
         "a message is matched before it is known who used the numbers "
         "that are missing before it"},
        {"forget-at-refusal", "window", nullptr, "ud-whims",
         "an RTS that was left to the RTR is not read when the "
         "RTR is refused"},
        {"cancel-at-once", "cancel", "grants-cancel", "ud-cancel",
         "cancel hands the buffer back without withdrawing RTRs"},
        {"cancel-own-only", "cancel", "grants-cancel", "ud-cancel",
         "cancel withdraws the receive's own RTR, not the later ones "
         "that count it in `ahead`"},
        {"cancel-gone", "cancel", nullptr, nullptr, "cancel takes `gone` for `revoked`"},
        {"rtr-while-canceling", "cancel", nullptr, nullptr,
         "RTR behind a receive whose cancel is not decided"},
        {"refused-is-gone", "refuse", nullptr, nullptr,
         "`gone` for an RTR that was refused counts as used"},
        {"unordered-to-sender", "cancel", nullptr, nullptr,
         "a revocation may overtake its RTR"},
        {"unordered-to-receiver", "refuse", nullptr, nullptr,
         "an answer to a revocation may overtake a refusal"},
        {"steal-at-once", "guess", "grants-guess", "ud-guess",
         "another sender's message takes a receive without withdrawing RTRs"},
        {"ignore-used", "cancel", "grants-cancel", "ud-cancel",
         "a receive is cancelled although a later one that counts it in "
         "`ahead` has been used"},
        {"any-source-rtr", "source", "grants-source", "ud-source",
         "RTR behind an any-source receive"},
        {"mixed-guesses", nullptr, "grants-guesses", "ud-guesses",
         "receives of one class have RTRs out to different senders"},
        {"write-without-cas", nullptr, "grants-cancel", nullptr,
         "the sender writes without a look at the grant"},
        {"grant-blind", nullptr, "grants-cancel", "ud-cancel",
         "the receiver stores FREE, whatever the grant is"},
        {"ignore-generation", nullptr, "grants-cancel", "ud-whims",
         "the sender takes a grant that was given again for that of its RTR"},
        {"stop-at-first", nullptr, "grants", "ud",
         "a message that uses an RTR is not counted by the others that it fits"},
        {"placed-early", nullptr, "grants", nullptr,
         "PLACED is sent before the data is written"},
        {"complete-at-used", nullptr, "grants", "ud",
         "an RTS whose grant is USED completes the receive"},
        {"wait-for-failed", nullptr, "grants-fail", "ud-fail",
         "a receive whose grant is FAILED is not read"},
        {"failed-is-free", nullptr, "grants-guesses", "ud-guesses",
         "another sender's message takes a receive whose grant is FAILED"},
        {"sharing-is-failed", nullptr, "grants-slots", nullptr,
         "the receiver does not wait for the slot of a receive whose grant is SHARING"},
        {"slot-early", nullptr, "grants-ends", nullptr,
         "the grant is SLOT before the slot has the address"},
        {"done-at-claimed", nullptr, "grants-slots", nullptr,
         "a receive is complete when all parts are claimed"},
        {"sent-at-claimed", nullptr, "grants-slots", nullptr,
         "a send is complete when all parts are claimed"},
        {"slot-blind", nullptr, "grants-slots", nullptr,
         "the sender withdraws a slot in which parts are claimed"},
        {"end-at-once", nullptr, "grants-ends", nullptr,
         "a stream ends without a wait for what the sender is doing by its grants"},
        {"leave-slots", nullptr, "grants-ends", nullptr,
         "a stream ends, and slots whose RTS was not matched are left open"},
        {"close-at-once", nullptr, "grants-ends", nullptr,
         "a slot is closed without a wait for the part that the sender copies"},
        {"keep-promise", nullptr, "grants-ends-two", nullptr,
         "a receive stays promised to a sender that is gone"},
        {"no-rematch", nullptr, "grants-ends-two", nullptr,
         "messages that were passed over because of the promise stay unexpected"},
        {"forget-cancel", nullptr, "grants-ends", nullptr,
         "a cancel that was refused because of the promise is not made up for"},
        {"wait-for-dead", nullptr, "grants-ends", nullptr,
         "the receiver does not see that the sender's process is gone"},
        {"not-again", "net", nullptr, nullptr,
         "a write that has failed is not sent again"},
        {"again-is-new", "net", nullptr, nullptr,
         "a message that comes again is taken though it was there"},
        {"keep-way", "net", nullptr, nullptr,
         "a message that comes again is read while its write may still arrive"},
        {"drop-queue", "net", nullptr, nullptr,
         "a way ends with notifications that nobody has looked at"},
        {"old-way", "net", nullptr, nullptr,
         "an RTR is used by another way than its own"},
        {"old-rtr", "net", nullptr, nullptr,
         "an RTR is taken although it was withdrawn before"},
        {"forget-gone", "net-guess", nullptr, nullptr,
         "with its way, a receive that was promised for certain is free"},
        {"named-is-done", "net-named", nullptr, nullptr,
         "a receive is complete when the stream has passed its number"},
        {"named-is-there", "net-named", nullptr, nullptr,
         "a message that comes again is dropped because its number was passed"},
        {"keep-named", "net-named", nullptr, nullptr,
         "what the sender has told is believed after the end of its way"},
        {"no-reset", nullptr, nullptr, "ud-cancel",
         "an RTR is withdrawn, and its memory stays posted"},
        {"void-is-used", nullptr, nullptr, "ud-cancel",
         "an RTS that names an RTR which was withdrawn is not answered"},
        {"early-is-done", nullptr, nullptr, "ud",
         "a receive leaves the queue with its data, before its message has its turn"},
        {"cancel-is-end", nullptr, nullptr, "ud-cancel",
         "a send ends with the transfer whose RTR was withdrawn"},
};

void model_t::init(state_t &state) const
{
    memset(&state, 0, sizeof(state));
    for (link_t &link : state.link) {
        link.next       = 1;
        link.up[SENDER] = link.up[RECEIVER] = m_config.net;
    }
}

void model_t::push(channel_t &channel, const control_t &control)
{
    if (channel.count == MAX_CONTROLS) {
        fail("the model's control channel is too small");
        return;
    }
    channel.item[channel.count++] = control;
}

/* What can be forgotten is, so that states that differ in it only are one. */
static void forget(state_t &state)
{
    for (link_t &link : state.link) {
        for (int i = 0; i + 1 < link.next; ++i) {
            message_t &msg = link.msg[i];

            if ((!(msg.bits & ~MSG_RETURNED) ||
                 (msg.bits == (MSG_RETURNED | MSG_POOLED))) &&
                (msg.slot.bits == 0) && (msg.net == 0)) {
                msg.form = AS_NOTHING;
                msg.recv = 0;
                msg.word = msg.generation = 0;
            }
        }
    }
    for (recv_t &recv : state.recv) {
        if (!recv.queued && (recv.status >= RECV_READ)) {
            recv.rtr  = RTR_NONE;
            recv.rtrs = 0;
        }
    }
}

/* Of one connection that has not ended: what the sender's program, its messages and their words do. */
void model_t::sender_actions(const state_t &state, int sender, const add_t &add) const
{
    const link_t &link = state.link[sender];

    for (int i = 0; i < link.sent; ++i) {
        if ((link.msg[i].bits & MSG_WRITTEN) && !m_config.net && !m_config.ud) {
            add(m_config.grants ? ACT_WRITE : ACT_NOTIFY, sender, i, 0);
            if (m_config.write_fails) {
                add(ACT_WRITE, sender, i, 1);
            }
        }
        if (link.msg[i].bits & MSG_READING) {
            add(ACT_READ, sender, i, 0);
        }
        if (link.msg[i].bits & MSG_RETURNED) {
            add(ACT_RETURN, sender, i, 0);
        }
    }
    for (int i = 0; i < link.to_sender.count; ++i) {
        if ((i == 0) || m_config.unordered || is(MUT_UNORDERED_TO_SENDER)) {
            add(ACT_TO_SENDER, sender, i, 0);
            if (m_config.refuse_any && (link.to_sender.item[i].type == CTL_RTR)) {
                add(ACT_TO_SENDER, sender, i, 1);
            }
        }
    }
    for (int i = 0; i < link.to_receiver.count; ++i) {
        if ((i == 0) || (m_config.net && m_config.unordered) ||
            is(MUT_UNORDERED_TO_RECEIVER)) {
            add(ACT_TO_RECEIVER, sender, i, 0);
        }
    }
    if (link.sent < (sender == 0 ? m_config.messages : m_config.messages_1)) {
        for (char tag : m_config.tags) {
            for (char length : m_config.lengths) {
                add(ACT_SEND, sender, tag - '0', length - '0');
            }
        }
    }
}

/* What the receiver's program may do, and what it may do with its receives. */
void model_t::receiver_actions(const state_t &state, const add_t &add) const
{
    for (int i = 0; i < state.posted; ++i) {
        const recv_t &recv = state.recv[i];

        if (m_config.whims && (recv.word != 0) &&
            (state.link[rtr_target(recv)].grant[recv.word - 1].state == GRANT_OUT)) {
            add(ACT_WHIM, i, 0, 0);
        }
        for (int guess = 0; guess < 2; ++guess) {
            if (((guess == 0) || (recv.source == FROM_GUESSED_ANEW)) &&
                may_send_rtr(state, i, guess)) {
                add(ACT_RTR, i, guess, 0);
            }
        }
        if ((state.cancels < m_config.cancels) && (recv.status == RECV_POSTED) &&
            !recv.canceling) {
            add(ACT_CANCEL, i, 0, 0);
        }
    }
    if (state.posted < m_config.recvs) {
        for (char tag : m_config.recv_tags) {
            for (char capacity : m_config.capacities) {
                for (char source : m_config.sources) {
                    add(ACT_POST, (tag == '*') ? ANY_TAG : tag - '0', capacity - '0',
                        (source == '*') ? FROM_ANY :
                        (source == 'g') ? FROM_GUESSED :
                        (source == 'a') ? FROM_GUESSED_ANEW :
                                          source - '0');
                }
            }
        }
    }
}

bool model_t::actions(const state_t &state, std::vector<action_t> &out) const
{
    bool busy        = false;
    bool withdrawing = (state.withdrawing.recv != 0) || (state.doing.deed != DEED_NONE);

    out.clear();
    const add_t add = [&](action_type_t type, int a, int b, int c) {
        out.push_back({type, uint8_t(a), uint8_t(b), uint8_t(c)});
        busy |= (type >= ACT_STREAM);
    };

    for (int sender = 0; sender < m_config.senders; ++sender) {
        const link_t &link = state.link[sender];

        if (!withdrawing && (stream_head(state, sender) >= 0)) {
            add(ACT_STREAM, sender, 0, 0);
        }
        if ((link.call == 0) && !(link.ended & (END_DEAD | END_FAILED))) {
            sender_actions(state, sender, add);
        }
    }
    if (m_config.grants) {
        auto add_action = [&](action_t action) {
            out.push_back(action);
            busy |= (action.type >= ACT_STREAM) ||
                    ((action.type == ACT_BREAK) && (state.link[0].ended != 0));
        };

        slot_actions(state, add_action);
        end_actions(state, add_action);
    }
    if (m_config.net) {
        net_actions(state, [&](action_t action, bool must) {
            out.push_back(action);
            busy |= must;
        });
    }
    if (m_config.ud) {
        ud_actions(state, [&](action_t action) {
            out.push_back(action);
            busy = true;
        });
    }
    if (state.withdrawing.recv != 0) {
        add(ACT_WITHDRAW_RTR, 0, 0, 0);
    }
    if (!withdrawing) {
        receiver_actions(state, add);
    }
    return busy;
}

static control_t take(channel_t &channel, int index)
{
    control_t control = channel.item[index];

    --channel.count;
    for (int i = index; i < channel.count; ++i) {
        channel.item[i] = channel.item[i + 1];
    }
    channel.item[channel.count] = {};
    return control;
}

/* What the programs and the network do of themselves. */
void model_t::apply_call(const action_t &action)
{
    switch (action.type) {
    case ACT_SEND:
        send(action.a, action.b, action.c);
        break;
    case ACT_POST:
        post(action.a, action.b, source_t(action.c));
        break;
    case ACT_RTR:
        send_rtr(action.a, action.b);
        break;
    case ACT_CANCEL:
        cancel(action.a);
        break;
    case ACT_WHIM:
        tell("receiver, for no reason");
        withdraw_grant(action.a);
        ud_ask_again(action.a);
        break;
    case ACT_WITHDRAW_SLOT:
        withdraw_slot(action.a, action.b);
        break;
    case ACT_DIE:
        end_sender(action.a, END_DEAD);
        break;
    case ACT_FAIL:
        end_sender(action.a, END_FAILED);
        break;
    case ACT_BREAK:
        break_stream(action.a);
        break;
    case ACT_RESET:
        end_sender(action.a, END_FAILED);
        break;
    case ACT_NET:
        net_step(action);
        break;
    case ACT_UD:
        ud_step(action);
        break;
    default:
        apply_step(action);
        break;
    }
}

/* What follows from that, and has to happen sometime. */
void model_t::apply_step(const action_t &action)
{
    state_t &state = *m_state;

    switch (action.type) {
    case ACT_STREAM:
        stream(action.a);
        break;
    case ACT_NOTIFY:
        notified(action.a, action.b);
        break;
    case ACT_WRITE:
        write_ends(action.a, action.b, action.c);
        break;
    case ACT_WITHDRAW_RTR:
        tell("receiver goes on with %s", recv_name(state.withdrawing.recv - 1).c_str());
        withdraw_next();
        break;
    case ACT_READ:
        tell("the read of %s ends", msg_name(m_config, action.a, action.b).c_str());
        end_read(action.a, action.b);
        break;
    case ACT_RETURN:
        tell("sender gets FIN or release of %s",
             msg_name(m_config, action.a, action.b).c_str());
        state.link[action.a].msg[action.b].bits &= ~(MSG_RETURNED | MSG_OPEN |
                                                     MSG_POOLED | MSG_SLOT);
        state.link[action.a].msg[action.b].slot = {};
        break;
    case ACT_TO_SENDER:
        sender_control(action.a, take(state.link[action.a].to_sender, action.b),
                       action.c);
        break;
    case ACT_TO_RECEIVER:
        receiver_control(action.a, take(state.link[action.a].to_receiver, action.b));
        break;
    case ACT_SHARE:
        share(action.a, action.b);
        break;
    case ACT_COPY:
        copy(action.a, action.b, side_t(action.c));
        break;
    case ACT_COPIED:
        copied(action.a, side_t(action.c), action.b);
        break;
    case ACT_SEE:
        see(action.a, action.b, side_t(action.c));
        break;
    default:
        go_on();
        break;
    }
}

std::string model_t::apply(state_t &state, const action_t &action)
{
    m_state = &state;
    m_error.clear();
    apply_call(action);
    forget(state);
    return m_error;
}
