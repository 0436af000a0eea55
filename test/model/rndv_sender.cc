/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a sender does: sections 3.2 and 4.2 of docs/protocol-rndv.md. A rule that a mutation
 * leaves out asks is(MUT_...) where it stands.
 */
#include "rndv_model.h"

/* Moves the waiting RTRs that @a msg fits one message on. @return the receive whose turn it
 * is, or -1. */
int model_t::use_waiting(int sender, message_t &msg)
{
    link_t &link = m_state->link[sender];
    int promised = -1, used = -1;

    for (int i = 0; i < MAX_RECVS; ++i) {
        waiting_t &waiting = link.waiting[i];
        grant_t &grant     = link.grant[i];
        int recv           = waiting.recv;

        if ((waiting.count == 0) || !tag_fits(m_state->recv[recv].tag, msg.tag) ||
            (is(MUT_EAGER_KEEPS_RTR) && (msg.length == EAGER_LEN)) ||
            (is(MUT_STOP_AT_FIRST) && (used >= 0)) || (--waiting.count > 0)) {
            continue;
        }
        tell("; RTR of %s used up", recv_name(recv).c_str());
        if ((!m_config.grants && is_reaching(link, waiting.generation)) ||
            ((grant.state == GRANT_OUT) && (grant.generation == waiting.generation))) {
            if (promised >= 0) {
                fail("two RTRs promise the same message: " + recv_name(promised) +
                     " and " + recv_name(recv));
            }
            promised = recv;
        }
        if (m_config.net) {
            used = is_good_way(link, waiting.generation) ? recv : used;
        } else if (!m_config.grants || ((msg.length > EAGER_LEN) &&
                                        ((msg.length <= m_state->recv[recv].capacity) ||
                                         is(MUT_NO_LENGTH_CHECK)) &&
                                        (!m_config.ud || is(MUT_NO_LENGTH_CHECK) ||
                                         (msg.length == m_state->recv[recv].capacity)) &&
                                        claim(sender, msg, i, waiting.generation))) {
            used = recv;
        }
        waiting = {};
    }
    return used;
}

void model_t::send(int sender, int tag, int length)
{
    link_t &link   = m_state->link[sender];
    int index      = link.sent++;
    message_t &msg = link.msg[index];
    int used;

    if (length == SLOT_LEN) {
        length   = LARGE_LEN;
        msg.bits = MSG_SLOT;
    }
    msg.tag    = tag;
    msg.length = length;
    tell("sender sends %s: tag %d, %s%s, number %d",
         msg_name(m_config, sender, index).c_str(), tag,
         (length == EAGER_LEN)  ? "eager" :
         (length == MEDIUM_LEN) ? "medium" :
                                  "large",
         msg.bits ? " with a slot" : "", index + 1);

    used = use_waiting(sender, msg);
    if ((used >= 0) && (length > EAGER_LEN) &&
        ((length <= m_state->recv[used].capacity) || is(MUT_NO_LENGTH_CHECK))) {
        use_rtr(sender, index, used);
        return;
    }
    if (used >= 0) {
        promise(used, sender, index, false);
    }
    send_plainly(msg);
}

/* The form that a message has which uses no RTR. */
void model_t::send_plainly(message_t &msg) const
{
    switch (msg.length) {
    case EAGER_LEN:
        msg.form = AS_EAGER;
        break;
    case MEDIUM_LEN:
        msg.form = AS_POOL;
        msg.bits |= MSG_POOLED;
        break;
    default:
        msg.form = AS_RTS;
        msg.bits |= MSG_OPEN;
        open_slot(msg);
    }
}

/* Writes a message into the receive's buffer; if it had no RTS, chooses what tells the
 * stream. */
void model_t::use_rtr(int sender, int index, int recv)
{
    message_t &msg   = m_state->link[sender].msg[index];
    const recv_t &to = m_state->recv[recv];

    if (m_config.ud) {
        ud_send(sender, index);
        msg.recv = recv + 1;
        return;
    }
    if (m_config.grants && (msg.bits & MSG_SLOT)) {
        m_state->link[sender].call = index + 1;
        tell("; to be copied by both sides");
    } else if (m_config.net) {
        net_write(sender, msg, recv);
    } else if (msg.form == AS_RTS) {
        msg.bits |= MSG_WRITTEN;
        tell("; RTR is CTS");
    } else if (m_config.grants) {
        msg.form = AS_FIN;
        msg.bits |= MSG_WRITTEN | MSG_OPEN;
    } else if (m_config.in_stream_fin) {
        msg.form = AS_FIN;
        msg.bits = 0;
    } else {
        msg.form = ((to.tag == ANY_TAG) || (msg.length < to.capacity)) ? AS_ENV :
                                                                         AS_WRITE;
        msg.bits = MSG_WRITTEN;
        tell(msg.form == AS_ENV ? ", envelope in sequence" : "");
    }
    msg.recv = recv + 1;
    tell("; writes into %s", recv_name(recv).c_str());
    if (!is_reaching(m_state->link[sender], msg.word)) {
        return; /* it will fail */
    }
    if (msg.length > to.capacity) {
        fail("more is written than " + recv_name(recv) + " has room for");
    }
    if ((to.status >= RECV_READ)) {
        fail("a write into " + recv_name(recv) + ", which " +
             (to.status == RECV_READ ? "is read into" : "was handed back"));
    }
    match(recv, sender, index);
}

void model_t::sender_rtr(int sender, const control_t &control, bool refuse)
{
    link_t &link       = m_state->link[sender];
    const recv_t &recv = m_state->recv[control.recv];
    int ahead          = is(MUT_IGNORE_AHEAD) ? 0 : control.ahead;
    int first          = control.seen;

    tell("sender gets RTR %s seen %d ahead %d", recv_name(control.recv).c_str(),
         control.seen, control.ahead);
    if (link.sent - first > m_config.window) {
        if (!is(MUT_NO_WINDOW_CHECK)) {
            refuse = true;
        }
        first = link.sent - m_config.window;
    }
    if (is(MUT_IGNORE_SEEN)) {
        first = link.sent;
    }
    if (m_config.net) {
        refuse |= !is_good_way(link, control.word) ||
                  !(is_news(link, control) || is(MUT_OLD_RTR));
    }
    if (refuse && (m_config.grants || m_config.net)) {
        tell(": ignores it");
        return;
    }
    if (refuse) {
        tell(": refuses it");
        push(link.to_receiver, {CTL_REFUSE, control.recv, 0, 0, 0, 0});
        return;
    }
    for (int i = first; i < link.sent; ++i) {
        message_t &msg = link.msg[i];

        if (!tag_fits(recv.tag, msg.tag) || (ahead-- > 0)) {
            continue;
        }
        tell(": that is %s", msg_name(m_config, sender, i).c_str());
        if (!m_config.net && !m_config.ud && (msg.form == AS_RTS) &&
            (msg.bits & MSG_OPEN) && !(msg.bits & MSG_WRITTEN) &&
            ((msg.length <= recv.capacity) || is(MUT_NO_LENGTH_CHECK)) &&
            (!m_config.grants || claim(sender, msg, control.word, control.generation))) {
            use_rtr(sender, i, control.recv);
        } else {
            tell(", drops the RTR");
            if (!m_config.grants) {
                promise(control.recv, sender, i, false);
            }
        }
        return;
    }
    tell(": it waits");
    link.waiting[m_config.grants ? control.word : control.recv] = {
            uint8_t(ahead + 1), control.recv,
            m_config.net ? uint8_t(control.word) : uint8_t(control.generation)};
}

void model_t::sender_control(int sender, const control_t &control, bool refuse)
{
    link_t &link = m_state->link[sender];

    if (control.type == CTL_RTR) {
        sender_rtr(sender, control, refuse);
    } else if ((m_config.net && is_news(link, control)) ||
               (link.waiting[control.recv].count > 0) ||
               (m_config.net && !(link.used & (1 << control.recv)))) {
        tell("sender gets REVOKE %s: revoked", recv_name(control.recv).c_str());
        link.waiting[control.recv] = {};
        push(link.to_receiver, {CTL_REVOKED, control.recv, 0, 0, 0, control.generation});
    } else {
        tell("sender gets REVOKE %s: gone", recv_name(control.recv).c_str());
        push(link.to_receiver, {CTL_GONE, control.recv, 0, 0, 0, control.generation});
    }
}
