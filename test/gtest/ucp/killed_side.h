/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * One of three processes of which one is killed: the survivor exchanges messages with the
 * victim and with a bystander. Used by test_killed_peer.cc.
 */

#ifndef UCXRI_TEST_KILLED_SIDE_H_
#define UCXRI_TEST_KILLED_SIDE_H_

#include "peer.h"

#include <map>

namespace ucp_test {

/* How the processes talk. */
struct killed_setting {
    const char *name;
    transport tr;
    bool mode_peer; /* error handling mode PEER: UCX reports it */
    bool cma;       /* direct copies */
    bool together;  /* the survivor is in the library while the victim is killed */
    bool rdma;      /* no shared memory: reads by the plane rc */
    bool asleep;    /* who waits sleeps until there is an event */
    const char *link = nullptr; /* of the software HCA: SOFTHCA_LINK */
};

std::ostream &operator<<(std::ostream &os, const killed_setting &s);

/* Lengths for each protocol, with the thresholds that killed_side sets. */
constexpr size_t SHORT_LENGTH  = 8;
constexpr size_t PARTS_LENGTH  = 1100; /* through the ring in parts */
constexpr size_t MEDIUM_LENGTH = 3000;
constexpr size_t LARGE_LENGTH  = 120000;
constexpr size_t HUGE_LENGTH   = 400000;

/* Whom the messages of a tag are for. */
constexpr ucp_tag_t TO_SURVIVOR  = 0x100;
constexpr ucp_tag_t TO_VICTIM    = 0x200;
constexpr ucp_tag_t TO_BYSTANDER = 0x300;
/* Of what the bystander sends to the survivor in turn: late messages of the victim are not for
 * these receives. */
constexpr ucp_tag_t BY_BYSTANDER = 0x400;

/* A message, sent or received. */
struct killed_op {
    bool is_send;
    std::string data;
    op_ptr o;
};

class killed_side {
public:
    /* @param settings  NAME=VALUE of the library, separated by spaces, without "UCXRI_". */
    killed_side(channel &ch, const killed_setting &setting, const std::string &settings);
    ~killed_side();

    ucp_worker_h worker() { return m_entity->worker(); }
    channel &ch() { return m_ch; }
    const killed_setting &setting() const { return m_setting; }
    int64_t counter(const char *name);
    int errors() const { return m_errors; }

    /* Gets the address of another process by the channel. */
    void connect(const std::string &whom);
    std::string address() const { return m_entity->address(); }

    /* Start to send or receive. What is in a message depends on its tag. */
    killed_op &send_to(const std::string &whom, size_t length, ucp_tag_t tag,
                       bool sync = false);
    killed_op &post(size_t length, ucp_tag_t tag);

    void progress(int calls = 100);
    void linger(); /* with progress, until deaths have been noticed */
    void progress_until(const char *counter); /* is more than before */
    void wait(const std::function<bool()> &condition, const char *what);
    void wait(const killed_op &op, const char *what = "operation");
    void wait_all(const char *what);      /* that this side has started */
    void wait_for_receive(ucp_tag_t tag); /* any that is complete without an error */

    /* Messages both ways, until there are rings and planes. Both sides call this. @a length
     * is that of every second message; the others are short. */
    void talk(const std::string &whom, bool first, ucp_tag_t out, ucp_tag_t in,
              int rounds, size_t length = LARGE_LENGTH);

    /* Survivor, when the victim is gone: all that it has started ends, once and with a
     * status that is true. Sends only if @a sends says so. */
    void end_all(bool sends);

    /* Receives what has come unexpectedly. */
    void drain();

    /* @return Whether it ends. */
    bool close(const std::string &whom);
    bool is_connected(const std::string &whom) const { return m_eps.count(whom) > 0; }
    void destroy_worker();

    /* The same with all that is under way. */
    void destroy_busy_worker();

    /* What was handed back is not written any more. */
    void mark_buffers();
    void check_buffers();

private:
    unsigned progress_once(); /* and sleep, if the setting says so */
    static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status);
    void await_message(ucp_tag_t tag);
    bool all_done(bool sends) const;
    void check_op(const killed_op &op) const;

    killed_setting m_setting;
    channel &m_ch;
    std::unique_ptr<entity> m_entity;
    std::map<std::string, ucp_ep_h> m_eps;
    std::vector<std::unique_ptr<killed_op>> m_ops;
    int m_errors = 0;
};

} // namespace ucp_test

#endif
