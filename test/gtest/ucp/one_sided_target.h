/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The target of one-sided operations: a process with memory that this one has a key of. It does what
 * it is told by a channel, and between two commands it progresses its worker, or does nothing at all.
 */

#ifndef UCP_TEST_ONE_SIDED_TARGET_H
#define UCP_TEST_ONE_SIDED_TARGET_H

#include "peer.h"

namespace ucp_test {

enum class memory_kind {
    OWN,   /* the target's alone */
    SHARED /* a file that both processes map */
};

/* A target's memory, and what the contexts of both processes are for. */
struct one_sided_use {
    memory_kind kind;
    bool has_messages; /* besides one-sided operations */

    one_sided_use(memory_kind k, bool with_messages = true)
        : kind(k), has_messages(with_messages)
    {
    }
};

class one_sided_target {
public:
    static constexpr size_t SIZE = 4 << 20;

    one_sided_target(const transport &tr, const one_sided_use &use);
    ~one_sided_target();

    endpoint_pair &pair() { return *m_pair; }
    ucp_ep_h ep() { return m_pair->ep(); }
    ucp_rkey_h rkey() { return m_rkey; }
    peer &process() { return m_peer; }

    /* Where the memory is in the target. */
    uint64_t remote(size_t offset = 0) const { return m_address + offset; }

    /* From now on the target progresses; or computes, as far as anybody can see. */
    void look() { tell("look"); }
    void compute() { tell("compute"); }

    /* The target's processor adds to the word at the start, @a count times, while it progresses. */
    void add(unsigned count) { tell("add " + std::to_string(count)); }
    void wait_added() { answer("added"); }

    /* The bytes as the target sees them. */
    std::string bytes(size_t offset, size_t length);

    /* The target maps memory anew, at another address or the same; there is a new key. */
    void map_again();

    /* Waits for what was started on the endpoint. The target has to progress if UCX does it. */
    void flush();

    int64_t count(const char *name);

    void end(); /* of both, in good order */
    void kill();

private:
    void tell(const std::string &command);
    void answer(const std::string &expected);
    void get_key();
    void drop_key();
    void map_shared();

    const memory_kind m_kind;
    peer m_peer;
    std::unique_ptr<endpoint_pair> m_pair;
    uint64_t m_address = 0;
    ucp_rkey_h m_rkey  = nullptr;
    void *m_shared     = nullptr;
};

} // namespace ucp_test

#endif
