/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A model of receiver-initiated rendezvous (docs/protocol-rndv.md): the state of one
 * receiver and up to two senders with everything that is between them, and the steps that
 * each of them can take. rndv_sender.cc and rndv_receiver.cc have the rules, rndv_grants.cc
 * those of processes that share memory, rndv_slots.cc the copies by both sides there, and
 * rndv_ends.cc what happens when a sender dies or a connection ends; rndv_net.cc has ways
 * through a network that fail, rndv_ud.cc RTRs with a queue pair for datagrams. rndv_steps.cc has
 * the events and the mutations, rndv_check.cc the properties; rndv_config.h and rndv_configs.cc
 * have what is explored, and rndv_explore.cc goes through all interleavings.
 *
 * What stands in the state is what the processes know, but for the fields marked "ghost":
 * they are read by the properties only, never by a rule.
 */
#ifndef RI_TEST_RNDV_MODEL_H
#define RI_TEST_RNDV_MODEL_H

#include "rndv_config.h"

#include <cstdint>
#include <functional>

/* Lengths of messages and capacities of receives, and with them the protocols */
constexpr int EAGER_LEN = 1, MEDIUM_LEN = 2, LARGE_LEN = 3;
constexpr int SLOT_LEN = 4; /* to send: large, with a slot in which both sides copy */

constexpr int ANY_TAG = 2;

/* Where a receive takes its message from: sender 0, sender 1, any, or: it is thought to be
 * sender 0 (learnt from earlier matches), but any could send it. With grants, who it is
 * thought to be may be another one for each RTR. */
enum source_t : uint8_t {
    FROM_0,
    FROM_1,
    FROM_ANY,
    FROM_GUESSED,
    FROM_GUESSED_ANEW
};

/* The form in which a message went out */
enum form_t : uint8_t {
    AS_NOTHING,
    AS_EAGER, /* in sequence, with its payload */
    AS_POOL, /* medium: RTS in sequence with the address of the copy; the send is complete */
    AS_RTS, /* large: RTS in sequence; later read by the receiver, or written by an RTR */
    AS_WRITE, /* RTR used, nothing in sequence: notification, and list of the next message */
    AS_ENV, /* RTR used, with an envelope in sequence, as a notification has no room */
    AS_FIN  /* RTR used, with a FIN (grants: PLACED) in sequence after the data */
};

/* Bits of message_t.bits */
enum : uint8_t {
    MSG_OPEN   = 1, /* sender: the send is not complete */
    MSG_POOLED = 2, /* sender: a pool buffer is in use */
    MSG_WRITTEN =
            4, /* written by an RTR; the notification is on its way. With grants: the
                        write has not ended */
    MSG_RETURNED =
            8, /* FIN, or release of the pool buffer, is on its way to the sender */
    MSG_UNEXPECTED = 16, /* receiver: in the unexpected queue */
    MSG_READING    = 32, /* receiver: the read into a receive's buffer has not ended */
    MSG_SLOT       = 64  /* both sides copy: an RTS, also if it uses an RTR */
};

/* Bits of message_t.net, of a message that was written by a way that can fail */
enum : uint8_t {
    NET_QUEUED   = 1,  /* has arrived; the notification is in the receiver's queue */
    NET_NOTED    = 2,  /* ... was taken from there */
    NET_AGAIN    = 4,  /* is sent again, as an RTS that says so */
    NET_IS_AGAIN = 8,  /* ... which has come */
    NET_TELL     = 16, /* the list that says where it is written is on its way */
    NET_NAMED    = 32  /* ... has come */
};

/* ACT_NET's c */
enum : uint8_t {
    NET_ARRIVES,
    NET_IS_NOTED,
    NET_IS_DONE, /* at the sender */
    NET_COMES_AGAIN,
    NET_SENDER_FAILS,
    NET_RECEIVER_FAILS,
    NET_IS_NEW,
    NET_IS_NAMED
};

/* ACT_UD's c */
enum : uint8_t {
    UD_HEARD,    /* the first one arrives, for whatever is there */
    UD_COMPLETE, /* the last one */
    UD_FAILS     /* what has begun cannot be ended */
};

/* Parts that the data of a message with a slot is copied in */
constexpr int PARTS = 2;

enum : uint8_t {
    SLOT_BUSY     = 1, /* the receiver has not done with it */
    SLOT_CLOSED   = 2, /* nothing more is claimed */
    SLOT_FAILED   = 4, /* a side could not copy */
    SLOT_GIVEN_UP = 8  /* the send has ended otherwise */
};

enum side_t : uint8_t {
    SENDER,
    RECEIVER
};

/* Which side copies what of a message, in the memory of both sides */
struct slot_t {
    uint8_t bits;
    uint8_t address;    /* the receive, plus 1; 0: not known yet */
    uint8_t claimed[2]; /* parts, by each side */
    uint8_t done;       /* parts, by either */
};

struct message_t {
    uint8_t tag, length;
    form_t form;
    uint8_t bits;
    uint8_t recv;       /* receive whose RTR was used, plus 1 */
    uint8_t word;       /* its grant, plus 1 */
    uint8_t generation; /* with datagrams: of that */
    uint8_t owner; /* ghost: receive that it was matched to, by either side, plus 1 */
    uint8_t net;   /* NET_* */
    slot_t slot;
};

enum status_t : uint8_t {
    RECV_UNUSED,
    RECV_POSTED,    /* waits for its message */
    RECV_WRITE,     /* met the RTS of the message that its RTR will bring */
    RECV_NAMED,     /* the stream has named it as used; waits for the notification */
    RECV_READ,      /* reads its message */
    RECV_COPY,      /* both sides copy its message */
    RECV_DONE,      /* handed back with data; if still queued, a place-holder */
    RECV_TRUNCATED, /* handed back, untouched */
    RECV_FAILED,    /* handed back, as the connection of its sender has ended */
    RECV_CANCELED   /* handed back, untouched */
};

enum rtr_t : uint8_t {
    RTR_NONE, /* not sent, refused, or revoked */
    RTR_OUT,  /* sent */
    RTR_GONE  /* revoked in vain: a message for it is on its way, in whatever form */
};

struct recv_t {
    uint8_t tag, capacity;
    source_t source;
    status_t status;
    bool queued; /* in the posted queue, whose order is that of the indices */
    rtr_t rtr;
    uint8_t word;   /* the grant of the RTR that is out, plus 1 */
    uint8_t target; /* of FROM_GUESSED_ANEW: to whom */
    uint8_t rtrs;   /* how many were sent, a bound of the model */
    bool revoking;  /* a revocation is not answered yet */
    bool canceling; /* asked to cancel, waits for revocations */
    bool refused;   /* with grants: ... and could not; to be made up for */
    bool contested; /* a message of another sender waits for revocations */
    uint8_t number; /* of a place-holder: the number of its message, from 1 */
    bool announced; /* of a place-holder: that number has a message in sequence */
    bool notified;  /* the data is there, but not the envelope */
    uint8_t owner; /* ghost: message that it was matched to: sender * MAX_MSGS + index + 1 */
    uint8_t claim; /* ghost: sender, plus 1, that it was promised to: see promise() */
    bool freed;    /* ghost: ... which has ended without a message for it */
};

enum control_type_t : uint8_t {
    CTL_NONE,
    CTL_RTR,     /* to the sender: receive, seen, ahead (tag, length: from the receive) */
    CTL_REVOKE,  /* to the sender: receive */
    CTL_REFUSE,  /* to the receiver: an RTR will not be used */
    CTL_REVOKED, /* to the receiver: the RTR is no more */
    CTL_GONE     /* to the receiver: no such RTR waits here (any more) */
};

struct control_t {
    uint8_t type : 4;
    uint8_t recv : 4;
    uint8_t seen : 4;
    uint8_t ahead : 4;
    uint8_t word : 4; /* RTR: the grant, and its generation */
    uint8_t generation : 4;
};

struct channel_t {
    uint8_t count;
    control_t item[MAX_CONTROLS];
};

/* An RTR that waits at the sender */
struct waiting_t {
    uint8_t count; /* 1 + messages to let pass, or 0: none waits */
    uint8_t recv;
    uint8_t generation;
};

/* State of a grant */
enum grant_state_t : uint8_t {
    GRANT_FREE,
    GRANT_OUT,     /* given: whoever changes this first has it */
    GRANT_USED,    /* the sender writes */
    GRANT_WRITTEN, /* ... has written */
    GRANT_SHARING, /* the sender makes a slot ready, in which both copy */
    GRANT_SLOT,    /* ... it is */
    GRANT_FAILED   /* ... could not */
};

/* A word in the memory of both sides */
struct grant_t {
    grant_state_t state;
    uint8_t generation;
};

/* How a sender or its stream has ended */
enum : uint8_t {
    END_DEAD   = 1, /* the process does not exist any more */
    END_FAILED = 2, /* its conn has failed */
    END_BROKEN = 4  /* the receiver has ended the stream */
};

/* One sender and its stream at the receiver */
struct link_t {
    uint8_t ended; /* END_* */
    uint8_t call;  /* the sender is within a call: a message, plus 1 */
    bool copying;  /* ... it copies a part of it; else it makes its slot ready */
    uint8_t way;   /* the number of the latest way */
    bool up[2];    /* the sender's, the receiver's end of it is there */
    uint8_t used;  /* sender: bits: receives whose latest RTR was used */
    uint8_t heard
            [MAX_RECVS]; /* sender: of each receive, the latest RTR that it heard of */
    uint8_t sent;        /* messages sent; their numbers are 1 to sent */
    uint8_t next;        /* receiver: the number that is matched next */
    waiting_t waiting[MAX_RECVS]; /* sender: by receive, or by grant */
    grant_t grant[MAX_RECVS];
    message_t msg[MAX_MSGS];
    channel_t to_sender, to_receiver;
};

/* The receiver withdraws, one by one, the RTRs on which a receive depends */
struct withdrawing_t {
    uint8_t recv;   /* the receive, plus 1; 0: it does not */
    uint8_t at;     /* the next one whose RTR is withdrawn */
    uint8_t sender; /* whose message shall have it, plus 1; 0: it is cancelled */
    uint8_t index;  /* of the message */
    bool again;     /* the message was unexpected, the cancel refused before */
};

/* What the receiver is in the middle of, so that it does nothing else */
enum deed_t : uint8_t {
    DEED_NONE,
    DEED_COPY,     /* copies a part of message index */
    DEED_SETTLE,   /* message index has met receive at, whose grant is SHARING */
    DEED_WITHDRAW, /* a stream ends: no RTR of receive at may be used any more */
    DEED_CLOSE,    /* ... the sender claims nothing more of message index */
    DEED_CLOSED,   /* ... and has ended what it had claimed */
    DEED_ABORT,    /* ... what it means for receive at */
    DEED_REMATCH,  /* ... which is posted as others */
    DEED_CANCEL    /* ... and receive at + 1 may be cancelled now */
};

struct doing_t {
    deed_t deed;
    uint8_t sender;
    uint8_t at;
    uint8_t index;
};

struct state_t {
    uint8_t posted;
    uint8_t cancels;
    withdrawing_t withdrawing;
    doing_t doing;
    recv_t recv[MAX_RECVS];
    link_t link[MAX_SENDERS];
};

enum action_type_t : uint8_t {
    ACT_SEND,   /* sender a sends tag b, length c */
    ACT_POST,   /* tag a, capacity b, source c */
    ACT_RTR,    /* receive a sends RTR, to sender b if that is a guess of the moment */
    ACT_CANCEL, /* receive a */
    ACT_WHIM,   /* the receiver withdraws the RTR of receive a */
    ACT_WITHDRAW_SLOT, /* sender a withdraws the slot of message b */
    ACT_DIE,           /* sender a does */
    ACT_FAIL,          /* the conn of sender a fails */
    ACT_BREAK,         /* the receiver ends the stream of sender a */
    ACT_STREAM,        /* the receiver handles the next message in sequence of sender a */
    ACT_NOTIFY,        /* the receiver sees the notification of sender a's message b */
    ACT_WRITE,         /* grants: sender a's write of message b ends; c: it failed */
    ACT_WITHDRAW_RTR,  /* grants: the receiver withdraws the next RTR */
    ACT_READ,          /* the read of sender a's message b ends */
    ACT_RETURN,        /* FIN or release of message b reaches sender a */
    ACT_TO_SENDER,     /* sender a handles its control message b; c: refuses it */
    ACT_TO_RECEIVER,   /* the receiver handles control message b of sender a */
    ACT_SHARE,         /* sender a goes on to make a slot ready; b: there is none */
    ACT_COPY,          /* of sender a's message b, side c begins to copy a part */
    ACT_COPIED,        /* side c of sender a ends that; b: it failed */
    ACT_SEE,           /* side c sees that sender a's message b has been copied */
    ACT_RESET,         /* sender a is told that its stream has ended */
    ACT_GO_ON,         /* the receiver does, with what it is in the middle of */
    ACT_NET,           /* of sender a, message b: c, NET_* */
    ACT_UD             /* datagrams of sender a's message b: c, UD_* */
};

struct action_t {
    action_type_t type;
    uint8_t a, b, c;
};

class model_t {
public:
    explicit model_t(const config_t &config) : m_config(config) {}

    const config_t &config() const { return m_config; }

    void init(state_t &state) const;

    /* All steps that are possible. @return whether one of them has to happen some time: if
     * not, everything is at rest until an application does something. */
    bool actions(const state_t &state, std::vector<action_t> &out) const;

    /* Takes one step. @return what is wrong after it, or an empty string. */
    std::string apply(state_t &state, const action_t &action);

    /* @return what is wrong with a state at rest, or an empty string. */
    std::string check_rest(const state_t &state) const;

    /* If set, apply() tells there what happens. */
    void narrate(std::string *text) { m_text = text; }

private:
    /* rndv_steps.cc; add(type, a, b, c) adds an action */
    using add_t = std::function<void(action_type_t, int, int, int)>;
    void sender_actions(const state_t &state, int sender, const add_t &add) const;
    void receiver_actions(const state_t &state, const add_t &add) const;
    void apply_call(const action_t &action);
    void apply_step(const action_t &action);

    /* rndv_sender.cc */
    void send(int sender, int tag, int length);
    void send_plainly(message_t &msg) const;
    int use_waiting(int sender, message_t &msg);
    void use_rtr(int sender, int index, int recv);
    void sender_control(int sender, const control_t &control, bool refuse);
    void sender_rtr(int sender, const control_t &control, bool refuse);

    /* rndv_receiver.cc */
    void post(int tag, int capacity, source_t source);
    bool counts(const recv_t &recv) const;
    bool may_send_rtr(const state_t &state, int recv, int guess) const;
    bool is_guess_mixed(const state_t &state, int recv, int guess) const;
    void send_rtr(int recv, int guess);
    void stream(int sender);
    int stream_head(const state_t &state, int sender) const;
    void receive_eager_or_rts(int sender, int index);
    void receive_named(int sender, int index);
    void notified(int sender, int index);
    void pass_placeholders(int sender);
    int find_posted(const state_t &state, int sender, int index, bool *stalled) const;
    void give(int recv, int sender, int index);
    void start_read(int recv, int sender, int index);
    void end_read(int sender, int index);
    void receiver_control(int sender, const control_t &control);
    void cancel(int recv);
    bool revoke_dependents(int recv);
    void decide_cancels();
    enum dependents_t {
        DEP_FREE,
        DEP_OUT,
        DEP_PROMISED
    };
    dependents_t dependents(const state_t &state, int recv) const;

    /* rndv_grants.cc */
    bool claim(int sender, message_t &msg, int word, int generation);
    void write_ends(int sender, int index, bool failed);
    int free_word(const state_t &state, int sender) const;
    void offer(int recv, control_t &control);
    bool withdraw_grant(int recv);
    void release(int recv);
    bool give_granted(int recv, int sender, int index);
    bool is_contested(int recv, int sender) const;
    void give_matched(int recv, int sender, int index, bool again);
    void match_granted(int sender, int index, int from, bool again);
    void start_withdrawing(int recv, int sender, int index, bool again);
    int next_to_withdraw(const state_t &state) const;
    void withdraw_next();
    void end_withdrawing(bool promised);
    std::string check_rest_grants(const state_t &state) const;

    /* rndv_slots.cc */
    void share(int sender, bool failed);
    void open_slot(message_t &msg) const;
    void meet_slot(int recv, int sender, int index);
    bool may_copy(const state_t &state, int sender, int index, side_t side) const;
    void copy(int sender, int index, side_t side);
    void copied(int sender, side_t side, bool failed);
    bool may_see(const state_t &state, int sender, int index, side_t side) const;
    void see(int sender, int index, side_t side);
    bool may_withdraw_slot(const state_t &state, int sender, int index) const;
    void withdraw_slot(int sender, int index);
    void slot_actions(const state_t &state,
                      const std::function<void(action_t)> &add) const;

    /* rndv_net.cc */
    bool is_reaching(const link_t &link, int way) const;
    bool is_good_way(const link_t &link, int way) const;
    bool is_news(link_t &link, const control_t &control) const;
    void net_write(int sender, message_t &msg, int recv);
    void sender_way_ends(int sender);
    void net_noted(int sender, int index);
    void receiver_way_ends(int sender);
    void net_named(int sender, int index);
    void net_again(int sender, int index);
    void net_step(const action_t &action);
    void net_actions(const state_t &state,
                     const std::function<void(action_t, bool)> &add) const;

    /* rndv_ud.cc */
    bool names(const message_t &msg, const recv_t &recv) const;
    bool is_landing(const link_t &link, const message_t &msg) const;
    void ud_send(int sender, int index);
    bool ud_give(int recv, int sender);
    void ud_ask_again(int recv);
    void ud_step(const action_t &action);
    void ud_actions(const state_t &state, const std::function<void(action_t)> &add) const;

    /* rndv_ends.cc */
    void end_sender(int sender, uint8_t how);
    void give_up_slot(slot_t &slot) const;
    void break_stream(int sender);
    bool may_go_on(const state_t &state) const;
    void go_on();
    void next_deed(deed_t deed);
    void withdraw_rtr(int recv);
    void abort_recv(int recv);
    void rematch();
    void cancel_again();
    void end_actions(const state_t &state,
                     const std::function<void(action_t)> &add) const;

    /* rndv_check.cc */
    void promise(int recv, int sender, int index, bool firm);
    void match(int recv, int sender, int index);
    void hand_back(int recv, status_t status);
    int due(int message, bool *taken) const;
    void check_matching();
    void check_freed(int recv, int sender, int index);
    void free_claims(int sender);
    void renew_claims(int sender);
    void check_promised(int recv);
    std::string check_rest_matching(const state_t &state) const;
    std::string check_rest_sender(const state_t &state, int sender) const;
    std::string check_rest_posted(const state_t &state, int i) const;
    std::string check_rest_done(const state_t &state, int i) const;
    void fail(const std::string &text);

    void push(channel_t &channel, const control_t &control);
    void tell(const char *format, ...) __attribute__((format(printf, 2, 3)));
    bool is(mutation_t mutation) const { return m_config.mutation == mutation; }

    config_t m_config;
    state_t *m_state    = nullptr;
    std::string *m_text = nullptr;
    std::string m_error;
};

/* Names for people: "r2", "m3", with two senders "a3" and "b1" */
std::string recv_name(int recv);
std::string msg_name(const config_t &config, int sender, int index);

inline bool tag_fits(int recv_tag, int tag)
{
    return (recv_tag == ANY_TAG) || (recv_tag == tag);
}

/* The sender that an RTR of @a recv would go to, or -1. */
inline int rtr_target(const recv_t &recv)
{
    switch (recv.source) {
    case FROM_ANY:
        return -1;
    case FROM_1:
        return 1;
    case FROM_GUESSED_ANEW:
        return recv.target;
    default:
        return 0;
    }
}

/* Takes a receive out of the posted queue. */
void unqueue(recv_t &recv);

inline bool same_class(const recv_t &a, const recv_t &b)
{
    return (a.tag == b.tag) && (a.source == b.source);
}

inline bool source_fits(source_t source, int sender)
{
    return (source >= FROM_ANY) || (source == sender);
}

inline bool fits(const recv_t &recv, const link_t *links, int sender, int index)
{
    return tag_fits(recv.tag, links[sender].msg[index].tag) &&
           source_fits(recv.source, sender);
}

#endif
